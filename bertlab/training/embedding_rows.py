"""Trains only the rows of the token embeddings that a task reads: a published vocabulary has many that it does not.

Each step would clear, sum up, clip and update the gradients of all rows: at 6 layers, 384 wide, of half the weights.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from bertlab.arrays import Integer
from bertlab.model.layers import Embeddings

MANY = 2**21
"""Weights of an embedding from which on it pays."""


@contextmanager
def only(model: nn.Module, read: Sequence[Callable[[], Integer]]) -> Iterator[None]:
    """Within it, the large token embeddings of `model` that are trained have only the rows whose ids are `read`.

    For an optimiser that updates each weight by its own gradient. The other rows get none, and each update multiplies
    all of them by the same factor, as it does a row of ones that nothing reads. In the end they are multiplied by that:
    the weights are those of training all rows, but for rounding.
    """
    tables = [module.tokens for module in model.modules() if isinstance(module, Embeddings)]
    tables = [table for table in tables if table.weight.requires_grad and table.weight.numel() >= MANY]
    with ExitStack() as stack:
        if tables:
            ids = torch.from_numpy(np.unique(np.concatenate([part() for part in read])).astype(np.int64))
            for table in tables:
                if len(ids) < len(table.weight):  # all are read where they are an output matrix too
                    stack.enter_context(_cut(table, ids))
        yield


@contextmanager
def _cut(table: nn.Embedding, ids: torch.Tensor) -> Iterator[None]:
    whole = table.weight
    row_of = ids.new_full((len(whole),), -1)  # which the embedding refuses
    row_of[ids] = torch.arange(len(ids))

    def to_rows(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> Any:
        return tuple(row_of[tokens] for tokens in inputs)

    hook = table.register_forward_pre_hook(to_rows)
    table.weight = nn.Parameter(torch.cat([whole.detach()[ids], whole.new_ones(1, whole.shape[1])]))
    try:
        yield
    finally:
        hook.remove()
        with torch.no_grad():
            *_, factors = table.weight
            whole.mul_(factors).index_copy_(0, ids, table.weight[:-1])
        table.weight = whole
