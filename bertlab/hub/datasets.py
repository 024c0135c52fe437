"""Data sets and checkpoints of the Hugging Face Hub, at a commit, identified by the hashes of their files.

A name is `owner/name[:config][@revision]`; a revision is a branch, a tag or a commit, by default the main branch. Ids
contain the hashes of the files that are read, which the Hub lists, instead of the commit: editing the card changes no
id. Files are downloaded at that commit into the cache of `huggingface_hub`. The last answers of the Hub are stored, so
that cached files can be used without it (`HF_HUB_OFFLINE=1`).
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
"""The time limit for an answer of the Hub."""

_NAME = re.compile(
    r"(?P<repository>([\w-][\w.-]*/)?[\w-][\w.-]*)(:(?P<configuration>[\w.-]+))?(@(?P<revision>[\w./-]+))?"
)
_CARDS = ("README.md", "dataset_infos.json", ".huggingface.yaml")
"""Files that assign files to configurations and splits."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Reference:
    """The parts of a name on the Hub."""

    repository: str
    configuration: str = ""
    revision: str = ""

    @classmethod
    def parse(cls, name: str, owned: bool = True) -> Reference | None:
        """Reads `owner/name[:config][@revision]`, without owner if not `owned`; None for another form."""
        found = _NAME.fullmatch(name)
        if found is None or (owned and "/" not in found["repository"]):
            return None
        return cls(**{part: text or "" for part, text in found.groupdict().items()})

    @property
    def name(self) -> str:
        """`owner/name[:config]`, without revision."""
        return f"{self.repository}:{self.configuration}" if self.configuration else self.repository

    @property
    def full_name(self) -> str:
        """The whole name, with revision."""
        return f"{self.name}@{self.revision}" if self.revision else self.name


@dataclass(frozen=True)
class File:
    """A file of a repository."""

    path: str
    content: str
    """`sha256:...` of the bytes of a large file, else `git:...`, the id of its blob."""


@dataclass(frozen=True)
class Dataset:
    """A configuration of a data set at a commit: its files by split, and how to read them. Plain data."""

    name: str
    """`owner/name[:config]`."""
    commit: str
    splits: tuple[tuple[str, tuple[File, ...]], ...]
    reader: str
    """The reader of the `datasets` library: parquet, json, csv, text."""
    options: str = "{}"
    """The options of that reader from the card, as JSON."""
    features: str = ""
    """The columns from the card, as JSON; empty if it declares none."""

    def content(self, splits: Sequence[str], labels: str = "") -> str:
        """A hash of some splits: of the hashes of their files, and of the label names of column `labels`."""
        read = [[file.content for file in self.files(split)] for split in splits]
        names = _names(json.loads(self.features).get(labels)) if self.features and labels else []
        return f"hub:{hashlib.sha256(json.dumps([read, names] if names else read).encode()).hexdigest()}"

    def files(self, split: str) -> tuple[File, ...]:
        """The files of a split. Raises `BadInput` for an unknown split."""
        known = dict(self.splits)
        if split not in known:
            raise unknown(f"split of '{self.name}' on the Hub", split, known)
        return known[split]

    def fetch(self, split: str, advice: str) -> list[str]:
        """Downloads the files of a split and returns their paths. Raises `BadInput` with `advice` if that fails."""
        repository = self.name.partition(":")[0]
        try:
            return [_fetch("dataset", repository, self.commit, file.path) for file in self.files(split)]
        except BadInput:
            raise
        except Exception as error:  # the client's own errors, httpx's and OSError, all with the same meaning
            raise unreachable(f"the files of data set '{self.name}'", error, advice) from None

    def open(self, split: str, advice: str) -> IterableDataset:
        """The examples of a split, read from its files during iteration. Raises `BadInput` as `fetch` does."""
        import datasets

        paths = self.fetch(split, advice)
        datasets.disable_progress_bars()  # the command line shows progress
        return datasets.load_dataset(
            self.reader,
            data_files={split: paths},
            split=split,
            streaming=True,
            features=datasets.Features.from_dict(json.loads(self.features)) if self.features else None,
            **json.loads(self.options),
        )


