"""Studies x scale x seeds to jobs: each distinct job once, in the order in which they are run.

A plan is made without training anything and without importing torch: sources and tasks are named by the hash of what
they contain, recipes by their science, and what the store has already is marked as done.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput, unknown
from bertlab.lab import scales, unused
from bertlab.lab.jobs import ImportCheckpoint, Job, Measure, PrepareCorpus, Pretrain, Pretrained, needs, rows
from bertlab.lab.scales import Scale
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.recipe import Corpus, Recipe, Tokenizer
from bertlab.recipe.identity import canonical
from bertlab.store.files import digest, kind
from bertlab.store.runs import Store
from bertlab.tasks import kinds, lookup
from bertlab.tasks.data import Located as TaskRows
from bertlab.tasks.data import untested
from bertlab.tasks.lookup import Tasks
from bertlab.text import sources

MOST = 100_000
"""Values of one study that a plan is made of."""
RANDOM_INIT = "no pre-training"
"""The name of the row that `--random-init` adds."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a user asks for."""

    studies: tuple[Study, ...]
    scale: Scale
    corpora: tuple[str, ...] = ()
    """Names or paths; empty for those of the scale."""
    vocabulary: Path | None = None
    """A `vocab.txt` to use instead of training one."""
    substitutes: Mapping[str, str] = field(default_factory=dict)
    """Data sets measured in place of a task's own."""
    intermediate_task: Mapping[str, str] = field(default_factory=dict)
    """Data sets that all weights are trained on before a task is."""
    seeds: Sequence[int] = (0,)
    """Of the pre-training, ascending."""
    finetune_seeds: int = 0
    """Fine-tuning seeds within a pre-training; 0 for the scale's."""
    only: tuple[str, ...] = ()
    """Rows to run; empty for all."""
    random_init: bool = False
    """Whether to add the variant without pre-training."""
    measured: bool = True
    """Whether variants are compared; if not, they may be the same runs."""
    held_back: bool = False
    """Judge fine-tunings on rows held back from their training rows."""
    pretrained: Pretrained | None = None
    """What all rows are measured on, in place of a pre-training of their own."""
    searched: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What a search chose, by task; it is in the scale, and told."""
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
    """One measured value of a study: a row, a column and its seeds, and the job that it comes from."""

    study: Study
    variant: str
    measurement: Measurement
    job: Measure | Pretrained

    @property
    def pretrain(self) -> Pretrained:
        """The pre-training that is measured."""
        return self.job.pretrain if isinstance(self.job, Measure) else self.job

    def facts(self) -> dict[str, Any]:
        """What a report says of the task and the way it is measured."""
        if not isinstance(self.job, Measure):
            named = {"task": "held-out text", "dataset": "held-out text", "split": "held-out", "method": "pretraining"}
            return named | {"milestone": 100, "finetune_seed": 0}
        task = self.job.data.task
        split = task.test if self.measurement.split == "test" else task.evaluation
        named = {"task": self.job.data.asked, "dataset": task.dataset, "split": split}
        return named | {
            "method": self.job.settings.kind,
            "milestone": self.job.milestone,
            "finetune_seed": self.job.finetune_seed,
        }


@dataclass(frozen=True)
class Plan:
    """What a request comes to."""

    request: Request
    corpora: tuple[str, ...]
    text: str
    """The id of the corpus that rows are trained on which do not vary it."""
    world: bool
    """Whether the tasks are those of the embedded world."""
    cells: tuple[Cell, ...]
    jobs: tuple[Job, ...]
    """Distinct jobs, each after those that it needs."""

    @property
    def requested(self) -> tuple[int, int]:
        """The numbers of pre-trainings and measurements without sharing."""
        trained = {(cell.study.name, cell.variant, cell.pretrain.seed) for cell in self.cells}
        measured = {(c.study.name, c.variant, c.job.id) for c in self.cells if isinstance(c.job, Measure)}
        return len(trained), len(measured)

    @property
    def distinct(self) -> tuple[int, int]:
        """The numbers of pre-trainings and measurements that run."""
        measured = sum(isinstance(job, Measure) for job in self.jobs)
        return sum(isinstance(job, Pretrain | ImportCheckpoint) for job in self.jobs), measured

    def pending(self, store: Store) -> list[Job]:
        """The jobs of this plan that the store does not have yet."""
        done = {run.id for run in store.runs()}
        return [job for job in self.jobs if job.id not in done]


def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request. Reads and hashes what it names; raises `BadInput` for what cannot be."""
    if request.pretrained is not None and request.scale.recipe != scales.find(request.scale.name).recipe:
        groups = ", ".join(f"{group}." for group in (*scales.GROUPS, "tasks"))
        raise BadInput(f"--from: the pre-training is finished, --set reaches no field of it: set only {groups}")
    located, world = _text(request, machine)
    corpus = Corpus(sources=tuple(each.source for each in located), heldout=request.scale.recipe.corpus.heldout)
    used = sorted(
        {lookup.named(each.task).name for study in request.studies for each in study.measurements if each.task}
    )
    tuned = {name: values for name, values in request.scale.given.items() if name not in scales.FINETUNED}
    for option, named in (
        ("substitute", request.substitutes),
        ("intermediate-task", request.intermediate_task),
        ("set tasks.", tuned),
    ):
        for name in named:
            if name not in used:
                raise unknown(f"task in --{option}", name, used)
    tasks = Tasks(request.substitutes, request.intermediate_task, machine, world)

    code = _code(request.studies)
    tokenizer = request.scale.recipe.tokenizer
    if request.vocabulary is not None:
        tokenizer = _given(tokenizer, request.vocabulary)
    cells = []
    for study in request.studies:
        scale = request.scale.following(study.at_paper)
        base = dataclasses.replace(scale.recipe, corpus=corpus)
        if request.vocabulary is not None:
            base = dataclasses.replace(base, tokenizer=_given(base.tokenizer, request.vocabulary))
        _reaches(study, request.scale)
        variants = _rows(study, base, request)
        if request.pretrained:
            _same(variants, study, base)
        else:
            _check_positions(variants, study)
        if request.measured:
            _differ(study, base, scale, tasks)  # last: it looks tasks up, for which the Hub may have to be reached
        most = (
            len(variants)
            * len(request.seeds)
            * len(study.measurements)
            * (request.finetune_seeds or scale.finetune_seeds)
        )
        if most > MOST:
            raise BadInput(
                f"--seeds and --finetune-seeds come to {most:,} values in study {study.name}: ask for {MOST:,} at most"
            )
        for variant, recipe in variants:
            for seed in request.seeds:
                row = f"{study.name}-{variant.name}"
                pretrain = _given_to(variant, request.pretrained) or Pretrain(
                    dataclasses.replace(recipe, seed=seed),
                    PrepareCorpus(recipe.corpus, recipe.tokenizer, located, request.vocabulary, code),
                    row,
                    request.scale.milestones,
                )
                for measurement in study.measurements:
                    found = _jobs(pretrain, study, row, variant, measurement, request, scale, tasks)
                    cells += [Cell(study, variant.name, measurement, job) for job in found]
    jobs = in_order([cell.job for cell in cells])
    if not request.held_back:  # a try of some settings measures the baseline alone
        unused.check_data(machine, located, jobs, world)
        unused.check_settings(request.scale, jobs)
    if isinstance(request.pretrained, Pretrain):  # finished, and so is what it needs
        jobs = tuple(job for job in jobs if isinstance(job, Measure))
    return Plan(
        request=request,
        corpora=tuple(each.source.name for each in located),
        text=PrepareCorpus(corpus, tokenizer, located, code=code).id,
        world=world,
        cells=tuple(cells),
        jobs=jobs,
    )


