"""Times of finished runs: the best estimate for similar runs."""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections.abc import Mapping
from typing import Any

from bertlab.errors import BadInput
from bertlab.lab.jobs import Job, Measure, Pretrain
from bertlab.machine import Machine, processor
from bertlab.recipe import Recipe, Schedule
from bertlab.recipe.identity import canonical, load
from bertlab.store.runs import Run, Store


class Recorded:
    """The times of a store's finished runs, and of similar jobs that this machine would compute in the same way."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self._machine = machine
        self._runs = {run.id: run for run in store.runs()}
        self._own: dict[str, float] = {}
        found: dict[str, list[tuple[float, float]]] = {}
        for run in self._runs.values():
            try:
                self._own[run.id] = run.seconds()
                if run.kind != "corpus" and _same_machine(run.environment(), machine):
                    found.setdefault(self._similarity(run), []).append(_times(run))
            except (AttributeError, BadInput, KeyError, OSError, TypeError):  # a run of another version
                continue
        self._similar = {
            key: (statistics.median(step for step, _ in times), statistics.median(rest for _, rest in times))
            for key, times in found.items()
        }

    def seconds(self, job: Job, devices: int = 1) -> float | None:
        """The time of a job on `devices` devices: its own if it is finished, else the median of similar runs.

        `None` if there is none.
        """
        if job.id in self._own:
            return self._own[job.id] / devices
        known = self._similar.get(similarity(job, self._machine))
        if known is None:
            return None
        step, rest = known
        return (step * (job.steps if isinstance(job, Pretrain) else 0) + rest) / devices

    def _similarity(self, run: Run) -> str:
        science = run.science()
        if run.kind == "pretrain":
            compiled = run.environment()["numerics"].get("compiled") == "yes"
            return _pretraining(load(Recipe, science["recipe"]), science["corpus"], compiled)
        if run.kind == "import":
            return canonical(science)
        return _measurement(science, load(Recipe, self._runs[science["pretrain"]].science()["recipe"]))


def _times(run: Run) -> tuple[float, float]:
    """Seconds per step, and those outside of steps."""
    if run.kind != "pretrain":
        return 0.0, run.seconds()
    trained = sum(line["seconds"] for line in run.timing() if line["stage"] == "train")
    return trained / max(1, run.result()["steps"]), run.seconds() - trained


def similarity(job: Job, machine: Machine) -> str:
    """Equal for jobs that take equally long, apart from the number of steps of a pre-training."""
    if isinstance(job, Pretrain):
        return _pretraining(job.recipe, job.corpus.id, machine.compiles(job.recipe))
    if isinstance(job, Measure):
        return _measurement(job.science(), job.pretrain.recipe if isinstance(job.pretrain, Pretrain) else None)
    return canonical(job.science())


def _measurement(science: Mapping[str, Any], recipe: Recipe | None) -> str:
    """For a model of `recipe`, or for an imported checkpoint, which its id stands for."""
    same = {name: value for name, value in science.items() if name not in ("finetune_seed", "milestone", "pretrain")}
    encoder: Any = science["pretrain"]
    if recipe is not None:
        positions = recipe.model.positions_for(recipe.inputs.longest)
        encoder = [recipe.model, recipe.corpus, recipe.tokenizer, recipe.causal, positions]
    return canonical({**same, "encoder": encoder})


def _pretraining(recipe: Recipe, corpus: str, compiled: bool) -> str:
    """The losses leave out what costs no time, see `Loss.alike`."""
    schedule = Schedule(batch_size=recipe.schedule.batch_size, steps=min(1, recipe.schedule.steps))
    objective = tuple(loss.alike() for loss in recipe.objective)
    return canonical([dataclasses.replace(recipe, seed=0, objective=objective, schedule=schedule), corpus, compiled])


def _same_machine(environment: Mapping[str, Any], machine: Machine) -> bool:
    """Whether a run used one device like those of `machine`: the same GPU, or as many threads of the same CPU."""
    numerics = environment["numerics"]
    one = machine if machine.is_single_process else machine.per_worker()
    if "earlier" in environment or numerics.get("processes", 1) > 1:
        return False
    run = [numerics["device"], numerics["precision"]]
    here: list[str | int | None] = [one.device_name, one.precision_used]
    if not one.gpus:
        run += [numerics["threads"], environment["cores"], environment["processor"]]
        here += [one.num_threads, os.cpu_count(), processor()]
    return run == here
