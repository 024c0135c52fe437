"""Multiple choice, as in BERT section 4.4: [CLS] context [SEP] ending [SEP] for each ending, the dot product of one
vector with each [CLS], a softmax over the endings. With a question, the second segment is the question with an ending
in place of its blank `_`, or behind it (as in ALBERT's released code for RACE)."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from bertlab.arrays import Float, Integer
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks import lexical
from bertlab.tasks.answers import integers, places, reader
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds import classification
from bertlab.tasks.kinds.base import Options, TaskKind, token_counts
from bertlab.tasks.kinds.scoring import Arrays
from bertlab.tasks.metrics import Metric
from bertlab.tasks.task import RawExamples, Table, Task, checked_texts
from bertlab.text.tokenizers.base import TrainedTokenizer


class MultipleChoice(TaskKind):
    """Which of several endings continues a context."""

    name = "multiple-choice"
    columns = range(2, 28)
    metrics: ClassVar[tuple[str, ...]] = ("accuracy",)
    hub_task = "multiple-choice"
    published_head = "MultipleChoice"
    exchanged_column = 0

    def label_names(self, task: Task, tables: Sequence[Table]) -> tuple[str, ...]:
        """The names of the task or of its source if there is one per ending, else numbers."""
        counts = [len(self.text(task, table)) - 1 for table in tables]
        if len(set(counts)) > 1:
            places = ", ".join(f"{table.source} has {count}" for table, count in zip(tables, counts, strict=True))
            raise BadInput(f"endings per row differ ({places}): give the same number in each split")
        names = task.labels or tables[0].names
        return names if len(names) == counts[0] else _numbers(task, counts[0])

    def text(self, task: Task, table: Table) -> tuple[list[str], ...]:
        """The contexts, and one column per ending from columns or from a last column of lists, whose endings may have
        names: `{"label": ["A", ...], "text": [...]}`. A column of questions may precede the lists: an ending takes the
        place of a blank in it, or follows it."""
        context, *between, last = task.text
        texts, listed = table.texts(context), table.columns.get(last, [""])
        if len(between) > 1 or (between and not isinstance(listed[0], list | dict)):
            return (texts, *(table.texts(name) for name in (*between, last)))
        columns = _listed(listed, table.where(last))
        if not between:
            return (texts, *columns)
        questions = [text if "_" in text else f"{text} _" for text in table.texts(between[0])]
        filled = (
            [text.replace("_", ending) for text, ending in zip(questions, column, strict=True)] for column in columns
        )
        return (texts, *filled)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[int]:
        """The index of the right ending of each example, which may be given by its text, or by its name if endings have
        names."""
        values, endings = table.columns[task.label], table.columns.get(task.text[-1], [""])
        named, numbered = isinstance(endings[0], dict), names == _numbers(task, len(names))
        by_text = [
            choices.index(value) if isinstance(choices, list) and value in choices else -1
            for value, choices in zip(values, endings, strict=False)
        ]
        if -1 not in by_text:
            if {*values} <= {*names} and [*map(names.index, values)] != by_text:
                both = "each answer is the text of an ending and the number of another"
                raise BadInput(f"{table.where(task.label)}: {both}: give numbers without quotes")
            return by_text
        texts = isinstance(values[0], str) and values[0] not in names and isinstance(endings[0], list)
        if not named and (not texts or (numbered and integers(values))):
            read = reader(task, table, names, named=not numbered)
            return places(values, read, names, table.where(task.label), task.counted_from or 0)
        indices = []
        for row, (value, listed) in enumerate(zip(values, endings, strict=True), start=1):
            choices = listed.get("label") if isinstance(listed, dict) else listed
            if not isinstance(choices, list) or len(choices) != len(_texts(listed)):
                wrong = f"{table.where(task.text[-1])} row {row} is {shown(listed)}"
                raise BadInput(f'{wrong}: give {{"label": [...], "text": [...]}}, a label per text')
            if value not in choices:
                one = f"one of {', '.join(map(str, choices))}" if named else "the text of an ending"
                raise BadInput(f"{table.where(task.label)} row {row} is {shown(value)}: give {one}")
            indices.append(choices.index(value))
        return indices

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[int]:
        """The first ending. Raises `BadInput` for another number of endings than in training, as they have names."""
        if len(text) - 1 != len(task.labels):
            count = f"{len(text) - 1} endings, and examples of the task {len(task.labels)}"
            raise BadInput(f"{table.source} has {count}: give as many")
        return [0] * len(text[0])

    def encode(
        self, raw: RawExamples, tokenizer: TrainedTokenizer, length: int, training: bool = False, options: Options = ()
    ) -> Examples:
        """[CLS] context [SEP] ending [SEP] for each ending of an example, consecutively; one target per example."""
        choices = len(raw.text) - 1
        labels = [label for label in raw.labels for _ in range(choices)]
        encoded = super().encode(RawExamples(text=tuple(_pairs(raw.text)), labels=labels), tokenizer, length)
        return dataclasses.replace(
            encoded,
            positions=encoded.positions[: len(raw)],
            targets=np.array(raw.labels),
            example_index=np.arange(len(raw)),
            raw_count=len(raw),
            choices=choices,
        )

    def lexical(self, train: RawExamples) -> Callable[[RawExamples], Arrays]:
        """A logistic regression on `lexical.features` of the context with each ending: right or not."""
        choices = len(train.text) - 1

        def encoded(rows: Integer) -> tuple[Any, Any]:
            some = train.take(rows)
            right = np.array(some.labels)[:, None] == np.arange(choices)
            return lexical.features(_pairs(some.text)), right.ravel().astype(int)

        model = lexical.fit(len(train), np.arange(2), encoded)

        def predict(raw: RawExamples) -> Arrays:
            scores = model.decision_function(lexical.features(_pairs(raw.text))).reshape(-1, choices)
            return {"prediction": scores.argmax(1), "label": np.array(raw.labels)}

        return predict

    def outputs(
        self, labels: Sequence[str], raw: RawExamples, examples: Examples, scores: Float, threshold: float | None
    ) -> list[dict[str, Any]]:
        """The most probable ending by its name or number, with its text, and the probability of each."""
        by_label = super().outputs(labels, raw, examples, scores, threshold)
        endings = [dict(zip(labels, row, strict=True)) for row in zip(*raw.text[1:], strict=True)]
        return [
            {"choice": output["label"], "text": texts[output["label"]], "probabilities": output["probabilities"]}
            for output, texts in zip(by_label, endings, strict=True)
        ]

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Accuracy alone: the index of an ending is arbitrary."""
        if name != "accuracy":
            raise self.unscored(name)
        return classification.accuracy(arrays["prediction"], arrays["label"])

    def extent(self, raw: RawExamples, length: int, training: bool) -> tuple[float, float]:
        """Estimates the examples and tokens of an example: each ending follows its own copy of the context."""
        context, *endings = (float(token_counts(column).mean()) for column in raw.text)
        return 1.0, sum(min(length, context + ending + 3) for ending in endings)


