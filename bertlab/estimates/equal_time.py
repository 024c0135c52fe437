"""What is timed on the machine that trains, before it trains, in trials that take turns: for studies that ask for it.

Steps of variants that train for as long as the baseline (ALBERT section 4.7), `RelativeSchedule(equal_time=True)`, and
the speeds of variants, `Study.speeds` (ALBERT Table 2). The record keeps both, so that seeds that a store gains later
train for as many steps, on whatever machine.
"""

import dataclasses
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bertlab.errors import warn
from bertlab.estimates.history import Trials
from bertlab.lab import plan as planning
from bertlab.lab.jobs import Pretrained
from bertlab.lab.plan import Plan, Request
from bertlab.lab.record import records
from bertlab.lab.study import Study
from bertlab.machine import Machine
from bertlab.store.runs import Store
from bertlab.wording import join_words


def timed(
    request: Request,
    store: Store,
    machine: Machine,
    *,
    trials: bool = True,
    tell: Callable[[str], object] = lambda _: None,
) -> Request:
    """The request with the steps and speeds of the store's records, or else with those that `trials` find.

    `tell` gets a line before each trial. Warns where none is possible: on a cluster, and for models too large for one.
    Raises `BadInput` for devices that this machine lacks.
    """
    studies = [study for study in request.studies if study.speeds or _timed(study, request.only)]
    if not studies or request.pretrained is not None:
        return request
    plan = planning.make(dataclasses.replace(request, only=(), seeds=request.seeds[:1]), machine)
    asked = {record.key for record in records(plan).values()}
    stored = store.records(needed=[study.name for study in studies]).values()
    same_setting = [record for record in stored if record.key in asked]
    steps = {record.study: record.timed for record in same_setting if record.timed is not None}
    timed_speeds = [(record.study, record.speeds.measured) for record in same_setting if record.speeds]
    speeds = {study: measured for study, measured in timed_speeds if measured}
    for study in studies if trials else ():
        varied = [] if study.name in steps or not _timed(study, request.only) else _timed(study)
        compared = [] if study.name in speeds else [*study.speeds]
        if not (varied or compared):
            continue
        jobs = _jobs(plan, study, [study.baseline, *varied, *compared])
        if seconds := _seconds(study, jobs, store, machine, tell):
            if varied:
                budget = seconds[study.baseline]
                steps[study.name] = {name: _steps(jobs[name], seconds[name], budget) for name in varied if name in jobs}
            if compared:
                speeds[study.name] = _speeds(study, jobs, seconds)
    return dataclasses.replace(request, timed=steps, speeds=speeds)


def _timed(study: Study, only: tuple[str, ...] = ()) -> list[str]:
    """The variants that train for as long as the baseline, of `only` these."""
    names = [variant.name for variant in study.variants if variant.relative.equal_time]
    return [name for name in names if not only or name in only]


def _jobs(plan: Plan, study: Study, names: Sequence[str]) -> dict[str, Pretrained]:
    """The pre-trainings of these variants; one that this text cannot train has none."""
    jobs = {cell.variant: cell.pretraining.alone for cell in plan.cells_of[study.name]}
    return {name: jobs[name] for name in dict.fromkeys(names) if name in jobs}


def _seconds(
    study: Study, jobs: Mapping[str, Pretrained], store: Store, machine: Machine, tell: Callable[[str], object]
) -> dict[str, float]:
    """The seconds of the pre-training of each variant; empty, with a warning, if they cannot be timed."""
    if not all(job.steps for job in jobs.values()):
        return {}
    tell(f"{study.name}: timing steps of {join_words([*jobs])}")
    times = None
    if not machine.cluster:
        machine.check()
        with tempfile.TemporaryDirectory(prefix="bertlab-time-") as folder:
            times = Trials(store, machine, Path(folder)).in_turn([*jobs.values()])
    if times is None:
        why = "steps on a cluster are not timed" if machine.cluster else "its models are too large to be timed here"
        without = "its variants do not train for equal times, but for the paper's steps" if _timed(study) else ""
        warn(f"study {study.name}: {why}, so that {without or 'the report does not compare their speeds'}")
        return {}
    return dict(zip(jobs, times, strict=True))


def _steps(job: Pretrained, seconds: float, budget: float) -> int:
    """The steps of a pre-training that take `budget` seconds, where all its steps take `seconds`."""
    return max(1, round(budget * job.steps / seconds))


def _speeds(study: Study, jobs: Mapping[str, Pretrained], seconds: Mapping[str, float]) -> dict[str, float]:
    """Tokens a second of each variant, as a multiple of those of the one whose published speed is 1."""
    rates = {name: job.work().tokens / seconds[name] for name, job in jobs.items() if name in study.speeds}
    unit = rates.get(next(name for name, speed in study.speeds.items() if speed == 1))
    return {name: round(rate / unit, 3) for name, rate in rates.items()} if unit else {}
