"""The lexical floor of a task: what its words reach when they are counted, without an encoder.

Texts are classified, scored or chosen by a linear model of the words of each, of the pairs of one word of either, and
of how many they share. Words are tagged by a linear model of a window of three. Of a context, the answer is the run of
words nearest to those of the question. It is bounded: `EXAMPLES` training examples (a keyed sample), `WORDS` words of a
text, hashed to `FEATURES` features.
"""

from __future__ import annotations

import itertools
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bertlab import keyed
from bertlab.tasks import metrics, span, squad
from bertlab.tasks.data import TaskData
from bertlab.tasks.examples import Integers
from bertlab.tasks.rows import Rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EXAMPLES = 4_000
WORDS = 40
FEATURES = 2**18
_COUNTS = 5
"""Features that count shared words, in front of the hashed ones."""
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")

_found: dict[tuple[str, ...], list[dict[str, float]]] = {}


def lexical(data: TaskData) -> list[dict[str, float]]:
    """The metrics (points) on the evaluation examples and, if there are such, on the test examples.

    Computed once a process for the same content.
    """
    first = [str(column[0]) for rows in (data.train, data.evaluation) for column in rows.text]
    key = (data.content, data.name, data.kind, *data.labels, *first)
    if key not in _found:
        _found[key] = _KINDS[data.kind](
            data, _sample(data.train), [part for part in (data.evaluation, data.test) if part]
        )
    return _found[key]


def _sample(train: Rows) -> Rows:
    if len(train) <= EXAMPLES:
        return train
    return train.take(np.sort(keyed.permutation(keyed.key("lexical"), len(train))[:EXAMPLES]))


@lru_cache(maxsize=100_000)
def _hash(word: str) -> int:
    return zlib.crc32(word.encode())


def words(text: str) -> list[str]:
    """The words and marks of a text in lower case, the first `WORDS`."""
    return _WORD.findall(text.lower())[:WORDS]


def features(text: Sequence[Sequence[str]]) -> csr_matrix:
    """(R, FEATURES + 5) of one or two columns: hashed words, pairs of words, and counts of shared ones.

    Pairs are of a word of either text; of one text alone, of neighbours.
    """
    from scipy.sparse import csr_matrix

    columns, starts, values = [], [0], []
    for texts in zip(*text, strict=True):
        told = [words(each) for each in texts]
        hashed = [np.array([_hash(word) for word in each], np.int64) for each in told]
        parts = [(each * (2 * side + 3)) % FEATURES for side, each in enumerate(hashed)]
        if len(hashed) == 2:
            pairs = (hashed[0][:, None] * 31 + hashed[1][None, :] * 17).ravel()
            one, two = set(told[0]), set(told[1])
            both = len(one & two)
            neighbours = [set(itertools.pairwise(each)) for each in told]
            counts = [both / max(1, len(one)), both / max(1, len(two)), len(one) / WORDS, len(two) / WORDS,
                      len(neighbours[0] & neighbours[1]) / WORDS]  # fmt: skip
        else:
            pairs, counts = hashed[0][:-1] * 31 + hashed[0][1:] * 17, [0.0] * _COUNTS
        found = np.unique(np.concatenate([*parts, pairs % FEATURES])) + _COUNTS
        columns.append(np.concatenate([np.arange(_COUNTS), found]))
        values.append(np.concatenate([counts, np.ones(len(found))]))
        starts.append(starts[-1] + len(columns[-1]))
    shape = (len(columns), FEATURES + _COUNTS)
    return csr_matrix((np.concatenate(values), np.concatenate(columns), np.array(starts)), shape=shape)


def shared(data: TaskData) -> dict[str, float]:
    """The metrics of the counts of shared words alone, of a classification of two texts."""
    return _classified(data, _sample(data.train), [data.evaluation], used=_COUNTS)[0]


