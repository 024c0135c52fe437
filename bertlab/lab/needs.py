"""Absolute sizes that a claim may hang on: those of a recipe, and the least that a claim needs."""

import dataclasses
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from bertlab.recipe import Recipe
from bertlab.recipe.ranges import Checked, Range

Sizes = Mapping[str, int]
"""The sizes of a recipe by the fields of `Needs`."""
Least = Annotated[int, Range(0, 100_000_000)]
"""A lower bound; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class Needs(Checked, group="needs"):
    """The least sizes at which a claim is tested, in each of its variants: the paper says nothing of smaller ones."""

    layers: Least = 0
    """Layers of the encoder."""
    width: Least = 0
    """Width of the encoder."""
    embeddings: Least = 0
    """Width of the embeddings."""
    length: Least = 0
    """Tokens of the longest sequences in pre-training."""
    batch_size: Least = 0
    """Sequences per update of the pre-training."""
    steps: Least = 0
    """Updates of the pre-training."""

    def unmet(self, variants: Iterable[str], sizes: Mapping[str, Sizes]) -> str:
        """Which of them variants of these sizes do not have, in words; empty if all do. Unknown sizes count as met."""
        unmet, compared = [], list(variants)
        for name, least in dataclasses.asdict(self).items():
            held = [(sizes[variant][name], variant) for variant in compared if name in sizes.get(variant, ())]
            if held and min(held)[0] < least:
                size, smallest = min(held)
                unmet.append(f"{_SIZES[name][0].format(f'{least:,}')} or more ({smallest} has {size:,})")
        return " and ".join(unmet)


_SIZES: dict[str, tuple[str, str]] = {
    "layers": ("{} layers", "model.layers"),
    "width": ("a width of {}", "model.hidden"),
    "embeddings": ("embeddings of {}", "model.embedding_width"),
    "length": ("sequences of {} tokens", "inputs.longest"),
    "batch_size": ("batches of {}", "schedule.batch_size"),
    "steps": ("{} steps", "schedule.steps"),
}
"""Each size in words, and where a recipe has it."""


def sizes(recipe: Recipe) -> dict[str, int]:
    """The sizes of a recipe."""
    return {name: operator.attrgetter(path)(recipe) for name, (_, path) in _SIZES.items()}
