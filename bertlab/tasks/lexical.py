"""What the lexical floor of each kind of task is made of: words that are counted, without an encoder.

Texts are classified, scored or chosen by a linear model of the words of each, of the pairs of one word of either, and
of how many they share. Words are tagged by a linear model of a window of three. Of a context, the answer is the run of
words nearest to those of the question. `WORDS` words of a text are read, hashed to `FEATURES` features.
"""

from __future__ import annotations

import itertools
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.tasks.examples import Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORDS = 40
FEATURES = 2**18
COUNTS = 5
"""Features that count shared words, in front of the hashed ones."""
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")


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
            pairs, counts = hashed[0][:-1] * 31 + hashed[0][1:] * 17, [0.0] * COUNTS
        found = np.unique(np.concatenate([*parts, pairs % FEATURES])) + COUNTS
        columns.append(np.concatenate([np.arange(COUNTS), found]))
        values.append(np.concatenate([counts, np.ones(len(found))]))
        starts.append(starts[-1] + len(columns[-1]))
    shape = (len(columns), FEATURES + COUNTS)
    return csr_matrix((np.concatenate(values), np.concatenate(columns), np.array(starts)), shape=shape)


def separator(inputs: csr_matrix, labels: Integers) -> Any:
    """A logistic regression that is fitted: one label against the others."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    if len(np.unique(labels)) == 1:
        return DummyClassifier(strategy="most_frequent").fit(inputs, labels)
    model: Any = LogisticRegression(solver="liblinear", max_iter=100)
    model = model if len(np.unique(labels)) == 2 else OneVsRestClassifier(model)
    used = np.unique(inputs.indices)  # the others have no weight, and each step of the fit would read them all
    model = make_pipeline(FunctionTransformer(lambda rows: rows[:, used], accept_sparse=True), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label of no training example; a fit that could go on
        model.fit(inputs, labels)
    return model


def windows(sentences: Sequence[Sequence[str]]) -> csr_matrix:
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


_RUN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")


def nearest(question: str, context: str) -> tuple[str, float]:
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
