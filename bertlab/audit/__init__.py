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
from bertlab.recipe import MultiTask, Recipe
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
    """Audits the batches of a recipe, one entry for each length that it trains at; tasks by themselves, before text.

    `source` returns batch number s of the training and replaces the batches of `recipe`; at most `most` tokens of an
    epoch are drawn, also beyond the last step: a larger sample tests a recipe better.
    """
    source = source or Batches(recipe, corpus).batch
    if recipe.multitask.tasks:
        of_tasks = Audited(recipe.inputs.length, *sequences.mixture(recipe, corpus, source, most))
        alone = dataclasses.replace(recipe, multitask=MultiTask())
        return [of_tasks, *(audit(alone, corpus, most=most) if recipe.multitask.text else [])]
    whole, corpus = corpus, dataclasses.replace(corpus, train=training_text(recipe, corpus.train))
    copies = recipe.inputs.copies
    later = sorted({copies, *(loss.repeats_after(copies) for loss in recipe.objective)})
    audited = []
    for stage, steps in _readings(recipe):
        of_text = text_length(stage.objective, stage.inputs.length)
        drawn = [draw(stage, corpus, source, of_text, 0, steps, most)]
        drawn += [draw(stage, corpus, source, of_text, epoch, steps, most // 8) for epoch in later]
        every = [sample for sample in drawn if sample is not None]
        first = every[0]
        checks = [
            *sequences.layout(first),
            sequences.batches(first),
            *sequences.content(first),
            *sequences.coverage(first),
            sequences.unknown(first),
            *sequences.corpora(first, whole),
            *stage.inputs.format.audit(first),
            *(check for loss in stage.objective if loss.share for check in loss.audit(first.of_loss(loss.kind))),
        ]
        checks += sequences.targets(first)
        for other in every[1:]:
            checks += [check for loss in stage.objective for check in loss.audit_again(first, other)]
        sizes = np.concatenate([sample.batch.lengths for sample in every])
        epochs = ", ".join(str(sample.epoch) for sample in every)
        shown = f"{len(sizes):,} sequences, {sizes.sum():,} tokens of epochs {epochs}"
        sampled = f"{shown}; {'all' if first.whole else 'part'} of epoch 0"
        audited.append(Audited(stage.inputs.length, sampled, tuple(checks)))
    return audited


def _readings(recipe: Recipe) -> list[tuple[Recipe, range]]:
    """The stages that begin to read the text anew, in sequences of another length, and their steps."""
    readings: list[tuple[Recipe, range]] = []
    begin = 0
    for stage, steps in recipe.stages:
        if all(stage.inputs != other.inputs for other, _ in readings):
            readings.append((stage, range(begin, begin + steps)))
        begin += steps
    if len(recipe.stages) == len(readings):  # a larger sample tests the last one better
        last, within = readings.pop()
        readings.append((last, range(within.start, sys.maxsize)))
    return readings


def same_batches(recipe: Recipe) -> tuple[object, ...]:
    """What the batches of a recipe depend on: recipes with equal values have the same batches."""
    masks = tuple(loss for loss in recipe.objective if not loss.labels_only)
    changing = tuple(recipe.schedule.over_steps.items())
    whole = recipe.inputs.epochs or recipe.inputs.phase2_length or changing
    steps = recipe.schedule.steps if whole else 1
    pairs = recipe.pairing if recipe.inputs.format.pairs else None
    text = recipe.corpus, recipe.tokenizer, recipe.inputs
    return masks, *text, recipe.multitask, pairs, recipe.schedule.batch_size, steps, changing, recipe.seed
