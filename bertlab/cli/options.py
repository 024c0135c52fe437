"""Options that several commands share. A command takes a group of them as one parameter (see `command`)."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_type_hints

import typer
from typer.models import OptionInfo

from bertlab.cli import complete, config
from bertlab.cli.console import json_alone
from bertlab.cli.help import OPTIONS
from bertlab.errors import BadInput, warn

if TYPE_CHECKING:
    from bertlab.lab.plan import Request
    from bertlab.lab.scales import Scale
    from bertlab.lab.study import Study
    from bertlab.machine import Machine

Names = list[str] | None
Group = TypeVar("Group")


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turns a function into a command: a parameter that is a dataclass becomes the options of its fields.

    Every command has `--config` and `--print-config`. With `--json`, it prints one JSON document on standard output and
    everything else on standard error.
    """
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if dataclasses.is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            options += _of_group(parameter.annotation)
        else:
            options.append(_named(parameter))

    name = function.__name__.replace("_", "-")
    options += config.added(name, options)

    @functools.wraps(function)
    def wrapped(**values: Any) -> Any:
        context = values.pop("context")
        for parameter in context.command.params:  # a shell variable that is not set
            empty = parameter.param_type_name == "option" and values.get(parameter.name) == ""
            if empty and context.get_parameter_source(parameter.name).name == "COMMANDLINE":
                raise BadInput(f"{parameter.opts[0]} is empty: give it a value, or leave it out")
        if "set_" in values:
            values["set_"] = config.joined_fields(context, values["set_"])
        del values["config"]
        if values.pop("print_config"):
            typer.echo(config.text(name, values))
            return 0
        for parameter, group in groups.items():
            values[parameter] = group(**{field.name: values.pop(field.name) for field in dataclasses.fields(group)})
        with json_alone(values.get("json", False)):
            return function(**values)

    wrapped.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {}
    return wrapped


