"""The official metrics of SQuAD 1.1 (Rajpurkar et al. 2016) and 2.0 (2018), and the threshold of BERT section 4.3."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.tasks.examples import Floats

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """`text` in lower case, without ASCII punctuation and articles, its words parted by single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(prediction: str, answers: Sequence[str]) -> float:
    """1 if `prediction` is one of the right answers once both are normalised, else 0.

    As in the script of 2.0, answers of which nothing is left do not count; if none counts, nothing is the right answer.
    """
    return float(normalised(prediction) in _right(answers))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """The F1 (0 to 1) of the words of `prediction` with those of the right answer that is nearest to it.

    Where there is nothing to say, or nothing is said, it is 1 if both are so, else 0.
    """
    return max(_overlap(normalised(prediction).split(), answer.split()) for answer in _right(answers))


def _right(answers: Sequence[str]) -> list[str]:
    return [answer for answer in map(normalised, answers) if answer] or [""]


def _overlap(said: list[str], right: list[str]) -> float:
    if not said or not right:
        return float(said == right)
    same = sum((Counter(said) & Counter(right)).values())
    return 2 * same / (len(said) + len(right))


def threshold(margins: Floats, answered: Floats, silent: Floats) -> float:
    """The tau for which answering the questions whose margin is above it, and no others, scores best.

    Of each of Q questions, `margins` (Q,) is the score of its best span less that of no answer, `answered` and `silent`
    (Q,) what the question is worth either way. Of equals, the tau that answers fewest is taken. BERT chooses tau on the
    development set that it then reports, and so does this: the figure is a little better than an unseen set's.
    """
    order = np.argsort(-margins, kind="stable")
    sorted_margins, gains = margins[order], (answered - silent)[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)])  # the gain of answering the first 0, 1, ... Q
    apart = np.concatenate([[True], sorted_margins[:-1] > sorted_margins[1:], [True]])
    count = int(np.where(apart, totals, -np.inf).argmax())
    if count == 0:
        return float(sorted_margins[0])
    if count == len(margins):
        return float(sorted_margins[-1] - 1)
    return float((sorted_margins[count - 1] + sorted_margins[count]) / 2)
