"""The synthetic tasks: their sizes, and their examples in the columns of their counterparts on the Hub."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from bertlab.errors import unknown
from bertlab.synthetic import completion, entities, inference, judgements, pairs, parts_of_speech, questions
from bertlab.synthetic.draw import Draw
from bertlab.synthetic.lexicon import names

Split = Literal["train", "validation", "test"]
Row = dict[str, Any]

SIZES: dict[str, tuple[int, int, int]] = {
    "inference": (4_000, 4_000, 4_000),
    "question-inference": (3_000, 4_000, 4_000),
    "paraphrase": (3_000, 4_000, 4_000),
    "similarity": (3_000, 4_000, 4_000),
    "sentiment": (3_000, 4_000, 4_000),
    "acceptability": (3_000, 4_000, 4_000),
    "entities": (2_000, 4_000, 4_000),
    "questions": (2_500, 4_000, 4_000),
    "questions-unanswerable": (2_500, 4_000, 4_000),
    "completion": (1_000, 4_000, 4_000),
    "parts-of-speech": (64, 4_000, 4_000),  # more would saturate it
}
"""Training, validation and test examples of each task."""

REVISIONS = dict.fromkeys(SIZES, 3) | {"inference": 4, "sentiment": 4, "completion": 5, "parts-of-speech": 4}
"""The revision of each task, raised when its examples change and the documents do not."""

_SPLITS = ("train", "validation", "test")


def _of(maker: Callable[..., Row], labels: int = 0) -> Callable[[Draw, int, Sequence[str], str], Row]:
    """Makes example n of a task; labels alternate, so that every prefix of a split is balanced."""

    def make(draw: Draw, number: int, pool: Sequence[str], split: str) -> Row:
        label = (number % labels,) if labels else ()
        return maker(draw, *label, pool, rare=split != "train")

    return make


_MAKERS: dict[str, Callable[[Draw, int, Sequence[str], str], Row]] = {
    "inference": _of(inference.example, 3),
    "question-inference": _of(questions.question_inference, 2),
    "paraphrase": _of(pairs.paraphrase, 2),
    "similarity": _of(pairs.similarity),
    "sentiment": _of(judgements.sentiment, 2),
    "acceptability": _of(judgements.acceptability, 2),
    "entities": lambda draw, n, pool, split: entities.example(draw, pool),
    "questions": lambda draw, n, pool, split: questions.extractive(draw, True, pool, f"{split}-{n}"),
    "questions-unanswerable": lambda draw, n, pool, split: questions.extractive(draw, n % 3 > 0, pool, f"{split}-{n}"),
    "completion": _of(completion.example, 4),
    "parts-of-speech": _of(parts_of_speech.example),
}


def rows(task: str, split: Split, version: int) -> list[Row]:
    """The examples of one split of `task`. Raises `BadInput` for an unknown task or split."""
    if task not in SIZES:
        raise unknown("synthetic task", task, SIZES)
    if split not in _SPLITS:
        raise unknown("split", split, _SPLITS)
    pool = names(split)
    make = _MAKERS[task]
    size = SIZES[task][_SPLITS.index(split)]
    return [make(Draw("microworld", version, task, split, number), number, pool, split) for number in range(size)]
