"""Plans: the distinct jobs of studies at a scale over seeds, in the order in which they run.

Planning trains nothing and does not import torch. It hashes texts and tasks, so that a plan shows which jobs the store
has already finished.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput, unknown
from bertlab.lab import scales, unused
from bertlab.lab.jobs import ImportCheckpoint, Job, Measure, PrepareCorpus, Pretrain, Pretrained, needs, read_task
from bertlab.lab.scales import Scale
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.recipe import Corpus, Recipe
from bertlab.recipe.identity import canonical
from bertlab.store.files import digest, kind
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.locate import Located as LocatedTask
from bertlab.tasks.locate import Tasks
from bertlab.text import sources

MOST = 100_000
"""The largest number of values of one study in a plan."""
RANDOM_INIT = "no pre-training"
"""The name of the variant that `--random-init` adds."""


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
    finetune_seeds: int = 0
    """Fine-tuning seeds per pre-training; 0 for the number of the scale."""
    only: tuple[str, ...] = ()
    """Variants to run; empty for all."""
    random_init: bool = False
    """Whether to add the variant without pre-training."""
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

    def __post_init__(self) -> None:
        if not 1 <= len(self.seeds) <= 1000:
            raise BadInput(f"--seeds names {len(self.seeds)} seeds: give 1 to 1,000")
        if not 0 <= self.finetune_seeds <= 1000:
            raise BadInput(f"--finetune-seeds is {self.finetune_seeds}: give 1 to 1,000")
        if self.pretrained is not None and (self.corpora or self.vocabulary or tuple(self.seeds) != (0,)):
            raise BadInput("--from is one finished pre-training: leave out --corpus, --vocab and --seeds")


@dataclass(frozen=True)
class Cell:
    """One value of a study: a variant, a measurement, and the job that computes it."""

    study: Study
    variant: str
    measurement: Measurement
    job: Measure | Pretrained

    @property
    def pretrain(self) -> Pretrained:
        """The pre-training of the value."""
        return self.job.pretrain if isinstance(self.job, Measure) else self.job


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

    def pending(self, store: Store) -> list[Job]:
        """The jobs of this plan that the store has not finished."""
        done = {run.id for run in store.runs()}
        return [job for job in self.jobs if job.id not in done]


def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request. Reads and hashes corpora and tasks; raises `BadInput` for a request that cannot run."""
    if request.pretrained is not None and request.scale.recipe != scales.find(request.scale.name).recipe:
        groups = ", ".join(f"{group}." for group in (*scales.GROUPS, "tasks"))
        raise BadInput(f"--from: the pre-training is finished, so --set cannot change it: set only {groups}")
    planner = _Planner(request, machine)
    _check_tasks(request)
    cells = [cell for study in request.studies for cell in planner.cells(study)]
    jobs = in_order([cell.job for cell in cells])
    if not request.held_back:  # a trial of settings measures only the baseline
        unused.check_data(machine, planner.located, jobs, planner.world)
        unused.check_settings(request.scale, jobs)
    if isinstance(request.pretrained, Pretrain):  # it has finished, and so has its corpus
        jobs = tuple(job for job in jobs if isinstance(job, Measure))
    return Plan(
        request=request,
        corpora=tuple(each.source.name for each in planner.located),
        text=planner.prepare(planner.base(request.scale)).id,
        world=planner.world,
        cells=tuple(cells),
        jobs=jobs,
    )


