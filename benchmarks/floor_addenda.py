"""Fits the lexical floors of a store anew, on as many examples as its models read.

    python benchmarks/floor_addenda.py STORE [--data DIR]

Results of earlier versions have floors of 4,000 training examples at most. The new ones are written into the store's
`addenda.json`, which reports prefer; results, ids and manifests stay as they are. `--data` has the folders of tasks
that are not synthetic. A task whose examples are not those of the results, by their hash, is named and left out.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

from bertlab.machine import Machine
from bertlab.recipe.identity import load
from bertlab.store.addenda import Addenda, Floor, floor_key
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.data import read, sampled
from bertlab.tasks.locate import LocatedTask, content_of, existing, splits_of
from bertlab.tasks.task import Task


def located(run: Run, machine: Machine) -> LocatedTask | None:
    """The task of a run, if its examples are those that the run read."""
    definition, dataset = run.definition(), run.result().dataset
    content, fields = definition["data"], definition["task"]
    if content.startswith("microworld:"):
        name = content.rpartition("/")[2].partition("@")[0]
        found = LocatedTask(task=catalog.WORLD[name], name=name, origin="microworld")
    else:
        folder = (machine.data or Path()) / dataset
        known = next((each for each in catalog.TASKS.values() if each.dataset == dataset), None)
        task = load(Task, {**fields, "dataset": dataset})
        if known is not None:  # of which results do not keep the columns of groups, of questions and of parts
            task = dataclasses.replace(task, group=known.group, question=known.question, only=known.only)
        if not all(existing(folder, each) for each in splits_of(task)):
            return None
        found = LocatedTask(task=task, name=dataset, origin="files", folder=folder)
    return dataclasses.replace(found, content=content) if content_of(found, machine) == content else None


def fitted(run: Run, task: LocatedTask) -> Floor:
    """The floor of a run, with the number of examples that it is fitted on."""
    settings, data = run.definition()["settings"], read(task)
    most = settings.get("max_train_examples", 0)
    evaluated = sampled(data, settings.get("max_eval_examples", 0))
    evaluation, *test = kinds.find(data.kind).lexical_floor(evaluated, most)
    examples = min(len(data.train), most or len(data.train))
    return Floor(examples, evaluation, test[0] if test else None)


def main() -> None:
    """Writes the addenda, with a line for each floor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    store, machine = Store(options.store), Machine(data=options.data)
    before = store.addenda()
    floors = dict(before.floors)
    missing: set[str] = set()
    for run in store.runs():
        if run.kind not in ("finetune", "features") or (key := floor_key(run.definition())) in {*floors, *missing}:
            continue
        result, started = run.result(), time.perf_counter()
        task = located(run, machine)
        if task is None or not result.lexical:
            missing.add(key)
            what = "examples" if task is None else "floor"
            print(f"{result.task}: no {what} of {run.definition()['data']}", flush=True)
            continue
        floors[key] = floor = fitted(run, task)
        old, new = (
            ", ".join(f"{name} {value:.1f}" for name, value in each.items())
            for each in (result.lexical, floor.evaluation)
        )
        took = f"{floor.examples:,} examples, {time.perf_counter() - started:.0f} s"
        print(f"{result.task}: {old} -> {new} ({took})", flush=True)
        Addenda(floors, before.remarks).write(options.store)


if __name__ == "__main__":
    main()
