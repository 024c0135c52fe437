"""Tables on a terminal, or as wide as their content in a file."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from bertlab.cli.console import console, say, writing
from bertlab.names import plain

LEFT_WIDTH = 24
"""Characters that a column of text keeps before other columns move to a part of the table below."""
SLIM = 16
"""Characters that it keeps where no column then has to move."""
NARROWEST = 4
"""Characters of a column of text on a terminal that is too narrow for its longest word."""
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

    Where it is too wide, texts are wrapped between words, and numbers never: columns that do not fit go into further
    parts below, each with the texts again; in a table of texts alone, with the first column again. A column whose name
    is in `beside` stays with the one before it.
    """
    names = [plain(name) for name in columns]
    lines = [[plain(cell) for cell in row] for row in rows]
    wide = left * LEFT_WIDTH + sum(_width(names, lines, column) + GAP for column in range(left, len(names)))
    heads = names
    if wide > console().width:
        heads = [name if column < left else _folded(name, lines, column) for column, name in enumerate(names)]
    natural = [_width(heads, lines, column) for column in range(len(heads))]
    least = [_least(heads, lines, column) if column < left else natural[column] for column in range(len(heads))]
    again = [*range(left if left < len(names) else 1)]
    groups: list[list[int]] = []
    for column in range(len(again), len(names)):
        if groups and names[column] in beside:
            groups[-1].append(column)
        else:
            groups.append([column])
    slim, left_widths = (
        sum(GAP + min(natural[column], max(width, least[column])) for column in again) for width in (SLIM, LEFT_WIDTH)
    )
    parts = [*_parts(groups, least, console().width - slim)]
    if len(parts) > 1:
        parts = [*_parts(groups, least, console().width - left_widths)]
    for number, part in enumerate(parts):
        if number:
            say("")
        places = [*again, *part]
        widths = _fitted([natural[column] for column in places], [least[column] for column in places], left)
        _print(heads, lines, "" if number else plain(title), left, dict(zip(places, widths, strict=True)))


def _print(
    heads: Sequence[str], lines: Sequence[Sequence[str]], title: str, left: int, widths: Mapping[int, int]
) -> None:
    """Prints the columns that `widths` has."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.title = Text(title) if title else None
    for column, width in widths.items():
        number = column >= left
        table.add_column(
            Text(heads[column]), width=width, justify="right" if number else "left", overflow="fold", no_wrap=number
        )
    for line in lines:
        table.add_row(*(Text(line[column]) for column in widths))
    with writing():
        console().print(table)


def _parts(groups: Sequence[Sequence[int]], least: Sequence[int], room: int) -> Iterator[list[int]]:
    """The columns of each part beside those of all parts: as many of the `groups` as fit into `room`, at least one."""
    part: list[int] = []
    for group in groups:
        if part and sum(GAP + least[column] for column in (*part, *group)) > room + 1:
            yield part
            part = []
        part += group
    yield part


def _fitted(natural: Sequence[int], least: Sequence[int], left: int) -> list[int]:
    """The widths of columns side by side: the widest texts are narrowed first, to no less than their longest word."""
    widths, room = [*natural], _room(len(natural))
    for floors in (least, [NARROWEST] * len(natural)):
        while sum(widths) > room:
            wide = [column for column in range(min(left, len(widths))) if widths[column] > floors[column]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _room(columns: int) -> int:
    """The characters that so many columns have side by side: one of a gap follows the last one."""
    return console().width - GAP * columns + 1


def _width(heads: Sequence[str], lines: Sequence[Sequence[str]], column: int) -> int:
    """The characters of the longest line in a column."""
    from rich.cells import cell_len

    return max(map(cell_len, (*heads[column].split("\n"), *(line[column] for line in lines))))


def _least(heads: Sequence[str], lines: Sequence[Sequence[str]], column: int) -> int:
    """The least width of a column of texts: that of its longest word, if it fits beside the first column."""
    from rich.cells import cell_len

    words = itertools.chain(*(text.split() for text in (heads[column], *(line[column] for line in lines))))
    longest = max(map(cell_len, words), default=0)
    return min(longest, max(NARROWEST, _room(2) - _least(heads, lines, 0))) if column else longest


def _folded(name: str, lines: Sequence[Sequence[str]], column: int) -> str:
    """The head of a column of numbers, in lines that are no wider than it must be."""
    words = name.split(" ")
    widest = max(map(len, (*words, *(line[column] for line in lines))))
    folded = [words[0]]
    for word in words[1:]:
        if len(folded[-1]) + 1 + len(word) <= widest:
            folded[-1] += f" {word}"
        else:
            folded.append(word)
    return "\n".join(folded)
