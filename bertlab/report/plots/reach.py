"""Which part of an axis is drawn to scale: a row far off does not squeeze the others together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bertlab.report.evidence import Evidence

SPAN = 2.0
"""Points that a panel shows at least: a tenth of a point is not to look like an effect."""

_FAR, _OFF = 3.0, 1.5
"""How many times farther off than the next a row is left out of the scale, and one without pre-training."""


def least(evidence: Evidence, measurement: str) -> float:
    """What an axis shows at least, in the measurement's unit: of figures that are not points, next to nothing."""
    return 0.0 if evidence.column(measurement)[0].method == "pretraining" else SPAN


def distant(evidence: Evidence, away: Mapping[str, float], least: float, marks: Sequence[float] = ()) -> set[str]:
    """The rows that are not drawn to scale: `away` has how far each lies from the baseline, `marks` what else is drawn.

    Those are rows without pre-training that lie far off the others, and of three or more others one that does so.
    """
    trained = {row: abs(value) for row, value in away.items() if not evidence.untrained(row)}
    far: set[str] = set()
    near = max([least, *map(abs, marks)])
    if len(trained) > 2:
        second, first = sorted(trained, key=trained.__getitem__)[-2:]
        if trained[first] > _FAR * max(near, trained[second]):
            far.add(first)
    near = max([near, *(value for row, value in trained.items() if row not in far)])
    return far.union(row for row in away if trained and row not in trained and abs(away[row]) > _OFF * near)


def padded(low: float, high: float, least: float, margin: float = 0.08) -> tuple[float, float]:
    """The ends of an axis that holds `low` to `high` with a margin, and `least` at least."""
    wide = max(high - low, least, 1e-3 * max(abs(low), abs(high)), 1e-9)
    centre = (low + high) / 2
    half = max((high - low) / 2, wide / 2) * (1 + 2 * margin)
    return centre - half, centre + half


def beside(low: float, high: float, left: float, right: float) -> tuple[float, float]:
    """`low` to `high`, widened so that `left` and `right`, shares of the axis, are free of it."""
    wide = (high - low) / max(0.2, 1 - left - right)
    return low - left * wide, low - left * wide + wide
