"""Options that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

Runs = Annotated[
    Path, typer.Option("--runs", envvar="BERTLAB_RUNS", help="The store of runs.", show_envvar=True, metavar="DIR")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Studies = Annotated[list[str], typer.Argument(help="Names of studies, `all`, or paths of your own study files.")]
Only = Annotated[list[str] | None, typer.Option("--only", help="Take this row only.", metavar="VARIANT")]
ScaleName = Annotated[str, typer.Option("--scale", help="smoke, tiny, mini, base or paper.")]
Corpora = Annotated[
    list[str] | None,
    typer.Option(
        "--corpus", help="Text to pre-train on: microworld, a file or folder, a folder of --data, a Hub data set."
    ),
]
Vocabulary = Annotated[Path | None, typer.Option("--vocab", help="A vocab.txt to use instead of training one.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", envvar="BERTLAB_DATA", help="A local mirror of tasks and corpora.", metavar="DIR"),
]
Substitutes = Annotated[
    list[str] | None,
    typer.Option("--substitute", help="Measure on another data set of the same kind.", metavar="TASK=DATASET"),
]
IntermediateTask = Annotated[
    list[str] | None,
    typer.Option(
        "--intermediate-task",
        help="Train on another data set before a task, as squad=triviaqa.",
        metavar="TASK=DATASET",
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Measure a finished run, or a published checkpoint, in place of pre-training.",
        metavar="RUN|DIR|HUB_NAME[@REVISION]",
    ),
]
Seeds = Annotated[
    str,
    typer.Option(help="Pre-training seeds, paired across rows: 6 for 0 to 5, or ranges as 3-5,7.", metavar="N|RANGES"),
]
RandomInit = Annotated[
    bool, typer.Option("--random-init", help="Add a variant without pre-training, with random weights.")
]
FinetuneSeeds = Annotated[
    int, typer.Option("--finetune-seeds", help="Fine-tuning seeds for each pre-training seed; 0: as the scale.")
]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", help="Set a field, as schedule.steps=500.", metavar="FIELD=VALUE")
]
Gpus = Annotated[int, typer.Option("--gpus", min=0, help="GPUs to use; 0 for the CPU.")]
GpusPerRun = Annotated[
    int, typer.Option("--gpus-per-run", min=0, help="Devices of one pre-training; 0 to share all among the runs.")
]
Workers = Annotated[
    int, typer.Option("--workers", min=0, help="Runs side by side on the CPU, one thread each; 0 for one at a time.")
]
Cluster = Annotated[
    str, typer.Option("--cluster", help="Use the devices of a Ray cluster, as `auto` or HOST:PORT.", metavar="ADDRESS")
]
Threads = Annotated[int, typer.Option("--threads", min=0, help="CPU threads; 0 for one a core.")]
Precision = Annotated[str, typer.Option("--precision", help="auto, fp32 or bf16.")]
Compile = Annotated[str, typer.Option("--compile", help="Compile pre-training: auto, yes, no, or graphs on a GPU.")]
MicroBatch = Annotated[int, typer.Option("--micro-batch", min=0, help="Sequences at once; 0 for the whole batch.")]
Loggers = Annotated[
    list[str] | None, typer.Option("--logger", help="Show curves in tensorboard or wandb too; off if not given.")
]
Retry = Annotated[bool, typer.Option("--retry", help="Try again what failed or diverged.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and stop.")]


def seeds(text: str) -> tuple[int, ...]:
    """The seeds that `--seeds` names, ascending: those below a number, or those of ranges, both ends included."""
    from bertlab.errors import BadInput

    wrong = BadInput(f"--seeds is {text[:40]}: give how many, 1 to 1,000, or ranges of seeds as 3-5 or 0-2,7")
    parts = text.split(",")
    if not all(re.fullmatch(r"[0-9]{1,18}(-[0-9]{1,18})?", part) for part in parts):
        raise wrong
    ends = [[int(end) for end in part.split("-")] for part in parts]
    spans = [range(ends[0][0])] if text.isdecimal() else [range(each[0], each[-1] + 1) for each in ends]
    if not all(spans) or sum(len(span) for span in spans) > 1000:
        raise wrong
    return tuple(sorted({seed for span in spans for seed in span}))


def spelled(given: Mapping[str, Iterable[object] | None]) -> str:
    """Options with their values, those that were given, as a shell reads them."""
    words = [(name, str(value)) for name, values in given.items() for value in values or () if value is not None]
    return " ".join(f"{name} {shlex.quote(value)}" for name, value in words)


def pairs(option: str, given: list[str] | None, example: str) -> dict[str, str]:
    """The TASK=DATASET pairs of an option; `BadInput` for one that is none."""
    from bertlab.errors import BadInput

    chosen = {}
    for pair in given or ():
        task, equals, dataset = pair.partition("=")
        if not (task and equals and dataset):
            raise BadInput(f"{option} '{pair}': write TASK=DATASET, as {example}")
        if task in chosen:
            raise BadInput(f"{option} names {task} twice: give one data set")
        chosen[task] = dataset
    return chosen
