"""Initial weights (Devlin et al. 2019, released code): each a function of a seed and of the parameter's name."""

from __future__ import annotations

import torch
from torch import nn

from bertlab.keyed import key

HEAD_STD = 0.02
"""Standard deviation of the weights that a task's head starts from: BERT's, at any width."""
KEYS = {
    "attention.qkv_proj.": "attention_in.",
    "attention.out_proj.": "attention_out.",
    "mlp.fc1.": "feedforward_in.",
    "mlp.fc2.": "feedforward_out.",
    "lm_head.": "masked.",
    "nsp_head.pooler.": "pooler.",
    "nsp_head.classifier.": "relation.",
}
"""Parts of parameter names, and what the keys of their initial values have in their place: first names, which renamed
modules keep, so that a seed keeps its weights."""


def initialise(module: nn.Module, deviation: float, seed: int) -> None:
    """Sets every parameter of `module` as BERT does, each as a function of `seed` and its own name.

    Weights are a normal of standard deviation `deviation` cut at two of them, biases 0, LayerNorm 1. A parameter that
    two recipes share starts from the same values in both. On the meta device there is nothing to set.
    """
    norms = {name for name, child in module.named_modules() if isinstance(child, nn.LayerNorm)}
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            owner, _, kind = name.rpartition(".")
            if parameter.is_meta:
                continue
            if kind.startswith("bias"):
                parameter.zero_()
            elif owner in norms:
                parameter.fill_(1.0)
            else:
                generator = torch.Generator().manual_seed(key(seed, "weights", initial_key(name)) & (2**63 - 1))
                start = torch.empty(parameter.shape)
                nn.init.trunc_normal_(start, 0.0, deviation, -2 * deviation, 2 * deviation, generator=generator)
                parameter.copy_(start)


def initial_key(name: str) -> str:
    """The name of a parameter as the key of its initial values has it."""
    for now, first in KEYS.items():
        name = name.replace(now, first)
    return name
