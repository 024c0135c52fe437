"""Times of jobs: those of similar finished runs, else from short trials of pre-trainings on this machine."""

import dataclasses
import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.estimates import measure
from bertlab.estimates.estimate import JOB_SECONDS, text_bytes, work
from bertlab.lab.jobs import Job, Measure, PrepareCorpus, Pretrain, per_group
from bertlab.machine import Machine, processor
from bertlab.progress import silent
from bertlab.recipe import Corpus, Recipe, Schedule, Tokenizer
from bertlab.recipe.identity import canonical, load
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.text import sources, tokens
from bertlab.text.tokens import TokenisedCorpus

DOCUMENTS = 1000
"""Documents of the synthetic corpus that trials train on."""
HELD_OUT = 0.2
"""Share of these that is held out."""
TURNS = 3
"""Trials of each of several pre-trainings that are compared: what else runs delays some of them."""


class Recorded:
    """The times of a store's finished runs, and of similar jobs that this machine would compute in the same way."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self._machine = machine
        self._own: dict[str, float] = {}
        runs = {run.id: run for run in store.runs()}
        found: dict[str, list[tuple[float, float]]] = {}
        for run in runs.values():
            try:
                self._own[run.id] = run.seconds() * run.environment().get("numerics", {}).get("processes", 1)
                if run.kind != "corpus" and _same_machine(run.environment(), machine):
                    trained, steps = 0.0, 1
                    if run.kind == "pretrain":
                        trained = sum(line["seconds"] for line in run.timing() if line["stage"] == "train")
                        steps = max(1, run.result()["steps"])
                    found.setdefault(_similarity_of(run, runs), []).append((trained / steps, run.seconds() - trained))
            except (AttributeError, BadInput, KeyError, OSError, TypeError):
                continue
        self._key = per_group(lambda job: similarity(job, machine))
        self._similar: dict[str, list[float]] = {}
        for key, times in found.items():
            self._similar[key] = [statistics.median(each) for each in zip(*times, strict=True)]

    def seconds(self, job: Job, devices: int = 1) -> float | None:
        """The time of a job on `devices` devices: its own if finished, else the median of similar runs, or `None`."""
        if job.id in self._own:
            return self._own[job.id] / devices
        if not self._similar or (key := self._key(job)) not in self._similar:
            return None
        step, rest = self._similar[key]
        return (step * (job.steps if isinstance(job, Pretrain) else 0) + rest) / devices


def similarity(job: Job, machine: Machine) -> str:
    """Equal for jobs that take equally long, apart from the number of steps of a pre-training."""
    pretrain = job.pretrain if isinstance(job, Measure) else job
    if not isinstance(pretrain, Pretrain):
        return _similarity(job.science(), None, False)
    return _similarity(job.science(), pretrain.recipe, machine.compiles(pretrain.recipe))


def _without_spans(pretrain: Pretrain) -> Pretrain:
    """The pre-training without linguistic spans, if it reads any."""
    if not pretrain.recipe.annotated:
        return pretrain
    corpus = dataclasses.replace(pretrain.recipe.corpus, annotator="")
    objective = tuple(loss.alike() for loss in pretrain.recipe.objective)
    recipe = dataclasses.replace(pretrain.recipe, objective=objective, corpus=corpus)
    return dataclasses.replace(pretrain, recipe=recipe, corpus=dataclasses.replace(pretrain.corpus, corpus=corpus))


def _similarity_of(run: Run, runs: Mapping[str, Run]) -> str:
    science = run.science()
    pretrain = runs[science["pretrain"]] if "pretrain" in science else run
    recipe = load(Recipe, pretrain.science()["recipe"]) if pretrain.kind == "pretrain" else None
    compiled = run.environment()["numerics"].get("compiled") == "yes"
    return _similarity(science, recipe, compiled)


def _similarity(science: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
    """`recipe` is that of the model, `None` for a corpus or an imported checkpoint."""
    if recipe is None:
        return canonical({name: value for name, value in science.items() if name != "finetune_seed"})
    corpus = dataclasses.replace(recipe.corpus, annotator="")  # linguistic spans take no time in training
    if "pretrain" not in science:
        schedule = Schedule(batch_size=recipe.schedule.batch_size, steps=min(1, recipe.schedule.steps))
        objective = tuple(loss.alike() for loss in recipe.objective)
        alike = dataclasses.replace(recipe, seed=0, objective=objective, schedule=schedule, corpus=corpus)
        return canonical([alike, compiled])
    same = {name: value for name, value in science.items() if name not in ("finetune_seed", "milestone", "pretrain")}
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return canonical([same, recipe.model, corpus, recipe.tokenizer, recipe.causal, positions])


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


class Trials:
    """Times of jobs, from a trial for each shape of model and format of inputs, on the synthetic corpus in `directory`.

    Measurements are estimated from their FLOPs at the speed of the pre-trainings.
    """

    def __init__(self, store: Store, machine: Machine, directory: Path) -> None:
        self._directory = directory
        self._machine = machine if machine.is_single_process else machine.per_worker()
        self._runs_per_gpu = machine.runs_per_gpu
        self._recorded = Recorded(store, machine)
        self._tried = per_group(self._try)
        self._texts: dict[tuple[Tokenizer, str], tuple[TokenisedCorpus, float]] = {}
        self._speeds: dict[str, float] = {}
        self.sources: set[str] = set()
        """Where the times come from: `finished runs`, `trials`, `the speed of matrix products`."""
        self.peak = 0.0
        """FLOP/s of matrix products, measured before the first trial."""

    def seconds(self, job: Job, devices: int = 1) -> float:
        """The time of a job on some devices."""
        found = self._recorded.seconds(job)
        if found is not None:
            self.sources.add("finished runs")
        return (self._tried(job) if found is None else found) / devices

    def in_turn(self, jobs: Sequence[Pretrain]) -> list[float] | None:
        """The seconds of the steps of pre-trainings, each at its best in trials that take turns.

        None if one of them is too large for a trial.
        """
        self._measure_peak()
        if not all(measure.can_be_tried(job.recipe, self.peak) for job in jobs):
            return None
        turns = [[work(job).flops / self._speed(job) for job in jobs] for _ in range(TURNS)]
        return [min(times) for times in zip(*turns, strict=True)]

    def _measure_peak(self) -> None:
        if not self.peak:
            self.peak = measure.peak(self._machine)

    def _speed(self, pretrain: Pretrain) -> float:
        """FLOP/s of a pre-training, from a trial."""
        pretrain = _without_spans(pretrain)
        corpus, _ = self._text(pretrain.corpus)
        folder = Path(tempfile.mkdtemp(dir=self._directory))
        return measure.flops_per_second(pretrain.recipe, corpus, folder, self._machine, self.peak)

    def _try(self, job: Job) -> float:
        """The time of a job from trials. Preparing text of the Hub counts as nothing."""
        self._measure_peak()
        if isinstance(job, PrepareCorpus):
            self.sources.add("trials")
            return self._text(job)[1] * text_bytes(job)
        pretrain = job.pretrain if isinstance(job, Measure) else job
        if (
            not isinstance(pretrain, Pretrain)
            or not pretrain.steps
            or not measure.can_be_tried(pretrain.recipe, self.peak)
        ):
            self.sources.add("the speed of matrix products")
            return JOB_SECONDS + work(job).flops / (measure.TYPICAL_MFU * self.peak)
        self.sources.add("trials")
        key = similarity(pretrain, self._machine)
        if key not in self._speeds:
            self._speeds[key] = self._speed(pretrain)
        # A GPU computes no faster for runs that share it; only what they do between its kernels overlaps.
        together = self._runs_per_gpu / (measure.TYPICAL_MFU * self.peak)
        return JOB_SECONDS + work(job).flops * max(1 / self._speeds[key], together if self._machine.gpus else 0.0)

    def _text(self, job: PrepareCorpus) -> tuple[TokenisedCorpus, float]:
        """A corpus with the tokenizer of a job, and the seconds to prepare a byte."""
        key = job.tokenizer, job.corpus.annotator
        if key not in self._texts:
            began, folder = time.perf_counter(), Path(tempfile.mkdtemp(dir=self._directory))
            corpus = sample(job.tokenizer, folder, given=job.given, annotator=job.corpus.annotator)
            self._texts[key] = corpus, (time.perf_counter() - began) / corpus.facts["bytes"]
        return self._texts[key]


def sample(tokenizer: Tokenizer, directory: Path, *, given: Path | None = None, annotator: str = "") -> TokenisedCorpus:
    """A corpus of the first documents of the synthetic one in an empty directory, with the vocabulary `given`.

    Else one is trained, and filled with unused entries up to the size that a large text would yield. An `annotator`
    marks its linguistic spans.
    """
    path, built = directory / "text.jsonl", directory / "corpus"
    built.mkdir()
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"text": text}) + "\n" for text in microworld.documents(DOCUMENTS))
    located = sources.resolve(str(path), machine=Machine(cache=directory / "cache"))
    corpus = Corpus(sources=(located.source,), heldout=HELD_OUT, annotator=annotator)
    tokens.prepare(corpus, tokenizer, (located,), built, vocabulary_file=given, progress=silent)
    opened = tokens.open_corpus(built, tokenizer, check=False)
    if given is None:
        opened.tokenizer.extend(tokenizer.entries)
    return opened
