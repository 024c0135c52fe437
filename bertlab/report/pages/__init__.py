"""A report in Markdown, HTML and LaTeX: each renders the same sections."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from bertlab.names import plain
from bertlab.report import caveats, escape, facts, findings, tables

if TYPE_CHECKING:
    import jinja2


@cache
def environment(*, autoescape: bool) -> jinja2.Environment:
    """Templates that call the modules with what there is to say: `{{ tables.pretraining(section.evidence) }}`.

    In HTML (`autoescape`) all text is escaped; in Markdown each text goes through the filters `md` (a line of its own)
    or `words`.
    """
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("bertlab.report.pages", "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=autoescape,
        # text without control characters; markup of our own stays as it is
        finalize=lambda value: plain(value) if autoescape and type(value) is str else value,
    )
    made.globals |= {"caveats": caveats, "facts": facts, "findings": findings, "tables": tables}
    made.filters |= {"md": escape.paragraph, "words": escape.markdown}
    return made
