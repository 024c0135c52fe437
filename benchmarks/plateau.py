"""How far from the unigram plateau the seeds of each variant end: `python benchmarks/plateau.py --runs STORE`.

Pre-trains every variant of a study, on all cores, and prints a line each: the held-out losses of its seeds, in nats,
and how many seeds end on the plateau. It measures no task, so a scale can be chosen before any difference is known.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

from bertlab.cli.jobs import run_jobs
from bertlab.lab import plan as planning
from bertlab.lab import scales, studies
from bertlab.lab.record import records
from bertlab.machine import Machine, runs_that_fit
from bertlab.report.cells import Pretraining
from bertlab.report.gather import gather
from bertlab.store.runs import Store


def line(variant: str, runs: list[Pretraining]) -> str:
    """A row of the table."""
    losses = [run.loss for run in runs if run.loss is not None]
    stuck = sum(run.learned_nothing for run in runs)
    return f"| {variant} | {mean(losses):.2f} | {min(losses):.2f} | {max(losses):.2f} | {stuck} of {len(runs)} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", default="masking")
    parser.add_argument("--scale", default="micro")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    options = parser.parse_args()
    machine, store = Machine(workers=runs_that_fit(1)), Store(options.runs)
    chosen = studies.find(options.study)
    request = planning.Request(studies=(chosen,), scale=scales.find(options.scale), seeds=tuple(range(options.seeds)))
    plan = planning.make(request, machine)
    run_jobs([job for job in plan.jobs if not job.tasks], store, machine)
    (study,) = gather(store, records(plan).values())
    plateau = next(run.plateau for run in study.pretrainings if run.plateau is not None)
    print(f"Unigram entropy of the held-out text: {plateau:.2f} nats\n")
    print("| variant | mean held-out loss | lowest | highest | seeds on the plateau |\n|---|---:|---:|---:|---:|")
    for variant in study.variants:
        print(line(variant, study.of(variant)))


if __name__ == "__main__":
    main()
