"""Short answers in words, compared as SQuAD's are (Rajpurkar et al. 2016): questions about a context, missing words.

The column of answers has a text, a list of texts that are all right, or SQuAD's `{"text": [...]}`. A model is trained
to write the first of them; metrics accept each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.arrays import Float
from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Predicted, TaskKind
from bertlab.tasks.kinds.generated import DEFECTS, Generated, Outputs, no_defects, share
from bertlab.tasks.kinds.scoring import Arrays
from bertlab.tasks.kinds.span import exact, f1, normalised
from bertlab.tasks.metrics import Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData


class TextToAnswer(Generated, TaskKind):
    """A short answer to a text. An answer is a tuple of the texts that are right, empty if there is none."""

    name = "text-to-answer"
    metrics = ("exact", "f1", *DEFECTS)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The texts that are right. `BadInput` names the row of another value."""
        answers = []
        for row, value in enumerate(table.values(task.label), start=1):
            texts = value.get("text") if isinstance(value, dict) else [value] if isinstance(value, str) else value
            if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
                wrong = f"{table.where(task.label)} row {row} is {shown(value)}"
                raise BadInput(f'{wrong}: give a text, a list of texts, or {{"text": [...]}}')
            answers.append(tuple(texts))
        return answers

    def written(self, answer: Sequence[str]) -> str:
        """The first right text."""
        return answer[0] if answer else ""

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The exact match and the F1 of each text."""
        outputs = Outputs.of(examples, scores)
        right = [outputs.tokenizer.spelled(texts) for texts in raw.labels]
        arrays = outputs.arrays(**_scores(outputs.texts, right))
        return Predicted(arrays=arrays, collapsed=outputs.collapsed)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Exact match and F1 of SQuAD, or the percentage of outputs with a defect."""
        return share(arrays[name])

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent normalised answer of the training examples."""
        (text, _), *_ = Counter(normalised(self.written(answer)) for answer in data.train.labels).most_common()
        return {**_scores([text] * len(raw), raw.labels), **no_defects(len(raw))}

    def lexical_floor(self, data: TaskData, max_train_examples: int = 0) -> list[dict[str, float]]:
        """There is none: words of the input do not say which of them answer."""
        return []


def _scores(texts: Sequence[str], right: Sequence[Sequence[str]]) -> dict[str, Float]:
    """Exact match and F1 of each text, (E,) each, 0 to 1."""
    pairs = [*zip(texts, right, strict=True)]
    return {name: np.array([metric(*pair) for pair in pairs]) for name, metric in (("exact", exact), ("f1", f1))}
