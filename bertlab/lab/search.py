"""`--search` and `--search-rates`: choose the settings of fine-tuning by trials.

The first tries a grid of settings on the baseline, for each task: all variants are measured with the best one. The
second gives each variant the best of three learning rates for each task, where variants are adapted in different ways,
such as by adapters beside full fine-tuning: a comparison at one rate favours the method that the rate suits.

Each trial is an ordinary job, evaluated on a held-back eighth of the training examples, never on the examples that a
study reports.
"""

import dataclasses
import itertools
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from bertlab.errors import BadInput
from bertlab.lab import plan as planning
from bertlab.lab.jobs import Job
from bertlab.lab.plan import Cell, Plan, Request
from bertlab.lab.request import RATE
from bertlab.lab.study import Study, Variant
from bertlab.machine import Machine
from bertlab.store.runs import Store
from bertlab.tasks import catalog
from bertlab.tasks.kinds.base import SETTINGS

FACTORS = (1.0, 0.3, 3.0)
"""The rates that are tried for a variant, as multiples of the one that it has without a search."""

Choice = TypeVar("Choice")
Setting = Mapping[str, float]
"""Fields of a fine-tuning and their values."""


class Trial(NamedTuple):
    """A setting that is tried."""

    setting: Setting
    job: Job
    metric: str
    """The metric that decides."""


@dataclass(frozen=True)
class Search(ABC):
    """The trials of a request, several for each choice between settings."""

    title: ClassVar[str]
    """What the trials are, in words for the console."""
    request: Request
    plan: Plan
    """The trials and the jobs that they need."""
    tries: Mapping[Any, list[Trial]]
    """The trials of each choice."""

    @abstractmethod
    def chosen(self, store: Store) -> Request:
        """The request with the best finished setting of each choice."""

    def best(self, store: Store) -> dict[Any, Setting]:
        """The finished setting with the highest score of each choice, the first one of equal ones."""
        settings = {}
        for choice, trials in self.tries.items():
            runs = ((trial, store.get(trial.job.id)) for trial in trials)
            finished = [(run.result().metrics[trial.metric], trial.setting) for trial, run in runs if run]
            scores = [(score, setting) for score, setting in finished if score is not None]
            if scores:
                _, settings[choice] = max(scores, key=lambda scored: scored[0])
        return settings

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the trials."""
        of_trials = {trial.job.id for trials in self.tries.values() for trial in trials}
        return tuple(job.id for job in self.plan.jobs if job.id in of_trials)


class GridSearch(Search):
    """Every setting of the scale's grid on the baseline, for each task."""

    title = "settings to try on the baseline"
    tries: Mapping[str, list[Trial]]
    """By task."""

    def chosen(self, store: Store) -> Request:
        """The request with the best setting of each task in its scale."""
        scale, searched = self.request.scale, self.best(store)
        for task, setting in searched.items():
            scale = scale.give(task, setting)
        return dataclasses.replace(self.request, scale=scale, searched=searched, tries=self.ids if searched else ())


class RateSearch(Search):
    """Three learning rates of each variant, for each task."""

    title = "learning rates to try on each variant"
    tries: Mapping[tuple[str, str, str], list[Trial]]
    """By study, variant and task."""

    def chosen(self, store: Store) -> Request:
        """The request with the best rate of each variant on each task."""
        rates = defaultdict[str, dict[str, dict[str, float]]](dict)
        for (study, variant, task), setting in self.best(store).items():
            rates[study].setdefault(variant, {})[task] = setting[RATE]
        tries = (*self.request.tries, *(self.ids if rates else ()))
        return dataclasses.replace(self.request, rates=dict(rates), tries=tries)


