"""The store: one directory a run, done means renamed, reports read finished runs and nothing else.

runs/<kind>/<id>--<label>/      a finished run: manifest.json (sizes and SHA-256 of the rest) was written last
runs/<kind>/.<id>.work/         a run at work, or one that was killed and can be resumed
runs/<kind>/.<id>--<label>.damaged/   a run that was not as it was sealed: nobody reads it
runs/studies/<name>.json        which runs are the cells of a study: all that `bertlab ablate` was ever asked for
runs/failures/<id>.json         why a run ended without a result
runs/logs/<kind>/<id>--<label>/ what `--logger` wrote of a run: no part of it, and nobody reads it
runs/.locks/<id>                held by the process that works on a run; the kernel frees it
runs/.locks/asks.*              held by a command at work: the ids of the runs that it needs
runs/.locks/store               held by a command that joins records or removes runs

A run counts as finished while its files are as they were sealed. Small ones are hashed before anybody is told of the
run, weights and arrays (`LARGE`) before they are used: `Run.damage`.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, RunFailed, Unusable, Unwritable, unusable, warn, writing
from bertlab.names import filename, label
from bertlab.progress import stop_if_asked
from bertlab.store import forms
from bertlab.store import locks as claims
from bertlab.store.faults import point
from bertlab.store.files import (
    digest,
    read_json,
    read_lines,
    read_sealed,
    sync,
    sync_directory,
    write_json,
    write_sealed,
)
from bertlab.store.files import kind as kind_of
from bertlab.store.locks import Claim

PRETRAINED = ("pretrain", "import")
"""Kinds of runs that are measured: what was pre-trained here, and elsewhere."""
KINDS = ("corpus", *PRETRAINED, "finetune", "features")
"""Kinds of runs, each a folder of the store."""
CHECKPOINT = "checkpoint"
"""The folder of a working directory from which a run is resumed. It goes, with the optimiser's state, when all else is
sealed: not before, or a run that is killed while its weights are hashed had to be trained anew."""
SECONDS_TO_BE_SEEN = 60.0
"""How long a network file system may keep an old list of a directory."""
SECONDS_BETWEEN_LOOKS = 0.5
LARGE = (".safetensors", ".bin", ".npy")
"""Files that a plan and a report do not read."""


@dataclass(frozen=True)
class Run:
    """A finished run: a directory that nobody writes to any more."""

    id: str
    kind: str
    label: str
    path: Path

    def science(self) -> dict[str, Any]:
        """What the run's id is made of."""
        science: dict[str, Any] = read_json(self.path / "recipe.json", forms.SCIENCE)["science"]
        return science

    def result(self) -> dict[str, Any]:
        """What came out."""
        result: dict[str, Any] = read_json(self.path / "result.json", forms.RESULT)
        return result

    def environment(self) -> dict[str, Any]:
        """Numerics and machine that it ran on."""
        environment: dict[str, Any] = read_json(self.path / "environment.json", forms.ENVIRONMENT)
        return environment

    def metrics(self) -> list[dict[str, Any]]:
        """Curves: one record a logged step. Holds no clock."""
        return read_lines(self.path / "metrics.jsonl")

    def timing(self) -> list[dict[str, Any]]:
        """Seconds by stage."""
        return read_lines(self.path / "timing.jsonl")

    def seconds(self) -> float:
        """What it took, over all its tries."""
        return math.fsum(float(line.get("seconds", 0.0)) for line in self.timing())

    def size(self) -> int:
        """Bytes on disk."""
        return sum(item["bytes"] for item in read_json(self.path / "manifest.json", forms.MANIFEST).values())

    def damage(self, *, large: bool = True) -> Path | None:
        """The first file that is not as it was sealed; None if all are. Not `large`, of weights and arrays the size.

        A file is hashed once a process, and again if its size or time has changed. Raises `Unusable` if one cannot be
        read: that is no damage.
        """
        try:
            state = [(each, each.stat()) for each in sorted(self.path.rglob("*")) if each.is_file()]
        except FileNotFoundError:  # another command removes it
            return self.path / "manifest.json"
        except OSError as error:
            raise unusable(error, "file") from error
        times = tuple((each, facts.st_size, (facts.st_mtime_ns, facts.st_ctime_ns)) for each, facts in state)
        return _damage(self, large, times)

    def verify(self) -> None:
        """Raises `BadInput` if a file differs from the manifest in size or SHA-256."""
        damaged = self.damage()
        if damaged is not None:
            raise _damaged(self, damaged)


