"""What a measurement comes to: the metrics of a task, its floor, and the predictions that paired tests are made of."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from bertlab import keyed
from bertlab.tasks import metrics, span, squad
from bertlab.tasks.data import TaskData
from bertlab.tasks.examples import Examples, Floats
from bertlab.tasks.rows import Rows


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a model's scores on the rows of one split say."""

    rows: int
    """How many there are."""
    metrics: dict[str, float]
    """In points."""
    majority: dict[str, float]
    """The same metrics of the best constant guess from the training rows: the most frequent label or answer, or the
    mean."""
    predictions: dict[str, npt.NDArray[Any]]
    """Of each row, or of each word: `prediction` and `label` and, of labels, the `log_likelihood` of the
    right one (nats); for tagging also `sentence`, the row that the word is of. Of each question of spans: `prediction`,
    from which to which character of the context, 0 to 0 for no answer; `exact` and `f1`, 0 to 1; `log_likelihood` of
    the likeliest right answer. Where rows hang together, the `group` of each."""
    collapsed: bool
    """Whether all predictions are one and the same."""
    exchanged: dict[str, float] | None = None
    """The same metrics where one of two texts is another example's, see `exchanged`; None without a second text."""
    threshold: float | None = None
    """The tau of questions that may have no answer, see `squad.threshold`."""


@dataclass(frozen=True, kw_only=True)
class Outcome(Judgement):
    """What a measurement leaves: the judgement of the evaluation rows, and beside it that of the test rows, if any."""

    test: Judgement | None = None
    curve: list[dict[str, float]]
    """`step` and the mean training `loss` since the point before (nats)."""
    steps: int
    training_rows: int


def outcome(
    data: TaskData,
    train: Examples,
    judged: Sequence[Examples],
    scores: Sequence[Floats],
    curve: list[dict[str, float]],
    steps: int,
) -> Outcome:
    """Judges the logits, (W, C), of the evaluation rows and of the test rows, if any, by the kind of the task."""
    found = judge(data, data.evaluation, train, judged[0], scores[0])
    _keep_groups(found, data.evaluation)
    test = None
    if data.test is not None:
        test = judge(data, data.test, train, judged[1], scores[1], found.threshold)
        _keep_groups(test, data.test)
    return Outcome(**vars(found), test=test, curve=curve, steps=steps, training_rows=train.rows)


EXCHANGED = 1_000
"""Examples at most whose second text is exchanged."""


def exchanged(data: TaskData, rows: Rows) -> Rows | None:
    """The first `EXCHANGED` examples, one text of each another example's: a floor that a model reaches on the other.

    It is the second of two texts, the question about a context, the context of several endings. None for one text.
    """
    if len(rows.text) < 2 or len(rows) < 2:
        return None
    rows = rows.take(np.arange(min(EXCHANGED, len(rows))))
    column = 0 if data.kind in ("span", "multiple-choice") else 1
    order = keyed.permutation(keyed.key("exchanged"), len(rows))
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)  # each has another's, none its own
    text = [each if at != column else [each[row] for row in other] for at, each in enumerate(rows.text)]
    return dataclasses.replace(rows, text=tuple(text))


def _keep_groups(judgement: Judgement, rows: Rows) -> None:
    """Puts the groups beside the predictions, if any row shares its own."""
    groups = rows.groups
    if groups is not None and len(np.unique(groups)) < len(groups):
        judgement.predictions["group"] = groups.astype(np.int32)


def judge(
    data: TaskData, rows: Rows, train: Examples, judged: Examples, scores: Floats, threshold: float | None = None
) -> Judgement:
    """What logits (W, C) say of a split; `threshold` as of `Judgement`, chosen here if it takes one and has none."""
    if data.kind == "span":
        return _answers(data, rows, cast(span.Windows, judged), scores, threshold)
    return _numbers(train, judged, scores) if data.kind == "regression" else _labels(data, train, judged, scores)


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
        rows=judged.rows,
        metrics=metrics.of(data.kind, prediction, label, judged.owners, data.labels),
        majority=metrics.majority(data.kind, train.targets, label, judged.owners, data.labels),
        predictions=predictions,
        collapsed=bool((prediction == prediction[0]).all()),
    )


def _numbers(train: Examples, judged: Examples, scores: Floats) -> Judgement:
    prediction, label = scores[:, 0].astype(np.float64), judged.targets
    return Judgement(
        rows=judged.rows,
        metrics=metrics.regression(prediction, label),
        majority=metrics.regression(np.full_like(prediction, train.targets.mean()), label),
        predictions={"prediction": prediction.astype(np.float32), "label": label.astype(np.float32)},
        # Numbers are never quite the same: a hundredth of the spread of the right ones is nothing.
        collapsed=bool(prediction.std() <= label.std() / 100),
    )


def _answers(
    data: TaskData, rows: Rows, judged: span.Windows, scores: Floats, threshold: float | None = None
) -> Judgement:
    """Without a `threshold` for questions that may have no answer, the best one for these rows is taken."""
    contexts = rows.text[1]
    right = cast(list[span.Answers], rows.labels)
    train = cast(list[span.Answers], data.train.labels)
    found = span.best(judged, scores)
    if judged.turns == 3:  # a classifier says which questions have an answer, at a probability of one half
        threshold = 0.0
    places = np.stack([found.begins, found.ends], axis=1)
    if threshold is None and not all(answers.texts for answers in (*train, *right)):
        _, answered = _scored(contexts, places, right)
        threshold = squad.threshold(found.margins, answered, np.array([float(not each.texts) for each in right]))
    if threshold is not None:
        places = np.where(found.margins[:, None] > threshold, places, 0)
    exact, f1 = _scored(contexts, places, right)
    # The most frequent answer of the training rows, in their normal form, "" for none.
    guess = Counter(squad.normalised(each.texts[0]) if each.texts else "" for each in train).most_common(1)[0][0]
    texts = {context[begin:end] for context, (begin, end) in zip(contexts, places, strict=True)}
    return Judgement(
        rows=judged.rows,
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