def group(kind: type[Group], values: dict[str, Any]) -> Group:
    """The options of a group from Python: those that it takes out of `values`, and the defaults of the others."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(kind).parameters.items()}
    return kind(**{name: values.pop(name, getattr(usual, "default", usual)) for name, usual in defaults.items()})


def _of_group(group: Any) -> Iterator[inspect.Parameter]:
    """The options of a group, each under the heading of the class that defines it, or under one of its own."""
    types = get_type_hints(group)  # each of the module of its class
    for parameter in inspect.signature(group).parameters.values():
        panels = (ancestor.panel for ancestor in group.__mro__ if parameter.name in ancestor.__annotations__)
        yield _named(parameter.replace(annotation=types[parameter.name]), next(panels))


def _named(parameter: inspect.Parameter, panel: str | None = None) -> inspect.Parameter:
    """An option with its long name, which comes before its other names, and its heading."""
    about = copy.copy(parameter.default)
    about.rich_help_panel = about.rich_help_panel or panel
    if isinstance(about, OptionInfo):
        about.param_decls = (f"--{config.long_name(parameter.name)}", *(about.param_decls or ()))
    return parameter.replace(default=about, kind=parameter.KEYWORD_ONLY)


def by_name(group: object) -> dict[str, Any]:
    """The values of a group by the long names of its options, but for the store."""
    return {config.long_name(name): value for name, value in vars(group).items() if name != "runs"}


def option(default: Any, metavar: str, text: str, *other_names: str, **more: Any) -> Any:
    """An option with its default and help text, whose long name is that of the parameter.

    What `metavar` stands for is completed.
    """
    more.setdefault("autocompletion", complete.values(metavar))
    return typer.Option(default, *other_names, metavar=metavar, help=text, **more)


def flag(text: str, **more: Any) -> Any:
    """An option without a value."""
    return typer.Option(False, help=text, **more)


def argument(default: Any, metavar: str, text: str, **more: Any) -> Any:
    """An argument with its default (`...` for none) and help text. What `metavar` stands for is completed."""
    more.setdefault("autocompletion", complete.values(metavar))
    return typer.Argument(default, metavar=metavar, help=text, **more)


STORE = "BERTLAB_RUNS"
RUNS = option(Path("runs"), "DIR", "The store: the directory of all runs.", "--store", envvar=STORE)
SEVERAL = option(
    None,
    "DIR",
    "A store or exported results; repeat it to read several together. [default: runs]",
    "--store",
    envvar=STORE,
)
JSON = flag("Print one JSON document on standard output, and all else on standard error.")
STUDY_FILE = option("", "FILE", "The study file that defines parts of RUN, such as a loss: runs its code.")
_REST: dict[str, Any] = {"rich_help_panel": OPTIONS}
LOGGERS = option(None, "mlflow|tensorboard|trackio|wandb", "Log curves and results there too; repeatable.", **_REST)
RETRY = flag("Run diverged jobs again too, and those that failed in rounds of seeds.", **_REST)
KEEP = flag("Keep fine-tuned models, as what differs from the pre-trained one.", **_REST)
DRY_RUN = flag("Print the plan and exit.", **_REST)
WORKERS = "BERTLAB_WORKERS"
_WHICH = "Studies (see `bertlab studies`), `all`, or your own study files."
STUDIES = argument(..., "STUDY", _WHICH)
STUDIES_BEFORE = argument(None, "STUDY", _WHICH)
"""The studies of a command that takes another argument after them, and itself says which of the two is missing."""


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """The recipe, and the request of all groups that extend it."""

    panel: ClassVar[str] = "Recipe"

    scale: str = option(
        "micro", "smoke|micro|tiny|mini|base|paper", "Preset of model, data and training (see `bertlab scales`)."
    )
    set_: Names = option(
        None,
        "FIELD=VALUE",
        "Set a field, such as schedule.steps=500 or finetune.epochs=2 (`bertlab show STUDY` lists all); repeatable.",
    )

    def chosen_scale(self) -> Scale:
        """The scale with the fields that `--set` changes."""
        from bertlab.lab import scales

        return scales.find(self.scale).set(self.set_ or [])

    def _scale_of(self, studies: tuple[Study, ...]) -> Scale:
        """`chosen_scale`. Raises `BadInput` that names the variants where `--set` cannot set a field that they give."""
        try:
            return self.chosen_scale()
        except BadInput as error:
            paths = [setting.partition("=")[0] for setting in self.set_ or []]
            for path in paths:
                refusals = [refusal for study in studies if (refusal := study.refusal(path))]
                if refusals and str(error).startswith(f"{path} has no effect"):
                    raise BadInput(f"--set {path} has no effect on the scale: {'; '.join(refusals)}") from None
            for study in studies:  # no other value would do, such as shares that add up to 1
                study.check_set(paths)
            raise

    def request(self, studies: tuple[Study, ...], **more: Any) -> Request:
        """The request for these studies with the options of the command, and `more` fields of it."""
        from bertlab.lab.plan import Request

        options = vars(self)
        return Request(
            studies=studies,
            scale=self._scale_of(studies),
            corpora=tuple(options.get("corpus") or ()),
            vocabulary=options.get("vocab"),
            bad_words=options.get("bad_words"),
            substitutes=pairs("--substitute", options.get("substitute"), "conll2003=bc5cdr"),
            intermediate_task=pairs("--intermediate-task", options.get("intermediate_task"), "squad=triviaqa"),
            finetune_seeds=options.get("finetune_seeds", 0),
            only=tuple(options.get("only") or ()),
            measure=tuple(options.get("measure") or ()),
            **more,
        )


@dataclass(frozen=True, kw_only=True)
class StoreOptions:
    """Directories."""

    panel: ClassVar[str] = "Data and store"

    data: Path | None = option(
        None, "DIR", "Local copy of tasks and corpora (see `bertlab fetch`).", envvar="BERTLAB_DATA"
    )
    runs: Path = RUNS


@dataclass(frozen=True, kw_only=True)
class TextOptions(StoreOptions, ScaleOptions):
    """The recipe and the text of a pre-training."""

    corpus: Names = option(
        None,
        "TEXT",
        "File, directory or Hub data set, or microworld (synthetic); repeatable. Default: those of the scale.",
    )
    words: str = option(
        "", "NUMBER", "Train on so many words of the text at most, such as 10M, in at most ten passes (BabyLM)."
    )
    vocab: Path | None = option(
        None, "FILE", "Use this vocab.txt, or tokenizer.json of BPE or Unigram, instead of training one."
    )
    bad_words: Path | None = option(None, "FILE", "Words, one a line, for which `corpus.filter` removes a page.")

    def chosen_scale(self) -> Scale:
        """The scale with the fields that `--set` and `--words` change."""
        scale = super().chosen_scale()
        return scale.reading(count(self.words, "--words")) if self.words else scale


@dataclass(frozen=True, kw_only=True)
class TaskOptions(ScaleOptions):
    """The tasks."""

    panel: ClassVar[str] = "Tasks"

    substitute: Names = option(None, "TASK=DATASET", "Use another data set for a task; repeatable.", "--replace")
    intermediate_task: Names = option(None, "TASK=DATASET", "Fine-tune on this data set before the task; repeatable.")
    finetune_seeds: int = option(
        0, "N", "Fine-tuning seeds per pre-training seed; 0: as many as the study or the scale sets."
    )


@dataclass(frozen=True, kw_only=True)
class AuditOptions(TextOptions):
    """Studies and their variants."""

    panel: ClassVar[str] = "Variants and seeds"

    study: list[str] = STUDIES
    only: Names = option(None, "VARIANT", "Run only this variant; repeatable (see `bertlab show STUDY`).")


@dataclass(frozen=True, kw_only=True)
class StudyOptions(TaskOptions, AuditOptions):
    """Studies, and everything that changes what they run."""

    panel: ClassVar[str] = AuditOptions.panel

    measure: Names = option(
        None,
        "MEASUREMENT",
        "Make only this measurement (see `bertlab show STUDY`), or one without training, as zorro or perplexity; "
        "repeatable.",
    )
    curves: bool = flag("Make measurements without training at every milestone of the pre-trainings, too.")
    from_: str | None = option(None, complete.MODEL, "Measure this model instead of pre-training.")
    seeds: str | None = option(None, "N|RANGES", "Pre-training seeds: 6 means 0 to 5; or 3-5,7.", show_default="1")
    claim_seeds: str | None = option(
        None,
        "N|RANGES",
        "Pre-training seeds of the values that claims compare, if more than --seeds.",
        show_default="those of the scale, without --seeds",
    )
    random_init: bool = flag("Add a variant without pre-training.")

    def study_request(self, machine: Machine) -> Request:
        """The request of the command."""
        from bertlab.lab import studies
        from bertlab.lab.jobs.find import find_pretrained
        from bertlab.store.runs import Store

        pretrained = find_pretrained(self.from_, Store(self.runs), machine) if self.from_ is not None else None
        chosen = tuple(studies.measuring(study, {*(self.measure or ())}) for study in studies.chosen(self.study))
        chosen = _with_any(chosen, "variant", "--only", () if self.random_init else self.only or ())
        chosen = _with_any(chosen, "measurement", "--measure", self.measure or ())
        request = self.request(chosen, curves=self.curves, random_init=self.random_init, pretrained=pretrained)
        usual = request.scale.claim_seeds if self.seeds is None and pretrained is None else 1
        claim_seeds = self.claim_seeds or str(usual)
        of_claims = () if claim_seeds == "1" else seeds(claim_seeds, "--claim-seeds")
        return dataclasses.replace(request, seeds=seeds(self.seeds or "1"), claim_seeds=of_claims)

    def spelled(self) -> str:
        """The options that define the setting of a study, quoted for a shell, without those of rounds."""
        from bertlab.store import commands

        values = by_name(self) | {"budget": "", "until-decided": False}
        return commands.worded({name: values[name] for name in commands.SETTING if values.get(name)})


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """Devices."""

    panel: ClassVar[str] = "Devices"

    gpus: int = option(0, "N", "GPUs to use; 0: the CPU.", min=0)
    threads: int = option(0, "N", "CPU threads; 0: all cores.", min=0)
    precision: str = option("auto", "auto|fp32|bf16", "auto: bf16 if the hardware has it.")

    def machine(self, store: StoreOptions | None = None, loggers: Names = None) -> Machine:
        """The machine with these devices."""
        from bertlab.machine import Machine

        places: dict[str, Any] = {"runs": store.runs, "data": store.data} if store else {}
        return Machine(**places, loggers=tuple(loggers or ()), **vars(self))


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(DeviceOptions):
    """Devices of a pre-training."""

    compile: str = option("auto", "auto|yes|no|graphs", "Compile pre-training; auto: long ones on GPUs.")
    micro_batch: int = option(0, "N", "Sequences per forward pass; 0: the whole batch.", min=0)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(TrainingOptions):
    """Devices of many jobs."""

    threads: int = option(0, "N", "CPU threads per run; 0: one, or with --gpus or --workers 0 all cores.", min=0)
    gpus_per_run: int = option(0, "N", "GPUs per pre-training; 0: with Ray, divide all evenly; else one.", min=0)
    runs_per_gpu: int = option(1, "N", "Runs that share each GPU, for small models.", min=1)
    workers: int | None = option(
        None,
        "N",
        "Parallel runs on the CPU, one thread each; 0: one run at a time, in this process.",
        min=0,
        envvar=WORKERS,
        show_default="one per core",
    )
    cluster: str = option("", "ADDRESS", "Use a Ray cluster: HOST:PORT, or auto.")

    @property
    def workers_given(self) -> bool:
        """Whether the command has `--workers`; a variable that is always set contradicts no other option."""
        return self.workers is not None and os.environ.get(WORKERS) != str(self.workers)

    def machine(self, store: StoreOptions | None = None, loggers: Names = None) -> Machine:
        """The machine with these devices; by default as many runs side by side on the CPU as fit."""
        from bertlab.machine import runs_that_fit

        workers, threads = self.workers, self.threads
        if self.gpus and not self.workers_given:
            workers = 0
        elif workers is None and not (self.gpus_per_run or self.cluster):
            fit = runs_that_fit(threads or 1)
            # Where one run fits, it needs no worker but has the threads of one: numbers do not depend on the cores.
            workers, threads = (fit, threads) if fit > 1 else (0, threads or 1)
        chosen = dataclasses.replace(self, workers=workers or 0, threads=threads)
        return DeviceOptions.machine(chosen, store, loggers)


def _with_any(studies: tuple[Study, ...], part: str, option: str, names: Sequence[str]) -> tuple[Study, ...]:
    """The studies that have a part, a variant or a measurement, of the names in an option; all if no study has one.

    Warns of the others.
    """
    named = tuple(study for study in studies if any(it.name in names for it in getattr(study, f"{part}s")))
    if named and (others := [study.name for study in studies if study not in named]):
        warn(f"{option} names no {part} of {', '.join(others)}: left out")
    return named or studies


def seeds(text: str, option: str = "--seeds") -> tuple[int, ...]:
    """The seeds of an option in ascending order: all below a number, or those of ranges, both ends included."""
    wrong = BadInput(
        f"{option} is {text[:40]}: give how many, 1 to 1,000, or ranges such as 3-5, 0-2,7 or, for one seed, 0-0"
    )
    parts = text.split(",")
    if not all(re.fullmatch(r"[0-9]{1,18}(-[0-9]{1,18})?", part) for part in parts):
        raise wrong
    ends = [[int(end) for end in part.split("-")] for part in parts]
    spans = [range(ends[0][0])] if text.isdecimal() else [range(bounds[0], bounds[-1] + 1) for bounds in ends]
    if not all(spans) or sum(len(span) for span in spans) > 1000:
        raise wrong
    return tuple(sorted({seed for span in spans for seed in span}))


def count(text: str, option: str) -> int:
    """The number of an option, such as 2500000, 2.5M, 100K or 1B. Raises `BadInput` for anything else, and for 0."""
    written = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([KMB]?)", text.strip().upper())
    number = round(float(written[1]) * {"": 1, "K": 1e3, "M": 1e6, "B": 1e9}[written[2]]) if written else 0
    if number < 1:
        raise BadInput(f"{option} is {text[:40]}: give a number above 0, such as 10M, 500K or 2500000")
    return number


def in_store(runs: Path) -> str:
    """` --runs DIR` for a command that is printed, empty for the store that it takes by itself."""
    return "" if runs == Path(os.environ.get(STORE) or "runs") else f" --runs {shlex.quote(str(runs))}"


def pairs(option: str, values: Names, example: str) -> dict[str, str]:
    """The TASK=DATASET pairs of an option. Raises `BadInput` for anything else."""
    chosen = {}
    for pair in values or ():
        task, equals, dataset = pair.partition("=")
        if not (task and equals and dataset):
            raise BadInput(f"{option} '{pair}': write TASK=DATASET, such as {example}")
        if task in chosen:
            raise BadInput(f"{option} names {task} twice: give one data set")
        chosen[task] = dataset
    return chosen
