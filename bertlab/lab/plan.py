"""Plans: the distinct jobs of studies at a scale over seeds, in the order in which they run.

Planning trains nothing and does not import torch. It hashes texts and tasks, so that a plan shows which jobs the store
has already finished.
"""

import dataclasses
import gc
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from bertlab.errors import BadInput, unknown, warn
from bertlab.lab import scales
from bertlab.lab.jobs import CorpusPreparation, Evaluation, Job, Pretrained, Pretraining
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.jobs.lists import to_run
from bertlab.lab.scales import Scale
from bertlab.lab.study import DEFAULT_METRIC, RANDOM_INIT, Measurement, Study, Variant
from bertlab.machine import Machine
from bertlab.names import plain
from bertlab.recipe import Corpus, Recipe, Tokenizer
from bertlab.recipe.identity import canonical, put
from bertlab.store.files import digest, kind
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.kinds.base import SETTINGS
from bertlab.tasks.locate import LocatedTask, Tasks
from bertlab.text import annotation, sources

MOST = 100_000
"""The largest number of values of one study in a plan."""
LONGEST_NAME = 60
"""Characters of the name of a setting."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a command that define a plan."""

    studies: tuple[Study, ...]
    scale: Scale
    corpora: tuple[str, ...] = ()
    """Names or paths; empty for the corpora of the scale."""
    vocabulary: Path | None = None
    """A `vocab.txt` to use instead of training one."""
    substitutes: Mapping[str, str] = field(default_factory=dict)
    """Data sets that replace those of tasks."""
    intermediate_task: Mapping[str, str] = field(default_factory=dict)
    """Data sets on which all weights are trained before a task."""
    seeds: Sequence[int] = (0,)
    """Pre-training seeds, ascending."""
    claim_seeds: Sequence[int] = ()
    """Pre-training seeds, ascending, of what claims compare; `claims.make` plans them."""
    finetune_seeds: int = 0
    """Fine-tuning seeds per pre-training; 0 for the number of the scale."""
    only: tuple[str, ...] = ()
    """Variants to run; empty for all."""
    measure: tuple[str, ...] = ()
    """Measurements to make; empty for all."""
    random_init: bool = False
    measured: bool = True
    """Whether variants are compared; if not, they may be the same runs."""
    held_back: bool = False
    """Evaluate fine-tunings on held-back training examples."""
    pretrained: Pretrained | None = None
    """The model that all variants measure instead of pre-training their own."""
    searched: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The settings that a search chose, by task; the scale contains them too."""
    tries: tuple[str, ...] = ()
    """Ids of the runs of that search."""
    timed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By study and variant, the steps that take as long as the baseline's."""
    speeds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By study and variant, measured training speeds; see `Study.speeds`."""
    name: str = ""
    """What reports call the setting; it changes no run and no id."""

    def __post_init__(self) -> None:
        if self.name != plain(self.name) or len(self.name) > LONGEST_NAME:
            example = f"at most {LONGEST_NAME} characters on one line, such as more-examples"
            raise BadInput(f"--name is {self.name[:LONGEST_NAME]!r}: give {example}")
        if not 1 <= len(self.seeds) <= 1000:
            raise BadInput(f"--seeds names {len(self.seeds)} seeds: give 1 to 1,000")
        if not 0 <= self.finetune_seeds <= 1000:
            raise BadInput(f"--finetune-seeds is {self.finetune_seeds}: give 1 to 1,000, or 0 for the scale's")
        if self.pretrained is not None and (self.corpora or self.vocabulary or tuple(self.seeds) != (0,)):
            raise BadInput("--from is one finished pre-training: leave out --corpus, --vocab and --seeds")
        variants = [*(variant.name for study in self.studies for variant in study.variants), RANDOM_INIT]
        measurements = [measurement.name for study in self.studies for measurement in study.measurements]
        for what, requested, names in (("variant", self.only, variants), ("measurement", self.measure, measurements)):
            for name in requested:
                if name not in names:
                    raise unknown(what, name, names)

    def measurements(self, study: Study) -> list[Measurement]:
        """The measurements of a study that are asked for."""
        return [
            measurement for measurement in study.measurements if not self.measure or measurement.name in self.measure
        ]


class Cell(NamedTuple):
    """One value of a study: a variant, a measurement, and the job that computes it."""

    study: Study
    variant: str
    measurement: Measurement
    job: Job
    pretraining: Pretrained
    """The pre-training of the value, the job itself or the one on which it stands."""

    @property
    def milestone(self) -> int:
        """The percentage of the pre-training's steps after which it is measured."""
        return self.job.milestone


