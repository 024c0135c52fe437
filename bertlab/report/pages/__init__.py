"""A report in Markdown, HTML and LaTeX: a chapter for each study, in it a section for each scale and corpus.

Their text is raw: pages escape it.

The page of HTML is self-contained: no script, no font, no image from elsewhere. Figures are part of it and use its
colours, so that they follow light and dark.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertlab.names import filename, plain
from bertlab.report import escape, facts, findings, tables
from bertlab.report.evidence import Evidence
from bertlab.report.findings import Finding
from bertlab.report.notes import environment, notes
from bertlab.report.plots import Picture, pictures
from bertlab.report.plots.figure import GRID, INK, WHITE
from bertlab.wording import count

if TYPE_CHECKING:
    from markupsafe import Markup

_INKS = {INK: "currentColor", GRID: "var(--grid)", WHITE: "var(--ground)"}
"""The colours of a figure that follow the page's; all others are readable on light and dark."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A study at one scale on one corpus."""

    evidence: Evidence
    stem: str
    """The name of its figures and of its place on a page: letters, digits, `.`, `_` and `-`."""
    title: str
    findings: tuple[Finding, ...]
    pictures: tuple[Picture, ...]

    def figure(self, picture: Picture) -> str:
        """The file of a picture of the section, relative to the directory of the report."""
        return f"figures/{self.stem}-{picture.kind}.svg"


@dataclass(frozen=True)
class Chapter:
    """A study in all settings that were run."""

    study: str
    stem: str
    """The name of its pages and, with `.csv`, `-summary.csv` and `-claims.csv`, of its data."""
    sections: tuple[Section, ...]
    written: bool
    """Whether it has pages; other studies show their claims only."""


def chapter(evidences: Sequence[Evidence], *, written: bool = True) -> Chapter:
    """A study in each of its settings; without figures unless it is `written`."""
    stem = filename(evidences[0].study)
    titles = [f"Scale {each.scale} {each.setting}" for each in evidences]
    sections = [
        Section(
            evidence=each,
            # the first section has the plain name, so that links to its figures keep working
            stem=f"{stem}-{filename(each.scale)}-{each.key}" if place else stem,
            # two settings of the same scale and corpus: the command in each section says what was set
            title=f"{title} ({each.key})" if titles.count(title) > 1 else title,
            findings=findings.findings(each),
            pictures=tuple(pictures(each)) if written else (),
        )
        for place, (each, title) in enumerate(zip(evidences, titles, strict=True))
    ]
    return Chapter(evidences[0].study, stem, tuple(sections), written)


def summary(chapters: Iterable[Chapter]) -> str:
    """The number of claims with each verdict, in one sentence; empty without claims."""
    outcomes = [finding.outcome for each in chapters for section in each.sections for finding in section.findings]
    if not outcomes:
        return ""
    counts = {"reproduced": 0, "contradicted": 0, "undecided": 0} | Counter(outcomes)
    parts = [f"{number or 'none'} {'are' if number > 1 else 'is'} {name}" for name, number in counts.items()]
    return f"Of {count(len(outcomes), 'claim')} {', '.join(parts)}."


def render(template: str, /, **context: Any) -> str:
    """A template filled in. It calls the modules for its text: `{{ tables.pretraining(section.evidence) }}`.

    In HTML all text is escaped; in Markdown each text goes through the filters `md` (a line of its own) or `words`.
    """
    templates = environment(html=".html" in template)
    templates.globals |= {"facts": facts, "findings": findings, "notes": notes, "tables": tables}
    templates.filters |= {"md": escape.paragraph, "words": escape.markdown}
    templates.filters |= {"minus": _minus, "inline": _inline}
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
