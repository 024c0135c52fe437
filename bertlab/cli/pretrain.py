"""`bertlab pretrain`: one pre-training outside a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bertlab.cli import options
from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import exit_codes, print_json, say


@exit_codes
def pretrain(
    scale: options.ScaleName = "tiny",
    corpus: options.Corpora = None,
    vocab: options.Vocabulary = None,
    data: options.Data = None,
    set_: options.Assignments = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of initial weights, order and masks.")] = 0,
    gpus: options.Gpus = 0,
    threads: options.Threads = 0,
    precision: options.Precision = "auto",
    compile: options.Compile = "auto",
    micro_batch: options.MicroBatch = 0,
    logger: options.Loggers = None,
    runs: options.Runs = Path("runs"),
    retry: options.Retry = False,
    dry_run: options.DryRun = False,
    json: options.Json = False,
) -> int:
    """Pre-train one model: the recipe of a scale, with any field set.

    It is kept until `bertlab runs --prune`, as no study asks for it.
    """
    import dataclasses

    from bertlab.cli.plan_table import draw
    from bertlab.errors import BadInput
    from bertlab.lab import plan as planning
    from bertlab.lab import scales
    from bertlab.lab.jobs import Pretrain
    from bertlab.lab.study import Measurement, Study, Variant
    from bertlab.machine import Machine
    from bertlab.store.runs import Store

    for assignment in set_ or ():
        if assignment.startswith(tuple(f"{group}." for group in (*scales.GROUPS, "tasks"))):
            raise BadInput(f"--set {assignment}: nothing is measured here; give it to `bertlab finetune`")
    one = Study(
        name="pretrain",
        question="",
        source="",
        baseline="pretrain",
        variants=[Variant("pretrain")],
        measurements=[Measurement("perplexity", method="pretraining", metric="perplexity")],
    )
    request = planning.Request(
        studies=(one,),
        scale=scales.find(scale).set(set_ or []),
        corpora=tuple(corpus or ()),
        vocabulary=vocab,
    )
    machine = Machine(
        runs=runs,
        data=data,
        precision=precision,
        compile=compile,
        threads=threads,
        gpus=gpus,
        micro_batch=micro_batch,
        loggers=tuple(logger or ()),
    )
    store = Store(runs)
    plan = planning.make(request, machine)
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
    say(f"next: `bertlab finetune --from {run.id} --task mnli`, `bertlab fill-mask`, `bertlab export {run.id} DIR`")
    return 0
