"""`bertlab plan`: what studies cost, before they run."""

from __future__ import annotations

import dataclasses
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli.console import console, print_json, say
from bertlab.cli.options import JSON, ClusterOptions, StudyOptions, option
from bertlab.errors import BadInput
from bertlab.wording import duration, format_count, join_words, megabytes, pluralise

if TYPE_CHECKING:
    from bertlab.estimates.cost import Cost, Estimate
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.store.runs import Store


def plan(
    options: StudyOptions,
    devices: ClusterOptions,
    peak_tflops: float | None = option(None, "TFLOP/S", "Estimate for other GPUs with this peak; --gpus: how many."),
    device_memory_gb: float | None = option(None, "GB", "Memory of each of these other GPUs."),
    json: bool = JSON,
) -> None:
    """Print what studies cost: jobs, FLOPs, time and disk.

    Times come from similar finished runs, else from short trials on this machine (for models too large for it, from
    the speed of its matrix products), or from the peak of other GPUs. The plan leaves out the trials of
    `ablate --search` and `--search-rates`, which `--dry-run` prints.

    Example: bertlab plan all --scale base --gpus 8 --peak-tflops 989 --device-memory-gb 80
    """
    from bertlab.cli.jobs import print_plan
    from bertlab.estimates import equal_time
    from bertlab.lab import claim_plan, texts
    from bertlab.lab.jobs.lists import grouped
    from bertlab.store.runs import Store

    devices = _elsewhere(devices, peak_tflops, device_memory_gb)
    machine, store = devices.machine(options), Store(options.runs)
    request = equal_time.timed(options.study_request(machine), store, machine, trials=False)
    planned = claim_plan.make(request, machine)
    cost, times = _estimated(planned, store, machine, peak_tflops, quiet=json)
    if json:
        asked, distinct = planned.pretrainings
        shared = {"pretrainings_asked": asked, "pretrainings_distinct": distinct}
        shared |= dict(zip(("steps_alone", "steps_trained"), planned.steps, strict=True))
        print_json(cost.to_json() | {"times_from": times, **shared, "text": texts.corpus_facts(planned.jobs, store)})
        return
    print_plan(planned, store, machine, cost=cost)
    _print_total(cost.to_do, machine, times, peak_tflops)
    largest_gb = max((job.storage().memory for job, _ in grouped(planned.pending(store))), default=0) / 1e9
    if device_memory_gb is not None and largest_gb > device_memory_gb:
        say(f"The largest model does not fit: weights, gradients and moments take {largest_gb:.0f} GB.")


def _elsewhere(devices: ClusterOptions, peak_tflops: float | None, device_memory_gb: float | None) -> ClusterOptions:
    """The devices of an estimate, other GPUs if their peak is given."""
    for name, value in (("--peak-tflops", peak_tflops), ("--device-memory-gb", device_memory_gb)):
        if value is not None and not 0 < value <= 1e6:
            raise BadInput(f"{name} is {value}: give a number above 0 and up to 1,000,000")
    if peak_tflops is None:
        if device_memory_gb is not None:
            raise BadInput("--device-memory-gb describes other GPUs: add --peak-tflops, or leave it out")
        return devices
    if devices.workers and devices.workers_given:
        raise BadInput("--peak-tflops describes GPUs, and --workers use the CPU: leave one out")
    return dataclasses.replace(devices, gpus=devices.gpus or 1)


def _estimated(
    plan: Plan, store: Store, machine: Machine, peak_tflops: float | None, *, quiet: bool
) -> tuple[Estimate, list[str]]:
    """The cost of a plan, and where its times come from."""
    from bertlab.estimates.cost import estimate, gpu_seconds
    from bertlab.estimates.history import Trials

    if peak_tflops is not None:
        return estimate(plan, store, machine, gpu_seconds(1e12 * peak_tflops, machine.runs_per_gpu)), ["peak FLOP/s"]
    machine.check()
    with tempfile.TemporaryDirectory(prefix="bertlab-plan-") as folder:
        trials = Trials(store, machine, Path(folder))
        with nullcontext() if quiet else console().status("timing this machine"):
            return estimate(plan, store, machine, trials.seconds), sorted(trials.sources)


def _print_total(cost: Cost, machine: Machine, times: list[str], peak_tflops: float | None) -> None:
    """Prints what all jobs cost, in a sentence, and where its time comes from."""
    from bertlab.estimates.cost import LAYER_SECONDS
    from bertlab.estimates.microbenchmark import TYPICAL_MFU

    if not cost.jobs:
        say("All runs are finished: nothing is left to do.")
        return
    devices = pluralise(machine.gpus, "GPU") if machine.gpus else pluralise(machine.workers, "worker")
    where = f"{devices} of the cluster" if machine.cluster else "this machine"
    if peak_tflops is not None:
        where = f"{devices} of {peak_tflops:g} TFLOP/s"
    work = f"train on {format_count(cost.tokens)} tokens and write {megabytes(cost.disk_bytes)}"
    say(f"In all, {pluralise(cost.jobs, 'job')} take about {duration(cost.seconds or 0)} on {where}, {work}.")
    if peak_tflops is None:
        say(f"The time is estimated from {join_words(times)} on this machine.")
    else:
        floor = f"at least {1000 * LAYER_SECONDS:g} ms per layer and step, without preparing text"
        say(f"The time is not measured: {TYPICAL_MFU:.0%} of the peak of each GPU, {floor}.")
