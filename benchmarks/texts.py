"""T5's pre-training and decoding beside `T5ForConditionalGeneration` of transformers.

    python benchmarks/texts.py [--only greedy ...] [--pairs 8] [--seconds 4] [--out FILE.json]

Both sides have the shape of scale tiny. The peer's pre-training is a plain loop with fused AdamW, in the precision that
the machine has the hardware for (under autocast if it is bf16), and is handed batches of ours with their spans hidden;
ours makes them as they are needed, and goes through Lightning as `bertlab ablate` does. Tokens are those of the text;
padding does not count. Decoding is in fp32: 32 inputs of 32 tokens, of which each gets 32 new ones, as none ends.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import mixing
import ours
import script
import torch
import transformers
from blocks import Block, Found, Settings, compare, repeated
from peers import MADE, updates

import bertlab
from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import Batch
from bertlab.machine import Machine
from bertlab.model.decoding import TextModel
from bertlab.model.streams import TensorBatch, TensorStream
from bertlab.model.t5 import new_encoder
from bertlab.recipe import MultiTask

RECIPE = dataclasses.replace(
    mixing.RECIPE,
    multitask=MultiTask(),
    schedule=dataclasses.replace(mixing.RECIPE.schedule, steps=1_000_000),
)
MODEL = RECIPE.model
VOCABULARY = RECIPE.tokenizer.vocabulary + RECIPE.tokenizer.sentinels
SHAPE = SimpleNamespace(recipe=RECIPE, vocabulary=VOCABULARY, fewest=5)
EXAMPLES = TOKENS = 32
IGNORED = -100


def peer(vocabulary: int) -> Any:
    """The peer, with random weights; dropout is ours."""
    config = transformers.T5Config(
        vocab_size=vocabulary,
        d_model=MODEL.hidden,
        d_kv=MODEL.hidden // MODEL.heads,
        d_ff=MODEL.feedforward,
        num_layers=MODEL.layers,
        num_heads=MODEL.heads,
        dropout_rate=MODEL.dropout,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=None,
    )
    return transformers.T5ForConditionalGeneration(config)


def its_batch(batch: Batch) -> dict[str, torch.Tensor]:
    """A batch of ours as the peer takes it."""
    inputs, (arrays,) = batch.streams["inputs"], batch.arrays.values()
    labels = torch.from_numpy(arrays["targets"]).long()
    read = torch.arange(inputs.tokens.shape[1]) < torch.from_numpy(inputs.lengths)[:, None]
    return {
        "input_ids": torch.from_numpy(inputs.tokens).long(),
        "attention_mask": read.long(),
        "labels": labels.masked_fill(torch.from_numpy(arrays["weights"]) == 0, IGNORED),
    }


def by_hand(machine: Machine, batches: Batches) -> Block:
    """A block of the peer's pre-training in a plain loop, in tokens a second."""
    torch.set_num_threads(machine.num_threads)
    model, tokens = peer(VOCABULARY).train(), ours.tokens_a_step(batches)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    made = [its_batch(batches.batch(step)) for step in range(MADE)]
    return repeated(updates(model, optimizer, made, tokens, machine.precision_used == "bf16"), SHAPE.fewest)


@contextmanager
def on_text() -> Iterator[Batches]:
    """The batches of the recipe on synthetic text, for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        yield Batches(RECIPE, bertlab.prepare_corpus(f"{folder}/corpus", RECIPE, "microworld:2000"))


def pretraining(compiled: bool, settings: Settings) -> Found:
    """Ours against the peer's loop."""
    machine = dataclasses.replace(settings.machine, compile="yes" if compiled else "no")
    with on_text() as batches:
        mine = ours.through_lightning(SHAPE, machine, batches)
        other = by_hand(machine, batches)
        mine(0.0), other(0.0)  # the first steps are slower
        return compare(mine, other, settings)


def decoding(beams: int, settings: Settings) -> Found:
    """Our texts against the peer's `generate`, in new tokens a second."""
    torch.set_num_threads(settings.machine.num_threads)
    inputs = torch.randint(5, VOCABULARY, (EXAMPLES, TOKENS), generator=torch.Generator().manual_seed(0))
    model, theirs = TextModel(new_encoder(MODEL, VOCABULARY, 2 * TOKENS), 0.0).eval(), peer(VOCABULARY).eval()
    batch = TensorBatch({"inputs": TensorStream(inputs, None)}, {}, {})
    start, never = torch.zeros(EXAMPLES, dtype=torch.long), torch.full((EXAMPLES,), -1)
    flags = {"max_new_tokens": TOKENS, "min_new_tokens": TOKENS, "do_sample": False, "num_beams": beams}

    def counted(write: Callable[[], object]) -> Block:
        def work() -> float:
            with torch.inference_mode():
                write()
            return EXAMPLES * TOKENS

        return repeated(work, SHAPE.fewest)

    mine = counted(lambda: model.generate(batch, start, never, TOKENS, beams))
    other = counted(lambda: theirs.generate(inputs, **flags))
    mine(0.0), other(0.0)
    return compare(mine, other, settings)


MEASURED = {
    "t5-loop": partial(pretraining, False),
    "t5-compiled": partial(pretraining, True),
    "greedy": partial(decoding, 1),
    "beams": partial(decoding, 4),
}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED))
