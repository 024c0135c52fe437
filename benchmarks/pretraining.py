"""Pre-training beside the `transformers` Trainer on `BertForPreTraining`, in tokens a second.

    python benchmarks/pretraining.py [--layers 4 --hidden 256 --heads 4] [--pairs 8] [--seconds 4] [--out FILE.json]

128 tokens a sequence, batches of 32, vocabulary 30,522, learned positions, dropout 0.1, AdamW with clipping, masked LM
and next sentence. Ours goes through Lightning as `bertlab ablate` does: batches are made and masked as they are needed,
in the precision that the machine has the hardware for. The peer is handed finished examples, at its defaults (fp32) and
at the best of what it documents (`bf16`). `blocks.py` says how the two are compared. Passes where the interval against
the defaults lies above the floor of 4; exit status 1 otherwise.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
import transformers
from blocks import Block, compare, described, machine, parser
from collating import TOKENS, VOCABULARY, corpus
from lightning.pytorch import Callback

from bertlab.inputs.batches import Batches
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.recipe import Inputs, Model, Recipe, Schedule
from bertlab.training.pretraining import Pretraining, PretrainingData
from bertlab.training.trainer import fit, trainer

FLOOR = 4.0
BATCH = 32


class Clock(Callback):
    """Ends a training after so many seconds and five steps, and keeps its speed; the first step is not counted."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.steps, self.began, self.elapsed = seconds, -1, 0.0, 0.0

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        """One more step."""
        self.steps += 1
        self.began = self.began or time.perf_counter()
        self.elapsed = time.perf_counter() - self.began
        if self.steps >= 5 and self.elapsed >= self.seconds:
            trainer.should_stop = True


class PeerClock(transformers.TrainerCallback):  # type: ignore[misc]
    """The same for the peer's Trainer."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.steps, self.began, self.elapsed = seconds, -1, 0.0, 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """One more step."""
        self.steps += 1
        self.began = self.began or time.perf_counter()
        self.elapsed = time.perf_counter() - self.began
        if self.steps >= 5 and self.elapsed >= self.seconds:
            control.should_training_stop = True


def ours(shape: Model, here: Machine, batches: Batches, recipe: Recipe) -> Block:
    """A block of our training, through Lightning."""
    model = PretrainingModel(shape, VOCABULARY, 512, 0).train()
    module = Pretraining(recipe, model, here)

    def block(seconds: float) -> float:
        clock = Clock(seconds)
        data = PretrainingData(batches, module.step, recipe.schedule.steps)
        fit(trainer(here, recipe.schedule.steps, [clock]), module, data)
        return clock.steps * BATCH * TOKENS / clock.elapsed

    return block


def peer(shape: Model, batches: Batches, directory: Path, bf16: bool) -> Block:
    """A block of the peer's training, on examples that are made before."""
    configuration = transformers.BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feedforward,
    )
    model = transformers.BertForPreTraining(configuration)
    examples = [example for step in range(8) for example in rows(batches, step)]
    arguments = transformers.TrainingArguments(
        output_dir=str(directory),
        per_device_train_batch_size=BATCH,
        max_steps=1_000_000,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        bf16=bf16,
        use_cpu=True,
    )

    def block(seconds: float) -> float:
        clock = PeerClock(seconds)
        transformers.Trainer(model=model, args=arguments, train_dataset=examples, callbacks=[clock]).train()
        return clock.steps * BATCH * TOKENS / clock.elapsed

    return block


def rows(batches: Batches, step: int) -> list[dict[str, torch.Tensor]]:
    """A batch as the peer's examples."""
    batch = batches.batch(step)
    labels = np.full(batch.tokens.shape, -100, dtype=np.int64)
    for row, (positions, targets, weights) in enumerate(
        zip(batch.positions, batch.targets, batch.weights, strict=True)
    ):
        labels[row, positions[weights > 0]] = targets[weights > 0]
    mask = (np.arange(TOKENS) < batch.lengths[:, None]).astype(np.int64)
    return [
        {
            "input_ids": torch.from_numpy(batch.tokens[row].astype(np.int64)),
            "token_type_ids": torch.from_numpy(batch.segments[row].astype(np.int64)),
            "attention_mask": torch.from_numpy(mask[row]),
            "labels": torch.from_numpy(labels[row]),
            "next_sentence_label": torch.tensor(int(batch.next_sentence[row])),
        }
        for row in range(len(labels))
    ]


def main() -> int:
    """Measures, prints, and says by its status whether the floor was reached."""
    arguments = parser("Pre-training, beside the transformers Trainer.", (4, 256, 4), pairs=8, seconds=4.0).parse_args()
    here = Machine(threads=arguments.threads)
    torch.set_num_threads(here.cores)
    shape = Model(layers=arguments.layers, hidden=arguments.hidden, heads=arguments.heads, max_positions=512)
    recipe = Recipe(
        model=shape, inputs=Inputs(length=TOKENS), schedule=Schedule(batch=BATCH, steps=1_000_000, peak=1e-4)
    )
    result: dict[str, Any] = {"floor": FLOOR, "shape": [shape.layers, shape.hidden, shape.heads]}
    result |= machine(torch, lightning, transformers) | {"numerics": here.numerics()}
    with tempfile.TemporaryDirectory() as folder:
        batches = Batches(recipe, corpus(Path(folder)))
        mine = ours(shape, here, batches, recipe)
        for name, bf16 in (("defaults", False), ("bf16", True)):
            other = peer(shape, batches, Path(folder), bf16)
            mine(0.1), other(0.1)  # first steps are slower
            found = compare(mine, other, pairs=arguments.pairs, seconds=arguments.seconds)
            result[name] = found
            print(described(f"the Trainer, {name}", found, "tokens"))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return int(result["defaults"]["interval"][0] < FLOOR)


if __name__ == "__main__":
    sys.exit(main())
