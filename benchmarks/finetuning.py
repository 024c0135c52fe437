"""Fine-tuning beside the Trainer of transformers on `BertForSequenceClassification`, in rows a second.

    python benchmarks/finetuning.py [--only finetuning-best] [--pairs 4] [--seconds 10] [--out FILE.json]

Rows are as long as MNLI's (median 36 word pieces, one in twenty above 75, 128 at most), batches of 32, dropout 0.1,
AdamW with clipping. A block is whole epochs over the same rows, set-up included. Ours is what `bertlab ablate` does:
batches of similar length, cut to their longest row, in the precision that the machine has the hardware for. The peer is
handed tokenised rows: padded to 128 in fp32, as run_glue does by default, and at the best of what it documents (`bf16`,
batches grouped by length and padded to their longest row). Padded to 128, one step takes as long as another: an epoch
of the first rows is enough.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import peers
import script
import torch
import transformers
from blocks import Block, Found, Settings, compare
from ids import VOCABULARY
from shapes import BASE, Shape

from bertlab.adaptation import FineTuning
from bertlab.adaptation.base import EVALUATION_TOKENS, Inputs, tensors
from bertlab.machine import Machine
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import ClassificationModel, Pooler
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds import KINDS
from bertlab.training.data import TaskDataModule
from bertlab.training.finetuning import FinetuningModule
from bertlab.training.trainer import quiet, trainer

SHAPE = BASE
BATCH = 32
LABELS = 3
TOKENS = 128
ROWS = 512
PADDED_ROWS = 64


def examples() -> Examples:
    """Random ids, in rows as long as MNLI's."""
    draw = np.random.default_rng(0)
    lengths = np.clip(np.exp(draw.normal(3.59, 0.48, ROWS)).astype(int), 8, TOKENS)
    return Examples(
        sequences=[draw.integers(5, VOCABULARY, length) for length in lengths],
        segment_b_start=lengths * 2 // 3,
        positions=[np.zeros(1, np.int32)] * ROWS,
        targets=draw.integers(0, LABELS, ROWS),
        example_index=np.arange(ROWS),
        pad=0,
        raw_count=ROWS,
    )


def epochs(train: Callable[[int], None], rows: int) -> Block:
    """A block of whole epochs: `train` is given the number of one."""

    def block(seconds: float) -> float:
        begin, done = time.perf_counter(), 0
        while done == 0 or time.perf_counter() - begin < seconds:
            train(done)
            done += 1
        return done * rows / (time.perf_counter() - begin)

    return block


def ours(shape: Shape, here: Machine, rows: Examples) -> Block:
    """A block of our fine-tuning, through Lightning."""
    settings = FineTuning(batch_size=BATCH, epochs=1)
    encoder = BertEncoder(shape.model, VOCABULARY, TOKENS)
    model = ClassificationModel(encoder, Pooler(shape.model.hidden), LABELS, settings.dropout, 0)

    inputs = Inputs(rows.lengths, lambda numbers: tensors(rows.batch(numbers)), EVALUATION_TOKENS)

    def train(epoch: int) -> None:
        data = TaskDataModule(inputs, settings, ("epoch", epoch))
        module = FinetuningModule(model, KINDS["classification"], settings, data.steps, data.key)
        with quiet():
            trainer(here, data.steps).fit(module.train(), data)

    return epochs(train, len(rows))


def peer(shape: Shape, rows: Examples, best: bool) -> Block:
    """A block of the peer's fine-tuning."""
    model = transformers.BertForSequenceClassification(peers.configuration(shape, num_labels=LABELS))
    features = [feature(rows, row) for row in range(ROWS if best else PADDED_ROWS)]
    flags = {"bf16": True, "train_sampling_strategy": "group_by_length"} if best else {}
    arguments = {"per_device_train_batch_size": BATCH, "num_train_epochs": 1, **flags}

    def collate(features: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        return padded(features, max(len(each["input_ids"]) for each in features) if best else TOKENS)

    return epochs(lambda _: peers.train(model, features, arguments, data_collator=collate), len(features))


def feature(rows: Examples, row: int) -> dict[str, Any]:
    """A row as the peer's tokenizer gives it."""
    batch = rows.batch(np.array([row]))
    length = int(batch.lengths[0])
    return {
        "input_ids": batch.tokens[0, :length].tolist(),
        "token_type_ids": batch.segments[0, :length].tolist(),
        "label": int(batch.targets[0, 0]),
    }


def padded(features: list[dict[str, Any]], width: int) -> dict[str, torch.Tensor]:
    """The rows as one batch of `width` tokens."""
    ids, segments = (
        torch.tensor([each[name] + [0] * (width - len(each[name])) for each in features])
        for name in ("input_ids", "token_type_ids")
    )
    lengths = torch.tensor([len(each["input_ids"]) for each in features])
    mask = (torch.arange(width) < lengths[:, None]).long()
    labels = torch.tensor([each["label"] for each in features])
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask, "labels": labels}


def beside(best: bool, settings: Settings) -> Found:
    """Ours against the peer."""
    rows = examples()
    mine, other = ours(SHAPE, settings.machine, rows), peer(SHAPE, rows, best)
    mine(0.0), other(0.0)  # the first epoch is slower
    return compare(mine, other, settings)


MEASURED = {"finetuning": partial(beside, False), "finetuning-best": partial(beside, True)}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, pairs=4, seconds=10.0))
