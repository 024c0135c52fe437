"""The store: one directory per run. Commands read finished runs only; a run is finished when it has its final name.

runs/<kind>/<id>--<label>/      a finished run; manifest.json, written last, has the size and SHA-256 of each file
runs/<kind>/.<id>.work/         a run in progress, or one that was killed and can be resumed
runs/<kind>/.<id>--<label>.damaged/   a run whose files changed after it finished; no command reads it
runs/<kind>/.<id>.merged/       a run that a merge copies, or copied when it was killed
runs/studies/<name>.json        which runs belong to a study, over all commands
runs/studies/<name>.toml        the command that requested them, for `--config`; of several, <name>-2.toml and so on
runs/addenda.json               what is added to finished results later: floors, and remarks on verdicts
runs/studies/<name>/            the study file of a user, with the modules beside it that it imports
runs/failures/<id>.json         why a run ended without a result
runs/answers/<sha256>.npz       of exported results: right answers that several runs share; each manifest lists its own
runs/logs/<study>/<kind>/<id>--<label>/   what `--logger` wrote; no command reads it
runs/runs.tar.xz                of exported results: finished runs, right answers and records, in folders as above
runs/.locks/<id>                locked by the process that works on a run; the kernel frees it
runs/.locks/asks.*              locked by a running command; holds the ids of the runs that it needs
runs/.locks/store               locked by a command that joins records or removes runs
"""

import errno
import os
import secrets
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bertlab.errors import BadInput, RunFailed, Unusable, Unwritable, unusable, warn, writing
from bertlab.names import label
from bertlab.progress import stop_if_asked
from bertlab.store import addenda, addresses, archive, forms, locks
from bertlab.store.addenda import Addenda
from bertlab.store.files import digest, of_form, read_sealed, real
from bertlab.store.files import kind as kind_of
from bertlab.store.record import Record
from bertlab.store.result import Failure
from bertlab.store.run import Run, is_kind
from bertlab.store.writes import below, folder, move, remove, sync, write_json, write_sealed

CHECKPOINT = "checkpoint"
"""The folder of a working directory from which a run resumes. It is removed after everything else is sealed: a run that
is killed while its weights are hashed then resumes there."""
SECONDS_TO_BE_SEEN = 60.0
"""How long a network file system may show an old list of a directory."""
SECONDS_BETWEEN_LOOKS = 0.5
RESOLUTION = 2e9
"""Nanoseconds within which a folder may change twice at the same time, as its file system tells it."""