class _Planner:
    """Plans the studies of a request, which share texts, tasks and code."""

    def __init__(self, request: Request, machine: Machine) -> None:
        self.request = request
        self.located, self.world = _text(request, machine)
        self.tasks = Tasks(request.substitutes, request.intermediate_task, machine, self.world)
        self.code = _code(request.studies)
        vocabulary = request.vocabulary
        if vocabulary is not None and kind(vocabulary, "--vocab") != "file":
            raise BadInput(f"vocabulary '{vocabulary}' does not exist: give the path of a vocab.txt")
        self.given = "" if vocabulary is None else f"sha256:{digest(vocabulary)}"

    def base(self, scale: Scale) -> Recipe:
        """The recipe of a scale on the text of the request."""
        recipe, sources_ = scale.recipe, tuple(each.source for each in self.located)
        return dataclasses.replace(
            recipe,
            corpus=Corpus(sources=sources_, heldout=self.request.scale.recipe.corpus.heldout),
            tokenizer=dataclasses.replace(recipe.tokenizer, given=self.given or recipe.tokenizer.given),
        )

    def prepare(self, recipe: Recipe) -> PrepareCorpus:
        """The job of the corpus of a recipe."""
        return PrepareCorpus(recipe.corpus, recipe.tokenizer, self.located, self.request.vocabulary, self.code)

    def cells(self, study: Study) -> Iterator[Cell]:
        """The values of a study. Raises `BadInput` for a study that cannot run."""
        request, scale = self.request, self.request.scale.following(study.at_paper)
        base = self.base(scale)
        _check_assigned(study, request.scale)
        recipes = _recipes(study, base, request)
        if request.pretrained:
            _check_same(recipes, study, base)
        else:
            _check_positions(recipes, study)
        if request.measured:
            self.check_different(study, base, scale)  # last: it looks tasks up, perhaps on the Hub
        seeds = len(request.seeds) * (request.finetune_seeds or scale.finetune_seeds)
        if (values := len(recipes) * len(study.measurements) * seeds) > MOST:
            raise BadInput(
                f"--seeds and --finetune-seeds give study {study.name} {values:,} values, over {MOST:,}: use less"
            )
        for variant, recipe in recipes:
            for seed in request.seeds:
                pretrain = _given_to(variant, request.pretrained) or Pretrain(
                    dataclasses.replace(recipe, seed=seed),
                    self.prepare(recipe),
                    f"{study.name}-{variant.name}",
                    request.scale.milestones,
                )
                for measurement in _measurable(study, recipe):
                    for job in self.jobs(pretrain, study, scale, variant, measurement):
                        yield Cell(study, variant.name, measurement, job)

    def jobs(
        self, pretrain: Pretrained, study: Study, scale: Scale, variant: Variant, measurement: Measurement
    ) -> Iterator[Measure | Pretrained]:
        """The jobs of one measurement on one pre-training, for each milestone and fine-tuning seed."""
        if not measurement.task:
            yield pretrain
            return
        request = self.request
        data = self.tasks.find(measurement.task)
        _check_metric(data, measurement, data.task.labels)
        if measurement.split == "test" and not data.task.test:
            place = data.folder or f"{data.task.dataset} ({data.origin})"
            raise BadInput(
                f"measurement '{measurement.name}' reports a test split, which task '{data.name}' does not have with "
                f"public labels in {place}: report the evaluation split, or use data that have one"
            )
        measured = study.adaptation(variant, measurement, scale, data.task.kind, data.name)
        _check_adaptation(pretrain, measurement, measured, data.task.kind)
        before = self.tasks.intermediate(measurement.task) if measured.intermediate else None
        for milestone in _milestones(pretrain, measurement):
            parts = (study.name, variant.name, measurement.name, *([f"{milestone}%"] if milestone < 100 else []))
            for seed in range(request.finetune_seeds or scale.finetune_seeds):
                shared = (pretrain, data, measured, seed, "-".join(parts), milestone, before)
                yield Measure(*shared, request.held_back, self.code)

    def check_different(self, study: Study, base: Recipe, scale: Scale) -> None:
        """Raises `BadInput` for a study whose variants are all the same runs."""
        made = set()
        for variant in study.variants:
            adapted = []
            for measurement in study.measurements:
                if measurement.task:
                    data = self.tasks.find(measurement.task)
                    adapted.append(study.adaptation(variant, measurement, scale, data.task.kind, data.name))
            made.add(canonical([study.recipe(variant, base), adapted]))
        if len(made) < min(2, len(study.variants)):
            raise BadInput(
                f"study '{study.name}': all its variants are the same runs at scale {scale.name}: let them differ in "
                "fields of the recipe, or in their adaptation"
            )


