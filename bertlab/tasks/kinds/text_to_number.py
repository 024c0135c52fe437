"""Regression in words: the answer is a number as a text, rounded to a fifth (Raffel et al. 2020, 2.4: STS-B).

An output that is no number counts as -1, as in T5's code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertlab.arrays import Float
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Predicted
from bertlab.tasks.kinds.generated import DEFECTS, Generated, Outputs, no_defects, share
from bertlab.tasks.kinds.regression import Regression
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD, Arrays
from bertlab.tasks.metrics import Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData

STEPS = 5
"""Numbers that a model writes between two whole ones."""
UNREADABLE = -1.0
_NUMBER = re.compile(r"-? ?[0-9]+( ?\. ?[0-9]+)?")  # a tokenizer may put spaces around a point and behind a minus


class TextToNumber(Generated, Regression):
    """A number for a text, in words."""

    name = "text-to-number"
    closed = True
    metrics = (*Regression.metrics, "no_number", *DEFECTS)

    def blank(self, task: Task, table: Table, text: Sequence[Sequence[Any]]) -> list[float]:
        """Zeros."""
        return [0.0] * len(text[0])

    def written(self, answer: float) -> str:
        """The number with one decimal."""
        return f"{round(STEPS * answer) / STEPS:.1f}"

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The numbers that are written."""
        outputs = Outputs.of(examples, scores)
        readable = np.array([bool(_NUMBER.fullmatch(text)) for text in outputs.texts])
        pairs = zip(outputs.texts, readable, strict=True)
        numbers = [float(text.replace(" ", "")) if good else UNREADABLE for text, good in pairs]
        arrays = outputs.arrays(prediction=np.array(numbers), label=np.array(raw.labels), no_number=~readable)
        del arrays[LOG_LIKELIHOOD]  # `likelihood` follows from the numbers
        return Predicted(arrays=arrays, collapsed=outputs.collapsed)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """Linear and rank correlation, or the percentage of outputs with a defect."""
        return share(arrays[name]) if name in ("no_number", *DEFECTS) else super().score(name, arrays, labels)

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The mean of the training examples."""
        return {"prediction": np.full(len(raw), np.mean(data.train.labels)), "label": np.array(raw.labels)}

    def floor(self, arrays: Arrays, raw: RawExamples, labels: Sequence[str]) -> dict[str, float]:
        """The metrics of numbers."""
        return super().floor({**arrays, "no_number": np.zeros(len(raw)), **no_defects(len(raw))}, raw, labels)
