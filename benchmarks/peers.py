"""The peer's pre-training: `BertForPreTraining` of transformers, in its Trainer and in a plain loop.

It is handed finished, masked examples, so that making them costs it nothing.
"""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from blocks import Block, repeated
from clock import Clock
from ids import tokens_a_step
from shapes import Shape

from bertlab.inputs.batches import Batches

MADE = 16
"""Batches that are handed over, again and again."""

transformers.logging.set_verbosity_error()


class _Ending(transformers.TrainerCallback):
    """Ends a training when its clock says so."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.clock.over():
            control.should_training_stop = True


def configuration(shape: Shape, **more: Any) -> transformers.BertConfig:
    """The same encoder and dropout; its positions are learned ones, which cost less than rotary ones."""
    return transformers.BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.model.hidden,
        num_hidden_layers=shape.model.layers,
        num_attention_heads=shape.model.heads,
        intermediate_size=shape.model.feedforward,
        hidden_dropout_prob=shape.model.dropout,
        attention_probs_dropout_prob=shape.model.dropout,
        **more,
    )


def train(model: torch.nn.Module, rows: Any, arguments: dict[str, Any], **more: Any) -> None:
    """The Trainer at its defaults but for `arguments`, without anything that it would write or print."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = transformers.TrainingArguments(
            output_dir=folder,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_strategy="no",
            use_cpu=True,
            **arguments,
        )
        trainer = transformers.Trainer(model=model, args=settings, train_dataset=rows, **more)
        trainer.remove_callback(transformers.PrinterCallback)
        trainer.train()


def through_trainer(shape: Shape, batches: Batches, **flags: Any) -> Block:
    """A block of the Trainer with these flags, in tokens a second."""
    model = transformers.BertForPreTraining(configuration(shape))
    rows = [row for step in range(MADE) for row in examples(batches, step)]
    arguments = {"per_device_train_batch_size": shape.recipe.schedule.batch_size, "max_steps": 1_000_000, **flags}
    tokens = tokens_a_step(batches)

    def block(seconds: float) -> float:
        clock = Clock(seconds, shape.fewest)
        train(model, rows, arguments, callbacks=[_Ending(clock)])
        return clock.rate * tokens

    return block


def by_hand(shape: Shape, batches: Batches, *, bf16: bool = False) -> Block:
    """A block of a plain loop, in tokens a second: AdamW at its defaults, or under autocast and with the fused one."""
    model = transformers.BertForPreTraining(configuration(shape)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=bf16 or None)
    steps = [examples(batches, step) for step in range(MADE)]
    made = [{name: torch.stack([row[name] for row in rows]) for name in rows[0]} for rows in steps]
    return repeated(updates(model, optimizer, made, tokens_a_step(batches), bf16), shape.fewest)


def updates(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Sequence[dict[str, torch.Tensor]],
    tokens: float,
    bf16: bool,
) -> Callable[[], float]:
    """Makes one more update at each call, by these batches again and again, and gives its `tokens`."""
    made = itertools.cycle(batches)

    def update() -> float:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = model(**next(made)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return tokens

    return update


def examples(batches: Batches, step: int) -> list[dict[str, torch.Tensor]]:
    """A batch as the peer's examples."""
    batch = batches.batch(step)
    labels, slots = np.full(batch.tokens.shape, -100, dtype=np.int64), batch.arrays["masked_lm"]
    for row, (positions, targets, weights) in enumerate(
        zip(slots["positions"], slots["targets"], slots["weights"], strict=True)
    ):
        labels[row, positions[weights > 0]] = targets[weights > 0]
    mask = (np.arange(labels.shape[1]) < batch.lengths[:, None]).astype(np.int64)
    return [
        {
            "input_ids": torch.from_numpy(batch.tokens[row].astype(np.int64)),
            "token_type_ids": torch.from_numpy(batch.format["segments"][row].astype(np.int64)),
            "attention_mask": torch.from_numpy(mask[row]),
            "labels": torch.from_numpy(labels[row]),
            "next_sentence_label": torch.tensor(int(batch.format["is_random_next"][row])),
        }
        for row in range(len(labels))
    ]
