"""What finished runs took: the best that is known of what runs like them will take."""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections.abc import Mapping
from typing import Any

from bertlab.errors import BadInput
from bertlab.lab.jobs import Job, Measure, Pretrain
from bertlab.machine import Machine, processor
from bertlab.recipe import Masking, Recipe, Schedule
from bertlab.recipe.identity import canonical, load
from bertlab.store.runs import Run, Store


class Recorded:
    """The times of a store's finished runs: of each, and of those alike that were computed as on this machine."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self._machine = machine
        self._runs = {run.id: run for run in store.runs()}
        self._own: dict[str, float] = {}
        found: dict[str, list[tuple[float, float]]] = {}
        for run in self._runs.values():
            try:
                self._own[run.id] = run.seconds()
                if run.kind != "corpus" and _computed_alike(run.environment(), machine):
                    found.setdefault(self._likeness(run), []).append(self._rate(run))
            except (AttributeError, BadInput, KeyError, OSError, TypeError):  # of another version: nothing is learnt
                continue
        self._alike = {
            name: (statistics.median(step for step, _ in rates), statistics.median(rest for _, rest in rates))
            for name, rates in found.items()
        }

    def seconds(self, job: Job, devices: int = 1) -> float | None:
        """What a job took, or takes if it takes as long as the median of those alike; `None` if none is finished.

        On several `devices` it is taken to be as many times as fast.
        """
        if job.id in self._own:
            return self._own[job.id] / devices
        known = self._alike.get(alike(job, self._machine))
        if known is None:
            return None
        step, rest = known
        return (step * (job.steps if isinstance(job, Pretrain) else 0) + rest) / devices

    def _likeness(self, run: Run) -> str:
        science = run.science()
        if run.kind == "pretrain":
            compiled = run.environment()["numerics"].get("compiled") == "yes"
            return pretrained_alike(load(Recipe, science["recipe"]), science["corpus"], compiled)
        if run.kind == "import":
            return canonical(science)
        pretrained = self._runs[science["pretrain"]].science()
        return measured_alike(science, load(Recipe, pretrained["recipe"]))

    def _rate(self, run: Run) -> tuple[float, float]:
        """Seconds a step, and those beside the steps."""
        if run.kind != "pretrain":
            return 0.0, run.seconds()
        trained = sum(line["seconds"] for line in run.timing() if line["stage"] == "train")
        return trained / max(1, run.result()["steps"]), run.seconds() - trained


def alike(job: Job, machine: Machine) -> str:
    """What jobs have in common that take as long as each other, but for the number of steps of a pre-training."""
    if isinstance(job, Pretrain):
        return pretrained_alike(job.recipe, job.corpus.id, machine.compiles(job.recipe))
    if isinstance(job, Measure):
        return measured_alike(job.science(), job.pretrain.recipe if isinstance(job.pretrain, Pretrain) else None)
    return canonical(job.science())


def measured_alike(science: Mapping[str, Any], recipe: Recipe | None) -> str:
    """What measurements have in common that take as long as each other.

    Of what is measured that is the `recipe`, or the id of a checkpoint from elsewhere.
    """
    told = {name: value for name, value in science.items() if name not in ("finetune_seed", "milestone", "pretrain")}
    return canonical({**told, "encoder": encoder(recipe) if recipe else science["pretrain"]})


def pretrained_alike(recipe: Recipe, corpus: str, compiled: bool) -> str:
    """What pre-trainings have in common that take as long a step and at milestones, however many there are.

    Which tokens are predicted and what is shown in their place costs nothing; how many, and a second evaluation under a
    masking of its own, do.
    """
    masking, schedule = recipe.masking, recipe.schedule
    usual = (masking.mask, masking.keep, masking.random) == (0.8, 0.1, 0.1)
    masking = (
        Masking(mask_prob=masking.mask_prob)
        if usual
        else Masking(mask_prob=masking.mask_prob, mask=1.0, keep=0.0, random=0.0)
    )
    schedule = Schedule(batch_size=schedule.batch_size, steps=min(1, schedule.steps))
    recipe = dataclasses.replace(recipe, seed=0, masking=masking, schedule=schedule)
    return canonical([recipe, corpus, compiled])


def encoder(recipe: Recipe) -> str:
    """What pre-trained models have in common that take as long to measure."""
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return canonical([recipe.model, recipe.corpus, recipe.tokenizer, recipe.objective.causal, positions])


def _computed_alike(environment: Mapping[str, Any], machine: Machine) -> bool:
    """Whether a run was computed as this machine would, on one device: the same GPU, or as many of the same cores."""
    numerics = environment["numerics"]
    one = machine.per_worker() if not machine.is_single_process else machine
    if "earlier" in environment or numerics.get("processes", 1) > 1:
        return False
    told = [numerics["device"], numerics["precision"]]
    here: list[str | int | None] = [one.device_name, one.precision_used]
    if not one.gpus:
        told += [numerics["threads"], environment["cores"], environment["processor"]]
        here += [one.num_threads, os.cpu_count(), processor()]
    return told == here
