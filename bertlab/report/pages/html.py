"""A report as one self-contained page of HTML: no script, no font, no image from elsewhere.

jinja2 escapes all text from data. Figures are part of the page and use its colours, so that they follow light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.names import plain
from bertlab.report.compare import Changes
from bertlab.report.findings import Finding
from bertlab.report.pages import environment
from bertlab.report.section import Chapter, summary

if TYPE_CHECKING:
    from markupsafe import Markup

_INKS = {"#222222": "currentColor", "#e4e4e4": "var(--grid)", "#ffffff": "var(--ground)"}
"""The colours of a figure that follow the page's; all others are readable on light and dark."""


def page(chapters: Sequence[Chapter], changes: Changes | None = None) -> str:
    """The page of all studies: the verdict of each claim, what changed, then a part for each study `written`."""
    made = environment(autoescape=True).overlay()
    made.filters = {**made.filters, "minus": _minus, "inline": _inline, "bar": _bar}
    text = made.get_template("index.html.j2").render(chapters=chapters, summary=summary(chapters), changes=changes)
    return text.strip() + "\n"


def _minus(text: str) -> str:
    """Numbers with a typographic minus."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def _inline(svg: bytes, label: str) -> Markup:
    """A figure as an element of the page, one image to a screen reader."""
    from markupsafe import Markup, escape

    text = svg.decode()
    # comments hold names; the rest of what goes is for files of their own
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    opening, _, drawing = text.partition(">")
    for ink, own in _INKS.items():
        drawing = re.sub(ink, own, drawing, flags=re.IGNORECASE)
    room = re.search(r'viewBox="[^"]*"', opening)
    assert room
    return Markup(f'<svg role="img" aria-label="{escape(plain(label))}" {room[0]}>{drawing}')


@dataclass(frozen=True)
class _Bar:
    """An interval as shares of a width of 100, with zero in the middle."""

    mean: float
    low: float | None
    high: float | None
    published: float | None


def _bar(finding: Finding) -> _Bar | None:
    """How the interval of a finding lies beside zero and the published effect; each is on a scale of its own."""
    effect = finding.judged.effect
    if effect is None:
        return None
    ends = (effect.interval.low, effect.interval.high) if effect.interval else (None, None)
    beside = (*ends, finding.judged.published)
    most = max(abs(each) for each in (effect.mean, *beside) if each is not None) or 1.0

    def place(value: float) -> float:
        return round(50 + 46 * value / most, 1)

    return _Bar(place(effect.mean), *(None if each is None else place(each) for each in beside))
