"""Data sets and checkpoints of the Hugging Face Hub: found at a commit, known by the content of their files.

A name is `owner/name[:config][@revision]`; a revision is a branch, a tag or a commit, and the main branch if none is
given. An id contains the hashes of the files that are read, which the Hub lists, and not the commit: a new text on the
card changes no result. Files are fetched at that commit into the cache of `huggingface_hub`, and read from there. What
the Hub said last is remembered, so that all that is in the cache can be used without it (`HF_HUB_OFFLINE=1`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bertlab.errors import BadInput, unknown
from bertlab.hub.index import Index

if TYPE_CHECKING:
    from datasets import IterableDataset

Kind = Literal["dataset", "model"]
SECONDS = 30
"""How long the Hub may take to answer."""

_NAME = re.compile(
    r"(?P<repository>([\w-][\w.-]*/)?[\w-][\w.-]*)(:(?P<configuration>[\w.-]+))?(@(?P<revision>[\w./-]+))?"
)
_CARDS = ("README.md", "dataset_infos.json", ".huggingface.yaml")
"""Files that say which files are of which configuration and split."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Reference:
    """What a name on the Hub stands for."""

    repository: str
    configuration: str = ""
    revision: str = ""

    @classmethod
    def parse(cls, name: str, owned: bool = True) -> Reference | None:
        """`owner/name[:config][@revision]`, or not `owned` without its owner; None if it is not of that form."""
        found = _NAME.fullmatch(name)
        return (
            None
            if found is None or (owned and "/" not in found["repository"])
            else cls(**{part: text or "" for part, text in found.groupdict().items()})
        )

    @property
    def name(self) -> str:
        """`owner/name[:config]`, whatever the revision."""
        return f"{self.repository}:{self.configuration}" if self.configuration else self.repository

    @property
    def asked(self) -> str:
        """All of it, as it was given."""
        return f"{self.name}@{self.revision}" if self.revision else self.name


@dataclass(frozen=True)
class File:
    """A file of a repository."""

    path: str
    content: str
    """`sha256:...` of its bytes where the Hub stores them apart, else `git:...`, the id of its blob."""


@dataclass(frozen=True)
class Dataset:
    """A configuration of a data set at a commit: its files by split, and how they are read. Plain data."""

    name: str
    """`owner/name[:config]`."""
    commit: str
    splits: tuple[tuple[str, tuple[File, ...]], ...]
    reader: str
    """The reader of the `datasets` library: parquet, json, csv, text."""
    options: str = "{}"
    """What its card says to that reader, as JSON."""
    features: str = ""
    """The columns as its card declares them, as JSON; empty if it does not."""

    def content(self, splits: Sequence[str], labels: str = "") -> str:
        """What is in some splits: a hash over those of their files, and over the names of `labels` on the card."""
        read = [[file.content for file in self.files(split)] for split in splits]
        names = _names(json.loads(self.features).get(labels)) if self.features and labels else []
        return f"hub:{hashlib.sha256(json.dumps([read, names] if names else read).encode()).hexdigest()}"

    def files(self, split: str) -> tuple[File, ...]:
        """The files of a split. Raises `BadInput` if there is no such split."""
        known = dict(self.splits)
        if split not in known:
            raise unknown(f"split of '{self.name}' on the Hub", split, known)
        return known[split]

    def fetch(self, split: str, advice: str) -> list[str]:
        """The paths of a split's files on this machine. Raises `BadInput` with `advice` if they cannot be had."""
        repository = self.name.partition(":")[0]
        try:
            return [_fetch("dataset", repository, self.commit, file.path) for file in self.files(split)]
        except BadInput:
            raise
        except Exception as error:  # the client raises its own, httpx's and OSError, all with the same meaning here
            raise unreachable(f"the files of data set '{self.name}'", error, advice) from None

    def open(self, split: str, advice: str) -> IterableDataset:
        """The rows of a split, read from its files as they are iterated over. Raises `BadInput` as `fetch` does."""
        import datasets

        paths = self.fetch(split, advice)
        datasets.disable_progress_bars()  # progress is drawn in one place, by the command line
        return datasets.load_dataset(
            self.reader,
            data_files={split: paths},
            split=split,
            streaming=True,
            features=datasets.Features.from_dict(json.loads(self.features)) if self.features else None,
            **json.loads(self.options),
        )


def dataset(reference: Reference, cache: Path, what: str, advice: str) -> Dataset:
    """The data set that a name stands for now; without the Hub, as it was when this machine last asked.

    Raises `BadInput`, from `what` is missing to `advice` on what to do, if there is none, or the Hub cannot be asked
    and never was.
    """
    index, key = Index(cache), f"hub dataset {reference.asked}"
    known = _remembered(index.entries.get(key))
    if known is not None and _COMMIT.fullmatch(reference.revision):
        return known  # a commit never changes
    try:
        found = _resolve(reference)
    except BadInput:
        raise
    except Exception as error:  # the network, the Hub or a card that cannot be read, each with many kinds of errors
        if known is not None and not _denied(error):
            return known
        raise unreachable(what, error, advice) from None
    for name in (reference.asked, f"{found.name}@{found.commit}"):
        index.remember(f"hub dataset {name}", json.loads(json.dumps(dataclasses.asdict(found))))
    index.save()
    return found