def _check_tasks(request: Request) -> None:
    """Raises `BadInput` for an option that names a task which no study measures."""
    used = {catalog.find(each.task).name for study in request.studies for each in study.measurements if each.task}
    options = {
        "substitute": request.substitutes,
        "intermediate-task": request.intermediate_task,
        "set tasks.": request.scale.given.keys() - set(scales.FINETUNED),
    }
    for option, names in options.items():
        for name in names:
            if name not in used:
                raise unknown(f"task in --{option}", name, sorted(used))


def _measurable(study: Study, recipe: Recipe) -> list[Measurement]:
    """The measurements of a model that this recipe trains: of held-out values, those that its losses evaluate."""
    known = {name for loss in recipe.declared.objective for name in loss.measured}
    found = [each for each in study.measurements if each.task or each.metric in known]
    return found or study.measurements


def _code(studies: Sequence[Study]) -> Code | None:
    """The code of a study file. Raises `BadInput` if it could change runs of other studies."""
    files = [study.file for study in studies if study.file is not None and study.file.code is not None]
    if files and len(studies) > 1:
        raise BadInput(f"study file '{files[0].given}' defines code, which may change any run: run it alone")
    return files[0].code if files else None


def _text(request: Request, machine: Machine) -> tuple[tuple[sources.Located, ...], bool]:
    """The located corpora, and whether tasks are synthetic, as they are if all text is."""
    if request.pretrained is None:
        names = request.corpora or request.scale.corpus
        located = tuple(sources.resolve(name, machine=machine) for name in names)
        contents = [each.source.content for each in located]
        if twice := next((each for each in located if contents.count(each.source.content) > 1), None):
            raise BadInput(f"--corpus '{twice.source.name}' is given twice: give each corpus once")
        return located, all(each.origin == "microworld" for each in located)
    read = request.pretrained.recipe.corpus.sources if isinstance(request.pretrained, Pretrain) else ()
    return (), bool(read) and all(each.content.startswith("microworld:") for each in read)


def _check_positions(recipes: Sequence[tuple[Variant, Recipe]], study: Study) -> None:
    for variant, recipe in recipes:
        if 0 < recipe.model.max_positions < recipe.inputs.longest:
            raise BadInput(
                f"model.max_positions is {recipe.model.max_positions} and variant '{variant.name}' of study "
                f"{study.name} has sequences of {recipe.inputs.longest} tokens: give as many positions, or 0"
            )


def _check_same(recipes: Sequence[tuple[Variant, Recipe]], study: Study, base: Recipe) -> None:
    """Raises `BadInput` for variants that differ in their pre-training, and for measurements of it."""
    baseline = study.recipe(study.variant(study.baseline), base)
    other = [variant.name for variant, recipe in recipes if recipe != baseline and variant.name != RANDOM_INIT]
    if other:
        names = ", ".join(f"'{name}'" for name in other)
        raise BadInput(f"--from: study {study.name} pre-trains {names} differently: choose other variants with --only")
    for measurement in study.measurements:
        if not measurement.task:
            raise BadInput(f"--from: measurement '{measurement.name}' of study {study.name} needs a pre-training")


def _given_to(variant: Variant, pretrained: Pretrained | None) -> Pretrained | None:
    """The given model as a variant uses it; None if the variant is pre-trained."""
    if variant.name != RANDOM_INIT or pretrained is None:
        return pretrained
    if isinstance(pretrained, Pretrain):
        raise BadInput(
            "--random-init works with a study's own pre-training or with a checkpoint, not with a run: leave it out"
        )
    if not pretrained.checkpoint.reachable:
        raise BadInput(f"--random-init needs the files of '{pretrained.label}': give its directory with --from")
    return dataclasses.replace(pretrained, fresh=True)


