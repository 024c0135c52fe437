"""What kinds have in common whose answers are texts that a decoder writes, as those of T5 (Raffel et al. 2020, 2.4).

The input is one text with its end mark [SEP], the target the text of the answer with its end mark; the decoder starts
from [PAD]. An output has at most as many tokens as an input. Metrics compare texts as the tokenizer spells them: with
an uncased vocabulary they are uncased. Unknown characters of a right answer match nothing.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from bertlab.arrays import Array, Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import IGNORED, ExampleBatch, Examples, TaskBatch, sizes
from bertlab.tasks.kinds.base import Options, token_counts
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD
from bertlab.tasks.metrics import Mean
from bertlab.tasks.task import RawExamples, Table, Task

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.recipe import Recipe
    from bertlab.text.tokenizers.base import TrainedTokenizer

BEAM_SEARCH = "beam_search"
"""The option that texts are the best of several beams."""
DEFECTS = ("unfinished", "with_sentinels", "cut")
"""Metrics of all such kinds, the percentage of examples: outputs without an end, outputs with a sentinel of the
pre-training, and right answers that are longer than an output may be."""

DEFECT_WORDS = {
    "no_label": "that are no label",
    "no_number": "that are no number",
    "unfinished": "without an end",
    "with_sentinels": "with sentinels",
    "cut": "too short for the right answer",
}
"""What a report says of outputs, by the metrics of their defects."""


@dataclass(frozen=True, kw_only=True)
class TextBatch(ExampleBatch):
    """Examples with texts as answers."""

    outputs: Integer
    """(B, K) int32 what the decoder reads: [PAD], and the target before each one."""
    end: Integer
    """(B,) int32 the end mark."""


@dataclass(frozen=True, kw_only=True)
class TextExamples(Examples):
    """Examples with texts as answers. The targets of one are the tokens of its answer and the end mark, in training as
    many as there are, else as many for all examples, with `IGNORED` at the end."""

    tokenizer: TrainedTokenizer
    cut: Array
    """(E,) whether the answer has more tokens than an output may have."""

    def ids(self) -> Integer:
        """All ids, since any can be the next one."""
        return np.arange(self.tokenizer.size)

    def batch(self, examples: Integer) -> TextBatch:
        """The examples at these indices as one batch."""
        batch = super().batch(examples)
        before = np.where(batch.targets == IGNORED, self.pad, batch.targets)
        outputs = np.concatenate([np.full_like(before[:, :1], self.pad), before[:, :-1]], 1)
        end = np.full(len(examples), self.tokenizer.sep, np.int32)
        fields = {field.name: getattr(batch, field.name) for field in dataclasses.fields(batch)}
        return TextBatch(**fields, outputs=outputs, end=end)


@dataclass(frozen=True)
class Outputs:
    """What a decoder wrote for E examples."""

    texts: list[str]
    log_likelihood: Float
    """(E,) that of the right answer, nats."""
    tokens: Integer
    """(E,) the tokens of the right answer that it is of."""
    defects: dict[str, Array]
    """(E,) whether an example has each of `DEFECTS`."""
    tokenizer: TrainedTokenizer

    @classmethod
    def of(cls, examples: Examples, scores: Float) -> Outputs:
        """What `scores` (W, 2) say: the token that was generated in each slot, and the log-likelihood of its target."""
        written = cast(TextExamples, examples)
        ids, log_likelihoods = np.moveaxis(scores.reshape(len(written), -1, 2), -1, 0)
        ended, tokenizer = ids == written.tokenizer.sep, written.tokenizer
        length = np.where(ended.any(1), ended.argmax(1), ids.shape[1])
        rows = [row[:end] for row, end in zip(ids.astype(np.int32), length, strict=True)]
        sentinels = np.array([np.isin(row, tokenizer.sentinels).any() for row in rows])
        defects = dict(zip(DEFECTS, (~ended.any(1), sentinels, written.cut), strict=True))
        counts = (written.targets.reshape(ids.shape) != IGNORED).sum(1)
        return cls(tokenizer.decode(rows), log_likelihoods.sum(1, dtype=np.float64), counts, defects, tokenizer)

    def arrays(self, **others: Array) -> dict[str, Array]:
        """The arrays of predictions."""
        return {**others, **self.defects, LOG_LIKELIHOOD: self.log_likelihood}

    @property
    def collapsed(self) -> bool:
        """Whether all texts are the same."""
        return len(set(self.texts)) == 1


def share(values: Array) -> Mean:
    """The percentage of examples that have a property."""
    return Mean(100 * values.astype(np.float64))


class Generated(ABC):
    """The part of a kind that reads and writes texts. A kind is a subclass of it and of `TaskKind`."""

    name: ClassVar[str]
    columns: ClassVar[range] = range(1, 2)
    hub_task: ClassVar[str] = "text-generation"
    published_head: ClassVar[str] = "ConditionalGeneration"
    writes: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = (BEAM_SEARCH,)
    opened: ClassVar[bool] = False
    exchanged_column: ClassVar[int | None] = 0
    closed: ClassVar[bool] = False
    """Whether all answers come from a few texts, so that each of them has to be one that a model can write."""

    @abstractmethod
    def written(self, answer: Any) -> str:
        """The text of an answer, which a model is trained to write."""

    def check(self, read_recipe: Callable[[], Recipe]) -> None:
        """Raises `BadInput` for a model without a decoder."""
        read_recipe().model.check_decoding(self.name, False)

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> TextExamples:
        """Encodes a text and its answer, each with its end mark, as at most `length` tokens."""
        sequences = [ended(ids, tokenizer, length) for ids in tokenizer.encode(raw.text[0])]
        answers = tokenizer.encode([self.written(answer) for answer in raw.labels])
        self.require_writable(raw.labels, tokenizer)
        targets = [ended(ids, tokenizer, length) for ids in answers]
        counts = sizes(targets) if training else np.full(len(targets), length)
        filled = [
            np.pad(ids, (0, count - len(ids)), constant_values=IGNORED)
            for ids, count in zip(targets, counts, strict=True)
        ]
        return TextExamples(
            sequences=sequences,
            segment_b_start=sizes(sequences),
            positions=[np.zeros(count, np.int32) for count in counts],
            targets=np.concatenate(filled).astype(np.int64),
            example_index=np.repeat(np.arange(len(raw)), counts),
            pad=tokenizer.pad,
            raw_count=len(raw),
            tokenizer=tokenizer,
            cut=np.array([*map(len, answers)]) >= length,
        )

    def require_writable(self, answers: Sequence[Any], tokenizer: TrainedTokenizer) -> None:
        """Raises `BadInput` for answers out of a few texts that no model can write, or that it writes alike."""
        texts = sorted({self.written(answer) for answer in answers}) if self.closed else []
        spelled: dict[str, str] = {}
        for text, ids, spelling in zip(texts, tokenizer.encode(texts), tokenizer.spelled(texts), strict=True):
            if tokenizer.unk in ids:
                raise BadInput(
                    f"answer {shown(text)} has characters that the vocabulary lacks, so that no model "
                    f"can write it: give a vocabulary with them, or other names of labels"
                )
            other = spelled.setdefault(spelling, text)
            if other != text:
                raise BadInput(
                    f"answers {shown(other)} and {shown(text)} are the same text for the tokenizer, so that no model "
                    "can tell them apart: rename one, or give a tokenizer that keeps what they differ in, as with "
                    "tokenizer.lowercase=false"
                )

    def head(
        self, encoder: Backbone, pooler: Pooler, labels: Sequence[str], dropout: float, seed: int, options: Options = ()
    ) -> nn.Module:
        """The backbone itself, whose decoder writes the answer."""
        from bertlab.model.decoding import BEAMS, TextModel

        return TextModel(encoder, dropout, BEAMS if BEAM_SEARCH in options else 1)

    def logits(self, model: Any, batch: TaskBatch) -> Tensor:
        """(B, K, V) of the targets, behind the right tokens before each; K of the longest answer, not of all slots."""
        longest = max(1, int((batch["targets"] != IGNORED).sum(1).max()))
        logits: Tensor = model(batch["inputs"], batch["outputs"][:, :longest])
        return logits

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean cross-entropy of the targets (B, K) of a batch, nats."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(logits.flatten(0, 1), targets[:, : logits.shape[1]].flatten(), ignore_index=IGNORED)

    def scores(self, model: Any, batch: TaskBatch, logits: Tensor) -> Tensor:
        """(B, K, 2): the id that the model writes in each slot, and the log-likelihood of its target, 0 without one."""
        import torch
        from torch.nn.functional import cross_entropy, pad

        slots, targets = batch["targets"].shape[1], batch["targets"][:, : logits.shape[1]]
        losses = cross_entropy(logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none")
        ids = model.generate(batch["inputs"], batch["outputs"][:, 0], batch["end"], slots)
        return torch.stack([ids.to(losses.dtype), -pad(losses, (0, slots - losses.shape[1]))], -1)

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """The text that the model writes, and whether it ended it."""
        outputs = Outputs.of(examples, scores)
        return [
            {"text": text, "finished": not bool(unfinished)}
            for text, unfinished in zip(outputs.texts, outputs.defects["unfinished"], strict=True)
        ]

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """Empty texts."""
        return [""] * len(text[0])

    def published_fields(self, labels: Sequence[str]) -> dict[str, Any]:
        """The model has no other outputs than texts."""
        return {}

    def extent(self, raw: RawExamples, length: int, training: bool) -> tuple[float, float]:
        """The tokens of a text and of its answer, of which outputs may have more."""
        answers = [self.written(answer) for answer in raw.labels]
        return 1.0, sum(float(np.minimum(length, token_counts(column) + 1).mean()) for column in (raw.text[0], answers))


def ended(ids: Sequence[int], tokenizer: TrainedTokenizer, length: int) -> Integer:
    """The first ids and the end mark, at most `length` in all."""
    return np.array([*ids[: length - 1], tokenizer.sep], np.int32)


def no_defects(count: int) -> dict[str, Array]:
    """The `DEFECTS` of floors, which have none."""
    return {name: np.zeros(count, np.bool_) for name in DEFECTS}
