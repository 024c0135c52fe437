"""Several tasks with texts as answers as one, as T5 has GLUE and SuperGLUE (Raffel et al. 2020, sections 2.4, 3.1.3).

One model is trained on the examples of all tasks together, so that each task has as many as its share of them. A metric
of a task is named `cola-text/matthews`; `average` is the mean over tasks of the mean of their own metrics. The `labels`
of such a task are its parts, `mrpc-text:f1+accuracy`: a task of the catalogue and the metrics that T5 averages for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Float, Integer
from bertlab.errors import BadInput, unknown
from bertlab.tasks import catalog
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import KINDS, Options, Predicted, TaskKind
from bertlab.tasks.kinds.generated import Generated, TextExamples
from bertlab.tasks.kinds.scoring import LIKELIHOOD, Arrays
from bertlab.tasks.metrics import Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

if TYPE_CHECKING:
    from bertlab.text.tokenizers.base import TrainedTokenizer

AVERAGE = "average"


class Answer(NamedTuple):
    """The answer of an example, and the example in its task."""

    part: str
    """The name of the task."""
    answer: Any
    text: str
    """The text to write."""
    group: int
    question: int


@dataclass(frozen=True)
class Part:
    """A task of a mixture."""

    name: str
    metrics: tuple[str, ...]
    """The metrics of which the average has the mean."""

    @classmethod
    def of(cls, text: str) -> Part:
        """The part that one of the labels of a mixture names."""
        name, _, metrics = text.partition(":")
        return cls(name, tuple(metrics.split("+")))

    @cached_property
    def task(self) -> Task:
        """The task in the catalogue."""
        return catalog.find(self.name)

    @property
    def kind(self) -> TaskKind:
        """The kind of the task."""
        return KINDS[self.task.kind]

    def arrays(self, arrays: Arrays) -> dict[str, Array]:
        """The arrays of its examples among those of a mixture."""
        prefix = f"{self.name}/"
        return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}

    def rows(self, raw: RawExamples) -> Integer:
        """Which of the examples of a mixture are its own."""
        return np.flatnonzero([answer.part == self.name for answer in raw.labels])

    def raw(self, raw: RawExamples) -> RawExamples:
        """Its examples among those of a mixture."""
        rows = self.rows(raw)
        answers = [raw.labels[row] for row in rows]
        groups, questions = (np.array([getattr(one, name) for one in answers], np.int32) for name in _NUMBERS)
        return RawExamples(
            text=([raw.text[0][row] for row in rows],),
            labels=[one.answer for one in answers],
            groups=groups if (groups >= 0).any() else None,
            questions=questions if (questions >= 0).any() else None,
        )

    def data(self, data: TaskData) -> TaskData:
        """The task itself, from a mixture."""
        train, evaluation = self.raw(data.train), self.raw(data.evaluation)
        return dataclasses.replace(
            data, name=self.name, kind=self.task.kind, labels=self.task.labels, train=train, evaluation=evaluation,
            test=data.test and self.raw(data.test),
        )  # fmt: skip


_NUMBERS = ("group", "question")


class Mixture(Generated, TaskKind):
    """Several tasks whose answers are texts."""

    name = "mixture"
    metrics: ClassVar[tuple[str, ...]] = (AVERAGE,)
    options: ClassVar[tuple[str, ...]] = (*Generated.options, "mixing")

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> TextExamples:
        """The texts, with the number of the task of each."""
        examples, numbers = super().encode(raw, tokenizer, length, training, options), dict[str, int]()
        parts = np.array([numbers.setdefault(answer.part, len(numbers)) for answer in raw.labels])
        return dataclasses.replace(examples, parts=parts)

    def require_writable(self, answers: Sequence[Answer], tokenizer: TrainedTokenizer) -> None:
        """Raises as the kind of each task does."""
        of_parts: dict[str, list[Any]] = {}
        for answer in answers:
            of_parts.setdefault(answer.part, []).append(answer.answer)
        for name, its_answers in of_parts.items():
            if name:  # rows to predict have no answers
                cast(Generated, Part.of(name).kind).require_writable(its_answers, tokenizer)

    def parts(self, task: Task) -> tuple[str, ...]:
        """The names of the tasks. Raises `BadInput` for what is no mixture of tasks with texts as answers."""
        parts = [Part.of(label) for label in task.labels]
        if not parts:
            raise BadInput(f"task '{task.name}' is a mixture without tasks: name some of the catalogue in its labels")
        for part, label in zip(parts, task.labels, strict=True):
            where = f"labels of the mixture '{task.name}': '{label}'"
            if sum(part.name == other.name for other in parts) > 1:
                raise BadInput(f"{where}: {part.name} is there twice: name each task once")
            if isinstance(part.kind, Mixture) or not part.kind.writes:
                raise BadInput(f"{where}: its answers are no texts of one task: name one such as cola-text")
            metrics = part.kind.metrics_of(part.task, part.task.labels)
            for metric in part.metrics:
                if metric not in metrics:
                    raise BadInput(f"{where}: {unknown(f'metric of {part.name}', metric, metrics)}")
        return tuple(part.name for part in parts)

    def joined(self, task: Task, name: str, content: str, parts: Sequence[TaskData]) -> TaskData:
        """The examples of its tasks, in a keyed order."""
        first, *_ = parts
        tested = [part.test for part in parts if part.test is not None]
        return dataclasses.replace(
            first,
            name=name,
            dataset=task.dataset,
            kind=task.kind,
            labels=task.labels,
            train=_joined([(part, part.train) for part in parts]),
            evaluation=_joined([(part, part.evaluation) for part in parts]),
            test=_joined([*zip(parts, tested, strict=True)]) if len(tested) == len(parts) else None,
            content=content,
            group="",
            unlabelled=sum(part.unlabelled for part in parts),
        )

    def label_columns(self, task: Task) -> tuple[str, ...]:
        """There are none: tasks have their own."""
        return ()

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> Sequence[Any]:
        """Raises `BadInput`: a mixture has no table."""
        raise BadInput(f"task '{task.name}' is a mixture and has no examples of its own: name its tasks in labels")

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[Answer]:
        """Empty texts."""
        return [Answer("", "", "", -1, -1)] * len(text[0])

    def written(self, answer: Answer) -> str:
        """The text of an answer of its task."""
        return answer.text

    def metrics_for_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """The average, and the metrics of each task."""
        parts = [Part.of(label) for label in labels]
        named = [(part, part.kind.metrics_of(part.task, part.task.labels)) for part in parts]
        return (*self.metrics, *(f"{part.name}/{metric}" for part, metrics in named for metric in metrics))

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """What each task predicts. A collapse is that of all texts."""
        arrays: dict[str, Array] = {}
        collapsed = []
        for part in map(Part.of, data.labels):
            rows, its_raw = part.rows(raw), part.raw(raw)
            its_scores = scores.reshape(len(examples), -1, scores.shape[-1])[rows].reshape(-1, scores.shape[-1])
            predicted = part.kind.predict(part.data(data), its_raw, _taken(examples, rows), its_scores)
            of_part = {**predicted.arrays, **part.kind.example_arrays(its_raw)}
            if its_raw.groups is not None and len(np.unique(its_raw.groups)) < len(rows):
                of_part["group"] = its_raw.groups
            arrays |= {f"{part.name}/{name}": values for name, values in of_part.items()}
            collapsed.append(predicted.collapsed)
        return Predicted(arrays=arrays, collapsed=all(collapsed))

    def metric(self, name: str, arrays: Arrays, labels: Sequence[str] = ()) -> Metric:
        """A metric of a task, or the average of metrics or likelihoods. Raises as `Scoring.metric` does."""
        parts = {part.name: part for part in map(Part.of, labels)}

        def of(part: Part, metric: str) -> Metric:
            return part.kind.metric(metric, part.arrays(arrays), part.task.labels)

        if name in (AVERAGE, LIKELIHOOD):
            averaged = {part: part.metrics if name == AVERAGE else (LIKELIHOOD,) for part in parts.values()}
            return MeanOfTasks([[of(part, metric) for metric in metrics] for part, metrics in averaged.items()])
        task, _, metric = name.rpartition("/")
        if task not in parts:
            raise ValueError(f"{self.name} has no metric {name}")
        return of(parts[task], metric)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """The metric itself."""
        return self.metric(name, arrays, labels)

    def likelihood_of(self, metric: str) -> str:
        """The likelihood of the same task, or the average."""
        task, separator, _ = metric.rpartition("/")
        return f"{task}{separator}{LIKELIHOOD}"

    def example_arrays(self, raw: RawExamples) -> Arrays:
        """None: those of its tasks are among their predictions."""
        return {}

    def _scored(self, arrays: Arrays, labels: Sequence[str]) -> list[str]:
        """All metrics."""
        return [*self.metrics_for_labels(labels)]

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The guess of each task."""
        arrays: dict[str, Array] = {}
        for part in map(Part.of, data.labels):
            guess = part.kind.majority(part.data(data), part.raw(raw), train, examples)
            arrays |= {f"{part.name}/{name}": values for name, values in guess.items()}
        return arrays

    def floor(self, arrays: Arrays, raw: RawExamples, labels: Sequence[str]) -> dict[str, float]:
        """The metrics of what tasks guess."""
        parts = [Part.of(label) for label in labels]
        return _averaged(
            parts, [part.kind.floor(part.arrays(arrays), part.raw(raw), part.task.labels) for part in parts]
        )

    def lexical_floor(self, data: TaskData, max_train_examples: int = 0) -> list[dict[str, float]]:
        """The floor of each task, by its share of the examples that a model reads; none if one has none."""
        parts = [Part.of(label) for label in data.labels]
        share = (max_train_examples or len(data.train)) / len(data.train)
        tasks = [part.data(data) for part in parts]
        floors = [
            part.kind.lexical_floor(task, max(1, round(share * len(task.train))))
            for part, task in zip(parts, tasks, strict=True)
        ]
        return [_averaged(parts, values) for values in zip(*floors, strict=False)]