def _numbers(task: Task, count: int) -> tuple[str, ...]:
    """The names of endings that have none."""
    start = task.counted_from or 0
    return tuple(map(str, range(start, start + count)))


def _pairs(text: Sequence[Sequence[str]]) -> list[list[str]]:
    """Contexts and endings as two columns, the endings of an example consecutively."""
    contexts, *columns = text
    first = [context for context in contexts for _ in columns]
    return [first, [ending for row in zip(*columns, strict=True) for ending in row]]


def _listed(values: Sequence[Any], where: str) -> list[list[str]]:
    """Lists of endings as one column per ending."""
    endings = [_texts(value) for value in values]
    for row, (value, listed) in enumerate(zip(values, endings, strict=True), start=1):
        if not isinstance(listed, list) or len(listed) < 2:
            raise BadInput(f"{where} row {row} is {shown(value)}: give a list of two endings or more")
        if len(listed) != len(endings[0]):
            differ = f"{where} row {row} has {len(listed)} endings, the first row {len(endings[0])}"
            raise BadInput(f"{differ}: give the same number")
    return [checked_texts(column, where) for column in zip(*endings, strict=True)]


def _texts(endings: Any) -> Any:
    """The texts of endings with names; other values as they are."""
    return endings.get("text") if isinstance(endings, dict) else endings