class Store:
    """The directory of all runs. Opening it writes nothing.

    Raises `BadInput` if it, or a folder in it, is not a folder or cannot be read. An unreadable run is an error too;
    with `lenient`, for commands that only list, it is a warning.
    """

    def __init__(self, root: Path, *, lenient: bool = False) -> None:
        self.root, self.lenient = root, lenient
        self._listed: dict[str, tuple[int, dict[str, list[Run]]]] = {}  # by kind, with the time of the folder
        for path in (root, *(root / name for name in (*self.kinds(), "studies", "failures"))):
            found = kind_of(path, "store")
            if found == "file":
                raise BadInput(f"store '{path}' is a file: name the folder of runs, or of exported results")
            if found and not os.access(path, os.R_OK | os.X_OK):
                raise unusable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)), "store", path)

    @property
    def begun(self) -> bool:
        """Whether there is a store: folders of runs or records, or an archive."""
        there = (self.root / "studies").is_dir() or (self.root / archive.FILE).is_file()
        return there or any(map(self._directories, self.kinds()))

    def kinds(self) -> list[str]:
        """The kinds of its runs, each a folder."""
        with suppress(OSError):
            return sorted(entry.name for entry in os.scandir(self.root) if is_kind(entry.name) and entry.is_dir())
        return []

    def runs(self) -> list[Run]:
        """All finished runs, in the order of their kinds and ids."""
        return [run for run in self._sealed() if self._damage(run) is None]

    def damaged(self) -> list[tuple[Run, Path]]:
        """Runs that changed after they finished, each with the first changed file."""
        compared = [(run, self._damage(run)) for run in self._sealed()]
        return [(run, damaged) for run, damaged in compared if damaged is not None]

    def ids(self) -> set[str]:
        """The ids of all runs that it has something of, finished, damaged or half removed."""
        folders = (run_id for kind in self.kinds() for run_id in self._directories(kind))
        return {*folders, *(run.id for run in self._sealed())}

    def _damage(self, run: Run) -> Path | None:
        try:
            return run.damage(large=False)
        except Unusable as error:
            if not self.lenient:
                raise
            warn(f"{error}; the run is skipped")
            return run.path

    def get(self, run_id: str) -> Run | None:
        """The finished run with this id, if there is one."""
        return next((run for run in self._sealed(run_id) if run.damage(large=False) is None), None)

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
        with self.locked(run_id) as lock:
            if lock is not None and run.damage() is not None:  # another process may have repeated it meanwhile
                self.set_aside(run.kind, run_id)
        raise RunFailed(f"'{damaged}' was damaged: the run has to be repeated")

    def records(self, *, needed: Collection[str] | None = None) -> dict[str, Record]:
        """The records of studies, by the stem of their file.

        Raises `BadInput` for a damaged file and for a record of another form. With `needed`, it raises only for records
        of these studies, by name, and warns of all others.
        """
        records = {}
        archived = archive.opened(self.root)
        inside = {name: archived.path / "studies" / name for name in archived.folders.get("studies", ())}
        beside = {path.name: path for path in (self.root / "studies").glob("*.json")}
        for name, path in sorted((inside | beside).items()):
            try:
                data = read_sealed(path, data=None if name in beside else archived.read("studies", name))
            except BadInput as error:
                if needed is None:
                    raise
                warn(f"{error}; the record is skipped")
                continue
            try:
                records[path.stem] = forms.load(Record, data)
                continue
            except forms.Misfit as misfit:
                what = f"its {misfit.where} is missing, of another type or out of range"
            problem = f"'{path}' is not a record as this version writes it ({what})"
            study = data.get("study")
            if needed is None or study in needed or (needed and not isinstance(study, str)):
                raise BadInput(f"{problem}: move it away and repeat its commands; finished runs are kept")
            warn(f"{problem}; the record is skipped")
        return records

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
        found = [path for kind in self.kinds() for path in sorted((self.root / kind).glob(".*.work"))]
        works = [(path.parent.name, path.name.removeprefix(".").removesuffix(".work")) for path in found]
        return [(kind, run_id, self.is_locked(run_id)) for kind, run_id in works]

    def prepare(self) -> None:
        """Makes the directories of the store. Raises `Unwritable` if that is not possible."""
        try:
            for name in ("studies", "failures", ".locks"):
                folder(self.root, name)
            probe = self.root / ".locks" / f"probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise Unwritable(self.root, error) from error

    def remove_if_empty(self) -> None:
        """Removes what `prepare` created, unless there are runs or another command needs the store."""
        folders = (*self.kinds(), "studies", "failures")
        if self.reserved_ids() or any(path.is_file() for name in folders for path in (self.root / name).rglob("*")):
            return
        for path in self.scratch.glob("*"):
            remove(self.root, f".locks/{path.name}")
        for name in (*folders, ".locks", ""):
            with suppress(OSError):
                (self.root / name).rmdir()

    @contextmanager
    def locked(self, run_id: str) -> Iterator[locks.Lock | None]:
        """Holds the lock on a run; yields `None` if another process works on it."""
        with locks.locked(self._lock(run_id)) as lock:
            if lock is not None and locks.is_locked(self.scratch / f"{run_id}.group"):  # it outlived its command
                lock = None
            yield lock

    @contextmanager
    def locked_by_group(self, run_id: str) -> Iterator[None]:
        """Holds a second lock on a run, for the process of a group that writes. Raises `RunFailed` if it is held."""
        with locks.locked(self.scratch / f"{run_id}.group") as lock:
            if lock is None:
                raise RunFailed(f"another process writes run {run_id}")
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Within it no other command joins records, removes runs or reserves them; waits for such commands to end."""
        path, began = self._lock("store"), time.monotonic()
        while True:
            with locks.locked(path) as lock:
                if lock is not None:
                    yield
                    return
            stop_if_asked()
            if time.monotonic() - began > locks.SECONDS_OF_SILENCE:
                warn(f"waiting for {locks.holder(path)}, which changes store '{self.root}'")
            time.sleep(SECONDS_BETWEEN_LOOKS)

    @contextmanager
    def reserved(self, run_ids: Iterable[str]) -> Iterator[None]:
        """Within it no other command removes these runs, finished or not yet begun."""
        with ExitStack() as held:
            with self.exclusive():
                path = self._lock(self.own_name("asks"))
                held.callback(path.unlink, missing_ok=True)
                held.enter_context(locks.locked(path, ids=sorted(run_ids)))
            yield

    def reserved_ids(self) -> set[str]:
        """Ids of the runs that running commands need."""
        held = filter(locks.is_locked, self.scratch.glob("asks.*"))
        holders = filter(None, map(locks.record, held))
        return {run_id for holder in holders for run_id in holder.ids}

    def is_locked(self, run_id: str) -> bool:
        """Whether a process works on a run now."""
        return locks.is_locked(self.scratch / run_id)

    def holder(self, run_id: str) -> str:
        """The process that works on a run, for messages."""
        return locks.holder(self.scratch / run_id)

    def progress(self, run_id: str) -> locks.Holder | None:
        """The last progress that the process working on a run recorded; None if there is none."""
        return locks.record(self.scratch / run_id)

    def logs(self, study: str, kind: str, run_id: str, name: str) -> Path:
        """The folder of a run's loggers: that of the first study that logged it."""
        logs, own = self.root / "logs", f"{kind}/{run_id}"
        return next(logs.glob(f"*/{own}--*"), logs / label(study) / f"{own}--{label(name)}")

    @property
    def scratch(self) -> Path:
        """The directory of locks and of temporary files of commands."""
        return self.root / ".locks"

    @staticmethod
    def own_name(prefix: str) -> str:
        """A new file name that contains this machine and process."""
        return f"{prefix}.{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"

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
            kept = (path for path in work.rglob("*") if CHECKPOINT not in path.relative_to(work).parts)
            files = sorted(path for path in kept if path.is_file() and path.name != "manifest.json")
            for path in files:
                sync(path)
            for parent in {path.parent for path in files}:
                sync(parent)
            facts = {each: {"bytes": each.stat().st_size, "sha256": digest(each)} for each in files}
            write_json(work, "manifest.json", {each.relative_to(work).as_posix(): facts[each] for each in files})
            self.set_aside(kind, run_id)
            move(self.root, f"{kind}/.{run_id}.work", final)
            remove(self.root, f"{final}/{CHECKPOINT}")
        self.clear_failure(run_id)
        return Run(run_id, kind, label(name), self.root / final)

    def set_aside(self, kind: str, run_id: str) -> None:
        """Hides what there is of a run from all commands, for the user to look at."""
        for path in (self.root / kind).glob(f"{run_id}--*"):
            self._set_aside(path)

    def discard(self, kind: str, run_id: str) -> None:
        """Removes the working directory of a run."""
        remove(self.root, f"{kind}/.{run_id}.work")

    def fail(self, failure: Failure) -> None:
        """Records why a run ended without a result."""
        write_sealed(self.root, f"failures/{failure.id}.json", forms.to_json(failure))

    def clear_failure(self, run_id: str) -> None:
        """Removes the record of a failure, so that the run is tried again."""
        remove(self.root, f"failures/{run_id}.json")

    def write_record(self, stem: str, record: Record) -> None:
        """Writes the record of a study to the file with that stem."""
        folder(self.root, "studies")
        write_sealed(self.root, f"studies/{stem}.json", forms.to_json(record))

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

    def match(self, text: str, among: Callable[[Run], bool] = lambda run: True, *, to_remove: bool = False) -> Run:
        """The finished run that `text` names: the beginning of its id, its label, address, or path of its directory.

        `to_remove` accepts only a whole id, label or address, and damaged runs too. Raises `BadInput` if no run
        matches, several do, or only a damaged one does.
        """
        found = self.matches(text, among, to_remove=to_remove)
        if len(found) == 1:
            return found[0]
        if found:
            known = self.addresses()
            names = " or ".join(known.get(run.id, [run.id])[0] for run in found)
            raise BadInput(f"run '{text}' may be {names}: give one of these")
        there = self._at(text)
        for run, path in self.damaged():
            if among(run) and (run.id in there or _names(text, run, whole=to_remove)):
                raise run.damaged_by(path)
        if self.matches(text, lambda run: True, to_remove=to_remove):
            raise BadInput(f"'{text}' is a measurement, not a pre-training: name the pre-training that it measures")
        advice = "`bertlab runs` lists them as STUDY/VARIANT/SEED, and --runs names another store"
        raise BadInput(f"there is no finished run '{text}' in '{self.root}': {advice}")

    def matches(self, text: str, among: Callable[[Run], bool], *, to_remove: bool = False) -> list[Run]:
        """The finished runs that `text` may name (see `match`)."""
        known, there = self._sealed() if to_remove else self.runs(), self._at(text)
        runs = [run for run in known if among(run) and (run.id in there or _names(text, run, whole=to_remove))]
        return [run for run in runs if run.path.name == Path(text).name] or runs

    def addresses(self) -> dict[str, list[str]]:
        """The addresses of runs by id (see `addresses.of_runs`)."""
        return addresses.of_runs(self.records(needed=()).values())

    def of_studies(self) -> set[str]:
        """The ids of all runs that studies have requested, finished or not."""
        return set[str]().union(*map(addresses.run_ids, self.records(needed=()).values()))

    def _at(self, text: str) -> set[str]:
        """The ids of the runs whose address `text` is; none for a path."""
        return addresses.find(text, self.records(needed=()).values()) if text.count("/") > 1 else set()

    def _sealed(self, run_id: str = "") -> Iterator[Run]:
        """Directories with a manifest, of one id or of all, in the order of their kinds and names."""
        archives = archive.opened(self.root).runs
        for kind in sorted({*self.kinds(), *archives}):
            runs, archived = self._directories(kind), archives.get(kind, {})
            for name in [run_id] if run_id else sorted({*runs, *archived}) if archived else runs:
                sealed = [run for run in runs.get(name, ()) if self._is_sealed(run)]
                yield from sealed or archived.get(name, ())

    def _is_sealed(self, run: Run) -> bool:
        """Whether a directory has a manifest."""
        try:
            return kind_of(run.path / "manifest.json", "file") is not None
        except BadInput as error:
            if not self.lenient:
                raise
            warn(f"{error}; the run is skipped")
            return False

    def _directories(self, kind: str) -> dict[str, list[Run]]:
        """The directories with names of finished runs of a kind by id, in order.

        A listing is used again until the folder changes; one that may change again within the resolution of its time
        is not.
        """
        folder = self.root / kind
        try:
            changed = folder.stat().st_mtime_ns
        except FileNotFoundError:
            return {}
        since, runs = self._listed.get(kind, (0, {}))
        if since != changed:
            runs = {}
            for name in sorted(os.listdir(folder)):
                run_id, mark, label_of = name.partition("--")
                if mark and forms.is_id(run_id):
                    runs.setdefault(run_id, []).append(Run(run_id, kind, label_of, folder / name))
            if time.time_ns() - changed > RESOLUTION:
                self._listed[kind] = changed, runs
        return runs

    def _set_aside(self, path: Path) -> None:
        """Hides a directory from all commands, for the user to look at; keeps the last one of each run."""
        kind, aside = path.parent.name, f".{path.name}.damaged"
        remove(self.root, f"{kind}/{aside}")
        move(self.root, f"{kind}/{path.name}", f"{kind}/{aside}")

    def _lock(self, name: str) -> Path:
        """The file of a lock, created if it is missing."""
        folder(self.root, ".locks")
        path = below(self.root, f".locks/{name}")
        with writing(path.parent):
            path.touch()
        return path


def _names(text: str, run: Run, *, whole: bool) -> bool:
    """Whether `text` names a run: by its label, its id (or, unless `whole`, the beginning of it), or its directory."""
    if "/" in text:
        return not whole and real(Path(text)) == real(run.path)
    if not text:
        return False
    return run.label == label(text) or text in (run.path.name, run.id) or (not whole and run.id.startswith(text))
