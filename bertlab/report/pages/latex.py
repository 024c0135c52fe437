"""A study in LaTeX: a file of booktabs tables to be read into a paper by `\\input`."""

import re
from collections.abc import Sequence

from bertlab.names import plain
from bertlab.report import tables
from bertlab.report.evidence import Evidence
from bertlab.report.findings import Finding
from bertlab.report.pages import Chapter, notes
from bertlab.report.tables import Table, with_details

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
        points = "" if any(not cell.in_points for cell in evidence.cells) else ", in points"
        n = f"n: {'fine-tuning' if evidence.pretrained else 'pre-training x fine-tuning'} seeds"
        mean = f"{'Median' if evidence.medians else 'Mean'} (sd, n){points}; {n}."
        difference = f"Difference to the baseline{points}, with its 95 % interval."
        claimed = "Claims: the first variant minus the other, reversed where less is better, with its 95 % interval."
        less = f" {tables.direction(evidence)}".rstrip()
        every = (
            ("results", tables.results(evidence), f"{mean}{less}"),
            ("differences", tables.differences(evidence), f"{difference}{less}"),
            ("claims", _claims(section.findings), claimed),
        )
        about, label = f"{chapter.study}. {section.title}. {evidence.source}.", f"tab:{section.stem}"
        limits = _limits(evidence)
        parts = [
            _table(table, f"{about} {caption} {limits}".strip(), f"{label}:{name}")
            for name, table, caption in every
            if table.rows
        ]
        found.append("\n".join(parts))
    return "\n".join(found)


def _limits(evidence: Evidence) -> str:
    """What limits the numbers of a section: a table in a paper stands without the notes of the page."""
    found = [*notes("setting", evidence), *notes("alarm", evidence)]
    if evidence.numerics_mismatch:
        found.append("Of a variant with \N{DAGGER}, runs were computed with other numerics.")
    return " ".join(found)


def _claims(found: Sequence[Finding]) -> Table:
    """A line for each claim, without the reasons, which are as wide as a page."""
    columns = ("claim", "on", "measured", "95 % interval", "published", "n", "verdict", "by likelihood")
    rows = [
        (
            with_details(each.claim, each.pair),
            each.trial.claim.on,
            *(each.effect, each.interval, each.published, each.n, each.outcome, each.likely_outcome),
        )
        for each in found
    ]
    return Table(columns, tuple(rows), ("on", "verdict", "by likelihood"))


def page(label: str, found: Sequence[Table], about: str) -> str:
    """A file of plain tables, each labelled by its first column."""
    parts = [
        _table(
            each, f"{about} by {each.columns[0]}.", f"tab:{label}:{each.columns[0].replace(' ', '-')}", published=False
        )
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
    style = frame.map(plain).style.format(_minus, escape="latex")
    style = style.format_index("{{}}{}".format, escape="latex", axis=0).format_index(escape="latex", axis=1)
    text: str = style.to_latex(
        caption=plain(caption).translate(_SPECIAL),
        label=label,
        hrules=True,
        position_float="centering",
        multicol_align="c",
        column_format=("p{0.3\\linewidth}" if "verdict" in names else "l")
        + "".join("l" if name in table.words else "r" for name in table.columns[1:]),
    )
    return text


def _minus(text: object) -> str:
    """A hyphen before a number as a minus."""
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", str(text))
