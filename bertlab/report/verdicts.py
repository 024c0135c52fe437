"""The verdicts on a study's claims: reproduced, contradicted, or undecided with the seeds that would decide.

A claim is decided where Holm's adjusted p-value over all testable claims of the study, measured or not, is at most the
study's `error`, and never with fewer than `VERDICT_MIN_SEEDS` seeds. Where seeds were added in rounds, the p-value is
that of all looks.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np

from bertlab.lab.claim import Claim, Margin
from bertlab.report.comparisons import Comparison
from bertlab.report.looks import LookHistory, look_history
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.rules import ENDPOINT, LATER, LENDERS, RULES, WORSE, Rule
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS, Effect
from bertlab.report.statistics.variance import VarianceComponents
from bertlab.report.study_results import StudyResults
from bertlab.report.validity import Issue, issues, likely_claims
from bertlab.store.addenda import Remark

POWER = 0.8
"""The chance of a verdict that a plan aims at."""
MOST_SEEDS = 10_000
"""More seeds than anybody trains."""


@dataclass(frozen=True)
class Pair:
    """A variant that is claimed to be better than another, and the measured effect."""

    better: str
    worse: str
    effect: Effect | None
    """The first minus the second, above 0 if the first is better; None without a shared seed. With `than`, a contrast:
    minus the difference of these."""
    published: Decimal | None
    """The difference in the paper."""
    true: float | None = None
    """The effect that the estimate of needed seeds assumes: the paper's where sizes compare, else the measured."""
    collapses: bool = False
    """Whether a run of either collapsed."""
    without: Effect | None = None
    """The effect on the seeds without a collapse; None if no seed is left."""
    than: tuple[str, ...] = ()
    """The two variants whose difference is claimed to be smaller."""

    def sides(self, claim: Claim) -> list[tuple[str, int]]:
        """The variants of the pair, each with the milestone at which the claim compares it."""
        return list(zip((self.better, self.worse, *self.than), (claim.at, claim.before) * 2, strict=False))

    def as_claimed(self, margin: Margin) -> bool:
        """Whether the measured mean lies on the claim's side."""
        return self.effect is not None and support(self.effect.mean, margin) > 0

    def p(self, margin: Margin) -> float | None:
        """The p-value of the claim's test. Where runs collapsed, the larger of those with and without their seeds."""
        p = self.effect.p_of(margin) if self.effect and self.effect.n >= VERDICT_MIN_SEEDS else None
        if p is None or not self.collapses:
            return p
        rest = replace(self, effect=self.without, collapses=False)
        p_of_rest = rest.p(margin)
        return 1.0 if p_of_rest is None or self.as_claimed(margin) != rest.as_claimed(margin) else max(p, p_of_rest)


