"""The synthetic corpus and its tasks: an invented, English-like world, generated from a seed.

    from bertlab import synthetic as microworld
    next(microworld.documents(1))
    microworld.rows("inference", "train")[0]

The language (lexicon.py) is the same in every document and task; people and events are sampled. Documents state facts
in several ways, and tasks require recognising whether two statements agree. Names of the validation and test examples
do not occur in training examples. The package needs no torch, files or network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bertlab.synthetic import documents as _documents
from bertlab.synthetic import tasks as _tasks
from bertlab.synthetic.tasks import Split

VERSION = 1
"""Raised when any document changes; part of the ids of runs on the corpus. See also `version`."""

DOCUMENTS = 12_000
"""The documents of the default corpus: about 1.6 million WordPieces with a vocabulary of 4,096."""

BYTES = 6_811_157
"""The size of their text."""

TASKS: tuple[str, ...] = tuple(_tasks.SIZES)


def documents(count: int = DOCUMENTS, seed: int = 0) -> Iterator[str]:
    """`count` documents of 6 to 20 sentences, each one line of ASCII; document i depends on `seed` and i only."""
    return _documents.documents(count, seed, VERSION)


def version(task: str) -> str:
    """The version of the examples of a task, as `1/sentiment@4`: the versions of the documents and of the task."""
    return f"{VERSION}/{task}@{_tasks.REVISIONS[task]}"


def rows(task: str, split: Split) -> list[dict[str, Any]]:
    """The examples of one split of a task, always the same. Raises `BadInput` for an unknown task or split.

    Columns: inference (premise, hypothesis, label: 0 entailed, 1 open, 2 contradicted); question-inference (question,
    sentence, label: 0 answers it); paraphrase (sentence1, sentence2, label); similarity (the same, label 0.0 to 5.0);
    sentiment and acceptability (sentence, label); entities (tokens, ner_tags: BIO of PER, LOC, ORG, MISC); questions
    and questions-unanswerable (SQuAD's); completion (startphrase, ending0 to ending3, label); parts-of-speech (tokens,
    upos: tags of Universal Dependencies).
    """
    return _tasks.rows(task, split, VERSION)
