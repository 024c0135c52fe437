"""Plans: the distinct jobs of studies at a scale over seeds, in the order in which they run.

Planning trains nothing and does not import torch. It hashes texts and tasks, so that a plan shows which jobs the store
has already finished.
"""

import dataclasses
import gc
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from bertlab.errors import BadInput, at, unknown, warn
from bertlab.lab import scales
from bertlab.lab.jobs import CorpusPreparation, Evaluation, Job, Pretrained, Pretraining
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.jobs.lists import to_run
from bertlab.lab.scales import Scale
from bertlab.lab.study import DEFAULT_METRIC, RANDOM_INIT, Measurement, Study, Variant
from bertlab.machine import Machine
from bertlab.names import plain
from bertlab.recipe import Corpus, Recipe, Tokenizer
from bertlab.recipe.identity import canonical, with_fields
from bertlab.store.files import digest, kind
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.kinds.base import SETTINGS
from bertlab.tasks.locate import LocatedTask, Tasks
from bertlab.text import annotation, sources

J = TypeVar("J", bound=Job)

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
    """Pre-training seeds, ascending, of what claims compare; `claim_plan.make` plans them."""
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
    keep: bool = False
    """Whether runs keep the fine-tuned models."""

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
    _check_tasks(request)
    cells = [cell for study in request.studies for cell in _StudyPlanner(planner, study).cells()]
    _check_used(planner, machine)
    return Plan(
        request=request,
        corpora=tuple(located.source.name for located in planner.located),
        text=planner.corpus_job(planner.base(request.scale)).id,
        world=planner.world,
        cells=tuple(cells),
        jobs=jobs_of(cell.job for cell in cells),
    )


class _Planner:
    """What the studies of a request share: texts, tasks, code, and jobs."""

    def __init__(self, request: Request, machine: Machine) -> None:
        self.request = request
        self.located: tuple[sources.Located, ...] = ()
        if request.pretrained is None:
            names = request.corpora or request.scale.corpus
            self.located = tuple(sources.resolve(name, machine=machine) for name in names)
            contents = [located.source.content for located in self.located]
            if twice := next((one for one in self.located if contents.count(one.source.content) > 1), None):
                raise BadInput(f"--corpus '{twice.source.name}' is given twice: give each corpus once")
            self.world = all(located.origin == "microworld" for located in self.located)  # whether tasks are synthetic
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
        self._jobs: dict[tuple[object, ...], list[Job]] = {}
        vocabulary = request.vocabulary
        if vocabulary is not None and kind(vocabulary, "--vocab") != "file":
            raise BadInput(f"vocabulary '{vocabulary}' does not exist: give the path of a vocab.txt")
        self._digest = "" if vocabulary is None else f"sha256:{digest(vocabulary)}"
        self._loaded = set[Tokenizer]()
        """The tokenizers of which `vocabulary` is one."""

    def base(self, scale: Scale) -> Recipe:
        """The recipe of a scale on the text of the request."""
        recipe, text = scale.recipe, self.request.scale.recipe.corpus
        read = tuple(located.source for located in self.located)
        corpus = Corpus(sources=read, heldout=text.heldout, documents=text.documents)
        tokenizer = dataclasses.replace(recipe.tokenizer, given=self._digest)
        return dataclasses.replace(recipe, corpus=corpus, tokenizer=tokenizer)

    def corpus_job(self, recipe: Recipe) -> CorpusPreparation:
        """The job of the corpus of a recipe. Raises `BadInput` where --vocab is not the vocabulary of its tokenizer."""
        if self.request.vocabulary is not None and recipe.tokenizer not in self._loaded:
            recipe.tokenizer.load(self.request.vocabulary)
            self._loaded.add(recipe.tokenizer)
        return CorpusPreparation(recipe.corpus, recipe.tokenizer, self.located, self.request.vocabulary, self.code)

    def over(self, first: J, others: Callable[[], Iterable[J]]) -> Sequence[J]:
        """A job at all seeds: at the first and at the others; studies with the same one share it."""
        key = (first.group, first)
        if key not in self._jobs:
            self._jobs[key] = [first, *others()]
        return cast(Sequence[J], self._jobs[key])

    @property
    def distinct(self) -> list[Job]:
        """The jobs of all studies at their first seed."""
        return [first for first, *_ in self._jobs.values()]


