"""`bertlab score`: how often a finished model finds the right one of two sentences more probable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.cli.complete import MODEL
from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RETRY, DeviceOptions, StoreOptions, argument, by_name, flag, option
from bertlab.cli.table import print_table
from bertlab.errors import BadInput
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from bertlab.arrays import Array
    from bertlab.lab.jobs import Pretrained
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.tasks.kinds.base import TaskKind
    from bertlab.tasks.task import Task, TaskData

LENGTH = 128
"""Tokens of a sentence at most, where the model has as many positions."""
METRICS = {"accuracy": "accuracy", "right_share": "right share", "ties": "ties"}
"""The headings of the metrics of a part of the pairs."""
WAYS = {"": "", "_within_words": ", within words"}
"""What follows them for each way of scoring."""


def score(
    folders: StoreOptions,
    devices: DeviceOptions,
    model: str = argument(..., MODEL, "The model to score."),
    task: str = argument(..., "TASK|FILE", "Minimal pairs: a task such as zorro (see `bertlab tasks`), or a file."),
    paradigms: bool = flag("Print a line for each paradigm too, not for each phenomenon alone."),
    predictions: Path | None = option(
        None, "FILE", "Write the preferred sentence of each pair, as the predictions.json of BabyLM's evaluation."
    ),
    retry: bool = RETRY,
    json: bool = JSON,
) -> int:
    """Print how often a finished model finds the right one of two sentences more probable; it trains nothing.

    A left-to-right model gives a sentence its log-likelihood, a masked LM its pseudo-log-likelihood: each token masked
    alone, and (within words) with the later tokens of its word. Ties count one half; the right share is the mean
    probability of the right one of the two. Intervals (95 %) are of other pairs of the same paradigms.

    Example: bertlab score masking/80/10/10/0 zorro
    """
    from bertlab.cli.jobs import run_jobs, write_options
    from bertlab.lab.jobs.evaluation import read_task
    from bertlab.lab.jobs.find import find_pretrained
    from bertlab.store.files import kind as kind_of
    from bertlab.store.predictions import read
    from bertlab.store.runs import Store
    from bertlab.tasks import kinds

    scored = _task(task)
    if predictions is not None and kind_of(predictions, "--predictions") == "folder":
        raise BadInput(f"--predictions '{predictions}' is a folder: name a file")
    machine, store = devices.machine(folders), Store(folders.runs)
    pretrained = find_pretrained(model, store, machine)
    plan = _planned(pretrained, scored, machine)
    complete = run_jobs(plan.jobs, store, machine, retry=retry)
    job = plan.cells[0].job
    run, located = store.get(job.id), job.tasks[0]
    if run is None:
        return 1
    write_options([run], store, "score", {"model": model, "task": task} | by_name(folders))
    data, arrays = read_task(located), read(run)
    if predictions is not None:
        _write_predictions(predictions, data, arrays)
    parts = [*_parts(kinds.find(scored.kind), arrays, data.labels)]
    if json:
        print_json({"id": run.id, "path": str(run.path), "task": located.task.name, "parts": parts})
    else:
        lines = [part for part in parts if paradigms or "/" not in part["name"]]
        _print(lines, f"{pretrained.label} on {located.task.name}")
    return 0 if complete else 1


def _task(text: str) -> Task:
    """The task of this name, or of a file of pairs. Raises `BadInput` for a task that models are trained on."""
    from bertlab.tasks import catalog, kinds
    from bertlab.tasks.kinds.minimal_pairs import of_file
    from bertlab.text.rows import SUFFIXES

    task = of_file(Path(text)) if text.endswith(SUFFIXES) else catalog.find(text)
    if (kind := kinds.find(task.kind)).trained:
        raise BadInput(f"task '{text}' is {kind.name}, which models are trained on: use `bertlab finetune`")
    return task


def _planned(pretrained: Pretrained, task: Task, machine: Machine) -> Plan:
    """The plan of a model's scores on one task, in sentences as long as its positions allow."""
    from bertlab.adaptation import ZeroShot
    from bertlab.lab import plan as planning
    from bertlab.lab import scales
    from bertlab.lab.study import Measurement, Study

    recipe = pretrained.read_recipe()
    length = min(LENGTH, recipe.model.max_length(recipe.inputs.longest))
    measurement = Measurement(task.name, task=task, adaptation=ZeroShot(length=length))
    study = Study.of_one(pretrained.label, "scores", measurement)
    return planning.make(planning.Request(studies=(study,), scale=scales.find("paper"), pretrained=pretrained), machine)


def _write_predictions(path: Path, data: TaskData, arrays: Mapping[str, Array]) -> None:
    """Writes the preferred sentences of all pairs, and says how many are ties."""
    from json import dumps

    from bertlab.store.writes import folder, write
    from bertlab.tasks.kinds.minimal_pairs import babylm_predictions

    paradigms = [data.labels[number].rpartition("/")[2] for number in arrays["label"].tolist()]
    predicted = babylm_predictions(data.evaluation.text, paradigms, arrays["margin"])
    write(folder(path.parent), path.name, dumps(predicted) + "\n")
    ties = int((arrays["margin"] == 0).sum())
    about = ", for which it has the right and the wrong sentence in turn" if ties else ""
    say(f"wrote the sentences that it prefers to {path}; {pluralise(ties, 'pair')} of {len(paradigms):,} tied{about}")


def _parts(kind: TaskKind, arrays: Mapping[str, Array], labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """All pairs, each phenomenon and each paradigm, with their metrics, and the ends of 95 % intervals."""
    import numpy as np

    from bertlab.tasks.kinds.minimal_pairs import over_paradigms

    paradigm = arrays["label"].astype(np.int64)
    names = [f"{metric}{way}" for way in WAYS if f"margin{way}" in arrays for metric in METRICS]
    points = {name: kind.metric(name, arrays, labels).per_example() for name in names}
    parts = {"all": np.unique(paradigm)}
    for number in parts["all"]:
        phenomenon = labels[number].partition("/")[0]
        of_phenomenon = [other for other in parts["all"] if labels[other].partition("/")[0] == phenomenon]
        parts.setdefault(phenomenon, np.array(of_phenomenon))
        parts.setdefault(labels[number], np.array([number]))  # a paradigm may be named as a phenomenon is
    for name, numbers in parts.items():
        rows = np.isin(paradigm, numbers)
        figures = {metric: over_paradigms(values[rows], paradigm[rows]) for metric, values in points.items()}
        yield {"name": name, "pairs": int(rows.sum()), **figures}


def _print(parts: Sequence[Mapping[str, Any]], title: str) -> None:
    """Prints a line for each part: its values, each with half of its interval."""
    headings = {f"{metric}{way}": f"{text}{more}" for way, more in WAYS.items() for metric, text in METRICS.items()}
    names = [name for name in headings if name in parts[0]]
    rows = [[part["name"], f"{part['pairs']:,}", *(_shown(**part[name]) for name in names)] for part in parts]
    print_table(["pairs of", "number", *map(headings.__getitem__, names)], rows, title)


def _shown(value: float, low: float | None, high: float | None) -> str:
    """A value with half of its interval, if it has one."""
    return f"{value:.1f}" if low is None or high is None else f"{value:.1f} ± {(high - low) / 2:.1f}"
