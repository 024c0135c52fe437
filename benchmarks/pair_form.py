"""How well the form of a pair, without its words, distinguishes true pairs from random ones.

    python benchmarks/pair_form.py [--corpus microworld ...] [--length 64 ...] [--format segment-pair ...]

A classifier sees whether each segment begins and ends at a sentence boundary, the tokens of each, and their sum.
Logistic regression and gradient boosting are fitted to half of the pairs and score the other half. If true and random
pairs have the same form, neither beats the majority. Prints one line for each corpus, length and format, with the
accuracies in percent and the half width of their 95 % interval.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab import keyed
from bertlab.inputs.formats import Layout
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus, Inputs, Recipe
from bertlab.text.tokens import Part

FORMATS = ("segment-pair", "sentence-pair")


@dataclass(frozen=True)
class Accuracies:
    """Accuracies on the held-out half of the pairs."""

    pairs: int
    """Pairs in both halves together."""
    majority: float
    logistic: float
    boosting: float

    @property
    def gain(self) -> float:
        """How far the better classifier is above the majority."""
        return max(self.logistic, self.boosting) - self.majority

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval of the better accuracy."""
        best = max(self.logistic, self.boosting)
        return 1.96 * math.sqrt(best * (1 - best) / (self.pairs // 2))


def form(text: Part, layout: Layout) -> npt.NDArray[np.int64]:
    """(N, 7): whether the first and the second segment begin and end at a sentence boundary, their tokens, the sum."""
    boundary = np.zeros(len(text.tokens) + 1, dtype=np.int64)
    boundary[np.asarray(text.sentences)] = 1
    first_end, second_end = layout.first + layout.first_length, layout.second + layout.second_length
    bits = [boundary[places] for places in (layout.first, first_end, layout.second, second_end)]
    lengths = layout.first_length.astype(np.int64), layout.second_length.astype(np.int64)
    return np.stack([*bits, *lengths, lengths[0] + lengths[1]], axis=1)


def pairs(text: Part, inputs: Inputs, count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The forms and labels of `count` pairs, drawn from as many epochs as hold them."""
    forms: list[npt.NDArray[np.int64]] = []
    labels: list[npt.NDArray[np.bool_]] = []
    while sum(map(len, labels)) < count:
        layout = inputs.format.lay_out(text, Recipe(inputs=inputs), inputs.length, copy=len(labels))
        forms.append(form(text, layout))
        labels.append(layout.is_random_next)
    chosen = keyed.permutation(keyed.key("pair form"), sum(map(len, labels)))[:count]
    return np.concatenate(forms)[chosen], np.concatenate(labels)[chosen]


def classify(forms: npt.NDArray[Any], labels: npt.NDArray[np.bool_]) -> Accuracies:
    """Fits both classifiers to the first half of the pairs and scores the second."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    half = len(labels) // 2
    share = float(labels[half:].mean())
    models = make_pipeline(StandardScaler(), LogisticRegression()), HistGradientBoostingClassifier(random_state=0)
    scores = [float(model.fit(forms[:half], labels[:half]).score(forms[half:], labels[half:])) for model in models]
    return Accuracies(len(labels), max(share, 1 - share), *scores)


def opened(name: str, vocabulary: int, directory: Path) -> Part:
    """The training part of a corpus, tokenised in `directory` unless it lies there already."""
    from bertlab.text import tokens
    from bertlab.text.sources import resolve
    from bertlab.text.tokenizers import WordPiece

    tokenizer = WordPiece(vocabulary=vocabulary)
    if not (directory / "corpus.json").exists():
        located = resolve(name, machine=Machine(cache=directory / "cache"))
        directory.mkdir(parents=True, exist_ok=True)
        corpus = Corpus(sources=(located.source,))
        tokens.prepare(corpus, tokenizer, [located], directory, workers=1, progress=silent)
    return tokens.open_corpus(directory, tokenizer).train


def main() -> int:
    """Prints a line for each corpus, length and format; exit code 1 if one is more than `--most` above majority."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", nargs="+", default=["microworld"], help="microworld, files or folders")
    parser.add_argument("--length", nargs="+", type=int, default=[64], help="tokens a sequence at most")
    parser.add_argument("--format", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--most", type=float, default=3.0, help="points above the majority that are allowed")
    parser.add_argument("--keep", type=Path, help="folder to keep the tokenised corpora in")
    given = parser.parse_args()
    print(f"{'corpus':16} {'length':>6}  {'format':13}  majority  logistic  boosting     +-    gain", flush=True)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in given.corpus:
            text = opened(name, given.vocabulary, (given.keep or Path(folder)) / Path(name).name)
            for length in given.length:
                for each in given.format:
                    found = classify(*pairs(text, Inputs(format=each, length=length), given.pairs))
                    wrong += 100 * found.gain > given.most
                    shares = (found.majority, found.logistic, found.boosting)
                    columns = "  ".join(f"{100 * share:8.1f}" for share in shares)
                    line = f"{Path(name).name:16} {length:6}  {each:13}  {columns}  {100 * found.half_width:5.1f}"
                    print(f"{line}  {100 * found.gain:+6.1f}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
