"""What the evidence says of a study's claims: reproduced, contradicted, or undecided and how many seeds it would take.

A verdict is given where Holm's adjusted p-value over all claims of the study is at most 1 - `LEVEL`, and never with
fewer than `FLOOR` seeds. Claims that nothing was measured for yet count as well: what has been decided then stays so
when they are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bertlab.report.evidence import Evidence
from bertlab.report.statistics.effects import FLOOR, Effect
from bertlab.report.statistics.power import seeds_to_rule_out, seeds_to_see
from bertlab.report.statistics.summary import LEVEL
from bertlab.study import Claim

Outcome = Literal["reproduced", "contradicted", "undecided"]


@dataclass(frozen=True)
class Pair:
    """A row that is said to be better than another, and what was measured of it."""

    better: str
    worse: str
    effect: Effect | None
    """Of the first over the second, above 0 if it is better; None if they share no seed yet."""
    published: float | None
    """The same difference in the paper."""

    def as_claimed(self, margin: float | None) -> bool:
        """Whether the measured mean lies on the claim's side."""
        return self.effect is not None and (self.effect.mean > 0 if margin is None else abs(self.effect.mean) < margin)


@dataclass(frozen=True)
class Trial:
    """A claim and what was measured for it."""

    claim: Claim
    pairs: tuple[Pair, ...]
    judged: bool = True
    """False of a margin of the paper's where scale or data are others: only directions compare."""

    @property
    def closest(self) -> Pair:
        """Of the pairs that are measured, the one that speaks most against the claim."""
        measured = [pair for pair in self.pairs if pair.effect is not None]
        return min(measured or self.pairs, key=self._support)

    def _support(self, pair: Pair) -> float:
        mean = pair.effect.mean if pair.effect else 0.0
        return mean if self.claim.within is None else -abs(mean)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the evidence says of a claim."""

    claim: Claim
    outcome: Outcome
    pair: Pair
    """The pair that speaks most against the claim; the only one of most claims."""
    measured: bool
    """Whether all of its pairs are."""
    p: float | None
    """Of the claim's own test: two-sided of no effect; of a margin, the smaller of that of lying in it (two one-sided
    tests) and that of lying beyond it (two-sided). Of several pairs, the largest if all means are as claimed; otherwise
    the smallest of those that are not, times the number of pairs (Bonferroni). None below `FLOOR` seeds, and of what is
    not judged."""
    adjusted: float | None
    """By Holm over the study's claims; what the outcome is read off."""
    seeds: float | None
    """Seeds that give a verdict with a chance of 80 % at the spread that was measured, were the published effect true
    (the measured one, if none is published); for a margin, were it that or none. The most that any pair takes.
    `math.inf` if no number of seeds does on these examples; None if too few were measured to say."""

    @property
    def effect(self) -> Effect | None:
        """What was measured of the pair."""
        return self.pair.effect

    @property
    def published(self) -> float | None:
        """The paper's effect of the pair, in the measure's unit."""
        return self.pair.published


def trials(evidence: Evidence, claims: Sequence[Claim]) -> list[Trial]:
    """The claims of a study with what its finished runs say of each."""
    return [
        Trial(
            claim,
            tuple(_pair(evidence, claim, *rows) for rows in claim.pairs),
            judged=claim.within is None or evidence.comparable,
        )
        for claim in claims
    ]


def _pair(evidence: Evidence, claim: Claim, better: str, worse: str) -> Pair:
    row, other = better, worse
    if evidence.less_is_more(claim.on):
        row, other = other, row
    one, two = (evidence.published(name, claim.on) for name in (row, other))
    # What is published are figures of the end.
    published = None if one is None or two is None or claim.at < 100 else one - two
    return Pair(better, worse, evidence.effect(row, other, claim.on, at=claim.at), published)


def verdicts(trials: Sequence[Trial]) -> list[Verdict]:
    """The verdicts of a study's claims, judged as one family."""
    tests = [_p(trial) for trial in trials]
    adjusted = holm([1.0 if p is None else p for p in tests])
    return [
        Verdict(
            claim=trial.claim,
            outcome="undecided" if p is None or least > 1 - LEVEL else _side(trial),
            pair=trial.closest,
            measured=all(pair.effect for pair in trial.pairs),
            p=p,
            adjusted=None if p is None else least,
            seeds=_needed(trial, len(trials)),
        )
        for trial, p, least in zip(trials, tests, adjusted, strict=True)
    ]


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: each may be compared with the level of the whole family."""
    adjusted, least = [0.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = max(least, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = least
    return adjusted


def _p(trial: Trial) -> float | None:
    margin = trial.claim.within
    tests = [(pair.as_claimed(margin), _test(pair, margin)) for pair in trial.pairs]
    if not trial.judged or any(p is None for _, p in tests):
        return None
    # At most one of the two sides is wrong to take, whatever the truth is: neither is corrected for the other.
    against = [p for as_claimed, p in tests if p is not None and not as_claimed]
    return min(1.0, len(tests) * min(against)) if against else max(p for _, p in tests if p is not None)


def _test(pair: Pair, margin: float | None) -> float | None:
    effect = pair.effect
    if effect is None or effect.n < FLOOR:
        return None
    if margin is None:
        return effect.p
    inside, outside = effect.equivalence(margin), effect.beyond(margin)
    return None if inside is None or outside is None else min(inside, outside)


def _side(trial: Trial) -> Outcome:
    """Which verdict a test that rejects gives."""
    return "reproduced" if all(pair.as_claimed(trial.claim.within) for pair in trial.pairs) else "contradicted"


def _needed(trial: Trial, family: int) -> float | None:
    level = 1 - (1 - LEVEL) / family  # the hardest step of Holm's
    needed = [_seeds(pair, trial.claim.within, level) for pair in trial.pairs]
    known = [each for each in needed if each is not None]
    return max(known) if len(known) == len(needed) else None


def _seeds(pair: Pair, margin: float | None, level: float) -> float | None:
    if pair.effect is None:
        return None
    spread, published = pair.effect.spread, pair.published
    if margin is None:
        return seeds_to_see(pair.effect.mean if published is None else published, spread, level)
    return seeds_to_rule_out(margin, published or 0.0, spread, level)