def _code(studies: Sequence[Study]) -> Code | None:
    """What the file of a study defines that may change runs. Raises `BadInput` if it would change those of others."""
    for study in studies:
        if study.file is not None and study.file.code is not None:
            if len(studies) > 1:
                raise BadInput(f"study file '{study.file.given}' defines code, which may change any run: run it alone")
            return study.file.code
    return None


def _text(request: Request, machine: Machine) -> tuple[tuple[sources.Located, ...], bool]:
    """Where the text is, and whether tasks are those of the embedded world: where all text is from there."""
    if request.pretrained is None:
        names = request.corpora or request.scale.corpus
        located = tuple(sources.resolve(name, machine=machine) for name in names)
        contents = [each.source.content for each in located]
        if twice := next((each for each in located if contents.count(each.source.content) > 1), None):
            raise BadInput(f"--corpus '{twice.source.name}' is given twice: each document would be read twice")
        return located, all(each.origin == "microworld" for each in located)
    read = request.pretrained.recipe.corpus.sources if isinstance(request.pretrained, Pretrain) else ()
    return (), bool(read) and all(each.content.startswith("microworld:") for each in read)


def _check_positions(rows: Sequence[tuple[Variant, Recipe]], study: Study) -> None:
    for variant, recipe in rows:
        if 0 < recipe.model.max_positions < recipe.inputs.longest:
            raise BadInput(
                f"model.max_positions is {recipe.model.max_positions} and variant '{variant.name}' of study "
                f"{study.name} has sequences of {recipe.inputs.longest} tokens: give as many positions, or 0"
            )


