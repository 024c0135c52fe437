"""Why measured values cannot support a verdict on a claim: a model has not learned what the claim compares, or the data
are incomplete."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from statistics import fmean, variance

from bertlab.lab.claim import GUESS, Claim
from bertlab.recipe.objective import Premise
from bertlab.report.cells import EXCHANGED, FLOORS, LEXICAL, PLATEAU
from bertlab.report.evidence import Evidence
from bertlab.report.rules import FLOOR, PREMISE, SHORT_RUNS, WORSE
from bertlab.report.statistics.effects import LEVEL
from bertlab.wording import listed

_FLOOR_WORDS = {
    GUESS: "a majority guess",
    LEXICAL: "a linear model of words",
    EXCHANGED: "itself with another second text",
}
_MOST_PAIRS = 100_000
"""More pairs than any held-out set has."""


def learned_nothing(evidences: Sequence[Evidence]) -> bool:
    """Whether there are trained models, and none of them learned more than how frequent words are."""
    models = [each for evidence in evidences for each in evidence.pretrainings if each.finished and not each.untrained]
    return bool(models) and all(each.learned_nothing for each in models)


def tests_the_program(evidences: Sequence[Evidence]) -> bool:
    """Whether these are trials of the program: studies at scale smoke, whose models learned nothing."""
    return all(each.scale == "smoke" for each in evidences) and learned_nothing(evidences)


def issue(evidence: Evidence, claim: Claim, metric: str, lifted: Collection[str] = ()) -> str:
    """Why the measured values cannot support a verdict; empty if they can. Rules that are `lifted` do not apply.

    Another measurement has the same runs, a better and a worse variant have the same runs, the setting is not the
    margin's, a planned seed has no value (the others are not a fair sample of all), a model has learned nothing, or not
    the loss that the claim compares, no model is above a floor, or pre-training does not help on the task. In a claim
    on the pre-training itself, the worse model may have learned nothing: that is a result of its variant.
    """
    if untestable := evidence.untestable(claim):
        return untestable
    originals = evidence.originals(claim.on)
    for better, worse in claim.opposed:
        if better in originals and originals[better] == originals.get(worse):
            return f"{worse} and {better} are the same runs at this scale"
    found = itertools.chain(
        [_absent(evidence, claim), _unlearned(evidence, claim, lifted)],
        _premises(evidence, claim, lifted),
        _floors(evidence, claim, lifted),
        (evidence.unhelped(each, claim.on, metric) for each in filter(evidence.untrained, evidence.variants)),
    )
    return next(filter(None, found), "")


def _absent(evidence: Evidence, claim: Claim) -> str:
    absent = []
    for variant, at in claim.sides:
        cells = evidence.at(variant, claim.on, at)
        planned = {evidence.seed_of(cell) for cell in cells}
        lost = {(cell.status, evidence.seed_of(cell)) for cell in cells if cell.value is None}
        counts = Counter(status for status, _ in sorted(lost))
        absent += [f"{n} of {len(planned)} {evidence.seeds} of {variant} {status}" for status, n in counts.items()]
    return "; ".join(absent)


def _unlearned(evidence: Evidence, claim: Claim, lifted: Collection[str]) -> str:
    unlearned = evidence.unlearned
    if evidence.of_pretraining(claim.on) and WORSE not in lifted:
        unlearned &= {*(better for better, _ in claim.pairs), *claim.than[:1]}
    named = [variant for variant, _ in claim.sides if variant in unlearned]
    return f"{listed(dict.fromkeys(named))} learned next to nothing in pre-training" if named else ""


def _premises(evidence: Evidence, claim: Claim, lifted: Collection[str]) -> Iterator[str]:
    """What does not hold of the losses in which two variants differ: they are not what the claim names."""
    for variant, premise in _compared(evidence, claim):
        if premise.flaw and SHORT_RUNS not in lifted:
            yield premise.flaw
        elif premise.figure and PREMISE not in lifted and (figures := Learned.of(evidence, variant, premise)):
            yield "" if figures.learned else f"{variant} did not learn {figures.label}: {figures.text}"


def _compared(evidence: Evidence, claim: Claim) -> Iterator[tuple[str, Premise]]:
    """The variants of a claim with each premise that the other variant of a pair does not share.

    A claim on the pre-training itself may compare a variant with a guess, which shares none.
    """
    for pair in (*claim.pairs, *([claim.than] if claim.than else [])):
        if GUESS in pair and not evidence.of_pretraining(claim.on):
            continue
        known = [{each.what: each for each in evidence.premises(variant)} for variant in pair]
        for variant, own, other in zip(pair, known, known[::-1], strict=True):
            yield from ((variant, premise) for what, premise in own.items() if what not in other)


def _floors(evidence: Evidence, claim: Claim, lifted: Collection[str]) -> Iterator[str]:
    """The floors of a task that no variant of the claim is significantly above."""
    sides = claim.sides
    if any(variant == GUESS for variant, _ in sides):
        return
    for floor in [name for name in FLOORS if name == GUESS or FLOOR not in lifted]:
        above = [evidence.effect(variant, floor, claim.on, at=(at, at)) for variant, at in sides]
        ps = [None if each is None else each.p for each in above]
        below = (each is not None and each.mean <= 0 for each in above)
        if all(p is not None and (low or p > 1 - LEVEL) for p, low in zip(ps, below, strict=True)):
            yield f"no variant of the claim is significantly above {_FLOOR_WORDS[floor]}"


class Learned:
    """Whether a variant has learned what a premise names, by a held-out figure of its models."""

    def __init__(self, label: str, text: str, learned: bool) -> None:
        self.label = label
        self.text = text
        """The figure in words, beside what a model without learning has."""
        self.learned = learned

    @classmethod
    def of(cls, evidence: Evidence, variant: str, premise: Premise) -> Learned | None:
        """By the figures of all seeds; None if none has it. An accuracy has to be significantly above the majority's,
        over seeds and pairs; a loss over the vocabulary has to be below the unigram plateau."""
        runs = [each for each in evidence.of(variant) if not each.untrained]
        figures = [value for each in runs if (value := each.heldout(premise.figure)) is not None]
        if not figures:
            return None
        label = runs[0].labels.get(premise.figure, premise.figure)
        if premise.figure.endswith("_loss"):
            ends = [(loss, each.plateau_of(premise.figure)) for loss, each in zip(figures, runs, strict=False)]
            stuck = any(plateau is not None and loss > plateau - PLATEAU for loss, plateau in ends)
            return cls(label, f"{fmean(figures):.2f} nats, next to the unigram plateau", not stuck)
        name = f"{premise.figure.removesuffix('accuracy')}majority"
        majorities = [0.5 if (value := each.heldout(name)) is None else value for each in runs]
        majority = fmean(majorities)
        text = f"{100 * fmean(figures):.1f} % of its own held-out pairs, a majority guess {100 * majority:.1f} %"
        return cls(label, text, _above(figures, majority, _pairs([*figures, *majorities])))


def _pairs(shares: list[float]) -> int:
    """The least number of pairs of which all these can be shares: results do not have the number itself."""
    return min(_MOST_PAIRS, math.lcm(*(Fraction(each).limit_denominator(10_000).denominator for each in shares)))


def _above(accuracies: list[float], majority: float, pairs: int) -> bool:
    """Whether accuracies on the same pairs, one a seed, are significantly above a share: by a t test whose variance has
    a part of the seeds and a part of the pairs (Welch and Satterthwaite)."""
    from scipy.special import stdtrit

    parts = [(majority * (1 - majority) / pairs, pairs - 1)]
    if len(accuracies) > 1:
        parts.append((variance(accuracies) / len(accuracies), len(accuracies) - 1))
    squares = math.fsum(part**2 / max(1, freedom) for part, freedom in parts)
    total = math.fsum(part for part, _ in parts)
    if not squares:
        return fmean(accuracies) > majority
    bound = float(stdtrit(total**2 / squares, 0.5 + LEVEL / 2))
    return fmean(accuracies) - majority > bound * math.sqrt(total)


def learned(evidence: Evidence) -> list[str]:
    """A sentence for each variant with a figure that shows whether it has learned a loss of its objective."""
    premises = ((variant, each) for variant in evidence.trained for each in evidence.premises(variant) if each.figure)
    known = [(variant, each) for variant, premise in premises if (each := Learned.of(evidence, variant, premise))]
    return [f"{name}, {each.label}: {each.text}{'' if each.learned else '; not learned'}." for name, each in known]


def flaws(evidence: Evidence) -> list[str]:
    """What the losses of each variant cannot do in its recipe, in words; of several variants once."""
    found: dict[str, list[str]] = {}
    for variant in [evidence.baseline, *evidence.others]:
        for premise in evidence.premises(variant):
            if premise.flaw and variant not in found.setdefault(premise.flaw, []):
                found[premise.flaw].append(variant)
    return [f"{listed(variants)}: {flaw}." for flaw, variants in found.items()]
