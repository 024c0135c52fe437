"""`bertlab plan`: what studies cost, before they run."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bertlab.cli.console import command, console, print_json, say
from bertlab.cli.options import ClusterOptions, Json, StudyOptions, option
from bertlab.wording import count, megabytes, roughly

if TYPE_CHECKING:
    from bertlab.estimates.estimate import Amount, Estimate, Gpu, Seconds
    from bertlab.estimates.trials import Trials
    from bertlab.lab.jobs import Job
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.store.runs import Store


@command
def plan(
    what: StudyOptions,
    devices: ClusterOptions,
    peak_tflops: Annotated[
        float | None, option("--peak-tflops", "TFLOP/S", "Estimate for --gpus other GPUs with this peak each.")
    ] = None,
    device_memory_gb: Annotated[float | None, option("--device-memory-gb", "GB", "The memory of each.")] = None,
    json: Json = False,
) -> int:
    """Print what studies cost: jobs, FLOPs, time and disk.

    Times come from similar finished runs, else from short trials on this machine, or from the peak of other GPUs.
    The trials of `ablate --search` are not included: `ablate --search --dry-run` prints them.

    Example: bertlab plan all --scale base --gpus 8 --peak-tflops 989 --device-memory-gb 80
    """
    from bertlab.cli import plan_table
    from bertlab.errors import BadInput
    from bertlab.estimates.estimate import Gpu, estimate
    from bertlab.lab import plan as planning
    from bertlab.store.runs import Store

    for name, value in (("--peak-tflops", peak_tflops), ("--device-memory-gb", device_memory_gb)):
        if value is not None and not 0 < value <= 1e6:
            raise BadInput(f"{name} is {value}: give a number above 0 and up to 1,000,000")
    if peak_tflops is None:
        gpu = None
        if device_memory_gb is not None:
            raise BadInput("--device-memory-gb describes GPUs elsewhere: add --peak-tflops, or leave it out")
    else:
        gpu = Gpu(peak_flops=1e12 * peak_tflops, memory_bytes=device_memory_gb and 1e9 * device_memory_gb)
        if devices.workers:
            raise BadInput("--peak-tflops describes GPUs, and --workers use the CPU: leave one out")
        devices = dataclasses.replace(devices, gpus=devices.gpus or 1)
    machine, store = devices.machine(what), Store(what.runs)
    made = planning.make(what.asked(machine), machine)
    if gpu is not None:
        found, basis = estimate(made, store, machine, gpu.seconds(machine)), _Basis(peak=gpu.peak_flops, gpu=gpu)
    else:
        machine.check()
        with _timed(store, machine, quiet=json) as (seconds, basis):
            found = estimate(made, store, machine, seconds)
    if json:
        print_json(_record(made, found, basis, machine))
        return 0
    plan_table.table(made, found.done, found.kinds)
    for line in (*plan_table.models(found.pending), *_lines(found, basis)):
        say(line)
    return 0


@dataclasses.dataclass
class _Basis:
    """Where times come from."""

    peak: float | None = None
    """FLOP/s, if it was measured or given."""
    gpu: Gpu | None = None
    recorded: int = 0
    """Jobs whose time is that of similar finished runs."""
    timed: int = 0
    """Jobs whose time comes from trials."""
    seconds: float = 0.0
    """What the trials took."""
    load: float = 0.0
    """Processes per core of this machine when the trials began."""

    @property
    def sources(self) -> list[str]:
        if self.gpu is not None:
            return ["peak FLOP/s"]
        return ["finished runs"] * bool(self.recorded) + ["trials"] * bool(self.timed)


@contextmanager
def _timed(store: Store, machine: Machine, quiet: bool) -> Iterator[tuple[Seconds, _Basis]]:
    """The times of jobs: those of similar finished runs, else from trials, which begin when the first one is needed."""
    from bertlab.estimates.recorded import Recorded
    from bertlab.estimates.trials import Trials
    from bertlab.progress import signals_as_flags

    recorded, basis, known = Recorded(store, machine), _Basis(), dict[str, float]()
    trials: Trials | None = None
    status = console().status("") if not quiet else None

    def show(trial: str) -> None:
        if status is not None:
            status.update(f"timing this machine: {trial}")

    with tempfile.TemporaryDirectory(prefix="bertlab-plan-") as folder, signals_as_flags():

        def tried(job: Job) -> float:
            nonlocal trials
            began = time.perf_counter()
            if trials is None:
                if status is not None:
                    status.start()
                basis.load = os.getloadavg()[0] / (os.cpu_count() or 1)
                trials = Trials(store, machine, Path(folder), show)
                basis.peak = trials.peak
            seconds = trials.seconds(job)
            basis.seconds += time.perf_counter() - began
            return seconds

        def seconds(job: Job, devices: int) -> float:
            if job.id not in known:
                finished = recorded.seconds(job)
                basis.recorded, basis.timed = basis.recorded + (finished is not None), basis.timed + (finished is None)
                known[job.id] = tried(job) if finished is None else finished
            return known[job.id] / devices

        try:
            yield seconds, basis
        finally:
            if status is not None:
                status.stop()


def _lines(found: Estimate, basis: _Basis) -> Iterator[str]:
    """What the table does not show."""
    from bertlab.cli.plan_table import parameters
    from bertlab.estimates.measure import TYPICAL_MFU
    from bertlab.lab.jobs import Pretrain

    yield f"Total: {_stated(found.to_do)}." if found.pending else "All runs are finished: nothing is left to do."
    if len(found.studies) > 1:
        yield from (f"  {name} alone: {_stated(amount)}" for name, amount in found.studies.items())
    if found.one_more_seed is not None:
        yield f"One more seed: {_stated(found.one_more_seed)}."
    if found.shared.pretrainings or found.shared.measurements:
        yield f"Saved because variants share runs: {_stated(found.shared)}."
    if basis.gpu is not None:
        yield (
            f"Estimated, not measured: {TYPICAL_MFU:.0%} of {basis.gpu.peak_flops / 1e12:g} TFLOP/s per GPU, and at "
            f"least {1000 * basis.gpu.LAYER_SECONDS:g} ms per layer and step. The time to prepare text is left out."
        )
        largest = max((parameters(job.recipe) for job in found.pending if isinstance(job, Pretrain)), default=0)
        if 16 * largest > (basis.gpu.memory_bytes or float("inf")):  # weights, gradients and two moments in fp32
            yield f"The largest model does not fit: weights, gradients and moments take {16 * largest / 1e9:.0f} GB."
        return
    parts = ["similar finished runs"] * bool(basis.recorded)
    if basis.timed:
        parts.append(
            f"{roughly(basis.seconds)} of trials here (matrix products: {(basis.peak or 0) / 1e9:,.0f} GFLOP/s)"
        )
    yield f"Times come from {' and '.join(parts)}."
    if basis.timed and basis.load > 1:
        yield f"Other processes were running ({basis.load:.1f} per core): on an idle machine, jobs take less time."


def _stated(amount: Amount) -> str:
    """An amount in words."""
    parts = [count(amount.pretrainings, "pre-training"), count(amount.measurements, "measurement")]
    if amount.seconds is not None:
        parts.append(f"about {roughly(amount.seconds)}")
    return ", ".join([*parts, f"{megabytes(amount.disk_bytes)} of disk"])


def _record(plan: Plan, found: Estimate, basis: _Basis, machine: Machine) -> dict[str, Any]:
    """The plan as JSON.

    `jobs` (by kind), `to_do`, `by_study`, `one_more_seed` and `saved_by_sharing` are amounts: `pretrainings`,
    `measurements`, `others` (corpora, checkpoints), `tokens` (trained on), `flops`, `seconds` (from start to end; of
    `saved_by_sharing` on one device; null if unknown) and `disk_bytes`. `done` counts finished jobs by kind, `models`
    the pending pre-trainings by shape; `times_from` lists `finished runs`, `trials` or `peak FLOP/s`.
    """
    from bertlab.cli.plan_table import trained_models

    return {
        "studies": [study.name for study in plan.request.studies],
        "scale": plan.request.scale.name,
        "corpus": list(plan.corpora),
        "times_from": basis.sources,
        "trial_seconds": basis.seconds,
        "peak_flops_per_second": basis.peak,
        "devices": machine.devices,
        "done": dict(found.done),
        "jobs": {kind: dataclasses.asdict(each) for kind, each in found.kinds.items()},
        "to_do": dataclasses.asdict(found.to_do),
        "models": trained_models(found.pending),
        "by_study": {name: dataclasses.asdict(each) for name, each in found.studies.items()},
        "one_more_seed": found.one_more_seed and dataclasses.asdict(found.one_more_seed),
        "saved_by_sharing": dataclasses.asdict(found.shared),
    }
