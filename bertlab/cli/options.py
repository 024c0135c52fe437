"""Options that several commands share, in groups: a command takes a group as one parameter (`console.command`)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bertlab.lab.plan import Request
    from bertlab.lab.scales import Scale
    from bertlab.lab.study import Study
    from bertlab.machine import Machine

Names = list[str] | None


def option(name: str, metavar: str | None, text: str, **more: Any) -> Any:
    """An option with its help text."""
    return typer.Option(name, metavar=metavar, help=text, **more)


Runs = Annotated[Path, option("--runs", "DIR", "The store of runs.", envvar="BERTLAB_RUNS", show_envvar=True)]
Json = Annotated[bool, option("--json", None, "Print JSON.")]
Run = Annotated[str, typer.Argument(help="A finished pre-training: its id, label or directory.", metavar="RUN")]
StudyNames = Annotated[list[str], typer.Argument(help="Studies, `all`, or your own study files.", metavar="STUDY")]
Loggers = Annotated[Names, option("--logger", "tensorboard|wandb", "Log there too; repeatable.")]
Retry = Annotated[bool, option("--retry", None, "Run failed and diverged jobs again.")]
DryRun = Annotated[bool, option("--dry-run", None, "Print the plan and exit.")]


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """The recipe of a command."""

    scale: Annotated[str, option("--scale", "NAME", "The preset: smoke, tiny, mini, base or paper.")] = "tiny"
    set_: Annotated[Names, option("--set", "FIELD=VALUE", "Set a field: schedule.steps=500; repeatable.")] = None

    def found(self) -> Scale:
        """The scale with all fields set."""
        from bertlab.lab import scales

        return scales.find(self.scale).set(self.set_ or [])


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """Where a command finds data and keeps runs."""

    data: Annotated[
        Path | None, option("--data", "DIR", "A local mirror of tasks and corpora.", envvar="BERTLAB_DATA")
    ] = None
    runs: Runs = Path("runs")


@dataclass(frozen=True, kw_only=True)
class TextOptions(StoreOptions, ScaleOptions):
    """What a command pre-trains, and on which text."""

    corpus: Annotated[
        Names, option("--corpus", "TEXT", "Text: a file, folder, Hub data set, or microworld; repeatable.")
    ] = None
    vocab: Annotated[Path | None, option("--vocab", "FILE", "Use this vocab.txt instead of training one.")] = None

    def request(self, studies: tuple[Study, ...], **more: Any) -> Request:
        """The request for these studies."""
        from bertlab.lab.plan import Request

        corpora = tuple(self.corpus or ())
        return Request(studies=studies, scale=self.found(), corpora=corpora, vocabulary=self.vocab, **more)


@dataclass(frozen=True, kw_only=True)
class TaskOptions:
    """How a command measures on tasks."""

    substitute: Annotated[
        Names, option("--substitute", "TASK=DATASET", "Measure a task on another data set; repeatable.")
    ] = None
    intermediate_task: Annotated[
        Names, option("--intermediate-task", "TASK=DATASET", "Fine-tune on a data set before a task; repeatable.")
    ] = None
    finetune_seeds: Annotated[
        int, option("--finetune-seeds", "N", "Fine-tuning seeds per pre-training seed; 0: as the scale.")
    ] = 0

    def measured(self) -> dict[str, Any]:
        """The same as fields of a request."""
        return {
            "substitutes": pairs("--substitute", self.substitute, "conll2003=bc5cdr"),
            "intermediate_task": pairs("--intermediate-task", self.intermediate_task, "squad=triviaqa"),
            "finetune_seeds": self.finetune_seeds,
        }


@dataclass(frozen=True, kw_only=True)
class AuditOptions(TextOptions):
    """Studies and their variants."""

    study: StudyNames
    only: Annotated[Names, option("--only", "VARIANT", "Run this variant only; repeatable.")] = None

    def chosen(self) -> tuple[Study, ...]:
        """The studies."""
        from bertlab.lab import studies

        return studies.chosen(self.study)


@dataclass(frozen=True, kw_only=True)
class StudyOptions(TaskOptions, AuditOptions):
    """Studies, and all that changes what they run."""

    from_: Annotated[
        str | None,
        option("--from", "RUN|DIR|HUB_NAME[@REVISION]", "Measure this model instead of pre-training."),
    ] = None
    seeds: Annotated[str, option("--seeds", "N|RANGES", "Pre-training seeds: 6 for 0 to 5, or 3-5,7.")] = "1"
    random_init: Annotated[bool, option("--random-init", None, "Add a variant without pre-training.")] = False

    def asked(self, machine: Machine) -> Request:
        """The request."""
        from bertlab.lab.pretrained import find
        from bertlab.store.runs import Store

        return self.request(
            self.chosen(),
            seeds=seeds(self.seeds),
            only=tuple(self.only or ()),
            random_init=self.random_init,
            pretrained=find(self.from_, Store(self.runs), machine) if self.from_ is not None else None,
            **self.measured(),
        )

    def spelled(self) -> str:
        """The options that define the setting of a study, as a shell reads them."""
        given = {
            "--scale": [self.scale],
            "--corpus": self.corpus,
            "--vocab": [self.vocab],
            "--data": [self.data],
            "--substitute": self.substitute,
            "--intermediate-task": self.intermediate_task,
            "--from": [self.from_],
            "--set": self.set_,
        }
        words = [(name, str(value)) for name, values in given.items() for value in values or () if value is not None]
        return " ".join(f"{name} {shlex.quote(value)}" for name, value in words)


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """The devices of a command."""

    gpus: Annotated[int, option("--gpus", "N", "GPUs to use; 0: the CPU.", min=0)] = 0
    threads: Annotated[int, option("--threads", "N", "CPU threads; 0: all cores.", min=0)] = 0
    precision: Annotated[str, option("--precision", "auto|fp32|bf16", "auto: bf16 if the hardware has it.")] = "auto"

    def machine(self, store: StoreOptions | None = None, loggers: Names = None) -> Machine:
        """The machine with these devices."""
        from bertlab.machine import Machine

        store = store or StoreOptions()
        return Machine(runs=store.runs, data=store.data, loggers=tuple(loggers or ()), **vars(self))


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(DeviceOptions):
    """The devices of a command that pre-trains."""

    compile: Annotated[str, option("--compile", "auto|yes|no|graphs", "Compile pre-training.")] = "auto"
    micro_batch: Annotated[int, option("--micro-batch", "N", "Sequences per forward pass; 0: all.", min=0)] = 0


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(TrainingOptions):
    """The devices of a command that runs many jobs."""

    gpus_per_run: Annotated[int, option("--gpus-per-run", "N", "GPUs per pre-training; 0: an even share.", min=0)] = 0
    workers: Annotated[int, option("--workers", "N", "Parallel runs on the CPU, one thread each.", min=0)] = 0
    cluster: Annotated[str, option("--cluster", "ADDRESS", "Use a Ray cluster: HOST:PORT, or auto.")] = ""


def seeds(text: str) -> tuple[int, ...]:
    """The seeds of `--seeds` in ascending order: all below a number, or those of ranges, both ends included."""
    from bertlab.errors import BadInput

    wrong = BadInput(f"--seeds is {text[:40]}: give how many, 1 to 1,000, or ranges of seeds such as 3-5 or 0-2,7")
    parts = text.split(",")
    if not all(re.fullmatch(r"[0-9]{1,18}(-[0-9]{1,18})?", part) for part in parts):
        raise wrong
    ends = [[int(end) for end in part.split("-")] for part in parts]
    spans = [range(ends[0][0])] if text.isdecimal() else [range(each[0], each[-1] + 1) for each in ends]
    if not all(spans) or sum(len(span) for span in spans) > 1000:
        raise wrong
    return tuple(sorted({seed for span in spans for seed in span}))


def pairs(option: str, given: Names, example: str) -> dict[str, str]:
    """The TASK=DATASET pairs of an option. Raises `BadInput` for anything else."""
    from bertlab.errors import BadInput

    chosen = {}
    for pair in given or ():
        task, equals, dataset = pair.partition("=")
        if not (task and equals and dataset):
            raise BadInput(f"{option} '{pair}': write TASK=DATASET, such as {example}")
        if task in chosen:
            raise BadInput(f"{option} names {task} twice: give one data set")
        chosen[task] = dataset
    return chosen
