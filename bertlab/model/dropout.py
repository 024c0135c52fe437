"""Dropout whose random numbers are a function of a key (Srivastava et al. 2014; BERT appendix A.2: 0.1 everywhere).

One `Noise` serves a whole model. Before a step, `noise.restart(key)` sets the state of all its dropout: same key, same
bits, whatever was drawn before, so a resumed run sees the noise of the uninterrupted one. On the CPU a threshold
is put to 16-bit slices of wide random words, several times cheaper than a float a number; the share that is dropped
is `round(65,536 p) / 65,536`, and the scale is that share's own, so expectations are kept exactly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from bertlab.model.kernels.eager import eager_on_cpu

_LEVELS = 1 << 16


class Noise:
    """The dropout of one model: its rate, and the stream of random bits that its masks are made of."""

    def __init__(self, rate: float, key: int = 0) -> None:
        self.rate = rate
        """Share of the activations that is dropped while training."""
        self.restart(key)

    def restart(self, key: int, device: str = "cpu") -> None:
        """Begins the stream of `key`, a number of 64 bits; on a `cuda` device that of its own generator, which the
        fused kernels there draw from."""
        self._bits = np.random.SFC64(key)
        if device == "cuda":
            torch.cuda.manual_seed(key & (2**63 - 1))

    @property
    def threshold(self) -> int:
        """Of the 65,536 values of 16 bits, how many drop."""
        return round(self.rate * _LEVELS)

    @property
    def scale(self) -> float:
        """What the kept activations are multiplied by."""
        return _LEVELS / (_LEVELS - self.threshold)

    def keep(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """The next mask on the CPU: 1 where an activation is kept, 0 where it is dropped, of `shape` and `dtype`."""
        count = math.prod(shape)
        words = np.asarray(self._bits.random_raw((count + 3) // 4))
        bits = torch.from_numpy(words.view(np.int16)[:count])
        bits.ge_(self.threshold - _LEVELS // 2)
        if dtype == torch.bfloat16:
            return bits.mul_(0x3F80).view(torch.bfloat16).view(shape)  # the bit pattern of 1.0
        return bits.to(dtype).view(shape)

    def drop(self, x: Tensor, training: bool) -> Tensor:
        """`x` with its dropout, of the same shape and type; `x` itself when not `training`."""
        if not training or self.threshold == 0:
            return x
        if not eager_on_cpu(x):
            return F.dropout(x, self.rate)
        dropped: Tensor = _Drop.apply(  # type: ignore[no-untyped-call]
            x, self.keep(tuple(x.shape), x.dtype), self.scale
        )
        return dropped

    def add(self, residual: Tensor, x: Tensor, training: bool) -> Tensor:
        """`residual` plus `x` with its dropout: the two have one shape and type."""
        if not training or self.threshold == 0:
            return residual + x
        if not eager_on_cpu(x):
            return residual + self.drop(x, training)
        added: Tensor = _AddDropped.apply(  # type: ignore[no-untyped-call]
            residual, x, self.keep(tuple(x.shape), x.dtype), self.scale
        )
        return added


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return torch.mul(x, keep).mul_(scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return torch.mul(gradients[0], keep).mul_(ctx.scale), None, None


class _AddDropped(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, residual: Tensor, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return torch.addcmul(residual, x, keep, value=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return gradients[0], torch.mul(gradients[0], keep).mul_(ctx.scale), None, None