@dataclass(frozen=True)
class ClaimTest:
    """A claim with its measured pairs, and the verdict on it."""

    claim: Claim
    pairs: tuple[Pair, ...]
    history: LookHistory | None = None
    """The looks at it, if its seeds were added in rounds."""
    issues: tuple[Issue, ...] = ()
    """All that the data cannot support a verdict for, whichever later rules count."""
    validity_issue: str = ""
    """Why the data cannot support a verdict; empty if they can."""
    outcome: str = "undecided"
    """`reproduced`, `contradicted` or `undecided`."""
    adjusted: float | None = None
    """The p-value by Holm over the study's claims that are testable, which decides the outcome."""
    need: tuple[float, float] | None = None
    """The seeds that give a verdict with probability `POWER` at the measured variance (`math.inf` if no number
    suffices on these examples), and the effect that this assumes."""
    testable: bool = True
    """Whether the setting allows a test of the claim."""
    marks: tuple[str, ...] = ()
    """Sentences on what decides the outcome and was fixed after values had been seen."""

    def without(self, lifted: Collection[Rule]) -> ClaimTest:
        """The same numbers without later rules: with other issues."""
        counting = [issue for issue in self.issues if issue.counts(lifted)]
        testable = not any(issue.of_setting for issue in counting)
        return replace(self, validity_issue=counting[0].text if counting else "", testable=testable)

    @property
    def decided(self) -> bool:
        """Whether it has a verdict."""
        return self.outcome != "undecided"

    @property
    def measured(self) -> int:
        """The number of measured pairs."""
        return sum(pair.effect is not None for pair in self.pairs)

    @cached_property
    def pair(self) -> Pair:
        """The measured pair with the strongest evidence against the claim, which decides; most claims have one."""
        margin = self.claim.margin
        measured = [pair for pair in self.pairs if pair.effect is not None]
        against = [pair for pair in measured if not pair.as_claimed(margin)]
        ps = [(pair, pair.p(margin)) for pair in against or measured]
        if ps and all(p is not None for _, p in ps):
            return (min if against else max)(ps, key=lambda entry: entry[1] or 0.0)[0]
        # without p-values, the pair whose mean supports the claim least
        return min(measured or self.pairs, key=lambda pair: support(pair.effect.mean if pair.effect else 0.0, margin))

    @cached_property
    def p(self) -> float | None:
        """The p-value of the claim by itself; None below `VERDICT_MIN_SEEDS` seeds and with a validity issue.

        The test is two-sided, of no effect. For a margin, p is the smaller of two: of lying within it (a one-sided test
        of each of its ends) and of lying beyond it (two-sided). For several pairs, p is the largest if all means are as
        claimed; otherwise the smallest among the pairs that are not, times the number of pairs (Bonferroni).
        """
        return None if self.validity_issue else self._combined([pair.p(self.claim.margin) for pair in self.pairs])

    @property
    def seeds_alone_p(self) -> float | None:
        """The p-value by a paired t over the seeds of each pair: uncorrected, unpooled, and only on these examples.

        No validity issue and no look counts; None where a pair has fewer than two seeds, or equal differences.
        """
        effects = [pair.effect for pair in self.pairs]
        return self._combined([effect.seeds_alone.p_of(self.claim.margin) if effect else None for effect in effects])

    def _combined(self, ps: Sequence[float | None]) -> float | None:
        """The p-value of the claim by those of its pairs; None if one has none."""
        tested = [p for p in ps if p is not None]
        if len(tested) < len(self.pairs):
            return None
        # whatever the truth is, at most one of the two sides is wrong: neither is corrected for the other
        pairs = zip(tested, self.pairs, strict=True)
        against = [p for p, pair in pairs if not pair.as_claimed(self.claim.margin)]
        return min(1.0, len(tested) * min(against)) if against else max(tested)

    @property
    def decisive_p(self) -> float | None:
        """The p-value that decides: that of all looks, if seeds were added in rounds."""
        return self.p if self.history is None else None if self.validity_issue else self.history.p

    @property
    def as_claimed(self) -> bool:
        """Whether all measured effects lie on the claim's side; in rounds, at the look that decides."""
        if self.history is not None:
            return self.history.as_claimed
        return all(pair.as_claimed(self.claim.margin) for pair in self.pairs)

    def needs(self, family: int, error: float = 1 - LEVEL) -> tuple[float, float] | None:
        """`need`: the most that any pair needs; all must be significant, so each needs more power than the claim.

        For a margin, the true effect is assumed to be the paper's, or 0. None if too few seeds are measured.
        """
        level = 1 - error / family  # the hardest step of Holm's
        chance = 1 - (1 - POWER) / len(self.pairs)
        margin, needs = self.claim.margin, []
        for pair in self.pairs:
            if pair.effect is None:
                return None
            true = pair.true if pair.true is not None else pair.effect.mean if margin is None else 0.0
            seeds = seeds_needed(true, margin, pair.effect.spread, level, chance)
            if seeds is None:
                return None
            needs.append((seeds, true))
        return max(needs, key=lambda need: need[0])


