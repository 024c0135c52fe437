"""Texts from a decoder, token after token: the most probable token of each step, or the best of several beams.

Keys and values are computed once, of an encoder's vectors once per example; sequences that have ended leave the batch.

Shapes: B examples, k beams, S steps, V vocabulary.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertlab.errors import BadInput
from bertlab.model.backbone import Backbone
from bertlab.model.kernels.dropout import draw_few_bits
from bertlab.model.layers import set_dropout
from bertlab.model.streams import TensorBatch, TensorStream
from bertlab.recipe.objective import Decoded

OUTPUTS = "outputs"
"""The stream that a decoder reads: a token that begins, and the outputs before each one."""
BEAMS = 4
LENGTH_PENALTY = 0.6
"""Beams and the exponent of the length penalty of T5 (Raffel et al. 2020, section 3.7)."""


def greedy(backbone: Backbone, batch: TensorBatch, start: Tensor, end: Tensor, steps: int) -> Tensor:
    """The most probable next token again and again, (B, S): up to `end` (B,), behind which there is `start` (B,)."""
    outputs = start[:, None].repeat(1, steps)
    state, output = backbone.begin(batch, steps), (backbone.output_embeddings, backbone.output_bias)
    rows, tokens = torch.arange(len(start), device=start.device), start
    ended = torch.zeros_like(start, dtype=torch.bool)
    for step in range(steps):
        tokens = F.linear(backbone.step(tokens, state), *output).argmax(-1)
        outputs[rows[~ended], step] = tokens[~ended]
        ended |= tokens == end[rows]
        if ended.all():
            break
        if 2 * int(ended.sum()) >= len(ended):
            going = (~ended).nonzero()[:, 0]
            state.take(going, going)
            rows, tokens, ended = rows[going], tokens[going], ended[going]
    return outputs


def beam_search(
    backbone: Backbone,
    batch: TensorBatch,
    start: Tensor,
    end: Tensor,
    steps: int,
    beams: int = BEAMS,
    penalty: float = LENGTH_PENALTY,
) -> tuple[Tensor, Tensor]:
    """The best of `beams` sequences for each example, (B, S) as `greedy` gives it, and its score, (B,).

    The score is the log-likelihood (nats) divided by ((5 + n) / 6)^`penalty` for n tokens (Wu et al. 2016, section 7).
    A sequence without an end after all steps counts too.
    """
    state, (matrix, bias) = backbone.begin(batch, steps), (backbone.output_embeddings, backbone.output_bias)
    rows, best = torch.arange(len(start), device=start.device), start[:, None].repeat(1, steps)
    tokens, texts, scores = start, best[:, None], matrix.new_zeros(len(start), 1)
    best_scores = torch.full_like(scores[:, 0], -torch.inf)
    for step in range(steps):
        logits = F.linear(backbone.step(tokens, state), matrix, bias).view(*texts.shape[:2], -1)
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        totals = scores[..., None] + wide.log_softmax(-1)
        # An example has at most one ending of each beam among its candidates, so that enough others remain.
        candidates, indices = totals.flatten(1).topk(min(2 * beams, totals[0].numel()))
        origins, following = indices // totals.shape[-1], indices % totals.shape[-1]
        texts = texts.gather(1, origins[..., None].expand(-1, -1, steps)).clone()
        texts[..., step] = following
        ends = (following == end[rows][:, None]) | (step == steps - 1)
        finished = candidates.masked_fill(~ends, -torch.inf)[:, :beams] / _length_penalty(step + 1, penalty)
        score, rank = finished.max(-1)
        better = score > best_scores[rows]
        best_scores[rows[better]] = score[better]
        best[rows[better]] = texts[better, rank[better]]
        scores, ranks = candidates.masked_fill(ends, -torch.inf).topk(min(beams, candidates.shape[1]))
        # No sequence gains by more tokens but by the penalty of the longest one.
        going = (scores[:, 0] / _length_penalty(steps if penalty > 0 else step + 1, penalty)) > best_scores[rows]
        if not going.any():
            break
        at = going.nonzero()[:, 0]
        origins = origins.gather(1, ranks) + totals.shape[1] * torch.arange(len(rows), device=rows.device)[:, None]
        state.take(origins[at].flatten(), at)
        texts = texts.gather(1, ranks[..., None].expand(-1, -1, steps))[at]
        rows, scores, tokens = rows[at], scores[at], texts[..., step].flatten()
    return best, best_scores


def _length_penalty(tokens: int, exponent: float) -> float:
    return float(((5 + tokens) / 6) ** exponent)


class TextModel(nn.Module):
    """A backbone with a decoder as a model of texts, without new weights."""

    def __init__(self, encoder: Backbone, dropout: float, beams: int = 1) -> None:
        """Takes over `encoder` and sets its dropout; `beams` is 1 for greedy decoding. Raises `BadInput` if it has no
        decoder."""
        super().__init__()
        if not encoder.decodes:
            raise BadInput(f"{type(encoder).__name__} has no decoder and writes no texts: use T5 or Bert2Bert")
        self.encoder, self.beams = encoder, beams
        set_dropout(self, dropout)
        draw_few_bits(self)

    def forward(self, batch: TensorBatch, outputs: Tensor) -> Tensor:
        """The logits (B, U, V) of the tokens behind each of `outputs` (B, U), fp32."""
        streams = {**batch.streams, OUTPUTS: TensorStream(outputs)}
        batch = TensorBatch(streams, batch.arrays, batch.format)
        read: dict[str, Any] = {OUTPUTS: Decoded(OUTPUTS)}
        states = self.encoder.read(self.encoder.embed(batch), batch.lengths, read)[OUTPUTS]
        logits = F.linear(states, self.encoder.output_embeddings, self.encoder.output_bias)
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def generate(self, batch: TensorBatch, start: Tensor, end: Tensor, steps: int, beams: int = 0) -> Tensor:
        """The texts of B examples, (B, S): see `greedy`. 0 `beams` are those of the model."""
        beams = beams or self.beams
        if beams == 1:
            return greedy(self.encoder, batch, start, end, steps)
        return beam_search(self.encoder, batch, start, end, steps, beams)[0]

    def log_likelihood(self, batch: TensorBatch, start: Tensor, end: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """The log-likelihood (B,) in nats of `outputs` (B, S) up to `end` (B,), and the number (B,) of these tokens."""
        logits = self(batch, torch.cat([start[:, None], outputs[:, :-1]], 1))
        ended = outputs == end[:, None]
        counted = ended.cumsum(1) <= ended.long()
        losses = F.cross_entropy(logits.transpose(1, 2), outputs, reduction="none")
        return -(losses * counted).sum(1, dtype=torch.float64), counted.sum(1)
