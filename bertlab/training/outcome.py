"""What a measurement comes to: the metrics of a task, its floor, and the predictions that paired tests are made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from bertlab.tasks import metrics, span, squad
from bertlab.tasks.data import TaskData
from bertlab.tasks.examples import Examples, Floats


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a model's scores on the evaluation rows say."""

    metrics: dict[str, float]
    """On the evaluation rows, in points."""
    majority: dict[str, float]
    """The same metrics of the best constant guess from the training rows: the most frequent label or answer, or the
    mean."""
    predictions: dict[str, npt.NDArray[Any]]
    """Of each evaluation row, or of each word: `prediction` and `label` and, of labels, the `log_likelihood` of the
    right one (nats); for tagging also `sentence`, the row that the word is of. Of each question of spans: `prediction`,
    from which to which character of the context, 0 to 0 for no answer; `exact` and `f1`, 0 to 1; `log_likelihood` of
    the likeliest right answer."""
    collapsed: bool
    """Whether all predictions are one and the same."""
    threshold: float | None = None
    """The tau of questions that may have no answer, see `squad.threshold`."""


@dataclass(frozen=True, kw_only=True)
class Outcome(Judgement):
    """What a measurement leaves."""

    curve: list[dict[str, float]]
    """`step` and the mean training `loss` since the point before (nats)."""
    steps: int
    training_rows: int
    evaluation_rows: int


def outcome(
    data: TaskData, train: Examples, judged: Examples, scores: Floats, curve: list[dict[str, float]], steps: int
) -> Outcome:
    """Judges the logits of the evaluation rows, (W, C), by the kind of the task."""
    if data.kind == "span":
        found = _answers(data, cast(span.Windows, judged), scores)
    elif data.kind == "regression":
        found = _numbers(train, judged, scores)
    else:
        found = _labels(data, train, judged, scores)
    return Outcome(**vars(found), curve=curve, steps=steps, training_rows=train.rows, evaluation_rows=judged.rows)


def _labels(data: TaskData, train: Examples, judged: Examples, scores: Floats) -> Judgement:
    prediction, label = scores.argmax(-1), judged.targets
    predictions = {
        "prediction": prediction.astype(np.int32),
        "label": label.astype(np.int32),
        "log_likelihood": log_softmax(scores, -1)[np.arange(len(label)), label],
    }
    if data.kind == "tagging":
        predictions["sentence"] = judged.owners.astype(np.int32)
    return Judgement(
        metrics=metrics.of(data.kind, prediction, label, judged.owners, data.labels),
        majority=metrics.majority(data.kind, train.targets, label, judged.owners, data.labels),
        predictions=predictions,
        collapsed=bool((prediction == prediction[0]).all()),
    )


def _numbers(train: Examples, judged: Examples, scores: Floats) -> Judgement:
    prediction, label = scores[:, 0].astype(np.float64), judged.targets
    return Judgement(
        metrics=metrics.regression(prediction, label),
        majority=metrics.regression(np.full_like(prediction, train.targets.mean()), label),
        predictions={"prediction": prediction.astype(np.float32), "label": label.astype(np.float32)},
        # Numbers are never quite the same: a hundredth of the spread of the right ones is nothing.
        collapsed=bool(prediction.std() <= label.std() / 100),
    )


def _answers(data: TaskData, judged: span.Windows, scores: Floats) -> Judgement:
    contexts = data.evaluation.text[1][: judged.rows]
    right = cast(list[span.Answers], data.evaluation.labels)[: judged.rows]
    train = cast(list[span.Answers], data.train.labels)
    found = span.best(judged, scores)
    places = np.stack([found.begins, found.ends], axis=1)
    threshold = None
    if not all(answers.texts for answers in (*train, *right)):
        _, answered = _scored(contexts, places, right)
        threshold = squad.threshold(found.margins, answered, np.array([float(not each.texts) for each in right]))
        places = np.where(found.margins[:, None] > threshold, places, 0)
    exact, f1 = _scored(contexts, places, right)
    # The most frequent answer of the training rows, in their normal form, "" for none.
    guess = Counter(squad.normalised(each.texts[0]) if each.texts else "" for each in train).most_common(1)[0][0]
    texts = {context[begin:end] for context, (begin, end) in zip(contexts, places, strict=True)}
    return Judgement(
        metrics={"exact": 100 * float(exact.mean()), "f1": 100 * float(f1.mean())},
        majority={
            "exact": 100 * float(np.mean([squad.exact(guess, each.texts) for each in right])),
            "f1": 100 * float(np.mean([squad.f1(guess, each.texts) for each in right])),
        },
        predictions={
            "prediction": places.astype(np.int32),
            "exact": exact.astype(np.float32),
            "f1": f1.astype(np.float32),
            "log_likelihood": span.log_likelihoods(judged, right, log_softmax(scores, -1)),
        },
        collapsed=len(texts) == 1,
        threshold=threshold,
    )


def _scored(contexts: list[str], places: npt.NDArray[Any], right: list[span.Answers]) -> tuple[Floats, Floats]:
    """Exact match and F1 of each question, (Q,) each, 0 to 1."""
    texts = [context[begin:end] for context, (begin, end) in zip(contexts, places, strict=True)]
    pairs = [(text, each.texts) for text, each in zip(texts, right, strict=True)]
    return np.array([squad.exact(*pair) for pair in pairs]), np.array([squad.f1(*pair) for pair in pairs])
