"""Regression on a text or a pair of texts: one number read off [CLS], as BERT section 4.1 does for STS-B.

Its examples are those of classification with numbers for labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Floats

LARGEST = 1e15
"""Of a score: squared errors are summed in float32, which ends at 3e38."""


def numbers(values: Sequence[Any], where: str) -> Floats:
    """The numbers of a split, (R,); cells of tables are read as such. `BadInput` names the row of what is none."""
    found = np.empty(len(values), np.float64)
    for row, value in enumerate(values):
        number = _number(value)
        if number is None:
            raise BadInput(
                f"{where} row {row + 1} is {shown(value)}: give a finite number, {LARGEST:g} at most either way"
            )
        found[row] = number
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST else None
