"""Collating with masking, beside `DataCollatorForLanguageModeling` of transformers.

    python benchmarks/collating.py [--pairs 8] [--seconds 2] [--out FILE.json]

Both sides make batches of 256 sequences of 128 tokens on one thread and end with torch tensors. Ours starts from the
token file, where the places of the sequences are known: it finds those of a step, gathers their segments, masks exactly
15 % and returns the slots to predict. The peer gets sequences that are already cut and tokenised, at its defaults
(lists of ids) and at the best settings that it documents (the special tokens' mask given, NumPy output). Padding does
not count.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import ids
import numpy as np
import script
import torch
import transformers
from blocks import Found, Settings, compare, repeated
from ids import VOCABULARY
from shapes import BASE

from bertlab.inputs.batches import Batches
from bertlab.training.data import to_tensors

SHAPE = dataclasses.replace(BASE, batch=256)


def ours(batches: Batches) -> Callable[[], float]:
    """One step of ours: gives the tokens of the batch."""
    step = 0

    def collate() -> float:
        nonlocal step
        made = batches.batch(step)
        to_tensors(made)
        step += 1
        return float(made.lengths.sum())

    for copy in range(SHAPE.recipe.inputs.dupe_factor):  # lays out every copy: the peer's sequences are cut before, too
        batches.sequences_in(copy)
    return collate


def peer(directory: Path, best: bool) -> Callable[[], float]:
    """One step of the peer, on sequences of full length: gives the tokens of the batch."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(VOCABULARY - 5))]
    (directory / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(vocab=str(directory / "vocab.txt"))
    assert len(tokenizer) == VOCABULARY
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, return_tensors="np" if best else "pt")
    draw, inside = np.random.default_rng(0), SHAPE.recipe.inputs.length - 2
    examples = []
    for _ in range(20 * SHAPE.batch):
        sequence = {"input_ids": [2, *draw.integers(5, VOCABULARY, inside).tolist(), 3]}
        examples.append(sequence | ({"special_tokens_mask": [1, *[0] * inside, 1]} if best else {}))
    step = 0

    def collate() -> float:
        nonlocal step
        low = step * SHAPE.batch % len(examples)
        made = collator([dict(sequence) for sequence in examples[low : low + SHAPE.batch]])
        for array in made.values() if best else ():
            torch.from_numpy(array)
        step += 1
        return SHAPE.batch * SHAPE.recipe.inputs.length

    collate()
    return collate


def beside(best: bool, settings: Settings) -> Found:
    """Ours against the peer."""
    with ids.batches(SHAPE) as batches, tempfile.TemporaryDirectory() as folder:
        return compare(repeated(ours(batches)), repeated(peer(Path(folder), best)), settings)


MEASURED = {"collating": partial(beside, False), "collating-best": partial(beside, True)}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, seconds=2.0, threads=1))
