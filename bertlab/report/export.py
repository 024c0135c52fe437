"""What leaves the store: a checkpoint in the transformers format, or a study's results without weights."""

from __future__ import annotations

import dataclasses
import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.errors import BadInput, unknown
from bertlab.hub import MAIN
from bertlab.lab import user_code
from bertlab.machine import Machine
from bertlab.names import ALL, filename
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load
from bertlab.report import cards, tidy
from bertlab.report.gather import gather_all
from bertlab.store import archive, forecasts, lookup, predictions
from bertlab.store.addenda import floor_key
from bertlab.store.config import configs, write_sources
from bertlab.store.run import ANSWERS, CHANGES, Run
from bertlab.store.runs import Store
from bertlab.store.schema import to_json
from bertlab.store.writes import folder, sealed, write, write_sealed
from bertlab.wording import join_words

if TYPE_CHECKING:
    import pandas

NO_MODEL = "is a measurement that keeps no model: name a pre-training, or repeat its command with --keep"


def checkpoint(
    store: Store, name: str, directory: Path, study: str = "", licence: str = "", *, adapter: bool = False
) -> str:
    """Writes the pre-trained or fine-tuned model that `name` names into `directory`; says what it wrote. Raises
    `BadInput` for no run, and for a model that is none of `transformers`.

    With `adapter`, of a fine-tuned model what was trained, for `peft`. `study` is the file that defines parts of it,
    see `user_code`; `licence` is for the card.
    """
    run = lookup.find(store, name, lambda run: run.holds_model or run.holds_task_model, otherwise=NO_MODEL)
    if run.holds_task_model:
        return _task_model(store, run, directory, study, licence, adapter=adapter)
    if adapter:
        raise BadInput(f"--adapter writes what was trained on a task, and run {run.id} is a pre-training: leave it out")
    run.verify()
    user_code.load_user_code(run, study, user_code.OPTION)
    from bertlab.model.interop import huggingface
    from bertlab.model.interop.architectures import architecture_of
    from bertlab.training.finetuning import open_pretrained

    recipe, opened = load(Recipe, run.definition()["recipe"]), open_pretrained(run.path)
    huggingface.write(directory, opened.model, recipe.model, opened.tokenizer)
    architecture, written = architecture_of(recipe.model, recipe.causal, opened.tokenizer.pad)
    write(directory, "README.md", cards.model(run, recipe, store, architecture.title, licence))
    repeated = "" if written == recipe.model.declared else ", with what its layers share repeated in each layer,"
    return f"the {architecture.title} checkpoint of {run.label}{repeated}"


def revisions(store: Store, name: str, directory: Path, study: str = "", licence: str = "") -> str:
    """Writes the pre-trained model that `name` names as BabyLM's evaluation reads it: into folders of `directory`, the
    last weights into `main` (see `checkpoint`), those after each number of words into `chck_1M` and so on; says what.

    Raises `BadInput` as `checkpoint` does, and for a run without such weights.
    """
    run = lookup.find(store, name, lambda run: run.holds_model, otherwise=NO_MODEL)
    if not (steps := run.result().revisions):
        read = f", which read {words:,} words," if (words := run.result().words) else ""
        raise BadInput(
            f"--milestones writes the weights after 1M, 2M and more words, and run {run.id}{read} has none: pre-train "
            "with --words, for a million words or more"
        )
    what = checkpoint(store, run.id, directory / MAIN, study, licence)
    from bertlab.model.interop import huggingface
    from bertlab.training.finetuning import open_pretrained, weights_after

    recipe, opened = load(Recipe, run.definition()["recipe"]), open_pretrained(run.path)
    for revision, step in steps.items():
        opened.model.load(run.file(weights_after(recipe, step)))
        huggingface.write(directory / revision, opened.model, recipe.model, opened.tokenizer)
    return f"{what} after {join_words([text.removeprefix('chck_') for text in steps])} words"


