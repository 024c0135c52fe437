"""Tables in LaTeX, by booktabs: the templates `.tex.j2` are files to be read into a paper by `\\input`."""

import itertools
import re
from collections.abc import Sequence
from operator import attrgetter

from bertlab.names import plain
from bertlab.report.findings import Finding
from bertlab.report.tables import Table, with_details

_SPECIAL = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)

_CLAIM = {"on": "on", "measured": "effect", "95 % interval": "interval", "published": "published", "n": "n"}
_CLAIM |= {"seeds alone": "seeds_alone", "verdict": "outcome", "by likelihood": "likely_outcome"}
"""What a table of claims has of each finding, by the name of its column."""


def claims(findings: Sequence[Finding]) -> tuple[Table, str]:
    """A line for each claim, without the reasons, which are as wide as a page; and the n that all have, as a sentence.

    Where n differs, it is a column.
    """
    numbers = {finding.n for finding in findings if finding.n}
    columns = {name: field for name, field in _CLAIM.items() if name != "n" or len(numbers) > 1}
    texts = attrgetter(*columns.values())
    rows = tuple((with_details(finding.claim, finding.pair), *texts(finding)) for finding in findings)
    note = f"n = {numbers.pop()}." if len(numbers) == 1 else ""
    return Table(("claim", *columns), rows, ("on", "verdict", "by likelihood")), note


def table(shown: Table, caption: str, label: str, note: str = "", *, published: bool = True) -> str:
    """A table by pandas, with a note below; if `published`, measurements span what is measured and published."""
    import pandas

    names = [plain(name) for name in shown.columns[1:]]
    frame = pandas.DataFrame([row[1:] for row in shown.rows], index=[row[0] for row in shown.rows], columns=names)
    if published and "verdict" not in names:
        pairs = itertools.pairwise(["", *names])
        heads = [(before, name) if name == "published" else (name, "measured") for before, name in pairs]
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
        + "".join("l" if name in shown.words else "r" for name in shown.columns[1:]),
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
