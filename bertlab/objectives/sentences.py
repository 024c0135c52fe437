"""How probable language models find sentences: log-likelihoods from the logits at the scored tokens alone.

Shapes: S sentences of T tokens with their specials, N = T - 2 tokens without, V vocabulary, C masked copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bertlab.arrays import Bool, Float64, Int32, Int64, Integer

if TYPE_CHECKING:
    from torch import Tensor

TOKENS_AT_ONCE = 4096
"""The most tokens that go through a model at once."""
LOGITS_AT_ONCE = 2**24
"""The most logits that are computed at once: 64 MiB."""


class MaskedCopies(NamedTuple):
    """The C different masked copies of some sentences, and what is read off them."""

    tokens: Int32
    """(C, T) a copy: some tokens are [MASK]."""
    positions: Int64
    """(C,) the position that is read in each."""
    numbers: Int64
    """(2, S, N) the copy in which each token of each sentence is predicted, in both ways of masking."""


def masked_copies(tokens: Integer, begins: Bool, mask: int) -> MaskedCopies:
    """Copies of sentences (S, T) in which a token is masked alone (Salazar et al. 2020), and with the later tokens of
    its word (Kauf and Ivanova 2023). `begins` (S, T) says which tokens begin a word.

    A copy that several tokens share is one: a word of one token has one for both ways, and so has the token in which
    two sentences differ.
    """
    count, width = tokens.shape
    inner, column = np.arange(1, width - 1), np.arange(width)
    starts = begins.copy()
    starts[:, [0, 1, width - 1]] = True  # [CLS], the first word, [SEP]
    word = np.cumsum(starts, axis=1)
    hidden = np.empty((2, count, width - 2, width), np.bool_)
    hidden[0] = inner[:, None] == column
    hidden[1] = (word[:, 1:-1, None] == word[:, None, :]) & (inner[:, None] <= column)
    copies = np.empty((*hidden.shape[:-1], width + 1), np.int32)  # the position too, as a copy is read at one
    copies[..., :-1] = np.where(hidden, mask, tokens[:, None, :])
    copies[..., -1] = inner
    copies = copies.reshape(-1, width + 1)
    rows = copies.view(np.dtype((np.void, copies.itemsize * (width + 1))))[:, 0]
    _, first, numbers = np.unique(rows, return_index=True, return_inverse=True)
    different = copies[first]
    return MaskedCopies(different[:, :-1], different[:, -1].astype(np.int64), numbers.reshape(hidden.shape[:-1]))


def pseudo_log_likelihoods(model: Any, kind: str, tokens: Integer, copies: MaskedCopies) -> Float64:
    """The sums (S, 2) of the log-probabilities of the tokens of sentences (S, T), each read off its masked copy, by the
    loss `kind` of a `PretrainingModel`."""
    from torch import from_numpy

    values = np.empty(copies.numbers.size)
    targets = np.broadcast_to(tokens[:, 1:-1], copies.numbers.shape).reshape(-1).astype(np.int64)
    order = np.argsort(copies.numbers, axis=None, kind="stable")
    sorted_numbers = copies.numbers.reshape(-1)[order]
    device = model.encoder.output_embeddings.device
    for part in parts(len(copies.tokens), tokens.shape[1], 1, len(model.encoder.output_embeddings)):
        logits = _logits(model, kind, copies.tokens[part], copies.positions[part, None])[:, 0]  # (C, V)
        begin, end = np.searchsorted(sorted_numbers, (part.start, part.stop))
        rows = from_numpy(sorted_numbers[begin:end] - part.start).to(device)
        wanted = from_numpy(targets[order[begin:end]]).to(device)
        values[order[begin:end]] = logits.log_softmax(-1)[rows, wanted].cpu().numpy()
    sums: Float64 = values.reshape(copies.numbers.shape).sum(-1).T
    return sums


def log_likelihoods(model: Any, kind: str, tokens: Integer) -> Float64:
    """The sums (S, 1) of the log-probabilities of the tokens of sentences (S, T), each by the loss `kind` of a
    `PretrainingModel` from the position before it."""
    from torch import from_numpy

    read, sums = np.arange(tokens.shape[1] - 2), []
    device = model.encoder.output_embeddings.device
    for part in parts(len(tokens), tokens.shape[1], len(read), len(model.encoder.output_embeddings)):
        sentences = tokens[part]
        logits = _logits(model, kind, sentences, np.broadcast_to(read, (len(sentences), len(read))))
        sums.append(of_targets(logits, from_numpy(sentences[:, 1:-1].astype(np.int64)).to(device)))
    return np.concatenate(sums)[:, None]


def of_targets(logits: Tensor, targets: Tensor) -> Float64:
    """The sums (S,) of the log-probabilities of `targets` (S, N), from fp32 logits (S, N, V)."""
    chosen = logits.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    sums: Float64 = chosen.double().sum(-1).cpu().numpy()
    return sums


def parts(rows: int, width: int, read: int, vocabulary: int) -> Iterator[slice]:
    """Slices of that many rows of `width` tokens that go through a model together, `read` of each row's tokens with
    logits over the `vocabulary`."""
    count = max(1, min(TOKENS_AT_ONCE // width, LOGITS_AT_ONCE // (read * vocabulary)))
    return (slice(begin, min(begin + count, rows)) for begin in range(0, rows, count))


def _logits(model: Any, kind: str, tokens: Integer, positions: Integer) -> Tensor:
    """The fp32 logits (B, K, V) of a loss at `positions` (B, K) of sequences (B, T)."""
    from torch import tensor

    from bertlab.model.streams import TensorBatch

    batch = TensorBatch.of(tensor(tokens), None, {kind: {"positions": tensor(positions)}})
    logits: Tensor = model.logits(batch.to(model.encoder.output_embeddings.device), kind)
    return logits
