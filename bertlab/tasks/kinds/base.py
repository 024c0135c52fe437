"""The protocol of a kind of task, and what all kinds share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.tasks.examples import IGNORED, Examples, Floats, Integers
from bertlab.tasks.metrics import Grouped, Mean, Metric
from bertlab.tasks.raw import RawExamples, Splits, TaskData
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.base import TrainedTokenizer

LIKELIHOOD = "log_likelihood"
"""The second metric of every kind whose answers have a probability: the mean log-likelihood of right answers, nats."""

LEXICAL_EXAMPLES = 4_000
"""At most this many training examples, a keyed sample, fit the lexical floor."""

Arrays = Mapping[str, npt.NDArray[Any]]
"""Predictions for E examples (or their words) with the right answers, as `predictions.npz` keeps them."""

_floors: dict[tuple[str, ...], list[dict[str, float]]] = {}


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Predictions from logits."""

    arrays: dict[str, npt.NDArray[Any]]
    collapsed: bool
    """Whether all predictions are the same."""
    threshold: float | None = None
    """The score above which a question is answered, for tasks with unanswerable questions."""


class TaskKind(ABC):
    """A kind of task.

    The argument `options` of a method has those of `TaskKind.options` that the adaptation switches on.
    """

    name: ClassVar[str]
    columns: ClassVar[range]
    """Allowed numbers of text columns."""
    metrics: ClassVar[tuple[str, ...]]
    """All metrics that tasks of this kind can have, the usual one first."""
    setting: ClassVar[str] = "finetune"
    """The group of a scale's fields that sets its fine-tuning."""
    options: ClassVar[tuple[str, ...]] = ()
    """Fields of an adaptation that apply to this kind only."""
    labelled: ClassVar[bool] = False
    """Whether its answers are named labels."""
    cased: ClassVar[bool] = False
    """Whether the papers use cased text for it."""
    tokenwise: ClassVar[bool] = False
    """Whether it predicts a label for each word, which the feature-based approach needs."""
    exchanged: ClassVar[int] = 1
    """The text column that the exchanged-text floor takes from another example."""

    @abstractmethod
    def check(self, task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
        """Checks the columns of each split, text first and the label last; `places` names the source of each split.

        `names` are the labels in order, if known. `BadInput` names the file and row of the first wrong value.
        """

    def named_labels(self, values: list[Any], names: tuple[str, ...]) -> list[Any]:
        """The label column of a data set of the Hub, whose features declare the `names` of its integers."""
        return values

    def known(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The metrics of a task with these labels; without labels, all that it can have."""
        return self.metrics

    @abstractmethod
    def encode(
        self,
        raw: RawExamples,
        tokenizer: TrainedTokenizer,
        length: int,
        *,
        training: bool = False,
        options: Collection[str] = (),
    ) -> Examples:
        """Encodes raw examples as word pieces, at most `length` tokens per sequence."""

    def head(
        self,
        encoder: Backbone,
        pooler: Pooler,
        labels: Sequence[str],
        dropout: float,
        seed: int,
        options: Collection[str] = (),
    ) -> nn.Module:
        """`encoder` with a new head whose weights start from `seed`; sets the dropout of both.

        The default is BERT's pooler with one output per label, or a single output for answers without labels.
        """
        from bertlab.model.heads import ClassificationModel

        return ClassificationModel(encoder, pooler, len(labels) if self.labelled else 1, dropout, seed)

    def logits(self, model: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """(B, K, C) at the targets of a batch: C labels, one value, the choices, or the positions of a span."""
        found: Tensor = model(batch["tokens"], batch["segments"], batch.get("lengths"))
        return found

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean over targets (B, K) of the cross-entropy of logits (B, K, C), nats."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED)

    @abstractmethod
    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Floats, threshold: float | None = None
    ) -> Predicted:
        """Predictions from the logits (W, C) of `examples`; without a `threshold`, with the best one for these."""

    @abstractmethod
    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The best constant prediction of the training examples: the most frequent label or answer, or the mean."""

    @abstractmethod
    def lexical(self, data: TaskData, train: RawExamples, evaluated: Sequence[RawExamples]) -> list[Arrays]:
        """Predictions for each of `evaluated` by a bag-of-words model fitted to `train`: see `tasks.lexical`."""

    @abstractmethod
    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """One of `metrics`, or `LIKELIHOOD`, as a function of weighted examples.

        Raises `ValueError` for a metric that the kind lacks, `KeyError` for predictions that lack an array.
        """

    def grouped_metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """`metric` over groups of examples, if an array `group` has the number of each example's group.

        Raises `ValueError` and `KeyError` as `metric` does, and `ValueError` for another number of examples.
        """
        found = self.metric(name, arrays, labels)
        if "group" not in arrays:
            return found
        group = arrays["group"][self.examples_of(arrays)]
        if len(group) != found.examples:
            raise ValueError(f"{len(group)} group numbers do not fit {found.examples} examples")
        return Grouped(found, np.unique(group, return_inverse=True)[1])

    def examples_of(self, arrays: Arrays) -> Integers | slice:
        """The indices of the raw examples of a split that `metric` counts."""
        return slice(None)

    def values(self, arrays: Arrays, labels: Sequence[str]) -> dict[str, float]:
        """All metrics of a task with these labels."""
        return {name: self.metric(name, arrays, labels).value for name in self.known(labels)}

    def lexical_floor(self, data: TaskData, max_train_examples: int = 0) -> list[dict[str, float]]:
        """The metrics of `lexical` on the evaluation split and, if the task has one, on the test split.

        The model is fitted to as many examples as the encoder, `max_train_examples` (0 for all), at most
        `LEXICAL_EXAMPLES`. Each process computes the floor of the same content once.
        """
        most = min(LEXICAL_EXAMPLES, max_train_examples or LEXICAL_EXAMPLES)
        first = [str(column[0]) for raw in (data.train, data.evaluation) for column in raw.text]
        key = (str(most), data.content, data.name, data.kind, *data.labels, *first)
        if key not in _floors:
            train, evaluated = data.train, [raw for raw in (data.evaluation, data.test) if raw]
            if len(train) > most:
                order = keyed.permutation(keyed.key("lexical"), len(train))
                train = train.take(np.sort(order[:most]))
            _floors[key] = [self.values(each, data.labels) for each in self.lexical(data, train, evaluated)]
        return _floors[key]

    def words(self, raw: RawExamples) -> float:
        """Mean number of words in the sequences of an example, over the first two thousand."""
        return sum(column_words(raw))

    def unknown_metric(self, name: str) -> ValueError:
        """The error for a metric that this kind does not have."""
        return ValueError(f"{self.name} has no metric {name}")


def column_words(raw: RawExamples) -> list[float]:
    """Mean number of words in each text column, over the first two thousand examples."""
    columns = [column[:2000] for column in raw.text]
    counts = [
        [len(text) if isinstance(text, list | tuple) else text.count(" ") + 1 for text in each] for each in columns
    ]
    return [sum(each) / max(1, len(each)) for each in counts]


def likelihood(arrays: Arrays) -> Mean:
    """The mean log-likelihood of the right answers, one per example."""
    return Mean(arrays[LIKELIHOOD].astype(np.float64))
