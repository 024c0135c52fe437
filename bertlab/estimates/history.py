"""Times of jobs: those of similar finished runs, else from short trials of pre-trainings on this machine."""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.estimates import microbenchmark
from bertlab.estimates.cost import JOB_SECONDS
from bertlab.lab.jobs import Job, Pretrained
from bertlab.lab.jobs.base import KINDS
from bertlab.lab.jobs.lists import per_group
from bertlab.lab.jobs.pretraining import without_spans
from bertlab.machine import Machine, processor
from bertlab.progress import silent
from bertlab.recipe import Corpus, Tokenizer
from bertlab.store.result import Environment
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


class RuntimeHistory:
    """The times of a store's finished runs, and of similar jobs that this machine would compute in the same way."""

    def __init__(self, store: Store, machine: Machine) -> None:
        self._times: dict[str, float] = {}
        """The seconds of finished runs on one device, by id."""
        runs = {run.id: run for run in store.runs()}
        similar: dict[str, list[tuple[float, float]]] = {}
        for run in runs.values():
            try:
                self._times[run.id] = run.seconds() * run.environment().numerics.get("processes", 1)
                if _same_machine(run.environment(), machine):
                    similar.setdefault(_similarity(run, runs), []).append(_parts(run))
            except (AttributeError, BadInput, KeyError, OSError, TypeError):
                continue
        self._key = per_group(lambda job: job.similar_to(machine))
        self._similar: dict[str, list[float]] = {
            key: [statistics.median(part) for part in zip(*times, strict=True)] for key, times in similar.items()
        }
        """The seconds of a step and of all else, by what jobs are similar to."""

    def seconds(self, job: Job, devices: int = 1) -> float | None:
        """The time of a job on `devices` devices: its own if finished, else the median of similar runs, or `None`."""
        if job.id in self._times:
            return self._times[job.id] / devices
        if not self._similar or (key := self._key(job)) not in self._similar:
            return None
        step, rest = self._similar[key]
        return (step * job.steps + rest) / devices


def _parts(run: Run) -> tuple[float, float]:
    """The seconds of each step of a pre-training after its trunk, and of all else in a run."""
    trained = run.training()
    steps = max(1, (run.result().steps or 0) - run.trunks().steps) if trained else 1
    return trained / steps, run.seconds() - trained


def _similarity(run: Run, runs: Mapping[str, Run]) -> str:
    """What jobs are `similar_to` that take as long as a run."""
    definition = run.definition()
    model = runs[definition["pretrain"]] if "pretrain" in definition else run
    recipe = KINDS[model.kind].recipe_of(model.definition())
    compiled = run.environment().numerics.get("compiled") == "yes"
    return KINDS[run.kind].similarity(definition, recipe, compiled)


def _same_machine(environment: Environment, machine: Machine) -> bool:
    """Whether a run used one device like those of `machine`: the same GPU, or as many threads of the same CPU."""
    numerics = environment.numerics
    one = machine if machine.is_single_process else machine.per_worker()
    if environment.earlier or numerics.get("processes", 1) > 1:
        return False
    run = [numerics["device"], numerics["precision"]]
    here: list[str | int | None] = [one.device_name, one.precision_used]
    if not one.gpus:
        run += [numerics["threads"], environment.cores, environment.processor]
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
        self._history = RuntimeHistory(store, machine)
        self._tried = per_group(self._try)
        self._texts: dict[tuple[Tokenizer, str], tuple[TokenisedCorpus, float]] = {}
        self._speeds: dict[str, float] = {}
        self.sources: set[str] = set()
        """Where the times come from: `finished runs`, `trials`, `the speed of matrix products`."""

    def seconds(self, job: Job, devices: int = 1) -> float:
        """The time of a job on some devices."""
        time_of_runs = self._history.seconds(job)
        if time_of_runs is not None:
            self.sources.add("finished runs")
        return (self._tried(job) if time_of_runs is None else time_of_runs) / devices

    def in_turn(self, models: Sequence[Pretrained]) -> list[float] | None:
        """The seconds of the steps of pre-trainings, each at its best in trials that take turns.

        None if one of them is too large for a trial.
        """
        if not all(microbenchmark.can_be_tried(model.read_recipe(), self._peak) for model in models):
            return None
        turns = [[model.work().flops / self._speed(model) for model in models] for _ in range(TURNS)]
        return [min(times) for times in zip(*turns, strict=True)]

    @cached_property
    def _peak(self) -> float:
        """FLOP/s of matrix products."""
        return microbenchmark.peak(self._machine)

    def _speed(self, model: Pretrained) -> float:
        """FLOP/s of a pre-training, from a trial."""
        recipe = without_spans(model.read_recipe())
        vocabulary = next((text.vocabulary for need in model.needs if (text := need.work().text)), None)
        corpus, _ = self._text(recipe.tokenizer, vocabulary, "")
        folder = Path(tempfile.mkdtemp(dir=self._directory))
        return microbenchmark.flops_per_second(recipe, corpus, folder, self._machine, self._peak)

    def _try(self, job: Job) -> float:
        """The time of a job from trials. Preparing text of the Hub counts as nothing."""
        work, model = job.work(), job.pretraining
        if text := work.text:
            self.sources.add("trials")
            return self._text(text.tokenizer, text.vocabulary, text.annotator)[1] * text.bytes
        if not (model and model.steps and microbenchmark.can_be_tried(model.read_recipe(), self._peak)):
            self.sources.add("the speed of matrix products")
            return JOB_SECONDS + work.flops / (microbenchmark.TYPICAL_MFU * self._peak)
        self.sources.add("trials")
        key = model.similar_to(self._machine)
        if key not in self._speeds:
            self._speeds[key] = self._speed(model)
        # A GPU computes no faster for runs that share it; only what they do between its kernels overlaps.
        together = self._runs_per_gpu / (microbenchmark.TYPICAL_MFU * self._peak)
        return JOB_SECONDS + work.flops * max(1 / self._speeds[key], together if self._machine.gpus else 0.0)

    def _text(self, tokenizer: Tokenizer, vocabulary: Path | None, annotator: str) -> tuple[TokenisedCorpus, float]:
        """A corpus with a tokenizer, and the seconds to prepare a byte."""
        key = tokenizer, annotator
        if key not in self._texts:
            began, folder = time.perf_counter(), Path(tempfile.mkdtemp(dir=self._directory))
            corpus = sample(tokenizer, folder, vocabulary_file=vocabulary, annotator=annotator)
            self._texts[key] = corpus, (time.perf_counter() - began) / corpus.facts["bytes"]
        return self._texts[key]


def sample(
    tokenizer: Tokenizer, directory: Path, *, vocabulary_file: Path | None = None, annotator: str = ""
) -> TokenisedCorpus:
    """A corpus of the first documents of the synthetic one in an empty directory, with the vocabulary in a file.

    Else one is trained, and filled with unused entries up to the size that a large text would yield. An `annotator`
    marks its linguistic spans.
    """
    path, built = directory / "text.jsonl", directory / "corpus"
    built.mkdir()
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"text": text}) + "\n" for text in microworld.documents(DOCUMENTS))
    located = sources.resolve(str(path), machine=Machine(cache=directory / "cache"))
    corpus = Corpus(sources=(located.source,), heldout=HELD_OUT, annotator=annotator)
    tokens.prepare(corpus, tokenizer, (located,), built, vocabulary_file=vocabulary_file, progress=silent)
    opened = tokens.open_corpus(built, tokenizer, check=False)
    if vocabulary_file is None:
        opened.tokenizer.extend(tokenizer.entries)
    return opened
