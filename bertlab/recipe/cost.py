"""The cost of a recipe: parameters, tokens, floating-point operations and bytes. Arithmetic, without torch.

A multiply-add counts as two operations and training as three times the forward pass. Padding, recomputation, masked
attention and unused logits do not count, so that shares of a machine's peak stay comparable.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from bertlab.recipe import BackboneConfig, Loss, Recipe


def parameters(model: BackboneConfig, vocabulary: int, max_length: int, objective: Sequence[Loss] = ()) -> int:
    """Parameters of the encoder with the heads of an objective; the tied output matrix counts once.

    `max_length` is the number of tokens that it reads at most: the size of a table of learned positions.
    """
    described = model.for_length(max_length)
    heads = {loss.head: loss.parameters(described, vocabulary) for loss in objective}
    return model.parameters(vocabulary, max_length) + sum(heads.values())


def phases(recipe: Recipe) -> list[tuple[int, int]]:
    """The lengths of sequences in training (tokens), in order, each with its number of steps."""
    of_length = itertools.groupby(recipe.stages, lambda stage: stage[0].inputs.length)
    return [(length, sum(steps for _, steps in stages)) for length, stages in of_length]


def tokens(recipe: Recipe, first: int = 0, until: int | None = None) -> int:
    """Tokens of training if every sequence has the full length; `inputs.batches.Batches.tokens` counts a corpus's.

    Of all updates, or of those from number `first` to the one before `until`.
    """
    return sum(read for _, read in _read(recipe, first, until))


def _read(recipe: Recipe, first: int, until: int | None) -> Iterator[tuple[Recipe, int]]:
    """The stages, each with the tokens of its updates from number `first` to the one before `until`."""
    begin, until = 0, recipe.schedule.steps if until is None else until
    for stage, steps in recipe.stages:
        trained = max(0, min(begin + steps, until) - max(begin, first))
        yield stage, trained * stage.schedule.batch_size * stage.inputs.length
        begin += steps


def flops_per_token(recipe: Recipe, *, length: int = 0, vocabulary: int = 0) -> float:
    """Operations of training on one token, in sequences of `length` tokens.

    A `length` or a `vocabulary` of 0 is the recipe's; a small corpus does not fill the recipe's vocabulary.
    """
    length, vocabulary = length or recipe.inputs.length, vocabulary or recipe.tokenizer.entries
    encoder = recipe.model.flops_per_token(length, recipe.causal)
    heads = sum(loss.share * loss.flops(recipe.model, vocabulary, length) for loss in recipe.objective)
    return 3.0 * (encoder + heads / length)


def flops(recipe: Recipe, first: int = 0, until: int | None = None, *, vocabulary: int = 0) -> float:
    """Operations of the whole pre-training, or of its updates from number `first` to the one before `until`."""
    read = _read(recipe, first, until)
    return sum(number * flops_per_token(stage, vocabulary=vocabulary) for stage, number in read)


def with_flops(recipe: Recipe, budget: float) -> Recipe:
    """The recipe with as many steps as take `budget` operations, rounded, at least one; it needs steps of its own."""
    steps = max(1, round(recipe.schedule.steps * budget / flops(recipe)))
    return dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, steps=steps))


def recurrent_flops(inputs: int, units: int, layers: int) -> float:
    """Operations of a BiLSTM's forward pass on one token: four gates a unit, in both directions."""
    widths = [inputs] + [2 * units] * (layers - 1)
    return sum(2.0 * 2 * 4 * units * (width + units) for width in widths)


def trained_parameters(recipe: Recipe) -> int:
    """The number of parameters of a recipe's model with its heads."""
    max_length = recipe.model.max_length(recipe.inputs.longest)
    return parameters(recipe.model, recipe.tokenizer.entries, max_length, recipe.objective)


def weight_bytes(recipe: Recipe) -> int:
    """Bytes of the saved weights, in fp32."""
    return 4 * trained_parameters(recipe)
