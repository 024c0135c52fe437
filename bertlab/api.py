"""Functions for notebooks and scripts: `from bertlab import ablate, report, results`."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import shutil
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab import trackers
from bertlab.errors import BadInput, unknown
from bertlab.execution import environment
from bertlab.machine import Machine
from bertlab.progress import Interrupted, silent
from bertlab.recipe import Recipe
from bertlab.store import lookup
from bertlab.store.files import read_json, real
from bertlab.store.runs import Store
from bertlab.store.writes import write_json
from bertlab.trackers.lightning import Opener

if TYPE_CHECKING:
    import pandas

    from bertlab.lab.jobs import CorpusPreparation
    from bertlab.lab.study import Study
    from bertlab.report.ablation import Ablation
    from bertlab.text.tokens import TokenisedCorpus
    from bertlab.training.finetuned import Finetuned
    from bertlab.training.finetuning import Pretrained


def make_recipe(scale: str = "micro", **fields: Any) -> Recipe:
    """The recipe of a scale with other values of some fields, such as `objective=(MaskedLM(mask_prob=0.4),)`.

    Raises `BadInput` for an unknown scale or field, or values out of range.
    """
    from bertlab.lab import scales

    names = [field.name for field in dataclasses.fields(Recipe)]
    for name in fields:
        if name not in names:
            raise unknown("field of a recipe", name, names)
    return dataclasses.replace(scales.find(scale).recipe, **fields)


def prepare_corpus(
    directory: str | Path, recipe: Recipe, text: str | Path | Sequence[str | Path] = "microworld", column: str = "text"
) -> TokenisedCorpus:
    """The tokenised corpus in `directory`, which is built first if there is none, with the recipe's tokenizer.

    `text` names files, folders or data sets of the Hub, whose documents are in `column`, or the synthetic corpus. It
    may be removed afterwards. Raises `BadInput` for text that cannot be used, for a directory that has something else
    in it, such as the corpus of another text, and for an empty one that is the current directory.
    """
    directory = Path(directory)
    recipe_file = directory / "recipe.json"
    if directory.exists() and any(directory.iterdir()):
        earlier = read_json(recipe_file, dict[str, Any])
        try:
            same = earlier.get("science") == json.loads(json.dumps(_corpus(recipe, text, column).definition()))
        except BadInput:
            if not (same := earlier.get("text") == _texts(text)):  # what is no longer there cannot be compared
                raise
        if not same:
            raise BadInput(f"'{directory}' has the corpus of another text or tokenizer: give a new directory")
        return _opened(directory, recipe, text)
    if real(directory) == Path.cwd():
        raise BadInput(f"'{directory}' is the current directory: give a new one for the corpus")
    job, part = _corpus(recipe, text, column), directory.with_name(f".{directory.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # of a call that was interrupted
    part.mkdir(parents=True)
    job.run(part, Store(part), Machine(), silent)
    write_json(part, recipe_file.name, {"text": _texts(text), "science": job.definition()})
    part.rename(directory)
    return _opened(directory, recipe, text)


def _opened(directory: Path, recipe: Recipe, text: str | Path | Sequence[str | Path]) -> TokenisedCorpus:
    """The corpus in a directory with the tasks of the recipe, synthetic ones beside synthetic text."""
    from bertlab.lab.jobs.pretraining import opened_corpus
    from bertlab.tasks import catalog, locate

    world = all(str(name).partition(":")[0] == "microworld" for name in _texts(text))
    named = [catalog.find(source.name) for source in recipe.multitask.tasks]
    tasks = [locate.locate(task, machine=Machine(), world=world) for task in named]
    return opened_corpus(recipe, directory, tasks, check=True)


def _corpus(recipe: Recipe, text: str | Path | Sequence[str | Path], column: str) -> CorpusPreparation:
    from bertlab.lab.jobs import CorpusPreparation
    from bertlab.text import annotation, filters, sources

    located = tuple(sources.resolve(name, machine=Machine(), column=column) for name in _texts(text))
    annotator = annotation.resolve(recipe.corpus.annotator, located) if recipe.annotated else ""
    sources_of = tuple(corpus.source for corpus in located)
    corpus = dataclasses.replace(recipe.corpus, sources=sources_of, annotator=annotator)
    filters.rules(corpus)
    return CorpusPreparation(corpus, recipe.tokenizer, located)


@environment.alone()
def open_run(store: str | Path, name: str, *, study: str | Path = "") -> Pretrained:
    """The model and tokenizer of a finished pre-training.

    `name` is the beginning of its id, STUDY/VARIANT/SEED, its label or its directory. `study` is the path of the study
    file that defines parts of it, such as a loss; its code is run. Raises `BadInput` if no run matches, or several do,
    and for a run with such parts if the file is not given and was not run before.
    """
    from bertlab.lab import pretrained

    run = lookup.find(Store(Path(store)), name, lambda candidate: candidate.holds_model)
    return pretrained.of_run(run, str(study), "study=")


@environment.alone()
def predictor(store: str | Path, name: str, *, study: str | Path = "", gpus: int = 0, threads: int = 0) -> Finetuned:
    """The fine-tuned model that a run of `finetune --keep` or `ablate --keep` keeps.

    It is called with rows, mappings from column to value, and returns a dictionary for each: `predictor("runs",
    NAME)([{"sentence": "fine"}])`. Its `columns` are those that it reads. `name` and `study` are as in `open_run`.
    Raises `BadInput` for a run without a model and, when it is called, for a row without these columns.
    """
    from bertlab.lab import finetuned

    machine = Machine(runs=Path(store), gpus=gpus, threads=threads)
    return finetuned.opened(Store(Path(store)), name, str(study), "study=", machine)


@environment.alone()
def ablate(
    study: str | Path | Study | Sequence[str | Path | Study],
    *,
    scale: str = "micro",
    settings: Mapping[str, object] | None = None,
    seeds: int | Sequence[int] | None = None,
    claim_seeds: int | Sequence[int] | None = None,
    finetune_seeds: int = 0,
    only: str | Sequence[str] = (),
    random_init: bool = False,
    corpus: str | Path | Sequence[str | Path] = (),
    data: str | Path | None = None,
    runs: str | Path = "runs",
    budget: str = "",
    until_decided: bool = False,
    gpus: int = 0,
    workers: int | None = None,
    threads: int = 0,
    quiet: bool = False,
    loggers: Sequence[Any] = (),
    **options: Any,
) -> Ablation:
    """Runs studies as `bertlab ablate` does: skips finished runs, prints progress and results unless `quiet`.

    `study` is a name, `all`, the path of a study file, a `Study`, or several of these. `settings` are those of `--set`:
    `{"schedule.steps": 500}`; seeds are how many, or which. `options` are the other options of the command by their
    names, such as `substitute={"conll2003": "bc5cdr"}`, `from_`, `precision`, `search`, `retry` and `dry_run`.

    `loggers` get the curves of all trainings and the results: names as of `--logger`, Lightning loggers, which all runs
    share, and functions that make one for the `bertlab.trackers.base.Page` of a run. But for names, runs are then in
    this process, one at a time, by default of one thread.

    Raises `BadInput` for what cannot run, also for a `Study` with a loss, selection or tokenizer of your own, which
    belong in a study file, and `KeyboardInterrupt` for Ctrl-C, after which the same call resumes. Failed runs are in
    the result.
    """
    arguments = locals()
    for name in ("set", "set_"):
        if name in options:
            raise BadInput(f"{name}: write settings={{...}}, which is --set in Python")
    return _ablated(arguments.pop("options") | arguments)


def _ablated(arguments: dict[str, Any]) -> Ablation:
    """Runs studies with all arguments of `ablate`."""
    from bertlab.cli.ablate import AblateOptions, Command, measured
    from bertlab.cli.options import ClusterOptions, group
    from bertlab.report.ablation import Ablation

    arguments["set_"] = arguments.pop("settings") or {}
    loggers = [logger if isinstance(logger, str) else Opener(logger) for logger in arguments.pop("loggers")]
    arguments["logger"] = [*_texts(arguments.get("logger") or ()), *loggers]
    openers = [logger for logger in loggers if isinstance(logger, Opener)]
    if openers and arguments["workers"] is None:  # numbers stay those of a worker
        arguments |= {"workers": 0, "threads": arguments["threads"] or int(not arguments["gpus"])}
    silence = contextlib.redirect_stdout(io.StringIO()) if arguments.pop("quiet") else contextlib.nullcontext()
    options = {name: _SPELLED.get(name, _same)(value) for name, value in arguments.items() if value is not None}
    groups = group(AblateOptions, options), group(ClusterOptions, options)
    for name in options:  # those that no group has taken
        raise unknown("option of ablate", name, {*vars(groups[0]), *vars(groups[1])})
    try:
        with silence, trackers.ended(openers):
            done = measured(Command(*groups))
        return Ablation(done.results, done.complete)
    except Interrupted as error:
        if error.number == signal.SIGINT:
            raise KeyboardInterrupt(str(error)) from error
        raise


def report(
    runs: str | Path | Sequence[str | Path] = "runs",
    out: str | Path = "reports",
    studies: str | Sequence[str] = (),
    *,
    formats: str | Collection[str] = ("md", "html"),
    compare: str | Path | None = None,
    data: str | Path | None = None,
) -> list[Path]:
    """Writes the pages of a store, or of several read as one, as `bertlab report` does; returns them, the index first.

    `studies` are all unless some are named; `formats` are `md`, `html` and `latex`; `compare` is an older store.
    `data` has local copies of tasks, for the texts of examples on which variants disagree. Raises `BadInput` for stores
    without results, unknown names, and a directory that cannot be written.
    """
    from bertlab.report import page
    from bertlab.store.merge import opened

    store = opened([Path(path) for path in _texts(runs)])
    since, tasks = (None if path is None else Path(path) for path in (compare, data))
    return page.write(_texts(studies), store, Path(out), _texts(formats), since, tasks).pages


def results(runs: str | Path | Sequence[str | Path] = "runs") -> pandas.DataFrame:
    """All measured values of a store or several, with the columns of a report's `<study>.csv`.

    Each is in its `unit`: points, nats for losses, or that of the metric, such as perplexity.

    Raises `BadInput` for a store that does not exist or cannot be read.
    """
    from bertlab.report import tidy
    from bertlab.report.gather import gather_all
    from bertlab.store.merge import opened

    roots = [Path(path) for path in _texts(runs)]
    for root in roots:
        if not root.exists():
            raise BadInput(f"there is no store '{root}': name the directory of runs, or of exported results")
    return tidy.typed(tidy.values(gather_all(opened(roots))))


def _texts(values: object) -> list[str]:
    """One value or several as the texts of an option; a mapping as `NAME=VALUE`."""
    if isinstance(values, Mapping):
        return [f"{name}={','.join(_texts(value))}" for name, value in values.items()]
    if isinstance(values, Collection) and not isinstance(values, str):
        return list(map(str, values))
    return [str(values).lower() if isinstance(values, bool) else str(values)]


def _seeds(seeds: int | Sequence[int] | str) -> str:
    """Seeds as an option spells them."""
    if isinstance(seeds, Sequence) and not isinstance(seeds, str):
        return ",".join(f"{seed}-{seed}" for seed in seeds)
    return str(seeds)


def _studies(study: Any) -> list[Any]:
    """One study or several, with paths as texts."""
    several = study if isinstance(study, Sequence) and not isinstance(study, str) else [study]
    return [str(path) if isinstance(path, Path) else path for path in several]


def _same(value: Any) -> Any:
    return value


_SPELLED: dict[str, Callable[[Any], Any]] = {
    "study": _studies,
    **dict.fromkeys(("set_", "only", "corpus", "substitute", "intermediate_task", "measure"), _texts),
    **dict.fromkeys(("seeds", "claim_seeds"), _seeds),
    **dict.fromkeys(("data", "runs", "vocab"), Path),
    **dict.fromkeys(("from_", "words"), str),
}
"""How an argument of `ablate` becomes the value of an option."""
