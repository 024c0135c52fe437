"""Dropout that a resumed run repeats to the bit (Srivastava et al. 2014; BERT appendix A.2: 0.1 everywhere).

Modules use torch's dropout, which draws from torch's global generators. Each micro-batch of a training seeds them
from a key of its own, so masks do not depend on what was drawn before.
"""

from __future__ import annotations

import torch
from torch import nn


def seed_dropout(key: int) -> None:
    """Seeds torch's generators on every device with a 64-bit `key`: same key, same masks."""
    torch.manual_seed(key)


def set_dropout(module: nn.Module, probability: float) -> None:
    """Sets the probability of all dropout in `module`."""
    for each in module.modules():
        if isinstance(each, nn.Dropout):
            each.p = probability
