"""What losses share whose model reads one sequence and writes another (T5: Raffel et al. 2020, sections 2.4 and 3.2).

The inputs keep [CLS] in front. Inputs and targets end with [SEP], and a decoder begins with [PAD].
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from bertlab.arrays import Array, Bool, Int32
from bertlab.inputs.batches import Evaluation, heldout, training_text
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Sequences, Stream, Transform
from bertlab.recipe import BackboneConfig, Recipe
from bertlab.recipe.objective import INPUTS, Arrays, Decoded, Loss
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import TokenisedCorpus

if TYPE_CHECKING:
    from torch import Tensor

    from bertlab.model.output_layer import OutputLayer
    from bertlab.model.streams import TensorBatch

OUTPUTS = "outputs"
"""The stream that a decoder reads: [PAD], and the targets but the last."""
TRAINING = "training_loss"
"""The metric of losses that are also evaluated, at the end, on the documents that were trained on."""
_SUMS = ("loss", "exchanged", "right", "count", "all", "targets")


class Split(NamedTuple):
    """What B sequences of text become."""

    inputs: Stream
    """What the encoder reads."""
    targets: Stream
    """What the decoder writes, K tokens at most."""
    counted: Bool
    """(B, K) the targets that are tokens of the text and that the inputs do not show."""
    places: Int32 | None = None
    """(B, K) the position in the text of each target, where the inputs do not say it."""


@dataclass(frozen=True, kw_only=True)
class SequenceToSequence(Loss):
    """Predicts the tokens of a second stream, each from those before it and from the inputs.

    Its arrays, (B, K) each: `targets`, the id; `weights`, 1 for a prediction; `counted`, 1 for a token of the text that
    the inputs do not show. An empty slot is 0 in all three.
    """

    head: ClassVar[str] = "output_layer"
    over_vocabulary: ClassVar[bool] = True
    mixes: ClassVar[bool] = True
    hub_task: ClassVar[str] = "text2text-generation"
    over_inputs: bool = False
    """Whether the inputs are predicted too, each token from those before it, as T5 trains a decoder without an encoder
    (section 3.2.1)."""

    @property
    def placed(self) -> bool:
        """Whether its arrays have the `places` of the targets, as in `Split`."""
        return False

    @abstractmethod
    def splitter(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Callable[[Sequences], Split]:
        """Returns what splits sequences of at most `length` tokens into inputs and targets."""

    @abstractmethod
    def outputs(self, length: int) -> float:
        """Tokens of the targets for inputs of `length` tokens."""

    @property
    def selection_metric(self) -> str:
        """The held-out loss on tokens of the text alone."""
        return f"{self.kind}_loss"

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` for a model without a decoder."""
        recipe.model.check_decoding(self.kind, self.over_inputs)

    def batch_transform(self, tokenizer: TrainedTokenizer, length: int, seed: int | str) -> Transform:
        """Inputs, and targets that are read one token late."""
        split, pad = self.splitter(tokenizer, length, seed), tokenizer.pad

        return lambda sequences: self._arrays(split(sequences), pad)

    def examples(self, inputs: Stream, targets: Stream, pad: int) -> Mapping[str, Any]:
        """The same for the examples of tasks, all of whose targets count."""
        return self._arrays(Split(inputs, targets, _used(targets), targets.tokens * 0 if self.placed else None), pad)

    def _arrays(self, split: Split, pad: int) -> Mapping[str, Any]:
        inputs, targets, counted, places = split
        used, late = _used(targets), np.full_like(targets.tokens, pad)
        late[:, 1:] = targets.tokens[:, :-1]
        outputs = Stream(np.where(used, late, pad), targets.lengths)
        arrays = {"targets": targets.tokens * used, "weights": used, "counted": counted}
        if places is not None:
            arrays["places"] = places
        if self.over_inputs:
            arrays = {name: _behind(inputs, array, name) for name, array in arrays.items()}
        arrays["counted"] = arrays["counted"].astype(np.int32)
        arrays["weights"] = arrays["weights"].astype(np.float32)
        return {INPUTS: inputs, OUTPUTS: outputs, **arrays}

    def count(self, arrays: Arrays) -> float:
        """The number of predicted tokens."""
        return float(arrays["weights"].sum())

    def reads(self, arrays: Arrays) -> Decoded:
        """The decoder, perhaps with the inputs in front."""
        return Decoded(OUTPUTS, with_inputs=self.over_inputs)

    def new_head(self, model: BackboneConfig, vocabulary: int) -> OutputLayer:
        """The output matrix alone."""
        from bertlab.model.output_layer import OutputLayer

        return OutputLayer()

    def loss_sum(self, head: OutputLayer, hidden: Tensor, arrays: Arrays, embeddings: Tensor) -> Tensor:
        """Cross-entropy over the vocabulary, sentinels and [SEP] included."""
        return head.loss(hidden[:, : arrays["weights"].shape[1]], embeddings, arrays["targets"], arrays["weights"])

    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """None: the output matrix is the model's."""
        return 0

    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """The decoder, and the logits."""
        outputs = self.outputs(length)
        predicted = outputs + (length - 1) * self.over_inputs
        return 2.0 * predicted * model.hidden * vocabulary + model.decoder_flops(length, outputs)

    def evaluations(self, recipe: Recipe, corpus: TokenisedCorpus, size: int, final: bool) -> list[Evaluation]:
        """Single held-out segments, read as they are, and with the inputs of the next sequence in their place; at the
        end also segments of the training text."""
        plain = dataclasses.replace(self, over_inputs=False)

        def metrics(total: Mapping[str, float]) -> dict[str, float]:
            loss, exchanged, right = (total[name] / total["count"] for name in ("loss", "exchanged", "right"))
            values = (loss, exchanged, right, total["all"] / total["targets"])
            return dict(zip(self.metric_labels, values, strict=False))

        def batch_sums(model: Any, batch: Any) -> dict[str, Any]:
            arrays, head, matrix = batch.arrays[self.kind], model.head(self), model.encoder.output_embeddings
            vectors, others = (plain._decoded(model, read) for read in (batch, _exchanged(batch)))
            counted = arrays["counted"] > 0
            loss, right = _counted(head(vectors[counted], matrix), arrays)
            exchanged, _ = _counted(head(others[counted], matrix), arrays)
            whole, count = plain.loss_sum(head, vectors, arrays, matrix), counted.sum()
            sums = (loss, exchanged, right, count, whole, arrays["weights"].sum())
            return dict(zip(_SUMS, sums, strict=True))

        evaluated = [Evaluation(heldout(recipe, corpus, (plain,), size, together=16), _SUMS, batch_sums, metrics)]
        if final and TRAINING in self.metric_labels:
            seen = dataclasses.replace(corpus, heldout=training_text(recipe, corpus.train))
            batches = heldout(recipe, seen, (plain,), size, together=16)
            evaluated.append(Evaluation(batches, _SUMS, batch_sums, _training_loss))
        return evaluated

    def _decoded(self, model: Any, batch: TensorBatch) -> Tensor:
        """The decoder's vectors (B, K, D)."""
        arrays = batch.arrays[self.kind]
        read = {self.kind: self.reads(arrays)}
        vectors: Tensor = model.encoder.read(model.encoder.embed(batch), batch.lengths, read)[self.kind]
        return vectors[:, : arrays["weights"].shape[1]]

    # Audit.

    def targets_of(self, streams: Mapping[str, Any], arrays: Arrays) -> tuple[Int32, Int32, Bool]:
        """The targets (R, K), their lengths (R,), and which are counted (R, K); without the inputs before them."""
        lengths = streams[OUTPUTS].lengths
        targets, counted = arrays["targets"], arrays["counted"] > 0
        if self.over_inputs:
            slots = np.arange(streams[OUTPUTS].tokens.shape[1]) + streams[INPUTS].lengths[:, None] - 1
            slots = slots.clip(max=targets.shape[1] - 1)
            targets, counted = (np.take_along_axis(array, slots, axis=1) for array in (targets, counted))
        return targets, lengths, counted

    def audit(self, sample: Sample) -> list[Check]:
        """Inputs and targets end with [SEP], and the decoder reads [PAD] and then the targets."""
        streams, arrays = sample.batch.streams, sample.batch.arrays[self.kind]
        (tokens, lengths), outputs, tokenizer = streams[INPUTS], streams[OUTPUTS], sample.corpus.tokenizer
        targets, count, _ = self.targets_of(streams, arrays)
        rows, column = np.arange(len(tokens)), np.arange(min(outputs.tokens.shape[1], targets.shape[1] + 1))
        ends = (tokens[rows, lengths - 1] == tokenizer.sep) & (targets[rows, count - 1] == tokenizer.sep)
        late = (outputs.tokens[:, column[1:]] != targets[:, column[:-1]]) & (column[1:] < count[:, None])
        begins = outputs.tokens[:, 0] != tokenizer.pad
        slots = (arrays["weights"] > 0).sum(axis=1)
        missed = slots != count + (lengths - 1) * self.over_inputs
        return [
            always("ends of inputs and targets", "[SEP]", ~ends, sample.name),
            always("read by the decoder", "[PAD], then the targets", begins | late.any(axis=1), sample.name),
            always("predicted", "all targets" + " and the inputs" * self.over_inputs, missed, sample.name),
        ]


