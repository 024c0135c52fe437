"""Bag-of-words models for the lexical floor: a linear model of the words of each text, word pairs and the number of
shared words; for tagging, of a window of three words; for spans, the span nearest to words of the question."""

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

from bertlab.tasks.examples import Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

WORDS = 40
"""Only the first words of a text count."""
FEATURES = 2**18
COUNTS = 5
"""The number of features that count shared words; they precede the hashed ones."""
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

    columns, starts, values = [], [0], []
    for texts in zip(*text, strict=True):
        tokens = [words(each) for each in texts]
        hashed = [np.array([_hash(word) for word in each], np.int64) for each in tokens]
        parts = [(each * (2 * side + 3)) % FEATURES for side, each in enumerate(hashed)]
        if len(hashed) == 2:
            pairs = (hashed[0][:, None] * 31 + hashed[1][None, :] * 17).ravel()
            one, two = set(tokens[0]), set(tokens[1])
            both = len(one & two)
            neighbours = [set(itertools.pairwise(each)) for each in tokens]
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


def fit(inputs: csr_matrix, labels: Integers | Floats) -> Any:
    """A fitted one-against-all logistic regression of labels, or a ridge regression of values.

    Fitted on one thread: the order of BLAS's sums, and so the last digits, depend on their number.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _fit(inputs, labels)


def _fit(inputs: csr_matrix, labels: Integers | Floats) -> Any:
    from sklearn import dummy, linear_model, multiclass, pipeline, preprocessing

    if np.issubdtype(labels.dtype, np.floating):
        return linear_model.Ridge(alpha=10.0, solver="sparse_cg", tol=1e-3).fit(inputs, labels)
    if len(np.unique(labels)) == 1:
        return dummy.DummyClassifier(strategy="most_frequent").fit(inputs, labels)
    model: Any = linear_model.LogisticRegression(solver="liblinear", max_iter=100)
    model = model if len(np.unique(labels)) == 2 else multiclass.OneVsRestClassifier(model)
    used = np.unique(inputs.indices)  # the others have no weight and would slow down each step of the fit
    narrow = preprocessing.FunctionTransformer(lambda counts: counts[:, used], accept_sparse=True)
    model = pipeline.make_pipeline(narrow, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label without training examples, or a fit that has not converged
        model.fit(inputs, labels)
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
            found = (f"0{lower[at]}", f"1{before}", f"2{after}", f"3{lower[at][-3:]}", f"4{shape}",
                     f"5{before} {shape}", f"6{shape} {after}")  # fmt: skip
            hashed.append([_hash(each) % FEATURES for each in found])
    columns = np.array(hashed)
    starts = np.arange(len(hashed) + 1) * columns.shape[1]
    return csr_matrix((np.ones(columns.size), columns.ravel(), starts), shape=(len(hashed), FEATURES))


def nearest(question: str, context: str) -> tuple[str, float]:
    """The span of at most four words of a context, none from the question, with the most question words around it (rare
    ones weigh more, capitalised spans get a bonus), and the fraction of the question's words that the context has."""
    words_of_question = set(_RUN.findall(question.lower()))
    places = list(_RUN.finditer(context))
    lower = [place.group().lower() for place in places]
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
