"""The figures of a report, one a file: vector graphics, 7.2 inches wide, the same bytes each time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from bertlab.report.evidence import Evidence
from bertlab.report.plots import convergence, curves, effects, points, sizes, svg
from bertlab.report.plots.layout import Drawing
from bertlab.report.plots.style import applied


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it."""

    kind: str
    """Part of its file's name: `effects`, `points`, `convergence`, `curves` or `sizes`."""
    title: str
    """Its heading."""
    alt: str
    """One sentence that says what it shows, for who cannot see it."""
    svg: bytes


def pictures(evidence: Evidence) -> list[Picture]:
    """What there is to draw of a section, in the order of the page.

    No id within an SVG occurs in that of another section or kind, so that one page can hold them all.
    """
    with applied():
        return [
            Picture(each.kind, each.title, each.alt, svg.written(each.figure, _prefix(evidence, each.kind)))
            for each in drawings(evidence)
        ]


def drawings(evidence: Evidence) -> list[Drawing]:
    """The figures before they are written; to be called, like all that draws, within `style.applied()`."""
    every = (
        effects.draw(evidence),
        points.draw(evidence),
        convergence.draw(evidence),
        curves.draw(evidence),
        sizes.draw(evidence),
    )
    return [each for each in every if each is not None]


def _prefix(evidence: Evidence, kind: str) -> str:
    return (
        "f" + hashlib.sha256(f"{evidence.study} {evidence.key} {kind}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    )
