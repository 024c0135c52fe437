"""What models of words reach on each kind of task, without an encoder: its lexical floor.

For classification, regression and multiple choice, a linear model of the words of each text, of word pairs, and of the
number of shared words; for tagging, a linear model of a window of three words; for spans, the span of the context
nearest to words of the question. The first `WORDS` words of a text are hashed to `FEATURES` features.
"""

from __future__ import annotations

import itertools
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.tasks import kinds
from bertlab.tasks.examples import Integers
from bertlab.tasks.kinds.multiple_choice import pairs_of
from bertlab.tasks.kinds.span import scores_of
from bertlab.tasks.raw import RawExamples, TaskData

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EXAMPLES = 4_000
"""At most this many training examples, a keyed sample, fit a model."""

WORDS = 40
FEATURES = 2**18
COUNTS = 5
"""The number of features that count shared words; they precede the hashed ones."""
_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")


@lru_cache(maxsize=100_000)
def _hash(word: str) -> int:
    return zlib.crc32(word.encode())


def words(text: str) -> list[str]:
    """The first `WORDS` words and punctuation marks of a text, in lower case."""
    return _WORD.findall(text.lower())[:WORDS]


def features(text: Sequence[Sequence[str]]) -> csr_matrix:
    """(E, COUNTS + FEATURES) of one or two columns: counts of shared words, then hashed words and word pairs.

    A pair has one word of each text; in a single column, two adjacent words.
    """
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


def fit_classifier(inputs: csr_matrix, labels: Integers) -> Any:
    """A fitted one-against-all logistic regression."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    if len(np.unique(labels)) == 1:
        return DummyClassifier(strategy="most_frequent").fit(inputs, labels)
    model: Any = LogisticRegression(solver="liblinear", max_iter=100)
    model = model if len(np.unique(labels)) == 2 else OneVsRestClassifier(model)
    used = np.unique(inputs.indices)  # the others have no weight and would slow down each step of the fit
    model = make_pipeline(FunctionTransformer(lambda counts: counts[:, used], accept_sparse=True), model)
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


_RUN = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")


def nearest(question: str, context: str) -> tuple[str, float]:
    """The span of at most four words of a context, none from the question, with the most question words around it.

    Rare words of the context weigh more, and capitalised spans get a bonus. Also returns the fraction of the question's
    words that the context contains.
    """
    words_of_question = set(_RUN.findall(question.lower()))
    places = list(_RUN.finditer(context))
    lower = [place.group().lower() for place in places]
    often = Counter(lower)
    weight = np.array([1 / often[word] if word in words_of_question else 0.0 for word in lower])
    around = np.convolve(weight, np.ones(11), mode="same") if len(weight) else weight
    best, chosen = -1.0, ""
    at = 0
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


Arrays = Mapping[str, npt.NDArray[Any]]


def _whole(train: RawExamples, evaluated: RawExamples) -> Arrays:
    model = fit_classifier(features(train.text), np.array(train.labels))
    return {"prediction": model.predict(features(evaluated.text)), "label": np.array(evaluated.labels)}


def _value(train: RawExamples, evaluated: RawExamples) -> Arrays:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=10.0, solver="sparse_cg", tol=1e-3).fit(features(train.text), np.array(train.labels))
    return {"prediction": model.predict(features(evaluated.text)), "label": np.array(evaluated.labels)}


def _choice(train: RawExamples, evaluated: RawExamples) -> Arrays:
    """The context with each ending: right or not."""
    choices = len(train.text) - 1
    right = (np.array(train.labels)[:, None] == np.arange(choices)).ravel().astype(int)
    model = fit_classifier(features(pairs_of(train.text)), right)
    scores = model.decision_function(features(pairs_of(evaluated.text))).reshape(-1, choices)
    return {"prediction": scores.argmax(1), "label": np.array(evaluated.labels)}


def _tags(train: RawExamples, evaluated: RawExamples) -> Arrays:
    model = fit_classifier(windows(train.text[0]), np.concatenate(train.labels))
    return {
        "prediction": model.predict(windows(evaluated.text[0])),
        "label": np.concatenate(evaluated.labels),
        "sentence": np.repeat(np.arange(len(evaluated)), [len(each) for each in evaluated.labels]),
    }


def _span(train: RawExamples, evaluated: RawExamples) -> Arrays:
    """The nearest span, if the context contains enough words of the question."""
    found = {id(part): [nearest(*pair) for pair in zip(*part.text, strict=True)] for part in (train, evaluated)}

    def scores(part: RawExamples, threshold: float) -> Arrays:
        return scores_of([text if share >= threshold else "" for text, share in found[id(part)]], part.labels)

    thresholds = [0.0]
    if not all(each.texts for each in train.labels):
        shares = sorted({share for _, share in found[id(train)]})
        thresholds = [*shares[:: max(1, len(shares) // 20)], 2.0] if len(shares) > 1 else [0.0]
    return scores(evaluated, max(thresholds, key=lambda each: float(scores(train, each)["f1"].mean())))


_KINDS: dict[str, Callable[[RawExamples, RawExamples], Arrays]] = {
    "classification": _whole,
    "regression": _value,
    "multiple-choice": _choice,
    "tagging": _tags,
    "span": _span,
}


def floor(data: TaskData) -> dict[str, float]:
    """The metrics of the evaluation split by a model that is fitted to at most `EXAMPLES` training examples."""
    train = data.train
    if len(train) > EXAMPLES:
        train = train.take(np.sort(keyed.permutation(keyed.key("lexical"), len(train))[:EXAMPLES]))
    return kinds.find(data.kind).values(_KINDS[data.kind](train, data.evaluation), data.labels)
