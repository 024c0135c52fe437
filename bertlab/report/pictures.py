"""The figures of a section, in the order of its page."""

from __future__ import annotations

from dataclasses import dataclass

from bertlab.report import plots
from bertlab.report.evidence import Evidence

_KINDS = (
    ("points", "Measured points", "Measured points of each row, by pre-training seed", plots.points),
    ("milestones", "During pre-training", "What was measured over the steps of pre-training", plots.milestones),
    (
        "curves",
        "Held-out loss",
        "Held-out loss over steps, tokens and training time, the unigram entropy dashed",
        plots.curves,
    ),
)


@dataclass(frozen=True)
class Picture:
    """A figure, and what is said of it."""

    kind: str
    """A part of its file's name."""
    title: str
    alt: str
    """What it shows, for who cannot see it."""
    svg: bytes


def pictures(evidence: Evidence) -> list[Picture]:
    """The figures for which there is something to show."""
    drawn = ((kind, title, alt, draw(evidence)) for kind, title, alt, draw in _KINDS)
    return [Picture(kind, title, alt, svg) for kind, title, alt, svg in drawn if svg is not None]
