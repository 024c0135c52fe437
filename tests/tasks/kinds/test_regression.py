"""Numbers of a regression."""

from types import SimpleNamespace

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import Table, Task


def numbers(values):
    task = Task(kind="regression", text=("text",), label="score")
    return KINDS["regression"].answers(task, Table("file", {"score": values}), ())


def test_numbers():
    assert numbers([1, 2.5]) == [1, 2.5]


def test_the_likelihood_is_relative_to_the_spread_of_the_scores():
    found = KINDS["regression"].likelihood({"prediction": np.array([1.0, 1.0]), "label": np.array([-1.0, 1.0])})
    assert found.contributions() == pytest.approx([100 * np.exp(-2), 100])


@pytest.mark.parametrize(("spread", "collapsed"), [(0.0, True), (0.009, True), (0.02, False)])
def test_a_regression_that_hardly_varies_has_collapsed(spread, collapsed):
    scores, label = np.array([[3 - spread], [3 + spread]]), np.array([2.0, 4.0])
    predicted = KINDS["regression"].predict(None, None, SimpleNamespace(targets=label), scores)
    assert predicted.collapsed is collapsed


@pytest.mark.parametrize("wrong", [None, "", "3.75", float("nan"), float("inf"), True, [1.0]])
def test_what_is_no_number_is_named(wrong):
    with pytest.raises(BadInput, match=r"file column score row 2 is .*: give a finite number"):
        numbers([1.0, wrong])
