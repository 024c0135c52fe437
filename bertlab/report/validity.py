"""Why measured values cannot support a verdict on a claim: a model has not learned what the claim compares, or the data
are incomplete."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, stdev
from typing import NamedTuple

from bertlab.grouping import grouped
from bertlab.lab.claim import GUESS, Claim
from bertlab.lab.scales import SCALES
from bertlab.recipe.objective import Premise
from bertlab.report.cells import EXCHANGED, FLOORS, LEXICAL, PLATEAU
from bertlab.report.comparisons import Comparison
from bertlab.report.rules import FLOOR, PASSES, PREMISE, SHORT_RUNS, SIZES, WORSE, Rule
from bertlab.report.statistics.effects import LEVEL
from bertlab.report.study_results import StudyResults
from bertlab.wording import join_words

_FLOOR_WORDS = {
    GUESS: "a majority guess",
    LEXICAL: "a linear model of words",
    EXCHANGED: "itself with another second text",
}
_MOST_PAIRS = 100_000
"""More pairs than any held-out set has."""


def learned_nothing(studies: Sequence[StudyResults]) -> bool:
    """Whether there are trained models, and none of them learned more than how frequent words are."""
    models = [run for study in studies for run in study.pretrainings if run.finished and not run.untrained]
    return bool(models) and all(run.learned_nothing for run in models)


def tests_the_program(studies: Sequence[StudyResults]) -> bool:
    """Whether these only test the program: they are at a scale for that, and their models learned nothing."""
    scales = [SCALES.get(study.scale) for study in studies]
    return all(scale and scale.tests_the_program for scale in scales) and learned_nothing(studies)


@dataclass(frozen=True)
class Issue:
    """Why measured values cannot support a verdict."""

    text: str
    rule: Rule | None = None
    """The later rule without which it counts for nothing, if there is one."""
    excused_by: Rule | None = None
    """The later rule with which it counts for nothing."""
    of_setting: bool = False
    """Whether it is known before any run: the setting does not allow a test."""

    def counts(self, lifted: Collection[Rule]) -> bool:
        """Whether it counts where rules are `lifted`."""
        return self.rule not in lifted and (not self.excused_by or self.excused_by in lifted)


def untestable(study: StudyResults, claim: Claim) -> str:
    """Why the setting does not allow a test of a claim, known before any run; empty if it does."""
    return next((issue.text for issue in _of_setting(study, claim)), "")


def likely_claims(study: StudyResults) -> list[Claim]:
    """The claims with a second verdict, by likelihood.

    Those within a margin, against a guess, on the pre-training, and that the setting does not allow to test have none.
    """
    excluded = {name for name in study.measurements if name in study.repeats or not study.of_answers(name)}
    tested = [claim for claim in study.claims if claim.within is None and claim.on not in excluded]
    return [claim for claim in tested if not untestable(study, claim) and GUESS not in itertools.chain(*claim.pairs)]


def issues(study: StudyResults, claim: Claim, metric: str = "") -> tuple[Issue, ...]:
    """Why the measured values cannot support a verdict, the first one first, with the rules by which each counts.

    Another measurement has the same runs, a better and a worse variant have the same runs, the setting is not the
    margin's, a planned seed has no value (the others are not a fair sample of all), a model has read its text less
    often than its variant says, has learned nothing, or not the loss that the claim compares, no model is above a
    floor, or pre-training does not help on the task. In a claim on the pre-training itself, the worse model may have
    learned nothing: that is a result of its variant.
    """
    untrained = filter(study.untrained, study.variants)
    every = itertools.chain(
        _of_setting(study, claim),
        map(Issue, _same_runs(study, claim)),
        [Issue(_absent(study, claim))],
        _fewer_passes(study, claim),
        _unlearned(study, claim),
        _premises(study, claim),
        _floors(study, claim),
        (Issue(study.unhelped(variant, claim.on, metric)) for variant in untrained),
    )
    return tuple(issue for issue in every if issue.text)


def _of_setting(study: StudyResults, claim: Claim) -> Iterator[Issue]:
    """A margin holds in the paper's setting, sizes that a claim needs must be there, and runs that two measurements
    share are tested once."""
    if claim.on in study.repeats:
        yield Issue(f"the same runs as on {study.repeats[claim.on]}", of_setting=True)
    comparable = study.comparable(claim.on)
    if text := claim.untestable(comparable, {}):
        yield Issue(text, of_setting=True)
    elif text := claim.untestable(comparable, study.sizes):
        yield Issue(text, SIZES, of_setting=True)


def _same_runs(study: StudyResults, claim: Claim) -> Iterator[str]:
    originals = study.originals(claim.on)
    for better, worse in claim.opposed:
        if better in originals and originals[better] == originals.get(worse):
            yield f"{worse} and {better} are the same runs at this scale"


def _absent(study: StudyResults, claim: Claim) -> str:
    absent = []
    for variant, at in claim.sides:
        cells = study.at(variant, claim.on, at)
        planned = {study.seed_of(cell) for cell in cells}
        lost = {(cell.status, study.seed_of(cell)) for cell in cells if cell.value is None}
        counts = Counter(status for status, _ in sorted(lost))
        absent += [f"{n} of {len(planned)} {study.seeds} of {variant} {status}" for status, n in counts.items()]
    return "; ".join(absent)


def _fewer_passes(study: StudyResults, claim: Claim) -> Iterator[Issue]:
    """Variants with fewer passes over their text than they name: its fewest documents were too long."""
    variants = dict(claim.sides)
    texts = {run.variant: run.result.text for run in study.pretrainings if run.variant in variants}
    for variant, text in texts.items():
        if passes := text.get("passes"):
            yield Issue(f"{variant} passes over its text {passes[-1]:,} times, not {passes[0]:,}", PASSES)


def _unlearned(study: StudyResults, claim: Claim) -> Iterator[Issue]:
    unlearned = [variant for variant in dict(claim.sides) if variant in study.unlearned]
    better = {*(variant for variant, _ in claim.pairs), *claim.than[:1]}
    excused = [variant for variant in unlearned if variant not in better] if study.of_pretraining(claim.on) else []
    others = [variant for variant in unlearned if variant not in excused]
    for names, excused_by in ((others, None), (excused, WORSE)):
        if names:
            yield Issue(f"{join_words(names)} learned next to nothing in pre-training", excused_by=excused_by)


def _premises(study: StudyResults, claim: Claim) -> Iterator[Issue]:
    """What does not hold of the losses in which two variants differ: they are not what the claim names."""
    for variant, premise in _compared(study, claim):
        if premise.flaw:
            yield Issue(premise.flaw, SHORT_RUNS)
        learned = learned_of(study, variant, premise)
        if learned and not learned.learned:
            yield Issue(f"{variant} did not learn {learned.label}: {learned.text}", PREMISE)


def _compared(study: StudyResults, claim: Claim) -> Iterator[tuple[str, Premise]]:
    """The variants of a claim with each premise that the other variant of a pair does not share.

    A claim on the pre-training itself may compare a variant with a guess, which shares none. A variant that is not
    pre-trained has no other objective.
    """
    for pair in (*claim.pairs, *([claim.than] if claim.than else [])):
        if (GUESS in pair and not study.of_pretraining(claim.on)) or any(map(study.untrained, pair)):
            continue
        premises = [{premise.what: premise for premise in study.premises(variant)} for variant in pair]
        for variant, ours, theirs in zip(pair, premises, premises[::-1], strict=True):
            yield from ((variant, premise) for what, premise in ours.items() if what not in theirs)


def _floors(study: StudyResults, claim: Claim) -> Iterator[Issue]:
    """The floors of a task that no variant of the claim is significantly above."""
    sides = claim.sides
    if any(variant == GUESS for variant, _ in sides):
        return
    for floor in FLOORS:
        effects = [study.effect(Comparison((variant, floor), claim.on, at=(at, at))) for variant, at in sides]
        if all(effect and effect.p is not None and (effect.mean <= 0 or effect.p > 1 - LEVEL) for effect in effects):
            rule = None if floor == GUESS else FLOOR
            yield Issue(f"no variant of the claim is significantly above {_FLOOR_WORDS[floor]}", rule)


class Learned(NamedTuple):
    """Whether a variant has learned what a premise names, by a held-out metric of its models."""

    label: str
    text: str
    """The figure in words, beside what a model without learning has."""
    learned: bool


def learned_of(study: StudyResults, variant: str, premise: Premise) -> Learned | None:
    """Judges by the figures of all seeds; None if no seed has one.

    An accuracy has to be significantly above the majority's, over seeds and pairs; a loss over the vocabulary has to be
    below the unigram plateau.
    """
    runs = [run for run in study.of(variant) if not run.untrained]
    figures = [value for run in runs if (value := run.heldout(premise.figure)) is not None]
    if not figures:
        return None
    label = runs[0].defined.figures.get(premise.figure, premise.figure)
    if premise.figure.endswith("_loss"):
        ends = [(loss, run.plateau_of(premise.figure)) for loss, run in zip(figures, runs, strict=False)]
        stuck = any(plateau is not None and loss > plateau - PLATEAU for loss, plateau in ends)
        return Learned(label, f"{fmean(figures):.2f} nats, next to the unigram plateau", not stuck)
    name = f"{premise.figure.removesuffix('accuracy')}majority"
    majorities = [0.5 if (value := run.heldout(name)) is None else value for run in runs]
    majority = fmean(majorities)
    text = f"{100 * fmean(figures):.1f} % of its own held-out {premise.of}, a majority guess {100 * majority:.1f} %"
    return Learned(label, text, _above(figures, majority, _pairs([*figures, *majorities])))


def _pairs(shares: list[float]) -> int:
    """The least number of pairs of which all these can be shares: results do not have the number itself."""
    return min(_MOST_PAIRS, math.lcm(*(Fraction(share).limit_denominator(10_000).denominator for share in shares)))


def _above(accuracies: list[float], majority: float, pairs: int) -> bool:
    """Whether accuracies on the same pairs, one a seed, are significantly above a share: by a t test whose variance has
    a part of the seeds and a part of the pairs (Welch and Satterthwaite)."""
    from scipy.stats import ttest_ind_from_stats

    # a part without a variance has no weight, however many values it counts
    of_seeds = fmean(accuracies), stdev(accuracies) if len(accuracies) > 1 else 0.0, max(2, len(accuracies))
    of_pairs = majority, math.sqrt(majority * (1 - majority)), max(2, pairs)
    test = ttest_ind_from_stats(*of_seeds, *of_pairs, equal_var=False, alternative="greater")
    return bool(test.pvalue < (1 - LEVEL) / 2)


def learned(study: StudyResults) -> list[str]:
    """A sentence for each variant with a figure that shows whether it has learned a loss of its objective."""
    premises = ((variant, premise) for variant in study.trained for premise in study.premises(variant))
    compared = [(variant, of) for variant, premise in premises if (of := learned_of(study, variant, premise))]
    return [f"{name}, {of.label}: {of.text}{'' if of.learned else '; not learned'}." for name, of in compared]


def flaws(study: StudyResults) -> list[str]:
    """What the losses of each variant cannot do in its recipe, in words; of several variants once."""
    variants = [study.baseline, *study.others]
    flawed = grouped((premise.flaw, variant) for variant in variants for premise in study.premises(variant))
    return [f"{join_words(dict.fromkeys(names))}: {flaw}." for flaw, names in flawed.items() if flaw]