class MeanOfTasks(Metric):
    """The mean over P tasks of the mean of their metrics, whose examples are those of all tasks."""

    def __init__(self, metrics: Sequence[Sequence[Metric]]) -> None:
        self.metrics = metrics

    def contributions(self) -> Float:
        """An example of one of P tasks, of n in all and m of its task, adds n / (P m) times what it adds to its own."""
        tasks = [np.mean([metric.contributions() for metric in metrics], 0) for metrics in self.metrics]
        value, count = np.mean([task.mean() for task in tasks]), sum(map(len, tasks))
        return np.concatenate([value + count / (len(tasks) * len(task)) * (task - task.mean()) for task in tasks])

    def per_example(self) -> Float:
        """The mean of the metrics of each example by itself."""
        return np.concatenate([np.mean([metric.per_example() for metric in metrics], 0) for metrics in self.metrics])


def _joined(parts: Sequence[tuple[TaskData, RawExamples]]) -> RawExamples:
    """The examples of tasks in a keyed order."""
    texts: list[str] = []
    answers: list[Answer] = []
    for data, raw in parts:
        kind = cast(Generated, KINDS[data.kind])
        groups, questions = (
            [-1] * len(raw) if numbers is None else numbers.tolist() for numbers in (raw.groups, raw.questions)
        )
        texts += raw.text[0]
        answers += [
            Answer(data.name, answer, kind.written(answer), group, question)
            for answer, group, question in zip(raw.labels, groups, questions, strict=True)
        ]
    order = keyed.permutation(keyed.key("mixture"), len(texts))
    parts_of = np.repeat(np.arange(len(parts)), [len(raw) for _, raw in parts])
    return RawExamples(
        text=([texts[row] for row in order],),
        labels=[answers[row] for row in order],
        questions=_questions([raw for _, raw in parts], order),
        parts=parts_of[order],
    )


