"""Looks at the claims of a study whose seeds are added in rounds: what each look found, and what it means for the next.

A claim's looks are kept in the study's record: seeds, p-value, and the chance of a verdict at the declared maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bertlab.lab.claim import Claim
from bertlab.recipe.identity import canonical
from bertlab.report.statistics.effects import LEVEL, Effect
from bertlab.report.statistics.sequential import fraction, nominal, sequential_p
from bertlab.report.statistics.variance import Interval
from bertlab.store.record import ClaimLook, Record

FUTILE = 0.1
"""The chance of a verdict at the maximum of seeds below which a claim gets no more seeds."""


@dataclass(frozen=True)
class LookHistory:
    """All looks at a claim, the first one first."""

    maximum: int
    """The most seeds that the claim may get, declared before the first look."""
    looks: tuple[ClaimLook, ...] = ()

    @cached_property
    def fractions(self) -> list[float]:
        """The information fraction of each look."""
        return [fraction(look.n, self.maximum) for look in self.looks]

    @cached_property
    def _decisive(self) -> tuple[float, int]:
        """The sequential p-value, and the number of the look that gives it."""
        return sequential_p(self.fractions, [look.p for look in self.looks])

    @property
    def p(self) -> float | None:
        """The sequential p-value; None before the first look."""
        return self._decisive[0] if self.looks else None

    @property
    def as_claimed(self) -> bool:
        """The side of the claim at the look that gives the p-value."""
        return bool(self.looks) and self.looks[self._decisive[1]].as_claimed

    def levels(self) -> list[float]:
        """The nominal two-sided level of each look in a test of one claim."""
        return nominal(self.fractions, 1 - LEVEL)

    def interval(self, effect: Effect | None) -> Interval | None:
        """The repeated interval of an effect (Jennison and Turnbull 1989), valid wherever looking stops.

        None unless the last look saw these seeds.
        """
        confidence = effect.confidence if effect and self.looks and effect.n == self.looks[-1].n else None
        level = self.levels()[-1] if confidence else 0.0
        return confidence.interval(level) if confidence and level else None

    @property
    def futile(self) -> bool:
        """Whether the last look leaves hardly any chance of a verdict."""
        return bool(self.looks) and self.looks[-1].power < FUTILE

    @property
    def prospect(self) -> str:
        """Whether more seeds may decide, as text."""
        if not self.looks:
            return "not looked at yet: rounds with --until-decided look at it"
        if self.exhausted:
            fixed = f"the {self.maximum} seeds fixed before the first look are used up"
            return f"{fixed}; a larger budget does not change that"
        chance = f"{100 * self.looks[-1].power:.0f} %"
        if self.futile:
            return f"no more seeds: even with all {self.maximum} planned, a verdict has a chance of {chance}"
        certain = "is almost certain" if chance == "100 %" else f"has a chance of {chance}"
        return f"with {self.maximum} seeds a verdict {certain}"

    @property
    def exhausted(self) -> bool:
        """Whether the claim has all its seeds."""
        return bool(self.looks) and self.looks[-1].n >= self.maximum


def hypothesis(claim: Claim) -> str:
    """What a claim tests, whatever its words: its pairs, margin and milestones."""
    rest = [*(["or better"] if claim.or_better else []), *(["than", *claim.than] if claim.than else [])]
    return canonical([claim.pairs, claim.within, claim.at, claim.before, *rest])


def look_history(record: Record, claim: Claim, metric: str = "") -> LookHistory | None:
    """The looks at a claim on the paper's metric, or on another one; None if no seeds were added in rounds."""
    if record.sequential is None:
        return None
    tested = hypothesis(claim), claim.on, metric
    looks = [look for at_study in record.sequential.looks for look in at_study.claims]
    of_claim = (look for look in looks if (look.hypothesis, look.on, look.metric) == tested)
    return LookHistory(record.sequential.maximum, tuple(of_claim))
