"""Tables on a terminal, or as wide as their content in a file."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence

from bertlab.cli.console import console, say, writing
from bertlab.names import plain

TEXT_WIDTH = 16
"""Characters that a column of text keeps before other columns move to a part of the table below."""
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
    lines = [[plain(cell) for cell in row] for row in rows]
    cells = {number: [line[number] for line in lines] for number in range(len(columns))}
    heads = [plain(name) for name in columns]
    room = console().width + 1  # one of a gap follows the last column
    if sum(GAP + _width([head, *cells[number]]) for number, head in enumerate(heads)) > room:
        heads = [head if number < left else _folded(head, cells[number]) for number, head in enumerate(heads)]
    natural = {number: _width([*heads[number].split("\n"), *cells[number]]) for number in cells}
    words = {number: " ".join([heads[number], *cells[number]]).split() for number in range(left)}
    least = natural | {number: _width(words[number]) for number in words}
    again = [*range(left if left < len(heads) else 1)]
    groups: list[list[int]] = []
    for number in range(len(again), len(heads)):
        groups += [] if groups and columns[number] in beside else [[]]
        groups[-1].append(number)
    text = sum(GAP + min(natural[number], max(TEXT_WIDTH, least[number])) for number in again)
    parts: list[list[int]] = [[]]
    for group in groups:
        if parts[-1] and text + sum(GAP + least[number] for number in (*parts[-1], *group)) > room:
            parts.append([])
        parts[-1] += group
    for part in parts:
        if part is not parts[0]:
            say("")
        widths = _fitted({number: natural[number] for number in (*again, *part)}, least, left, room)
        _print(heads, lines, plain(title) if part is parts[0] else "", left, widths)


def _print(
    heads: Sequence[str], lines: Sequence[Sequence[str]], title: str, left: int, widths: Mapping[int, int]
) -> None:
    """Prints the columns that `widths` has."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title_justify="left", pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.title = Text(title) if title else None
    for number, width in widths.items():
        right = number >= left
        table.add_column(
            Text(heads[number]), width=width, justify="right" if right else "left", overflow="fold", no_wrap=right
        )
    for line in lines:
        table.add_row(*(Text(line[number]) for number in widths))
    with writing():
        console().print(table)


def _fitted(widths: dict[int, int], least: Mapping[int, int], left: int, room: int) -> dict[int, int]:
    """The widths of columns side by side: the widest texts are narrowed first, to no less than their longest word
    where that is possible."""
    for floors in (least, dict.fromkeys(least, NARROWEST)):
        wide = [number for number in widths if number < left and widths[number] > floors[number]]
        while wide and sum(widths.values()) + GAP * len(widths) > room:
            widths[max(wide, key=widths.__getitem__)] -= 1
            wide = [number for number in wide if widths[number] > floors[number]]
    return widths


def _width(texts: Iterable[str]) -> int:
    """The characters of the longest text."""
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _folded(head: str, cells: Sequence[str]) -> str:
    """The head of a column of numbers, in lines that are no wider than it must be."""
    widest = max(1, _width([*head.split(), *cells]))
    return "\n".join(textwrap.wrap(head, widest, break_long_words=False, break_on_hyphens=False))
