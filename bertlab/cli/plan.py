"""`bertlab plan`: what studies cost, before they run."""

import dataclasses
import tempfile
from pathlib import Path

from bertlab.cli.console import console, print_json, say
from bertlab.cli.options import JSON, ClusterOptions, StudyOptions, option
from bertlab.wording import count, duration


def plan(
    options: StudyOptions,
    devices: ClusterOptions,
    peak_tflops: float | None = option(
        None, "--peak-tflops", "TFLOP/S", "Estimate for other GPUs with this peak; --gpus: how many."
    ),
    json: bool = JSON,
) -> None:
    """Print what studies cost: jobs, FLOPs, time and disk.

    Times come from similar finished runs, else from short trials on this machine, or from the peak of other GPUs. The
    plan leaves out the trials of `ablate --search`; `ablate --search --dry-run` prints them.

    Example: bertlab plan all --scale base --gpus 8 --peak-tflops 989
    """
    from bertlab.cli.plan_table import draw
    from bertlab.errors import BadInput
    from bertlab.estimates.estimate import estimate, gpu_seconds
    from bertlab.estimates.measure import TYPICAL_MFU
    from bertlab.estimates.times import Trials
    from bertlab.lab import plan as planning
    from bertlab.progress import signals_as_flags
    from bertlab.store.runs import Store

    if peak_tflops is not None:
        if not 0 < peak_tflops <= 1e6:
            raise BadInput(f"--peak-tflops is {peak_tflops}: give a number above 0 and up to 1,000,000")
        if devices.workers:
            raise BadInput("--peak-tflops describes GPUs, and --workers use the CPU: leave one out")
        devices = dataclasses.replace(devices, gpus=devices.gpus or 1)
    machine, store = devices.machine(options), Store(options.runs)
    made = planning.make(options.study_request(machine), machine)
    if peak_tflops is not None:
        found = estimate(made, store, machine, gpu_seconds(1e12 * peak_tflops))
        times = [f"{TYPICAL_MFU:.0%} of {peak_tflops:g} TFLOP/s per GPU (not measured, text already prepared)"]
    else:
        machine.check()
        with tempfile.TemporaryDirectory(prefix="bertlab-plan-") as folder, signals_as_flags():
            trials = Trials(store, machine, Path(folder))
            with console().status("timing this machine"):
                found = estimate(made, store, machine, trials.seconds)
        times = sorted(trials.sources)
    if json:
        print_json(dataclasses.asdict(found) | {"times_from": times})
        return
    draw(made, store, machine, found=found)
    if found.to_do.jobs:
        trained = count(found.to_do.pretrainings, "pre-training")
        measured = count(found.to_do.measurements, "measurement")
        say(f"Total: {trained}, {measured}, about {duration(found.to_do.seconds or 0)}.")
        say(f"Times come from {' and '.join(times)}.")
    else:
        say("All runs are finished: nothing is left to do.")
