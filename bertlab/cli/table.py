"""Tables on a terminal, or as wide as their content in a file."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from bertlab.cli.console import console, say, writing
from bertlab.names import plain

LONGEST_WORD = 12
"""Letters of a word that a narrow terminal does not break."""
LEFT_WIDTH = 24
"""Characters that a column of text keeps before numbers move to a part of the table below."""
GAP = 2
"""Characters between columns."""


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    title: str = "",
    *,
    left: int = 1,
    beside: Collection[str] = (),
) -> None:
    """Prints a table whose first `left` columns are texts, flushed left, and the others numbers, flushed right.

    Where it is too wide, texts are wrapped, and numbers never: those that do not fit go into further parts below, each
    with the texts again. A column whose name is in `beside` stays with the one before it.
    """
    names = [plain(name) for name in columns]
    lines = [[plain(cell) for cell in row] for row in rows]
    wide = left * LEFT_WIDTH + sum(_width(names, lines, place) + GAP for place in range(left, len(names)))
    heads = names
    if wide > console().width:
        heads = [name if place < left else _folded(name, lines, place) for place, name in enumerate(names)]
    groups: list[list[int]] = []
    for place in range(left, len(names)):
        if groups and names[place] in beside:
            groups[-1].append(place)
        else:
            groups.append([place])
    for number, part in enumerate(_parts(heads, lines, left, groups)):
        if number:
            say("")
        _print(heads, lines, "" if number else plain(title), left, part)


def _print(heads: Sequence[str], lines: Sequence[Sequence[str]], title: str, left: int, part: Sequence[int]) -> None:
    """Prints the texts and the numbers in the columns `part`."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, show_edge=False, collapse_padding=True)
    table.title = Text(title) if title else None
    for place in range(left):
        table.add_column(Text(heads[place]), overflow="fold", min_width=_least(heads, lines, place))
    for place in part:
        table.add_column(Text(heads[place]), justify="right", overflow="fold", no_wrap=True)
    for line in lines:
        table.add_row(*(Text(line[place]) for place in (*range(left), *part)))
    with writing():
        console().print(table)


def _parts(
    heads: Sequence[str], lines: Sequence[Sequence[str]], left: int, groups: Sequence[Sequence[int]]
) -> Iterator[list[int]]:
    """The columns of numbers in each part of a table: as many of the `groups` as fit, at least one."""
    texts = [min(_width(heads, lines, place), max(LEFT_WIDTH, _least(heads, lines, place))) for place in range(left)]
    room = console().width - sum(texts) - GAP * (left - 1)
    part: list[int] = []
    for group in groups:
        if part and sum(GAP + _width(heads, lines, place) for place in (*part, *group)) > room:
            yield part
            part = []
        part += group
    yield part


def _width(heads: Sequence[str], lines: Sequence[Sequence[str]], place: int) -> int:
    """The characters of the longest line in a column."""
    from rich.cells import cell_len

    return max(map(cell_len, (*heads[place].split("\n"), *(line[place] for line in lines))))


def _least(heads: Sequence[str], lines: Sequence[Sequence[str]], place: int) -> int:
    """The least width of a column of texts: that of its longest word."""
    words = itertools.chain(*(text.split() for text in (heads[place], *(line[place] for line in lines))))
    return min(max(map(len, words), default=0), LONGEST_WORD)


def _folded(name: str, lines: Sequence[Sequence[str]], place: int) -> str:
    """The head of a column of numbers, in lines that are no wider than it must be."""
    words = name.split(" ")
    widest = max(map(len, (*words, *(line[place] for line in lines))))
    folded = [words[0]]
    for word in words[1:]:
        if len(folded[-1]) + 1 + len(word) <= widest:
            folded[-1] += f" {word}"
        else:
            folded.append(word)
    return "\n".join(folded)