@dataclass(frozen=True)
class Plan:
    """The jobs of a request."""

    request: Request
    corpora: tuple[str, ...]
    text: str
    """The id of the corpus of all variants that do not change it."""
    world: bool
    """Whether the tasks are the synthetic ones."""
    cells: tuple[Cell, ...]
    jobs: tuple[Job, ...]
    """Distinct jobs, each after the jobs that it needs."""

    @property
    def pretrainings(self) -> tuple[int, int]:
        """How many pre-trainings the variants ask for, over studies and seeds, and how many of them are distinct."""
        cells = self.cells if self.request.pretrained is None else ()
        asked = {(cell.study.name, cell.variant, cell.pretraining.id) for cell in cells}
        return len(asked), len({run_id for *_, run_id in asked})

    @cached_property
    def cells_of(self) -> Mapping[str, list[Cell]]:
        """The cells of each study by its name, in their order."""
        cells = defaultdict[str, list[Cell]](list)
        for cell in self.cells:
            cells[cell.study.name].append(cell)
        return cells

    @cached_property
    def first_of(self) -> Mapping[str, list[Cell]]:
        """The cells of each study without those that differ from an earlier one in their seeds alone."""
        first_cells: dict[str, list[Cell]] = {}
        for name, cells in self.cells_of.items():
            first: dict[tuple[str, str, int], Cell] = {}
            for cell in cells:
                first.setdefault((cell.variant, cell.measurement.name, cell.milestone), cell)
            first_cells[name] = [*first.values()]
        return first_cells

    def pending(self, store: Store) -> list[Job]:
        """The jobs of this plan that are left to run."""
        return self.split(store)[1]

    def split(self, store: Store) -> tuple[list[Job], list[Job]]:
        """The jobs of this plan that the store has finished, and those that are left to run (see `to_run`)."""
        done = frozenset(run.id for run in store.runs())
        if done not in self._splits:
            self._splits.clear()  # of the store as it was
            self._splits[done] = [job for job in self.jobs if job.id in done], to_run(self.jobs, done)
        finished, left = self._splits[done]
        return [*finished], [*left]

    @cached_property
    def _splits(self) -> dict[frozenset[str], tuple[list[Job], list[Job]]]:
        """The last answer of `split`, by the ids of the finished runs of the store."""
        return {}


@contextmanager
def without_collector() -> Iterator[None]:
    """Lets no garbage collector run: among millions of new jobs, which hold no cycles, it takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@without_collector()
def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request. Reads and hashes corpora and tasks; raises `BadInput` for a request that cannot run."""
    if request.pretrained is not None and request.scale.recipe != scales.find(request.scale.name).recipe:
        groups = ", ".join(f"{group}." for group in (*scales.GROUPS, "tasks"))
        raise BadInput(f"--from: the pre-training is finished, so --set cannot change it: set only {groups}")
    planner = _Planner(request, machine)
    asked = [measurement for study in request.studies for measurement in request.measurements(study)]
    measured = {catalog.find(measurement.task).name for measurement in asked if measurement.task}
    options = {
        "substitute": request.substitutes,
        "intermediate-task": request.intermediate_task,
        "set tasks.": request.scale.given.keys() - set(SETTINGS),
    }
    tasks = ", ".join(sorted(measured))
    for option, names in options.items():
        for name in names:
            if name not in measured and name in catalog.TASKS:
                raise BadInput(f"--{option} '{name}': nothing measures this task; choose from {tasks}")
            if name not in measured:
                raise unknown(f"task in --{option}", name, sorted(measured))
    cells = [cell for study in request.studies for cell in planner.cells(study)]
    recipes = (cell.pretraining.recipe for cell in cells)
    if request.scale.recipe.corpus.annotator and not any(recipe and recipe.annotated for recipe in recipes):
        raise BadInput("--set corpus.annotator has no effect: no variant reads linguistic spans, leave it out")
    jobs = jobs_of(cell.job for cell in cells)
    if not request.held_back:  # a trial of settings measures only the baseline
        _check_used(planner, machine)
    return Plan(
        request=request,
        corpora=tuple(corpus.source.name for corpus in planner.located),
        text=planner.prepare(planner.base(request.scale)).id,
        world=planner.world,
        cells=tuple(cells),
        jobs=jobs,
    )