def _separator(inputs: csr_matrix, labels: Integers) -> Any:
    """A logistic regression that is fitted: one label against the others."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    if len(np.unique(labels)) == 1:
        return DummyClassifier(strategy="most_frequent").fit(inputs, labels)
    model: Any = LogisticRegression(solver="liblinear", max_iter=100)
    model = model if len(np.unique(labels)) == 2 else OneVsRestClassifier(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label of no training example; a fit that could go on
        model.fit(inputs, labels)

    return model


def _classified(
    data: TaskData, train: Rows, judged: list[Rows], used: int = FEATURES + _COUNTS
) -> list[dict[str, float]]:
    model = _separator(features(train.text)[:, :used], np.array(train.labels))
    return [
        metrics.of(
            "classification",
            model.predict(features(rows.text)[:, :used]),
            np.array(rows.labels),
            np.arange(len(rows)),
            data.labels,
        )
        for rows in judged
    ]


def _scored(data: TaskData, train: Rows, judged: list[Rows]) -> list[dict[str, float]]:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=10.0, solver="sparse_cg", tol=1e-3).fit(features(train.text), np.array(train.labels))
    return [metrics.regression(model.predict(features(rows.text)), np.array(rows.labels)) for rows in judged]


def _chosen(data: TaskData, train: Rows, judged: list[Rows]) -> list[dict[str, float]]:
    def flat(rows: Rows) -> csr_matrix:
        contexts, *endings = rows.text
        return features(
            [[text for text in contexts for _ in endings], [each for row in zip(*endings, strict=True) for each in row]]
        )

    choices = len(train.text) - 1
    model = _separator(flat(train), (np.array(train.labels)[:, None] == np.arange(choices)).ravel().astype(int))
    return [
        metrics.of(
            "multiple-choice",
            model.decision_function(flat(rows)).reshape(-1, choices).argmax(1),
            np.array(rows.labels),
            np.arange(len(rows)),
            data.labels,
        )
        for rows in judged
    ]


def _windows(sentences: Sequence[Sequence[str]]) -> csr_matrix:
    """(W, FEATURES) of every word: itself, its neighbours, its end and whether it has a capital."""
    from scipy.sparse import csr_matrix

    rows = []
    for sentence in sentences:
        lower = ["", *(word.lower() for word in sentence), ""]
        for at, word in enumerate(sentence, start=1):
            shape = f"{word[:1].isupper()}{word.isalpha()}{at == 1}"
            before, after = lower[at - 1], lower[at + 1]
            told = (f"0{lower[at]}", f"1{before}", f"2{after}", f"3{lower[at][-3:]}", f"4{shape}", f"5{before} {shape}",
                    f"6{shape} {after}")  # fmt: skip
            rows.append([_hash(each) % FEATURES for each in told])
    columns = np.array(rows)
    starts = np.arange(len(rows) + 1) * columns.shape[1]
    return csr_matrix((np.ones(columns.size), columns.ravel(), starts), shape=(len(rows), FEATURES))


def _tagged(data: TaskData, train: Rows, judged: list[Rows]) -> list[dict[str, float]]:
    model = _separator(_windows(train.text[0]), np.concatenate(cast(list[Integers], train.labels)))
    return [_tags(data, rows, model.predict(_windows(rows.text[0]))) for rows in judged]


def _tags(data: TaskData, rows: Rows, prediction: Integers) -> dict[str, float]:
    labels = cast(list[Integers], rows.labels)
    owners = np.repeat(np.arange(len(rows)), [len(each) for each in labels])
    return metrics.of("tagging", prediction, np.concatenate(labels), owners, data.labels)


_RUN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")


def _nearest(question: str, context: str) -> tuple[str, float]:
    """The run of at most four words of a context, none of the question's, with most words of the question around it.

    Words count the more the rarer they are in the context; runs of capitals go first. Also how many of the question's
    words are there, 0 to 1.
    """
    asked = set(_RUN.findall(question.lower()))
    places = list(_RUN.finditer(context))
    lower = [place.group().lower() for place in places]
    often = Counter(lower)
    weight = np.array([1 / often[word] if word in asked else 0.0 for word in lower])
    around = np.convolve(weight, np.ones(11), mode="same") if len(weight) else weight
    best, chosen = -1.0, ""
    at = 0
    while at < len(places):
        end = at
        while end < len(places) and end - at < 4 and lower[end] not in asked:
            end += 1
        if end > at:
            value = float(around[at:end].mean()) + 0.5 * context[places[at].start()].isupper()
            if value > best:
                best, chosen = value, context[places[at].start() : places[end - 1].end()]
        at = max(end, at + 1)
    return chosen, len(asked & set(lower)) / max(1, len(asked))


def _answered(data: TaskData, train: Rows, judged: list[Rows]) -> list[dict[str, float]]:
    def tried(rows: Rows) -> tuple[list[tuple[str, float]], list[span.Answers]]:
        return [_nearest(*pair) for pair in zip(*rows.text, strict=True)], cast(list[span.Answers], rows.labels)

    def f1(threshold: float, found: list[tuple[str, float]], right: list[span.Answers]) -> float:
        pairs = zip(found, right, strict=True)
        return float(np.mean([squad.f1(text if s >= threshold else "", each.texts) for (text, s), each in pairs]))

    found, right = tried(train)
    levels = sorted({share for _, share in found}) if any(not each.texts for each in right) else [0.0]
    levels = [*levels[:: max(1, len(levels) // 20)], 2.0] if len(levels) > 1 else [0.0]
    threshold = max(levels, key=lambda level: f1(level, found, right))
    results = []
    for rows in judged:
        found, right = tried(rows)
        texts = [text if share >= threshold else "" for text, share in found]
        exact = [squad.exact(text, each.texts) for text, each in zip(texts, right, strict=True)]
        results.append({"exact": 100 * float(np.mean(exact)), "f1": 100 * f1(threshold, found, right)})
    return results


_KINDS: dict[str, Callable[[TaskData, Rows, list[Rows]], list[dict[str, float]]]] = {
    "classification": _classified,
    "regression": _scored,
    "multiple-choice": _chosen,
    "tagging": _tagged,
    "span": _answered,
}
