"""The official metrics of SQuAD 1.1 (Rajpurkar et al. 2016) and 2.0 (2018), and the threshold of BERT section 4.3."""

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.tasks.examples import Floats

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """`text` in lower case, without ASCII punctuation and articles, with single spaces between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(prediction: str, answers: Sequence[str]) -> float:
    """1 if `prediction` equals one of the right answers, both normalised, else 0.

    As in the script of 2.0, answers that normalise to nothing are ignored; if none remains, the right answer is none.
    """
    return float(normalised(prediction) in _right(answers))


def f1(prediction: str, answers: Sequence[str]) -> float:
    """The F1 (0 to 1) between the words of `prediction` and those of the most similar right answer.

    If the prediction or the answer is empty, F1 is 1 if both are, else 0.
    """
    return max(_overlap(normalised(prediction).split(), answer.split()) for answer in _right(answers))


def _right(answers: Sequence[str]) -> list[str]:
    return [answer for answer in map(normalised, answers) if answer] or [""]


def _overlap(predicted: list[str], right: list[str]) -> float:
    if not predicted or not right:
        return float(predicted == right)
    same = sum((Counter(predicted) & Counter(right)).values())
    return 2 * same / (len(predicted) + len(right))


def threshold(margins: Floats, answered: Floats, unanswered: Floats) -> float:
    """The best threshold tau: a question is answered if its margin is above tau.

    For each of Q questions, `margins` (Q,) has the score of the best span minus that of no answer; `answered` and
    `unanswered` (Q,) have the points of the question in either case. Among equals, the tau that answers the fewest
    questions wins. BERT chooses tau on the development set that it reports, and so does this function: the metric is
    slightly better than on an unseen set.
    """
    order = np.argsort(-margins, kind="stable")
    sorted_margins, gains = margins[order], (answered - unanswered)[order]
    totals = np.concatenate([[0.0], np.cumsum(gains)])  # the gain if the first 0, 1, ... Q are answered
    apart = np.concatenate([[True], sorted_margins[:-1] > sorted_margins[1:], [True]])
    count = int(np.where(apart, totals, -np.inf).argmax())
    if count == 0:
        return float(sorted_margins[0])
    if count == len(margins):
        return float(sorted_margins[-1] - 1)
    return float((sorted_margins[count - 1] + sorted_margins[count]) / 2)
