"""Times of finished runs: the best estimate for similar runs."""

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
        self._own: dict[str, float] = {}
        runs = {run.id: run for run in store.runs()}
        found: dict[str, list[tuple[float, float]]] = {}
        for run in runs.values():
            try:
                self._own[run.id] = run.seconds()
                if run.kind != "corpus" and _same_machine(run.environment(), machine):
                    found.setdefault(_similarity_of(run, runs), []).append(_times(run))
            except (AttributeError, BadInput, KeyError, OSError, TypeError):
                continue
        self._similar: dict[str, list[float]] = {}
        for key, times in found.items():
            self._similar[key] = [statistics.median(each) for each in zip(*times, strict=True)]

    def seconds(self, job: Job, devices: int = 1) -> float | None:
        """The time of a job on `devices` devices: its own if it is finished, else the median of similar runs.

        `None` if there is none.
        """
        if job.id in self._own:
            return self._own[job.id] / devices
        key = similarity(job, self._machine)
        if key not in self._similar:
            return None
        step, rest = self._similar[key]
        return (step * (job.steps if isinstance(job, Pretrain) else 0) + rest) / devices


def _times(run: Run) -> tuple[float, float]:
    """Seconds per step, and those outside of steps."""
    if run.kind != "pretrain":
        return 0.0, run.seconds()
    trained = sum(line["seconds"] for line in run.timing() if line["stage"] == "train")
    return trained / max(1, run.result()["steps"]), run.seconds() - trained


def similarity(job: Job, machine: Machine) -> str:
    """Equal for jobs that take equally long, apart from the number of steps of a pre-training."""
    pretrain = job.pretrain if isinstance(job, Measure) else job
    recipe = pretrain.recipe if isinstance(pretrain, Pretrain) else None
    return _similarity(job.science(), recipe, recipe is not None and machine.compiles(recipe))


def _similarity_of(run: Run, runs: Mapping[str, Run]) -> str:
    """The similarity of a job that is a finished run."""
    science = run.science()
    pretrain = runs[science["pretrain"]] if "pretrain" in science else run
    recipe = load(Recipe, pretrain.science()["recipe"]) if pretrain.kind == "pretrain" else None
    compiled = run.environment()["numerics"].get("compiled") == "yes"
    return _similarity(science, recipe, compiled)


def _similarity(science: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
    """`recipe` is that of the model, `None` for a corpus or an imported checkpoint.

    Losses that cost the same time are alike, see `Loss.alike`.
    """
    if recipe is None:
        return canonical({name: value for name, value in science.items() if name != "finetune_seed"})
    if "pretrain" not in science:
        schedule = Schedule(batch_size=recipe.schedule.batch_size, steps=min(1, recipe.schedule.steps))
        objective = tuple(loss.alike() for loss in recipe.objective)
        recipe = dataclasses.replace(recipe, seed=0, objective=objective, schedule=schedule)
        return canonical([recipe, science["corpus"], compiled])
    same = {name: value for name, value in science.items() if name not in ("finetune_seed", "milestone", "pretrain")}
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return canonical([same, recipe.model, recipe.corpus, recipe.tokenizer, recipe.causal, positions])


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
