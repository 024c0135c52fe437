"""What each fast path of `bertlab.model.kernels` gains over a whole training step: forward, backward and update.

    python benchmarks/kernels.py [--only tiny-attention ...] [--pairs 8] [--seconds 2] [--out FILE.json]

Attention by matrix products beside torch's fused kernel, in one process and on one thread, without Lightning:
processor time counts, and what other programs take does not. A fast path that gains less than 1.15x at all of these
scales goes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import ids
import ours
import script
import torch
from blocks import Block, Found, Settings, compare, repeated
from shapes import BASE, MINI, TINY, Shape

from bertlab.inputs.batches import Batches
from bertlab.machine import Machine
from bertlab.model import attention as model_attention
from bertlab.model.kernels.attention import attention, fused

SHAPES = {"tiny": TINY, "mini": MINI, "base": BASE}


def steps(shape: Shape, machine: Machine, batches: Batches) -> Block:
    """A block of updates, in tokens a second of processor time."""
    torch.set_num_threads(1)
    block = repeated(ours.updates(shape, machine, batches), fewest=2, clock=time.process_time)
    block(0.0)  # the first steps are slower
    return block


def plain(*inputs: Any, draw: Any, **more: Any) -> torch.Tensor:
    """Torch's kernel, which draws its own dropout."""
    return fused(*inputs, **more)


def beside_fused(shape: Shape, settings: Settings) -> Found:
    """The same model with one attention and the other."""
    with ids.batches(shape) as batches:
        block = steps(shape, settings.machine, batches)

        def by(way: Callable[..., torch.Tensor]) -> Block:
            def measured(seconds: float) -> float:
                model_attention.attention = way  # type: ignore[assignment]
                try:
                    return block(seconds)
                finally:
                    model_attention.attention = attention

            return measured

        return compare(by(attention), by(plain), settings, probe=lambda: 1.0)


MEASURED = {f"{name}-attention": partial(beside_fused, shape) for name, shape in SHAPES.items()}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, seconds=2.0, threads=1))
