"""Classification of a text or a pair of texts, as in BERT section 4.1: [CLS] A [SEP] B [SEP], read off [CLS]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Examples, Integers, Numbers

if TYPE_CHECKING:
    from bertlab.text.tokenizers.wordpiece import WordPiece


def label_names(columns: Sequence[Sequence[Any]], where: Sequence[str]) -> tuple[str, ...]:
    """The labels that the raw values of several splits use: texts in their order, or the integers from 0.

    Raises `BadInput` for values that are neither, as the scores of a regression; `where` names each split's column.
    """
    numbers: dict[int, str] = {}  # each with the first row that has it
    names: dict[str, str] = {}
    for values, place in zip(columns, where, strict=True):
        for row, value in enumerate(values, start=1):
            number = _whole(value)
            if number is not None and 0 <= number < 1000:
                numbers.setdefault(number, f"{place} row {row}")
            elif isinstance(value, str) and number is None:
                names.setdefault(value, f"{place} row {row}")
            else:
                raise BadInput(f"label {shown(value)} in {place} row {row}: give texts, or whole numbers from 0 to 999")
    if numbers and names:
        (number, here), (name, there) = next(iter(numbers.items())), next(iter(names.items()))
        raise BadInput(f"labels mix numbers and texts ({number} in {here}, {shown(name)} in {there}): use one kind")
    return tuple(sorted(names)) or tuple(str(number) for number in range(max(numbers, default=-1) + 1))


def labels(values: Sequence[Any], names: tuple[str, ...], where: str) -> Integers:
    """The labels of a split, (R,), each given as its name or its integer; `BadInput` names the row of a wrong one."""
    known = {name: number for number, name in enumerate(names)}
    found = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        number = known.get(value) if isinstance(value, str) else None
        number = _whole(value) if number is None else number
        if number is None or not 0 <= number < len(names):
            allowed = ", ".join(name if name == str(at) else f"{at} ({name})" for name, at in known.items())
            raise BadInput(f"label {shown(value)} in {where} row {row + 1}: give one of {allowed}")
        found[row] = number
    return found


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.removeprefix("-").isdecimal() and len(digits) < 10 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return int(value) if isinstance(value, bool) else None
    return int(value) if abs(value) < 1e9 and int(value) == value else None


def check_texts(values: Sequence[Any], where: str) -> None:
    """Raises `BadInput` that names the first row that holds no text."""
    for row, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise BadInput(f"{where} row {row} is {shown(value)}: give a text")


def truncated(first: int, second: int, budget: int) -> tuple[int, int]:
    """Lengths of a pair that is cut to `budget` tokens, always from the end of the one that is then longer."""
    if first + second <= budget:
        return first, second
    half = budget // 2  # at equal lengths the second is cut, so the first keeps the odd token
    if second <= half:
        return budget - second, second
    if first <= budget - half:
        return first, budget - first
    return budget - half, half


def examples(text: Sequence[Sequence[str]], labels: Numbers, tokenizer: WordPiece, length: int) -> Examples:
    """Rows of one or two columns of text as arrays, each cut to `length` tokens; the label or number sits at [CLS]."""
    pairs = len(text) == 2
    columns = [tokenizer.encode(column) for column in text]
    rows: list[list[int]] = []
    seconds = np.empty(len(labels), np.int32)
    for row in range(len(labels)):
        first = columns[0][row]
        second = columns[1][row] if pairs else []
        keep, keep_second = truncated(len(first), len(second), length - (3 if pairs else 2))
        seconds[row] = keep + 2
        tail = [*second[:keep_second], tokenizer.sep] if pairs else []
        rows.append([tokenizer.cls, *first[:keep], tokenizer.sep, *tail])
    return Examples.of(
        rows,
        seconds=seconds,
        places=[np.zeros(1, np.int32)] * len(rows),
        targets=labels,
        owners=np.arange(len(rows)),
        pad=tokenizer.pad,
        count=len(rows),
    )
