"""Numbers of a regression."""

import pytest

from bertlab.errors import BadInput
from bertlab.tasks.kinds import regression


def test_numbers():
    assert regression.numbers([1, 2.5], "file") == [1, 2.5]


@pytest.mark.parametrize("wrong", [None, "", "3.75", float("nan"), float("inf"), True, [1.0]])
def test_what_is_no_number_is_named(wrong):
    with pytest.raises(BadInput, match=r"file row 2 is .*: give a finite number"):
        regression.numbers([1.0, wrong], "file")
