"""Fine-tuning beside `BertForSequenceClassification` of transformers, in its Trainer and in a loop, in rows a second.

    python benchmarks/finetuning.py [--only small-finetuning] [--pairs 4] [--seconds 10] [--threads 1] [--out FILE.json]

Batches of 32, dropout 0.1, AdamW with clipping. Rows are as long as SST-2's (phrases: median 11 word pieces, one in
twenty above 30, 66 at most), at scale base as MNLI's (median 36, one in twenty above 75, 128 at most). A block is whole
epochs over the same rows, set-up included. Ours is what `bertlab ablate` does: batches of similar length, cut to their
longest row, made as they are needed, in the precision that the machine has the hardware for.

The loop is the peer at its best: fused AdamW, the same precision, under autocast if it is bf16, and batches that are
ready before the clock starts: of the same rows as ours, which are of similar length, cut to the longest. Its
Trainer is handed tokenised rows: padded to 128 in fp32, as run_glue does by default, and at the best of what it
documents (`bf16`, batches grouped by length and padded to their longest row). Padded to 128, one step takes as long as
another: an epoch of the first rows is enough.

With one thread the loop's rows are measured by the clock of the processor, as other work on the machine is no part of
either side.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import peers
import script
import torch
import transformers
from blocks import Block, Found, Settings, compare
from ids import VOCABULARY
from shapes import BASE, TINY

from bertlab.adaptation import FineTuning
from bertlab.adaptation.base import EVALUATION_TOKENS, Inputs, tensors, width_step
from bertlab.machine import Machine
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import ClassificationModel, Pooler
from bertlab.progress import silent
from bertlab.recipe import Model
from bertlab.tasks.examples import Examples, epoch
from bertlab.tasks.kinds import KINDS
from bertlab.training import finetuning as finetune
from bertlab.training.data import TaskDataModule
from bertlab.training.finetuning import FinetuningModule

BATCH = 32
LABELS = 3
DROPOUT = 0.1
"""Of both sides; scale tiny has none in pre-training."""
TOKENS = 128
PADDED_ROWS = 64


@dataclass(frozen=True, kw_only=True)
class Lengths:
    """Lengths of rows, in word pieces: their logarithms are normally distributed."""

    median: float
    spread: float
    least: int
    most: int


SST2 = Lengths(median=11.0, spread=0.6, least=3, most=66)
MNLI = Lengths(median=36.2, spread=0.48, least=8, most=TOKENS)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What is fine-tuned, on how many rows."""

    model: Model
    vocabulary: int
    lengths: Lengths
    rows: int = 256


SMALL_MODEL = Model(layers=6, hidden=384, heads=12, positions="learned", max_positions=TOKENS, dropout=DROPOUT)
SHAPES = {
    "tiny": Shape(
        model=dataclasses.replace(TINY.model, dropout=DROPOUT), vocabulary=TINY.vocabulary, lengths=SST2, rows=2048
    ),
    "small": Shape(model=SMALL_MODEL, vocabulary=VOCABULARY, lengths=SST2),
    "base": Shape(model=BASE.model, vocabulary=VOCABULARY, lengths=MNLI, rows=64),
}


def examples(shape: Shape) -> Examples:
    """Random ids."""
    draw, of = np.random.default_rng(0), shape.lengths
    lengths = np.clip(np.exp(draw.normal(np.log(of.median), of.spread, shape.rows)).astype(int), of.least, of.most)
    return Examples(
        sequences=[draw.integers(5, shape.vocabulary, length) for length in lengths],
        segment_b_start=lengths * 2 // 3,
        positions=[np.zeros(1, np.int32)] * shape.rows,
        targets=draw.integers(0, LABELS, shape.rows),
        example_index=np.arange(shape.rows),
        pad=0,
        raw_count=shape.rows,
    )


def epochs(train: Callable[[int], None], rows: int, clock: Callable[[], float] = time.perf_counter) -> Block:
    """A block of whole epochs: `train` is given the number of one."""

    def block(seconds: float) -> float:
        begin, done = clock(), 0
        while done == 0 or clock() - begin < seconds:
            train(done)
            done += 1
        return done * rows / (clock() - begin)

    return block


def clock_of(here: Machine) -> Callable[[], float]:
    """The processor's clock for one thread, else the wall's."""
    return time.process_time if here.num_threads == 1 else time.perf_counter