def checkpoint(
    reference: Reference, names: Sequence[str], cache: Path, what: str, advice: str
) -> tuple[str, tuple[File, ...]]:
    """The commit of a model, and those of its files that have one of these names. Raises `BadInput` as `dataset`."""
    index = Index(cache)
    try:
        commit, listed = _listed("model", reference.repository, reference.revision)
    except Exception as error:  # of many kinds, see `dataset`
        known = index.entries.get(f"hub model {reference.asked}")
        if not isinstance(known, dict) or _denied(error):
            raise unreachable(what, error, advice) from None
        return str(known.get("commit")), tuple(File(path, str(known[path])) for path in names if path in known)
    files = {path: listed[path] for path in names if path in listed}
    for revised in (reference, dataclasses.replace(reference, revision=commit)):
        index.remember(f"hub model {revised.asked}", {"commit": commit, **files})
    index.save()
    return commit, tuple(File(path, content) for path, content in files.items())


def unreachable(what: str, error: Exception, advice: str) -> BadInput:
    """The error for what the Hub does not give, in one line that ends in what to do."""
    from huggingface_hub.errors import (
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, GatedRepoError):
        return BadInput(
            f"{what} is gated on the Hugging Face Hub: accept its terms there and set HF_TOKEN, or {advice}"
        )
    if isinstance(error, RevisionNotFoundError):
        return BadInput(f"{what}: the Hugging Face Hub has no such revision: give a branch, a tag or a commit")
    if isinstance(error, RepositoryNotFoundError):
        return BadInput(
            f"{what} is not on the Hugging Face Hub: check its spelling (a private one needs HF_TOKEN), or {advice}"
        )
    if isinstance(error, LocalEntryNotFoundError):
        return BadInput(f"{what} cannot be had from the Hub, nor from its cache here: connect once, or {advice}")
    first = next(iter(str(error).strip().splitlines()), "")[:200]
    if isinstance(error, FileNotFoundError):
        return BadInput(f"{what} has no data files that can be read without running a script: {advice}")
    if isinstance(error, ValueError | TypeError | KeyError):
        return BadInput(f"{what} cannot be read as it is on the Hub ({first}): {advice}")
    return BadInput(f"{what} cannot be had from the Hub ({type(error).__name__}: {first}): connect, or {advice}")


def _denied(error: Exception) -> bool:
    """Whether the Hub has answered, and the answer was no."""
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    return isinstance(error, RepositoryNotFoundError | RevisionNotFoundError)


@functools.lru_cache
def _listed(kind: Kind, repository: str, revision: str) -> tuple[str, Mapping[str, str]]:
    """The commit of a repository, and its files with their content; asked for once a process."""
    from huggingface_hub import HfApi

    api = HfApi()
    ask = api.dataset_info if kind == "dataset" else api.model_info
    info = ask(repository, revision=revision or None, files_metadata=True, timeout=SECONDS)
    files = {
        each.rfilename: f"sha256:{each.lfs.sha256}" if each.lfs else f"git:{each.blob_id}"
        for each in info.siblings or ()
    }
    if not info.sha:
        raise ValueError("the Hub names no commit")
    return info.sha, files


def _fetch(kind: Kind, repository: str, commit: str, path: str) -> str:
    from huggingface_hub import hf_hub_download

    quiet()
    return str(hf_hub_download(repository, path, repo_type=kind, revision=commit))


def quiet() -> None:
    """Turns off the progress bars of the libraries: progress is drawn in one place, by the command line."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()


def _resolve(reference: Reference) -> Dataset:
    """Has the `datasets` library sort the names of the files, without the files: which split is made of which."""
    import datasets

    commit, listed = _listed("dataset", reference.repository, reference.revision)
    with tempfile.TemporaryDirectory(prefix="bertlab-") as temporary:
        folder = Path(temporary) / "dataset"
        for path in listed:
            place = folder / path
            if not place.resolve().is_relative_to(folder.resolve()):
                raise ValueError(f"a file is called {path!r}")
            place.parent.mkdir(parents=True, exist_ok=True)
            if path in _CARDS:
                place.write_bytes(Path(_fetch("dataset", reference.repository, commit, path)).read_bytes())
            else:
                place.touch()
        builder = datasets.load_dataset_builder(str(folder), reference.configuration or None)
        splits = tuple(
            (str(split), tuple(File(path, listed[path]) for path in _within(folder, files)))
            for split, files in (builder.config.data_files or {}).items()
        )
    usual = type(builder.config)()
    ours = {"name", "version", "data_dir", "data_files", "description", "features"}
    options = {
        each.name: value
        for each in dataclasses.fields(builder.config)
        if each.name not in ours and (value := getattr(builder.config, each.name)) != getattr(usual, each.name)
    }
    features = builder.info.features
    return Dataset(
        name=reference.name,
        commit=commit,
        splits=splits,
        reader=type(builder).__module__.rpartition(".")[2],
        options=json.dumps(options, sort_keys=True),
        features=json.dumps(features.to_dict()) if features else "",
    )


def _within(folder: Path, files: Sequence[str]) -> Iterator[str]:
    for file in files:
        yield Path(file).resolve().relative_to(folder.resolve()).as_posix()


def _remembered(entry: Any) -> Dataset | None:
    """A data set as an index has it; None for what is none."""
    try:
        splits = tuple((split, tuple(File(**file) for file in files)) for split, files in entry["splits"])
        return Dataset(**{**entry, "splits": splits})
    except (TypeError, KeyError, ValueError):
        return None


def _names(feature: Any) -> list[str]:
    """The names of the labels that a column declares, or its lists do."""
    if isinstance(feature, list):
        return _names(feature[0]) if feature else []
    if not isinstance(feature, dict):
        return []
    return list(feature["names"]) if feature.get("_type") == "ClassLabel" else _names(feature.get("feature"))
