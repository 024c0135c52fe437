"""The store: one directory per run. Commands read finished runs only; a run is finished when it has its final name.

runs/<kind>/<id>--<label>/      a finished run; manifest.json, written last, has the size and SHA-256 of each file
runs/<kind>/.<id>.work/         a run in progress, or one that was killed and can be resumed
runs/<kind>/.<id>--<label>.damaged/   a run whose files changed after it finished; no command reads it
runs/<kind>/.<id>.merged/       a run that a merge copies, or copied when it was killed
runs/studies/<name>.json        which runs belong to a study, over all commands
runs/studies/<name>.toml        the command that requested them, for `--config`; of several, <name>-2.toml and so on;
                                not of exported results, see `config.read`
runs/addenda.json               what is added to finished results later: floors, and remarks on verdicts
runs/studies/<name>/            the study file of a user, with the modules beside it that it imports
runs/failures/<id>.json         why a run ended without a result
runs/forecasts/<study>--<scale>.json   which signs were forecast before a larger scale was run
runs/answers/<sha256>.npz       of exported results: right answers that several runs share; each manifest lists its own
runs/logs/<study>/<kind>/<id>--<label>/   what `--logger` wrote; no command reads it
runs/runs.tar.xz                of exported results: finished runs, right answers and records, in folders as above
runs/.locks/<id>                locked by the process that works on a run; the kernel frees it
runs/.locks/asks.*              locked by a running command; holds the ids of the runs that it needs
runs/.locks/store               locked by a command that joins records or removes runs
"""

import errno
import os
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from bertlab.errors import BadInput, RunFailed, Unwritable, unusable, warn, writing
from bertlab.names import label
from bertlab.progress import stop_if_asked
from bertlab.store import addenda, archive, records, schema
from bertlab.store.addenda import Addenda
from bertlab.store.files import digest, of_form, read_sealed
from bertlab.store.files import kind as kind_of
from bertlab.store.listing import Listing
from bertlab.store.locks import SECONDS_BETWEEN_LOOKS, StoreLocks
from bertlab.store.record import Record
from bertlab.store.result import Failure, FileFacts
from bertlab.store.run import Run
from bertlab.store.writes import below, folder, move, remove, sync, write_json, write_sealed

CHECKPOINT = "checkpoint"
"""The folder of a working directory from which a run resumes. It is removed after everything else is sealed: a run that
is killed while its weights are hashed then resumes there."""
SECONDS_TO_BE_SEEN = 60.0
"""How long a network file system may show an old list of a directory."""


