"""The plan as a table: what is done, what will run, how much it takes. Shown before anything is spent."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from bertlab import cost
from bertlab.cli.console import console, say
from bertlab.errors import BadInput
from bertlab.jobs import Job, Pretrain

if TYPE_CHECKING:
    from bertlab.plan import Plan
    from bertlab.recipe import Recipe
    from bertlab.store import Store

KINDS = {
    "corpus": "prepare the corpus",
    "pretrain": "pre-train",
    "import": "take in a checkpoint",
    "finetune": "fine-tune",
    "features": "train on features",
}


def draw(plan: Plan, store: Store, what: str = "") -> None:
    """Prints the plan of what a store still lacks; `what` says what it is of, if not of the studies' rows."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    pending = plan.pending(store)
    names = ", ".join(study.name for study in plan.request.studies)
    given = plan.request.pretrained
    text = f"from {given.label}" if given else f"on {' + '.join(plan.corpora)}"
    title = f"{names}{what and ', '}{what}: scale {plan.request.scale.name} {text}"
    table = Table(title=Text(title), box=SIMPLE_HEAD)
    table.title_justify = "left"
    for name in ("job", "done", "to run", "tokens", "FLOP", "disk", "about"):
        table.add_column(name, justify="left" if name == "job" else "right")
    for kind, name in KINDS.items():
        jobs = [job for job in plan.jobs if job.kind == kind]
        if jobs:
            run = [job for job in pending if job.kind == kind]
            table.add_row(name, str(len(jobs) - len(run)), str(len(run)), *figures(run, store))
    console().print(table)
    for line in models(plan):
        say(line)
    if sum(plan.asked) > sum(plan.distinct) > 0 and not plan.request.pretrained:
        (trainings, measurements), (trained, measured) = plan.asked, plan.distinct
        say(
            f"Shared: the rows ask for {trainings} pre-trainings and {measurements} measurements; {trained} and "
            f"{measured} are run."
        )


def models(plan: Plan) -> list[str]:
    """What is trained, a line for each model and schedule: its size, and how long it sees how much."""
    rows: dict[str, int] = {}
    for job in plan.jobs:
        if isinstance(job, Pretrain) and job.recipe.schedule.steps:
            line = described(job.recipe)
            rows[line] = rows.get(line, 0) + 1
    return [f"{count} x {line}" for line, count in rows.items()]


def described(recipe: Recipe) -> str:
    """A pre-training in one line: layers, width, heads and parameters; batch, steps and tokens a sequence."""
    model, schedule = recipe.model, recipe.schedule
    positions = model.positions_for(recipe.inputs.longest)
    count = cost.parameters(model, recipe.tokenizer.vocabulary, positions, recipe.objective.next_sentence) / 1e6
    batch = f"{schedule.batch:,} sequences" + (" or as many tokens" if recipe.inputs.counted else "")
    lengths = ", then ".join(f"{steps:,} steps of {length}" for length, steps in cost.phases(recipe))
    return (
        f"{model.layers} layers, {model.hidden} wide, {model.heads} heads: {count:.{0 if count >= 10 else 1}f}M "
        f"parameters; {batch}, {lengths} tokens"
    )


def require_room(jobs: list[Job], store: Store) -> None:
    """Raises `BadInput` if the disk of the store has less room than the weights of the jobs will take."""
    largest = max((_weights(job) for job in jobs if isinstance(job, Pretrain)), default=0)
    # The weights at each milestone, and while one is trained two checkpoints of weights and moments.
    needed = sum(_weights(job) * job.milestones for job in jobs if isinstance(job, Pretrain)) + 6 * largest
    place = next(path for path in (store.root.absolute(), *store.root.absolute().parents) if path.exists())
    free = shutil.disk_usage(place).free
    if needed > free:
        raise BadInput(
            f"the runs need {needed / 1e6:,.0f} MB and '{store.root}' has {free / 1e6:,.0f}: make room, or give "
            "another directory with --runs"
        )


def figures(jobs: list[Job], store: Store) -> tuple[str, str, str, str]:
    """Tokens, FLOP and disk of pre-trainings as far as they are known before, and the time, from earlier runs."""
    tokens = flops = size = 0.0
    for job in jobs:
        if isinstance(job, Pretrain):
            tokens += cost.tokens(job.recipe)
            flops += cost.flops(job.recipe)
            size += _weights(job) * job.milestones
    seconds = _seconds(jobs, store)
    return (
        f"{tokens:,.0f}" if tokens else "",
        f"{flops:.1e}" if flops else "",
        f"{size / 1e6:,.0f} MB" if size else "",
        _duration(seconds) if seconds else "",
    )


def _seconds(jobs: list[Job], store: Store) -> float | None:
    """What the jobs take if they take as long as finished ones like them; `None` when there is none."""
    known: dict[str, list[float]] = {}
    for run in store.runs():
        total = sum(line["seconds"] for line in run.timing())
        steps = run.result().get("steps", 1) if run.kind == "pretrain" else 1
        if steps:
            known.setdefault(run.kind, []).append(total / steps)
    times = [(job, known.get(job.kind)) for job in jobs]
    if not times or any(found is None for _, found in times):
        return None
    total = 0.0
    for job, found in times:
        assert found is not None
        units = job.recipe.schedule.steps if isinstance(job, Pretrain) else 1
        total += units * sum(found) / len(found)
    return total


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _weights(job: Pretrain) -> int:
    recipe = job.recipe
    positions = recipe.model.positions_for(recipe.inputs.longest)
    return cost.weight_bytes(recipe.model, recipe.tokenizer.vocabulary, positions)
