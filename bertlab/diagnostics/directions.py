"""Directions in the space of the weights, and steps along them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from torch import Tensor, nn

Normalisation = Literal["filter", "plain"]
"""`filter`: each row of a matrix is as long as that row of the weights, and vectors do not move (Li et al. 2018).
`plain`: all weights that are trained move, and a direction has Euclidean length 1."""


def trained_weights(model: nn.Module) -> dict[str, Tensor]:
    """The parameters of a model that are trained, by name."""
    return {name: value for name, value in model.named_parameters() if value.requires_grad}


def random_direction(weights: Mapping[str, Tensor], key: int, normalised: Normalisation) -> dict[str, Tensor]:
    """A random direction, a tensor for each of the weights that it moves; the same one for each key and shape."""
    import torch

    generator = torch.Generator().manual_seed(key)
    drawn = {name: torch.randn(value.shape, generator=generator).to(value) for name, value in weights.items()}
    if normalised == "filter":
        matrices = {name: value for name, value in drawn.items() if value.dim() > 1}
        return {name: value * _rows(weights[name]) / _rows(value) for name, value in matrices.items()}
    length = torch.stack([value.square().sum() for value in drawn.values()]).sum().sqrt()
    return {name: value / length for name, value in drawn.items()}


def _rows(matrix: Tensor) -> Tensor:
    """The Euclidean lengths of the rows of a matrix (..., N), as (..., 1)."""
    return matrix.detach().square().sum(-1, keepdim=True).sqrt()


@contextmanager
def moved(weights: Mapping[str, Tensor], *steps: tuple[Mapping[str, Tensor], float]) -> Iterator[None]:
    """Within it the weights are steps away, each a length along a direction; after it they have the bits of before."""
    before = {name: weights[name].data.clone() for direction, _ in steps for name in direction}
    try:
        for direction, length in steps:
            for name, change in direction.items():
                weights[name].data.add_(change, alpha=length)
        yield
    finally:
        for name, values in before.items():
            weights[name].data.copy_(values)