def _same(rows: Sequence[tuple[Variant, Recipe]], study: Study, base: Recipe) -> None:
    """Raises `BadInput` for rows that differ in their pre-training, and for columns that are read off it."""
    baseline = study.recipe(study.variant(study.baseline), base)
    other = [variant.name for variant, recipe in rows if recipe != baseline and variant.name != RANDOM_INIT]
    if other:
        told = ", ".join(f"'{name}'" for name in other)
        raise BadInput(f"--from: study {study.name} pre-trains {told} otherwise: choose other rows with --only")
    for measurement in study.measurements:
        if not measurement.task:
            raise BadInput(f"--from: column '{measurement.name}' of study {study.name} is read off a pre-training")


def _given_to(variant: Variant, pretrained: Pretrained | None) -> Pretrained | None:
    """What a row is measured on if not on a pre-training of its own."""
    if variant.name != RANDOM_INIT or pretrained is None:
        return pretrained
    if isinstance(pretrained, Pretrain):
        raise BadInput(
            "--random-init needs the study's own pre-training, or a checkpoint, to start afresh: leave it out"
        )
    if not pretrained.checkpoint.reachable:
        raise BadInput(
            f"--random-init starts '{pretrained.label}' afresh from its files: give its directory with --from"
        )
    return dataclasses.replace(pretrained, fresh=True)


def _jobs(
    pretrain: Pretrained,
    study: Study,
    row: str,
    variant: Variant,
    measurement: Measurement,
    request: Request,
    scale: Scale,
    tasks: Tasks,
) -> Iterator[Measure | Pretrained]:
    """The jobs of one column for one pre-training of a row: over milestones, and fine-tuning seeds within each."""
    code = _code(request.studies)
    if not measurement.task:
        yield pretrain
        return
    data, content = tasks.find(measurement.task)
    _has(data, measurement, data.task.labels)
    if measurement.split == "test" and not data.task.test:
        raise BadInput(f"measurement '{measurement.name}' reports a test split: {untested(data)}")
    measured = study.adaptation(variant, measurement, scale, data.task.kind, data.asked)
    _check(pretrain, measurement, measured, data.task.kind)
    for milestone in _milestones(pretrain, measurement):
        for finetune_seed in range(request.finetune_seeds or request.scale.finetune_seeds):
            name = "-".join((row, measurement.name, *([f"{milestone}%"] if milestone < 100 else [])))
            before = tasks.intermediate(measurement.task) if measured.intermediate else (None, "")
            yield Measure(
                pretrain, data, content, measured, finetune_seed, name, milestone, *before, request.held_back, code
            )


def check_metrics(plan: Plan, store: Store, machine: Machine) -> None:
    """Raises `BadInput` for a metric that a task does not have, by the labels of its rows, which it reads."""
    pending = {job.id for job in plan.pending(store)}
    for cell in plan.cells:
        job, metric = cell.job, cell.measurement.metric
        if isinstance(job, Measure) and job.id in pending and metric != "accuracy":
            task = job.data.task
            if kinds.find(task.kind).labelled and not task.labels:
                _has(job.data, cell.measurement, rows(job.data, machine).labels)


def _has(data: TaskRows, measurement: Measurement, labels: tuple[str, ...]) -> None:
    """Raises `BadInput` for a metric that a task with these labels does not have; for none any of its kind is one."""
    found = kinds.find(data.task.kind).known(labels)
    if measurement.metric not in found:
        what = f"metric of a {data.task.kind} task in measurement '{measurement.name}'"
        raise unknown(what, measurement.metric, found)


