"""Bag-of-words models for the lexical floor: a linear model of the words of each text, word pairs and the number of
shared words; for tagging, of a window of three words; for spans, the span nearest to words of the question."""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab import keyed
from bertlab.arrays import Array, Integer

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORDS = 40
"""The number of words at the beginning of a text that count."""
FEATURES = 2**18
COUNTS = 5
"""The number of features that count shared words; they precede the hashed ones."""
PENALTIES = (1e-3, 1e-4, 1e-5)
"""Penalties of the logistic regression, per example; the first one if there are too few examples to hold any back."""
RIDGES = (10.0, 1.0, 100.0)
"""Penalties of the ridge regression."""
HELD_BACK = 2_000
"""The largest number of training examples, a fifth of them at most, that choose the penalty."""
TRIED = 2_000
"""The largest number of other examples that are fitted to choose the penalty."""
PART = 2_000
"""Examples that are encoded at a time."""
VISITS = 40_000_000
"""Values of features, times outputs, that a fit reads in all: it makes up to `PASSES` over the examples within this
number, a few seconds, and one over more. Parts that allow two are kept in memory, 160 MB at most."""
PASSES = 10
Answers = Array
"""Labels or values."""
Part = tuple["csr_matrix", Answers]
"""The features of examples, a row each, and their answers."""
Encoded = Callable[[Integer], Part]
"""Maps the indices of examples to their features, a row each (or a row for each of their words), and answers."""
_RUN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")


@lru_cache(maxsize=100_000)
def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def words(text: str) -> list[str]:
    """The first `WORDS` words and punctuation marks of a text, in lower case."""
    return _WORD.findall(text.lower())[:WORDS]


def features(text: Sequence[Sequence[str]]) -> csr_matrix:
    """(E, COUNTS + FEATURES) of one or two columns: counts of shared words, then hashed words and word pairs (one word
    of each text; in a single column, two adjacent words)."""
    from scipy.sparse import csr_matrix

    counted = np.arange(COUNTS)
    columns, starts, values = list[Array](), [0], []
    for texts in zip(*text, strict=True):
        tokens = [words(passage) for passage in texts]
        hashed = [np.array([*map(_hash, token_list)], np.int64) for token_list in tokens]
        parts = [hashes * (2 * side + 3) for side, hashes in enumerate(hashed)]
        if len(hashed) == 2:
            pairs = (hashed[0][:, None] * 31 + hashed[1] * 17).ravel()
            one, two = set(tokens[0]), set(tokens[1])
            both = len(one & two)
            neighbours = [set(itertools.pairwise(token_list)) for token_list in tokens]
            counts = [both / max(1, len(one)), both / max(1, len(two)), len(one) / WORDS, len(two) / WORDS,
                      len(neighbours[0] & neighbours[1]) / WORDS]  # fmt: skip
        else:
            pairs, counts = hashed[0][:-1] * 31 + hashed[0][1:] * 17, [0.0] * COUNTS
        hashed_features = np.concatenate([*parts, pairs]) & (FEATURES - 1)
        hashed_features.sort()
        hashed_features = hashed_features[np.flatnonzero(np.diff(hashed_features, prepend=-1))] + COUNTS
        columns += counted, hashed_features
        starts.append(starts[-1] + COUNTS + len(hashed_features))
        values.append(counts)
    shape = (len(values), FEATURES + COUNTS)
    entries = np.ones(starts[-1])
    entries[np.add.outer(starts[:-1], counted)] = values
    return csr_matrix((entries, np.concatenate(columns).astype(np.int32), np.array(starts, np.int32)), shape=shape)


