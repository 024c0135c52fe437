"""The tasks that are known by name, as rows of data: GLUE's (Wang et al. 2019) and sets of named entities.

A row names the data set in a local mirror and on the Hub (only copies that load without a script; empty where none is
known), its columns, splits and labels, and its counterpart in the embedded world.
"""

from __future__ import annotations

from bertlab.errors import unknown
from bertlab.study import Task


def _glue(
    name: str, text: tuple[str, ...], labels: tuple[str, ...], microworld: str, evaluation: str = "validation"
) -> Task:
    return Task(
        kind="classification",
        name=name,
        dataset=name,
        hub=f"nyu-mll/glue:{name}",
        evaluation=evaluation,
        text=text,
        labels=labels,
        microworld=microworld,
    )


def _entities(name: str, types: tuple[str, ...], hub: str = "") -> Task:
    return Task(
        kind="tagging",
        name=name,
        dataset=name,
        hub=hub,
        text=("tokens",),
        label="ner_tags",
        labels=("O", *(f"{position}-{entity}" for entity in types for position in "BI")),
        microworld="entities",
    )


def _world(name: str, text: tuple[str, ...], labels: tuple[str, ...]) -> Task:
    return Task(kind="classification", name=name, dataset="microworld", text=text, labels=labels, microworld=name)


_SENTENCES = ("sentence1", "sentence2")
_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")

WORLD = {
    task.name: task
    for task in (
        _world("inference", ("premise", "hypothesis"), _THREE_WAY),
        _world("question-inference", ("question", "sentence"), _TWO_WAY),
        _world("paraphrase", _SENTENCES, ("not_equivalent", "equivalent")),
        _world("sentiment", ("sentence",), ("negative", "positive")),
        _world("acceptability", ("sentence",), ("unacceptable", "acceptable")),
        Task(
            kind="tagging",
            name="entities",
            dataset="microworld",
            text=("tokens",),
            label="ner_tags",
            microworld="entities",
        ),
    )
}
"""The tasks of the embedded world, counterparts of the others."""

TASKS = WORLD | {
    task.name: task
    for task in (
        _glue(
            "mnli",
            ("premise", "hypothesis"),
            _THREE_WAY,
            "inference",
            evaluation="validation_matched",
        ),
        _glue("qnli", ("question", "sentence"), _TWO_WAY, "question-inference"),
        _glue("mrpc", _SENTENCES, ("not_equivalent", "equivalent"), "paraphrase"),
        _glue("qqp", ("question1", "question2"), ("not_duplicate", "duplicate"), "paraphrase"),
        _glue("sst2", ("sentence",), ("negative", "positive"), "sentiment"),
        _glue("cola", ("sentence",), ("unacceptable", "acceptable"), "acceptability"),
        _glue("rte", _SENTENCES, _TWO_WAY, "inference"),
        _glue("wnli", _SENTENCES, ("not_entailment", "entailment"), "inference"),
        # The original repository loads by a script; this copy is the same splits as Parquet.
        _entities("conll2003", ("PER", "ORG", "LOC", "MISC"), hub="jacobmitchinson/colln2003"),
        _entities(
            "wnut17",
            ("corporation", "creative-work", "group", "location", "person", "product"),
            hub="manu/wnut_17",
        ),
        _entities("bc5cdr", ("Chemical", "Disease")),
        _entities("btc", ("PER", "LOC", "ORG")),
    )
}
"""Every task by its name."""


def find(name: str) -> Task:
    """The task called `name`; `BadInput` with the nearest name if there is none."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]