def _questions(parts: Sequence[RawExamples], order: Integer) -> Integer | None:
    """The number of the question of each example of a mixture, a new one where its task has none; None if no task has
    questions."""
    if all(raw.questions is None for raw in parts):
        return None
    numbers: list[Integer] = []
    for raw in parts:
        begin = 1 + max((int(before.max(initial=-1)) for before in numbers), default=-1)
        numbers.append(begin + (np.arange(len(raw)) if raw.questions is None else raw.questions))
    return np.concatenate(numbers)[order]


def _taken(examples: Examples, rows: Integer) -> Examples:
    """Some of the examples, which have equally many targets."""
    slots = np.arange(len(examples.targets)).reshape(len(examples), -1)[rows].ravel()
    return dataclasses.replace(
        cast(TextExamples, examples),
        sequences=[examples.sequences[row] for row in rows],
        segment_b_start=examples.segment_b_start[rows],
        positions=[examples.positions[row] for row in rows],
        targets=examples.targets[slots],
        example_index=np.repeat(np.arange(len(rows)), len(slots) // max(1, len(rows))),
        raw_count=len(rows),
        cut=cast(TextExamples, examples).cut[rows],
        parts=None,
    )


def _averaged(parts: Sequence[Part], values: Sequence[dict[str, float]]) -> dict[str, float]:
    """The metrics of tasks by their names in a mixture, and the average."""
    means = [np.mean([of_part[name] for name in part.metrics]) for part, of_part in zip(parts, values, strict=True)]
    named = {
        f"{part.name}/{name}": value
        for part, of_part in zip(parts, values, strict=True)
        for name, value in of_part.items()
    }
    return {AVERAGE: float(np.mean(means)), **named}
