"""Prints a plan as a table: finished jobs, pending jobs and their costs."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_table, say
from bertlab.errors import BadInput
from bertlab.lab.jobs import Job, Pretrain
from bertlab.recipe import cost
from bertlab.wording import megabytes, roughly

if TYPE_CHECKING:
    from bertlab.estimates.estimate import Amount
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.recipe import Recipe
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
    from bertlab.estimates.estimate import amount
    from bertlab.estimates.recorded import Recorded

    pending, seconds = plan.pending(store), Recorded(store, machine).seconds
    planned, waiting = (Counter(job.kind for job in jobs) for jobs in (plan.jobs, pending))
    amounts = {
        kind: amount([job for job in pending if job.kind == kind], machine, seconds, read_tasks=False)
        for kind in planned
    }
    table(plan, planned - waiting, amounts, what)
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
    """Prints the number of finished jobs of each kind, and the costs of the pending ones."""
    names = ", ".join([*(study.name for study in plan.request.studies), *([what] if what else [])])
    given = plan.request.pretrained
    text = f"from {given.label}" if given else f"on {' + '.join(plan.corpora)}"
    print_table(
        ("job", "done", "to run", "tokens", "FLOPs", "disk", "time"),
        [(name, str(done.get(kind, 0)), *_costs(amounts[kind])) for kind, name in KINDS.items() if kind in amounts],
        f"{names}: scale {plan.request.scale.name} {text}",
    )


def _costs(amount: Amount) -> tuple[str, ...]:
    """Number of jobs, tokens, FLOPs, disk and time, as far as they are known."""
    return (
        str(amount.pretrainings + amount.measurements + amount.others),
        f"{amount.tokens:,.0f}" if amount.tokens else "",
        f"{amount.flops:.1e}" if amount.flops else "",
        megabytes(amount.disk_bytes) if amount.disk_bytes else "",
        roughly(amount.seconds) if amount.seconds else "",
    )


def models(jobs: Iterable[Job]) -> list[str]:
    """A line for each model and schedule that jobs pre-train: shape and parameters; batch, steps and lengths."""
    lines = Counter(_described(recipe) for recipe in _trained(jobs))
    return [f"{count} x {line}" for line, count in lines.items()]


def _described(recipe: Recipe) -> str:
    model, count = recipe.model, parameters(recipe) / 1e6
    batch = f"{recipe.schedule.batch_size:,} sequences"
    batch += " or as many tokens" if recipe.inputs.token_matched_to else ""
    lengths = ", then ".join(f"{steps:,} steps of {length}" for length, steps in cost.phases(recipe))
    return (
        f"{model.layers} layers, {model.hidden} wide, {model.heads} heads: {count:.{0 if count >= 10 else 1}f}M "
        f"parameters; {batch}, {lengths} tokens"
    )


def trained_models(jobs: Iterable[Job]) -> list[dict[str, Any]]:
    """The shapes that jobs pre-train, their parameters and their number, as JSON."""
    shapes = Counter((recipe.model, parameters(recipe)) for recipe in _trained(jobs))
    return [
        {name: getattr(model, name) for name in ("layers", "hidden", "heads")}
        | {"parameters": size, "pretrainings": count}
        for (model, size), count in shapes.items()
    ]


def _trained(jobs: Iterable[Job]) -> list[Recipe]:
    return [job.recipe for job in jobs if isinstance(job, Pretrain) and job.steps]


def parameters(recipe: Recipe) -> int:
    """The number of parameters of a recipe's model."""
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return cost.parameters(recipe.model, recipe.tokenizer.vocabulary, positions, recipe.objective)


def require_room(jobs: list[Job], store: Store) -> None:
    """Raises `BadInput` if the weights of the jobs do not fit on the disk of the store."""
    trained = [job for job in jobs if isinstance(job, Pretrain)]
    # The weights at each milestone, and during training two checkpoints of weights and moments.
    needed = sum(cost.weight_bytes(job.recipe) * len(job.milestones) for job in trained)
    needed += 6 * max((cost.weight_bytes(job.recipe) for job in trained), default=0)
    place = next(path for path in (store.root.absolute(), *store.root.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise BadInput(
            f"the runs need {needed / 1e6:,.0f} MB and '{store.root}' has {free / 1e6:,.0f}: free space, or choose "
            "another directory with --runs"
        )
