"""A report in Markdown, HTML and LaTeX: each renders the same sections.

The page of HTML is self-contained: no script, no font, no image from elsewhere. Figures are part of it and use its
colours, so that they follow light and dark.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bertlab.names import plain
from bertlab.report import escape, facts, findings, tables
from bertlab.report.findings import Finding
from bertlab.report.notes import environment, notes
from bertlab.report.plots.style import GRID, INK, WHITE

if TYPE_CHECKING:
    from markupsafe import Markup

_INKS = {INK: "currentColor", GRID: "var(--grid)", WHITE: "var(--ground)"}
"""The colours of a figure that follow the page's; all others are readable on light and dark."""


def render(template: str, /, **context: Any) -> str:
    """A template filled in. It calls the modules for its text: `{{ tables.pretraining(section.evidence) }}`.

    In HTML all text is escaped; in Markdown each text goes through the filters `md` (a line of its own) or `words`.
    """
    templates = environment(html=".html" in template)
    templates.globals |= {"facts": facts, "findings": findings, "notes": notes, "tables": tables}
    templates.filters |= {"md": escape.paragraph, "words": escape.markdown}
    templates.filters |= {"minus": _minus, "inline": _inline, "bar": _bar}
    text: str = templates.get_template(template).render(**context)
    return text.strip() + "\n"


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
