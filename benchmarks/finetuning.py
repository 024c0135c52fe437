"""Fine-tuning beside the `transformers` Trainer on `BertForSequenceClassification`, in rows a second.

    python benchmarks/finetuning.py [--layers 12 --hidden 768 --heads 12] [--pairs 4] [--seconds 20] [--out FILE.json]

Rows are as long as MNLI's (median 36 word pieces, one in twenty above 75, 128 at most), batches of 32, dropout 0.1,
AdamW with clipping. A block is whole epochs over the same rows, set-up included. Ours is what `bertlab ablate` does:
batches of similar length, cut to their longest row, in the precision that the machine has the hardware for. The peer is
handed tokenised rows: padded to 128 in fp32, as its GLUE example does by default, and at the best of what it documents
(`bf16`, batches grouped by length and padded to their longest row). `blocks.py` says how the two are compared. Passes
where the interval against the default lies above the floor of 3; exit status 1 otherwise.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
import transformers
from blocks import Block, compare, described, machine, parser

from bertlab.machine import Machine
from bertlab.model.encoder import Encoder
from bertlab.model.heads import ClassificationModel, Pooler
from bertlab.progress import silent
from bertlab.recipe import Finetuning, Model
from bertlab.tasks.examples import Examples
from bertlab.training.learning import Stream, built, learn

FLOOR = 3.0
BATCH = 32
LABELS = 3
TOKENS = 128
VOCABULARY = 30_522


def examples(count: int) -> Examples:
    """Random ids, in rows as long as MNLI's."""
    draw = np.random.default_rng(0)
    lengths = np.clip(np.exp(draw.normal(3.59, 0.48, count)).astype(int), 8, TOKENS)
    return Examples.of(
        [draw.integers(5, VOCABULARY, length) for length in lengths],
        seconds=lengths * 2 // 3,
        places=[np.zeros(1, np.int32)] * count,
        targets=draw.integers(0, LABELS, count),
        owners=np.arange(count),
        pad=0,
        count=count,
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


def ours(shape: Model, here: Machine, rows: Examples) -> Block:
    """A block of our fine-tuning, through Lightning."""
    settings = Finetuning(batch=BATCH, epochs=1)
    encoder = Encoder(shape, VOCABULARY, TOKENS, 0)
    model = ClassificationModel(encoder, Pooler(shape.hidden), LABELS, settings.dropout, 0)

    def logits(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        found: torch.Tensor = model(batch["tokens"], batch["segments"], batch.get("lengths"))
        return found[:, None]

    def train(epoch: int) -> None:
        stream = Stream(rows.lengths, BATCH, 1, 0, built(rows), ("epoch", epoch))
        learn(model, logits, stream, settings, model.noise, here, silent, "fine-tuning")

    return epochs(train, len(rows))


def peer(shape: Model, rows: Examples, directory: Path, best: bool) -> Block:
    """A block of the peer's fine-tuning."""
    configuration = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feedforward,
        num_labels=LABELS,
    )
    model = transformers.BertForSequenceClassification(configuration)
    features = [feature(rows, row) for row in range(len(rows))]
    arguments = transformers.TrainingArguments(
        output_dir=str(directory),
        per_device_train_batch_size=BATCH,
        num_train_epochs=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        use_cpu=True,
        **({"bf16": True, "train_sampling_strategy": "group_by_length"} if best else {}),
    )

    def collate(features: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        return padded(features, max(len(each["input_ids"]) for each in features) if best else TOKENS)

    def train(_: int) -> None:
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=features, data_collator=collate)
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()

    return epochs(train, len(rows))


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


def main() -> int:
    """Measures, prints, and says by its status whether the floor was reached."""
    options = parser("Fine-tuning, beside the transformers Trainer.", (12, 768, 12), pairs=4, seconds=20.0)
    options.add_argument("--rows", type=int, default=256, help="rows of an epoch")
    arguments = options.parse_args()
    here = Machine(threads=arguments.threads)
    torch.set_num_threads(here.cores)
    shape = Model(layers=arguments.layers, hidden=arguments.hidden, heads=arguments.heads)
    rows = examples(arguments.rows)
    result: dict[str, Any] = {"floor": FLOOR, "shape": [shape.layers, shape.hidden, shape.heads]}
    result |= machine(torch, lightning, transformers) | {"numerics": here.numerics()}
    mine = ours(shape, here, rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, best in (("padded to 128, fp32", False), ("grouped by length, bf16", True)):
            other = peer(shape, rows, Path(folder), best)
            mine(0.0), other(0.0)  # the first epoch is slower
            found = compare(mine, other, pairs=arguments.pairs, seconds=arguments.seconds)
            result[name] = found
            print(described(f"the Trainer, {name}", found, "rows"))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(result["padded to 128, fp32"]["interval"][0] < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
