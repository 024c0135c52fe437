"""The plan as a table: what is done, what will run, how much it takes. Shown before anything is spent."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import console, say
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
    "import": "take in a checkpoint",
    "finetune": "fine-tune",
    "features": "train on features",
}


def draw(plan: Plan, store: Store, machine: Machine, what: str = "") -> None:
    """Prints the plan of what a store still lacks; `what` says what it is of, if not of the studies' rows.

    Times are those of finished runs alike: nothing is measured, and nothing is said where there is none.
    """
    from bertlab.estimates.estimate import amount
    from bertlab.estimates.recorded import Recorded

    pending, seconds = plan.pending(store), Recorded(store, machine).seconds
    done = {
        kind: sum(job.kind == kind for job in plan.jobs) - sum(job.kind == kind for job in pending) for kind in KINDS
    }
    amounts = {
        kind: amount([job for job in pending if job.kind == kind], machine, seconds, whole=False)
        for kind in KINDS
        if any(job.kind == kind for job in plan.jobs)
    }
    table(plan, done, amounts, what)
    for line in models(pending):
        say(line)
    if sum(plan.asked) > sum(plan.distinct) > 0 and not plan.request.pretrained:
        (trainings, measurements), (trained, measured) = plan.asked, plan.distinct
        say(
            f"Shared: the rows ask for {trainings} pre-trainings and {measurements} measurements; {trained} and "
            f"{measured} are run."
        )
    if plan.request.scale.name == "paper" and not what:
        for line in unlike_paper(plan):
            say(line)


def unlike_paper(plan: Plan) -> list[str]:
    """A line for each study that is not set up as in its paper, with all that differs."""
    from bertlab.lab.differences import differences

    lines = []
    for study in plan.request.studies:
        concerned: dict[str, list[str]] = {}
        for each in differences(plan, study):
            concerned.setdefault(each["what"], []).append(each["on"])
        told = [f"{what} ({', '.join(on)})" if any(on) else what for what, on in concerned.items()]
        if told:
            lines.append(f"Not the setting of {study.source} (directions alone will compare): {'; '.join(told)}.")
    return lines


def table(plan: Plan, done: Mapping[str, int], amounts: Mapping[str, Amount], what: str = "") -> None:
    """Prints the finished jobs of each kind, and what those to do come to."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    names = ", ".join(study.name for study in plan.request.studies)
    given = plan.request.pretrained
    text = f"from {given.label}" if given else f"on {' + '.join(plan.corpora)}"
    title = f"{names}{what and ', '}{what}: scale {plan.request.scale.name} {text}"
    drawn = Table(title=Text(title), box=SIMPLE_HEAD)
    drawn.title_justify = "left"
    for name in ("job", "done", "to run", "tokens", "FLOP", "disk", "about"):
        drawn.add_column(name, justify="left" if name == "job" else "right")
    for kind, name in KINDS.items():
        if kind in amounts:
            drawn.add_row(name, str(done[kind]), *_figures(amounts[kind]))
    console().print(drawn)


def _figures(amount: Amount) -> tuple[str, ...]:
    """How many jobs, and their tokens, operations, disk and time as far as they are known."""
    return (
        str(amount.pretrainings + amount.measurements + amount.others),
        f"{amount.tokens:,.0f}" if amount.tokens else "",
        f"{amount.flops:.1e}" if amount.flops else "",
        megabytes(amount.disk_bytes) if amount.disk_bytes else "",
        roughly(amount.seconds) if amount.seconds else "",
    )


def models(jobs: Iterable[Job]) -> list[str]:
    """What jobs train, a line for each model and schedule: its size, and how long it sees how much."""
    rows = Counter(described(recipe) for recipe in _trained(jobs))
    return [f"{count} x {line}" for line, count in rows.items()]


def trained_models(jobs: Iterable[Job]) -> list[dict[str, Any]]:
    """The same as JSON: each shape that is trained, its parameters, and how many are trained of it."""
    rows = Counter((recipe.model, parameters(recipe)) for recipe in _trained(jobs))
    return [
        {
            "layers": model.layers,
            "hidden": model.hidden,
            "heads": model.heads,
            "parameters": size,
            "pretrainings": count,
        }
        for (model, size), count in rows.items()
    ]


def _trained(jobs: Iterable[Job]) -> list[Recipe]:
    return [job.recipe for job in jobs if isinstance(job, Pretrain) and job.steps]


def parameters(recipe: Recipe) -> int:
    """Trained numbers of a recipe's model."""
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return cost.parameters(recipe.model, recipe.tokenizer.vocabulary, positions, recipe.objective.next_sentence)


def described(recipe: Recipe) -> str:
    """A pre-training in one line: layers, width, heads and parameters; batch, steps and tokens a sequence."""
    model, schedule = recipe.model, recipe.schedule
    count = parameters(recipe) / 1e6
    batch = f"{schedule.batch_size:,} sequences" + (" or as many tokens" if recipe.inputs.token_matched_to else "")
    lengths = ", then ".join(f"{steps:,} steps of {length}" for length, steps in cost.phases(recipe))
    return (
        f"{model.layers} layers, {model.hidden} wide, {model.heads} heads: {count:.{0 if count >= 10 else 1}f}M "
        f"parameters; {batch}, {lengths} tokens"
    )


def require_room(jobs: list[Job], store: Store) -> None:
    """Raises `BadInput` if the disk of the store has less room than the weights of the jobs will take."""
    from bertlab.estimates.estimate import milestone_bytes

    largest = max((milestone_bytes(job) for job in jobs if isinstance(job, Pretrain)), default=0)
    # The weights at each milestone, and while one is trained two checkpoints of weights and moments.
    needed = sum(milestone_bytes(job) * len(job.milestones) for job in jobs if isinstance(job, Pretrain)) + 6 * largest
    place = next(path for path in (store.root.absolute(), *store.root.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise BadInput(
            f"the runs need {needed / 1e6:,.0f} MB and '{store.root}' has {free / 1e6:,.0f}: make room, or give "
            "another directory with --runs"
        )
