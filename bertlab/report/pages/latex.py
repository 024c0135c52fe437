"""A study in LaTeX: a file of booktabs tables to be read into a paper by `\\input`."""

import re

from tabulate import LATEX_ESCAPE_RULES, tabulate

from bertlab.names import plain
from bertlab.report import findings, tables
from bertlab.report.section import Chapter

_HEADER = r"""% Written by `bertlab report --format latex`. The paper needs
% \usepackage[T1]{fontenc}
% \usepackage{booktabs}
"""
_SPECIAL = str.maketrans(LATEX_ESCAPE_RULES)
_TABLE = r"""\begin{table}
\centering
\caption{%s}
\label{%s}
%s
\end{table}
"""


def study(chapter: Chapter) -> str:
    """The tables of a study in each of its settings: results, differences, claims."""
    text = _HEADER
    for section in chapter.sections:
        evidence = section.evidence
        for name, table, about in (
            ("results", tables.results(evidence), "Mean (sd, n)."),
            ("differences", tables.differences(evidence), "Difference to the baseline with its 95 % interval."),
            ("claims", findings.table(section.findings), "Claims of the paper."),
        ):
            if not table.rows:
                continue
            caption = plain(f"{chapter.study}. {section.title}. {evidence.source}. {about}")
            # claims are sentences, which a column of a width wraps
            widths = ["p{0.3\\linewidth}" if name == "claims" else "l", *"r" * (len(table.columns) - 1)]
            cells = tabulate(
                [list(map(plain, row)) for row in table.rows],
                headers=list(map(plain, table.columns)),
                tablefmt="latex_booktabs",
                disable_numparse=True,
            )
            cells = cells.replace("{" + "l" * len(widths) + "}", "{" + "".join(widths) + "}", 1)
            cells = re.sub(
                r"^ ", " {}", cells, flags=re.MULTILINE
            )  # a bracket or star here would belong to the last \\
            text += "\n" + _TABLE % (caption.translate(_SPECIAL), f"tab:{section.stem}:{name}", cells)
    return text
