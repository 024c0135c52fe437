"""Reads columns of answers: names of labels, integers that count them, and values that stand for no answer.

The cells of .csv and .tsv files are all text. A column of them holds integers only if every cell, in all splits, is
written as Python writes an integer: `01` is not `1`.
"""

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.task import Table, Task

MOST_LABELS = 1_000
"""Labels at most that are integers without names: more are the values of a regression."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_WHOLE = re.compile(r"(-?[0-9]+)\.0*")
"""A whole number as tables have it whose column also has empty cells."""
_TRUTHS = {True: ("true", "yes"), False: ("false", "no")}
"""Names of labels, in lower case, that booleans stand for."""

Reader = Callable[[Any], int | None]
"""Gives the place of an answer among the labels, None for a value that is no label."""


def labelled(table: Table, columns: Sequence[str], unlabelled: Sequence[str | int]) -> Table:
    """The rows of a table without those whose answer is one of `unlabelled`, as text; an empty text stands for null and
    not-a-number too, and the cell `-1.0` for the integer -1. Raises `BadInput` if no row is left."""
    absent, numbers = {*map(str, unlabelled)}, {str(value) for value in unlabelled if isinstance(value, int)}
    if not absent or not columns:
        return table

    def has_label(values: Iterable[Any]) -> bool:
        texts = [*map(_text, values)]
        whole_cells = filter(None, map(_WHOLE.fullmatch, texts if table.cells else ()))
        return absent.isdisjoint(texts) and numbers.isdisjoint(cell[1] for cell in whole_cells)

    answers = zip(*(table.columns[name] for name in columns), strict=True)
    labelled_rows = [row for row, values in enumerate(answers) if has_label(values)]
    left = len(table.columns[columns[0]]) - len(labelled_rows)
    if not labelled_rows:
        raise BadInput(f"{table.source} has no row with a label: the task's field unlabelled leaves out all {left:,}")
    return dataclasses.replace(
        table,
        source=f"{table.source} (rows with a label)" if left else table.source,
        columns={name: [values[row] for row in labelled_rows] for name, values in table.columns.items()},
        unlabelled=left,
    )


def settled(tables: Sequence[Table], columns: Sequence[str]) -> list[Table]:
    """The splits of a task, with integers in the columns of answers that hold them, and with all answers that occur."""
    seen = {}
    for name in columns:
        of_text = [table for table in tables if table.cells]
        if integers(chain.from_iterable(table.columns[name] for table in of_text)):
            for table in of_text:
                table.columns[name] = integers(table.columns[name])
        seen[name] = frozenset(chain.from_iterable(_scalars(table.columns[name]) for table in tables))
    return [dataclasses.replace(table, seen=seen) for table in tables]


def integers(cells: Iterable[Any]) -> list[Any]:
    """The integers that texts are; none if one of them is not written as Python writes an integer."""
    cells = list(cells)
    canonical = all(isinstance(cell, str) and _INTEGER.fullmatch(cell) for cell in cells)
    return [int(cell) for cell in cells] if canonical else []


def whole(value: Any) -> int | None:
    """A value as an integer, if it is a whole number."""
    if isinstance(value, int):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else None


def names(task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
    """Names for the labels in the data: the sorted texts or integers; integers from 0 have those between them too.

    Raises `BadInput` for other values, such as the scores of a regression, and for what looks like no label.
    """
    labels: set[Any] = set()
    for table in tables:
        where = table.where(task.label)
        for row, value in enumerate(table.columns[task.label], start=1):
            label = value if isinstance(value, str) else whole(value)
            wrong = f"label {shown(value)} in {where} row {row}"
            mixed = type(label) is not type(next(iter(labels), label))
            if label is None or mixed or (isinstance(label, int) and not integers([str(label)])):
                raise BadInput(f"{wrong}: give texts alone, or whole numbers alone{_unlabelled(value)}")
            if isinstance(label, int) and label < (task.counted_from or 0):
                raise BadInput(f"{wrong}: name all labels in the task's field labels{_unlabelled(value)}")
            labels.add(label)
            if len(labels) > MOST_LABELS and isinstance(label, int):
                raise BadInput(f"{where} has more than {MOST_LABELS:,} labels: name them, or measure a regression")
    if all(isinstance(label, str) for label in labels):
        _require_clear(labels, tables[0].where(task.label))
        return tuple(sorted(labels))
    if task.counted_from is None and (0 not in labels or max(labels) >= MOST_LABELS):
        return tuple(map(str, sorted(labels)))
    return tuple(map(str, range(task.counted_from or 0, max(labels) + 1)))


def reader(task: Task, table: Table, labels: Sequence[str], named: bool = True) -> Reader:
    """What reads the answers of a table. Labels that are not `named` have numbers alone, which may be texts.

    An integer counts labels from `Task.counted_from`, or from 0. Without that field it is the name of a label if all
    integers are names, and not counts that begin with 0. A boolean is the label of its name, if there is one, and else
    counts as 0 or 1. Raises `BadInput` where both readings hold and differ, and where integers may count from 1.
    """
    by_name = {name: index for index, name in enumerate(labels)} if named else {}
    folded = {name.casefold(): index for name, index in by_name.items()}
    truths = {truth: folded[name] for truth, names in _TRUTHS.items() for name in names if name in folded}
    start, seen = task.counted_from or 0, table.seen.get(task.label)

    def number(value: Any) -> int | None:
        texts = [] if named else integers([value])
        return texts[0] if texts else whole(value)

    values = _scalars(table.columns[task.label]) if seen is None else seen
    present = {integer for value in values if (integer := number(value)) is not None}
    numbers = {integer: integer - start for integer in present if 0 <= integer - start < len(labels)}
    as_names = {integer: by_name[str(integer)] for integer in present if str(integer) in by_name}
    if task.counted_from is None and not table.names:  # a source that names the labels counts them from 0
        counts = len(numbers) == len(present) and 0 in present
        if len(as_names) == len(present) and not counts:
            numbers = as_names
        elif seen is not None:
            _require_one_reading(numbers, as_names, present, labels, table.where(task.label))

    def index_of(value: Any) -> int | None:
        if isinstance(value, str) and value in by_name:
            return by_name[value]
        if isinstance(value, bool) and value in truths:
            return truths[value]
        counted = number(value)
        return None if counted is None else numbers.get(counted)

    return index_of


def places(values: Sequence[Any], read: Reader, labels: Sequence[str], where: str, start: int = 0) -> list[int]:
    """The places of the answers of a split, whose labels are counted from `start`. Raises `BadInput` that names the row
    of a value that is no label."""
    indices = [read(value) for value in values]
    wrong = [row for row, index in enumerate(indices) if index is None]
    if wrong:
        # One cell that is no integer makes texts of all: it is the one to name.
        row = next((row for row in wrong if not integers([values[row]])), wrong[0])
        numbers = {str(start + index): name for index, name in enumerate(labels)}
        allowed = ", ".join(name if name == number else f"{number} ({name})" for number, name in numbers.items())
        text, advice = "", ""
        if isinstance(values[row], str) and values[row] in numbers:
            text, advice = " is a text and no name", ", a number without quotes or a name"
        advice += _unlabelled(values[row])
        raise BadInput(f"label {shown(values[row])} in {where} row {row + 1}{text}: give one of {allowed}{advice}")
    return [index for index in indices if index is not None]


def _require_one_reading(
    numbers: dict[int, int], as_names: dict[int, int], present: set[int], labels: Sequence[str], where: str
) -> None:
    """Raises `BadInput` for integers that are names and counts of different labels, or that may count from 1."""
    advice = "set the task's field counted_from to the integer of the first label"
    for integer in sorted(numbers.keys() & as_names.keys()):
        if numbers[integer] != as_names[integer]:
            both = f"is the name of a label and counts another one, {shown(labels[numbers[integer]])}"
            raise BadInput(f"{where}: {integer} {both}: {advice}")
    if len(present) > 1 and min(present) > 0 and max(present) <= len(labels):
        raise BadInput(f"{where} has no 0, so that its integers may count from 1: {advice}, 1 or 0")


def _require_clear(labels: set[str], where: str) -> None:
    """Raises `BadInput` for a label without letters and digits beside others, such as `-`, and as `require_apart`
    does."""
    wordless = sorted(label for label in labels if not any(map(str.isalnum, label)))
    if wordless and len(wordless) < len(labels):
        one = f"{where} has the label {shown(wordless[0])}"
        raise BadInput(f"{one}: name all labels in the task's field labels{_unlabelled(wordless[0])}")
    require_apart(labels, where)


def require_shared(tables: Sequence[Table], column: str) -> None:
    """Raises `BadInput` for a split that has no label of the first one: it may have other names for them."""
    first = {*tables[0].columns[column]}
    for table in tables[1:]:
        if first.isdisjoint(table.columns[column]):
            theirs, ours = (shown(min(split.columns[column])) for split in (table, tables[0]))
            wrong = f"{table.where(column)} has no label of {tables[0].source}: it has {theirs}, and that has {ours}"
            raise BadInput(f"{wrong}: give both the same names, or name all labels in the task's field labels")


def require_apart(labels: Iterable[str], where: str) -> None:
    """Raises `BadInput` for labels that differ in spaces, in case or in the code of an accent alone."""
    seen: dict[str, str] = {}
    for label in sorted(labels):
        other = seen.setdefault(unicodedata.normalize("NFC", label).casefold().strip(), label)
        if other != label:
            alike = "which differ in spaces, case or the code of an accent alone"
            one = f"{where} has the labels {shown(other)} and {shown(label)}, {alike}"
            raise BadInput(f"{one}: correct one, or name all labels in the task's field labels")


def _unlabelled(value: Any) -> str:
    """The advice on a value that may stand for no label; empty for other values."""
    number, text = whole(value), _text(value)
    if any(map(str.isalnum, text)) and (number is None or number >= 0):
        return ""
    field = f"({number if number is not None else repr(text)},)"
    return f"; if the row has no label, leave it out with unlabelled={field} in the task"


def _text(value: Any) -> str:
    """A value as a text: empty for null and not-a-number, an integer for a whole number."""
    if value is None or value != value:
        return ""
    number = None if isinstance(value, bool) else whole(value)
    return str(value) if number is None else str(number)


def _scalars(values: Iterable[Any]) -> Iterator[str | float]:
    """The texts and numbers among values and in lists of them."""
    for value in values:
        for scalar in value if isinstance(value, list) else (value,):
            if isinstance(scalar, str | int | float):
                yield scalar