class Store:
    """The directory of all runs. Opening it writes nothing.

    Raises `BadInput` if it, or a folder in it, is not a folder or cannot be read. An unreadable run is an error too;
    with `lenient`, for commands that only list, it is a warning.
    """

    def __init__(self, root: Path, *, lenient: bool = False) -> None:
        self.root, self.listing, self.locks = root, Listing(root, lenient=lenient), StoreLocks(root)
        for path in (root, *(root / name for name in (*self.listing.kinds(), "studies", "failures"))):
            what = kind_of(path, "store")
            if what == "file":
                raise BadInput(f"store '{path}' is a file: name the folder of runs, or of exported results")
            if what and not os.access(path, os.R_OK | os.X_OK):
                raise unusable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "store", path)

    @property
    def begun(self) -> bool:
        """Whether there is a store: folders of runs or records, or an archive."""
        has_results = (self.root / "studies").is_dir() or (self.root / archive.FILE).is_file()
        return has_results or any(map(self.listing.directories, self.listing.kinds()))

    def runs(self) -> list[Run]:
        """All finished runs, in the order of their kinds and ids."""
        return [run for run in self.listing.sealed() if self.listing.damage(run) is None]

    def damaged(self) -> list[tuple[Run, Path]]:
        """Runs that changed after they finished, each with the first changed file."""
        compared = [(run, self.listing.damage(run)) for run in self.listing.sealed()]
        return [(run, path) for run, path in compared if path is not None]

    def get(self, run_id: str) -> Run | None:
        """The finished run with this id, if there is one."""
        return next((run for run in self.listing.sealed(run_id) if run.damage(large=False) is None), None)

    def wait_for(self, run_id: str) -> Run:
        """The finished run with this id, as soon as this machine sees it. Raises `RunFailed` after a minute."""
        for _ in range(int(SECONDS_TO_BE_SEEN / SECONDS_BETWEEN_LOOKS)):
            if (run := self.get(run_id)) is not None:
                return run
            stop_if_asked()
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise RunFailed(f"run {run_id} is gone: give the same command again")

    def get_verified(self, run_id: str) -> Run:
        """The finished run with this id, after every file is hashed. Raises `RunFailed` if there is none.

        Sets a damaged run aside, so that the command repeats it.
        """
        run = self.get(run_id)
        if run is None:
            raise RunFailed(f"run {run_id} is gone: give the same command again")
        damaged = run.damage()
        if damaged is None:
            if run.bare:
                raise RunFailed(
                    f"run {run_id} is a result without weights or text, as `export --results` writes it: remove it "
                    f"with `bertlab runs --remove {run_id}` and give the same command again"
                )
            return run
        with self.locks.run(run_id) as lock:
            if lock is not None and run.damage() is not None:  # another process may have repeated it meanwhile
                self.set_aside(run.kind, run_id)
        raise RunFailed(f"'{damaged}' was damaged: the run has to be repeated")

    def records(self, *, needed: Collection[str] | None = None) -> dict[str, Record]:
        """The records of studies, by the stem of their file. Raises `BadInput` as `records.read` does."""
        return records.read(self.root, needed)

    def failures(self) -> list[Failure]:
        """Runs that ended without a result, with the reason."""
        return list(filter(None, map(self.failure, (path.stem for path in sorted(self.root.glob("failures/*.json"))))))

    def failed_ids(self) -> set[str]:
        """Ids of the runs that ended without a result, from one look at their folder."""
        return {path.stem for path in (self.root / "failures").glob("*.json")}

    def failure(self, run_id: str) -> Failure | None:
        """Why the run with this id ended without a result, if it did. Skips an unreadable record."""
        path = self.root / "failures" / f"{run_id}.json"
        try:
            if not kind_of(path, "file"):
                return None
            failure = of_form(path, Failure, read_sealed(path))
            if failure.id != run_id:
                raise BadInput(f"'{path}' is the record of another run, {failure.id}: remove it")
            return failure
        except BadInput as error:
            warn(f"{error}; the record is skipped")
            return None

    def addenda(self) -> Addenda:
        """What was added to its results later."""
        return addenda.read(self.root)

    def unfinished(self) -> list[tuple[str, str, bool]]:
        """Runs with a working directory, as (kind, id, whether a process works on it now)."""
        paths = [path for kind in self.listing.kinds() for path in sorted((self.root / kind).glob(".*.work"))]
        works = [(path.parent.name, path.name.removeprefix(".").removesuffix(".work")) for path in paths]
        return [(kind, run_id, self.locks.has(run_id)) for kind, run_id in works]

    def create_directories(self) -> None:
        """Makes the directories of the store. Raises `Unwritable` if that is not possible."""
        try:
            for name in ("studies", "failures", ".locks"):
                folder(self.root, name)
            probe = self.root / ".locks" / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise Unwritable(self.root, error) from error

    def sweep(self) -> None:
        """Removes the checkpoints that killed commands left in finished runs."""
        for run in self.runs():
            if run.has(CHECKPOINT) and not run.path.is_symlink():
                remove(self.root, f"{run.kind}/{run.path.name}/{CHECKPOINT}")

    def remove_if_empty(self) -> None:
        """Removes what `create_directories` created, unless there are runs or another command needs the store."""
        folders = (*self.listing.kinds(), "studies", "failures")
        inside = (path for name in folders for path in (self.root / name).rglob("*"))
        if self.locks.reserved_ids() or any(map(Path.is_file, inside)):
            return
        for path in self.locks.scratch.glob("*"):
            remove(self.root, f".locks/{path.name}")
        for name in (*folders, ".locks", ""):
            with suppress(OSError):
                (self.root / name).rmdir()

    def logs(self, study: str, kind: str, run_id: str, name: str) -> Path:
        """The folder of a run's loggers: that of the first study that logged it."""
        logs, run = self.root / "logs", f"{kind}/{run_id}"
        return next(logs.glob(f"*/{run}--*"), logs / label(study) / f"{run}--{label(name)}")

    def work(self, kind: str, run_id: str) -> Path:
        """The working directory of a run, with the files of a killed attempt."""
        path = folder(self.root, f"{kind}/.{run_id}.work")
        with writing(path.parent):
            for part in filter(Path.is_file, path.rglob(".*.part")):  # of a write that was killed
                part.unlink(missing_ok=True)
        return path

    def finish(self, kind: str, run_id: str, name: str) -> Run:
        """Seals a working directory with its manifest and renames it to its final name. Raises `Unwritable`.

        Sets aside a directory of the same id, which must be damaged: otherwise the run would not have been repeated.
        """
        work, final = below(self.root, f"{kind}/.{run_id}.work"), f"{kind}/{run_id}--{label(name)}"
        with writing(work):
            for path in work.rglob(".*.part"):  # of a write that was killed
                path.unlink()
            results = (path for path in work.rglob("*") if CHECKPOINT not in path.relative_to(work).parts)
            files = sorted(path for path in results if path.is_file() and path.name != "manifest.json")
            for path in files:
                sync(path)
            for parent in {path.parent for path in files}:
                sync(parent)
            facts = [FileFacts(bytes=path.stat().st_size, sha256=digest(path)) for path in files]
            names = [path.relative_to(work).as_posix() for path in files]
            write_json(work, "manifest.json", schema.to_json(dict(zip(names, facts, strict=True))))
            self.set_aside(kind, run_id)
            move(self.root, f"{kind}/.{run_id}.work", final)
            remove(self.root, f"{final}/{CHECKPOINT}")
        self.clear_failure(run_id)
        return Run(run_id, kind, label(name), self.root / final)

    def set_aside(self, kind: str, run_id: str) -> None:
        """Hides what there is of a run from all commands, for the user to look at."""
        for path in (self.root / kind).glob(f"{run_id}--*"):
            aside = f"{kind}/.{path.name}.damaged"  # the last one
            remove(self.root, aside)
            move(self.root, f"{kind}/{path.name}", aside)

    def discard(self, kind: str, run_id: str) -> None:
        """Removes the working directory of a run."""
        remove(self.root, f"{kind}/.{run_id}.work")

    def fail(self, failure: Failure) -> None:
        """Records why a run ended without a result."""
        write_sealed(self.root, f"failures/{failure.id}.json", schema.to_json(failure))

    def clear_failure(self, run_id: str) -> None:
        """Removes the record of a failure, so that the run is tried again."""
        remove(self.root, f"failures/{run_id}.json")

    def remove(self, runs: list[Run]) -> None:
        """Removes runs. The manifest goes first, so that no half-removed run counts as finished.

        Raises `BadInput` for one in an archive, and removes nothing then.
        """
        for run in runs:
            run.check_removed()
        for run in runs:
            name = f"{run.kind}/{run.path.name}"
            if not run.path.is_symlink():  # else the link alone is the store's
                remove(self.root, f"{name}/manifest.json")
            remove(self.root, name)
