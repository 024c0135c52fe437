"""Prints a plan as a table: finished jobs, pending jobs and their costs."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bertlab.cli.console import print_table, say
from bertlab.errors import BadInput
from bertlab.lab.jobs import Job, Pretrain
from bertlab.recipe import cost
from bertlab.wording import duration, megabytes

if TYPE_CHECKING:
    from bertlab.estimates.estimate import Estimate
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.store.runs import Store


def draw(plan: Plan, store: Store, machine: Machine, what: str = "", found: Estimate | None = None) -> None:
    """Prints a plan; `what` describes its jobs, unless they are those of the studies.

    Without an estimate, times are those of similar finished runs, and left out without any.
    """
    from bertlab.estimates.estimate import estimate
    from bertlab.estimates.times import Recorded

    found = found or estimate(plan, store, machine, Recorded(store, machine).seconds, read_tasks=False)
    names = ", ".join([*(study.name for study in plan.request.studies), *([what] if what else [])])
    given = plan.request.pretrained
    text = f"from {given.label}" if given else f"on {' + '.join(plan.corpora)}"
    lines = []
    for kind, each in found.jobs.items():
        tokens = f"{each.tokens:,.0f}" if each.tokens else ""
        flops = f"{each.flops:.1e}" if each.flops else ""
        disk = megabytes(each.disk_bytes) if each.disk_bytes else ""
        time = duration(each.seconds) if each.seconds else ""
        lines.append((kind, str(found.done[kind]), str(each.jobs), tokens, flops, disk, time))
    columns = ("job", "done", "to run", "tokens", "FLOPs", "disk", "time")
    print_table(columns, lines, f"{names}: scale {plan.request.scale.name} {text}")
    for line in models(plan.pending(store)):
        say(line)
    if plan.request.scale.name == "paper" and not what:
        for line in unlike_paper(plan):
            say(line)


def unlike_paper(plan: Plan) -> list[str]:
    """A line for each study whose setting differs from its paper's."""
    from bertlab.lab.differences import differences

    lines = []
    for study in plan.request.studies:
        concerned: dict[str, list[str]] = {}
        for each in differences(plan, study):
            concerned.setdefault(each["what"], []).append(each["on"])
        parts = [f"{what} ({', '.join(on)})" if any(on) else what for what, on in concerned.items()]
        if parts:
            lines.append(f"Differs from {study.source}, so only signs can be compared: {'; '.join(parts)}.")
    return lines


def models(jobs: Iterable[Job]) -> list[str]:
    """A line for each model and schedule that jobs pre-train: shape and parameters; batch, steps and lengths."""
    found = Counter[str]()
    for job in jobs:
        if isinstance(job, Pretrain) and job.steps:
            recipe, model, count = job.recipe, job.recipe.model, cost.trained_parameters(job.recipe) / 1e6
            batch = f"{recipe.schedule.batch_size:,} sequences"
            batch += " or as many tokens" if recipe.inputs.token_matched_to else ""
            lengths = ", then ".join(f"{steps:,} steps of {length}" for length, steps in cost.phases(recipe))
            shape = f"{model.layers} layers, {model.hidden} wide, {model.heads} heads"
            size = f"{count:.{0 if count >= 10 else 1}f}M parameters"
            found[f"{shape}: {size}; {batch}, {lengths} tokens"] += 1
    return [f"{count} x {line}" for line, count in found.items()]


def require_room(jobs: list[Job], store: Store) -> None:
    """Raises `BadInput` if the weights of the jobs do not fit on the disk of the store."""
    pretrainings = [job for job in jobs if isinstance(job, Pretrain)]
    # The weights at each milestone, and during training two checkpoints of weights and moments.
    needed = sum(cost.weight_bytes(job.recipe) * len(job.milestones) for job in pretrainings)
    needed += 6 * max((cost.weight_bytes(job.recipe) for job in pretrainings), default=0)
    place = next(path for path in (store.root.absolute(), *store.root.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise BadInput(
            f"the runs need {needed / 1e6:,.0f} MB and '{store.root}' has {free / 1e6:,.0f}: free space, or choose "
            "another directory with --runs"
        )
