"""A study in LaTeX: a file of tables to be read into a paper by `\\input`, made for booktabs.

A table has the rows of the study as its lines, as in the paper, and is made narrower where it would be too wide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from bertlab.report.comparison import Comparison, Line
from bertlab.report.escape import latex
from bertlab.report.section import Chapter, Section

_HEADER = r"""% Written by `bertlab report --format latex`. The paper needs:
% \usepackage[T1]{fontenc}
% \usepackage{booktabs,graphicx}
"""


def study(chapter: Chapter) -> str:
    """The tables of a study in each of its settings: results, differences, claims."""
    return "\n".join([_HEADER, *(table for section in chapter.sections for table in _tables(chapter, section))])


def _tables(chapter: Chapter, section: Section) -> Iterable[str]:
    about = f"{chapter.study}. {section.title}. {section.source}."
    measured = [each.measurement for each in section.comparisons]
    yield _table(
        f"{section.stem}:results",
        " ".join([about, *section.legend, "The best of each column is bold."]),
        "l" + "rr" * len(measured),
        _groups("row", measured),
        _across(section.comparisons, _value, _published),
    )
    if section.differences.rows:
        yield _table(
            f"{section.stem}:differences",
            " ".join([about, *section.intervals]),
            "l" + "rr" * len(measured),
            _groups("row minus baseline", measured),
            _across(section.comparisons, _difference, _published_difference, differing=True),
        )
    if section.claims.rows:
        places = {"claim": r"p{0.3\linewidth}", "on": "l", "verdict": r"p{0.18\linewidth}"}
        yield _table(
            f"{section.stem}:claims",
            " ".join([about, *section.verdicts]),
            "".join(places.get(name, "r") for name in section.claims.columns),
            [_row(map(latex, section.claims.columns))],
            [
                [
                    latex(text) if name in places else _number(text)
                    for name, text in zip(section.claims.columns, row, strict=True)
                ]
                for row in section.claims.rows
            ],
        )


def _table(label: str, caption: str, columns: str, head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{latex(caption)}}}",
            rf"\label{{tab:{label}}}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *head,
            r"\midrule",
            *map(_row, rows),
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
            "",
        ]
    )


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _groups(first: str, measured: Sequence[str]) -> list[str]:
    """A head of two lines: the measurements, and under each what is here and what is in the paper."""
    names = [rf"\multicolumn{{2}}{{c}}{{{latex(name)}}}" for name in measured]
    rules = [rf"\cmidrule(lr){{{2 * place + 2}-{2 * place + 3}}}" for place in range(len(measured))]
    return [_row(["", *names]), "".join(rules), _row([first, *["measured", "published"] * len(measured)])]


def _across(
    comparisons: Sequence[Comparison], *cells: Callable[[Line], str], differing: bool = False
) -> Iterable[list[str]]:
    """A line a row: of each measurement what `cells` make of it; if `differing`, of those that have a difference."""
    for place in range(max(len(comparison.lines) for comparison in comparisons)):
        lines = [comparison.lines[place] if place < len(comparison.lines) else None for comparison in comparisons]
        known = [line for line in lines if line is not None]
        if not differing or any(line.difference or line.published_difference for line in known):
            yield [latex(known[0].row), *("" if line is None else cell(line) for line in lines for cell in cells)]


def _value(line: Line) -> str:
    mean = rf"\textbf{{{_number(line.measured)}}}" if line.best else _number(line.measured)
    beside = ", ".join(filter(None, [line.sd, line.n and f"n = {line.n}", line.note]))
    return f"{mean} ({latex(beside)})" if beside else mean


def _published(line: Line) -> str:
    return rf"\textbf{{{_number(line.published)}}}" if line.best_published else _number(line.published)


def _difference(line: Line) -> str:
    return _number(f"{line.difference} ({line.interval})" if line.interval else line.difference)


def _published_difference(line: Line) -> str:
    return _number(line.published_difference)


def _number(text: str) -> str:
    """Text of numbers, with the signs of mathematics."""
    return re.sub(r"(?<![\w.])([-+])(?=\d)", r"$\1$", latex(text))
