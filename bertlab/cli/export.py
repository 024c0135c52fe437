"""`bertlab export`: writes a checkpoint for transformers, or the results of a study."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bertlab.cli import complete
from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, RUNS, STUDY_FILE, argument, flag, option
from bertlab.errors import BadInput, unusable, writing
from bertlab.wording import join_words

if TYPE_CHECKING:
    from bertlab.hub import Kind


def export(
    run: str = argument(
        ...,
        "RUN",
        "A finished pre-training, or a measurement that keeps its model; with --results, a study or `all`.",
        autocompletion=complete.EXPORTED,
    ),
    directory: Path = argument(..., "DIR", "A new directory to write."),
    results: bool = flag("RUN is a study, or `all`: write its results, without weights."),
    adapter: bool = flag("Write only the LoRA adapter of a fine-tuned model, in the format of peft."),
    milestones: bool = flag("Write the weights after 1M, 2M, ... words too, in folders named as BabyLM's revisions."),
    push: str = option("", "OWNER/NAME", "Upload it to the Hugging Face Hub too (HF_TOKEN)."),
    study: str = STUDY_FILE,
    public: bool = flag("Make a new repository of --push public; default: private."),
    license: str = option("", "ID", "The licence on the card, as the Hub names it: apache-2.0, mit, other."),
    runs: Path = RUNS,
    json: bool = JSON,
) -> None:
    """Write a model as a transformers checkpoint.

    Writes a BERT, RoBERTa, RoFormer (rotary positions), ALBERT, ModernBERT or T5, a fine-tuned one with the head of its
    task, such as BertForSequenceClassification. With --results, writes the results of a study, or of `all`, for
    `bertlab merge`, `bertlab report` and `datasets.load_dataset`. Both have a card with the measured values.
    With --milestones, a pre-training with --words gives DIR/chck_1M, ... and DIR/main: branches, if they are pushed.

    Example: bertlab export masking/80/10/10/0 model --push me/masking-80-10-10
    """
    from bertlab.report import export as exports
    from bertlab.store.runs import Store

    if public and not push:
        raise BadInput("--public is for a repository: give --push OWNER/NAME too")
    if study and results:
        raise BadInput("--study is for a model: results are written without the code of a study file")
    asked = {"--results": results, "--adapter": adapter, "--milestones": milestones}
    if len(chosen := [name for name in asked if asked[name]]) > 1:
        raise BadInput(f"{join_words(chosen)} write different things: give one of them")
    store, licence = Store(runs), _licence(license)
    with _new(directory) as beside:
        if results:
            what = exports.results(store, run, beside, licence)
        elif milestones:
            what = exports.revisions(store, run, beside, study, licence)
        else:
            what = exports.checkpoint(store, run, beside, study, licence, adapter=adapter)
        address = _pushed(beside, push, "dataset" if results else "model", public, revisions=milestones)
        files = sorted(path.relative_to(beside).as_posix() for path in beside.rglob("*") if path.is_file())
    say(f"wrote {what} to {directory}{f' and {address}' if address else ''}")
    if json:
        print_json({"wrote": what, "directory": str(directory), "pushed": address, "files": files})


def _pushed(folder: Path, name: str, kind: Kind, public: bool, *, revisions: bool) -> str:
    """The address of a repository to which a folder is uploaded, or each folder in it as a branch; empty without a
    name."""
    from bertlab import hub

    address = ""
    for part in sorted(folder.iterdir(), key=lambda part: part.name != hub.MAIN) if revisions else [folder]:
        if name:
            address = hub.push(part, name, kind, public=public, revision=part.name if revisions else hub.MAIN)
    return address


def _licence(text: str) -> str:
    """The identifier of a licence in lower case; empty for none. Raises `BadInput` for what cannot be one."""
    licence = text.lower()
    if licence and not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", licence):
        raise BadInput(f"--license '{text}' is no identifier of the Hub: give one such as apache-2.0, mit or cc-by-4.0")
    return licence


@contextmanager
def _new(directory: Path) -> Iterator[Path]:
    """A directory beside a new one, whose name it gets at the end; after an error there is neither.

    Raises `BadInput` if the new one exists already or cannot be written.
    """
    from bertlab.store.files import kind, real
    from bertlab.store.writes import sweep

    target = directory if kind(directory, "DIR") else real(directory)  # `new/../other` needs no `new`
    if target.exists():
        raise BadInput(f"export target '{directory}' exists already: name a new directory")
    existing = next(path for path in target.parents if path.exists())
    beside = existing / f".{target.name}.{os.getpid()}.part"
    try:
        sweep(existing / target.name)
        beside.mkdir()
    except OSError as error:
        raise unusable(error, "export target", directory) from error
    try:
        with writing(directory, "export target"):
            yield beside
            target.parent.mkdir(parents=True, exist_ok=True)
            beside.rename(target)
    except BaseException:
        for parent in target.parents:
            if parent == existing:
                break
            with suppress(OSError):  # it may not be there yet, or have something else in it
                parent.rmdir()
        raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
