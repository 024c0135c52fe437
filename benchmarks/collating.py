"""Collating with masking, beside `DataCollatorForLanguageModeling` of transformers.

    python benchmarks/collating.py [--batch 256] [--pairs 8] [--seconds 2] [--out FILE.json]

Both sides make batches of 128 tokens on one thread and end with torch tensors. Ours starts from the token file: it
finds the rows of a step, gathers their segments, masks exactly 15 % and gives the slots to predict. The peer is handed
rows that are already cut and tokenised, at its defaults (lists of ids) and at the best of what it documents (the
special tokens' mask given, NumPy output). Padding does not count.

`blocks.py` says how the two are compared. Passes where the interval lies above the floor of 30; exit status 1
otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and torch are loaded

import numpy as np
import torch
import transformers
from blocks import compare, described, machine, repeated

from bertlab.inputs.batches import Batches
from bertlab.recipe import Inputs, Recipe, Schedule

FLOOR = 30.0
TOKENS = 128
VOCABULARY = 30_522


def corpus(directory: Path) -> Any:
    """Random ids in documents of 1 to 60 sentences with 24 tokens on average, 14 million in all, in a file."""
    draw = np.random.default_rng(0)
    sizes = draw.integers(1, 60, 20_000)
    lengths = np.maximum(1, draw.gamma(2, 12, sizes.sum()).astype(np.int64))
    sentences = np.cumsum([0, *lengths])
    draw.integers(5, VOCABULARY, sentences[-1]).astype(np.uint16).tofile(directory / "tokens.bin")
    train = SimpleNamespace(
        tokens=np.memmap(directory / "tokens.bin", dtype=np.uint16, mode="r"),
        sentences=sentences,
        documents=np.cumsum([0, *sizes]),
    )
    ids = SimpleNamespace(pad=0, cls=2, sep=3, mask=4, ordinary=np.arange(5, VOCABULARY, dtype=np.int32))
    return SimpleNamespace(tokenizer=ids, train=train, heldout=train)


def ours(batch: int, directory: Path) -> Callable[[], int]:
    """One step of ours: gives the tokens of the batch."""
    recipe = Recipe(inputs=Inputs(length=TOKENS), schedule=Schedule(batch=batch, steps=1_000_000))
    batches = Batches(recipe, corpus(directory))
    step = 0

    def collate() -> int:
        nonlocal step
        made = batches.batch(step)
        for array in vars(made).values():
            torch.from_numpy(array)
        step += 1
        return int(made.lengths.sum())

    collate()  # the layout of the first pass, which lasts for thousands of steps
    return collate


def peer(batch: int, directory: Path, best: bool) -> Callable[[], int]:
    """One step of the peer, on rows of full length: gives the tokens of the batch."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(VOCABULARY - 5))]
    (directory / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = transformers.BertTokenizer(vocab=str(directory / "vocab.txt"))
    assert len(tokenizer) == VOCABULARY
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, return_tensors="np" if best else "pt")
    draw = np.random.default_rng(0)
    rows = []
    for _ in range(20 * batch):
        ids = [2, *draw.integers(5, VOCABULARY, TOKENS - 2).tolist(), 3]
        special = [1, *[0] * (TOKENS - 2), 1]
        rows.append({"input_ids": ids} | ({"special_tokens_mask": special} if best else {}))
    step = 0

    def collate() -> int:
        nonlocal step
        low = step * batch % len(rows)
        made = collator([dict(row) for row in rows[low : low + batch]])
        for array in made.values() if best else ():
            torch.from_numpy(array)
        step += 1
        return batch * TOKENS

    collate()
    return collate


def main() -> int:
    """Measures, prints, and says by its status whether the floor was reached."""
    parser = argparse.ArgumentParser(description="Collating with masking, beside transformers.")
    parser.add_argument("--batch", type=int, default=256, help="sequences a batch")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of blocks")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds a block, at least")
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    result: dict[str, Any] = {
        "floor": FLOOR,
        "batch": arguments.batch,
        "tokens": TOKENS,
        **machine(np, torch, transformers),
    }
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(arguments.batch, Path(folder))
        for name, best in (("defaults", False), ("best flags", True)):
            other = peer(arguments.batch, Path(folder), best)
            found = compare(repeated(mine), repeated(other), pairs=arguments.pairs, seconds=arguments.seconds)
            result[name] = found
            print(described(name, found, "tokens"))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(result["defaults"]["interval"][0] < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