def _training_loss(total: Mapping[str, float]) -> dict[str, float]:
    return {TRAINING: total["loss"] / total["count"]}


def packed(values: Array, used: Bool, width: int, filling: int = 0) -> Stream:
    """The values (B, W) that are used, in their order at the front of `width` columns."""
    lengths = used.sum(axis=1, dtype=np.int32)
    ends = np.cumsum(lengths, dtype=np.int64)
    every = np.empty(ends[-1] + width, dtype=np.int32)
    np.take(values, np.flatnonzero(used), out=every[: ends[-1]], mode="clip")
    # The tokens from each one on, as one item: NumPy copies items several times as fast as it assigns by a mask.
    from_each = np.ndarray(ends[-1] + 1, f"V{4 * width}", every, strides=(4,))
    tokens = from_each[ends - lengths].view(np.int32).reshape(len(values), width)
    np.putmask(tokens, np.arange(width, dtype=np.int32) >= lengths[:, None], filling)
    return Stream(tokens, lengths)


def _used(targets: Stream) -> Bool:
    """(B, K) which slots are not empty."""
    used: Bool = np.arange(targets.tokens.shape[1], dtype=np.int32) < targets.lengths[:, None]
    return used


def _behind(inputs: Stream, array: Array, name: str) -> Array:
    """An array (B, K) of the targets behind the same of all inputs but the first (B, T - 1), without a gap."""
    before = np.arange(inputs.tokens.shape[1] - 1) < inputs.lengths[:, None] - 1
    of_inputs = {"targets": inputs.tokens[:, 1:], "weights": before}.get(name, np.zeros_like(before))
    column = np.arange(before.shape[1] + array.shape[1])
    behind = column - inputs.lengths[:, None] + 1
    index = np.where(behind < 0, column, (behind + before.shape[1]).clip(max=len(column) - 1))
    joined = np.take_along_axis(np.concatenate([of_inputs, array], axis=1), index, axis=1)
    out: Array = joined * (behind < array.shape[1])
    return out


def _exchanged(batch: TensorBatch) -> TensorBatch:
    """The batch with the inputs of the next sequence in place of those of each."""
    inputs = batch.streams[INPUTS]
    lengths = None if inputs.lengths is None else inputs.lengths.roll(1, 0)
    streams = {**batch.streams, INPUTS: inputs._replace(tokens=inputs.tokens.roll(1, 0), lengths=lengths)}
    return dataclasses.replace(batch, streams=streams)


def _counted(logits: Tensor, arrays: Arrays) -> tuple[Tensor, Tensor]:
    """The sum of the losses of the counted targets, from their logits (N, V), and how many of them are right."""
    from torch.nn.functional import cross_entropy

    logits, targets = logits.float(), arrays["targets"][arrays["counted"] > 0]
    return cross_entropy(logits, targets, reduction="sum"), (logits.argmax(-1) == targets).sum()
