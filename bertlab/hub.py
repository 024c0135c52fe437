"""Data sets and checkpoints of the Hugging Face Hub, at a commit, identified by the hashes of their files.

Ids contain the hashes of the files that are read instead of the commit: editing the card changes no id. The last
answers of the Hub are stored, so that cached files can be used without it (`HF_HUB_OFFLINE=1`).
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bertlab.errors import BadInput, Unwritable, first_line, unknown, unusable
from bertlab.progress import stop_if_asked
from bertlab.splits import training
from bertlab.store.files import content, digest
from bertlab.store.schema import Mismatch, load
from bertlab.store.writes import folder, write_json

if TYPE_CHECKING:
    from datasets import IterableDataset

Kind = Literal["dataset", "model"]
MAIN = "main"
"""The usual branch of a repository."""
Answer = TypeVar("Answer")
Files = Mapping[str, str]
"""The hash of each file by its path: `sha256:...` of the bytes of a large file, else `git:...`, the id of its blob."""

_NAME = re.compile(
    r"(?P<repository>([\w-][\w.-]*/)?[\w-][\w.-]*)(:(?P<configuration>[\w.-]+))?(@(?P<revision>[\w./-]+))?"
)


@dataclass(frozen=True)
class Reference:
    """The parts of a name on the Hub."""

    repository: str
    configuration: str = ""
    revision: str = ""

    @classmethod
    def parse(cls, name: str, owned: bool = True) -> Reference | None:
        """Reads `owner/name[:config][@revision]`; the owner is optional if not `owned`. None for another form."""
        match = _NAME.fullmatch(name)
        if match is None or (owned and "/" not in match["repository"]):
            return None
        return cls(**{part: text or "" for part, text in match.groupdict().items()})

    @property
    def name(self) -> str:
        """`owner/name[:config]`, without revision."""
        return f"{self.repository}:{self.configuration}" if self.configuration else self.repository

    @property
    def full_name(self) -> str:
        """The whole name, with revision."""
        return f"{self.name}@{self.revision}" if self.revision else self.name


@dataclass(frozen=True)
class Dataset:
    """A configuration of a data set at a commit: its files by split, and how to read them. All fields are JSON."""

    repository: str
    name: str
    """`owner/name[:config]`."""
    commit: str
    splits: Mapping[str, Files] = field(hash=False)
    reader: str
    """The reader of the `datasets` library: parquet, json, csv, text."""
    options: Mapping[str, Any] = field(hash=False)
    """The options of that reader from the card."""
    features: Mapping[str, Any] = field(hash=False)
    """The columns from the card; empty if it declares none."""
    text: Files | None = field(default=None, hash=False)
    """The files to pre-train on, where they are others than those of the split `train`: without a card, a title such
    as `train-robbery.txt` is no split."""

    def as_text(self) -> Dataset:
        """The data set as text to pre-train on."""
        return self if self.text is None else dataclasses.replace(self, splits={**self.splits, "train": self.text})

    def content(self, splits: Sequence[str], labels: str = "") -> str:
        """A hash of some splits: of the hashes of their files, and of the label names of column `labels`."""
        read = [list(self.files(split).values()) for split in splits]
        feature = self.features.get(labels, {})
        while "feature" in feature:  # a list of labels
            feature = feature["feature"]
        names = feature["names"] if feature.get("_type") == "ClassLabel" else []
        return f"hub:{hashlib.sha256(json.dumps([read, names] if names else read).encode()).hexdigest()}"

    def files(self, split: str) -> Files:
        """The files of a split. Raises `BadInput` for an unknown split."""
        if split not in self.splits:
            raise unknown(f"split of '{self.name}' on the Hub", split, self.splits)
        return self.splits[split]

    def open(self, split: str, advice: str) -> IterableDataset:
        """Downloads a split; its examples are read during iteration. Raises `BadInput` with `advice` if that fails."""
        import datasets

        paths = [*map(str, self.fetch(split, advice))]
        datasets.disable_progress_bars()  # the command line shows progress
        return datasets.load_dataset(
            self.reader,
            data_files={split: paths},
            split=split,
            streaming=True,
            features=datasets.Features.from_dict(self.features) if self.features else None,
            **self.options,
        )

    def fetch(self, split: str, advice: str) -> list[Path]:
        """Downloads a split; returns its files. Raises `BadInput` with `advice` if that fails."""
        paths = []
        try:
            for path in self.files(split):
                stop_if_asked()  # a large one has files of gigabytes
                paths.append(_fetch(self.repository, self.commit, path))
        except Exception as error:  # the client's own errors, httpx's and OSError, all with the same meaning
            raise unreachable(f"the files of data set '{self.name}'", error, advice) from None
        return paths


@dataclass(frozen=True)
class Model:
    """A model at a commit, with its files."""

    commit: str
    files: Files


def dataset(reference: Reference, cache: Path, what: str, advice: str) -> Dataset:
    """The data set of a name, from the Hub or an earlier answer. Raises `BadInput` with `what` and `advice`."""
    return _answer("dataset", Dataset, reference, cache, what, advice)


def checkpoint(
    reference: Reference, names: Sequence[str], cache: Path, what: str, advice: str
) -> tuple[str, dict[str, str]]:
    """The commit of a model, and its files with these names. Raises `BadInput` as `dataset` does."""
    model = _answer("model", Model, reference, cache, what, advice)
    return model.commit, {path: model.files[path] for path in names if path in model.files}


def _answer(kind: Kind, form: type[Answer], reference: Reference, cache: Path, what: str, advice: str) -> Answer:
    """A data set or a model; without the Hub, as in an earlier answer."""
    from huggingface_hub import errors

    index, cached = Index(cache), None
    with suppress(Mismatch):  # of another version
        cached = load(form, index.entries.get(f"{kind} {reference.full_name}"))
    if cached is not None and re.fullmatch(r"[0-9a-f]{40}", reference.revision):
        return cached  # a commit never changes
    try:
        commit, files = _listed(kind, reference.repository, reference.revision)
        answer = _resolve(reference, commit, files) if kind == "dataset" else {"commit": commit, "files": files}
        data = json.loads(json.dumps(answer))
    except Exception as error:  # of the network, the Hub or an unreadable card, of many classes
        if cached is None or isinstance(error, errors.RepositoryNotFoundError | errors.RevisionNotFoundError):
            raise unreachable(what, error, advice) from None
        return cached
    for revised in (reference, dataclasses.replace(reference, revision=commit)):
        index.entries[f"{kind} {revised.full_name}"] = data
    index.save()
    return load(form, data)


def push(folder: Path, name: str, kind: Kind, *, public: bool, revision: str = MAIN) -> str:
    """Uploads the files of a folder as one commit to `owner/name`, a new repository where there is none, there to the
    branch `revision`.

    A new repository is private unless `public`; an old one stays as it is, and keeps its other files. Returns its
    address. Raises `BadInput` for a name of another form, and if the Hub cannot be written.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    reference = Reference.parse(name)
    if reference is None or reference.full_name != reference.repository:
        raise BadInput(f"--push '{name}': give OWNER/NAME, a repository of the Hugging Face Hub")
    quiet()
    api, files = HfApi(), sorted(path for path in folder.rglob("*") if path.is_file())
    try:
        address = api.create_repo(name, repo_type=kind, private=not public, exist_ok=True)
        additions = [CommitOperationAdd(path.relative_to(folder).as_posix(), path) for path in files]
        if revision != MAIN:
            api.create_branch(name, branch=revision, repo_type=kind, exist_ok=True)
        message = "Export of bertlab"
        api.create_commit(name, additions, commit_message=message, repo_type=kind, revision=revision)
    except Exception as error:  # as in `dataset`
        first = first_line(error)[:200]
        refused = getattr(getattr(error, "response", None), "status_code", 0) in (401, 403)
        allow = f"set HF_TOKEN to a token that may write to '{name.partition('/')[0]}'"
        advice = allow if refused else "connect, and give the same command again"
        reason = f"the Hugging Face Hub cannot be written ({type(error).__name__}: {first})"
        raise BadInput(f"--push {name}: {reason}: {advice}") from None
    return str(address)


