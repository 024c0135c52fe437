"""A report in Markdown: a page for each study, and an index."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bertlab.report.compare import Changes
from bertlab.report.pages import render
from bertlab.report.section import Chapter, summary


def study(chapter: Chapter) -> str:
    """The page of a study."""
    return render("study.md.j2", chapter=chapter)


def index(chapters: Sequence[Chapter], written: Collection[str], changes: Changes | None = None) -> str:
    """The verdict on every claim, what changed, and a table of the studies; links to those `written` (stems)."""
    return render("index.md.j2", summary=summary(chapters), chapters=chapters, written=written, changes=changes)