class _Planner:
    """Plans the studies of a request, which share texts, tasks and code."""

    def __init__(self, request: Request, machine: Machine) -> None:
        self.request = request
        self.located: tuple[sources.Located, ...] = ()
        if request.pretrained is None:
            names = request.corpora or request.scale.corpus
            self.located = tuple(sources.resolve(name, machine=machine) for name in names)
            contents = [corpus.source.content for corpus in self.located]
            if twice := next((corpus for corpus in self.located if contents.count(corpus.source.content) > 1), None):
                raise BadInput(f"--corpus '{twice.source.name}' is given twice: give each corpus once")
            self.world = all(corpus.origin == "microworld" for corpus in self.located)  # whether tasks are synthetic
        else:
            read = request.pretrained.recipe.corpus.sources if request.pretrained.recipe else ()
            self.world = bool(read) and all(source.content.startswith("microworld:") for source in read)
        self.tasks = Tasks(
            request.substitutes, request.intermediate_task, machine, self.world, request.scale.counterparts
        )
        files = [study.file for study in request.studies if study.file is not None and study.file.code is not None]
        if files and len(request.studies) > 1:
            raise BadInput(f"study file '{files[0].argument}' defines code, which may change any run: run it alone")
        self.code = files[0].code if files else None
        self._pretrainings: dict[tuple[object, ...], list[Pretrained]] = {}
        self.series: dict[tuple[object, ...], list[Job]] = {}
        vocabulary = request.vocabulary
        if vocabulary is not None and kind(vocabulary, "--vocab") != "file":
            raise BadInput(f"vocabulary '{vocabulary}' does not exist: give the path of a vocab.txt")
        self.given = "" if vocabulary is None else f"sha256:{digest(vocabulary)}"
        self.loaded = set[Tokenizer]()  # those of which `vocabulary` is one

    def base(self, scale: Scale) -> Recipe:
        """The recipe of a scale on the text of the request."""
        recipe, text = scale.recipe, self.request.scale.recipe.corpus
        read = tuple(corpus.source for corpus in self.located)
        corpus = Corpus(sources=read, heldout=text.heldout, documents=text.documents)
        tokenizer = dataclasses.replace(recipe.tokenizer, given=self.given)
        return dataclasses.replace(recipe, corpus=corpus, tokenizer=tokenizer)

    def prepare(self, recipe: Recipe) -> CorpusPreparation:
        """The job of the corpus of a recipe. Raises `BadInput` where --vocab is not the vocabulary of its tokenizer."""
        if self.request.vocabulary is not None and recipe.tokenizer not in self.loaded:
            recipe.tokenizer.load(self.request.vocabulary)
            self.loaded.add(recipe.tokenizer)
        return CorpusPreparation(recipe.corpus, recipe.tokenizer, self.located, self.request.vocabulary, self.code)

    def data(self, study: Study, measurement: Measurement) -> LocatedTask:
        """The data of a measurement. Raises `BadInput` if there are none, which names `--measure` where that helps."""
        try:
            return self.tasks.find(measurement.task)
        except BadInput as error:
            if len(study.measurements) == 1 or catalog.find(measurement.task).name in self.request.substitutes:
                raise
            others = f"name other measurements of study {study.name} with --measure"
            raise BadInput(f"{error}; or leave out '{measurement.name}': {others}") from None

    def cells(self, study: Study) -> Iterator[Cell]:
        """The values of a study. Raises `BadInput` for a study that cannot run."""
        request, scale = self.request, self.request.scale.following(study.at_paper)
        measurements, base = request.measurements(study), self.base(scale)
        recipes = self.recipes(study, base)
        if request.measured:  # last: it looks tasks up, perhaps on the Hub
            distinct = set()
            for variant in study.variants:
                adapted = []
                for measurement in measurements:
                    if measurement.task:
                        data = self.data(study, measurement)
                        adapted.append(study.adaptation(variant, measurement, scale, data.task.kind, data.name))
                distinct.add(canonical([study.recipe(variant, base), adapted]))
            if len(distinct) < min(2, len(study.variants)):
                if not base.schedule.steps:
                    raise BadInput("schedule.steps is 0: without pre-training, variants do not differ; set 1 or more")
                raise BadInput(
                    f"study '{study.name}': all its variants are the same runs at scale {scale.name}: let them differ "
                    "in fields of the recipe, or in their adaptation"
                )
        seeds = len(request.seeds) * (request.finetune_seeds or scale.finetune_seeds)
        if (values := len(recipes) * len(measurements) * seeds) > MOST:
            raise BadInput(
                f"--seeds and --finetune-seeds give study {study.name} {values:,} values, over {MOST:,}: use less"
            )
        for variant, recipe in recipes:
            # of the held-out values, those that the losses of the recipe evaluate
            figures = {name for loss in recipe.declared.objective for name in loss.measured}
            measurable = [
                measurement for measurement in measurements if measurement.task or measurement.metric in figures
            ]
            first = _given_to(variant, request.pretrained) or Pretraining(
                dataclasses.replace(recipe, seed=request.seeds[0]),
                self.prepare(recipe),
                f"{study.name}-{variant.name}",
                request.scale.milestones,
                study=study.name,
                code=self.code,
            )
            pretrainings = self.pretrainings(first)
            series = [
                (measurement, self.on_each(job, pretrainings))
                for measurement in measurable or measurements
                for job in self.jobs(first, study, scale, variant, measurement)
            ]
            for number, pretraining in enumerate(pretrainings):
                for measurement, jobs in series:
                    yield Cell(study, variant.name, measurement, jobs[number], pretraining)

    def pretrainings(self, first: Pretrained) -> Sequence[Pretrained]:
        """A pre-training at each seed; studies with the same one share it."""
        key = (first.group, first)
        if key not in self._pretrainings:
            self._pretrainings[key] = [first, *map(first.with_seed, self.request.seeds[1:])]
        return self._pretrainings[key]

    def on_each(self, first: Job, pretrainings: Sequence[Pretrained]) -> Sequence[Job]:
        """The job of a value on each of these pre-trainings; studies with the same one share it."""
        key = (first.group, first)
        if key not in self.series:
            self.series[key] = [first, *map(first.on, pretrainings[1:])]
        return self.series[key]

    def recipes(self, study: Study, base: Recipe) -> list[tuple[Variant, Recipe]]:
        """The chosen variants of a study. Raises `BadInput` for options that do not go with them."""
        request = self.request
        study.check_set(request.scale.assigned)
        chosen = [variant for variant in study.variants if not request.only or variant.name in request.only]
        recipes = self.annotated(study, [(variant, self.recipe(study, variant, base)) for variant in chosen])
        if request.random_init or RANDOM_INIT in request.only:
            baseline = study.variant(study.baseline)
            recipe = study.recipe(baseline, base)
            untrained = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, steps=0))
            recipes.append((dataclasses.replace(baseline, name=RANDOM_INIT), untrained))
        if request.pretrained:  # all variants measure it, so they must not differ before
            usual = study.recipe(study.variant(study.baseline), base)
            other = [
                f"'{variant.name}'" for variant, recipe in recipes if recipe != usual and variant.name != RANDOM_INIT
            ]
            if other:
                raise BadInput(
                    f"--from: study {study.name} pre-trains {', '.join(other)} differently: choose other variants with "
                    "--only"
                )
            if held_out := next(
                (measurement.name for measurement in request.measurements(study) if not measurement.task), None
            ):
                lacking = f"measurement '{held_out}' of study {study.name} needs a pre-training"
                raise BadInput(f"--from: {lacking}: name others with --measure")
            return recipes
        for variant, recipe in recipes:
            if (longest := recipe.model.max_length(recipe.inputs.longest)) < recipe.inputs.longest:
                raise BadInput(
                    f"model.max_positions is {longest} and variant '{variant.name}' of study "
                    f"{study.name} has sequences of {recipe.inputs.longest} tokens: give as many positions, or 0"
                )
            needed = max(2, recipe.inputs.corpora)  # the first of one is all of them
            if recipe.inputs.corpora and len(self.located) < needed:
                raise BadInput(
                    f"inputs.corpora is {recipe.inputs.corpora} in variant '{variant.name}' of study {study.name}, and "
                    f"the number of corpora is {len(self.located)}: name {needed} or more, each with --corpus"
                )
        return recipes

    def recipe(self, study: Study, variant: Variant, base: Recipe) -> Recipe:
        """The recipe of a variant, with its steps as timed if they were."""
        recipe, steps = study.recipe(variant, base), self.request.timed.get(study.name, {}).get(variant.name)
        return recipe if steps is None else put(recipe, {"schedule.steps": steps})

    def annotated(self, study: Study, recipes: list[tuple[Variant, Recipe]]) -> list[tuple[Variant, Recipe]]:
        """The recipes, with the linguistic spans in the corpora of those that read them.

        If nothing is named that finds them in this text, these are left out with a warning, unless `--only` names them.
        """
        request, reading = self.request, [variant.name for variant, recipe in recipes if recipe.annotated]
        if not reading or request.pretrained is not None:
            return recipes
        try:
            annotator = annotation.resolve(request.scale.recipe.corpus.annotator, self.located)
        except BadInput as error:
            if request.scale.recipe.corpus.annotator or request.only or study.baseline in reading:
                raise BadInput(f"variant '{reading[0]}' of study {study.name}: {error}") from None
            warn(f"study {study.name} leaves out {' and '.join(map(repr, reading))}: {error}")
            return [(variant, recipe) for variant, recipe in recipes if not recipe.annotated]
        fields = {"corpus.annotator": annotator}
        return [(variant, put(recipe, fields) if recipe.annotated else recipe) for variant, recipe in recipes]

    def jobs(
        self, pretrain: Pretrained, study: Study, scale: Scale, variant: Variant, measurement: Measurement
    ) -> Iterator[Job]:
        """The jobs of one measurement on one pre-training, for each milestone and fine-tuning seed."""
        if not measurement.task:
            yield pretrain
            return
        request = self.request
        data = self.data(study, measurement)
        _check_metrics(data, study, measurement, data.task.labels)
        if measurement.split == "test" and not data.task.test:
            where = data.folder or f"{data.task.dataset} ({data.origin})"
            raise BadInput(
                f"measurement '{measurement.name}' reports a test split, which task '{data.name}' does not have with "
                f"public labels in {where}: report the evaluation split, or use data that have one"
            )
        measured = study.adaptation(variant, measurement, scale, data.task.kind, data.name)
        if problem := measured.problem(kinds.find(data.task.kind)):
            whose = f"variant '{variant.name}', " if variant.adaptation is not None else ""
            raise BadInput(f"{whose}measurement '{measurement.name}': {problem}")
        try:
            measured = pretrain.fitted(measured)
        except BadInput as error:
            raise BadInput(f"measurement '{measurement.name}' {error}") from None
        before = self.tasks.intermediate(measurement.task) if measured.intermediate else None
        for milestone in pretrain.saved(measurement.milestones):
            parts = (study.name, variant.name, measurement.name, *([f"{milestone}%"] if milestone < 100 else []))
            shared = (pretrain, data, measured, 0, "-".join(parts), milestone, before)
            first = Evaluation(*shared, request.held_back, self.code, study.name)
            for seed in range(request.finetune_seeds or scale.finetune_seeds):
                yield first.with_seed(seed) if seed else first


