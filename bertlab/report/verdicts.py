"""What the evidence says of a study's claims: reproduced, contradicted, or undecided and how many seeds it would take.

A verdict is given where Holm's adjusted p-value over all claims of the study is at most 1 - `LEVEL`, and never with
fewer than `FLOOR` seeds. Claims that nothing was measured for yet count as well: what has been decided then stays so
when they are measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bertlab.report.effects import FLOOR, Effect
from bertlab.report.evidence import Evidence
from bertlab.report.power import seeds_to_rule_out, seeds_to_see
from bertlab.report.predictions import Predictions
from bertlab.report.statistics import LEVEL
from bertlab.study import Claim

LESS_IS_MORE = ("loss", "perplexity")
"""Ends of the names of metrics of which less is better."""

Outcome = Literal["reproduced", "contradicted", "undecided"]


@dataclass(frozen=True)
class Trial:
    """A claim and what was measured for it."""

    claim: Claim
    effect: Effect | None
    """Of the row that is said to be better over the other, above 0 if it is; None if they share no seed yet."""
    published: float | None
    """The same difference in the paper."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the evidence says of a claim."""

    claim: Claim
    outcome: Outcome
    effect: Effect | None
    published: float | None
    """The paper's effect in the measure's unit."""
    p: float | None
    """Of the claim's own test: two-sided of no effect; of a margin, the smaller of that of lying in it (two one-sided
    tests) and that of lying beyond it (two-sided). None below `FLOOR` seeds."""
    adjusted: float | None
    """By Holm over the study's claims; what the outcome is read off."""
    seeds: float | None
    """Seeds that give a verdict with a chance of 80 % at the spread that was measured, were the published effect true
    (the measured one, if none is published); for a margin, were it that or none. `math.inf` if no number of
    seeds does on these examples; None if too few were measured to say."""


def trials(evidence: Evidence, predictions: Predictions, claims: Sequence[Claim]) -> list[Trial]:
    """The claims of a study with what its finished runs say of each."""
    return [_trial(evidence, predictions, claim) for claim in claims]


def _trial(evidence: Evidence, predictions: Predictions, claim: Claim) -> Trial:
    row, other = claim.better, claim.worse
    if any(cell.metric.endswith(LESS_IS_MORE) for cell in evidence.column(claim.on)):
        row, other = other, row
    one, two = (evidence.published(name, claim.on) for name in (row, other))
    published = None if one is None or two is None else one - two
    return Trial(claim, predictions.effect(evidence, row, other, claim.on), published)


def verdicts(trials: Sequence[Trial]) -> list[Verdict]:
    """The verdicts of a study's claims, judged as one family."""
    tests = [_p(trial) for trial in trials]
    adjusted = holm([1.0 if p is None else p for p in tests])
    return [
        Verdict(
            claim=trial.claim,
            outcome="undecided" if p is None or least > 1 - LEVEL else _side(trial),
            effect=trial.effect,
            published=trial.published,
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
    effect, margin = trial.effect, trial.claim.within
    if effect is None or effect.n < FLOOR:
        return None
    if margin is None:
        return effect.p
    inside, outside = effect.equivalence(margin), effect.beyond(margin)
    # At most one of the two is wrong to reject, whatever the truth is: the smaller needs no correction for the other.
    return None if inside is None or outside is None else min(inside, outside)


def _side(trial: Trial) -> Outcome:
    """Which verdict a test that rejects gives."""
    assert trial.effect is not None
    margin = trial.claim.within
    as_claimed = trial.effect.mean > 0 if margin is None else abs(trial.effect.mean) < margin
    return "reproduced" if as_claimed else "contradicted"


def _needed(trial: Trial, family: int) -> float | None:
    if trial.effect is None:
        return None
    level = 1 - (1 - LEVEL) / family  # the hardest step of Holm's
    spread, margin, published = trial.effect.spread, trial.claim.within, trial.published
    if margin is None:
        return seeds_to_see(trial.effect.mean if published is None else published, spread, level)
    return seeds_to_rule_out(margin, published or 0.0, spread, level)