def claim_tests(study: StudyResults, claims: Sequence[Claim], metric: str = "") -> list[ClaimTest]:
    """The claims of a study with the measured effects of each, before a verdict.

    Effects are on the paper's metric of each claim, or on `metric`: `LIKELIHOOD`, where higher is always better and
    which the paper does not report.
    """
    tests = []
    for claim in claims:
        pairs = tuple(_measured(study, claim, *pair, metric) for pair in claim.pairs)
        history = look_history(study.record, claim, metric)
        tests.append(ClaimTest(claim, pairs, history, issues(study, claim, metric)).without(()))
    return tests


def _measured(study: StudyResults, claim: Claim, better: str, worse: str, metric: str) -> Pair:
    """A pair of a claim with its effect."""
    variant, other, than, at = better, worse, claim.than, (claim.at, claim.before)
    if not metric and study.less_is_more(claim.on):
        variant, other, than, at = worse, better, claim.than[::-1], (claim.before, claim.at)
    published = None if metric else study.published_difference(variant, claim.on, other, at)
    if than and published is not None:
        theirs = study.published_difference(than[0], claim.on, than[1], at)
        published = None if theirs is None else published - theirs
    true = float(published) if published is not None and study.comparable(claim.on) else None
    sides = zip((variant, other, *than), (*at, *at), strict=False)
    seeds = frozenset(study.seed_of(cell) for name, when in sides for cell in study.collapsed(name, claim.on, when))
    comparison = Comparison((variant, other, *than), claim.on, metric, at)
    rest = study.effect(comparison._replace(without=seeds)) if seeds else None
    return Pair(better, worse, study.effect(comparison), published, true, bool(seeds), rest, claim.than)


def endpoints(study: StudyResults) -> tuple[list[ClaimTest], dict[Claim, ClaimTest]]:
    """The verdicts on the study's claims: one family by the paper's metric, and one by likelihood.

    Claims within a margin and on the pre-training itself have no verdict by likelihood.
    """
    likely = marked(study, likely_claims(study), LIKELIHOOD)
    return marked(study, study.claims), {test.claim: test for test in likely if test.measured}


def marked(study: StudyResults, claims: Sequence[Claim], metric: str = "") -> list[ClaimTest]:
    """The verdicts on claims with their `marks`: remarks of the store, and rules without which a verdict is another, if
    they were made after runs of the study had begun."""
    measured = claim_tests(study, claims, metric)
    tests = []
    for test, marks in zip(verdicts(measured, error=study.error), _of_rules(study, measured, metric), strict=True):
        marks += [LATER] if test.decided and test.claim in study.later else []
        marks += [remark.sentence for remark in study.remarks if _is_about(remark, study, test)]
        marks += [ENDPOINT.mark()] if test.decided and metric and study.before(ENDPOINT.since) else []
        tests.append(replace(test, marks=tuple(marks)))
    return tests


def _of_rules(study: StudyResults, measured: Sequence[ClaimTest], metric: str) -> list[list[str]]:
    """A sentence for each later rule that decides the outcome of a test.

    The numbers of a claim are worked out once, and once more with the lenders of variance that a rule excludes.
    """
    late = [rule for rule in RULES if study.before(rule.since)]
    if not study.unlearned:
        late = [rule for rule in late if rule not in (WORSE, LENDERS)]
    claims = [test.claim for test in measured]
    lent = claim_tests(study.with_all_lenders(), claims, metric) if LENDERS in late else measured

    def without(lifted: Collection[Rule]) -> list[str]:
        of_rules = [test.without(lifted) for test in (lent if LENDERS in lifted else measured)]
        return [test.outcome for test in verdicts(of_rules, needs=False, error=study.error)]

    actual, none = without(()), without(late)
    marks: list[list[str]] = [[] for _ in measured]
    for rule in late:
        alone = without({rule})
        # of two rules that refuse a verdict, lifting one changes nothing: each still does alone
        others = without({*late} - {rule}) if none != actual else actual
        for number, outcome in enumerate(actual):
            if alone[number] != outcome:
                marks[number].append(rule.mark(alone[number]))
            elif none[number] != outcome == others[number]:
                marks[number].append(rule.mark(f"and others like it, {none[number]}"))
    return marks