def unreachable(what: str, error: Exception, advice: str) -> BadInput:
    """The error for something that the Hub does not provide, ending with advice."""
    from huggingface_hub import errors

    first = first_line(error)[:200]
    reasons: dict[type | tuple[type, ...], str] = {
        errors.GatedRepoError: (
            f" is gated on the Hugging Face Hub: accept its terms there and set HF_TOKEN, or {advice}"
        ),
        errors.RevisionNotFoundError: ": the Hugging Face Hub has no such revision: give a branch, a tag or a commit",
        errors.RepositoryNotFoundError: (
            f" is not on the Hugging Face Hub: check its spelling (a private one needs HF_TOKEN), or {advice}"
        ),
        errors.LocalEntryNotFoundError: (
            f" is neither on the Hub, which cannot be reached, nor in its cache: connect once, or {advice}"
        ),
        FileNotFoundError: f" has no data files that can be read without running a script: {advice}",
        (ValueError, TypeError, KeyError): f" on the Hub cannot be read ({first}): {advice}",
        Exception: f" cannot be downloaded from the Hub ({type(error).__name__}: {first}): connect, or {advice}",
    }
    return BadInput(what + next(reason for kind, reason in reasons.items() if isinstance(error, kind)))


@functools.lru_cache
def _listed(kind: Kind, repository: str, revision: str) -> tuple[str, Files]:
    """The commit of a repository, and its files; cached for the process."""
    from huggingface_hub import HfApi

    ask = HfApi().dataset_info if kind == "dataset" else HfApi().model_info
    info = ask(repository, revision=revision or None, files_metadata=True, timeout=30)  # seconds
    files = {
        sibling.rfilename: f"sha256:{sibling.lfs.sha256}" if sibling.lfs else f"git:{sibling.blob_id}"
        for sibling in info.siblings or ()
    }
    if not info.sha:
        raise ValueError("the Hub names no commit")
    return info.sha, files


