"""Parameters, tokens and operations against the published sizes and the model itself."""

from __future__ import annotations

import dataclasses

import pytest

from bertlab.lab import scales, studies
from bertlab.objectives import CausalLM, MaskedLM, NextSentence
from bertlab.recipe import BackboneConfig, Inputs, Model, ModernBert, Recipe, Schedule, cost
from bertlab.recipe.backbones.bert import Sharing
from bertlab.recipe.objective import bert
from bertlab.text.tokenizers import WordPiece

BASE = Model()
LARGE = Model(layers=24, hidden=1024, heads=16)


def test_published_sizes() -> None:
    """BERT-base is published with 110 million parameters, BERT-large with 340 million."""
    assert cost.parameters(BASE, 30_522, 512, bert()) == 110_106_428  # BertForPreTraining, counted by transformers
    assert cost.parameters(LARGE, 30_522, 512, bert()) == pytest.approx(336e6, rel=0.003)


@pytest.mark.parametrize(
    "model",
    [
        Model(layers=2, hidden=16, heads=2),
        Model(layers=3, hidden=16, heads=4, positions="rotary"),
        Model(layers=1, hidden=24, heads=2, intermediate=20),
        Model(layers=3, hidden=16, heads=2, embedding_size=6),
        Model(layers=3, hidden=16, heads=2, embedding_size=16),
        Model(layers=3, hidden=16, heads=2, sharing="attention"),
        Model(layers=3, hidden=16, heads=2, sharing="feed-forward", positions="rotary", embedding_size=40),
        Model(layers=3, hidden=16, heads=2, sharing="all", embedding_size=6),
        Model(layers=2, hidden=16, heads=2, norm_position="pre", norm="power"),
        ModernBert(layers=5, hidden=16, heads=2),
        ModernBert(layers=1, hidden=16, heads=2, intermediate=20),
    ],
)
def test_count_is_that_of_the_model(model: BackboneConfig) -> None:
    from bertlab.model.heads import PretrainingModel

    built = PretrainingModel(model, 97, 40, seed=0)
    count = {name: parameter.numel() for name, parameter in built.named_parameters()}
    assert cost.parameters(model, 97, 40, bert()) == sum(count.values())
    relation = sum(number for name, number in count.items() if name.startswith("nsp_head."))
    assert cost.parameters(model, 97, 40, (MaskedLM(),)) == sum(count.values()) - relation


@pytest.mark.parametrize(
    ("embedding_size", "sharing", "millions"),
    [  # ALBERT Tables 3 and 4
        (64, "none", 87), (128, "none", 89), (256, "none", 93), (768, "none", 108),
        (64, "all", 10), (128, "all", 12), (256, "all", 16), (768, "all", 31),
        (768, "attention", 83), (768, "feed-forward", 57), (128, "attention", 64), (128, "feed-forward", 38),
    ],
)  # fmt: skip
def test_sizes_of_factorised_and_shared_models_are_those_that_albert_prints(
    embedding_size: int, sharing: Sharing, millions: int
) -> None:
    """Within the 0.6M of the pooler and the rounding: its 12M include the pooler, its 89M do not."""
    model = Model(embedding_size=embedding_size, sharing=sharing)
    assert cost.parameters(model, 30_000, 512) / 1e6 == pytest.approx(millions, abs=1.0)


def test_operations_are_those_of_the_layers_however_they_share_and_of_the_projections() -> None:
    plain = cost.flops_per_token(Recipe())
    shared = Recipe(model=Model(sharing="all"))
    assert cost.flops_per_token(shared) == plain
    narrow = Recipe(model=Model(embedding_size=128))
    less = 0.15 * (768 * (768 + 30_522) - 128 * (768 + 30_522))
    assert plain - cost.flops_per_token(narrow) == pytest.approx(6 * (less - 128 * 768))


@pytest.mark.parametrize(
    ("model", "length", "expected"),
    [(BASE, 128, 545e6), (BASE, 512, 588e6), (LARGE, 128, 1.879e9), (LARGE, 512, 1.992e9)],
)
def test_operations_a_token(model: Model, length: int, expected: float) -> None:
    recipe = Recipe(model=model, inputs=Inputs(length=length))
    assert cost.flops_per_token(recipe) == pytest.approx(expected, rel=2e-3)


def test_losses_with_the_same_head_have_its_parameters_once() -> None:
    one, both = ((MaskedLM(),), (MaskedLM(), CausalLM()))
    assert cost.parameters(BASE, 30_522, 512, one) == cost.parameters(BASE, 30_522, 512, both)
    assert cost.parameters(BASE, 30_522, 512, one) < cost.parameters(BASE, 30_522, 512, (*one, NextSentence()))


def test_operations_follow_what_is_predicted() -> None:
    recipe = Recipe()
    plain = cost.flops_per_token(recipe)
    without = dataclasses.replace(recipe, objective=(MaskedLM(),))
    assert cost.flops_per_token(without) < plain
    more = dataclasses.replace(recipe, objective=(MaskedLM(mask_prob=0.3), NextSentence()))
    assert cost.flops_per_token(more) - plain == pytest.approx(0.15 * 6 * 768 * (768 + 30_522))
    assert cost.flops_per_token(recipe, vocabulary=1000) == cost.flops_per_token(
        dataclasses.replace(recipe, tokenizer=WordPiece(vocabulary=1000))
    )


def test_left_to_right_predicts_all_but_one_and_attends_to_half() -> None:
    recipe = Recipe(objective=(MaskedLM(),))
    causal = dataclasses.replace(recipe, objective=(CausalLM(),))
    more = 6 * (127 / 128 - 0.15) * 768 * (768 + 30_522)
    hidden = 6 * 12 * 2 * 768 * (128 - 64.5)
    assert cost.flops_per_token(causal) - cost.flops_per_token(recipe) == pytest.approx(more - hidden)


def test_last_steps_are_longer() -> None:
    inputs = Inputs(length=128, phase2_length=512, phase2_share=0.1)
    recipe = Recipe(inputs=inputs, schedule=Schedule(batch_size=4, steps=100))
    assert cost.phases(recipe) == [(128, 90), (512, 10)]
    assert cost.tokens(recipe) == 4 * (90 * 128 + 10 * 512)
    expected = 4 * 90 * 128 * cost.flops_per_token(recipe) + 4 * 10 * 512 * cost.flops_per_token(recipe, length=512)
    assert cost.flops(recipe) == pytest.approx(expected)
    few = dataclasses.replace(recipe, schedule=Schedule(steps=19))
    assert cost.phases(few) == [(128, 17), (512, 2)]  # rounded
    even = dataclasses.replace(recipe, inputs=Inputs(length=128, phase2_length=512))
    assert (even.inputs.longest, recipe.inputs.longest) == (128, 512)
    assert cost.tokens(even) == 4 * 100 * 128


def test_checkpoint_holds_weights_and_moments() -> None:
    assert cost.weight_bytes(Recipe(model=BASE, inputs=Inputs(length=512))) == 4 * 110_106_428


@pytest.mark.parametrize("scale", ["tiny", "base"])
def test_parameters_are_those_of_the_models_of_all_studies(scale: str) -> None:
    import torch

    from bertlab.model.heads import PretrainingModel

    every = [studies.find(name) for name in studies.names()]
    recipes = [study.recipe(variant, scales.find(scale).recipe) for study in every for variant in study.variants]
    assert len(recipes) > 20
    for recipe in recipes:
        with torch.device("meta"):
            model = PretrainingModel.of(recipe, recipe.tokenizer.entries)
        assert cost.trained_parameters(recipe) == sum(weight.numel() for weight in model.parameters()), recipe