@cache
def _damage(run: Run, large: bool, state: tuple[tuple[Path, int, tuple[int, int]], ...]) -> Path | None:
    manifest, sizes = run.path / "manifest.json", {path: size for path, size, _ in state}
    read: Path = manifest
    try:
        sealed = read_json(manifest, forms.MANIFEST)
        if not {"recipe.json", "result.json"} <= sealed.keys():  # which every finished run has
            return manifest
        for name, facts in sealed.items():
            read = run.path / name
            if sizes.get(read) != facts["bytes"]:
                read.stat()  # of a file that may not be looked at, an error of another kind
                return read
            if (large or read.suffix not in LARGE) and digest(read) != facts["sha256"]:
                return read
        for name, form in _FORMS.items():
            read = run.path / name
            if name == "environment.json" and read not in sizes:
                continue
            data = read_json(read, form)
            if (data.get("id", run.id), data.get("kind", run.kind)) != (run.id, run.kind):
                return read  # another run's, under the name of this one
    except FileNotFoundError:
        return read
    except OSError as error:
        raise unusable(error, "file", read) from error
    except Unusable:
        if read.exists():
            raise
        return read
    except BadInput:
        return read
    return None


_FORMS = {"recipe.json": forms.SCIENCE, "result.json": forms.RESULT, "environment.json": forms.ENVIRONMENT}
"""Files that say what a run is, what came out and on what machine."""


def _damaged(run: Run, path: Path) -> BadInput:
    return BadInput(f"'{path}' is damaged: remove it with `bertlab runs --remove {run.id}` and run the command again")


