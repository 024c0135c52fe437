"""Shows what jobs cost, runs them with live progress (bars on a terminal, lines elsewhere), says why some failed."""

import resource
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import compress
from typing import Any

from bertlab.cli.console import complain, debugging, say
from bertlab.cli.live import Live, title
from bertlab.cli.options import in_store
from bertlab.cli.table import print_table
from bertlab.errors import BadInput, warn
from bertlab.estimates.cost import Estimate, estimate
from bertlab.estimates.eta import Eta
from bertlab.estimates.history import RuntimeHistory
from bertlab.execution.attempt import one_line
from bertlab.execution.schedule import execute
from bertlab.lab import texts
from bertlab.lab.jobs import Job
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.jobs.lists import check_components, check_kept, grouped, to_run
from bertlab.lab.plan import Plan
from bertlab.lab.statement import timed_notes
from bertlab.machine import Machine
from bertlab.names import label
from bertlab.progress import Interrupted, signals_as_flags
from bertlab.store.config import write_run_config
from bertlab.store.lookup import addresses_of, ids_of_studies
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.wording import duration, flops, megabytes, pluralise

LEAST_MEMORY = 2 * 2**30
"""Bytes of address space: with less, importing torch fails or hangs."""


def print_plan(plan: Plan, store: Store, machine: Machine, what: str = "", cost: Estimate | None = None) -> Estimate:
    """Prints a plan; `what` describes jobs that are not the studies' own. Times are of `cost`, or of finished runs.

    Returns what it prints.
    """
    cost = cost or estimate(plan, store, machine, RuntimeHistory(store, machine).seconds, read_tasks=False)
    names = ", ".join([*(study.name for study in plan.request.studies), *([what] if what else [])])
    pretrained = plan.request.pretrained
    text = f"from {pretrained.label}" if pretrained else f"on {' + '.join(plan.corpora)}"
    lines = []
    timed = all(part.seconds is not None for part in cost.jobs.values())  # the time of a part is no guide
    for kind, part in cost.jobs.items():
        tokens = f"{part.tokens:,.0f}" if part.tokens else ""
        compute = flops(part.flops) if part.flops else ""
        disk = megabytes(part.disk_bytes) if part.disk_bytes else ""
        time = duration(part.seconds) if timed and part.seconds else ""
        lines.append((kind, str(cost.done[kind]), str(part.jobs), tokens, compute, disk, time))
    columns = ("job", "done", "to run", "tokens", "FLOPs", "disk", "time")
    filled = [any(column) for column in zip(*lines, strict=True)]
    rows = [list(compress(line, filled)) for line in lines]
    print_table(list(compress(columns, filled)), rows, f"{names}: scale {plan.request.scale.name} {text}")
    print_texts(*texts.describe_planned(plan.jobs, store))
    pending = plan.pending(store)
    for line in texts.describe_models(pending):
        say(line)
    if lacking := texts.lacking(pending, store):
        warn(lacking)
    for study in plan.request.studies:
        for line in timed_notes(study, plan.request.timed.get(study.name, {})):
            say(line)
    asked, distinct = plan.pretrainings
    if asked > distinct:
        say(f"The variants ask for {asked} pre-trainings, {distinct} of them distinct: the others are shared")
    alone, trained = plan.steps
    if alone > trained:
        say(f"Pre-trainings that begin alike share these steps: {trained:,} steps in place of {alone:,}")
    fewest = len(plan.request.seeds)
    if plan.request.claim_seeds and (most := len({cell.pretraining.seed for cell in plan.cells})) > fewest:
        say(f"{most} seeds of the values that claims compare, {pluralise(fewest, 'seed')} of all others")
    for line in texts.unlike_paper(plan) if plan.request.scale.name == "paper" and not what else ():
        say(line)
    return cost


def print_texts(lines: Iterable[str], doubts: Iterable[str]) -> None:
    """Prints what `lab.texts` says of texts."""
    for line in lines:
        say(line)
    for doubt in doubts:
        warn(doubt)


