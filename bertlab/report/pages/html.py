"""A report as one page of HTML that needs nothing beside it: no script, no font, no image from elsewhere.

Everything that comes from data is text: jinja2 escapes it, and `plain` takes out what acts and is not seen. Figures are
part of the page, in its own ink, so that they follow its light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from bertlab.names import plain
from bertlab.report.claims import Finding
from bertlab.report.compare import Changes
from bertlab.report.section import Chapter, summary

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

_INKS = {"#222222": "currentColor", "#e4e4e4": "var(--grid)", "#ffffff": "var(--ground)"}
"""The colours of a figure that follow the page's; all others are readable on both grounds."""


def page(chapters: Sequence[Chapter], changes: Changes | None = None) -> str:
    """The page of all studies: the verdict of each claim, what changed, then a part for each study `written`."""
    template = _environment().get_template("index.html.j2")
    return template.render(chapters=chapters, summary=summary(chapters), changes=changes).strip() + "\n"


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bertlab.report.pages", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        finalize=_visible,
    )
    environment.filters |= {"minus": _minus, "inline": _inline, "bar": _bar}
    return environment


def _visible(value: Any) -> Any:
    """Text without what acts and is not seen; markup of our own as it is."""
    return plain(value) if type(value) is str else value


def _minus(text: str) -> str:
    """Numbers with the minus that is as wide as a plus."""
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def _inline(svg: bytes, label: str) -> Markup:
    """A figure as an element of the page: one image to who cannot see it, as wide as there is room."""
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
