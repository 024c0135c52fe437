"""Collating with masking, beside `DataCollatorForLanguageModeling` of transformers.

    python benchmarks/collating.py [--batch 256] [--pairs 8] [--seconds 2] [--out FILE.json]

Both sides make batches of 128 tokens on one thread and end with torch tensors. Ours starts from the token file: it
finds the rows of a step, gathers their segments, masks exactly 15 % and gives the slots to predict. The peer is handed
rows that are already cut and tokenised, at its defaults (lists of ids) and at the best of what it documents (the
special tokens' mask given, NumPy output). Padding does not count.

Blocks of the two alternate, A B B A; the ratio is the median over pairs of blocks, with its 95 % bootstrap interval.
A matrix product is timed around each block, and a pair in which that moved by more than 15 % is dropped. Passes where
the interval lies above the floor of 30; exit status 1 otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy and torch are loaded

import numpy as np
import torch
import transformers

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


def rate(collate: Callable[[], int], seconds: float) -> float:
    """Tokens a second over a block of at least so many seconds and five steps."""
    begin, steps, tokens = time.perf_counter(), 0, 0
    while steps < 5 or time.perf_counter() - begin < seconds:
        tokens += collate()
        steps += 1
    return tokens / (time.perf_counter() - begin)


def probe() -> float:
    """Seconds of a matrix product on this thread now."""
    matrix = np.ones((384, 384), dtype=np.float32)
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def paired(one: Callable[[], int], other: Callable[[], int], pairs: int, seconds: float) -> dict[str, Any]:
    """How many times as fast as `other` is `one`, over alternating blocks."""
    ratios, rates, dropped = [], [], 0
    for number in range(pairs):
        order = (one, other) if number % 2 == 0 else (other, one)
        probes, measured = [probe()], {}
        for collate in order:
            measured[collate] = rate(collate, seconds)
            probes.append(probe())
        if max(probes) > 1.15 * min(probes):
            dropped += 1
            continue
        ratios.append(measured[one] / measured[other])
        rates.append((measured[one], measured[other]))
    if not ratios:
        raise SystemExit("every pair was dropped: the machine is too busy to measure on")
    draws = np.random.default_rng(0).choice(ratios, (10_000, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return {
        "ratio": float(np.median(ratios)),
        "interval": [float(low), float(high)],
        "pairs": len(ratios),
        "dropped": dropped,
        "tokens_per_second": [float(value) for value in np.median(rates, axis=0)],
    }


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
        "load_average": os.getloadavg()[0],
        "machine": platform.machine(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(arguments.batch, Path(folder))
        for name, best in (("defaults", False), ("best flags", True)):
            other = peer(arguments.batch, Path(folder), best)
            found = result[name] = paired(mine, other, arguments.pairs, arguments.seconds)
            low, high = found["interval"]
            mega = [value / 1e6 for value in found["tokens_per_second"]]
            print(
                f"against {name}: {found['ratio']:.0f} times as fast, 95 % interval {low:.0f} to {high:.0f}; "
                f"{mega[0]:.1f} and {mega[1]:.2f} million tokens/s; {found['pairs']} pairs, {found['dropped']} dropped"
            )
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(result["defaults"]["interval"][0] < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
