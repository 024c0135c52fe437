"""`bertlab plan`: what studies cost, before they run."""

import dataclasses
import tempfile
from contextlib import nullcontext
from pathlib import Path

from bertlab.cli.console import console, print_json, say
from bertlab.cli.options import JSON, ClusterOptions, StudyOptions, option
from bertlab.wording import count, duration, listed


def plan(
    options: StudyOptions,
    devices: ClusterOptions,
    peak_tflops: float | None = option(
        None, "--peak-tflops", "TFLOP/S", "Estimate for other GPUs with this peak; --gpus: how many."
    ),
    device_memory_gb: float | None = option(None, "--device-memory-gb", "GB", "Memory of each of these other GPUs."),
    json: bool = JSON,
) -> None:
    """Print what studies cost: jobs, FLOPs, time and disk.

    Times come from similar finished runs, else from short trials on this machine (for models too large for it, from
    the speed of its matrix products), or from the peak of other GPUs. Where two seeds are finished, it says what
    reduces the noise of each measurement most per minute. The plan leaves out the trials of `ablate --search`;
    `ablate --search --dry-run` prints them.

    Example: bertlab plan all --scale base --gpus 8 --peak-tflops 989 --device-memory-gb 80
    """
    from bertlab.cli.carry_out import draw
    from bertlab.errors import BadInput
    from bertlab.estimates import equal_time
    from bertlab.estimates.cost import LAYER_SECONDS, estimate, gpu_seconds
    from bertlab.estimates.history import Trials
    from bertlab.estimates.microbenchmark import TYPICAL_MFU
    from bertlab.lab import claims, texts
    from bertlab.lab.jobs.lists import grouped
    from bertlab.lab.record import records
    from bertlab.report import noise
    from bertlab.report.gather import gather
    from bertlab.store.runs import Store

    for name, value in (("--peak-tflops", peak_tflops), ("--device-memory-gb", device_memory_gb)):
        if value is not None and not 0 < value <= 1e6:
            raise BadInput(f"{name} is {value}: give a number above 0 and up to 1,000,000")
    if peak_tflops is None and device_memory_gb is not None:
        raise BadInput("--device-memory-gb describes other GPUs: add --peak-tflops, or leave it out")
    if peak_tflops is not None:
        if devices.workers and devices.workers_given:
            raise BadInput("--peak-tflops describes GPUs, and --workers use the CPU: leave one out")
        devices = dataclasses.replace(devices, gpus=devices.gpus or 1)
    machine, store = devices.machine(options), Store(options.runs)
    request = equal_time.timed(options.study_request(machine), store, machine, trials=False)
    planned = claims.make(request, machine)
    if peak_tflops is not None:
        cost = estimate(planned, store, machine, gpu_seconds(1e12 * peak_tflops, devices.runs_per_gpu))
        times = ["peak FLOP/s"]
    else:
        machine.check()
        with tempfile.TemporaryDirectory(prefix="bertlab-plan-") as folder:
            trials = Trials(store, machine, Path(folder))
            with nullcontext() if json else console().status("timing this machine"):
                cost = estimate(planned, store, machine, trials.seconds)
        times = sorted(trials.sources)
    if json:
        asked, distinct = planned.pretrainings
        shared = {"pretrainings_asked": asked, "pretrainings_distinct": distinct}
        print_json(cost.to_json() | {"times_from": times, **shared, "text": texts.known(planned.jobs, store)})
        return
    draw(planned, store, machine, cost=cost)
    if cost.to_do.jobs:
        say(f"Total: {count(cost.to_do.jobs, 'job')}, about {duration(cost.to_do.seconds or 0)}.")
        if peak_tflops is None:
            say(f"Times come from {listed(times)}.")
        else:
            floor = f"at least {1000 * LAYER_SECONDS:g} ms per layer and step, without preparing text"
            say(f"Times are not measured: {TYPICAL_MFU:.0%} of {peak_tflops:g} TFLOP/s per GPU, {floor}.")
    else:
        say("All runs are finished: nothing is left to do.")
    for study in gather(store, records(planned).values()) if peak_tflops is None else ():  # times of this store
        for text in noise.sentences(study, noise.spreads(study)):
            say(f"{study.name}: {text}")
    largest_gb = max((job.storage().memory for job, _ in grouped(planned.pending(store))), default=0) / 1e9
    if device_memory_gb is not None and largest_gb > device_memory_gb:
        say(f"The largest model does not fit: weights, gradients and moments take {largest_gb:.0f} GB.")
