"""Steps of variants that train for as long as the baseline (ALBERT section 4.7): `RelativeSchedule(equal_time=True)`.

Steps of both are timed on the machine that trains. The record keeps the number, so that seeds that a store gains later
train for as many, on whatever machine.
"""

import dataclasses
import tempfile
from collections.abc import Callable
from pathlib import Path

from bertlab.errors import warn
from bertlab.estimates.times import Trials
from bertlab.lab import plan as planning
from bertlab.lab.jobs import Pretrain
from bertlab.lab.plan import Plan, Request
from bertlab.lab.record import records
from bertlab.lab.study import Study
from bertlab.machine import Machine
from bertlab.progress import signals_as_flags
from bertlab.store.runs import Store
from bertlab.wording import listed

PLACE = ("study", "scale", "setting")


def timed(
    request: Request,
    store: Store,
    machine: Machine,
    *,
    trials: bool = True,
    tell: Callable[[str], object] = lambda _: None,
) -> Request:
    """The request with the steps of the store's records, or else with those that `trials` find.

    `tell` gets a line before each trial. Warns where none is possible: on a cluster, and for models too large for one.
    Raises `BadInput` for devices that this machine lacks.
    """
    studies = [study for study in request.studies if _variants(study, request.only)]
    if not studies or request.pretrained is not None:
        return request
    plan = planning.make(dataclasses.replace(request, only=(), seeds=request.seeds[:1]), machine)
    asked = [tuple(record[name] for name in PLACE) for record in records(plan).values()]
    kept = store.records(needed=[study.name for study in studies]).values()
    known = {
        each["study"]: each["timed"] for each in kept if "timed" in each and tuple(each[n] for n in PLACE) in asked
    }
    new = [study for study in studies if study.name not in known]
    found = dict[str, dict[str, int]]()
    for study in new if trials else ():
        names = listed([study.baseline, *_variants(study)])
        tell(f"{study.name}: timing steps of {names}, which train for equal times")
        if steps := _tried(plan, study, store, machine):
            found[study.name] = steps
    return dataclasses.replace(request, timed=known | found)


def _variants(study: Study, only: tuple[str, ...] = ()) -> list[str]:
    """The variants that train for as long as the baseline, of `only` these."""
    names = [each.name for each in study.variants if each.relative.equal_time]
    return [name for name in names if not only or name in only]


def _tried(plan: Plan, study: Study, store: Store, machine: Machine) -> dict[str, int]:
    """The steps of each such variant that take as long as those of the baseline."""
    jobs = {cell.variant: cell.pretrain for cell in plan.cells if cell.study.name == study.name}
    names = (study.baseline, *_variants(study))  # a variant that this text cannot train has no job
    compared = {name: job for name in names if isinstance(job := jobs.get(name), Pretrain)}
    if not all(job.steps for job in compared.values()):
        return {}
    seconds = None
    if not machine.cluster:
        machine.check()
        with tempfile.TemporaryDirectory(prefix="bertlab-time-") as folder, signals_as_flags():
            seconds = Trials(store, machine, Path(folder)).in_turn([*compared.values()])
    if seconds is None:
        why = "steps on a cluster are not timed" if machine.cluster else "its models are too large to be timed here"
        warn(f"study {study.name}: {why}, so that its variants do not train for equal times, but for the paper's steps")
        return {}
    times = zip(compared.items(), seconds, strict=True)
    found = {name: max(1, round(seconds[0] * job.steps / each)) for (name, job), each in times}
    del found[study.baseline]
    return found
