"""What the tasks of the synthetic corpus reach without an encoder, and with one: `python benchmarks/floors.py`.

One line a task: each text of a pair alone, counts of shared words alone, all that `tasks/lexical.py` counts. With
`--store RUN`, folders of finished pre-trainings, also these, fine-tuned as at scale tiny, with their floors:

    bertlab pretrain --scale tiny --json                          # its `path`
    bertlab pretrain --scale tiny --set schedule.steps=0 --json   # a random initialisation
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np

from bertlab.lab.scales import SCALES
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.tasks import catalog, lexical
from bertlab.tasks.data import load
from bertlab.tasks.kinds import KINDS, classification
from bertlab.tasks.kinds.span import Answers
from bertlab.tasks.task import RawExamples, TaskData

METRICS = {"similarity": "pearson"}
METRICS |= dict.fromkeys(("entities", "questions", "questions-unanswerable", "coreference-resolution"), "f1")
PAIRS = ("inference", "question-inference", "paraphrase", "similarity")
METRICS |= dict.fromkeys(("translation-coast", "translation-valley", "translation-hills"), "bleu")
METRICS |= {"summaries": "rouge2", "cloze": "exact", "fusion": "exact"}
METRICS |= {task: "accuracy" for task in catalog.WORLD if task not in METRICS}


def parts(data: TaskData, *columns: int) -> TaskData:
    """The same task with some of its columns of text."""

    def cut(rows: RawExamples) -> RawExamples:
        return dataclasses.replace(rows, text=tuple(rows.text[column] for column in columns))

    return dataclasses.replace(
        data, train=cut(data.train), evaluation=cut(data.evaluation), test=None, content=f"{data.content} {columns}"
    )


def floor(data: TaskData) -> list[dict[str, float]]:
    """The lexical floor."""
    return KINDS[data.kind].lexical_floor(data)


def floors(data: TaskData) -> Iterator[tuple[str, float]]:
    """Each floor by its name, in points of the task's first metric (of spans, of F1)."""
    metric = METRICS[data.name]
    if data.name in PAIRS:
        for column, name in enumerate(("first text", "second text")):
            yield name, floor(parts(data, column))[0][metric]
    if data.name in PAIRS and data.labels:
        train, evaluated = (lexical.features(raw.text)[:, : lexical.COUNTS] for raw in (data.train, data.evaluation))
        labels = np.array(data.train.labels)
        model = lexical.fit(len(labels), np.unique(labels), lambda rows: (train[rows], labels[rows]))
        shared = model.predict(evaluated)
        yield "shared words", classification.accuracy(shared, np.array(data.evaluation.labels)).value
    if data.name == "questions-unanswerable":
        for column, name in enumerate(("question: has an answer?", "context: has an answer?")):
            yield name, floor(parts(_answerable(data), column))[0]["accuracy"]
    if data.name == "completion":
        blank = dataclasses.replace(data, content=f"{data.content} endings", test=None)
        yield "endings alone", floor(_without_context(blank))[0][metric]
    for reached in floor(dataclasses.replace(data, test=None)):
        yield "lexical", reached[metric]


def _answerable(data: TaskData) -> TaskData:
    """Whether a question has an answer, as a classification."""

    def relabelled(rows: RawExamples) -> RawExamples:
        return dataclasses.replace(rows, labels=[int(bool(each.texts)) for each in cast(list[Answers], rows.labels)])

    return dataclasses.replace(
        data,
        kind="classification",
        labels=("no", "yes"),
        train=relabelled(data.train),
        evaluation=relabelled(data.evaluation),
    )


def _without_context(data: TaskData) -> TaskData:
    def cut(rows: RawExamples) -> RawExamples:
        return dataclasses.replace(rows, text=(["" for _ in rows.text[0]], *rows.text[1:]))

    return dataclasses.replace(data, train=cut(data.train), evaluation=cut(data.evaluation))


def measured(data: TaskData, run: Path, threads: int) -> str:
    """A pre-training, fine-tuned as at scale tiny: its points, its floors and the seconds that it took."""
    from bertlab.training.finetuning import finetune

    started, machine = time.perf_counter(), Machine(threads=threads)
    settings = SCALES["tiny"].finetuning(data.kind, data.name)
    found = finetune(run, data, settings, seed=0, finetune_seed=0, machine=machine, progress=silent)
    metric = METRICS[data.name]
    text = f"{found.metrics[metric]:.1f}{' (collapsed)' * found.collapsed}, majority {found.majority[metric]:.1f}"
    text += "" if found.exchanged is None else f", exchanged {found.exchanged[metric]:.1f}"
    return f"{text}, {time.perf_counter() - started:.0f} s"


def main() -> None:
    """Prints a line for each task that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(catalog.WORLD)}; all if none is named")
    parser.add_argument("--store", type=Path, action="append", default=[], metavar="RUN")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for name in options.tasks or catalog.WORLD:
        data = load(catalog.WORLD[name], machine=Machine(), world=True)
        floor_texts = [f"{floor} {points:.1f}" for floor, points in floors(data)]
        floor_texts += [
            f"{run.name}: {measured(dataclasses.replace(data, test=None), run, options.threads)}"
            for run in options.store
            if KINDS[data.kind].trained
        ]
        print(f"{name} ({METRICS[name]}): {'; '.join(floor_texts)}", flush=True)


if __name__ == "__main__":
    main()
