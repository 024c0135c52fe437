"""`bertlab plan`: what studies cost, before they run."""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bertlab.cli.console import console, print_json, say
from bertlab.cli.options import ClusterOptions, Json, StudyOptions, option
from bertlab.wording import count, duration, megabytes

if TYPE_CHECKING:
    from bertlab.estimates.estimate import Amount, Estimate
    from bertlab.estimates.times import Trials
    from bertlab.recipe import Recipe


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
    from bertlab.estimates.estimate import estimate, gpu_seconds
    from bertlab.estimates.times import Trials
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
    pending = made.pending(store)
    recipes = plan_table.trained(pending)
    basis: dict[str, Any]
    if peak_tflops is not None:
        peak = 1e12 * peak_tflops
        found = estimate(made, store, machine, gpu_seconds(peak))
        lines = _expected(peak_tflops, device_memory_gb, recipes)
        basis = {"times_from": ["peak FLOP/s"], "peak_flops_per_second": peak}
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
        lines = _timed(trials)
        basis = {"times_from": sorted(trials.sources), "peak_flops_per_second": trials.peak or None}
    if json:
        request: dict[str, Any] = {"studies": [study.name for study in made.request.studies]}
        request |= {"scale": made.request.scale.name, "corpus": list(made.corpora), "devices": machine.devices}
        print_json(request | basis | dataclasses.asdict(found) | {"models": _models(recipes)})
        return 0
    plan_table.table(made, found.done, found.jobs)
    say("\n".join([*plan_table.models(pending), *_totals(found), *lines]))
    return 0


def _timed(trials: Trials) -> Iterator[str]:
    """Where the times of jobs come from."""
    parts = ["similar finished runs"] * ("finished runs" in trials.sources)
    if "trials" in trials.sources:
        parts.append(f"trials on this machine (matrix products: {trials.peak / 1e9:,.0f} GFLOP/s)")
    if parts:
        yield f"Times come from {' and '.join(parts)}."


def _expected(peak_tflops: float, memory_gb: float | None, recipes: list[Recipe]) -> Iterator[str]:
    """How times on other GPUs are estimated, and whether the models fit."""
    from bertlab.estimates.estimate import LAYER_SECONDS
    from bertlab.estimates.measure import TYPICAL_MFU
    from bertlab.recipe import cost

    yield (
        f"Estimated, not measured: {TYPICAL_MFU:.0%} of {peak_tflops:g} TFLOP/s per GPU, and at least "
        f"{1000 * LAYER_SECONDS:g} ms per layer and step. The time to prepare text is left out."
    )
    # weights, gradients and two moments in fp32
    largest_gb = 16 * max(map(cost.trained_parameters, recipes), default=0) / 1e9
    if memory_gb is not None and largest_gb > memory_gb:
        yield f"The largest model does not fit: weights, gradients and moments take {largest_gb:.0f} GB."


def _totals(found: Estimate) -> Iterator[str]:
    """What all studies and each study cost."""
    yield f"Total: {_stated(found.to_do)}." if found.to_do.jobs else "All runs are finished: nothing is left to do."
    if len(found.by_study) > 1:
        yield from (f"  {name} alone: {_stated(amount)}" for name, amount in found.by_study.items())


def _stated(amount: Amount) -> str:
    """An amount in words."""
    parts = [count(amount.pretrainings, "pre-training"), count(amount.measurements, "measurement")]
    if amount.seconds is not None:
        parts.append(f"about {duration(amount.seconds)}")
    return ", ".join([*parts, f"{megabytes(amount.disk_bytes)} of disk"])


def _models(recipes: list[Recipe]) -> list[dict[str, Any]]:
    """The shapes of pre-trained models, their parameters and their number."""
    from bertlab.recipe import cost

    shapes = Counter((recipe.model, cost.trained_parameters(recipe)) for recipe in recipes)
    return [
        {"layers": model.layers, "hidden": model.hidden, "heads": model.heads}
        | {"parameters": size, "pretrainings": number}
        for (model, size), number in shapes.items()
    ]
