"""Pre-training on a mixture of text and 17 tasks, beside pre-training on text alone.

    python benchmarks/mixing.py [--pairs 8] [--seconds 4] [--out FILE.json]

T5 of the shape of scale tiny makes updates in a plain loop on synthetic text, with batches as they are needed. The row
`mixture` counts all tokens that encoder and decoder read, as the throughput of a run does, and `mixture-unpadded` those
that are not padding: examples of tasks have many lengths, and no two of them share a row.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable
from functools import partial

import script
import torch
from blocks import Found, Settings, compare, repeated

import bertlab
from bertlab.inputs.batches import Batches
from bertlab.lab import scales
from bertlab.lab.papers import T5_MIXED
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.objectives import SpanCorruption
from bertlab.recipe import T5, Inputs, MultiTask, Proportional, Recipe
from bertlab.text.tokenizers import WordPiece
from bertlab.training.data import to_tensors
from bertlab.training.module import build

TINY = scales.find("tiny").recipe
RECIPE = dataclasses.replace(
    TINY,
    tokenizer=WordPiece(vocabulary=4096, sentinels=100),
    inputs=Inputs(length=64, format="chunks"),
    objective=(SpanCorruption(),),
    model=T5(layers=4, hidden=128, heads=4),
    multitask=MultiTask(tasks=T5_MIXED[:17], mixing=Proportional(limit=4800)),
)


def updates(recipe: Recipe, corpus: bertlab.TokenisedCorpus, machine: Machine, padded: bool) -> Callable[[], float]:
    """Makes one more update at each call, and gives its tokens."""
    batches, model, step = Batches(recipe, corpus), PretrainingModel.of(recipe, corpus.tokenizer.size).train(), 0
    optimizer, (loss,) = build(model, recipe.optimizer), recipe.objective

    def update() -> float:
        nonlocal step
        batch, step = batches.batch(step), step + 1
        (model.losses(to_tensors(batch))[loss.kind] / loss.count(batch.arrays[loss.kind])).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(sum(one.tokens.size if padded else one.lengths.sum() for one in batch.streams.values()))

    return update


def beside(padded: bool, settings: Settings) -> Found:
    """The mixture against text alone."""
    alone = dataclasses.replace(RECIPE, multitask=MultiTask())
    torch.set_num_threads(settings.machine.num_threads)
    with tempfile.TemporaryDirectory() as folder:
        corpus = bertlab.prepare_corpus(f"{folder}/corpus", RECIPE, "microworld:2000")
        mixture, text = (repeated(updates(one, corpus, settings.machine, padded)) for one in (RECIPE, alone))
        return compare(mixture, text, settings)


MEASURED = {"mixture": partial(beside, True), "mixture-unpadded": partial(beside, False)}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED))
