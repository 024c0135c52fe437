"""`--search`: chooses the fine-tuning settings of each task by a grid search on the baseline, for all variants.

Each trial is an ordinary job, evaluated on a held-back eighth of the training examples, never on the examples that a
study reports. The study is then planned with the best settings in its scale.
"""

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertlab.errors import BadInput
from bertlab.lab import plan as planning
from bertlab.lab.jobs import Job
from bertlab.lab.plan import Plan, Request
from bertlab.machine import Machine
from bertlab.store.runs import Store
from bertlab.tasks.kinds.base import SETTINGS

Setting = Mapping[str, float]
"""Fields of a fine-tuning and their values."""


@dataclass(frozen=True)
class Search:
    """The trials of every setting of a grid on every task on which a request fine-tunes."""

    request: Request
    plan: Plan
    """The trials and the jobs that they need."""
    tries: Mapping[str, list[tuple[Setting, Job, str]]]
    """The trials of each task: a setting, the job of its trial, and the metric that decides."""

    def chosen(self, store: Store) -> Request:
        """The request with the best finished setting of each task; the first one of equal ones."""
        scale, searched = self.request.scale, {}
        for task, tries in self.tries.items():
            finished = [
                (setting, run.result().metrics[metric]) for setting, job, metric in tries if (run := store.get(job.id))
            ]
            scores = [(score, setting) for setting, score in finished if score is not None]
            if scores:
                _, best = max(scores, key=lambda scored: scored[0])
                scale, searched[task] = scale.give(task, best), best
        of_tries = {job.id for tries in self.tries.values() for _, job, _ in tries}
        ids = tuple(job.id for job in self.plan.jobs if job.id in of_tries)
        return dataclasses.replace(self.request, scale=scale, searched=searched, tries=ids if searched else ())


def make(request: Request, machine: Machine) -> Search:
    """The search of a request: for each task on the baseline of the first study with it, with one seed.

    Raises `BadInput` as `plan.make` does, and for a field that is both set and searched.
    """
    grid = request.scale.grid
    for settings in request.scale.given.values():
        for name in settings.keys() & grid.keys():
            raise BadInput(f"--search chooses {name}, and --set sets it: leave one of the two out")
    tries: dict[str, list[tuple[Setting, Job, str]]] = {}
    only = tuple(dict.fromkeys(study.baseline for study in request.studies))
    single: dict[str, Any] = {"seeds": (0,), "finetune_seeds": 1, "random_init": False, "searched": {}}
    for values in itertools.product(*grid.values()):
        setting = dict(zip(grid, values, strict=True))
        described = "-".join(f"{name} {value:g}" for name, value in setting.items())
        scale = request.scale
        for group in SETTINGS:
            scale = scale.give(group, setting)
        tried = dataclasses.replace(request, scale=scale, only=only, held_back=True, keep=False, **single)
        plan = planning.make(tried, machine)
        seen = set()
        for cell in plan.cells:
            adapted = cell.job.settings
            if cell.variant != cell.study.baseline or adapted is None or not adapted.searched or cell.milestone < 100:
                continue
            if (task := cell.job.tasks[0].name) not in seen:
                trial = cell.job.labelled(f"{cell.job.name}-held back-{described}")
                tries.setdefault(task, []).append((setting, trial, cell.measurement.metric))
                seen.add(task)
    if not tries:
        raise BadInput("--search has no effect: no study fine-tunes its baseline on a task, leave it out")
    jobs = planning.jobs_of(job for of_task in tries.values() for _, job, _ in of_task)
    return Search(request, dataclasses.replace(plan, cells=(), jobs=jobs), tries)
