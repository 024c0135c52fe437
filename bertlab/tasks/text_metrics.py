"""BLEU and ROUGE of generated texts, as statistics of single examples, which a report resamples.

BLEU is that of sacrebleu (Post 2018) with the tokenisation `intl` and exponential smoothing, as T5's; it counts case.
SARI is that of one reference (Xu et al. 2016), with the F of what is deleted as in LaserTagger's code.
ROUGE-1, -2 and -L are the F of rouge-score (Lin 2004) without stemming: words are runs of ASCII letters and digits.
"""

import functools
import itertools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence

import numpy as np

from bertlab.arrays import Float, Int64
from bertlab.tasks.metrics import MetricOfMeans, quotient

ORDERS = 4
"""BLEU counts runs of one to four words."""


class Bleu(MetricOfMeans):
    """Corpus BLEU in points, from `bleu_statistics` (E, 10)."""

    def __init__(self, statistics: Float) -> None:
        super().__init__(statistics, functools.partial(_bleu, len(statistics)))

    def per_example(self) -> Float:
        """The BLEU of each example by itself, (E,)."""
        return _bleu(1, self.statistics)


def bleu_statistics(predictions: Sequence[str], references: Sequence[str]) -> Int64:
    """(E, 10): of each prediction the runs of one to four words that its reference has too, all its runs of one to four
    words, its words, and the words of the reference."""
    statistics = np.zeros((len(references), 2 * ORDERS + 2), np.int64)
    for row, texts in zip(statistics, zip(predictions, references, strict=True), strict=True):
        words, right = (_words(text) for text in texts)
        for order in range(ORDERS):
            runs = _runs(words, order + 1)
            row[order] = (runs & _runs(right, order + 1)).total()
            row[ORDERS + order] = runs.total()
        row[-2:] = len(words), len(right)
    return statistics


def _bleu(examples: int, means: Float) -> Float:
    """BLEU from the means of the statistics (..., 10) of this many examples."""
    sums = means * examples
    matches, totals, (words, right) = sums[..., :ORDERS], sums[..., ORDERS:-2], np.moveaxis(sums[..., -2:], -1, 0)
    # The first order without a match counts as half a run, the next one as a quarter, and so on.
    missed = (matches <= 0) & (totals > 0)
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, -1), matches)
    with np.errstate(divide="ignore"):
        log_precision = np.log(quotient(smoothed, totals)).mean(-1)
    brevity = np.minimum(0.0, 1.0 - quotient(right, words))
    scored = (matches > 0).any(-1) & (words > 0)
    return np.where(scored, 100 * np.exp(log_precision + brevity), 0.0)


def _words(text: str) -> list[str]:
    """The words of `intl`: punctuation and symbols are apart, but for punctuation between numbers."""
    before, behind, symbol = _borders()
    text = behind.sub(r" \1 \2", before.sub(r"\1 \2 ", text))
    return symbol.sub(r" \1 ", text).split()


@functools.cache
def _borders() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Punctuation behind what is no number, punctuation before what is no number, and symbols."""
    ranges, characters = dict.fromkeys("PSN", ""), map(chr, range(sys.maxunicode + 1))
    for kind, group in itertools.groupby(characters, lambda character: unicodedata.category(character)[0]):
        run = [*group]
        if kind in ranges:
            ranges[kind] += f"{re.escape(run[0])}-{re.escape(run[-1])}"
    punctuation, symbol, number = ranges.values()
    patterns = (f"([^{number}])([{punctuation}])", f"([{punctuation}])([^{number}])", f"([{symbol}])")
    before, behind, symbols = map(re.compile, patterns)
    return before, behind, symbols


def _runs(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def rouge(predictions: Sequence[str], references: Sequence[str]) -> dict[str, Float]:
    """The F (0 to 1) of each prediction, (E,): `rouge1` and `rouge2` of runs of one and two words, `rougeL` of the
    longest common subsequence."""
    scores: dict[str, list[float]] = {"rouge1": [], "rouge2": [], "rougeL": []}
    for texts in zip(predictions, references, strict=True):
        words, right = (re.findall("[a-z0-9]+", text.lower()) for text in texts)
        for size in (1, 2):
            both = (_runs(words, size) & _runs(right, size)).total()
            scores[f"rouge{size}"].append(_f(both, len(words) - size + 1, len(right) - size + 1))
        scores["rougeL"].append(_f(_common(words, right), len(words), len(right)))
    return {name: np.array(values) for name, values in scores.items()}


def sari(sources: Sequence[str], predictions: Sequence[str], references: Sequence[str]) -> Float:
    """(E,) in points: the mean F of what each prediction adds to its source, keeps and deletes, of different runs of
    one to four words. An F is 100 where there is nothing to add, keep or delete and nothing is."""
    scores = np.zeros(len(references))
    for row, texts in enumerate(zip(sources, predictions, references, strict=True)):
        words = [_words(text.lower()) for text in texts]
        for order in range(ORDERS):
            source, predicted, right = ({*_runs(one, order + 1)} for one in words)
            for done, wanted in (
                (predicted - source, right - source),
                (predicted & source, right & source),
                (source - predicted, source - right),
            ):
                nothing = not done and not wanted
                scores[row] += nothing or _f(len(done & wanted), len(done), len(wanted))
    return 100 * scores / (3 * ORDERS)


def _f(both: int, predicted: int, right: int) -> float:
    return 2 * both / (predicted + right) if both else 0.0


def _common(words: Sequence[str], others: Sequence[str]) -> int:
    """The length of the longest common subsequence, by the bits of one integer (Hyyrö 2004)."""
    positions: dict[str, int] = {}
    for position, word in enumerate(words):
        positions[word] = positions.get(word, 0) | 1 << position
    every = row = (1 << len(words)) - 1
    for word in others:
        matches = row & positions.get(word, 0)
        row = (row + matches | row - matches) & every
    return len(words) - row.bit_count()
