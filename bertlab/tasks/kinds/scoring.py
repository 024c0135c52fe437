"""How a kind of task judges predictions: metrics as functions of examples, and the likelihood of the right answers."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np

from bertlab.arrays import Array
from bertlab.errors import BadInput
from bertlab.tasks.metrics import Grouped, Mean, Metric
from bertlab.tasks.task import RawExamples, Task

LIKELIHOOD = "likelihood"
"""The second metric of every kind whose answers have a probability: the mean one of the right answer, in points.

Not its logarithm, whose mean depends on a few confident wrong answers: fine-tuned models differ more in how confident
they are than in what they know."""
LOG_LIKELIHOOD = "log_likelihood"
"""The array of predictions that it follows from: of the right answer of each example, nats."""
Arrays = Mapping[str, Array]
"""Predictions for E examples (or their words) with the right answers, as `predictions.npz` keeps them."""


def of_all_examples(metrics: Iterable[str]) -> list[str]:
    """The metrics without those of a part of the examples, such as `island_effects/accuracy`."""
    return [metric for metric in metrics if "/" not in metric]


class Scoring(ABC):
    """The part of a kind of task that judges predictions, in training and in reports."""

    name: ClassVar[str]
    """What a task gives as its `kind`."""
    metrics: ClassVar[tuple[str, ...]]
    """All metrics that tasks of this kind can have, the usual one first."""
    of_questions: ClassVar[tuple[str, ...]] = ()
    """The `metrics` that judge all examples of a question together, by an array `question` of its number. A task has
    them if it names `Task.question`."""
    unexchanged: ClassVar[tuple[str, ...]] = ()
    """The `metrics` that have no floor of exchanged texts, as they read the text that is exchanged."""
    per_token: ClassVar[bool] = False
    """Whether it predicts a label for each word, which the feature-based approach needs."""
    averages: ClassVar[bool] = True
    """Whether the mean of the logits of several models is an answer, as that of an ensemble."""
    user_defined: ClassVar[bool] = False
    """Whether a study file defines it. Its results keep what each example contributes to each metric, since reports do
    not run study files."""

    def parts(self, task: Task) -> tuple[str, ...]:
        """The names of the tasks of which a task is made; none for one with examples of its own."""
        return ()

    def metrics_for_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The metrics of tasks with these labels; without labels, all that they can have."""
        return self.metrics

    def metrics_of(self, task: Task, labels: Sequence[str]) -> tuple[str, ...]:
        """The metrics of a task, whose labels are these."""
        return tuple(
            metric for metric in self.metrics_for_labels(labels) if task.question or metric not in self.of_questions
        )

    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """One of `metrics`, or `LIKELIHOOD`, of the examples; of their groups, if an array `group` numbers these.

        Raises `ValueError` for a metric that the kind lacks and for another number of examples, `KeyError` for
        predictions that lack an array.
        """
        if name not in (LIKELIHOOD, *self.metrics):
            raise ValueError(f"{self.name} has no metric {name}")
        metric = self.likelihood(arrays) if name == LIKELIHOOD else self.score(name, arrays, labels)
        if "group" not in arrays:
            return metric
        group = arrays["group"]
        if self.per_token:  # sentences without words are no examples
            group = group[np.unique(arrays["sentence"])]
        if len(group) != metric.examples:
            raise ValueError(f"{len(group)} group numbers do not fit {metric.examples} examples")
        return Grouped(metric, np.unique(group, return_inverse=True)[1])

    def contributions(self, arrays: Arrays, labels: Sequence[str]) -> dict[str, Array]:
        """What each example contributes to each metric of all examples, `metric_<name>`, for reports: of a kind of a
        study file.

        Raises `BadInput` for a metric that is no number, or is of other examples.
        """
        if not self.user_defined:
            return {}
        names = (*of_all_examples(self._scored(arrays, labels)), *([LIKELIHOOD] if LOG_LIKELIHOOD in arrays else []))
        contributions = {name: self.metric(name, arrays, labels).contributions() for name in names}
        for name, values in contributions.items():
            if len(values) != len(contributions[names[-1]]):
                wrong = f"is of {len(values)} examples, and {names[-1]} of {len(contributions[names[-1]])}"
            elif not np.isfinite(values).all():
                wrong = "gives no finite number for some examples"
            else:
                continue
            raise BadInput(f"metric {name} of the kind of task '{self.name}' {wrong}: correct it in the study file")
        return {f"metric_{name}": values for name, values in contributions.items()}

    @abstractmethod
    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """One of `metrics`. Raises `BadInput`, `unscored`, for another one."""

    def unscored(self, name: str) -> BadInput:
        """The error of `score` for a metric that it does not know."""
        return BadInput(
            f"the kind of task '{self.name}' declares the metric '{name}' and has no score for it: let its score "
            "return one"
        )

    def likelihood(self, arrays: Arrays) -> Metric:
        """The mean probability of the right answers (points), one per example."""
        return Mean(100 * np.exp(arrays[LOG_LIKELIHOOD].astype(np.float64)))

    def likelihood_of(self, metric: str) -> str:
        """The likelihood beside one of `metrics`, as `metric` takes it: that of the same examples."""
        return LIKELIHOOD

    def values(self, arrays: Arrays, labels: Sequence[str]) -> dict[str, float]:
        """All metrics of a task with these labels."""
        return {name: self.metric(name, arrays, labels).value for name in self._scored(arrays, labels)}

    def floor(self, arrays: Arrays, raw: RawExamples, labels: Sequence[str]) -> dict[str, float]:
        """The metrics of what `majority` or `lexical` predicts for `raw`."""
        return self.values({**arrays, **self.example_arrays(raw)}, labels)

    def example_arrays(self, raw: RawExamples) -> Arrays:
        """What metrics read of the examples beside predictions: `question`, where the task names questions."""
        return {} if raw.questions is None else {"question": raw.questions}

    def _scored(self, arrays: Arrays, labels: Sequence[str]) -> list[str]:
        """The metrics that predictions have."""
        return [
            metric
            for metric in self.metrics_for_labels(labels)
            if "question" in arrays or metric not in self.of_questions
        ]
