"""Where a step may look at its data: on the CPU, outside of compiled graphs."""

from __future__ import annotations

import torch
from torch import Tensor


def eager_on_cpu(x: Tensor) -> bool:
    """Whether `x` is at hand: neither on an accelerator, for which a look would wait, nor in a graph that is compiled.

    Elsewhere plain operations of torch do the same without looking.
    """
    return x.device.type == "cpu" and not torch.compiler.is_compiling()
