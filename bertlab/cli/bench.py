"""`bertlab bench`: how fast this machine pre-trains, and its model FLOPs utilisation."""

import dataclasses
import tempfile
from pathlib import Path

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, ScaleOptions, TrainingOptions
from bertlab.wording import megabytes


def bench(options: ScaleOptions, devices: TrainingOptions, json: bool = JSON) -> None:
    """Measure the pre-training speed of this machine.

    Prints tokens per second and the fraction of peak FLOP/s. Times at least five steps on the synthetic corpus, with
    the batch size of the scale.

    Example: bertlab bench --scale base --gpus 1
    """
    from bertlab.errors import BadInput, writing
    from bertlab.estimates.history import sample
    from bertlab.estimates.microbenchmark import throughput
    from bertlab.lab import scales

    if devices.gpus > 1:
        raise BadInput(f"--gpus is {devices.gpus}: bench measures one device, use 0 or 1")
    scales.recipe_only(options.set_ or ())
    machine = devices.machine()
    machine.check()
    recipe = options.chosen_scale().recipe
    if not recipe.schedule.steps:
        raise BadInput("schedule.steps is 0: there is nothing to measure, set at least 1")
    context = writing(Path(tempfile.gettempdir()), "the temporary folder")
    with context, tempfile.TemporaryDirectory(prefix="bertlab-bench-") as folder:
        corpus, work = Path(folder) / "corpus", Path(folder) / "work"
        corpus.mkdir()
        work.mkdir()
        measured = throughput(recipe, sample(recipe.tokenizer, corpus), work, machine)
    numerics = machine.numerics(machine.compiles(recipe))
    if json:
        print_json({"scale": options.scale, **dataclasses.asdict(measured), "numerics": numerics})
        return
    where = f"{numerics['device']}, {numerics['precision']}"
    where += "" if machine.gpus else f", {machine.num_threads} threads"
    say(f"scale {options.scale} on {where}: {measured.tokens_per_second:,.0f} tokens/s")
    say(
        f"{measured.flops_per_second / 1e9:,.1f} GFLOP/s, {measured.share_of_peak:.0%} of the "
        f"{measured.peak_flops_per_second / 1e9:,.1f} GFLOP/s of matrix products in {numerics['precision']}"
    )
    step = f"{1000 * measured.seconds_per_step:,.1f} ms per step of {measured.sequences_per_step} sequences"
    say(f"{step}; peak memory {megabytes(measured.peak_memory_bytes)}")
