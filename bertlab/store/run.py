"""A finished run: a directory whose manifest lists each file with its size and SHA-256."""

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from bertlab.errors import BadInput, Unusable, unusable
from bertlab.store.files import content, digest, read_json, read_lines
from bertlab.store.files import kind as kind_of
from bertlab.store.result import FILES, Environment, FileFacts, MetricsLine, Result, RunFile, Timing, Trunks
from bertlab.store.schema import FileName
from bertlab.store.writes import copy

T = TypeVar("T")
OTHERS = ("studies", "failures", "forecasts", "answers", "logs")
"""Folders of a store that have no runs."""
ANSWERS = "answers.npz"
"""Right answers, of runs from exported results."""
LARGE = (".safetensors", ".bin", ".npy")
"""Weights and arrays, which are hashed before they are used; all other files whenever a command reads the run."""
TRUNKS = "trunks.json"
"""The trunks from which a pre-training went on, if it did."""
CHANGES = "task.safetensors"
"""The tensors of a fine-tuned model that differ from its pre-trained one, of a run that keeps it."""
STATE = "state"
"""The folder of the state at the end of a trunk, from which pre-trainings go on."""
State = tuple[tuple[str, int, int, int], ...]
"""Files, each with its size and times."""


def is_kind(name: str) -> bool:
    """Whether a folder of a store has runs, of the kind that it is named after: all but those of other files have."""
    return name not in OTHERS and re.fullmatch("[a-z][a-z_-]*", name) is not None


@dataclass(frozen=True)
class Run:
    """A finished run: a directory that no process changes. `archive.Archived` is one in a file of many runs."""

    id: str
    kind: str
    label: str
    path: Path

    def definition(self) -> Mapping[str, Any]:
        """The definition of the run, from which its id follows."""
        return self.read("recipe.json", RunFile).science

    def result(self) -> Result:
        """The result of the run."""
        return self.read("result.json", Result)

    def environment(self) -> Environment:
        """Numerics and machine of the run."""
        return self.read("environment.json", Environment)

    @property
    def holds_model(self) -> bool:
        """Whether its result is a pre-trained model, of which its definition has the recipe."""
        return "recipe" in self.definition()

    @property
    def holds_task_model(self) -> bool:
        """Whether it keeps a fine-tuned model."""
        return self.has(CHANGES)

    @property
    def holds_state(self) -> bool:
        """Whether pre-trainings go on from its end."""
        return any(name.startswith(f"{STATE}/") for name in self.manifest())

    @property
    def bare(self) -> bool:
        """Whether it has neither weights nor text: of a pre-training or a corpus, a result as exports have it."""
        return not any(name.endswith(LARGE) for name in self.manifest())

    @property
    def root(self) -> Path:
        """The directory of the store."""
        return self.path.parents[1]

    def manifest(self) -> dict[str, FileFacts]:
        """Size and SHA-256 of each other file, by its path in the run."""
        return self.read("manifest.json", dict[FileName, FileFacts])

    def has(self, name: str) -> bool:
        """Whether there is a file in the directory of the run."""
        return (self.path / name).exists()

    def content(self, name: str) -> bytes:
        """The bytes of a file that the manifest lists. Raises `BadInput`."""
        return content(self.file(name), "file")

    def digest(self, name: str) -> str:
        """The SHA-256 of a file that the manifest lists. Raises `BadInput`."""
        return digest(self.file(name))

    def copy(self, name: str, root: Path, to: str) -> None:
        """Copies a file that the manifest lists to `to` below `root`. Raises as `writes.copy`."""
        copy(self.file(name), root, to)

    def check_copied(self) -> None:
        """Raises `BadInput` for a run with links, which may lead anywhere."""
        homes = (self.path.resolve(), self.root.resolve() / "answers")
        for path in map(self.file, self.manifest()):
            if path.is_symlink() or not any(map(path.resolve().is_relative_to, homes)):
                raise BadInput(f"'{path}' is a link: give a store without links")

    def check_removed(self) -> None:
        """Raises `BadInput` for a run that cannot be removed alone."""

    def file(self, name: str) -> Path:
        """A file that the manifest lists: in the directory of the run, or one that it shares with others."""
        path = self.path / name
        shared = name == ANSWERS and not self.has(name)
        return self.path.parents[1] / "answers" / f"{self.manifest()[name].sha256}.npz" if shared else path

    def trunks(self) -> Trunks:
        """The trunks from which it went on."""
        return self.read(TRUNKS, Trunks) if TRUNKS in self.manifest() else Trunks()

    def metrics(self) -> list[dict[str, float | None]]:
        """Curves: the figures at each logged step, with its number as `step`, without times."""
        return self._lines("metrics.jsonl", MetricsLine)

    def timing(self) -> list[Timing]:
        """The seconds of each stage."""
        return self._lines("timing.jsonl", Timing)

    def seconds(self) -> float:
        """The time of the run, over all its attempts."""
        return math.fsum(line.seconds for line in self.timing())

    def training(self) -> float:
        """The time of its updates alone, over all its attempts."""
        return math.fsum(line.seconds for line in self.timing() if line.stage == "train")

    def damage(self, *, large: bool = True) -> Path | None:
        """The first file that differs from the manifest; without `large`, weights and arrays are compared by size only.

        Each process hashes a file once, and again if its size or time changes. Raises `Unusable` for unreadable files.
        """
        try:
            state = self._state()
        except FileNotFoundError:  # another command removes the run
            return self.path / "manifest.json"
        except OSError as error:
            raise unusable(error, "file") from error
        return _damage(self, large, state)

    def verify(self) -> None:
        """Raises `BadInput` if a file differs from the manifest in size or SHA-256."""
        damaged = self.damage()
        if damaged is not None:
            raise self.damaged_by(damaged)

    def damaged_by(self, path: Path) -> BadInput:
        """The error of a run whose file at `path` differs from the manifest."""
        advice = f"remove it with `bertlab runs --remove {self.id}` and run the command again"
        return BadInput(f"'{path}' is damaged: {advice}")

    def read(self, name: str, form: type[T]) -> T:
        """The content of a JSON file of the run. Raises `BadInput` as `files.read_json` does."""
        return read_json(self.path / name, form, self.content(name))

    def _lines(self, name: str, form: type[T]) -> list[T]:
        return read_lines(self.content(name), form) if self.has(name) else []

    def _state(self) -> State:
        """The state of its files, and of right answers that it shares. Raises `OSError`."""
        state = tuple(_files(str(self.path)))
        shared = _shared(self, state)
        return state + (tuple(_files(str(shared))) if shared is not None and shared.is_file() else ())


