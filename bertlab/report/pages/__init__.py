"""A report in Markdown, HTML and LaTeX: each renders the same sections."""

from collections.abc import Callable, Mapping
from typing import Any

from bertlab.names import plain
from bertlab.report import escape, facts, findings, tables
from bertlab.report.notes import notes


def render(template: str, filters: Mapping[str, Callable[..., Any]] | None = None, /, **context: Any) -> str:
    """A template filled in. It calls the modules for its text: `{{ tables.pretraining(section.evidence) }}`.

    In HTML all text is escaped; in Markdown each text goes through the filters `md` (a line of its own) or `words`.
    """
    import jinja2

    autoescape = ".html" in template
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bertlab.report.pages", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=autoescape,
        # text without control characters; our own markup stays as it is
        finalize=lambda value: plain(value) if autoescape and type(value) is str else value,
    )
    environment.globals |= {"facts": facts, "findings": findings, "notes": notes, "tables": tables}
    environment.filters |= {"md": escape.paragraph, "words": escape.markdown, **(filters or {})}
    return environment.get_template(template).render(**context).strip() + "\n"
