"""`bertlab plan`: what studies cost, before they run."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bertlab.cli.console import console, print_json, say
from bertlab.cli.options import ClusterOptions, Json, StudyOptions, option
from bertlab.wording import count, megabytes, roughly

if TYPE_CHECKING:
    from bertlab.estimates.estimate import Amount, Estimate, Gpu
    from bertlab.estimates.trials import Trials


def plan(
    options: StudyOptions,
    devices: ClusterOptions,
    peak_tflops: Annotated[
        float | None, option("--peak-tflops", "TFLOP/S", "Estimate for other GPUs with this peak; --gpus: how many.")
    ] = None,
    device_memory_gb: Annotated[
        float | None, option("--device-memory-gb", "GB", "Memory of each of these other GPUs.")
    ] = None,
    json: Json = False,
) -> int:
    """Print what studies cost: jobs, FLOPs, time and disk.

    Times come from similar finished runs, else from short trials on this machine, or from the peak of other GPUs. The
    plan leaves out the trials of `ablate --search`; `ablate --search --dry-run` prints them.

    Example: bertlab plan all --scale base --gpus 8 --peak-tflops 989 --device-memory-gb 80
    """
    from bertlab.cli import plan_table
    from bertlab.errors import BadInput
    from bertlab.estimates.estimate import Gpu, estimate
    from bertlab.estimates.trials import Trials
    from bertlab.lab import plan as planning
    from bertlab.names import visible
    from bertlab.progress import signals_as_flags
    from bertlab.store.runs import Store

    for name, value in (("--peak-tflops", peak_tflops), ("--device-memory-gb", device_memory_gb)):
        if value is not None and not 0 < value <= 1e6:
            raise BadInput(f"{name} is {value}: give a number above 0 and up to 1,000,000")
    if peak_tflops is None and device_memory_gb is not None:
        raise BadInput("--device-memory-gb describes other GPUs: add --peak-tflops, or leave it out")
    if peak_tflops is not None:
        if devices.workers:
            raise BadInput("--peak-tflops describes GPUs, and --workers use the CPU: leave one out")
        devices = dataclasses.replace(devices, gpus=devices.gpus or 1)
    machine, store = devices.machine(options), Store(options.runs)
    made = planning.make(options.study_request(machine), machine)
    if peak_tflops is not None:
        gpu = Gpu(peak_flops=1e12 * peak_tflops, memory_bytes=device_memory_gb and 1e9 * device_memory_gb)
        found = estimate(made, store, machine, gpu.seconds(machine))
        lines = [*_expected(gpu, found)]
        basis: dict[str, Any] = {"times_from": ["peak FLOP/s"], "trial_seconds": 0.0}
        basis |= {"peak_flops_per_second": gpu.peak_flops}
    else:
        machine.check()
        status = console().status("")

        def show(trial: str) -> None:
            status.update(visible(f"timing this machine: {trial}"))
            if not json:
                status.start()

        with tempfile.TemporaryDirectory(prefix="bertlab-plan-") as folder, signals_as_flags():
            trials = Trials(store, machine, Path(folder), show)
            try:
                found = estimate(made, store, machine, trials.seconds)
            finally:
                status.stop()
        lines = [*_timed(trials)]
        sources = ["finished runs"] * bool(trials.from_runs) + ["trials"] * bool(trials.from_trials)
        basis = {"times_from": sources, "trial_seconds": trials.spent, "peak_flops_per_second": trials.peak or None}
    if json:
        request = {"studies": [study.name for study in made.request.studies], "scale": made.request.scale.name}
        print_json(request | {"corpus": list(made.corpora), "devices": machine.devices} | basis | _record(found))
        return 0
    plan_table.table(made, found.done, found.kinds)
    for line in (*plan_table.models(found.pending), *_totals(found), *lines):
        say(line)
    return 0


def _timed(trials: Trials) -> Iterator[str]:
    """Where the times of jobs come from."""
    parts = ["similar finished runs"] * bool(trials.from_runs)
    if trials.from_trials:
        products = f"matrix products: {trials.peak / 1e9:,.0f} GFLOP/s"
        parts.append(f"{roughly(trials.spent)} of trials on this machine ({products})")
    yield f"Times come from {' and '.join(parts)}."
    if trials.load > 1:
        yield f"Other processes were running ({trials.load:.1f} per core): on an idle machine, jobs take less time."


def _expected(gpu: Gpu, found: Estimate) -> Iterator[str]:
    """How times on other GPUs are estimated, and whether the models fit."""
    from bertlab.cli.plan_table import parameters
    from bertlab.estimates.measure import TYPICAL_MFU
    from bertlab.lab.jobs import Pretrain

    yield (
        f"Estimated, not measured: {TYPICAL_MFU:.0%} of {gpu.peak_flops / 1e12:g} TFLOP/s per GPU, and at least "
        f"{1000 * gpu.LAYER_SECONDS:g} ms per layer and step. The time to prepare text is left out."
    )
    largest = max((parameters(job.recipe) for job in found.pending if isinstance(job, Pretrain)), default=0)
    if 16 * largest > (gpu.memory_bytes or float("inf")):  # weights, gradients and two moments in fp32
        yield f"The largest model does not fit: weights, gradients and moments take {16 * largest / 1e9:.0f} GB."


def _totals(found: Estimate) -> Iterator[str]:
    """What all studies, each study and one more seed cost."""
    yield f"Total: {_stated(found.to_do)}." if found.pending else "All runs are finished: nothing is left to do."
    if len(found.studies) > 1:
        yield from (f"  {name} alone: {_stated(amount)}" for name, amount in found.studies.items())
    if found.one_more_seed is not None:
        yield f"One more seed: {_stated(found.one_more_seed)}."
    if found.shared.pretrainings or found.shared.measurements:
        yield f"Saved because variants share runs: {_stated(found.shared)}."


def _stated(amount: Amount) -> str:
    """An amount in words."""
    parts = [count(amount.pretrainings, "pre-training"), count(amount.measurements, "measurement")]
    if amount.seconds is not None:
        parts.append(f"about {roughly(amount.seconds)}")
    return ", ".join([*parts, f"{megabytes(amount.disk_bytes)} of disk"])


def _record(found: Estimate) -> dict[str, Any]:
    """An estimate as JSON.

    `jobs` (by kind), `to_do`, `by_study`, `one_more_seed` and `saved_by_sharing` are amounts: `pretrainings`,
    `measurements`, `others` (corpora, checkpoints), `tokens` (trained on), `flops`, `seconds` (from start to end; of
    `saved_by_sharing` on one device; null if unknown) and `disk_bytes`. `done` counts finished jobs by kind, `models`
    the pending pre-trainings by shape.
    """
    from bertlab.cli.plan_table import trained_models

    return {
        "done": dict(found.done),
        "jobs": {kind: dataclasses.asdict(each) for kind, each in found.kinds.items()},
        "to_do": dataclasses.asdict(found.to_do),
        "models": trained_models(found.pending),
        "by_study": {name: dataclasses.asdict(each) for name, each in found.studies.items()},
        "one_more_seed": found.one_more_seed and dataclasses.asdict(found.one_more_seed),
        "saved_by_sharing": dataclasses.asdict(found.shared),
    }
