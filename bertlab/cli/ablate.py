"""`bertlab ablate`: pre-trains the rows of studies, measures them, and sets them beside the paper."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bertlab.cli.carry_out import carry_out
from bertlab.cli.console import exit_codes, say
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
    first: Annotated[
        list[str] | None,
        typer.Option(help="Train on another data set before a task, as squad=triviaqa.", metavar="TASK=DATASET"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Pre-training seeds, paired across rows.")] = 1,
    restarts: Annotated[int, typer.Option(help="Fine-tuning seeds within each; 0 for the scale's.")] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Run this row only.", metavar="VARIANT")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Set a field, as schedule.steps=500.", metavar="FIELD=VALUE")
    ] = None,
    scratch: Annotated[bool, typer.Option("--scratch", help="Add the row without pre-training.")] = False,
    search: Annotated[
        bool, typer.Option("--search", help="Choose each task's fine-tuning on the baseline, from the scale's grid.")
    ] = False,
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
    from bertlab.cli.plan_table import draw
    from bertlab.machine import Machine
    from bertlab.store import Store

    request = planning.Request(
        studies=_studies(study),
        scale=scales.find(scale).set(set_ or []),
        corpora=tuple(corpus or ()),
        vocabulary=vocab,
        substitutes=_pairs("--substitute", substitute or [], "conll2003=bc5cdr"),
        first=_pairs("--first", first or [], "squad=triviaqa"),
        seeds=seeds,
        restarts=restarts,
        only=tuple(only or ()),
        scratch=scratch,
    )
    machine = Machine(runs=runs, data=data, precision=precision, threads=threads, gpus=gpus, micro_batch=micro_batch)
    plan = planning.make(request, machine)
    store = Store(runs)

    if search:
        from bertlab import search as searching

        tried = searching.make(request, machine)
        if tried.plan.pending(store):
            draw(tried.plan, store, "settings to try on the baseline")
            if dry_run:
                return 0
            carry_out(tried.plan.jobs, store, machine, retry=retry)
        plan = planning.make(tried.chosen(store), machine)
    draw(plan, store)
    return 0 if dry_run else _carry_out(plan, store, machine, retry)


def _carry_out(plan: Plan, store: Store, machine: Machine, retry: bool) -> int:
    from bertlab.cli.results import print_record

    records = plan.records(f"bertlab {shlex.join(sys.argv[1:])}")

    def started() -> None:
        for name, record in records.items():
            store.remember(name, record)

    complete = carry_out(plan.jobs, store, machine, retry=retry, started=started)
    for record in records.values():
        print_record(record, store.root)
    if complete:
        say(f"everything is finished in {store.root}; `bertlab report` writes tables and plots")
    return 0 if complete else 1


def _studies(names: list[str]) -> tuple[Study, ...]:
    from bertlab import studies

    wanted = studies.names() if "all" in names else list(dict.fromkeys(names))
    return tuple(studies.find(name) for name in wanted)


def _pairs(option: str, pairs: list[str], example: str) -> dict[str, str]:
    from bertlab.errors import BadInput

    chosen = {}
    for pair in pairs:
        task, equals, dataset = pair.partition("=")
        if not (task and equals and dataset):
            raise BadInput(f"{option} '{pair}': write TASK=DATASET, as {example}")
        chosen[task] = dataset
    return chosen