def require_memory() -> None:
    """Raises `BadInput` if `ulimit -v` leaves this process too little memory, where the system has that limit."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0] if hasattr(resource, "RLIMIT_AS") else resource.RLIM_INFINITY
    if limit != resource.RLIM_INFINITY and limit < LEAST_MEMORY:
        least = f"raise it to at least {LEAST_MEMORY / 1e6:,.0f} MB"
        raise BadInput(f"`ulimit -v` limits this process to {limit / 1e6:,.0f} MB: {least}")


def require_room(jobs: list[Job], store: Store) -> None:
    """Raises `BadInput` if what the jobs write does not fit on the disk of the store."""
    storages = [(job.storage(), number) for job, number in grouped(jobs)]
    needed = round(sum(number * storage.kept for storage, number in storages))
    needed += round(max((storage.working for storage, _ in storages), default=0))
    existing = next(path for path in (store.root.absolute(), *store.root.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if needed > free:
        raise BadInput(
            f"the runs need {needed / 1e6:,.0f} MB and '{store.root}' has {free / 1e6:,.0f}: free space, or choose "
            "another directory with --runs"
        )


def read_tasks(jobs: Iterable[Job], *, local: bool = False) -> None:
    """Reads the tasks of jobs, with `local` those in files alone. Raises `BadInput` for unusable examples."""
    distinct = {id(task): task for job in jobs for task in job.tasks}  # all seeds share their data
    for data in dict.fromkeys(distinct.values()):
        if not local or data.origin == "files":
            read_task(data)


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    machine: Machine,
    *,
    retry: bool = False,
    on_training: Callable[[], object] = lambda: None,
) -> bool:
    """Runs the unfinished ones of `jobs`; returns whether all have a result.

    Reads all tasks first. Calls `on_training` when the first training begins. Raises `BadInput`, without leaving a new
    store behind. Writes nothing if all are finished: the store may be read-only.
    """
    check_kept(jobs, store)  # plans of a search and of rounds are made after those that a command checks
    done = {run.id for run in store.runs()}
    pending = to_run(jobs, done)
    if not pending:
        return True
    require_memory()
    used = {needed.id for job in jobs for needed in (job, *job.needs)}  # a run of `--from` is no job
    read_tasks(pending)
    require_room(pending, store)
    eta = Eta.of_pending(pending, machine, RuntimeHistory(store, machine).seconds)
    _import(pending, machine)
    fresh = not store.root.exists()
    try:
        store.create_directories()
        store.sweep()
        if retry:
            for job in pending:
                store.clear_failure(job.id)
        with signals_as_flags(), store.locks.reserved(used), Live(eta) as live:

            def begin_training() -> None:
                check_components(pending, store, machine)
                print_texts(*texts.describe_prepared(pending, store))
                on_training()  # keeps records, from which the addresses follow
                live.addresses = addresses_of(store)

            lost = execute(jobs, store, machine, live, begin_training)
    except (BadInput, Interrupted):
        if fresh:
            store.remove_if_empty()
        raise
    if lost:
        have = "has" if len(lost) == 1 else "have"
        complain(f"{len(lost)} of {len(jobs)} jobs {have} no result (see `bertlab runs{in_store(store.root)}`):")
        _print_lost(lost, store)
    return not lost


def write_options(runs: Iterable[Run], store: Store, command: str, options: Mapping[str, Any]) -> None:
    """Writes the options of a command on single models beside its runs, but for those of studies, whose commands are
    beside their records."""
    of_studies = ids_of_studies(store)
    for run in runs:
        if run.id not in of_studies:
            write_run_config(run.path, command, options)


def _print_lost(jobs: Iterable[Job], store: Store) -> None:
    """Prints why jobs have no result."""
    by_run = addresses_of(store)
    for job in jobs:
        complain(f"  {title(job, by_run)}: {reason(job, store)}")
        if debugging() and (failure := store.failure(job.id)):
            complain(failure.log)


def _import(jobs: Iterable[Job], machine: Machine) -> None:
    """Imports what jobs do in this process, in seconds that a signal ends: later it is a flag, which no import sees."""
    here = jobs if machine.is_single_process else (job for job in jobs if job.preparation)
    for name in dict.fromkeys(("torch", *(name for job in here for name in job.imports))):
        import_module(name)


def reason(job: Job, store: Store) -> str:
    """Why a job has no result, in one line."""
    failure = store.failure(job.id)
    return one_line(failure.status, failure.reason) if failure else "a job that it needs has failed"


def unfinished(jobs: Sequence[Job], store: Store) -> list[dict[str, str]]:
    """The jobs without a result, as JSON."""
    left = to_run(jobs, {run.id for run in store.runs()})
    return [{"id": job.id, "kind": job.kind, "label": label(job.label), "reason": reason(job, store)} for job in left]
