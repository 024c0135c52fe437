"""Numbers of a regression."""

import pytest

from bertlab.errors import BadInput
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import Table, Task


def numbers(values):
    task = Task(kind="regression", text=("text",), label="score")
    return KINDS["regression"].answers(task, Table("file", {"score": values}), ())


def test_numbers():
    assert numbers([1, 2.5]) == [1, 2.5]


@pytest.mark.parametrize("wrong", [None, "", "3.75", float("nan"), float("inf"), True, [1.0]])
def test_what_is_no_number_is_named(wrong):
    with pytest.raises(BadInput, match=r"file column score row 2 is .*: give a finite number"):
        numbers([1.0, wrong])