def _fetch(repository: str, commit: str, path: str) -> Path:
    from huggingface_hub import hf_hub_download

    quiet()
    return Path(hf_hub_download(repository, path, repo_type="dataset", revision=commit))


def quiet() -> None:
    """Turns off the progress bars of the library: the command line shows progress."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()


def _resolve(reference: Reference, commit: str, listed: Files) -> dict[str, Any]:
    """The fields of a `Dataset`: the `datasets` library assigns empty files of the same names to splits."""
    import datasets

    with tempfile.TemporaryDirectory(prefix="bertlab-") as temporary:
        folder = Path(temporary).resolve() / "dataset"
        for path in listed:
            stand_in = folder / path
            if not stand_in.resolve().is_relative_to(folder):
                raise ValueError(f"a file is called {path!r}")
            stand_in.parent.mkdir(parents=True, exist_ok=True)
            if path in ("README.md", "dataset_infos.json", ".huggingface.yaml"):  # which assign files to splits
                stand_in.write_bytes(_fetch(reference.repository, commit, path).read_bytes())
            else:
                stand_in.touch()
        # The Hub's own conversions have no card that names configurations, but a folder for each.
        chosen = reference.configuration or None
        converted = chosen is not None and (folder / chosen).is_dir() and "README.md" not in listed
        declared = converted or bool(_configurations(folder))
        builder = datasets.load_dataset_builder(str(folder), **{"data_dir" if converted else "name": chosen})
        splits = {
            str(split): [Path(file).resolve().relative_to(folder).as_posix() for file in files]
            for split, files in (builder.config.data_files or {}).items()
        }
    text = {} if declared else _text_of(listed, splits)
    usual, options = type(builder.config)(), dataclasses.fields(builder.config)
    ours = {"name", "version", "data_dir", "data_files", "description", "features"}
    read = {option.name: getattr(builder.config, option.name) for option in options if option.name not in ours}
    return {
        "repository": reference.repository,
        "name": reference.name,
        "commit": commit,
        "splits": {split: {path: listed[path] for path in paths} for split, paths in splits.items()},
        "reader": type(builder).__module__.rpartition(".")[2],
        "options": {name: value for name, value in read.items() if value != getattr(usual, name)},
        "features": builder.info.features.to_dict() if builder.info.features else {},
        **text,
    }


def _text_of(listed: Files, splits: Mapping[str, Sequence[str]]) -> dict[str, Files]:
    """The field `text` of a `Dataset` without a card, if our rule finds other files to train on than the library."""
    ends = {PurePosixPath(path).suffix for paths in splits.values() for path in paths}
    others = [path for path in listed if not any(part.startswith((".", "_")) for part in path.split("/"))]
    candidates = sorted(path for path in others if PurePosixPath(path).suffix in ends)
    try:
        chosen = training(candidates, ends)
    except BadInput:  # several configurations, which the library reads as one
        return {}
    return {} if chosen == sorted(splits.get("train", ())) else {"text": {path: listed[path] for path in chosen}}


def training_of_card(folder: Path, configuration: str) -> list[str] | None:
    """The training files of a clone of a data set as its card has them, relative to it; None if the card has none.

    Raises `BadInput`, a sentence about the folder, for an unknown configuration or for want of one.
    """
    import datasets

    names = _configurations(folder)
    if not names:
        return None
    if configuration and configuration not in names:
        raise BadInput(f"has no configuration '{configuration}': give one of {', '.join(names)}")
    if not configuration and len(names) > 1 and not names.keys() & {"default"} and not any(names.values()):
        raise BadInput(f"has several configurations ({', '.join(names)}): give one, as {folder}:{next(iter(names))}")
    try:
        builder = datasets.load_dataset_builder(str(folder.resolve()), name=configuration or None)
        files = (builder.config.data_files or {}).get("train", [])
    except Exception as error:  # the library raises what its readers of cards and of names raise
        why = first_line(error)
        raise BadInput(f"has a card whose files cannot be found ({why}): give the folder of one split") from None
    return [Path(file).relative_to(folder.resolve()).as_posix() for file in files]


def has_card(folder: Path) -> bool:
    """Whether a folder has a card that assigns files to splits."""
    return bool(_configurations(folder))


def _configurations(folder: Path) -> dict[str, bool]:
    """The configurations to which the card of a folder assigns files, and whether each is the default."""
    path = folder / "README.md"
    if not path.is_file() or b"\nconfigs:" not in content(path, "card"):  # importing the library takes a second
        return {}
    from huggingface_hub import metadata_load

    try:
        configurations = (metadata_load(path) or {})["configs"]
        return {str(named["config_name"]): bool(named.get("default")) for named in configurations}
    except Exception:  # no card of the Hub, or a damaged one, in many ways
        return {}


class Index:
    """Hashes of files, and answers of the Hub: a JSON file between commands, which may be removed at any time."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "hashes.json"
        self.entries = self._read()

    def _read(self) -> dict[str, Any]:
        try:
            entries = json.loads(content(self._path, "cache"))
        except (ValueError, RecursionError):  # missing or damaged
            entries = None
        return entries if isinstance(entries, dict) else {}

    def digest(self, path: Path) -> str:
        """The SHA-256 of a file, from the cache while its size, times and inode are unchanged.

        A user can restore size and modification time, but not the change time.
        """
        name = str(path.resolve())
        try:
            status = path.stat()
            state = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
            entry = self.entries.get(name)
            if isinstance(entry, list) and entry[:4] == state:
                return str(entry[4])
            sha256 = digest(path)
        except OSError as error:
            raise unusable(error, "file", path) from None
        # a recent file may change again within the resolution of its time
        if time.time_ns() - status.st_mtime_ns > 2e9:
            self.entries[name] = [*state, sha256]
        return sha256

    def save(self) -> None:
        """Writes the entries, if the cache can be written."""
        stored = self._read()  # another command may have written
        if stored | self.entries == stored:
            return
        with suppress(OSError, Unwritable):
            write_json(folder(self._path.parent), self._path.name, stored | self.entries)