def _files(path: str) -> Iterator[tuple[str, int, int, int]]:
    """The state of a file, or of all files in a folder. Raises `OSError`."""
    facts = os.stat(path)
    if stat.S_ISREG(facts.st_mode):
        yield path, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
    elif stat.S_ISDIR(facts.st_mode):
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            if not (entry.is_symlink() and entry.is_dir()):
                yield from _files(entry.path)


@cache
def _shared(run: Run, state: State) -> Path | None:
    """The file of right answers that a run shares with others, if its manifest lists one and it has none of its own."""
    try:
        path = run.file(ANSWERS) if ANSWERS in run.manifest() else None
        return None if path is None or path.parent == run.path else path
    except BadInput:
        return None


@cache
def _damage(run: Run, large: bool, state: State) -> Path | None:
    sizes = {name: size for name, size, *_ in state}
    read = run.path / "manifest.json"
    try:
        sealed = run.manifest()
        if not {"recipe.json", "result.json"} <= sealed.keys():  # every finished run has these
            return read
        for name, facts in sealed.items():
            read = run.file(name)
            if sizes.get(str(read)) != facts.bytes:
                kind_of(read, "file")  # raises `Unusable` where the system denies access
                return read
            if (large or read.suffix not in LARGE) and run.digest(name) != facts.sha256:
                return read
        for name in [name for name in FILES if name in sealed]:
            read = run.path / name
            stated = run.read(name, FILES[name])
            if isinstance(stated, RunFile) and (stated.id or run.id, stated.kind or run.kind) != (run.id, run.kind):
                return read  # another run's file
    except OSError as error:
        raise unusable(error, "file", read) from error
    except Unusable:
        if read.exists():
            raise
        return read
    except BadInput:
        return read
    return None
