"""`bertlab ablate`: pre-trains the rows of studies, measures them, and sets them beside the paper."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bertlab.cli import options
from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import exit_codes, say

if TYPE_CHECKING:
    from bertlab.lab.plan import Plan
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.store.union import Record


@exit_codes
def ablate(
    study: options.Studies,
    scale: options.ScaleName = "tiny",
    corpus: options.Corpora = None,
    vocab: options.Vocabulary = None,
    data: options.Data = None,
    substitute: options.Substitutes = None,
    intermediate_task: options.IntermediateTask = None,
    from_: options.From = None,
    seeds: options.Seeds = "1",
    finetune_seeds: options.FinetuneSeeds = 0,
    only: options.Only = None,
    set_: options.Assignments = None,
    random_init: options.RandomInit = False,
    search: Annotated[
        bool, typer.Option("--search", help="Choose each task's fine-tuning on the baseline, from the scale's grid.")
    ] = False,
    gpus: options.Gpus = 0,
    gpus_per_run: options.GpusPerRun = 0,
    workers: options.Workers = 0,
    cluster: options.Cluster = "",
    threads: options.Threads = 0,
    precision: options.Precision = "auto",
    compile: options.Compile = "auto",
    micro_batch: options.MicroBatch = 0,
    logger: options.Loggers = None,
    runs: options.Runs = Path("runs"),
    retry: options.Retry = False,
    dry_run: options.DryRun = False,
) -> int:
    """Run studies: pre-train their rows, measure them over seeds, show the table beside the paper's."""
    from bertlab.cli.plan_table import draw
    from bertlab.errors import BadInput
    from bertlab.lab import plan as planning
    from bertlab.lab import scales, studies
    from bertlab.lab.pretrained import find
    from bertlab.lab.record import records
    from bertlab.machine import Machine
    from bertlab.store import union
    from bertlab.store.runs import Store

    machine = Machine(
        runs=runs,
        data=data,
        precision=precision,
        compile=compile,
        threads=threads,
        gpus=gpus,
        gpus_per_run=gpus_per_run,
        workers=workers,
        cluster=cluster,
        micro_batch=micro_batch,
        loggers=tuple(logger or ()),
    )
    store = Store(runs)
    request = planning.Request(
        studies=studies.chosen(study),
        scale=scales.find(scale).set(set_ or []),
        corpora=tuple(corpus or ()),
        vocabulary=vocab,
        substitutes=options.pairs("--substitute", substitute, "conll2003=bc5cdr"),
        intermediate_task=options.pairs("--intermediate-task", intermediate_task, "squad=triviaqa"),
        seeds=options.seeds(seeds),
        finetune_seeds=finetune_seeds,
        only=tuple(only or ()),
        random_init=random_init,
        pretrained=find(from_, store, machine) if from_ is not None else None,
    )
    if from_ is not None and (compile != "auto" or micro_batch):
        raise BadInput("--from: nothing is pre-trained, --compile and --micro-batch have no effect; leave them out")
    plan = planning.make(request, machine)
    union.check(store, records(plan).values())
    if search:
        from bertlab.lab import search as searching

        tried = searching.make(request, machine)
        if tried.plan.pending(store):
            draw(tried.plan, store, machine, "settings to try on the baseline")
            if dry_run:
                return 0
            carry_out(tried.plan.jobs, store, machine, retry=retry)
        plan = planning.make(tried.chosen(store), machine)
    draw(plan, store, machine)
    setting = options.spelled(
        {
            "--scale": [scale],
            "--corpus": corpus,
            "--vocab": [vocab],
            "--data": [data],
            "--substitute": substitute,
            "--intermediate-task": intermediate_task,
            "--from": [from_],
            "--set": set_,
        }
    )
    made = records(plan, setting + " --search" * search).values()
    if not dry_run:
        planning.check_metrics(plan, store, machine)
    return 0 if dry_run else _carry_out(plan, made, store, machine, retry)


def _carry_out(plan: Plan, made: Collection[Record], store: Store, machine: Machine, retry: bool) -> int:
    from bertlab.cli.results import print_records
    from bertlab.store import union

    kept: list[Record] = []

    def started() -> None:
        kept[:] = union.keep(store, made)

    complete = carry_out(plan.jobs, store, machine, retry=retry, started=started)
    print_records(kept, store)
    if complete:
        say(f"everything is finished in {store.root}; `bertlab report` writes tables and plots")
    return 0 if complete else 1