class _StudyPlanner:
    """Plans one study."""

    def __init__(self, planner: _Planner, study: Study) -> None:
        self.planner, self.request, self.study = planner, planner.request, study
        self.scale = self.request.scale.following(study.at_paper)
        self.base = planner.base(self.scale)
        self.measurements = self.request.measurements(study)
        self.finetune_seeds = self.request.finetune_seeds or self.scale.finetune_seeds

    def cells(self) -> Iterator[Cell]:
        """The values of the study. Raises `BadInput` for a study that cannot run."""
        self.study.check_set(self.request.scale.assigned)
        with at(f"study '{self.study.name}'"):
            recipes = self.recipes()
            values = len(recipes) * len(self.measurements) * len(self.request.seeds) * self.finetune_seeds
            if values > MOST:
                raise BadInput(f"--seeds and --finetune-seeds give it {values:,} values, over {MOST:,}: use less")
            if self.request.measured:  # last: it looks tasks up, perhaps on the Hub
                self.check_different()
            for variant, recipe in recipes:
                yield from self.of_variant(variant, recipe)

    def recipes(self) -> list[tuple[Variant, Recipe]]:
        """The chosen variants. Raises `BadInput` for options that do not go with them."""
        request, study = self.request, self.study
        chosen = [variant for variant in study.variants if not request.only or variant.name in request.only]
        recipes = self.annotated([(variant, self.recipe(variant)) for variant in chosen])
        baseline = study.variant(study.baseline)
        usual = study.recipe(baseline, self.base)
        if request.pretrained:  # all variants measure it, so they must not differ before
            self.check_pretrained([variant.name for variant, recipe in recipes if recipe != usual])
        else:
            for variant, recipe in recipes:
                with at(f"variant '{variant.name}'"):
                    self.check_recipe(recipe)
        if request.random_init or RANDOM_INIT in request.only:
            untrained = dataclasses.replace(usual, schedule=dataclasses.replace(usual.schedule, steps=0))
            recipes.append((dataclasses.replace(baseline, name=RANDOM_INIT), untrained))
        return recipes

    def recipe(self, variant: Variant) -> Recipe:
        """The recipe of a variant, with its steps as timed if they were."""
        recipe = self.study.recipe(variant, self.base)
        steps = self.request.timed.get(self.study.name, {}).get(variant.name)
        return recipe if steps is None else with_fields(recipe, {"schedule.steps": steps})

    def annotated(self, recipes: list[tuple[Variant, Recipe]]) -> list[tuple[Variant, Recipe]]:
        """The recipes, with the linguistic spans in the corpora of those that read them.

        If nothing is named that finds them in this text, these are left out with a warning, unless `--only` names them.
        """
        request, study = self.request, self.study
        reading = [variant.name for variant, recipe in recipes if recipe.annotated]
        if not reading or request.pretrained is not None:
            return recipes
        try:
            annotator = annotation.resolve(request.scale.recipe.corpus.annotator, self.planner.located)
        except BadInput as error:
            if request.scale.recipe.corpus.annotator or request.only or study.baseline in reading:
                raise BadInput(f"variant '{reading[0]}': {error}") from None
            warn(f"study {study.name} leaves out {' and '.join(map(repr, reading))}: {error}")
            return [(variant, recipe) for variant, recipe in recipes if not recipe.annotated]
        changes = {"corpus.annotator": annotator}
        return [(variant, with_fields(recipe, changes) if recipe.annotated else recipe) for variant, recipe in recipes]

    def check_pretrained(self, different: list[str]) -> None:
        """Raises `BadInput` for variants and measurements that need a pre-training of their own."""
        if different:
            others = ", ".join(map(repr, different))
            raise BadInput(f"--from: it pre-trains {others} differently: choose other variants with --only")
        for measurement in self.measurements:
            if not measurement.task:
                raise BadInput(
                    f"--from: measurement '{measurement.name}' needs a pre-training: name others with --measure"
                )

    def check_recipe(self, recipe: Recipe) -> None:
        """Raises `BadInput` for sequences longer than the model's positions, and for too few corpora."""
        if (positions := recipe.model.max_length(recipe.inputs.longest)) < recipe.inputs.longest:
            raise BadInput(
                f"model.max_positions is {positions} and sequences have {recipe.inputs.longest} tokens: give as many "
                "positions, or 0"
            )
        needed, there = max(2, recipe.inputs.corpora), len(self.planner.located)  # the first of one is all of them
        if recipe.inputs.corpora and there < needed:
            raise BadInput(
                f"inputs.corpora is {recipe.inputs.corpora}, and the number of corpora is {there}: name {needed} or "
                "more, each with --corpus"
            )

    def check_different(self) -> None:
        """Raises `BadInput` if all variants are the same runs."""
        study, runs = self.study, set()
        for variant in study.variants:
            adaptations = []
            for measurement in filter(lambda measurement: measurement.task, self.measurements):
                task = self.data(measurement)
                adaptations.append(study.adaptation(variant, measurement, self.scale, task.task.kind, task.name))
            runs.add(canonical([study.recipe(variant, self.base), adaptations]))
        if len(runs) < min(2, len(study.variants)):
            if not self.base.schedule.steps:
                raise BadInput("schedule.steps is 0: without pre-training, variants do not differ; set 1 or more")
            raise BadInput(
                f"all its variants are the same runs at scale {self.scale.name}: let them differ in fields of the "
                "recipe, or in their adaptation"
            )

    def of_variant(self, variant: Variant, recipe: Recipe) -> Iterator[Cell]:
        """The values of a variant."""
        request = self.request
        # of the held-out values, those that the losses of the recipe evaluate
        evaluated = {name for loss in recipe.declared.objective for name in loss.all_metric_labels}
        measurable = [one for one in self.measurements if one.task or one.metric in evaluated]
        first = self.pretraining(variant, recipe)
        pretrainings = self.planner.over(first, lambda: map(first.with_seed, request.seeds[1:]))
        series = [
            (measurement, self.planner.over(job, partial(map, job.on, pretrainings[1:])))
            for measurement in measurable or self.measurements
            for job in self.jobs(first, variant, measurement)
        ]
        for number, pretraining in enumerate(pretrainings):
            for measurement, jobs in series:
                yield Cell(self.study, variant.name, measurement, jobs[number], pretraining)

    def pretraining(self, variant: Variant, recipe: Recipe) -> Pretrained:
        """The pre-training of a variant at the first seed: the model of `--from`, or one with this recipe."""
        request, study = self.request, self.study
        if request.pretrained is not None:
            return request.pretrained.untrained() if variant.name == RANDOM_INIT else request.pretrained
        return Pretraining(
            dataclasses.replace(recipe, seed=request.seeds[0]),
            self.planner.corpus_job(recipe),
            f"{study.name}-{variant.name}",
            request.scale.milestones,
            study=study.name,
            code=self.planner.code,
        )

    def jobs(self, pretraining: Pretrained, variant: Variant, measurement: Measurement) -> Iterator[Job]:
        """The jobs of one measurement on one pre-training, for each milestone and fine-tuning seed."""
        if not measurement.task:
            yield pretraining
            return
        request, study, data = self.request, self.study, self.data(measurement)
        kind = kinds.find(data.task.kind)
        with at(f"measurement '{measurement.name}'"):
            _check_metrics(data, study, measurement, data.task.labels)
            if measurement.split == "test" and not data.task.test:
                where = data.folder or f"{data.task.dataset} ({data.origin})"
                raise BadInput(
                    f"it reports a test split, which task '{data.name}' does not have with public labels in {where}: "
                    "report the evaluation split, or use data that have one"
                )
            adaptation = study.adaptation(variant, measurement, self.scale, kind.name, data.name)
            if problem := adaptation.unsupported_reason(kind):
                raise BadInput(f"variant '{variant.name}': {problem}" if variant.adaptation is not None else problem)
            adaptation = pretraining.fitted(adaptation)
        before = self.planner.tasks.intermediate(measurement.task) if adaptation.intermediate else None
        for milestone in pretraining.saved(measurement.milestones):
            parts = (study.name, variant.name, measurement.name, *([f"{milestone}%"] if milestone < 100 else []))
            shared = (pretraining, data, adaptation, 0, "-".join(parts), milestone, before)
            first = Evaluation(*shared, request.held_back, self.planner.code, study.name, request.keep)
            for seed in range(self.finetune_seeds):
                yield first.with_seed(seed) if seed else first

    def data(self, measurement: Measurement) -> LocatedTask:
        """The data of a measurement. Raises `BadInput` if there are none, which names `--measure` where that helps."""
        try:
            return self.planner.tasks.find(measurement.task)
        except BadInput as error:
            if len(self.study.measurements) == 1 or catalog.find(measurement.task).name in self.request.substitutes:
                raise
            others = "name other measurements with --measure"
            raise BadInput(f"{error}; or leave out '{measurement.name}': {others}") from None


