"""Whether the mean of the last snapshots varies less over seeds than the last one: `python benchmarks/snapshots.py`.

Pre-trains left-to-right models at scale micro with weights saved over the last sixth of the steps, and prints a line
for each set of snapshots whose weights are averaged: held-out loss (nats) and accuracy on the synthetic counterpart of
Zorro (points), each as the mean and the sd over the seeds. A seed trains for a minute on a core.
"""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from pathlib import Path
from statistics import mean, stdev

import torch
from safetensors.torch import load_file, save_file

from bertlab.cli.jobs import run_jobs
from bertlab.lab import plan as planning
from bertlab.lab import scales
from bertlab.lab.jobs import Pretraining
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.study import Measurement, Study
from bertlab.machine import Machine, runs_that_fit
from bertlab.objectives import CausalLM
from bertlab.progress import silent
from bertlab.store.runs import Store
from bertlab.training.finetuning import finetune, saved_weights
from bertlab.training.pretraining import evaluate

SETS = {
    "the last": (100,),
    "3, each 1 %": (98, 99, 100),
    "5, each 1 %": (96, 97, 98, 99, 100),
    "5, each 2 %": (92, 94, 96, 98, 100),
    "5, each 4 %": (84, 88, 92, 96, 100),
}
"""The snapshots of each mean, in per cent of the steps."""


def averaged(run: Path, job: Pretraining, milestones: tuple[int, ...], to: Path) -> None:
    """Writes a model with the mean weights of the milestones of a finished pre-training into the folder `to`."""
    files = [load_file(saved_weights(run, job.recipe, milestone)) for milestone in milestones]
    for name in ("recipe.json", job.recipe.tokenizer.file):
        (to / name).write_bytes((run / name).read_bytes())
    means = {name: torch.stack([file[name].double() for file in files]).mean(0) for name in files[0]}
    save_file({name: value.to(files[0][name].dtype) for name, value in means.items()}, to / "model.safetensors")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", default="micro")
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    options = parser.parse_args()
    store, machine = Store(options.runs), Machine(runs=options.runs, threads=1)
    study = Study.of_one("snapshots", "left-to-right", Measurement("zorro", task="zorro"))
    request = planning.Request(studies=(study,), scale=scales.find(options.scale))
    _, pretraining, scoring = planning.make(request, machine).jobs
    recipe = dataclasses.replace(pretraining.recipe, objective=(CausalLM(),))
    milestones = tuple(sorted({*sum(SETS.values(), ())}))
    first = dataclasses.replace(pretraining, recipe=recipe, milestones=milestones)
    jobs = [first.with_seed(seed) for seed in range(options.seeds)]
    run_jobs([first.corpus, *jobs], store, dataclasses.replace(machine, workers=runs_that_fit(1), threads=0))
    pairs = read_task(scoring.data)
    print("| mean of | held-out loss | sd | Zorro | sd |\n|---|---:|---:|---:|---:|")
    for name, of in SETS.items():
        losses, points = [], []
        for job in jobs:
            with tempfile.TemporaryDirectory() as folder:
                averaged(store.get_verified(job.id).path, job, of, Path(folder))
                named = {"seed": job.seed, "finetune_seed": 0, "machine": machine, "progress": silent}
                points.append(finetune(Path(folder), pairs, scoring.settings, **named).metrics["accuracy"])
                weights = Path(folder) / "model.safetensors"
                losses.append(evaluate(recipe, job.text(store), weights, machine)["causal_lm_loss"])
        print(f"| {name} | {mean(losses):.3f} | {stdev(losses):.3f} | {mean(points):.1f} | {stdev(points):.2f} |")


if __name__ == "__main__":
    main()
