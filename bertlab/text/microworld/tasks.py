"""The tasks of the microworld: their sizes, and their rows in the columns of their counterparts on the Hub."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from bertlab.errors import unknown
from bertlab.text.microworld import completion, entities, inference, judgements, pairs, parts_of_speech, questions
from bertlab.text.microworld.draw import Draw
from bertlab.text.microworld.lexicon import names

Split = Literal["train", "validation", "test"]
Row = dict[str, Any]

SIZES: dict[str, tuple[int, int, int]] = {
    "inference": (3_000, 1_000, 1_000),
    "question-inference": (3_000, 800, 800),
    "paraphrase": (4_000, 800, 800),
    "similarity": (4_000, 800, 800),
    "sentiment": (1_500, 800, 800),
    "acceptability": (2_000, 800, 800),
    "entities": (2_000, 600, 600),
    "questions": (2_500, 600, 600),
    "questions-unanswerable": (2_500, 600, 600),
    "completion": (3_000, 600, 600),
    "parts-of-speech": (64, 600, 600),  # more would saturate it: what the text shows leaves little to learn
}
"""Rows for training, validation and test."""

VERSIONS = {"question-inference": 2, "paraphrase": 2, "similarity": 2, "completion": 2}
"""Of the tasks whose rows have changed while the documents stayed as they are."""

_SPLITS = ("train", "validation", "test")

# Row number n of a task; labels go round, so that every prefix of a split is balanced.
_MAKERS: dict[str, Callable[[Draw, int, Sequence[str], str], Row]] = {
    "inference": lambda draw, n, pool, split: inference.row(draw, n % 3, pool, rare=split != "train"),
    "question-inference": lambda draw, n, pool, split: questions.question_inference(draw, n % 2, pool),
    "paraphrase": lambda draw, n, pool, split: pairs.paraphrase(draw, n % 2, pool, rare=split != "train"),
    "similarity": lambda draw, n, pool, split: pairs.similarity(draw, pool, rare=split != "train"),
    "sentiment": lambda draw, n, pool, split: judgements.sentiment(draw, n % 2, pool),
    "acceptability": lambda draw, n, pool, split: judgements.acceptability(draw, n % 2, pool),
    "entities": lambda draw, n, pool, split: entities.row(draw, pool),
    "questions": lambda draw, n, pool, split: questions.extractive(draw, True, pool, f"{split}-{n}"),
    "questions-unanswerable": lambda draw, n, pool, split: questions.extractive(draw, n % 3 > 0, pool, f"{split}-{n}"),
    "completion": lambda draw, n, pool, split: completion.row(draw, n % 4, pool, rare=split != "train"),
    "parts-of-speech": lambda draw, n, pool, split: parts_of_speech.row(draw, pool, rare=split != "train"),
}


def rows(task: str, split: Split, version: int) -> list[Row]:
    """The rows of one split of `task`. Raises `BadInput` for a task or split that does not exist."""
    if task not in SIZES:
        raise unknown("task of the microworld", task, SIZES)
    if split not in _SPLITS:
        raise unknown("split", split, _SPLITS)
    pool = names(split)
    make = _MAKERS[task]
    size = SIZES[task][_SPLITS.index(split)]
    return [make(Draw("microworld", version, task, split, number), number, pool, split) for number in range(size)]
