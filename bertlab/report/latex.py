"""A study as LaTeX: tables in booktabs, to be `\\input` into a paper that loads `booktabs` and `graphicx`."""

from __future__ import annotations

from bertlab.report.section import Chapter


def study(chapter: Chapter) -> str:
    raise NotImplementedError