def _is_about(remark: Remark, study: StudyResults, test: ClaimTest) -> bool:
    """Whether a remark of the store is about a claim; about an undecided one, only if it names the claim."""
    about = (remark.section, study.key), (remark.on, test.claim.on), (remark.claim, test.claim.text)
    return bool(remark.claim or test.decided) and all(wanted in ("", value) for wanted, value in about)


def verdicts(tests: Sequence[ClaimTest], needs: bool = True, error: float = 1 - LEVEL) -> list[ClaimTest]:
    """The tests of a study's claims, each with its verdict and, with `needs`, the seeds that would decide it.

    Those that are testable are one family, whose chance of a wrong verdict is at most `error`.
    """
    judged = []
    ps = [test.decisive_p for test in tests if test.testable]
    family = iter(holm([1.0 if p is None else p for p in ps]))
    for test in tests:
        p, adjusted = (test.decisive_p, next(family)) if test.testable else (None, 1.0)
        outcome = "undecided"
        if p is not None and adjusted <= error:
            outcome = "reproduced" if test.as_claimed else "contradicted"
        need = test.needs(len(ps), error) if needs and test.testable else None
        judged.append(replace(test, outcome=outcome, adjusted=None if p is None else adjusted, need=need))
    return judged


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: each may be compared with the level of the whole family."""
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = least
    return adjusted


def support(mean: float, margin: Margin) -> float:
    """How far a difference lies on the claim's side: from 0, or from the nearest bound of a margin."""
    low, high = margin or (0.0, math.inf)
    return min(mean - low, high - mean)


def power(effect: float, margin: Margin, spread: VarianceComponents, n: int, level: float = LEVEL) -> float:
    """The chance of a verdict over `n` seeds, by a non-central t with the degrees of freedom of the summed variance.

    Without a margin, that a two-sided test sees a true `effect`; its critical value is that of the interval. With one,
    that one-sided tests find the effect to lie within it, if two do not fail together (Bonferroni), which gives
    slightly less than the true chance.
    """
    from scipy.special import nctdtr

    freedom, error, distribution = spread.freedom(n), math.sqrt(spread.variance(n)), spread.confidence(0.0, n)
    # scipy gives NaN for some chances below 1e-14, and for an infinite bound
    if margin is None:
        bound = distribution.quantile(0.5 + level / 2) / error
        below, above = np.nan_to_num(nctdtr(freedom, abs(effect) / error, np.array([-bound, bound])))
        return float(1 - above + below)
    bound, (low, high) = distribution.quantile(level) / error, margin
    missed = nctdtr(freedom, np.array([effect - low, high - effect]) / error, bound)
    return max(0.0, float(1 - np.nan_to_num(missed).sum()))


def seeds_needed(
    effect: float, margin: Margin, spread: VarianceComponents | None, level: float = LEVEL, chance: float = POWER
) -> float | None:
    """The fewest seeds, at least `VERDICT_MIN_SEEDS`, with a `power` of at least `chance`.

    `math.inf` if `MOST_SEEDS` do not have it: the examples are too few, or there is no such effect. None if the spread
    comes from fewer than three seeds.
    """
    # the 95 % interval of a spread of two seeds spans a factor of 70
    if spread is None or spread.n < 3:
        return None
    candidates = range(VERDICT_MIN_SEEDS, MOST_SEEDS + 1)
    index = bisect_left(candidates, chance, key=lambda n: power(effect, margin, spread, n, level))
    return candidates[index] if index < len(candidates) else math.inf