class Store:
    """The directory of all runs. Opening it writes nothing.

    Raises `BadInput` where it, or a folder in it, is no folder or cannot be read. A run that cannot be read is an error
    too, or with `lenient` a line on standard error, for commands that show what there is.
    """

    def __init__(self, root: Path, *, lenient: bool = False) -> None:
        self.root, self.lenient = root, lenient
        for path in (root, *(root / name for name in (*KINDS, "studies", "failures"))):
            found = kind_of(path, "--runs")
            if found == "file":
                raise BadInput(f"--runs '{path}' is a file and cannot be written as a store: name a folder")
            if found and not os.access(path, os.R_OK | os.X_OK):
                raise unusable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "--runs", path)

    def runs(self) -> list[Run]:
        """All finished runs, in the order of their kinds and ids."""
        return [run for run in self._sealed() if self._damage(run) is None]

    def damaged(self) -> list[tuple[Run, Path]]:
        """Runs that were finished and do not count any more, each with the file that is not as it was."""
        looked_at = [(run, self._damage(run)) for run in self._sealed()]
        return [(run, damaged) for run, damaged in looked_at if damaged is not None]

    def _damage(self, run: Run) -> Path | None:
        try:
            return run.damage(large=False)
        except Unusable as error:
            if not self.lenient:
                raise
            warn(f"{error}; the run is passed over")
            return run.path

    def get(self, run_id: str) -> Run | None:
        """The finished run with this id, if there is one."""
        return next((run for run in self._sealed(run_id) if run.damage(large=False) is None), None)

    def seen(self, run_id: str) -> Run:
        """The finished run with this id. Another machine may have finished it: waits until that is seen on this one.

        Raises `RunFailed` if it is not within a minute.
        """
        for _ in range(int(SECONDS_TO_BE_SEEN / SECONDS_BETWEEN_LOOKS)):
            if (run := self.get(run_id)) is not None:
                return run
            stop_if_asked()
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise RunFailed(f"run {run_id} is gone: give the same command again")

    def whole(self, run_id: str) -> Run:
        """The finished run with this id, every file of it hashed, as it has to be before it is used.

        Raises `RunFailed` if there is none. One that is damaged is set aside, so that it is made anew.
        """
        run = self.get(run_id)
        if run is None:
            raise RunFailed(f"run {run_id} is gone: give the same command again")
        damaged = run.damage()
        if damaged is None:
            if not any(path.suffix in LARGE for path in run.path.rglob("*")):
                raise RunFailed(
                    f"run {run_id} is a result without weights or text, as `export --results` writes it: remove it "
                    f"with `bertlab runs --remove {run_id}` and give the same command again"
                )
            return run
        with self.claimed(run_id) as claim:
            if claim is not None and run.damage() is not None:  # still: another process may have made it anew meanwhile
                self._set_aside(run.path)
        raise RunFailed(f"'{damaged}' was damaged: the run has to be made anew")

    def studies(self) -> list[dict[str, Any]]:
        """What `bertlab ablate` was ever asked for, one record for each study, scale and corpus; damaged ones aside."""
        return list(self.records(needed=()).values())

    def records(self, form: Any = forms.RECORD, *, needed: Collection[str] | None = None) -> dict[str, dict[str, Any]]:
        """The records of studies that have this form, by the stem of their file.

        Raises `BadInput` naming the file of another. With `needed`, studies by name, only if it may be one of theirs; a
        line on standard error names the rest, and any that was cut short or changed.
        """
        found = {}
        for path in sorted((self.root / "studies").glob("*.json")):
            try:
                record = read_sealed(path)
            except BadInput as error:
                if needed is None:
                    raise
                warn(f"{error}; the record is passed over")
                continue
            flaw = forms.misfit(record, form)
            if flaw is None:
                found[path.stem] = record
                continue
            problem = (
                f"'{path}' is no record of a study as this bertlab writes it (its {flaw} is missing or of another type)"
            )
            study = record.get("study")
            if needed is None or study in needed or (needed and not isinstance(study, str)):
                raise BadInput(f"{problem}: move it away and give its commands again, whose finished runs are kept")
            warn(f"{problem}; the record is passed over")
        return found

    def failures(self) -> list[dict[str, Any]]:
        """Runs that ended without a result, with the reason."""
        found = (self.failure(path.stem) for path in sorted((self.root / "failures").glob("*.json")))
        return [each for each in found if each is not None]

    def failure(self, run_id: str) -> dict[str, Any] | None:
        """Why the run with this id ended without a result, if it did. What cannot be read says nothing."""
        path = self.root / "failures" / f"{run_id}.json"
        try:
            return read_sealed(path, forms.FAILURE) if kind_of(path, "file") else None
        except BadInput as error:
            warn(f"{error}; the record is passed over")
            return None

    def unfinished(self) -> list[tuple[str, str, bool]]:
        """Runs with a working directory, as (kind, id, whether somebody works on it now)."""
        found = []
        for kind in KINDS:
            for path in sorted((self.root / kind).glob(".*.work")):
                run_id = path.name.removeprefix(".").removesuffix(".work")
                found.append((kind, run_id, self.is_claimed(run_id)))
        return found

    def prepare(self) -> None:
        """Makes the directories of the store. Raises `Unwritable` if that is not possible."""
        try:
            for name in (*KINDS, "studies", "failures", ".locks"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            probe = self.root / ".locks" / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise Unwritable(self.root, error) from error

    def remove_if_empty(self) -> None:
        """Takes back what `prepare` made, if nothing was put in."""
        if any(path.is_file() for name in (*KINDS, "studies", "failures") for path in (self.root / name).rglob("*")):
            return  # another command has begun
        if self.asked():
            return
        for path in (self.root / ".locks").glob("*"):
            path.unlink()
        for name in (*KINDS, "studies", "failures", ".locks", ""):
            with suppress(OSError):
                (self.root / name).rmdir()

    @contextmanager
    def claimed(self, run_id: str) -> Iterator[Claim | None]:
        """Holds the claim on a run; gives `None` if another process works on it."""
        path = self._claim(run_id)
        with writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        with claims.claimed(path) as claim:
            if claim is not None and claims.is_claimed(self._group(run_id)):  # its processes outlived what began them
                claim = None
            point("claim.taken")
            yield claim

    @contextmanager
    def claimed_by_group(self, run_id: str) -> Iterator[None]:
        """Holds a second claim on a run: the first process of a group, which writes, is not the one that began it.

        Raises `RunFailed` if another one does.
        """
        with claims.claimed(self._group(run_id)) as claim:
            if claim is None:
                raise RunFailed(f"another process writes run {run_id}")
            yield

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Within it no other command joins records, removes runs or begins to need them; waits until none does."""
        path = self.scratch / "store"
        with writing(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        began = time.monotonic()
        while True:
            with claims.claimed(path) as claim:
                if claim is not None:
                    yield
                    return
            stop_if_asked()
            if time.monotonic() - began > claims.SECONDS_OF_SILENCE:
                warn(f"waiting for {claims.holder(path)}, which changes store '{self.root}'")
            time.sleep(SECONDS_BETWEEN_LOOKS)

    @contextmanager
    def asking(self, run_ids: Iterable[str]) -> Iterator[None]:
        """Within it no other command removes these runs, finished or to come. Looks at them begin within it."""
        path = self.scratch / f"asks.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"
        with ExitStack() as held:
            with self.changing(), writing(path.parent):
                path.touch()
                held.callback(path.unlink, missing_ok=True)
                held.enter_context(claims.claimed(path, ids=sorted(run_ids)))
            yield

    def asked(self) -> set[str]:
        """Ids of the runs that commands at work need."""
        found: set[str] = set()
        for path in self.scratch.glob("asks.*"):
            if claims.is_claimed(path):
                found.update(claims.record(path).get("ids", ()))
        return found

    def is_claimed(self, run_id: str) -> bool:
        """Whether a process works on a run now."""
        return claims.is_claimed(self._claim(run_id))

    def holder(self, run_id: str) -> str:
        """The process that works on a run, as a message names it."""
        return claims.holder(self._claim(run_id))

    def progress(self, run_id: str) -> dict[str, Any]:
        """What the process that works on a run last told of it; empty if nothing."""
        return claims.record(self._claim(run_id))

    def logs(self, kind: str, run_id: str, name: str) -> Path:
        """Where loggers write of a run: one place, whichever study asked for it."""
        folder = self.root / "logs" / kind
        return next(folder.glob(f"{run_id}--*"), folder / f"{run_id}--{label(name)}")

    @property
    def scratch(self) -> Path:
        """A directory for what is of no use after the command that made it."""
        return self.root / ".locks"

    def stop_flag(self) -> Path:
        """A new name of a file whose presence asks the processes that work for this one to stop."""
        return self.scratch / f"stop.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"

    def work(self, kind: str, run_id: str) -> Path:
        """The working directory of a run, as it was left if it was killed."""
        path = self.root / kind / f".{run_id}.work"
        with writing(path.parent):
            path.mkdir(parents=True, exist_ok=True)
            for part in filter(Path.is_file, path.rglob(".*.part")):  # of a write that was killed
                part.unlink(missing_ok=True)
        point("work.made")
        return path

    def finish(self, kind: str, run_id: str, name: str) -> Run:
        """Seals a working directory with its manifest and renames it to its final place. Raises `Unwritable`.

        What has the id already does not count as a run, or this one would not have been made: it is set aside.
        """
        work = self.root / kind / f".{run_id}.work"
        final = self.root / kind / f"{run_id}--{label(name)}"
        with writing(work):
            point("finish.begin")
            for path in work.rglob(".*.part"):  # of a write that was killed
                path.unlink()
            kept = (path for path in work.rglob("*") if CHECKPOINT not in path.relative_to(work).parts)
            files = sorted(path for path in kept if path.is_file() and path.name != "manifest.json")
            for path in files:
                point("finish.sync")
                sync(path)
            for folder in {path.parent for path in files}:
                sync_directory(folder)
            point("finish.manifest")
            write_json(
                work / "manifest.json",
                {
                    path.relative_to(work).as_posix(): {"bytes": path.stat().st_size, "sha256": digest(path)}
                    for path in files
                },
            )
            for path in (self.root / kind).glob(f"{run_id}--*"):
                self._set_aside(path)
            point("finish.rename")
            work.rename(final)
            point("finish.renamed")
            sync_directory(final.parent)
            shutil.rmtree(final / CHECKPOINT, ignore_errors=True)
        (self.root / "failures" / f"{run_id}.json").unlink(missing_ok=True)
        point("finish.done")
        return Run(run_id, kind, label(name), final)

    def discard(self, kind: str, run_id: str) -> None:
        """Removes the working directory of a run."""
        shutil.rmtree(self.root / kind / f".{run_id}.work", ignore_errors=True)

    def fail(self, record: dict[str, Any]) -> None:
        """Keeps why a run (`record["id"]`) ended without a result."""
        point("failure.record")
        write_sealed(self.root / "failures" / f"{record['id']}.json", record)

    def forgive(self, run_id: str) -> None:
        """Forgets a failure, so that the run is tried again."""
        (self.root / "failures" / f"{run_id}.json").unlink(missing_ok=True)

    def remember(self, name: str, record: dict[str, Any]) -> None:
        """Keeps a record of a study under `name`."""
        self.write_record(filename(name), record)

    def write_record(self, stem: str, record: dict[str, Any]) -> None:
        """Keeps a record of a study in the file of that stem."""
        point("study.record")
        write_sealed(self.root / "studies" / f"{stem}.json", record)

    def remove(self, runs: list[Run]) -> None:
        """Removes runs. The manifest goes first, so that no half-removed run is taken for a whole one."""
        for run in runs:
            (run.path / "manifest.json").unlink(missing_ok=True)
            shutil.rmtree(run.path, ignore_errors=True)

    def clear(self) -> int:
        """Removes what was set aside, how many runs that were, and what killed commands left beside runs."""
        found = [path for kind in KINDS for path in (self.root / kind).glob(".*.damaged")]
        left = [run.path / CHECKPOINT for run in self.runs()]
        if not any(active for _, _, active in self.unfinished()):  # else it may be of a group that is at work
            left += self.scratch.glob("group.*")
        for path in (*found, *left):
            shutil.rmtree(path, ignore_errors=True)
        for path in self.scratch.glob("asks.*"):
            if not claims.is_claimed(path):
                path.unlink(missing_ok=True)
        return len(found)

    def match(
        self,
        text: str,
        among: Callable[[Run], bool] = lambda run: True,
        *,
        damaged: bool = False,
        exact: bool = False,
    ) -> Run:
        """The finished run that `text` names: the beginning of its id, its label, or the path of its directory.

        With `exact`, as where runs are removed, its whole id or its label alone.

        Raises `BadInput` when no run matches, or more than one, or one that is damaged if such are not asked for.
        """
        found = self.matches(text, among, damaged=damaged, exact=exact)
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(f"run '{text}' is one of {', '.join(run.id for run in found)}: give the id")
        for run, path in self.damaged():
            if _names(text, run, exact) and among(run):
                raise _damaged(run, path)
        raise BadInput(f"there is no finished run '{text}' in '{self.root}': `bertlab runs` lists them")

    def matches(
        self,
        text: str,
        among: Callable[[Run], bool] = lambda run: True,
        *,
        damaged: bool = False,
        exact: bool = False,
    ) -> list[Run]:
        """The finished runs that `text` may name, as `match` has it."""
        known = self._sealed() if damaged else self.runs()
        runs = [run for run in known if among(run) and _names(text, run, exact)]
        return [run for run in runs if run.path.name == Path(text).name] or runs

    def _sealed(self, run_id: str = "[0-9a-f]*") -> Iterator[Run]:
        """Directories with a manifest whose id matches a pattern, in the order of their kinds and names."""
        for kind in KINDS:
            for path in sorted((self.root / kind).glob(f"{run_id}--*")):
                if self._has_manifest(path):
                    found, _, name = path.name.partition("--")
                    yield Run(found, kind, name, path)

    def _has_manifest(self, path: Path) -> bool:
        try:
            return kind_of(path / "manifest.json", "file") is not None
        except BadInput as error:
            if not self.lenient:
                raise
            warn(f"{error}; the run is passed over")
            return False

    def _set_aside(self, path: Path) -> None:
        """Takes a directory out of the sight of all, for its owner to look at; of a run only the last one is kept."""
        aside = path.with_name(f".{path.name}.damaged")
        if aside.exists():
            shutil.rmtree(aside)
        path.rename(aside)
        sync_directory(path.parent)

    def _claim(self, run_id: str) -> Path:
        return self.root / ".locks" / run_id

    def _group(self, run_id: str) -> Path:
        return self.root / ".locks" / f"{run_id}.group"


def _names(text: str, run: Run, exact: bool) -> bool:
    """Whether `text` may be meant for a run: the beginning of its id, its label, or the path of its directory."""
    if "/" in text:
        return not exact and Path(text).absolute().resolve() == run.path.absolute().resolve()
    return text in (run.path.name, run.label, run.id) or (not exact and text != "" and run.id.startswith(text))
