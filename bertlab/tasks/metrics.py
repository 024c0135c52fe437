"""Metrics of a task, in points (0 to 100), by scikit-learn, scipy and seqeval.

Entity F1 is seqeval's default mode, which reads tags as the official script conlleval does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.lab.study import Kind
from bertlab.tasks.examples import Floats, Integers
from bertlab.tasks.tagging import is_bio

NAMES: dict[Kind, tuple[str, ...]] = {
    "classification": ("accuracy", "matthews", "f1"),
    "regression": ("pearson", "spearman"),
    "multiple-choice": ("accuracy",),
    "span": ("exact", "f1"),
    "tagging": ("accuracy", "precision", "recall", "f1"),
}
"""The metrics that each kind of task may have; some need two classes, or tags of entities."""


def known(kind: Kind, names: Sequence[str]) -> tuple[str, ...]:
    """The metrics that a task of a kind has whose labels have these names."""
    if kind == "classification" and len(names) != 2:
        return tuple(name for name in NAMES[kind] if name != "f1")
    return ("accuracy",) if kind == "tagging" and not is_bio(names) else NAMES[kind]


def classification(prediction: Integers, label: Integers, classes: int) -> dict[str, float]:
    """Accuracy and Matthews correlation, and of two classes the F1 of the second; (R,) predictions and labels."""
    from sklearn.metrics import f1_score

    found = {"accuracy": accuracy(prediction, label), "matthews": matthews(prediction, label)}
    if classes == 2:
        found["f1"] = 100 * float(f1_score(label, prediction, zero_division=0))
    return found


def tagging(prediction: Integers, label: Integers, sentence: Integers, names: Sequence[str]) -> dict[str, float]:
    """Accuracy over words and, if the tags are BIO, precision, recall and F1 over entities, all types together.

    The arrays are (W,), word after word; `sentence` is the sentence of each. An entity is right if its type and both
    its ends are.
    """
    found = {"accuracy": accuracy(prediction, label)}
    if is_bio(names):
        from seqeval.metrics.sequence_labeling import precision_recall_fscore_support

        starts = np.flatnonzero(np.diff(sentence)) + 1
        # An array of names would make seqeval's comparisons slow; plain strings are what it expects.
        guessed, true = (
            [[names[tag] for tag in part.tolist()] for part in np.split(tags, starts)] for tags in (prediction, label)
        )
        scores = precision_recall_fscore_support(true, guessed, average="micro", zero_division=0)
        found |= {name: 100 * float(value) for name, value in zip(("precision", "recall", "f1"), scores, strict=False)}
    return found


def accuracy(prediction: Integers, label: Integers) -> float:
    """Points of exact agreement."""
    return 100 * float(np.mean(prediction == label))


def matthews(prediction: Integers, label: Integers) -> float:
    """Matthews correlation in points; 0 where predictions or labels are all the same."""
    from sklearn.metrics import matthews_corrcoef

    return 100 * float(matthews_corrcoef(label, prediction))


def pearson(prediction: Floats, score: Floats) -> float:
    """Linear correlation in points; 0 where either is constant."""
    from scipy.stats import pearsonr

    return 0.0 if _constant(prediction, score) else 100 * float(pearsonr(prediction, score).statistic)


def spearman(prediction: Floats, score: Floats) -> float:
    """Rank correlation in points; 0 where either is constant."""
    from scipy.stats import spearmanr

    return 0.0 if _constant(prediction, score) else 100 * float(spearmanr(prediction, score).statistic)


def regression(prediction: Floats, score: Floats) -> dict[str, float]:
    """Both correlations of (R,) predictions with the right numbers: STS-B's metrics."""
    return {"pearson": pearson(prediction, score), "spearman": spearman(prediction, score)}


def _constant(*arrays: npt.NDArray[Any]) -> bool:
    return any(np.ptp(array) == 0 for array in arrays)


def of(kind: Kind, prediction: Integers, label: Integers, owner: Integers, names: Sequence[str]) -> dict[str, float]:
    """The metrics of a kind of task with labels; `owner` is the sentence of each word, or the row of each label."""
    if kind == "tagging":
        return tagging(prediction, label, owner, names)
    if kind == "multiple-choice":  # which number an ending has means nothing
        return {"accuracy": accuracy(prediction, label)}
    return classification(prediction, label, len(names))


def majority(kind: Kind, train: Integers, label: Integers, owner: Integers, names: Sequence[str]) -> dict[str, float]:
    """The metrics of always guessing the most frequent label of the training rows: the floor of a task."""
    guess = int(np.bincount(train, minlength=len(names)).argmax())
    return of(kind, np.full_like(label, guess), label, owner, names)
