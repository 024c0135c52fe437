"""Tests what batches contain, without the code that makes them: sequences are traced back to the corpus by content,
shares of random draws are tested against the recipe, and properties of every sequence on each."""

import dataclasses
import sys
from dataclasses import dataclass

import numpy as np

from bertlab.audit import sequences
from bertlab.inputs.batches import Batches, training_text
from bertlab.inputs.checks import Check
from bertlab.inputs.sample import Source, draw
from bertlab.recipe import Recipe
from bertlab.recipe.cost import phases
from bertlab.recipe.objective import text_length
from bertlab.text.tokens import TokenisedCorpus

_MOST = 6_000_000
"""Tokens of the first epoch that are drawn at most, padding included, and eight times those of each later epoch."""


@dataclass(frozen=True)
class Audited:
    """The checks of the batches of one length of a recipe; `sample` describes the sequences drawn."""

    length: int
    """Tokens of a sequence at most."""
    sample: str
    checks: tuple[Check, ...]


def audit(recipe: Recipe, corpus: TokenisedCorpus, source: Source | None = None, most: int = _MOST) -> list[Audited]:
    """Audits the batches of a recipe, one entry for each length that it trains at.

    `source` returns batch number s of the training and replaces the batches of `recipe`; at most `most` tokens of an
    epoch are drawn, also beyond the last step: a larger sample tests a recipe better.
    """
    source = source or Batches(recipe, corpus).batch
    whole, corpus = corpus, dataclasses.replace(corpus, train=training_text(recipe, corpus.train))
    lengths = phases(recipe)
    first_of_last = lengths[0][1] if len(lengths) > 1 else sys.maxsize
    copies = recipe.inputs.copies
    later = sorted({copies, *(loss.period(copies) for loss in recipe.objective)})
    audited = []
    for (length, _), steps in zip(lengths, (range(first_of_last), range(first_of_last, sys.maxsize)), strict=False):
        of_text = text_length(recipe.objective, length)
        drawn = [draw(recipe, corpus, source, of_text, 0, steps, most)]
        drawn += [draw(recipe, corpus, source, of_text, epoch, steps, most // 8) for epoch in later]
        every = [sample for sample in drawn if sample is not None]
        first = every[0]
        checks = [
            *sequences.layout(first),
            sequences.batches(first),
            *sequences.content(first),
            *sequences.coverage(first),
            sequences.unknown(first),
            *sequences.corpora(first, whole),
            *recipe.inputs.format.audit(first),
            *(check for loss in recipe.objective for check in loss.audit(first)),
        ]
        checks += sequences.targets(first)
        for other in every[1:]:
            checks += [check for loss in recipe.objective for check in loss.audit_again(first, other)]
        sizes = np.concatenate([sample.batch.lengths for sample in every])
        epochs = ", ".join(str(sample.epoch) for sample in every)
        shown = f"{len(sizes):,} sequences, {sizes.sum():,} tokens of epochs {epochs}"
        audited.append(Audited(length, f"{shown}; {'all' if first.whole else 'part'} of epoch 0", tuple(checks)))
    return audited


def same_batches(recipe: Recipe) -> tuple[object, ...]:
    """What the batches of a recipe depend on: recipes with equal values have the same batches."""
    masks = tuple(loss for loss in recipe.objective if not loss.labels_only)
    whole = recipe.inputs.epochs or recipe.inputs.phase2_length
    steps = recipe.schedule.steps if whole else 1
    pairs = recipe.pairing if recipe.inputs.format.pairs else None
    return masks, recipe.corpus, recipe.tokenizer, recipe.inputs, pairs, recipe.schedule.batch_size, steps, recipe.seed
