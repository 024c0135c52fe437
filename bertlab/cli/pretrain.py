"""`bertlab pretrain`: one pre-training outside of a study."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import command, print_json, say
from bertlab.cli.options import DryRun, Json, Loggers, Retry, TextOptions, TrainingOptions, option


@command
def pretrain(
    what: TextOptions,
    devices: TrainingOptions,
    seed: Annotated[int, option("--seed", "N", "Seed of initial weights, data order and masks.", min=0)] = 0,
    logger: Loggers = None,
    retry: Retry = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Pre-train one model outside of a study.

    The recipe is that of a scale, in which --set changes any field. The store keeps the
    model until `bertlab runs --prune`.
    """
    from bertlab.cli.plan_table import draw
    from bertlab.errors import BadInput
    from bertlab.lab import plan as planning
    from bertlab.lab import scales
    from bertlab.lab.jobs import Pretrain
    from bertlab.lab.study import Measurement, Study, Variant
    from bertlab.store.runs import Store

    for assignment in what.set_ or ():
        if assignment.startswith(tuple(f"{group}." for group in (*scales.GROUPS, "tasks"))):
            raise BadInput(f"--set {assignment}: nothing is measured here; give it to `bertlab finetune`")
    one = Study(
        name="pretrain",
        question="",
        source="",
        baseline="pretrain",
        variants=[Variant("pretrain")],
        measurements=[Measurement("perplexity", metric="perplexity")],
    )
    machine, store = devices.machine(what, logger), Store(what.runs)
    plan = planning.make(what.request((one,)), machine)
    (cell,) = plan.cells
    assert isinstance(cell.job, Pretrain)
    job = dataclasses.replace(cell.job, recipe=dataclasses.replace(cell.job.recipe, seed=seed))
    plan = dataclasses.replace(plan, cells=(), jobs=planning.in_order([job]))
    if dry_run or not json:
        draw(plan, store, machine)
    if dry_run:
        return 0
    if not carry_out(plan.jobs, store, machine, retry=retry, quiet=json):
        return 1
    run = store.get(job.id)
    assert run is not None
    if json:
        print_json({"id": run.id, "path": str(run.path), **run.result()})
        return 0
    figures = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in run.result()["heldout"].items())
    say(f"{run.id} on held-out text: {figures} (losses in nats)")
    say(f"Next: `bertlab finetune --from {run.id} --task mnli`, `bertlab fill-mask`, `bertlab export {run.id} DIR`")
    return 0