def dataset(reference: Reference, cache: Path, what: str, advice: str) -> Dataset:
    """The data set of a name; without access to the Hub, as stored by an earlier command.

    Raises `BadInput`, with `what` is missing and `advice`, if neither the Hub nor an earlier answer has it.
    """
    index, key = Index(cache), f"hub dataset {reference.full_name}"
    known = _remembered(index.entries.get(key))
    if known is not None and _COMMIT.fullmatch(reference.revision):
        return known  # a commit never changes
    try:
        found = _resolve(reference)
    except BadInput:
        raise
    except Exception as error:  # of the network, the Hub or an unreadable card, of many classes
        if known is not None and not _denied(error):
            return known
        raise unreachable(what, error, advice) from None
    for name in (reference.full_name, f"{found.name}@{found.commit}"):
        index.remember(f"hub dataset {name}", json.loads(json.dumps(dataclasses.asdict(found))))
    index.save()
    return found


def checkpoint(
    reference: Reference, names: Sequence[str], cache: Path, what: str, advice: str
) -> tuple[str, tuple[File, ...]]:
    """The commit of a model, and its files with these names. Raises `BadInput` as `dataset` does."""
    index = Index(cache)
    try:
        commit, listed = _listed("model", reference.repository, reference.revision)
    except Exception as error:  # of many classes, see `dataset`
        known = index.entries.get(f"hub model {reference.full_name}")
        if not isinstance(known, dict) or _denied(error):
            raise unreachable(what, error, advice) from None
        return str(known.get("commit")), tuple(File(path, str(known[path])) for path in names if path in known)
    files = {path: listed[path] for path in names if path in listed}
    for revised in (reference, dataclasses.replace(reference, revision=commit)):
        index.remember(f"hub model {revised.full_name}", {"commit": commit, **files})
    index.save()
    return commit, tuple(File(path, content) for path, content in files.items())


def unreachable(what: str, error: Exception, advice: str) -> BadInput:
    """The error for something that the Hub does not provide, ending with advice."""
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
        return BadInput(
            f"{what} is neither on the Hub, which cannot be reached, nor in its cache: connect once, or {advice}"
        )
    first = next(iter(str(error).strip().splitlines()), "")[:200]
    if isinstance(error, FileNotFoundError):
        return BadInput(f"{what} has no data files that can be read without running a script: {advice}")
    if isinstance(error, ValueError | TypeError | KeyError):
        return BadInput(f"{what} on the Hub cannot be read ({first}): {advice}")
    return BadInput(f"{what} cannot be downloaded from the Hub ({type(error).__name__}: {first}): connect, or {advice}")


def _denied(error: Exception) -> bool:
    """Whether the Hub answered that there is no such repository or revision."""
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    return isinstance(error, RepositoryNotFoundError | RevisionNotFoundError)


@functools.lru_cache
def _listed(kind: Kind, repository: str, revision: str) -> tuple[str, Mapping[str, str]]:
    """The commit of a repository, and the hashes of its files; cached for the process."""
    from huggingface_hub import HfApi

    api = HfApi()
    get_info = api.dataset_info if kind == "dataset" else api.model_info
    info = get_info(repository, revision=revision or None, files_metadata=True, timeout=SECONDS)
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
    """Turns off the progress bars of the library: the command line shows progress."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()


def _resolve(reference: Reference) -> Dataset:
    """Lets the `datasets` library assign files to splits by their names, using empty files."""
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
    """A data set from an entry of an index; None for another entry."""
    try:
        splits = tuple((split, tuple(File(**file) for file in files)) for split, files in entry["splits"])
        return Dataset(**{**entry, "splits": splits})
    except (TypeError, KeyError, ValueError):
        return None


def _names(feature: Any) -> list[str]:
    """The label names that a column, or a list in it, declares."""
    if isinstance(feature, list):
        return _names(feature[0]) if feature else []
    if not isinstance(feature, dict):
        return []
    return list(feature["names"]) if feature.get("_type") == "ClassLabel" else _names(feature.get("feature"))
