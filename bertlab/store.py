"""The store: one directory a run, done means renamed, reports read finished runs and nothing else.

runs/<kind>/<id>--<label>/      a finished run: manifest.json (sizes and SHA-256 of the rest) was written last
runs/<kind>/.<id>.work/         a run at work, or one that was killed and can be resumed
runs/studies/<name>.json        which runs are the cells of a study, as `bertlab ablate` last planned it
runs/failures/<id>.json         why a run ended without a result
runs/.locks/<id>                held by the process that works on a run; the kernel frees it
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertlab import claims
from bertlab.claims import Claim
from bertlab.errors import BadInput
from bertlab.names import filename

PRETRAINED = ("pretrain", "import")
"""Kinds of runs that are measured: what was pre-trained here, and elsewhere."""
KINDS = ("corpus", *PRETRAINED, "finetune", "features")
"""Kinds of runs, each a folder of the store."""


def label(text: str) -> str:
    """`text` as the readable part of a directory's name: `[a-z0-9][a-z0-9._-]{0,63}`."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:64].rstrip("-._")
    return slug or "run"


def write(path: Path, text: str) -> None:
    """Writes a file beside its place, syncs it and renames it: it is whole or not there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    sync_directory(path.parent)


def write_json(path: Path, data: Any) -> None:
    """Writes `data` as JSON, whole or not at all; in ASCII, which holds any name that a file system or data gave."""
    write(path, json.dumps(data, indent=1) + "\n")


def read_json(path: Path) -> Any:
    """The data of a JSON file of the store; `BadInput` naming the file if it is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"'{path}' is damaged ({error}): remove its directory and run the command again") from error


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file; a last line that was cut short is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            records.append(json.loads(line))
        except ValueError:
            break
    return records


def append_line(path: Path, record: dict[str, Any]) -> None:
    """Adds a record to a JSON-lines file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def sync_directory(path: Path) -> None:
    """Makes renames within a directory survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Run:
    """A finished run: a directory that nobody writes to any more."""

    id: str
    kind: str
    label: str
    path: Path

    def science(self) -> dict[str, Any]:
        """What the run's id is made of."""
        science: dict[str, Any] = read_json(self.path / "recipe.json")["science"]
        return science

    def result(self) -> dict[str, Any]:
        """What came out."""
        result: dict[str, Any] = read_json(self.path / "result.json")
        return result

    def environment(self) -> dict[str, Any]:
        """Numerics and machine that it ran on."""
        environment: dict[str, Any] = read_json(self.path / "environment.json")
        return environment

    def metrics(self) -> list[dict[str, Any]]:
        """Curves: one record a logged step. Holds no clock."""
        return read_lines(self.path / "metrics.jsonl")

    def timing(self) -> list[dict[str, Any]]:
        """Seconds by stage."""
        return read_lines(self.path / "timing.jsonl")

    def size(self) -> int:
        """Bytes on disk."""
        return sum(item["bytes"] for item in read_json(self.path / "manifest.json").values())

    def verify(self) -> None:
        """Raises `BadInput` if a file differs from the manifest in size or SHA-256."""
        for name, facts in read_json(self.path / "manifest.json").items():
            file = self.path / name
            if not file.is_file() or file.stat().st_size != facts["bytes"] or digest(file) != facts["sha256"]:
                raise BadInput(
                    f"'{file}' is damaged: remove it with `bertlab runs --remove {self.id}` and run the command again"
                )


