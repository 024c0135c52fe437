"""The tasks with a name, as data: those of BERT's tables and their synthetic counterparts.

GLUE's nine (Wang et al. 2019), SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018), SWAG (Zellers et al. 2018), RACE (Lai
et al. 2017), named entities, parts of speech.

An entry names the data set in a local mirror and on the Hub (only copies that load without a script; empty without a
known copy), its columns, splits and labels, and its synthetic counterpart.
"""

from __future__ import annotations

from bertlab.errors import unknown
from bertlab.tasks.task import Task


def _glue(
    dataset: str,
    text: tuple[str, ...],
    labels: tuple[str, ...],
    microworld: str,
    evaluation: str = "validation",
    name: str = "",
    test: str = "",
    group: str = "",
) -> Task:
    return Task(
        kind="classification" if labels else "regression",
        group=(group,) if group else (),
        name=name or dataset,
        dataset=dataset,
        hub=f"nyu-mll/glue:{dataset}",
        evaluation=evaluation,
        test=test,
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
        test="test",
        text=("tokens",),
        group=("document",),
        label="ner_tags",
        labels=("O", *(f"{position}-{entity}" for entity in types for position in "BI")),
        microworld="entities",
    )


def _world(
    name: str,
    text: tuple[str, ...],
    labels: tuple[str, ...] = (),
    kind: str = "classification",
    label: str = "label",
    group: str = "",
) -> Task:
    return Task(
        kind=kind,
        group=(group,) if group else (),
        name=name,
        dataset="microworld",
        test="test",
        text=text,
        label=label,
        labels=labels,
        microworld=name,
    )


def _squad(name: str, microworld: str) -> Task:
    return Task(
        kind="span",
        name=name,
        dataset=name,
        hub=f"rajpurkar/{name}",
        text=_QUESTION,
        label="answers",
        group=("title", "context"),
        microworld=microworld,
    )


_SENTENCES = ("sentence1", "sentence2")
_QUESTION = ("question", "context")
_ENDINGS = ("startphrase", "ending0", "ending1", "ending2", "ending3")
_PARTS_OF_SPEECH = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")

WORLD = {
    task.name: task
    for task in (
        _world("inference", ("premise", "hypothesis"), _THREE_WAY, group="premise"),
        _world("question-inference", ("question", "sentence"), _TWO_WAY, group="sentence"),
        _world("paraphrase", _SENTENCES, ("not_equivalent", "equivalent"), group="sentence1"),
        _world("sentiment", ("sentence",), ("negative", "positive")),
        _world("acceptability", ("sentence",), ("unacceptable", "acceptable")),
        _world("similarity", _SENTENCES, kind="regression", group="sentence1"),
        _world("questions", _QUESTION, kind="span", label="answers", group="context"),
        _world("questions-unanswerable", _QUESTION, kind="span", label="answers", group="context"),
        _world("completion", _ENDINGS, kind="multiple-choice", group="startphrase"),
        _world("entities", ("tokens",), kind="tagging", label="ner_tags"),
        _world("parts-of-speech", ("tokens",), kind="tagging", label="upos"),
    )
}
"""The synthetic tasks, counterparts of the others."""

TASKS = WORLD | {
    task.name: task
    for task in (
        _glue(
            "mnli",
            ("premise", "hypothesis"),
            _THREE_WAY,
            "inference",
            evaluation="validation_matched",
            group="premise",
        ),
        _glue(
            "mnli",
            ("premise", "hypothesis"),
            _THREE_WAY,
            "inference",
            evaluation="validation_mismatched",
            name="mnli-mismatched",
            group="premise",
        ),
        _glue("qnli", ("question", "sentence"), _TWO_WAY, "question-inference", group="sentence"),
        _glue("mrpc", _SENTENCES, ("not_equivalent", "equivalent"), "paraphrase", test="test", group="sentence1"),
        _glue("qqp", ("question1", "question2"), ("not_duplicate", "duplicate"), "paraphrase", group="question1"),
        _glue("sst2", ("sentence",), ("negative", "positive"), "sentiment"),
        _glue("cola", ("sentence",), ("unacceptable", "acceptable"), "acceptability"),
        _glue("stsb", _SENTENCES, (), "similarity", test="test", group="sentence1"),
        _glue("rte", _SENTENCES, _TWO_WAY, "inference", group="sentence1"),
        _glue("wnli", _SENTENCES, ("not_entailment", "entailment"), "inference", group="sentence1"),
        _squad("squad", "questions"),
        _squad("squad_v2", "questions-unanswerable"),
        Task(
            kind="multiple-choice",
            name="swag",
            dataset="swag",
            hub="allenai/swag:regular",
            text=_ENDINGS,
            group=("startphrase",),
            microworld="completion",
        ),
        Task(
            kind="multiple-choice",
            name="race",
            dataset="race",
            hub="ehovy/race:all",
            text=("article", "question", "options"),
            label="answer",
            labels=tuple("ABCD"),
            group=("article",),
            microworld="completion",
        ),
        # The main branch needs a script; this revision is the Hub's conversion to Parquet.
        _entities("conll2003", ("PER", "ORG", "LOC", "MISC"), hub="eriktks/conll2003@refs/convert/parquet"),
        _entities(
            "wnut17",
            ("corporation", "creative-work", "group", "location", "person", "product"),
            hub="manu/wnut_17",
        ),
        _entities("bc5cdr", ("Chemical", "Disease")),
        _entities("btc", ("PER", "LOC", "ORG")),
        Task(
            kind="tagging",
            name="ud_gum",
            dataset="ud_gum",
            test="test",
            text=("tokens",),
            label="upos",
            labels=tuple(_PARTS_OF_SPEECH.split()),
            group=("document",),
            microworld="parts-of-speech",
        ),
    )
}
"""Every task by its name."""

HIDDEN = frozenset({"nyu-mll/glue:stsb"})
"""Data sets whose test labels are public but missing from the Hub's copy."""


def find(name: str) -> Task:
    """The task called `name`; `BadInput` with the nearest name if there is none."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]
