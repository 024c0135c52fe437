"""The embedded corpus and its tasks: an invented, English-like world, generated from a seed.

    from bertlab import synthetic as microworld
    next(microworld.documents(1))
    microworld.rows("inference", "train")[0]

The language (lexicon.py) is one and the same in every document and task; who lives in the world and what happens is
drawn. Documents tell facts in several ways, tasks ask whether two ways of telling agree. Validation and test rows
are about names that no training row has. Nothing here needs torch, a file or a network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bertlab.synthetic import documents as _documents
from bertlab.synthetic import tasks as _tasks
from bertlab.synthetic.tasks import Split

VERSION = 1
"""Raised when any document changes; it is part of the identity of what was trained on them. See also `version`."""

DOCUMENTS = 12_000
"""Documents of the default corpus: about 1.6 million WordPieces of a vocabulary of 4,096."""

BYTES = 6_811_157
"""Of their text."""

TASKS: tuple[str, ...] = tuple(_tasks.SIZES)


def documents(count: int = DOCUMENTS, seed: int = 0) -> Iterator[str]:
    """`count` documents of 6 to 20 sentences, each one line of ASCII; number i depends on `seed` and i alone."""
    return _documents.documents(count, seed, VERSION)


def version(task: str) -> str:
    """What the rows of a task are: `1/sentiment@4`, the versions of the documents and of the task."""
    return f"{VERSION}/{task}@{_tasks.REVISIONS[task]}"


def rows(task: str, split: Split) -> list[dict[str, Any]]:
    """The rows of one split of a task, always the same. Raises `BadInput` for an unknown task or split.

    Columns: inference (premise, hypothesis, label: 0 entailed, 1 open, 2 contradicted); question-inference (question,
    sentence, label: 0 answers it); paraphrase (sentence1, sentence2, label); similarity (the same, label 0.0 to 5.0);
    sentiment and acceptability (sentence, label); entities (tokens, ner_tags: BIO of PER, LOC, ORG, MISC); questions
    and questions-unanswerable (SQuAD's); completion (startphrase, ending0 to ending3, label); parts-of-speech (tokens,
    upos: tags of Universal Dependencies).
    """
    return _tasks.rows(task, split, VERSION)
