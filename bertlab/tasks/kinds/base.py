"""The protocol of a kind of task: what every kind gives, and what follows from it for all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.tasks.examples import IGNORED, Examples, Floats, Integers
from bertlab.tasks.metrics import Mean, Metric
from bertlab.tasks.rows import Rows, Splits, TaskData
from bertlab.tasks.task import Task

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import Pooler
    from bertlab.text.tokenizers.wordpiece import WordPiece

LIKELIHOOD = "log_likelihood"
"""The second metric of every kind whose answers have a probability: that of the right one, in nats, a mean."""

LEXICAL_EXAMPLES = 4_000
"""Training examples of the lexical floor at most, a keyed sample."""

Arrays = Mapping[str, npt.NDArray[Any]]
"""Predictions of E examples (or of their words) with the right answers, as `predictions.npz` keeps them."""

_floors: dict[tuple[str, ...], list[dict[str, float]]] = {}


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What logits come to."""

    arrays: dict[str, npt.NDArray[Any]]
    collapsed: bool
    """Whether all predictions are one and the same."""
    threshold: float | None = None
    """The score above which an answer is given, where questions may have none."""


class TaskKind(ABC):
    """A kind of task.

    `options` of a method are those of `TaskKind.options` that the adaptation switches on.
    """

    name: ClassVar[str]
    columns: ClassVar[range]
    """How many columns of text it takes."""
    metrics: ClassVar[tuple[str, ...]]
    """All metrics that tasks of this kind may have, the usual one first."""
    setting: ClassVar[str] = "finetune"
    """The group of a scale's fields by which all weights are trained on it."""
    options: ClassVar[tuple[str, ...]] = ()
    """Fields of an adaptation that mean something for this kind alone."""
    labelled: ClassVar[bool] = False
    """Whether its answers are labels with names."""
    cased: ClassVar[bool] = False
    """Whether the papers read it with its capitals."""
    tokenwise: ClassVar[bool] = False
    """Whether it predicts a label at tokens of its own, as the feature-based approach needs it."""
    exchanged: ClassVar[int] = 1
    """The column of text that the exchanged-text floor takes from another example."""

    @abstractmethod
    def check(self, task: Task, names: tuple[str, ...], values: list[list[list[Any]]], places: list[str]) -> Splits:
        """The rows of each split out of its raw columns, the label's last; `places` says where each split is from.

        `names` are the labels in their order, if they are known. `BadInput` names the file and the row of a wrong one.
        """

    def named_labels(self, values: list[Any], names: tuple[str, ...]) -> list[Any]:
        """The column of labels of a data set of the Hub, which declares the `names` of its integers."""
        return values

    def known(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The metrics of a task with these labels; with none, all that it may have."""
        return self.metrics

    @abstractmethod
    def encode(
        self, rows: Rows, tokenizer: WordPiece, length: int, *, training: bool = False, options: Collection[str] = ()
    ) -> Examples:
        """Rows as arrays of word pieces, at most `length` tokens a sequence."""

    @abstractmethod
    def head(
        self,
        encoder: Backbone,
        pooler: Pooler,
        labels: Sequence[str],
        dropout: float,
        seed: int,
        options: Collection[str] = (),
    ) -> nn.Module:
        """`encoder` under a new head whose weights start from `seed`; sets the dropout of all."""

    def logits(self, model: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """(B, K, C) at the targets of a batch: C labels, one number, the choices, or the positions of a span."""
        found: Tensor = model(batch["tokens"], batch["segments"], batch.get("lengths"))
        return found

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The mean over targets (B, K) of the cross-entropy of logits (B, K, C), nats."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(logits.flatten(0, 1).float(), targets.flatten(), ignore_index=IGNORED)

    @abstractmethod
    def predict(
        self, data: TaskData, rows: Rows, examples: Examples, scores: Floats, threshold: float | None = None
    ) -> Predicted:
        """What the logits (W, C) of the targets of `rows` come to; without a `threshold`, the best for these rows."""

    @abstractmethod
    def majority(self, data: TaskData, rows: Rows, train: Examples, examples: Examples) -> Arrays:
        """The best constant guess from the training examples: the most frequent label or answer, or the mean."""

    @abstractmethod
    def lexical(self, data: TaskData, train: Rows, judged: Sequence[Rows]) -> list[Arrays]:
        """Predictions on each of `judged` of a model that counts words, fitted to `train`: see `tasks.lexical`."""

    @abstractmethod
    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """One of `metrics`, or `LIKELIHOOD`, as a function of weighted examples.

        `ValueError` for a metric that the kind does not have, `KeyError` where the predictions lack what it needs.
        """

    def examples_of(self, arrays: Arrays) -> Integers | slice:
        """The rows of a split that are examples of `metric`."""
        return slice(None)

    def values(self, arrays: Arrays, labels: Sequence[str]) -> dict[str, float]:
        """All metrics of a task with these labels."""
        return {name: self.metric(name, arrays, labels).value for name in self.known(labels)}

    def lexical_floor(self, data: TaskData, max_train_examples: int = 0) -> list[dict[str, float]]:
        """The metrics of `lexical` on the evaluation rows and, if there are any, on the test rows.

        It is fitted to as many examples as the encoder, `max_train_examples` (0 for all), and to at most
        `LEXICAL_EXAMPLES`. Computed once a process for the same content.
        """
        most = min(LEXICAL_EXAMPLES, max_train_examples or LEXICAL_EXAMPLES)
        first = [str(column[0]) for rows in (data.train, data.evaluation) for column in rows.text]
        key = (str(most), data.content, data.name, data.kind, *data.labels, *first)
        if key not in _floors:
            train, judged = data.train, [rows for rows in (data.evaluation, data.test) if rows]
            if len(train) > most:
                order = keyed.permutation(keyed.key("lexical"), len(train))
                train = train.take(np.sort(order[:most]))
            _floors[key] = [self.values(each, data.labels) for each in self.lexical(data, train, judged)]
        return _floors[key]

    def words(self, rows: Rows) -> float:
        """Mean number of words that an example is read as, over the first two thousand."""
        return sum(column_words(rows))

    def unknown_metric(self, name: str) -> ValueError:
        """The error for a metric that this kind does not have."""
        return ValueError(f"{self.name} has no metric {name}")


def column_words(rows: Rows) -> list[float]:
    """Mean number of words of each column of text, over the first two thousand rows."""
    columns = [column[:2000] for column in rows.text]
    counts = [
        [len(text) if isinstance(text, list | tuple) else text.count(" ") + 1 for text in each] for each in columns
    ]
    return [sum(each) / max(1, len(each)) for each in counts]


def likelihood(arrays: Arrays) -> Mean:
    """The mean log-likelihood of the right answers, an answer an example."""
    return Mean(arrays[LIKELIHOOD].astype(np.float64))
