"""A report as one self-contained page of HTML: no script, no font, no image from elsewhere.

jinja2 escapes all text from data. Figures are part of the page and use its colours, so that they follow light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bertlab.names import plain
from bertlab.report.compare import Changes
from bertlab.report.findings import Finding
from bertlab.report.pages import render
from bertlab.report.plots.style import GRID, INK, WHITE
from bertlab.report.section import Chapter, summary

if TYPE_CHECKING:
    from markupsafe import Markup

_INKS = {INK: "currentColor", GRID: "var(--grid)", WHITE: "var(--ground)"}
"""The colours of a figure that follow the page's; all others are readable on light and dark."""


def page(chapters: Sequence[Chapter], changes: Changes | None = None) -> str:
    """The page of all studies: the verdict on each claim, what changed, then a part for each study `written`."""
    filters: dict[str, Callable[..., object]] = {"minus": _minus, "inline": _inline, "bar": _bar}
    return render("index.html.j2", filters, chapters=chapters, summary=summary(chapters), changes=changes)


def _minus(text: str) -> str:
    """Numbers with a typographic minus."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def _inline(svg: bytes, label: str) -> Markup:
    """A figure as an element of the page, one image to a screen reader."""
    from markupsafe import Markup, escape

    opening, _, drawing = svg.decode().partition(">")
    for ink, own in _INKS.items():
        drawing = re.sub(ink, own, drawing, flags=re.IGNORECASE)
    room = re.search(r'viewBox="[^"]*"', opening)
    assert room
    return Markup(f'<svg role="img" aria-label="{escape(plain(label))}" {room[0]}>{drawing}')


def _bar(finding: Finding) -> dict[str, float]:
    """An effect, the ends of its interval and the published effect on a line of width 100, zero in the middle.

    Each finding has its own scale; unknown values are left out.
    """
    effect = finding.shown.effect
    if effect is None:
        return {}
    known = {"mean": effect.mean, "published": finding.shown.published}
    if effect.interval:
        known |= {"low": effect.interval.low, "high": effect.interval.high}
    values = {name: value for name, value in known.items() if value is not None}
    most = max(map(abs, values.values())) or 1.0
    return {name: round(50 + 46 * value / most, 1) for name, value in values.items()}
