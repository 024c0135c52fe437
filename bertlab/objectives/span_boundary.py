"""The span boundary objective (SpanBERT: Joshi et al. 2020, section 3.2): a masked span from the tokens beside it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from bertlab.errors import BadInput
from bertlab.inputs.batches import Evaluation, heldout
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences, Transform
from bertlab.objectives.masked_lm import MaskedLM
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import Arrays, Loss, Premise
from bertlab.recipe.ranges import Range, arms
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.span_boundary import SpanBoundaryHead


_MASKED = 0.15
"""Share of the tokens that are masked in SpanBERT, by which the cost is estimated."""


@dataclass(frozen=True, kw_only=True)
class SpanBoundary(Loss):
    """Predicts each token that the masked LM before it masks, from the two tokens beside its span and its position.

    A span is a run of masked tokens, so that spans that touch are one, as in the released code; the tokens beside it
    may be [CLS] and [SEP]. (The released code leaves out spans at the ends of a sequence, and the tokens of a span
    beyond the first 15.)

    Its arrays, (B, K) each: `left` and `right`, the positions beside each span, 0 in empty slots; `spans`, `offsets`,
    `targets` and `weights`, the span of each masked token, its place in it, its id, and 1, all 0 in empty slots.
    """

    kind: ClassVar[str] = "span_boundary"
    head: ClassVar[str] = "span_boundary_head"
    over_vocabulary: ClassVar[bool] = True
    metric_labels: ClassVar[Mapping[str, str]] = {"span_boundary_loss": "span boundary"}
    meaning: ClassVar[str] = (
        "Span boundary: the loss of the masked tokens under the variant's own masking, each predicted from the two "
        "tokens beside its span."
    )
    of_head: ClassVar[tuple[str, ...]] = ("position_size", "positions_in_span")
    position_size: Annotated[int, Range(1, 65_536)] = 200
    """Width of the position embeddings."""
    positions_in_span: Annotated[int, Range(1, 8192, "tokens")] = 20
    """Rows of the table of positions; all tokens further from the start of their span share the last one. 20 are all
    that a sequence of 128 tokens can have masked at 15 %."""

    def check(self, recipe: Recipe) -> None:
        """A masked LM comes before it, which masks the spans."""
        before = recipe.objective[: recipe.objective.index(self)]
        if not any(isinstance(loss, MaskedLM) for loss in before):
            raise BadInput(
                "objective: span_boundary predicts what a masked LM masks: put one before it, as in "
                "objective=masked_lm,span_boundary"
            )

    def premises(self, recipe: Recipe) -> tuple[Premise, ...]:
        """It has been learned, on spans that are nearly as long as in long sequences."""
        before = recipe.objective[: recipe.objective.index(self)]
        masked = [loss for loss in before if isinstance(loss, MaskedLM)][-1]
        return (Premise(str(self), "span_boundary_loss", masked.short_runs(recipe)),)

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """Finds the spans of the masked tokens."""

        def examples(sequences: Sequences) -> Arrays:
            masked = self._masked(sequences.arrays)
            unused = masked["weights"] == 0
            order = np.argsort(masked["positions"] + sequences.tokens.shape[1] * unused, axis=1, kind="stable")
            positions, targets, weights = (
                np.take_along_axis(masked[name], order, axis=1) for name in ("positions", "targets", "weights")
            )
            used = weights > 0
            begins = used & (np.diff(positions, axis=1, prepend=-1) != 1)
            ends = used & np.append(~used[:, 1:] | begins[:, 1:], np.ones_like(used[:, :1]), axis=1)
            spans = (np.cumsum(begins, axis=1, dtype=np.int32) - 1) * used
            offsets = (positions - np.maximum.accumulate(positions * begins, axis=1)) * used
            left, right = np.zeros_like(positions), np.zeros_like(positions)
            for beside, edge, step in ((left, begins, -1), (right, ends, 1)):
                number, slot = np.nonzero(edge)
                beside[number, spans[number, slot]] = positions[number, slot] + step
            return {
                "left": left, "right": right, "spans": spans, "offsets": offsets, "targets": targets, "weights": weights
            }  # fmt: skip

        return examples

    def count(self, arrays: Arrays) -> float:
        """The number of masked tokens."""
        return float(arrays["weights"].sum())

    def new_head(self, model: BackboneConfig, vocabulary: int) -> SpanBoundaryHead:
        """Two layers and an output bias."""
        from bertlab.model.span_boundary import SpanBoundaryHead

        widths = (model.hidden, model.embedding_width)
        return SpanBoundaryHead(*widths, vocabulary, self.positions_in_span, self.position_size)

    def positions(self, arrays: Arrays) -> Tensor:
        """(B, 2S) the positions on the left of each of S spans, then those on the right."""
        import torch

        from bertlab.model.attention import eager_on_cpu

        # As many spans as masked tokens where the shape must stay, else as many as there are: a third of them.
        spans = int(arrays["spans"].max()) + 1 if eager_on_cpu(arrays["spans"]) else arrays["spans"].shape[1]
        return torch.cat((arrays["left"][:, :spans], arrays["right"][:, :spans]), 1)

    def loss_sum(self, head: SpanBoundaryHead, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy over the vocabulary, at each masked token."""
        spans, offsets, targets, weights = (arrays[name] for name in ("spans", "offsets", "targets", "weights"))
        return head.loss(hidden, spans, offsets, embeddings, targets, weights)

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """Single held-out segments under the masking of the recipe."""
        if not final:
            return []

        def batch_sums(model: Any, batch: Any) -> Any:
            return {"loss": model.losses(batch)[self.kind], "count": batch.arrays[self.kind]["weights"].sum()}

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            return {"span_boundary_loss": total["loss"] / total["count"]}

        return [Evaluation(heldout(recipe, corpus, recipe.objective, size), ("loss", "count"), batch_sums, metrics)]

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """The head has position embeddings, two layers with their LayerNorms, and the output bias."""
        table = self.positions_in_span * self.position_size
        hidden, embeddings = model.hidden, model.embedding_width
        layers = (2 * hidden + self.position_size + 1) * hidden + (hidden + 1) * embeddings
        return table + layers + 2 * (hidden + embeddings) + vocabulary

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """Two layers and logits, at the tokens that SpanBERT masks."""
        hidden, embeddings = model.hidden, model.embedding_width
        layers = (2 * hidden + self.position_size) * hidden + hidden * embeddings
        return 2.0 * length * _MASKED * (layers + embeddings * vocabulary)

    def audit(self, sample: Sample) -> list[Check]:
        """Each masked token is predicted once, from the two tokens beside its span."""
        arrays, masked = sample.batch.arrays[self.kind], self._masked(sample.batch.arrays)
        width = sample.tokens.shape[1]
        chosen, predicted = np.zeros((2, *sample.tokens.shape), dtype=np.int64)
        numbers, slots = np.nonzero(masked["weights"] > 0)
        np.add.at(chosen, (numbers, masked["positions"][numbers, slots].clip(0, width - 1)), 1)
        numbers, slots = np.nonzero(arrays["weights"] > 0)
        spans = arrays["spans"][numbers, slots]
        left, right = (arrays[name][numbers, spans].clip(0, width - 1) for name in ("left", "right"))
        columns = (left + 1 + arrays["offsets"][numbers, slots]).clip(0, width - 1)
        np.add.at(predicted, (numbers, columns), 1)
        before = np.cumsum(chosen, axis=1)
        inside = before[numbers, right] - before[numbers, left] == right - left - 1
        beside = inside & (columns < right) & (chosen[numbers, left] == 0) & (chosen[numbers, right] == 0)
        outside, others = np.zeros((2, len(chosen)), dtype=np.bool_)
        outside[numbers[~beside]] = True
        others[numbers[arrays["targets"][numbers, slots] != sample.tokens[numbers, columns]]] = True
        return [
            always("tokens of spans", "the masked ones, each once", (chosen != predicted).any(axis=1), sample.name),
            always("targets of spans", "the tokens at their places", others, sample.name),
            always("boundaries", "the tokens beside a run of masked ones", outside, sample.name),
        ]

    def _masked(self, arrays: Mapping[str, Arrays]) -> Arrays:
        """The arrays of the masked LM before it, of those of all losses in their order."""
        before, losses = itertools.takewhile(lambda kind: kind != self.kind, arrays), arms(Loss)
        return [arrays[kind] for kind in before if issubclass(losses[kind], MaskedLM)][-1]
