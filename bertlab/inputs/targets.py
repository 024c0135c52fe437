"""What the losses of a recipe have to predict in a text, by a sample of its sequences: a loss without targets is 0."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from bertlab import keyed
from bertlab.errors import BadInput
from bertlab.inputs.batches import FEWEST, Batches
from bertlab.recipe import Recipe
from bertlab.text.tokens import TokenisedCorpus, share_of, some_corpora

SEQUENCES = 256
"""Sequences of a sample at most."""
_TOKENS = 200_000
"""Tokens of the documents from which they are taken, or of `FEWEST` documents."""
HANDFUL = 5
"""The number of sequences with a target below which a loss learns nothing."""
LOW = 0.1
"""The share of sequences with a target below which a loss learns little."""


@dataclass(frozen=True)
class Targets:
    """The sequences of a sample in which a loss has something to predict."""

    loss: str
    """The kind of the loss."""
    words: str
    """What they have: `of the pairs have an order`."""
    having: int
    sequences: int

    @property
    def share(self) -> float:
        """The share of the sequences that have a target."""
        return self.having / self.sequences

    @property
    def lacking(self) -> bool:
        """Whether they are too few for any training."""
        return self.having < min(HANDFUL, self.sequences)

    def __str__(self) -> str:
        """The targets in words."""
        which = f"a target in {self.having} of" if self.having else "no target in"
        sampled = f"{self.sequences} sampled sequences ({100 * self.share:.0f} % {self.words})"
        return f"objective {self.loss} has {which} {sampled}"


def targets(recipe: Recipe, corpus: TokenisedCorpus) -> list[Targets]:
    """The targets of each loss in a keyed sample of the sequences that a recipe makes of a corpus."""
    sampled, part = excerpt(recipe, corpus, SEQUENCES)
    batch = Batches(sampled, part).batch(0)
    first = batch.epochs == 0  # a short text is there several times
    counted = []
    for loss in [loss for loss in recipe.objective if loss.share]:
        for words, has in loss.targets(batch, part.train).items():
            counted.append(Targets(loss.kind, words, int(np.asarray(has)[first].sum()), int(first.sum())))
    return counted


def excerpt(recipe: Recipe, corpus: TokenisedCorpus, sequences: int) -> tuple[Recipe, TokenisedCorpus]:
    """A keyed sample of the documents that a recipe trains on, and the recipe with batches of so many sequences."""
    text = some_corpora(corpus.train, recipe.inputs.corpora)
    share = min(1.0, _TOKENS / len(text.tokens))
    part = share_of(text, share, FEWEST, keyed.permutation(keyed.key("targets"), len(text.documents) - 1))
    inputs = dataclasses.replace(recipe.inputs, corpora=0, document_share=1.0, epochs=0)
    schedule = dataclasses.replace(recipe.schedule, batch_size=sequences, over_steps={})
    return dataclasses.replace(recipe, inputs=inputs, schedule=schedule), dataclasses.replace(corpus, train=part)


def require(sampled: list[Targets]) -> None:
    """Raises `BadInput` if a loss has no targets, or a handful."""
    for of_loss in sampled:
        if of_loss.lacking:
            raise BadInput(
                f"{of_loss}: give a text that has them, say what a document is (--set corpus.documents=), or leave out "
                "what trains on it (--only)"
            )