def _reaches(study: Study, scale: Scale) -> None:
    """Raises `BadInput` for a field that `--set` names and the variants of a study set."""
    varied = study.varied() | {path for variant in study.variants for path in variant.fields}
    for arm, fields in study.varied_adaptation().items():
        varied |= {f"{group}.{name}" for group in arm.groups() for name in fields}
    for path in scale.assigned:
        if path in varied:
            raise BadInput(f"--set {path}: study '{study.name}' varies it between its variants: leave it out")


def _differ(study: Study, base: Recipe, scale: Scale, tasks: Tasks) -> None:
    """Raises `BadInput` for a study of several variants that are all the same runs."""

    def how(variant: Variant, measurement: Measurement) -> object:
        if not measurement.task:
            return ""
        data, _ = tasks.find(measurement.task)
        return study.adaptation(variant, measurement, scale, data.task.kind, data.asked)

    made = {
        canonical([study.recipe(variant, base), [how(variant, each) for each in study.measurements]])
        for variant in study.variants
    }
    if len(made) < min(2, len(study.variants)):
        raise BadInput(
            f"study '{study.name}': all its variants are the same runs at scale {scale.name}: let them differ in "
            "fields of the recipe, or in how they are measured"
        )


def _check(pretrain: Pretrained, measurement: Measurement, measured: Adaptation, kind: str) -> None:
    """Raises `BadInput` for an adaptation that is not for the kind of task, and for sequences longer than the model has
    positions; of a checkpoint that shows when it is read."""
    length = measured.length
    if problem := measured.problem(kinds.find(kind)):
        raise BadInput(f"measurement '{measurement.name}': {problem}")
    if isinstance(pretrain, Pretrain):
        positions = pretrain.recipe.model.positions_for(pretrain.recipe.inputs.longest)
        if length > positions:
            raise BadInput(
                f"measurement '{measurement.name}' is read in {length} tokens and the model has {positions} positions: "
                f"set the length to {positions} at most, or model.max_positions={length}"
            )


def _milestones(pretrain: Pretrained, measurement: Measurement) -> list[int]:
    """Of the milestones that are asked for, those at which weights are kept; the end alone where nothing is trained."""
    if isinstance(pretrain, ImportCheckpoint):
        return [100]
    at, steps = pretrain.recipe.schedule.milestone, pretrain.steps
    kept = {each for each in measurement.milestones if each in pretrain.milestones and 0 < at(each) < steps}
    return sorted({*kept, 100})


def _rows(study: Study, base: Recipe, request: Request) -> list[tuple[Variant, Recipe]]:
    for name in request.only:
        if name != RANDOM_INIT and all(name not in (v.name for v in each.variants) for each in request.studies):
            raise unknown("variant", name, [v.name for each in request.studies for v in each.variants])
    rows = [
        (variant, study.recipe(variant, base))
        for variant in study.variants
        if not request.only or variant.name in request.only
    ]
    if request.random_init or RANDOM_INIT in request.only:
        baseline = study.variant(study.baseline)
        recipe = study.recipe(baseline, base)
        untrained = dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, steps=0))
        rows.append((dataclasses.replace(baseline, name=RANDOM_INIT), untrained))
    return rows


def in_order(asked: Sequence[Job]) -> tuple[Job, ...]:
    """Corpora first; then each pre-training, followed at once by what is measured on it."""
    found: dict[str, Job] = {}

    def add(job: Job) -> None:
        for needed in needs(job):
            add(needed)
        found.setdefault(job.id, job)

    for job in asked:
        add(job)
    order = {id_: number for number, id_ in enumerate(found)}
    trained = {id_: number for number, id_ in enumerate(found) if isinstance(found[id_], Pretrain | ImportCheckpoint)}

    def place(job: Job) -> tuple[int, int]:
        if isinstance(job, PrepareCorpus):
            return (-1, order[job.id])
        return (trained[job.pretrain.id if isinstance(job, Measure) else job.id], order[job.id])

    return tuple(sorted(found.values(), key=place))


def _given(tokenizer: Tokenizer, vocabulary: Path) -> Tokenizer:
    if kind(vocabulary, "--vocab") != "file":
        raise BadInput(f"vocabulary '{vocabulary}' does not exist: give the path of a vocab.txt")
    return dataclasses.replace(tokenizer, given=f"sha256:{digest(vocabulary)}")
