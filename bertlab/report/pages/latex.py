"""A study in LaTeX: a file of booktabs tables to be read into a paper by `\\input`."""

import re
from collections.abc import Sequence

from bertlab.names import plain
from bertlab.report import tables
from bertlab.report.agreement import Agreement, group_tables
from bertlab.report.agreement import table as agreement_table
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
        entries = [each for column in tables.columns(evidence) for each in column.entries]
        points = "" if any(not cell.in_points for cell in evidence.cells) else ", in points"
        intervals = " with 95 % intervals" if any(each.half for each in entries) else ""
        mean = ("median" if evidence.medians else "mean") + " (sd)" * any(each.sd for each in entries)
        n, less = tables.common_n(evidence), tables.direction(evidence)
        claims, n_of_claims = _claims(section.findings)
        alone = any(each.difference and not each.half for each in entries)
        compared, single = "differences to the baseline", f"{less} {'One seed has no interval.' * alone}"
        measured = "Measured: the difference of the pair, above 0 as claimed."
        every = (
            ("results", tables.results(evidence, n=n), f"{mean}{points}", f"{_n(evidence, n)} {less}"),
            ("differences", tables.differences(evidence, n=False), f"{compared}{intervals}{points}", single),
            ("claims", claims, f"claims{intervals}", f"{measured} {n_of_claims}"),
        )
        source, limits = f"Source: {evidence.source}." * bool(evidence.source), _limits(evidence)
        parts = [
            _table(
                table,
                f"{chapter.study} at scale {evidence.scale}: {caption}.",
                f"tab:{section.stem}:{name}",
                note=" ".join(f"{section.title}. {source} {about} {limits}".split()),
            )
            for name, table, caption, about in every
            if table.rows
        ]
        found.append("\n".join(parts))
    return "\n".join(found)


def _n(evidence: Evidence, n: tuple[str, str]) -> str:
    """What n counts, with those of all cells that show none."""
    if not any(n):
        return ""
    with_sd, without = n
    cells = " ".join(cell for row in tables.results(evidence, n=n).rows for cell in row[1:])
    others = " where a cell shows no other" if "n = " in cells else ""
    if with_sd and without not in ("", with_sd):
        others += f"; {without} where no sd is shown"
    counted = "fine-tuning" if evidence.pretrained else "pre-training x fine-tuning"
    return f"n = {with_sd or without} ({counted} seeds){others}."


def _limits(evidence: Evidence) -> str:
    """What limits the numbers of a section: a table in a paper stands without the notes of the page."""
    found = [*notes("setting", evidence), *notes("alarm", evidence)]
    if evidence.numerics_mismatch:
        found.append("Of a variant with \N{DAGGER}, runs were computed with other numerics.")
    return " ".join(found)


def _claims(found: Sequence[Finding]) -> tuple[Table, str]:
    """A line for each claim, without the reasons, which are as wide as a page; and the n that all have, as a sentence.

    Where n differs, it is a column.
    """
    columns = ("claim", "on", "measured", "95 % interval", "published", "n", "seeds alone", "verdict", "by likelihood")
    words = ("on", "verdict", "by likelihood")
    rows = [
        (
            with_details(each.claim, each.pair),
            each.on,
            *(each.effect, each.interval, each.published, each.n, each.seeds_alone, each.outcome, each.likely_outcome),
        )
        for each in found
    ]
    known = {each.n for each in found if each.n}
    if len(known) > 1:
        return Table(columns, tuple(rows), words), ""
    without = Table((*columns[:5], *columns[6:]), tuple((*row[:5], *row[6:]) for row in rows), words)
    return without, f"n = {known.pop()}." if known else ""


def agreement(found: Agreement) -> str:
    """The tables of agreement, each labelled by its first column."""
    parts = [
        _table(
            table,
            f"Signs that agree with the published ones, by {table.columns[0]}.",
            f"tab:agreement:{table.columns[0].replace(' ', '-')}",
            published=False,
        )
        for table in (agreement_table(found), *group_tables(found))
    ]
    return "\n".join([_HEADER, *parts])


def _table(table: Table, caption: str, label: str, *, note: str = "", published: bool = True) -> str:
    """A table by pandas, with a note below; if `published`, measurements span what is measured and published."""
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
        caption=_escaped(caption),
        label=label,
        hrules=True,
        position_float="centering",
        multicol_align="c",
        column_format=("p{0.3\\linewidth}" if "verdict" in names else "l")
        + "".join("l" if name in table.words else "r" for name in table.columns[1:]),
    )
    end = "\\end{tabular}\n"
    below = f"{end}\\par\\smallskip\n\\parbox{{\\linewidth}}{{\\footnotesize {_escaped(note)}}}\n"
    return text.replace(end, below) if note else text


def _escaped(text: str) -> str:
    """Text outside of the table, which pandas does not escape."""
    return plain(text).translate(_SPECIAL)


def _minus(text: object) -> str:
    """A hyphen before a number as a minus."""
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", str(text))
