"""What to do about a hypothesis: keep it, discard it, or add seeds."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bertlab.errors import BadInput
from bertlab.lab.claim import Claim
from bertlab.names import plain
from bertlab.report.findings import Finding
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.sequential.power import LARGEST_MAXIMUM

KEEP, DISCARD, MORE = "keep", "discard", "more seeds"
STATUS = {KEEP: 0, DISCARD: 10, MORE: 11}
"""The exit status of each decision."""


UNNAMED = "value"
"""The measurement of a table that does not name it."""


def better_than(better: str, worse: str, on: str) -> Claim:
    """The hypothesis that one variant is better than another on a measurement."""
    text = f"{better} is better than {worse}{'' if on == UNNAMED else f' on {on}'}"
    return Claim(text, better=better, worse=worse, on=on)


def parsed(text: str, variants: Collection[str] = (), measurements: Sequence[str] = (UNNAMED,)) -> Claim:
    """The hypothesis `A > B on M`: A is better than B.

    Without `on M`, M is the only measurement. Names in a table may contain ` on `. Raises `BadInput` for other texts.
    """
    better, _, rest = (part.strip() for part in plain(text).partition(" > "))
    ends = [name for name in measurements if rest.endswith(f" on {name}")]
    on = max(ends, key=len, default=rest.rpartition(" on ")[2])
    worse = rest.removesuffix(f" on {on}")
    if worse == rest or rest in variants:
        worse, on = rest, measurements[0] if len(measurements) == 1 else ""
    if not (better and worse and on) or better == worse:
        raise BadInput(f"--claim is '{text}': write 'A > B on M', where variant A is better than B on measurement M")
    return better_than(better, worse, on)


def check_maximum(seeds: int) -> None:
    """Raises `BadInput` for a largest number of seeds that is too small or too large."""
    if not VERDICT_MIN_SEEDS <= seeds <= LARGEST_MAXIMUM:
        raise BadInput(f"--max-seeds is {seeds}: give a number from {VERDICT_MIN_SEEDS} to {LARGEST_MAXIMUM}")


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to do about a hypothesis."""

    finding: Finding
    what: str
    """`keep`, `discard` or `more seeds`."""
    more: int = 0
    """The seeds to add to each variant; 0 unless it says so."""
    why: str

    @property
    def sentence(self) -> str:
        """The decision with its reason."""
        what = f"{self.more} more {'seed' if self.more == 1 else 'seeds'}" if self.more else self.what
        return f"{what}: {self.finding.claim} ({self.why})"


def decision(finding: Finding) -> Decision:
    """Keeps what is significantly better. Discards what is significantly worse, not better in the mean, or has hardly a
    chance of a verdict with the most seeds that are planned. Else says how many seeds probably decide, and one where
    equal differences give no p-value.
    """
    test, history, effect = finding.test, finding.test.history, finding.test.pair.effect
    n, most = effect.n if effect else 0, history.maximum if history else LARGEST_MAXIMUM
    need = math.inf if test.need is None else test.need[0]
    if test.decided:
        what = KEEP if test.outcome == "reproduced" else DISCARD
        return Decision(finding=finding, what=what, why=finding.looks or finding.outcome)
    why, more = finding.hint, 0
    if n < VERDICT_MIN_SEEDS:
        more, why = VERDICT_MIN_SEEDS - n, f"a verdict needs at least {VERDICT_MIN_SEEDS} seeds"
    elif not test.pair.as_claimed(None):
        why = "the mean difference is not on the claimed side"
    elif test.p is None:
        more, why = int(n < most), "all differences are equal, which gives no p-value"
    elif not (history and (history.exhausted or history.futile)) and (history or need <= most):
        more = int(min(max(need, n + 1), most)) - n
    return Decision(finding=finding, what=MORE if more else DISCARD, more=more, why=why)


def overall(decisions: Collection[Decision]) -> str:
    """`more seeds` if any hypothesis needs some, else `discard` if any is to be discarded, else `keep`."""
    return max((one.what for one in decisions), key=[*STATUS].index)