def check_metrics(plan: Plan, store: Store, machine: Machine) -> None:
    """Raises `BadInput` for a metric that does not fit the labels of a task; reads the examples."""
    pending = {job.id for job in plan.pending(store)}
    for cell in plan.cells:
        job, metric = cell.job, cell.measurement.metric
        if isinstance(job, Measure) and job.id in pending and metric != "accuracy":
            task = job.data.task
            if kinds.find(task.kind).labelled and not task.labels:
                _check_metric(job.data, cell.measurement, read_task(job.data).labels)


def _check_metric(data: LocatedTask, measurement: Measurement, labels: tuple[str, ...]) -> None:
    """Raises `BadInput` for a metric that does not fit a task with these labels; without labels, its kind."""
    found = kinds.find(data.task.kind).known(labels)
    if measurement.metric not in found:
        what = f"metric of a {data.task.kind} task in measurement '{measurement.name}'"
        raise unknown(what, measurement.metric, found)


def _check_assigned(study: Study, scale: Scale) -> None:
    """Raises `BadInput` if `--set` names a field that the variants of a study set."""
    varied = study.varied() | {path for variant in study.variants for path in variant.fields}
    for arm, fields in study.varied_adaptation().items():
        varied |= {f"{arm.group(kind)}.{name}" for kind in kinds.KINDS.values() for name in fields}
    for path in scale.assigned:
        if path in varied:
            raise BadInput(f"--set {path}: study '{study.name}' varies it between its variants: leave it out")


def _check_adaptation(pretrain: Pretrained, measurement: Measurement, measured: Adaptation, kind: str) -> None:
    """Raises `BadInput` for an adaptation that does not fit the kind of task, and for sequences longer than the model's
    positions. Checkpoints are checked when they are read."""
    length = measured.length
    if problem := measured.problem(kinds.find(kind)):
        raise BadInput(f"measurement '{measurement.name}': {problem}")
    if isinstance(pretrain, Pretrain):
        positions = pretrain.recipe.model.positions_for(pretrain.recipe.inputs.longest)
        if length > positions:
            raise BadInput(
                f"measurement '{measurement.name}' uses {length} tokens and the model has {positions} positions: "
                f"set the length to {positions} at most, or model.max_positions={length}"
            )


def _milestones(pretrain: Pretrained, measurement: Measurement) -> list[int]:
    """The milestones of a measurement at which weights are saved; only the end of an import."""
    if isinstance(pretrain, ImportCheckpoint):
        return [100]
    at, steps = pretrain.recipe.schedule.milestone, pretrain.steps
    kept = {each for each in measurement.milestones if each in pretrain.milestones and 0 < at(each) < steps}
    return sorted({*kept, 100})


def _recipes(study: Study, base: Recipe, request: Request) -> list[tuple[Variant, Recipe]]:
    names = [variant.name for each in request.studies for variant in each.variants]
    for name in request.only:
        if name not in (*names, RANDOM_INIT):
            raise unknown("variant", name, names)
    chosen = [variant for variant in study.variants if not request.only or variant.name in request.only]
    recipes = [(variant, study.recipe(variant, base)) for variant in chosen]
    if request.random_init or RANDOM_INIT in request.only:
        baseline = study.variant(study.baseline)
        recipe = study.recipe(baseline, base)
        untrained = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, steps=0))
        recipes.append((dataclasses.replace(baseline, name=RANDOM_INIT), untrained))
    return recipes


def in_order(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """The jobs and those that they need: corpora first, then each pre-training followed by its measurements."""
    found: dict[str, Job] = {}
    for job in jobs:
        pretrain = job.pretrain if isinstance(job, Measure) else job
        for each in (*needs(pretrain), pretrain, job):
            found.setdefault(each.id, each)
    order = {id_: number for number, id_ in enumerate(found)}

    def place(job: Job) -> int:
        if isinstance(job, PrepareCorpus):
            return -1
        return order[job.pretrain.id if isinstance(job, Measure) else job.id]

    return tuple(sorted(found.values(), key=place))
