"""Initial weights (Devlin et al. 2019, released code): each a function of a seed and of the parameter's name."""

from collections.abc import Callable

import torch
from torch import nn

from bertlab.keyed import key
from bertlab.model.power_norm import PowerNorm

HEAD_STD = 0.02
"""Standard deviation of the initial weights of a task's head: BERT's, at any width."""
_FIRST_NAMES = {
    "attention.qkv_proj.": "attention_in.",
    "attention.out_proj.": "attention_out.",
    "mlp.fc1.": "feedforward_in.",
    "mlp.fc2.": "feedforward_out.",
    "lm_head.": "masked.",
    "nsp_head.pooler.": "pooler.",
    "nsp_head.classifier.": "relation.",
}
"""Parts of parameter names and what they were called first: the keys of initial values keep the first names, so that a
seed gives the same weights after a renaming."""


def initialise(module: nn.Module, deviation: float | Callable[[str], float | tuple[float, ...]], seed: int) -> None:
    """Sets every parameter of `module` as BERT does, each as a function of `seed` and its own name.

    Weights are normal with standard deviation `deviation`, truncated at two of them, biases 0, the gains of
    normalisations 1. A function gives the deviation for the name of a weight, or those of the matrices that it stacks.
    """
    norms = {name for name, child in module.named_modules() if isinstance(child, nn.LayerNorm | PowerNorm)}
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
                first = name
                for now, then in _FIRST_NAMES.items():
                    first = first.replace(now, then)
                generator = torch.Generator().manual_seed(key(seed, "weights", first) & (2**63 - 1))
                start = torch.empty(parameter.shape)
                deviations = deviation(name) if callable(deviation) else deviation
                stds = deviations if isinstance(deviations, tuple) else (deviations,)
                for matrix, std in zip(start.chunk(len(stds)), stds, strict=True):
                    nn.init.trunc_normal_(matrix, 0.0, std, -2 * std, 2 * std, generator=generator)
                parameter.copy_(start)
