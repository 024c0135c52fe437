"""The synthetic corpus and its tasks: an invented, English-like world, generated from a seed.

`documents(1)` and `rows("inference", "train")` show it. Tasks require recognising whether two statements agree. Names
of the validation and test examples do not occur in training examples.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bertlab.errors import unknown
from bertlab.synthetic import cloze, dialects, fusion, minimal_pairs, references, sayings, summaries, token_tasks
from bertlab.synthetic.language import VERSION, Draw
from bertlab.synthetic.sayings import Sample
from bertlab.synthetic.stories import BYTES, DOCUMENTS, documents, pages
from bertlab.synthetic.world import names

__all__ = ["BYTES", "DOCUMENTS", "TASKS", "VERSION", "Split", "documents", "pages", "rows", "version"]

Split = Literal["train", "validation", "test"]

EVALUATION_EXAMPLES = 4_000
"""Validation examples of most tasks, and test examples."""


@dataclass(frozen=True)
class Maker:
    """The function that makes an example, and the number of training examples."""

    make: Callable[[Sample], dict[str, Any]]
    labels: Sequence[int] = (0,)
    """Examples alternate between them, so every prefix of a split is balanced."""
    train: int = 3_000
    evaluation: int = EVALUATION_EXAMPLES
    """Validation examples, and test examples."""
    revision: int = 3
    """Raised when the examples change and the documents do not."""
    extends: str = ""
    """The task whose examples it begins with, and whose validation and test examples it has."""


TASKS = {
    "inference": Maker(sayings.inference, range(3), train=4_000, revision=4),
    "inference-large": Maker(sayings.inference, range(3), train=16_000, revision=4, extends="inference"),
    "question-inference": Maker(sayings.question_inference, range(2)),
    "paraphrase": Maker(sayings.paraphrase, range(2)),
    "similarity": Maker(sayings.similarity),
    "sentiment": Maker(sayings.sentiment, range(2), revision=4),
    "acceptability": Maker(sayings.acceptability, range(2)),
    "entities": Maker(token_tasks.entities, train=2_000),
    "questions": Maker(token_tasks.extractive, (1,), train=2_500),
    "questions-unanswerable": Maker(token_tasks.extractive, (0, 1, 1), train=2_500),
    "completion": Maker(sayings.completion, range(4), train=1_000, revision=5),
    "parts-of-speech": Maker(token_tasks.parts_of_speech, train=64, revision=4),  # more would saturate it
    "coreference-resolution": Maker(references.coreference_resolution, train=2_000, revision=1),
    "minimal-pairs": Maker(
        minimal_pairs.minimal_pair, range(2 * len(minimal_pairs.PARADIGMS)), train=0, evaluation=1_200, revision=1
    ),
    # T5's numbers of pairs in French, German and Romanian are about as 13 to 5 to 1.
    "translation-coast": Maker(dialects.coast, (0, 0, 1), train=16_000, evaluation=1_200, revision=1),
    "translation-valley": Maker(dialects.valley, (0, 0, 1), train=6_000, evaluation=1_200, revision=1),
    "translation-hills": Maker(dialects.hills, (0, 0, 1), train=1_200, evaluation=1_200, revision=1),
    "summaries": Maker(summaries.summary, train=4_000, evaluation=1_200, revision=1),
    "fusion": Maker(fusion.fusion, (0, 0, 1), train=16_000, evaluation=1_200, revision=1),
    "cloze": Maker(cloze.cloze, train=3_000, evaluation=1_200, revision=1),
}

_GLUE = ("acceptability", "sentiment", "paraphrase", "similarity", "inference", "question-inference")
IN_WORDS = (*_GLUE, "questions", "completion")
"""Tasks that have a second form, `acceptability-text`, whose answers are texts."""
TASKS |= {f"{name}-text": replace(TASKS[name], extends=name) for name in IN_WORDS}


def version(task: str) -> str:
    """The version of the examples of a task, as `1/sentiment@4`: the versions of the documents and of the task."""
    return f"{VERSION}/{task}@{TASKS[task].revision}"


def size(task: str, split: str) -> int:
    """The number of examples of one split of a task. Raises `BadInput` for an unknown task or split."""
    if task not in TASKS:
        raise unknown("synthetic task", task, TASKS)
    maker = TASKS[task]
    sizes = {"train": maker.train, "validation": maker.evaluation, "test": maker.evaluation}
    if split not in sizes:
        raise unknown("split", split, sizes)
    return sizes[split]


def rows(task: str, split: Split, most: int | None = None) -> list[dict[str, Any]]:
    """The examples of one split of a task, always the same, or the first `most` of them. Raises `BadInput` as `size`.

    Columns: inference and inference-large (premise, hypothesis, label: 0 entailed, 1 open, 2 contradicted);
    question-inference (question, sentence, label: 0 answers it); paraphrase (sentence1, sentence2, label); similarity
    (the same, label 0.0 to 5.0);
    sentiment and acceptability (sentence, label); entities (tokens, ner_tags: BIO of PER, LOC, ORG, MISC); questions
    and questions-unanswerable (SQuAD's); completion (startphrase, ending0 to ending3, label); parts-of-speech (tokens,
    upos: tags of Universal Dependencies); coreference-resolution (sentences, clusters of first and last words);
    minimal-pairs (good, bad, phenomenon, paradigm; no training examples); translation-coast, translation-valley,
    translation-hills and fusion (source, target); summaries (document, summary); cloze (ReCoRD's: passage, query,
    entities, answers). Those of `IN_WORDS` have a second name.
    """
    count = size(task, split)
    make, labels, drawn = TASKS[task].make, TASKS[task].labels, TASKS[task].extends or task
    return [
        make(
            Sample(
                Draw("microworld", VERSION, drawn, split, number),
                names(split),
                rare=split != "train",
                label=labels[number % len(labels)],
                id=f"{split}-{number}",
            )
        )
        for number in range(count if most is None else min(most, count))
    ]