def _check_used(planner: _Planner, machine: Machine) -> None:
    """Raises `BadInput` if no job uses `--data` or a setting of `--set`. `BERTLAB_DATA` may be set without effect."""
    jobs = [first for first, *_ in planner.series.values()]
    tasks = {id(task): task for job in jobs for task in job.tasks}.values()
    if machine.data is not None and os.environ.get("BERTLAB_DATA") != str(machine.data):
        folders = [task.folder for task in tasks if task.folder]
        paths = [*(path for located in planner.located for path in located.files), *folders]
        inside = any(machine.data.resolve() in path.resolve().parents for path in paths)
        if not inside and (planner.world or not tasks):
            raise BadInput(
                f"--data {machine.data} has no effect: neither text nor tasks come from there; name a corpus with "
                "--corpus, or leave it out"
            )
    used = {job.settings.group(kinds.find(job.tasks[0].task.kind)) for job in jobs if job.settings}
    for path in planner.request.scale.assigned:
        if path.partition(".")[0] in set(scales.GROUPS) - used:
            raise BadInput(f"--set {path} has no effect: no measurement uses it, leave it out")


def _given_to(variant: Variant, pretrained: Pretrained | None) -> Pretrained | None:
    """The given model as a variant uses it; None if the variant is pre-trained."""
    if variant.name != RANDOM_INIT or pretrained is None:
        return pretrained
    return pretrained.untrained()


