"""Classification in words: the answer is the text of a label, as T5 has GLUE and SuperGLUE (Raffel et al. 2020, 2.4).

An output that is no label is wrong. For Matthews correlation it is a class of its own, as in T5's code; for F1 it is
not the second label (T5's code takes it for the label that is not right).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.arrays import Float
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import Predicted
from bertlab.tasks.kinds.classification import Classification
from bertlab.tasks.kinds.generated import DEFECTS, Generated, Outputs, no_defects, share
from bertlab.tasks.kinds.scoring import Arrays
from bertlab.tasks.metrics import Metric
from bertlab.tasks.task import RawExamples, Table, Task, TaskData


class TextToLabel(Generated, Classification):
    """The text of a label for a text. An answer is that text."""

    name = "text-to-label"
    closed = True
    metrics = (*Classification.metrics, "no_label", *DEFECTS)

    def answers(self, task: Task, table: Table, names: tuple[str, ...]) -> list[str]:
        """The names of the labels."""
        return [names[number] for number in super().answers(task, table, names)]

    def written(self, answer: str) -> str:
        """The name of the label."""
        return answer

    def predict(
        self, data: TaskData, raw: RawExamples, examples: Examples, scores: Float, threshold: float | None = None
    ) -> Predicted:
        """The labels that are written, -1 for other texts."""
        outputs = Outputs.of(examples, scores)
        numbers = {name: number for number, name in enumerate(outputs.tokenizer.spelled(data.labels))}
        prediction = np.array([numbers.get(text, -1) for text in outputs.texts])
        label = np.array([data.labels.index(name) for name in raw.labels])
        return Predicted(arrays=outputs.arrays(prediction=prediction, label=label), collapsed=outputs.collapsed)

    def score(self, name: str, arrays: Arrays, labels: Sequence[str]) -> Metric:
        """A metric of classification, or the percentage of outputs with a defect."""
        if name in DEFECTS:
            return share(arrays[name])
        if name == "no_label":
            return share(arrays["prediction"] < 0)
        if name == "matthews":
            prediction = arrays["prediction"]
            none = 1 + max(int(prediction.max()), int(arrays["label"].max()))
            arrays = {**arrays, "prediction": np.where(prediction < 0, none, prediction)}
        return super().score(name, arrays, labels)

    def majority(self, data: TaskData, raw: RawExamples, train: Examples, examples: Examples) -> Arrays:
        """The most frequent label of the training examples."""
        (name, _), *_ = Counter(data.train.labels).most_common()
        return {"prediction": np.full(len(raw), name), "label": np.array(raw.labels)}

    def floor(self, arrays: Arrays, raw: RawExamples, labels: Sequence[str]) -> dict[str, float]:
        """The metrics of names of labels."""
        order = np.argsort(labels)
        numbers = {name: order[np.searchsorted(labels, values, sorter=order)] for name, values in arrays.items()}
        return super().floor({**numbers, **no_defects(len(raw))}, raw, labels)
