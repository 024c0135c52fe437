"""`bertlab ablate`: pre-trains the rows of studies, measures them, and sets them beside the paper."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bertlab.cli.console import complain, exit_codes, say
from bertlab.cli.options import Runs

if TYPE_CHECKING:
    from bertlab.machine import Machine
    from bertlab.plan import Plan
    from bertlab.store import Store
    from bertlab.study import Study


@exit_codes
def ablate(
    study: Annotated[list[str], typer.Argument(help="Names of studies, `all`, or paths of your own study files.")],
    scale: Annotated[str, typer.Option(help="smoke, tiny, mini, base or paper.")] = "tiny",
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="Text to pre-train on: microworld, a file or folder, a folder of --data, a Hub data set."),
    ] = None,
    vocab: Annotated[Path | None, typer.Option(help="A vocab.txt to use instead of training one.")] = None,
    data: Annotated[
        Path | None, typer.Option(envvar="BERTLAB_DATA", help="A local mirror of tasks and corpora.", metavar="DIR")
    ] = None,
    substitute: Annotated[
        list[str] | None, typer.Option(help="Measure on another data set of the same kind.", metavar="TASK=DATASET")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Pre-training seeds, paired across rows.")] = 1,
    restarts: Annotated[int, typer.Option(help="Fine-tuning seeds within each; 0 for the scale's.")] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Run this row only.", metavar="VARIANT")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Set a field, as schedule.steps=500.", metavar="FIELD=VALUE")
    ] = None,
    scratch: Annotated[bool, typer.Option("--scratch", help="Add the row without pre-training.")] = False,
    gpus: Annotated[int, typer.Option(min=0, max=1, help="1 to use a GPU.")] = 0,
    threads: Annotated[int, typer.Option(min=0, help="CPU threads; 0 for one a core.")] = 0,
    precision: Annotated[str, typer.Option(help="auto, fp32 or bf16.")] = "auto",
    micro_batch: Annotated[int, typer.Option(min=0, help="Sequences at once; 0 for the whole batch.")] = 0,
    runs: Runs = Path("runs"),
    retry: Annotated[bool, typer.Option("--retry", help="Try again what failed or diverged.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")] = False,
) -> int:
    """Run studies: pre-train their rows, measure them over seeds, show the table beside the paper's."""
    from bertlab import plan as planning
    from bertlab import scales
    from bertlab.machine import Machine
    from bertlab.store import Store

    request = planning.Request(
        studies=_studies(study),
        scale=scales.find(scale).set(set_ or []),
        corpora=tuple(corpus or ()),
        vocabulary=vocab,
        substitutes=_substitutes(substitute or []),
        seeds=seeds,
        restarts=restarts,
        only=tuple(only or ()),
        scratch=scratch,
    )
    machine = Machine(runs=runs, data=data, precision=precision, threads=threads, gpus=gpus, micro_batch=micro_batch)
    plan = planning.make(request, machine)
    store = Store(runs)
    from bertlab.cli.plan_table import draw

    draw(plan, store)
    if dry_run:
        return 0
    return _carry_out(plan, store, machine, retry)


def _carry_out(plan: Plan, store: Store, machine: Machine, retry: bool) -> int:
    from bertlab.cli.live import Live
    from bertlab.cli.results import print_record
    from bertlab.errors import BadInput
    from bertlab.execution.in_process import execute
    from bertlab.jobs import Measure, rows
    from bertlab.progress import signals_as_flags

    pending = plan.pending(store)
    for job in pending:  # before anything is spent: can the tasks be read?
        if isinstance(job, Measure):
            rows(job.data, machine)
    fresh = not store.root.exists()
    store.prepare()
    if retry:
        for job in pending:
            store.forgive(job.id)
    records = plan.records(f"bertlab {shlex.join(sys.argv[1:])}")

    def started() -> None:
        for name, record in records.items():
            store.remember(name, record)

    try:
        with signals_as_flags(), Live() as live:
            lost = execute(pending, store, machine, live, started)
    except BadInput:
        if fresh:
            store.remove_if_empty()
        raise
    started()
    for record in records.values():
        print_record(record, store.root)
    if lost:
        complain(f"{len(lost)} of {len(plan.jobs)} jobs have no result; `bertlab runs` says why:")
        for job in lost:
            failure = store.failure(job.id)
            reason = f"{failure['status']}: {failure['reason']}" if failure else "what it needs has failed"
            complain(f"  {job.kind} {job.label}: {reason}")
        return 1
    say(f"everything is finished in {store.root}; `bertlab report` writes tables and plots")
    return 0


def _studies(names: list[str]) -> tuple[Study, ...]:
    from bertlab import studies

    wanted = studies.names() if "all" in names else list(dict.fromkeys(names))
    return tuple(studies.find(name) for name in wanted)


def _substitutes(pairs: list[str]) -> dict[str, str]:
    from bertlab.errors import BadInput

    chosen = {}
    for pair in pairs:
        task, equals, dataset = pair.partition("=")
        if not (task and equals and dataset):
            raise BadInput(f"--substitute '{pair}': write TASK=DATASET, as conll2003=bc5cdr")
        chosen[task] = dataset
    return chosen
