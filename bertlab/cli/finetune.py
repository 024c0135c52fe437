"""`bertlab finetune`: a finished model on one task, outside a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bertlab.cli import options
from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import console, exit_codes, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from bertlab.store.runs import Run


@exit_codes
def finetune(
    task: Annotated[str, typer.Option(help="A task of the catalogue, as mnli, squad, conll2003 or entities.")],
    from_: Annotated[
        str, typer.Option("--from", help="A finished run, or a published checkpoint.", metavar="RUN|DIR|HUB_NAME")
    ],
    frozen: Annotated[
        bool, typer.Option("--features", help="Train a tagger on frozen features, in place of all weights.")
    ] = False,
    scale: options.ScaleName = "tiny",
    data: options.Data = None,
    substitute: options.Substitutes = None,
    intermediate_task: options.IntermediateTask = None,
    finetune_seeds: options.FinetuneSeeds = 0,
    set_: options.Assignments = None,
    gpus: options.Gpus = 0,
    threads: options.Threads = 0,
    precision: options.Precision = "auto",
    logger: options.Loggers = None,
    runs: options.Runs = Path("runs"),
    retry: options.Retry = False,
    json: options.Json = False,
) -> int:
    """Fine-tune a finished model on a task, with the setting of a scale; its metrics are printed and kept.

    Kept until `bertlab runs --prune`, as no study asks for them.
    """
    from bertlab.errors import BadInput
    from bertlab.lab import plan as planning
    from bertlab.lab import scales
    from bertlab.lab.pretrained import find
    from bertlab.lab.study import Measurement, Method, Study, Variant
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.tasks import catalog, kinds

    method: Method = "features" if frozen else "finetune"
    machine = Machine(
        runs=runs, data=data, precision=precision, threads=threads, gpus=gpus, loggers=tuple(logger or ())
    )
    store = Store(runs)
    if frozen and intermediate_task:
        raise BadInput("--intermediate-task trains all weights, and --features none: leave one of the two out")
    pretrained = find(from_, store, machine)
    kind = catalog.find(task).kind
    used = "features" if frozen else scales.group_of(kind)
    for assignment in set_ or ():
        if not assignment.startswith((f"{used}.", f"tasks.{task}.")):
            raise BadInput(f"--set {assignment}: only {used}. and tasks.{task}. have an effect here")
    one = Study(
        name=pretrained.label,
        question="",
        source="",
        baseline=method,
        variants=[Variant(method)],
        measurements=[Measurement(task, task=task, method=method, metric=kinds.find(kind).metrics[0])],
    )
    request = planning.Request(
        studies=(one,),
        scale=scales.find(scale).set(set_ or []),
        substitutes=options.pairs("--substitute", substitute, "conll2003=bc5cdr"),
        intermediate_task=options.pairs("--intermediate-task", intermediate_task, "squad=triviaqa"),
        finetune_seeds=finetune_seeds,
        pretrained=pretrained,
    )
    plan = planning.make(request, machine)
    complete = carry_out(plan.jobs, store, machine, retry=retry, quiet=json)
    found = [run for cell in plan.cells if (run := store.get(cell.job.id)) is not None]
    if json:
        print_json([{"id": run.id, "path": str(run.path), **run.result()} for run in found])
    elif found:
        console().print(_drawn(found))
    return 0 if complete else 1


def _drawn(runs: list[Run]) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from bertlab.report.statistics.summary import mean

    results = [run.result() for run in runs]
    table = Table(title=Text(f"{results[0]['task']}: {results[0]['dataset']}, in points"), box=SIMPLE_HEAD)
    table.title_justify = "left"
    table.add_column("split")
    table.add_column("metric")
    for run in runs:
        table.add_column(f"fine-tuning seed {run.result()['finetune_seed']}", justify="right")
    if len(runs) > 1:
        table.add_column("mean", justify="right")
    table.add_column("majority guess", justify="right")
    for judged in [results, *([[each["test"] for each in results]] if "test" in results[0] else [])]:
        for name, floor in judged[0]["majority"].items():
            values: list[Any] = [each["metrics"][name] for each in judged]
            means = [f"{mean(values):.2f}"] if len(runs) > 1 else []
            table.add_row(judged[0]["split"], name, *(f"{value:.2f}" for value in values), *means, f"{floor:.2f}")
    if any(each["status"] == "collapsed" for each in results):
        table.caption = "collapsed: a fine-tuning seed gave one answer to all rows"
    return table