def fit(count: int, classes: Array | None, encoded: Encoded) -> Any:
    """A linear model of `count` training examples: a logistic regression with an output for each of `classes`, or a
    ridge regression of values if these are None.

    The penalty is the one of `PENALTIES` with the best likelihood of held-back training examples (of `RIDGES`, with the
    least squared error). The fit is averaged stochastic descent in a keyed order, since it has to read as many examples
    as an encoder does. It runs on one thread: the order of BLAS's sums, and so the last digits, depend on their number.
    """
    from threadpoolctl import threadpool_limits

    if classes is not None and len(classes) == 1:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="most_frequent").fit(*encoded(np.arange(1)))
    order = keyed.permutation(keyed.key("lexical"), count)
    held = min(HELD_BACK, count // 5)
    penalties = RIDGES if classes is None else PENALTIES
    with threadpool_limits(1):
        penalty, begun = penalties[0], list[Part]()
        if held:
            tested, trained = encoded(order[:held]), encoded(order[held : held + TRIED])
            penalty = min(
                penalties, key=lambda candidate: _error(_fitted([trained], classes, candidate), *tested, classes)
            )
            begun = [tested, trained] if held == TRIED == PART else []  # the first parts of all
        others = (encoded(order[start : start + PART]) for start in range(PART * len(begun), count, PART))
        return _fitted(itertools.chain(begun, others), classes, penalty)


def _error(model: Any, inputs: csr_matrix, labels: Answers, classes: Array | None) -> float:
    from sklearn.metrics import log_loss, mean_squared_error

    if classes is None:
        return float(mean_squared_error(labels, model.predict(inputs)))
    return float(log_loss(labels, model.predict_proba(inputs), labels=classes))


def _fitted(parts: Iterable[Part], classes: Array | None, penalty: float) -> Any:
    """A model of all parts, which are read once, and kept for further passes if their examples are few."""
    from scipy.sparse import vstack
    from sklearn.linear_model import Ridge, SGDClassifier

    outputs = 1 if classes is None or len(classes) == 2 else len(classes)
    model, values = SGDClassifier(loss="log_loss", alpha=penalty, average=True, shuffle=False), 0
    remembered: list[Part] = []
    for inputs, labels in parts:
        values += inputs.nnz * outputs
        if 2 * values <= VISITS:
            remembered.append((inputs, labels))
        if classes is not None:
            model.partial_fit(inputs, labels, classes=classes)
    if classes is None:
        stacked, answers = (
            vstack([inputs for inputs, _ in remembered]),
            np.concatenate([labels for _, labels in remembered]),
        )
        return Ridge(alpha=penalty, solver="sparse_cg", tol=1e-3).fit(stacked, answers)
    for _ in range(1, min(PASSES, VISITS // max(1, values))):
        for inputs, labels in remembered:
            model.partial_fit(inputs, labels)
    return model


def windows(sentences: Sequence[Sequence[str]]) -> csr_matrix:
    """(W, FEATURES) of every word: the word, its neighbours, its suffix, and whether it is capitalised."""
    from scipy.sparse import csr_matrix

    hashed = []
    for sentence in sentences:
        lower = ["", *(word.lower() for word in sentence), ""]
        for at, word in enumerate(sentence, start=1):
            shape = f"{word[:1].isupper()}{word.isalpha()}{at == 1}"
            before, after = lower[at - 1], lower[at + 1]
            active = (f"0{lower[at]}", f"1{before}", f"2{after}", f"3{lower[at][-3:]}", f"4{shape}",
                     f"5{before} {shape}", f"6{shape} {after}")  # fmt: skip
            hashed.append([_hash(feature) % FEATURES for feature in active])
    columns = np.array(hashed)
    starts = np.arange(len(hashed) + 1) * columns.shape[1]
    return csr_matrix((np.ones(columns.size), columns.ravel(), starts), shape=(len(hashed), FEATURES))


def nearest(question: str, context: str) -> tuple[str, float]:
    """The span of at most four words of a context, none from the question, with the most question words around it (rare
    ones weigh more, capitalised spans get a bonus), and the fraction of the question's words that the context has."""
    words_of_question = set(_RUN.findall(question.lower()))
    places = list(_RUN.finditer(context))
    lower = [match.group().lower() for match in places]
    often = Counter(lower)
    weight = np.array([1 / often[word] if word in words_of_question else 0.0 for word in lower])
    around = np.convolve(weight, np.ones(11), mode="same") if len(weight) else weight
    best, chosen, at = -1.0, "", 0
    while at < len(places):
        end = at
        while end < len(places) and end - at < 4 and lower[end] not in words_of_question:
            end += 1
        if end > at:
            value = float(around[at:end].mean()) + 0.5 * context[places[at].start()].isupper()
            if value > best:
                best, chosen = value, context[places[at].start() : places[end - 1].end()]
        at = max(end, at + 1)
    return chosen, len(words_of_question & set(lower)) / max(1, len(words_of_question))