def _task_model(store: Store, run: Run, directory: Path, study: str, licence: str, *, adapter: bool) -> str:
    """Writes the fine-tuned model of a run as one of `transformers`, or as an `adapter`; says what it wrote."""
    from safetensors.torch import load_file

    from bertlab.lab import finetuned
    from bertlab.model.interop import peft

    model = finetuned.opened(store, run.id, study, user_code.OPTION, Machine())
    described, kind, tokenizer = model.description, model.kind, model.pretrained.tokenizer
    pretraining = store.get(described.pretrained)
    assert pretraining is not None  # it has been opened
    recipe = load(Recipe, pretraining.definition()["recipe"])
    tokenizer.opened &= kind.opened or bool(model.adaptation.begins(tokenizer)[0])
    of_model, head = (model.pretrained.model, recipe.model, tokenizer), kind.published_head
    fields = kind.published_fields(described.labels)
    if adapter:
        trained = load_file(run.file(CHANGES))
        changes = [*model.adaptation.low_rank_changes(trained)]
        written = peft.write(directory, trained, changes, *of_model, head)
    else:
        written = model.adaptation.write(directory, model.model, *of_model, head, fields)
    card = cards.task_model(
        run,
        pretraining,
        kind.hub_task,
        written,
        licence,
        columns=model.columns,
        labels=len(fields.get("id2label", ())),
        adapter=adapter,
    )
    write(directory, "README.md", card)
    return f"the {'adapter of a ' if adapter else ''}{written} of {run.label}"


def results(store: Store, study: str, directory: Path, licence: str = "") -> str:
    """Writes the finished runs of a study, or of `all`, into `directory`: a store without weights for `bertlab report`,
    whose runs and records are in an archive, and a data set of its tables for `datasets.load_dataset`, with `licence`
    on its card.

    Raises `BadInput` for a study that was never run.
    """
    records = store.records(needed=None if study == ALL else [study])
    chosen = {name: record for name, record in records.items() if study in (ALL, record.study)}
    if not records:
        which = "no study has" if study == ALL else f"study '{study}' has no"
        raise BadInput(f"{which} results in '{store.root}': run `bertlab ablate` first, or give --runs")
    if not chosen:
        raise unknown("study with results", study, sorted({record.study for record in records.values()}))
    folder(directory)
    wanted, files = set(), dict[str, bytes]()
    for name, record in chosen.items():
        files[f"studies/{filename(name)}.json"] = _line(sealed(to_json(record)))
        for config, (_, sources) in configs(filename(name), record).items():
            write_sources(directory, f"studies/{config}", sources)
        wanted |= {run_id for value in record.cells for run_id in (value.run_id, value.pretrain_id)}
    runs = [run for run in store.runs() if run.id in wanted]
    for run in runs:
        run.verify()
        files |= _files(run)
    archive.save(directory, files.items())
    for failure in filter(None, map(store.failure, sorted(wanted))):
        folder(directory, "failures")
        shown = to_json(dataclasses.replace(failure, log=""))  # which may name paths
        write_sealed(directory, f"failures/{failure.id}.json", shown)
    names = {record.study for record in chosen.values()}
    floors = {floor_key(run.definition()) for run in runs}
    store.addenda().of(floors, names).write(directory)
    forecasts.copy([store.root], directory, names)
    studies = gather_all(Store(directory, lenient=True))
    tables = {"values": tidy.values, "summary": tidy.summary, "claims": tidy.claims}
    for name, lines in tables.items():
        write_parquet(directory / f"{name}.parquet", lines(studies))
    write(directory, "README.md", cards.results(studies, [*tables], licence))
    return f"{len(runs)} results of {'all studies' if study == ALL else study}"


def _files(run: Run) -> dict[str, bytes]:
    """The files of a run in an archive by name: all but weights and text."""
    listed = [name for name in run.manifest() if "/" not in name]
    content = {name: run.content(name) for name in listed if name.endswith(".jsonl")}
    content |= {name: _line(run.read(name, dict[str, Any])) for name in listed if name.endswith(".json")}
    content |= predictions.divided(run)
    facts = {name: {"bytes": len(data), "sha256": sha256(data).hexdigest()} for name, data in content.items()}
    files = {f"{run.kind}/{run.path.name}/{name}": data for name, data in content.items() if name != ANSWERS}
    if ANSWERS in content:
        files[f"answers/{facts[ANSWERS]['sha256']}.npz"] = content[ANSWERS]
    return files | {f"{run.kind}/{run.path.name}/manifest.json": _line(facts)}


def _line(data: Any) -> bytes:
    """JSON on one line."""
    return json.dumps(data, separators=(",", ":")).encode() + b"\n"


def write_parquet(path: Path, lines: pandas.DataFrame) -> None:
    """Writes a table, whose columns of counts and of numbers keep their types where values are absent."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pandas(tidy.typed(lines), preserve_index=False)
    parquet.write_table(table.replace_schema_metadata(), path)
