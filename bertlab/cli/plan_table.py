"""Prints a plan as a table: finished jobs, pending jobs and their costs."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from bertlab.cli.console import print_table, say
from bertlab.errors import BadInput
from bertlab.lab.jobs import Job, Pretrain
from bertlab.recipe import Recipe, cost
from bertlab.wording import duration, megabytes

if TYPE_CHECKING:
    from bertlab.estimates.estimate import Amount
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

KINDS = {
    "corpus": "prepare the corpus",
    "pretrain": "pre-train",
    "import": "import a checkpoint",
    "finetune": "fine-tune",
    "features": "train on frozen features",
}


def draw(plan: Plan, store: Store, machine: Machine, what: str = "") -> None:
    """Prints the pending jobs of a plan; `what` describes them, unless they are those of the studies.

    Times are those of similar finished runs; without any, they are left out.
    """
    from bertlab.estimates.estimate import amount, by_kind, finished
    from bertlab.estimates.times import Recorded

    pending, seconds = plan.pending(store), Recorded(store, machine).seconds
    amounts = {kind: amount(jobs, machine, seconds, read_tasks=False) for kind, jobs in by_kind(plan, pending).items()}
    table(plan, finished(plan, pending), amounts, what)
    for line in models(pending):
        say(line)
    (trainings, measurements), (trained, measured) = plan.requested, plan.distinct
    if trainings + measurements > trained + measured > 0 and not plan.request.pretrained:
        trained_of = f"{trained} of {trainings} pre-trainings and {measured} of {measurements} measurements"
        say(f"Variants share runs: {trained_of} are run.")
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


def table(plan: Plan, done: Mapping[str, int], amounts: Mapping[str, Amount], what: str = "") -> None:
    """Prints for each kind the number of finished jobs, and the costs of the pending ones as far as they are known."""
    names = ", ".join([*(study.name for study in plan.request.studies), *([what] if what else [])])
    given = plan.request.pretrained
    text = f"from {given.label}" if given else f"on {' + '.join(plan.corpora)}"
    lines = []
    for kind, name in KINDS.items():
        if kind in amounts:
            each = amounts[kind]
            tokens = f"{each.tokens:,.0f}" if each.tokens else ""
            flops = f"{each.flops:.1e}" if each.flops else ""
            disk = megabytes(each.disk_bytes) if each.disk_bytes else ""
            time = duration(each.seconds) if each.seconds else ""
            lines.append((name, str(done[kind]), str(each.jobs), tokens, flops, disk, time))
    columns = ("job", "done", "to run", "tokens", "FLOPs", "disk", "time")
    print_table(columns, lines, f"{names}: scale {plan.request.scale.name} {text}")


def models(jobs: Iterable[Job]) -> list[str]:
    """A line for each model and schedule that jobs pre-train: shape and parameters; batch, steps and lengths."""
    return [f"{count} x {line}" for line, count in Counter(map(_described, trained(jobs))).items()]


def _described(recipe: Recipe) -> str:
    model, count = recipe.model, cost.trained_parameters(recipe) / 1e6
    batch = f"{recipe.schedule.batch_size:,} sequences"
    batch += " or as many tokens" if recipe.inputs.token_matched_to else ""
    lengths = ", then ".join(f"{steps:,} steps of {length}" for length, steps in cost.phases(recipe))
    return (
        f"{model.layers} layers, {model.hidden} wide, {model.heads} heads: {count:.{0 if count >= 10 else 1}f}M "
        f"parameters; {batch}, {lengths} tokens"
    )


def trained(jobs: Iterable[Job]) -> list[Recipe]:
    """The recipes that jobs pre-train."""
    return [job.recipe for job in jobs if isinstance(job, Pretrain) and job.steps]


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