def _check_tasks(request: Request) -> None:
    """Raises `BadInput` if an option names a task that nothing measures."""
    measurements = [one for study in request.studies for one in request.measurements(study)]
    measured = sorted({catalog.find(measurement.task).name for measurement in measurements if measurement.task})
    options = {
        "substitute": request.substitutes,
        "intermediate-task": request.intermediate_task,
        "set tasks.": request.scale.given.keys() - set(SETTINGS),
    }
    for option, name in ((option, name) for option, names in options.items() for name in names):
        if name not in measured and name in catalog.TASKS:
            raise BadInput(f"--{option} '{name}': nothing measures this task; choose from {', '.join(measured)}")
        if name not in measured:
            raise unknown(f"task in --{option}", name, measured)


def _check_used(planner: _Planner, machine: Machine) -> None:
    """Raises `BadInput` if no job uses `--data` or a setting of `--set`. `BERTLAB_DATA` may be set without effect."""
    request, jobs = planner.request, planner.distinct
    recipes = (job.pretraining.recipe for job in jobs if job.pretraining)
    if request.scale.recipe.corpus.annotator and not any(recipe and recipe.annotated for recipe in recipes):
        raise BadInput("--set corpus.annotator has no effect: no variant reads linguistic spans, leave it out")
    if request.held_back:  # a trial of settings measures only the baseline
        return
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
    for path in request.scale.assigned:
        if path.partition(".")[0] in set(scales.GROUPS) - used:
            raise BadInput(f"--set {path} has no effect: no measurement uses it, leave it out")


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
                with at(f"study '{cell.study.name}'", f"measurement '{cell.measurement.name}'"):
                    _check_metrics(data, cell.study, cell.measurement, read_task(data).labels)


def _check_metrics(data: LocatedTask, study: Study, measurement: Measurement, labels: tuple[str, ...]) -> None:
    """Raises `BadInput` for a metric that does not fit a task with these labels; without labels, its kind."""
    metrics = kinds.find(data.task.kind).metrics_of(data.task, labels)
    for metric in study.metrics(measurement):
        if metric not in metrics:
            task = f"a {data.task.kind} task{' with these labels' if labels else ''}"
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
