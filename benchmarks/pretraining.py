"""Pre-training beside transformers, beside the machine's matrix products, and beside ourselves without Lightning.

    python benchmarks/pretraining.py [--only mini-trainer ...] [--pairs 8] [--seconds 4] [--out FILE.json]

What is trained is the pre-training of a scale: its model, positions, dropout, vocabulary, length and batch (16
sequences at scale base). Rows named compiled are of `--compile yes`, and so is the one beside the Trainer's best
flags. Ours goes through Lightning as `bertlab ablate` does, in the precision that the machine has
the hardware for. Padding does not count. The peers have the same dropout and learned positions: the Trainer with `bf16`
and `torch_compile`, the best of what it documents, with `bf16` alone, and at its defaults (fp32, fused AdamW); and a
plain loop around `BertForPreTraining`.

A share is useful operations a second (`bertlab.recipe.cost`: no padding, no logits where nothing is predicted), in
blocks that alternate with blocks of the matrix product by which the peak is measured.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import partial

import ids
import ours
import peers
import script
from blocks import Block, Found, Settings, compare
from shapes import BASE, MINI, TINY, Shape

from bertlab.estimates.microbenchmark import peak
from bertlab.inputs.batches import Batches
from bertlab.recipe import cost


def beside(shape: Shape, peer: Callable[[Shape, Batches], Block], settings: Settings) -> Found:
    """Ours against a peer that trains on the same batches."""
    with ids.batches(shape) as batches:
        mine, other = ours.through_lightning(shape, settings.machine, batches), peer(shape, batches)
        mine(0.0), other(0.0)  # the first steps are slower
        return compare(mine, other, settings)


def compiled(shape: Shape, peer: Callable[[Shape, Batches], Block], settings: Settings) -> Found:
    """Ours with `--compile yes` against a peer."""
    machine = dataclasses.replace(settings.machine, compile="yes")
    return beside(shape, peer, dataclasses.replace(settings, machine=machine))


def without_lightning(shape: Shape, settings: Settings) -> Found:
    """Ours through Lightning against the same updates without."""
    return beside(shape, lambda shape, batches: ours.by_hand(shape, settings.machine, batches), settings)


def share(shape: Shape, settings: Settings) -> Found:
    """Our useful operations against the matrix product's."""
    here, each = settings.machine, cost.flops_per_token(shape.recipe)
    with ids.batches(shape) as batches:
        tokens = ours.through_lightning(shape, here, batches)
        tokens(0.0)
        return compare(lambda seconds: each * tokens(seconds), lambda _: peak(here), settings)


MEASURED = {
    "tiny-compiled": partial(compiled, TINY, partial(peers.by_hand, bf16=True)),
    "mini-compiled": partial(compiled, MINI, partial(peers.by_hand, bf16=True)),
    "mini-trainer-best": partial(compiled, MINI, partial(peers.through_trainer, bf16=True, torch_compile=True)),
    "mini-trainer-bf16": partial(beside, MINI, partial(peers.through_trainer, bf16=True)),
    "mini-trainer": partial(beside, MINI, peers.through_trainer),
    "base-loop-bf16": partial(beside, BASE, partial(peers.by_hand, bf16=True)),
    "base-loop": partial(beside, BASE, peers.by_hand),
    "tiny-loop-bf16": partial(beside, TINY, partial(peers.by_hand, bf16=True)),
    "tiny-loop": partial(beside, TINY, peers.by_hand),
    "mini-lightning": partial(without_lightning, MINI),
    "tiny-lightning": partial(without_lightning, TINY),
    "base-share": partial(share, BASE),
    "mini-share": partial(share, MINI),
}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED))
