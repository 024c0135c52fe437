"""What each new arm costs in pre-training: a variant of a study beside the variant that it is compared with, or an
optimiser beside AdamW.

    python benchmarks/arms.py [--only spans ...] [--pairs 8] [--seconds 2] [--out FILE.json]

Both are of scale mini, in one process and on one thread, without Lightning and not compiled, their batches
made as they are needed: processor time counts, and what other programs take does not. The span-boundary loss has a
second row, at scale base with 16 sequences a step.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from functools import partial

import ids
import ours
import script
import torch
from blocks import Found, Settings, compare, repeated
from shapes import BASE, MINI, Shape

from bertlab.lab import studies
from bertlab.optimizers import LAMB, Adafactor
from bertlab.recipe import Optimizer, Recipe


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A recipe as `ours` and `ids` train it."""

    recipe: Recipe
    fewest: int = 2
    """Steps of a block, at least."""

    @property
    def vocabulary(self) -> int:
        """Entries of the vocabulary."""
        return self.recipe.tokenizer.vocabulary


def beside(study: str, variant: str, other: str, settings: Settings, shape: Shape = MINI) -> Found:
    """The first variant of a study against the other."""
    found, scale = studies.find(study), shape.recipe
    by_name = {each.name: each for each in found.variants}
    return _compared(found.recipe(by_name[variant], scale), found.recipe(by_name[other], scale), settings)


def updated(optimizer: Optimizer, settings: Settings) -> Found:
    """The scale's own recipe with this optimiser against the same with its own."""
    return _compared(replace(MINI.recipe, optimizer=optimizer), MINI.recipe, settings)


def _compared(recipe: Recipe, other: Recipe, settings: Settings) -> Found:
    arms = [Arm(recipe=each) for each in (recipe, other)]
    torch.set_num_threads(1)
    with ids.batches(arms[0]) as one, ids.batches(arms[1]) as two:
        blocks = [
            repeated(ours.updates(arm, settings.machine, batches), arm.fewest, clock=time.process_time)
            for arm, batches in zip(arms, (one, two), strict=True)
        ]
        for block in blocks:
            block(0.0)  # the first steps are slower
        return compare(*blocks, settings, probe=lambda: 1.0)


MEASURED = {
    "whole-words": partial(beside, "spans", "whole words", "subword tokens"),
    "spans": partial(beside, "spans", "geometric spans", "subword tokens"),
    "entities": partial(beside, "spans", "named entities", "subword tokens"),
    "noun-phrases": partial(beside, "spans", "noun phrases", "subword tokens"),
    "n-grams": partial(beside, "ngrams", "n-grams", "tokens"),
    "span-boundary": partial(beside, "span-boundary", "single sequence + SBO", "single sequence"),
    "base-span-boundary": partial(beside, "span-boundary", "single sequence + SBO", "single sequence", shape=BASE),
    "sentence-order": partial(beside, "sentence-order", "SOP", "NSP"),
    "shared": partial(beside, "sharing", "all shared, E = H", "not shared, E = H"),
    "embeddings": partial(beside, "embedding-size", "not shared, E = H/6", "not shared, E = H"),
    "pre-norm": partial(beside, "norm", "pre-norm", "post-norm"),
    "power-norm": partial(beside, "norm", "PowerNorm", "post-norm"),
    "lamb": partial(updated, LAMB()),
    "adafactor": partial(updated, Adafactor()),
}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, seconds=2.0, threads=1))