def check_data(plan: Plan, store: Store, machine: Machine) -> None:
    """Raises `BadInput` for a metric that does not fit the labels of a task, and for corpora without documents.

    It reads the examples. Of a corpus it knows the documents once it is prepared; later the training refuses it.
    """
    pending = {job.id for job in plan.pending(store)}
    prepared = {run.id: run for run in store.runs()}
    for job in plan.jobs:
        if job.id in pending:
            job.check_prepared(prepared)
    for cell in plan.cells:
        metrics = cell.study.metrics(cell.measurement)
        for data in cell.job.tasks[:1] if cell.job.id in pending and metrics != [DEFAULT_METRIC] else ():
            if kinds.find(data.task.kind).labelled and not data.task.labels:
                _check_metrics(data, cell.study, cell.measurement, read_task(data).labels)


def _check_metrics(data: LocatedTask, study: Study, measurement: Measurement, labels: tuple[str, ...]) -> None:
    """Raises `BadInput` for a metric that does not fit a task with these labels; without labels, its kind."""
    metrics = kinds.find(data.task.kind).metrics_of(data.task, labels)
    for metric in study.metrics(measurement):
        if metric not in metrics:
            task = f"measurement '{measurement.name}': a {data.task.kind} task{' with these labels' if labels else ''}"
            named = f"'{metric}'{', which is the default' if metric == DEFAULT_METRIC else ''}"
            raise BadInput(f"{task} has no metric {named}: choose metric= from {', '.join(metrics)}")


def jobs_of(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """The jobs and those that they need: preparations first, then each pre-training followed by its measurements.

    A finished run, such as one that `--from` names, is not among them, nor is what it needed.
    """
    ranks: dict[str, int] = {}
    ordered: list[tuple[int, Job]] = []

    def add(job: Job, number: int) -> int:
        """Adds a job and what it needs; its rank, which is the `number` of the first job on its pre-training."""
        if (rank := ranks.get(job.id)) is None:
            rank = -1
            for need in () if job.finished else job.needs:
                rank = max(rank, add(need, number))
            if rank < 0 and not job.preparation:
                rank = number
            ranks[job.id] = rank
            if not job.finished:
                ordered.append((rank, job))
        return rank

    for number, job in enumerate(jobs):
        if job.id not in ranks:
            add(job, number)
    return tuple(job for _, job in sorted(ordered, key=itemgetter(0)))