def ours(shape: Shape, here: Machine, rows: Examples, clock: Callable[[], float]) -> Block:
    """A block of our fine-tuning, through Lightning."""
    settings = FineTuning(batch_size=BATCH, epochs=1, dropout=DROPOUT)
    encoder = BertEncoder(shape.model, shape.vocabulary, TOKENS)
    model = ClassificationModel(encoder, Pooler(shape.model.hidden), LABELS, settings.dropout, 0)
    rows = dataclasses.replace(rows, width_step=width_step(here))
    inputs = Inputs(rows.lengths, lambda numbers: tensors(rows.batch(numbers)), EVALUATION_TOKENS, rows.ids)

    def train(number: int) -> None:
        data = TaskDataModule(inputs, settings, ("epoch", number))
        module = FinetuningModule(model, KINDS["classification"], settings, data.steps, data.key)
        finetune.train(module.train(), data, here, silent, "", (), None)

    return epochs(train, len(rows), clock)


def by_hand(shape: Shape, here: Machine, rows: Examples, clock: Callable[[], float]) -> Block:
    """A block of the peer in a plain loop."""
    torch.set_num_threads(here.num_threads)
    model = classifier(shape).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, fused=True)
    batches = [longest([feature(rows, row) for row in batch]) for batch in epoch(rows.lengths, BATCH, "epoch", 0)]

    def train(number: int) -> None:
        for batch in batches:
            with torch.autocast("cpu", torch.bfloat16, enabled=here.precision_used == "bf16"):
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return epochs(train, len(rows), clock)


def through_trainer(shape: Shape, rows: Examples, best: bool) -> Block:
    """A block of the peer in its Trainer."""
    model = classifier(shape)
    features = [feature(rows, row) for row in range(len(rows) if best else PADDED_ROWS)]
    flags = {"bf16": True, "train_sampling_strategy": "group_by_length"} if best else {}
    arguments = {"per_device_train_batch_size": BATCH, "num_train_epochs": 1, **flags}
    collate = longest if best else partial(padded, width=TOKENS)
    return epochs(lambda _: peers.train(model, features, arguments, data_collator=collate), len(features))


def classifier(shape: Shape) -> transformers.BertForSequenceClassification:
    """The peer, with random weights."""
    return transformers.BertForSequenceClassification(peers.configuration(shape, num_labels=LABELS))


def feature(rows: Examples, row: int) -> dict[str, Any]:
    """A row as the peer's tokenizer gives it."""
    batch = rows.batch(np.array([row]))
    length = int(batch.lengths[0])
    return {
        "input_ids": batch.tokens[0, :length].tolist(),
        "token_type_ids": batch.segments[0, :length].tolist(),
        "label": int(batch.targets[0, 0]),
    }


def longest(features: Sequence[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """The rows as one batch, cut to the longest."""
    return padded(features, max(len(row["input_ids"]) for row in features))


def padded(features: Sequence[dict[str, Any]], width: int) -> dict[str, torch.Tensor]:
    """The rows as one batch of `width` tokens."""
    ids, segments = (
        torch.tensor([row[name] + [0] * (width - len(row[name])) for row in features])
        for name in ("input_ids", "token_type_ids")
    )
    lengths = torch.tensor([len(row["input_ids"]) for row in features])
    mask = (torch.arange(width) < lengths[:, None]).long()
    labels = torch.tensor([row["label"] for row in features])
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask, "labels": labels}


def beside_trainer(best: bool, settings: Settings) -> Found:
    """Ours against the peer's Trainer, at scale base."""
    shape = dataclasses.replace(SHAPES["base"], rows=512)
    rows = examples(shape)
    mine, other = ours(shape, settings.machine, rows, time.perf_counter), through_trainer(shape, rows, best)
    mine(0.0), other(0.0)  # the first epoch is slower
    return compare(mine, other, settings)


def beside_loop(name: str, settings: Settings) -> Found:
    """Ours against the peer's loop."""
    shape, here = SHAPES[name], settings.machine
    rows, clock = examples(shape), clock_of(here)
    mine, other = ours(shape, here, rows, clock), by_hand(shape, here, rows, clock)
    mine(0.0), other(0.0)  # the first epoch is slower
    probe = (lambda: 1.0) if here.num_threads == 1 else None
    return compare(mine, other, settings, probe)


MEASURED = {f"{name}-finetuning": partial(beside_loop, name) for name in SHAPES}
MEASURED |= {"finetuning": partial(beside_trainer, False), "finetuning-best": partial(beside_trainer, True)}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, pairs=4, seconds=10.0))
