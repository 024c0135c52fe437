"""What concerns several jobs: their groups, those that are left to run, the devices among which they are divided."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar, TypeVarTuple

from bertlab.errors import BadInput
from bertlab.lab.jobs.base import Job
from bertlab.machine import Machine
from bertlab.store.runs import Store
from bertlab.wording import pluralise

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_checked: list[object] = []
"""Components of study files that this process has run."""


def grouped(jobs: Sequence[Job]) -> list[tuple[Job, int]]:
    """A job of each group, with the number of the jobs in it."""
    groups = [job.group for job in jobs]
    numbers = Counter(groups)
    return [(job, numbers[group]) for group, job in dict(zip(groups, jobs, strict=True)).items()]


def per_group(function: Callable[[Job, *Ts], T]) -> Callable[[Job, *Ts], T]:
    """A function of a job that does not depend on the seeds, computed once for all jobs of a group."""
    values: dict[Any, T] = {}

    def of_group(job: Job, *others: *Ts) -> T:
        if (key := (job.group, *others)) not in values:
            values[key] = function(job, *others)
        return values[key]

    return of_group


def to_run(jobs: Sequence[Job], done: Collection[str]) -> list[Job]:
    """The `jobs` that are not done, by their ids, without a preparation or a trunk for jobs that are all done.

    Exported results have no corpora.
    """
    waiting = {job.id: job for job in jobs if job.id not in done}
    needed = {need.id for job in jobs for need in job.needs}
    asked = [job for job in waiting.values() if not (job.preparation or job.passing) or job.id not in needed]
    left = set[str]()
    while asked:
        job = asked.pop()
        if job.id not in left:
            left.add(job.id)
            asked += [waiting[need.id] for need in job.needs if need.id in waiting]
    return [job for job in jobs if job.id in left]


def check_kept(jobs: Iterable[Job], store: Store) -> None:
    """Raises `BadInput` if a run is finished without the fine-tuned model that its job is to keep."""
    finished = [store.get(job.id) for job in jobs if job.keep]
    if without := [run.id for run in finished if run is not None and not run.holds_task_model]:
        raise BadInput(
            f"--keep: {pluralise(len(without), 'run')} finished without keeping the model: `bertlab runs --remove "
            f"{without[0]}` removes one, and the same command trains it again"
        )


def check_components(jobs: Sequence[Job], store: Store, machine: Machine) -> None:
    """Runs each component of a study file once, with the first job that has it and whose text or checkpoint is ready.

    Raises `ArmFailed` for what one does not do.
    """
    for job, _ in grouped(jobs):
        new = [component for component in job.components() if component not in _checked]
        needs = {need.id: need for needed in (job, *job.needs) for need in needed.needs if need.preparation}
        if new and all(store.get(run_id) is not None for run_id in needs):
            job.check_components(store, machine)
            _checked.extend(new)


def devices_per_run(machine: Machine, jobs: Iterable[Job]) -> int:
    """Devices of each distributed job: `--gpus-per-run`, else all GPUs divided evenly, or one where runs share them."""
    if machine.gpus_per_run or machine.runs_per_gpu > 1 or not machine.starts_ray:
        return machine.gpus_per_run or 1
    distributed = sum(job.distributed for job in jobs)
    return max(1, machine.gpus // distributed) if distributed else 1
