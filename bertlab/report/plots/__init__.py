"""The figures of a report, one a file: vector graphics, 7.2 inches wide, the same bytes each time."""

from __future__ import annotations

import hashlib
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.report.evidence import Evidence
from bertlab.report.plots import curves, effects, points, sizes
from bertlab.report.plots.layout import Drawing
from bertlab.report.plots.style import applied

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """A figure as a page shows it."""

    kind: str
    """Part of its file's name: `effects`, `points`, `convergence`, `curves` or `sizes`."""
    title: str
    alt: str
    """One sentence that says what it shows, for readers who cannot see it."""
    svg: bytes


def pictures(evidence: Evidence) -> list[Picture]:
    """The figures of a section, in the order of the page."""
    with applied():
        return [
            Picture(each.kind, each.title, each.alt, svg(each.figure, f"{evidence.study} {evidence.key} {each.kind}"))
            for each in drawings(evidence)
        ]


def drawings(evidence: Evidence) -> list[Drawing]:
    """The figures before they are written; to be called, like all that draws, within `style.applied()`."""
    every = (
        effects.draw(evidence),
        points.draw(evidence),
        curves.convergence(evidence),
        curves.losses(evidence),
        sizes.draw(evidence),
    )
    return [each for each in every if each is not None]


def svg(figure: Figure, name: str) -> bytes:
    """A figure as SVG, the same bytes each time; ids are unique to `name`, so that one page can hold many figures.

    Text is drawn as shapes, comments and the style sheet are removed: a style sheet would hold for the whole page, and
    matplotlib writes names from data into comments.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    text = file.getvalue()
    text = re.sub(r"<!--.*?-->\s*|\s*<style.*?</style>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = text.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    prefix = "f" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return re.sub(r'\bid="|href="#|url\(#', lambda found: f"{found[0]}{prefix}-", text).encode()
