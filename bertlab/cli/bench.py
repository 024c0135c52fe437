"""`bertlab bench`: how fast this machine pre-trains, and what share of its matrix products' peak that is."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bertlab.cli import options
from bertlab.cli.console import exit_codes, print_json, say


@exit_codes
def bench(
    scale: options.ScaleName = "tiny",
    set_: options.Assignments = None,
    gpus: options.Gpus = 0,
    threads: options.Threads = 0,
    precision: options.Precision = "auto",
    compile: options.Compile = "auto",
    micro_batch: options.MicroBatch = 0,
    json: options.Json = False,
) -> None:
    """Measure how fast this machine pre-trains, on the embedded text: tokens a second, and the share of its peak."""
    import dataclasses

    from bertlab import synthetic as microworld
    from bertlab.errors import BadInput, filling
    from bertlab.estimates.measure import throughput
    from bertlab.estimates.trials import DOCUMENTS, sample
    from bertlab.lab import scales, unused
    from bertlab.machine import Machine
    from bertlab.progress import signals_as_flags

    if gpus > 1:
        raise BadInput(f"--gpus is {gpus}: one device is measured, give 0 or 1")
    unused.recipe_only(set_ or ())
    machine = Machine(precision=precision, compile=compile, threads=threads, gpus=gpus, micro_batch=micro_batch)
    machine.check()
    recipe = scales.find(scale).set(set_ or []).recipe
    if not recipe.schedule.steps:
        raise BadInput("schedule.steps is 0: there is nothing to measure, give a step at least")
    place = filling("the temporary folder", tempfile.gettempdir())
    with place, tempfile.TemporaryDirectory(prefix="bertlab-bench-") as folder, signals_as_flags():
        corpus, work = Path(folder) / "corpus", Path(folder) / "work"
        corpus.mkdir()
        work.mkdir()
        text = sample(microworld.documents(DOCUMENTS), recipe.tokenizer, corpus)
        found = throughput(recipe, text, work, machine)
    numerics = machine.numerics(recipe)
    if json:
        print_json({"scale": scale, **dataclasses.asdict(found), "numerics": numerics})
        return
    where = f"{numerics['device']}, {numerics['precision']}, {numerics['threads']} threads"
    where += ", compiled" if "compiled" in numerics else ""
    say(f"scale {scale} on {where}: {found.tokens_per_second:,.0f} tokens/s")
    reached = (f"{peak / 1e9:,.1f} in {name}" for name, peak in found.peaks_flops_per_second.items())
    say(f"matrix products reach {' and '.join(reached)}, in GFLOP/s")
    say(
        f"{found.flops_per_second / 1e9:,.1f} GFLOP/s are {found.share_of_peak:.0%} of the "
        f"{found.peak_flops_per_second / 1e9:,.1f} in {numerics['precision']}"
    )
    say(
        f"a step of {found.sequences_per_step} sequences takes {1000 * found.seconds_per_step:,.1f} ms, "
        f"{found.share_waiting_for_data:.1%} of it waiting for data; {found.peak_memory_bytes / 1e6:,.0f} MB of memory"
    )
