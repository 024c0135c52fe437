"""Answers that are made of the input without understanding it: the floors of tasks whose answers are texts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

import numpy as np

from bertlab.arrays import Int64
from bertlab.tasks.lexical import WORDS
from bertlab.text.sentences import sentences

ROUNDS = 5
"""Rounds of expectation maximisation."""
MOST_PAIRS = 4_000
"""Texts at most from which a translation of words is learned, which takes a few seconds."""
_WORD = re.compile(r"\w+|[^\w\s]")

Rule = Callable[[str], str]
"""Makes an answer of an input."""


def rules(inputs: Sequence[str], answers: Sequence[str]) -> list[Rule]:
    """The input itself, its first sentence, and the input word by word, as these examples translate words; all without
    the words with which all inputs begin."""
    columns = zip(*(text.split(" ") for text in inputs), strict=False)
    shared = itertools.takewhile(lambda column: len(set(column)) == 1, columns)
    prefix = "".join(f"{column[0]} " for column in shared)

    def body(text: str) -> str:
        return text.removeprefix(prefix)

    word_by_word = translator([*map(body, inputs[:MOST_PAIRS])], answers[:MOST_PAIRS])
    return [body, lambda text: first_sentence(body(text)), lambda text: word_by_word(body(text))]


def first_sentence(text: str) -> str:
    """The first sentence of a text."""
    return next(sentences(text), "")


def translator(sources: Sequence[str], targets: Sequence[str]) -> Rule:
    """Replaces each word by its most probable translation in the order of the words (model 1 of Brown et al. 1993, with
    an empty word in each source); words that the sources lack stay."""
    of_sources, of_targets = ({"": 0}, {"": 0})
    owners, others, occurrences, count = [], [], [], 0
    for source, target in zip(sources, targets, strict=True):
        owner = _numbers(source, of_sources, 0)
        other = _numbers(target, of_targets)
        owners.append(np.repeat(owner, len(other)))
        others.append(np.tile(other, len(owner)))
        occurrences.append(np.tile(np.arange(count, count + len(other)), len(owner)))
        count += len(other)
    occurrence = np.concatenate(occurrences)
    pairs, number = np.unique(np.concatenate(owners) * len(of_targets) + np.concatenate(others), return_inverse=True)
    source_of, target_of = pairs // len(of_targets), pairs % len(of_targets)
    probability = np.ones(len(pairs))
    for _ in range(ROUNDS):
        weight = probability[number]
        shares = np.bincount(number, weight / np.bincount(occurrence, weight)[occurrence])
        probability = shares / np.bincount(source_of, shares)[source_of]
    order = np.argsort(probability, kind="stable")
    best = dict(zip(source_of[order].tolist(), target_of[order].tolist(), strict=True))  # the last of each counts
    spelled = [*of_targets]
    words = {word: spelled[best[index]] for word, index in of_sources.items() if index in best}
    return lambda text: " ".join(words.get(word, word) for word in _WORD.findall(text))


def _numbers(text: str, vocabulary: dict[str, int], *first: int) -> Int64:
    """The numbers of the words of a text, perhaps none, behind the `first` ones; new words join the vocabulary."""
    words = _WORD.findall(text)[:WORDS]
    return np.array([*first, *(vocabulary.setdefault(word, len(vocabulary)) for word in words)], np.int64)