def settings(request: Request, machine: Machine) -> GridSearch:
    """The search of settings: for each task on the baseline of the first study with it, with one seed.

    Raises `BadInput` as `plan.make` does, and for a field that is both set and searched.
    """
    grid = request.scale.grid
    for changes in request.scale.given.values():
        for name in changes.keys() & grid.keys():
            raise BadInput(f"--search chooses {name}, and --set sets it: leave one of the two out")
    tries = defaultdict[str, list[Trial]](list)
    baselines = {study.name: (study.variant(study.baseline),) for study in request.studies}
    for values in itertools.product(*grid.values()):
        setting, scale = dict(zip(grid, values, strict=True)), request.scale
        for group in SETTINGS:
            scale = scale.give(group, setting)
        plan = _planned(dataclasses.replace(request, scale=scale), machine, baselines)
        for task, trial in _trials(plan, baselines, setting, lambda cell: cell.job.tasks[0].name).items():
            tries[task].append(trial)
    if not tries:
        raise BadInput("--search has no effect: no study fine-tunes its baseline on a task, leave it out")
    return GridSearch(request, _of_trials(plan, tries), tries)


def rates(request: Request, machine: Machine) -> RateSearch:
    """The search of learning rates, in the studies whose variants are adapted in different ways, with one seed.

    Raises `BadInput` as `plan.make` does, and if there is no such study.
    """
    tries = defaultdict[tuple[str, str, str], list[Trial]](list)
    variants = {study.name: _adapted(study, request) for study in request.studies}
    if not any(variants.values()):
        raise BadInput("--search-rates has no effect: all variants are adapted in the same way, leave it out")
    for factor in FACTORS:
        of_study = {
            study.name: {variant.name: dict.fromkeys(_tasks(study), factor) for variant in variants[study.name]}
            for study in request.studies
        }
        plan = _planned(dataclasses.replace(request, rates=of_study), machine, variants)
        for choice, trial in _trials(plan, variants, {RATE: factor}, _value).items():
            tries[choice].append(trial)
    return RateSearch(request, _of_trials(plan, tries), tries)


def _adapted(study: Study, request: Request) -> tuple[Variant, ...]:
    """The variants that are asked for, if they are not all adapted in the same way."""
    chosen = [variant for variant in study.variants if not request.only or variant.name in request.only]
    alike = all(variant.adaptation == chosen[0].adaptation for variant in chosen)
    return () if alike else tuple(chosen)


def _tasks(study: Study) -> set[str]:
    return {catalog.find(measurement.task).name for measurement in study.measurements if measurement.task}


def _value(cell: Cell) -> tuple[str, str, str]:
    """The study, variant and task of a value."""
    return cell.study.name, cell.variant, cell.job.tasks[0].name


def _planned(request: Request, machine: Machine, variants: Mapping[str, tuple[Variant, ...]]) -> Plan:
    """The plan of a request with these variants alone, with one seed, on held-back examples."""
    only = tuple(dict.fromkeys(variant.name for chosen in variants.values() for variant in chosen))
    one: dict[str, Any] = {"seeds": (0,), "finetune_seeds": 1, "random_init": False, "searched": {}}
    return planning.make(dataclasses.replace(request, only=only, held_back=True, keep=False, **one), machine)


def _trials(
    plan: Plan, variants: Mapping[str, tuple[Variant, ...]], setting: Setting, choice: Callable[[Cell], Choice]
) -> dict[Choice, Trial]:
    """The first trial for each choice in a plan with a setting, of these variants of each study, at the end of
    pre-training."""
    names = {(study, variant.name) for study, chosen in variants.items() for variant in chosen}
    described = "-".join(f"{name} {value:g}" for name, value in setting.items())
    trials = dict[Choice, Trial]()
    for cell in plan.cells:
        adaptation = cell.job.settings
        if (cell.study.name, cell.variant) in names and adaptation and adaptation.searched and cell.milestone == 100:
            job = cell.job.labelled(f"{cell.job.name}-held back-{described}")
            trials.setdefault(choice(cell), Trial(setting, job, cell.measurement.metric))
    return trials


def _of_trials(plan: Plan, tries: Mapping[Any, list[Trial]]) -> Plan:
    """A plan of these trials, and of the jobs that they need, in place of its own."""
    jobs = planning.jobs_of(trial.job for trials in tries.values() for trial in trials)
    return dataclasses.replace(plan, cells=(), jobs=jobs)
