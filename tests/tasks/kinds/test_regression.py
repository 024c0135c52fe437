"""Numbers of a regression."""

import pytest

from bertlab.errors import BadInput
from bertlab.tasks.kinds import regression


def test_numbers_and_cells_of_tables():
    assert regression.numbers([1, 2.5, "3.75", " 0 "], "file") == [1, 2.5, 3.75, 0]


@pytest.mark.parametrize("wrong", [None, "", "high", float("nan"), "inf", True, [1.0]])
def test_what_is_no_number_is_named(wrong):
    with pytest.raises(BadInput, match=r"file row 2 is .*: give a finite number"):
        regression.numbers([1.0, wrong], "file")
