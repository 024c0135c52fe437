"""What the numbers along an axis are."""

from __future__ import annotations

from collections.abc import Sequence

from bertlab.report.evidence import Evidence

COUNTS = ((1e9, " (billions)"), (1e6, " (millions)"), (1e3, " (thousands)"), (1.0, ""))
TIMES = ((3600.0, " (hours)"), (60.0, " (minutes)"), (1.0, " (seconds)"))
"""Units of an axis, the largest first."""


def unit(most: float, units: Sequence[tuple[float, str]]) -> tuple[float, str]:
    """The largest unit of which an axis up to `most` holds at least one, or the smallest of all."""
    return next(((size, name) for size, name in units if most >= size), units[-1])


def of(evidence: Evidence, measurement: str) -> str:
    """What a measurement is in: its metric in points, or what is read off the pre-training in its own unit."""
    cell = evidence.column(measurement)[0]
    metric = cell.metric.upper() if len(cell.metric) < 3 else cell.metric.replace("_", " ")
    told = metric if cell.method == "pretraining" else f"{metric} (points)"
    return f"{told}, less is better" if evidence.less_is_more(measurement) else told
