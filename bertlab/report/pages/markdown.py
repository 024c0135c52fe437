"""A report in Markdown: a page a study, and an index."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from bertlab.report import escape
from bertlab.report.compare import Changes
from bertlab.report.pages import environment
from bertlab.report.section import Chapter, summary


def study(chapter: Chapter) -> str:
    """The page of a study."""
    return _render("study.md.j2", chapter=chapter)


def index(chapters: Sequence[Chapter], written: Collection[str], changes: Changes | None = None) -> str:
    """The verdict of every claim, what changed, and a table of the studies; links to those `written` (stems)."""
    from tabulate import tabulate

    shown = {each.stem: escape.markdown(each.study) for each in chapters}
    links = {stem: f"[{name}]({stem}.md)" if stem in written else name for stem, name in shown.items()}
    lines = [
        [
            links[each.stem],
            escape.markdown(each.question),
            escape.markdown(each.source),
            escape.markdown(each.settings),
            each.measured,
        ]
        for each in chapters
    ]
    columns = ["study", "question", "source", "run at", "measured"]
    table = tabulate(lines, headers=columns, tablefmt="pipe", disable_numparse=True)
    known = {"summary": summary(chapters), "chapters": chapters, "shown": shown, "table": table, "changes": changes}
    return _render("index.md.j2", **known)


def _render(template: str, **context: Any) -> str:
    return environment(autoescape=False).get_template(template).render(**context).strip() + "\n"
