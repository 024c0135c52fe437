"""A study in LaTeX: a file of booktabs tables to be read into a paper by `\\input`."""

from collections.abc import Sequence

from bertlab.names import filename, plain
from bertlab.report import findings, tables
from bertlab.report.pages import Chapter
from bertlab.report.tables import Table

_HEADER = r"""% Written by `bertlab report --format latex`. The paper needs
% \usepackage[T1]{fontenc}
% \usepackage{booktabs}
"""
_SPECIAL = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)


def study(chapter: Chapter) -> str:
    """The tables of a study in each of its settings: results, differences, claims."""
    found = [_HEADER]
    for section in chapter.sections:
        evidence = section.evidence
        every = (
            ("results", tables.results(evidence), f"{'Median' if evidence.medians else 'Mean'} (sd, n)."),
            ("differences", tables.differences(evidence), "Difference to the baseline with its 95 % interval."),
            ("claims", findings.table(section.findings), "Claims."),
        )
        about, label = f"{chapter.study}. {section.title}. {evidence.source}.", f"tab:{section.stem}"
        parts = [_table(table, f"{about} {caption}", f"{label}:{name}") for name, table, caption in every if table.rows]
        found.append("\n".join(parts))
    return "\n".join(found)


def page(label: str, found: Sequence[Table], about: str) -> str:
    """A file of plain tables, each labelled by its first column."""
    parts = [
        _table(each, f"{about} by {each.columns[0]}.", f"tab:{label}:{filename(each.columns[0])}", published=False)
        for each in found
    ]
    return "\n".join([_HEADER, *parts])


def _table(table: Table, caption: str, label: str, *, published: bool = True) -> str:
    """A table by pandas; if `published`, the measurements of results span what is measured and published."""
    import pandas

    names = [plain(each) for each in table.columns[1:]]
    frame = pandas.DataFrame([row[1:] for row in table.rows], index=[row[0] for row in table.rows], columns=names)
    if published and "verdict" not in names:
        heads = [
            (names[place - 1], "published") if name == "published" else (name, "measured")
            for place, name in enumerate(names)
        ]
        frame.columns = pandas.MultiIndex.from_tuples(heads)
    # {} before a name: one that begins with a bracket is not an option of the line break before it
    style = frame.map(plain).style.format(escape="latex")
    style = style.format_index("{{}}{}".format, escape="latex", axis=0).format_index(escape="latex", axis=1)
    text: str = style.to_latex(
        caption=plain(caption).translate(_SPECIAL),
        label=label,
        hrules=True,
        position_float="centering",
        multicol_align="c",
        column_format=("p{0.3\\linewidth}" if "verdict" in names else "l") + "r" * len(names),
    )
    return text
