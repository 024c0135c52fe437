"""What is measured of a fine-tuned model beside its answers, and of a share of the training examples."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch import nn

from bertlab.adaptation import FineTuning
from bertlab.diagnostics import LayerMovement, LossAtDistance, LossCurves, LossSurface
from bertlab.diagnostics.base import TrainedModel
from bertlab.diagnostics.directions import random_direction
from bertlab.progress import silent
from bertlab.training.diagnosis import Diagnosis
from bertlab.training.finetuning import encode_training, finetune, open_pretrained

SETTING = FineTuning(batch_size=16, epochs=2, peak_lr=3e-3, length=32, dropout=0.0)
LOSSES = LossAtDistance(directions=2, distance=0.5)


def level(*rows):
    linear = nn.Linear(2, len(rows), bias=False)
    linear.weight.data = torch.tensor(rows)
    return linear


def test_a_layer_moves_by_a_share_of_its_norm_and_the_middle_one_is_in_no_half():
    start = [level([3.0, 4.0]), level([1.0, 0.0]), level([0.0, 2.0]), level([1.0, 1.0])]
    after = [level([3.0, 4.0]), level([1.0, 0.1]), level([0.0, 5.0]), level([4.0, 5.0])]
    levels = [*zip(start, after, strict=True)]
    model = nn.ModuleList(after)
    assert LayerMovement().measure(TrainedModel(model, model, levels, lambda: 0.0, (), ())) == pytest.approx(
        {
            "embeddings_movement": 0.0,
            "lower_movement": 0.1,
            "upper_movement": 5 / math.sqrt(2),
            "layer_1_movement": 0.1,
            "layer_2_movement": 1.5,
            "layer_3_movement": 5 / math.sqrt(2),
        }
    )


@pytest.fixture
def bowl():
    """A model at the optimum of a loss that grows with the squared distance."""
    model = nn.Linear(3, 2)
    best = [value.detach().clone() for value in model.parameters()]

    @torch.no_grad()
    def loss():
        return 1.5 + sum(float((now - at).square().sum()) for now, at in zip(model.parameters(), best, strict=True))

    return TrainedModel(model, model, (), loss, (), ("finetune", 0, 0))


def test_the_loss_at_a_distance_along_plain_directions_is_that_of_their_length(bowl):
    before = [value.clone() for value in bowl.model.parameters()]
    measured = LossAtDistance(distance=2.0, directions=3, normalised="plain").measure(bowl)
    assert measured == pytest.approx({"optimum_loss": 1.5, "distance_loss": 1.5 + 2.0**2}, rel=1e-5)
    assert all(torch.equal(*pair) for pair in zip(bowl.model.parameters(), before, strict=True))


def test_a_filter_normalised_direction_has_rows_as_long_as_the_weights_and_no_vectors(bowl):
    weights = dict(bowl.model.named_parameters())
    direction, again, other = (random_direction(weights, key, "filter") for key in (7, 7, 8))
    assert direction.keys() == {"weight"}
    torch.testing.assert_close(direction["weight"].norm(dim=1), weights["weight"].norm(dim=1))
    assert torch.equal(direction["weight"], again["weight"])
    assert not torch.equal(direction["weight"], other["weight"])
    length = float(weights["weight"].detach().square().sum())
    assert LossAtDistance(directions=2).measure(bowl)["distance_loss"] == pytest.approx(1.5 + length, rel=1e-5)


def test_a_surface_goes_through_the_start_and_the_end_of_training(bowl):
    start = nn.Linear(3, 2)
    at_start = TrainedModel(start, start, (), bowl.loss, (), ())
    pairs = zip(start.parameters(), bowl.model.parameters(), strict=True)
    away = sum(float((before - after).detach().square().sum()) for before, after in pairs)
    surface = LossSurface(points=5).surface(dataclasses.replace(bowl, start=at_start.model))
    assert surface.along == (-0.5, 0.0, 0.5, 1.0, 1.5)
    assert surface.sideways == (-1.0, -0.5, 0.0, 0.5, 1.0)
    losses = np.array(surface.losses)
    assert losses[2] == pytest.approx([1.5 + away * (x - 1) ** 2 for x in surface.along], rel=1e-4)
    sideways = float(bowl.model.weight.detach().square().sum())  # a filter-normalised step of 1
    assert losses[:, 3] == pytest.approx([1.5 + sideways * y**2 for y in surface.sideways], rel=1e-4)


def test_curves_are_averaged_over_steps_and_a_rise_is_from_the_lowest_point():
    curve = [
        {"step": 2, "loss": 4.0, "heldout_loss": 3.0},
        {"step": 3, "loss": 1.0},
        {"step": 6, "loss": 2.0, "heldout_loss": 2.5},
        {"step": 8, "loss": 0.5, "heldout_loss": 2.75},
    ]
    trained = TrainedModel(nn.Linear(1, 1), nn.Linear(1, 1), (), lambda: 0.0, curve, ())
    assert LossCurves().measure(trained) == {"average_loss": 2.0, "heldout_loss": 2.75, "rise_loss": 0.25}


def test_the_held_out_loss_is_measured_at_its_points_and_is_that_of_the_evaluation_examples(pretrained, pairs, machine):
    setting = dataclasses.replace(SETTING, dropout=0.1, diagnostics=(LossCurves(points=4),))
    outcome = finetune(pretrained, pairs, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)
    measured = [point["step"] for point in outcome.curve if "heldout_loss" in point]
    assert measured == [math.ceil(outcome.steps * part / 4) for part in (1, 2, 3, 4)]
    likelihood = outcome.predictions["log_likelihood"].astype(float)
    assert len(likelihood) <= 256
    assert outcome.curve[-1]["heldout_loss"] == pytest.approx(-likelihood.mean(), rel=1e-2)
    without = dataclasses.replace(setting, diagnostics=())
    again = finetune(pretrained, pairs, without, seed=0, finetune_seed=0, machine=machine, progress=silent)
    assert [point["loss"] for point in again.curve] == [point["loss"] for point in outcome.curve]


def test_a_fine_tuning_is_diagnosed_and_is_the_same_as_without(pretrained, pairs, machine):
    def run(**fields):
        adaptation = dataclasses.replace(SETTING, **fields)
        return finetune(pretrained, pairs, adaptation, seed=0, finetune_seed=0, machine=machine, progress=silent)

    plain, diagnosed = run(), run(diagnostics=(LayerMovement(), LOSSES))
    assert plain.diagnosed == Diagnosis()
    assert plain.metrics == diagnosed.metrics
    assert np.array_equal(plain.predictions["prediction"], diagnosed.predictions["prediction"])
    values = diagnosed.diagnosed.metrics
    assert {f"layer_{number}_movement" for number in (1, 2)} | {*LayerMovement.metrics, *LOSSES.metrics} == {*values}
    assert 0 < values["lower_movement"] < 1
    assert 0 < values["optimum_loss"] < values["distance_loss"]
    frozen = run(diagnostics=(LayerMovement(),), frozen=True).diagnosed.metrics
    assert set(frozen.values()) == {0.0}


def test_the_loss_at_the_optimum_is_that_of_the_training_examples(pretrained, pairs, machine):
    few = dataclasses.replace(SETTING, max_train_examples=16, peak_lr=1e-9, diagnostics=(LOSSES,), max_steps=1)
    outcome = finetune(pretrained, pairs, few, seed=0, finetune_seed=0, machine=machine, progress=silent)
    # one step over all examples, before which the weights are those of the start
    assert outcome.diagnosed.metrics["optimum_loss"] == pytest.approx(outcome.curve[0]["loss"], abs=1e-4)


def test_a_share_of_the_training_examples_is_of_those_that_are_left_and_a_smaller_one_is_part_of_it(pretrained, pairs):
    opened = open_pretrained(pretrained)
    assert [FineTuning(train_share=share).train_examples(1_000) for share in (1.0, 0.3, 0.0001)] == [1_000, 300, 1]
    assert FineTuning(train_share=0.1, max_train_examples=200).train_examples(1_000) == 20
    settings = (FineTuning(train_share=share, length=32) for share in (0.1, 0.5))
    fewer, more = (
        {tuple(sequence) for sequence in encode_training(pairs, opened, setting).sequences} for setting in settings
    )
    assert 0 < len(fewer) < len(more)
    assert fewer <= more