class Store:
    """The directory of all runs. Opening it writes nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def runs(self) -> list[Run]:
        """All finished runs, in the order of their kinds and ids."""
        found = []
        for kind in KINDS:
            for path in sorted((self.root / kind).glob("[0-9a-f]*--*")):
                if (path / "manifest.json").is_file():
                    run_id, _, name = path.name.partition("--")
                    found.append(Run(run_id, kind, name, path))
        return found

    def get(self, run_id: str) -> Run | None:
        """The finished run with this id, if there is one."""
        for kind in KINDS:
            for path in (self.root / kind).glob(f"{run_id}--*"):
                if (path / "manifest.json").is_file():
                    return Run(run_id, kind, path.name.partition("--")[2], path)
        return None

    def studies(self) -> list[dict[str, Any]]:
        """What `bertlab ablate` has planned so far, one record for each study, scale and corpus."""
        return [read_json(path) for path in sorted((self.root / "studies").glob("*.json"))]

    def failures(self) -> list[dict[str, Any]]:
        """Runs that ended without a result, with the reason."""
        return [read_json(path) for path in sorted((self.root / "failures").glob("*.json"))]

    def failure(self, run_id: str) -> dict[str, Any] | None:
        """Why the run with this id ended without a result, if it did."""
        path = self.root / "failures" / f"{run_id}.json"
        return read_json(path) if path.is_file() else None

    def unfinished(self) -> list[tuple[str, str, bool]]:
        """Runs with a working directory, as (kind, id, whether somebody works on it now)."""
        found = []
        for kind in KINDS:
            for path in sorted((self.root / kind).glob(".*.work")):
                run_id = path.name.removeprefix(".").removesuffix(".work")
                found.append((kind, run_id, self.is_claimed(run_id)))
        return found

    def prepare(self) -> None:
        """Makes the directories of the store. Raises `BadInput` if that is not possible."""
        try:
            for name in (*KINDS, "studies", "failures", ".locks"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            probe = self.root / ".locks" / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise BadInput(
                f"the runs directory '{self.root}' cannot be written ({error.strerror}): give another with --runs"
            ) from error

    def remove_if_empty(self) -> None:
        """Takes back what `prepare` made, if nothing was put in."""
        for path in (self.root / ".locks").glob("*"):
            path.unlink()
        for name in (*KINDS, "studies", "failures", ".locks", ""):
            with suppress(OSError):
                (self.root / name).rmdir()

    @contextmanager
    def claimed(self, run_id: str) -> Iterator[Claim | None]:
        """Holds the claim on a run; gives `None` if another process works on it."""
        with claims.claimed(self._claim(run_id)) as claim:
            yield claim

    def is_claimed(self, run_id: str) -> bool:
        """Whether a process works on a run now."""
        return claims.is_claimed(self._claim(run_id))

    def progress(self, run_id: str) -> dict[str, Any]:
        """What the process that works on a run last told of it; empty if nothing."""
        return claims.record(self._claim(run_id))

    @property
    def scratch(self) -> Path:
        """A directory for what is of no use after the command that made it."""
        return self.root / ".locks"

    def stop_flag(self) -> Path:
        """A file whose presence asks the processes that work for this one to stop."""
        return self.scratch / f"stop.{socket.gethostname()}.{os.getpid()}"

    def work(self, kind: str, run_id: str) -> Path:
        """The working directory of a run, as it was left if it was killed."""
        path = self.root / kind / f".{run_id}.work"
        path.mkdir(exist_ok=True)
        return path

    def finish(self, kind: str, run_id: str, name: str) -> Run:
        """Seals a working directory with its manifest and renames it to its final place."""
        work = self.root / kind / f".{run_id}.work"
        files = sorted(path for path in work.rglob("*") if path.is_file() and path.name != "manifest.json")
        for path in files:
            with path.open("rb") as file:
                os.fsync(file.fileno())
        facts = {
            path.relative_to(work).as_posix(): {"bytes": path.stat().st_size, "sha256": digest(path)} for path in files
        }
        write_json(work / "manifest.json", facts)
        final = self.root / kind / f"{run_id}--{label(name)}"
        work.rename(final)
        sync_directory(final.parent)
        (self.root / "failures" / f"{run_id}.json").unlink(missing_ok=True)
        return Run(run_id, kind, label(name), final)

    def discard(self, kind: str, run_id: str) -> None:
        """Removes the working directory of a run."""
        shutil.rmtree(self.root / kind / f".{run_id}.work", ignore_errors=True)

    def fail(self, record: dict[str, Any]) -> None:
        """Keeps why a run (`record["id"]`) ended without a result."""
        write_json(self.root / "failures" / f"{record['id']}.json", record)

    def forgive(self, run_id: str) -> None:
        """Forgets a failure, so that the run is tried again."""
        (self.root / "failures" / f"{run_id}.json").unlink(missing_ok=True)

    def remember(self, name: str, record: dict[str, Any]) -> None:
        """Keeps the plan of a study under `name`."""
        write_json(self.root / "studies" / f"{filename(name)}.json", record)

    def remove(self, runs: list[Run]) -> None:
        """Removes finished runs. The manifest goes first, so that no half-removed run is taken for a whole one."""
        for run in runs:
            (run.path / "manifest.json").unlink()
            shutil.rmtree(run.path)

    def match(self, text: str, among: Callable[[Run], bool] = lambda run: True) -> Run:
        """The finished run that `text` names: the beginning of its id, its label, or the path of its directory.

        Raises `BadInput` when no run matches, or more than one.
        """
        found = self.matches(text, among)
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(f"run '{text}' is one of {', '.join(run.id for run in found)}: give the id")
        raise BadInput(f"there is no finished run '{text}' in '{self.root}': `bertlab runs` lists them")

    def matches(self, text: str, among: Callable[[Run], bool] = lambda run: True) -> list[Run]:
        """The finished runs that `text` may name, as `match` has it."""
        name = Path(text).name if "/" in text else text
        runs = [run for run in self.runs() if among(run)]
        return [run for run in runs if run.path.name == name] or [
            run for run in runs if run.id.startswith(name) or run.label == name
        ]

    def _claim(self, run_id: str) -> Path:
        return self.root / ".locks" / run_id
