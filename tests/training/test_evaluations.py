"""Held-out evaluations of a study file's losses."""

import math

import pytest
import torch

from bertlab.errors import ArmFailed
from bertlab.inputs.batches import Evaluation
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import MaskedLM
from bertlab.recipe import Model
from bertlab.training.data import _check_positions
from bertlab.training.evaluations import checked


def own(**members):
    """A masked LM of a study file."""
    return type("Own", (MaskedLM,), {"kind": "own", **members})()


def evaluation(**changes):
    usual = {
        "batches": [],
        "names": ("loss", "count"),
        "sums": lambda model, batch: {"loss": torch.ones(()), "count": 2},
        "figures": lambda total: {"accuracy": 0.5},
    }
    return Evaluation(**(usual | changes))


@pytest.mark.parametrize(
    "returned",
    [
        None,
        3,
        iter([evaluation()]),
        [None],
        [evaluation(batches=iter(()))],
        [evaluation(batches=[None])],
        [evaluation(names="loss")],
        [evaluation(names=(1,))],
        [evaluation(sums=None)],
        [evaluation(figures={})],
    ],
)
def test_what_is_no_list_of_evaluations_is_refused(returned):
    with pytest.raises(ArmFailed, match=r"^Own\.evaluations .*: return a list of Evaluation\("):
        checked(own(), returned)


@pytest.mark.parametrize(
    ("sums", "says"),
    [
        (None, "the names count and loss and sums of None: name what sums returns"),
        ({"loss": 1.0}, "the names count and loss and sums of loss: name"),
        ({"loss": 1.0, "count": "2"}, "whose sums have '2' for count: return a number for each"),
        ({"loss": torch.ones(2), "count": 2}, "whose sums have tensor.* for loss: return a number"),
    ],
)
def test_sums_are_numbers_by_their_names(sums, says):
    (made,) = checked(own(), [evaluation(sums=lambda model, batch: sums)])
    with pytest.raises(ArmFailed, match=says):
        made.sums(None, None)


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        (None, "whose figures are None: return numbers by name"),
        ({"mine_loss": 1.0}, "gives the figure 'mine_loss', which Own.figures lacks: name it there"),
        ({"accuracy": math.nan}, "gives nan for accuracy: give a finite number"),
        ({"accuracy": "0.5"}, "gives '0.5' for accuracy"),
    ],
)
def test_figures_are_finite_numbers_that_the_loss_declares(figures, says):
    (made,) = checked(own(), [evaluation(figures=lambda total: figures)])
    with pytest.raises(ArmFailed, match=says):
        made.figures({})


def test_what_is_right_is_given_on():
    (made,) = checked(own(), (evaluation(),))
    assert made.sums(None, None) == {"loss": torch.ones(()), "count": 2}
    assert made.figures({}) == {"accuracy": 0.5}


@pytest.mark.parametrize(
    ("positions", "says"),
    [
        ("first", "returns 'first': return whole numbers"),
        (
            torch.zeros(2, 3),
            r"returns positions of shape \(2, 3\), torch.float32: return whole numbers, \(B, K\) for 2 seq",
        ),
        (torch.zeros(2, dtype=torch.long), r"returns positions of shape \(2,\)"),
        (torch.zeros(3, 1, dtype=torch.long), r"returns positions of shape \(3, 1\)"),
        (torch.tensor([[0], [5]]), "returns positions from 0 to 5: give 0 to 4"),
        (torch.tensor([[0], [-1]]), "returns positions from -1 to 0: give 0 to 4"),
        (torch.tensor([[0], [4]]), ""),
        (None, ""),
    ],
)
def test_a_loss_reads_only_tokens_of_the_batch(positions, says):
    loss = own(positions=lambda self, arrays: positions)
    batch = TensorBatch.of(torch.zeros(2, 5, dtype=torch.long), None, None, {"own": {}})
    if not says:
        return _check_positions((loss,), batch)
    with pytest.raises(ArmFailed, match=rf"^Own\.positions \(test_evaluations\.py, line \d+\) {says}"):
        _check_positions((loss,), batch)
    return None


@pytest.mark.parametrize("name", ["encoder", "losses", "a.b"])
def test_a_head_has_a_free_name(name):
    with pytest.raises(ArmFailed, match=rf"Own\.head is '{name}', which is no free name in a model: give another"):
        PretrainingModel(Model(layers=1, hidden=8, heads=2), 20, 16, 0, (own(head=name),))


def test_losses_that_share_a_head_have_the_first_one_s():
    made = []

    def new_head(self, model, vocabulary):
        made.append(self.kind)
        return torch.nn.Linear(1, 1)

    first, second = own(new_head=new_head), own(new_head=new_head, kind="other")
    model = PretrainingModel(Model(layers=1, hidden=8, heads=2), 20, 16, 0, (first, second))
    assert made == ["own"]
    assert model.head(first) is model.head(second)
