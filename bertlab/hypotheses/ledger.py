"""The ledger of a sequence of hypotheses: what was registered before its results, and each look at them.

A file of JSON lines that only grows: `{"registered": ...}` and `{"looked": ...}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bertlab.errors import BadInput, unknown
from bertlab.hypotheses.decision import KEEP, better_than
from bertlab.hypotheses.online import level
from bertlab.lab.claim import Claim
from bertlab.store import writes
from bertlab.store.files import content, kind, real
from bertlab.store.locks import StoreLocks
from bertlab.store.record import ClaimLook, Sequential, StudyLook
from bertlab.store.schema import Mismatch, Number, SeedCount, Share, load, to_json
from bertlab.text.rows import parsed


@dataclass(frozen=True, kw_only=True)
class Registered:
    """A hypothesis, before any result of it."""

    name: str
    better: str
    worse: str
    on: str
    """The measurement."""
    lower_is_better: bool
    max_seeds: SeedCount
    level: Share
    """The one-sided level by LOND, see `online.level`."""

    @property
    def claim(self) -> Claim:
        """The hypothesis as a claim."""
        return better_than(self.better, self.worse, self.on)


@dataclass(frozen=True, kw_only=True)
class Looked:
    """A look at a hypothesis."""

    name: str
    decision: str
    numbers: ClaimLook
    differences: Mapping[str, Number]
    """The difference at each seed, as in the effect."""


@dataclass(frozen=True)
class Ledger:
    """What a ledger says."""

    path: Path
    lines: tuple[str, ...]

    @cached_property
    def entries(self) -> list[Registered | Looked]:
        """The entries, the first one first. Raises `BadInput` for a line that is none."""
        return [_entry(line.encode(), f"{self.path} line {n}") for n, line in enumerate(self.lines, start=1)]

    @cached_property
    def hypotheses(self) -> dict[str, Registered]:
        """The hypotheses by name, in the order in which they were registered. Raises `BadInput` for a name twice."""
        hypotheses: dict[str, Registered] = {}
        for entry in self.entries:
            if isinstance(entry, Registered) and hypotheses.setdefault(entry.name, entry) is not entry:
                raise BadInput(f"'{self.path}' registers {entry.name} twice: remove one of the lines")
        return hypotheses

    def looks(self, name: str) -> list[Looked]:
        """The looks at a hypothesis, the first one first."""
        return [entry for entry in self.entries if isinstance(entry, Looked) and entry.name == name]

    def find(self, name: str) -> Registered:
        """The hypothesis with this name. Raises `BadInput` if there is none."""
        if not name:
            raise BadInput(f"'{self.path}' may have several hypotheses: give --name")
        if name not in self.hypotheses:
            raise unknown(f"hypothesis in '{self.path}'", name, list(self.hypotheses))
        return self.hypotheses[name]

    def sequential(self, name: str) -> Sequential:
        """The looks at a hypothesis as those of a study."""
        looks = tuple(StudyLook(seeds={}, claims=(look.numbers,)) for look in self.looks(name))
        return Sequential(maximum=self.find(name).max_seeds, looks=looks)

    def append(self, entry: Registered | Looked) -> None:
        """Writes one more entry, whole or not at all; where the ledger is a link, into the file that it names."""
        path, line = real(self.path), json.dumps({type(entry).__name__.lower(): to_json(entry)})
        writes.write(path.parent, path.name, "\n".join((*self.lines, line)) + "\n")

    def register(self, name: str, claim: Claim, max_seeds: int, *, lower_is_better: bool) -> Registered:
        """Registers a hypothesis on two variants and gives it its level.

        Those that are open then count as not kept. Raises `BadInput` for a name that is taken.
        """
        if name in self.hypotheses:
            raise BadInput(f"hypothesis {name} is registered in '{self.path}': a new one needs a new --name")
        discoveries = sum(look.decision == KEEP for name in self.hypotheses for look in self.looks(name)[-1:])
        (better, worse), number = claim.pairs[0], len(self.hypotheses) + 1
        names = {"name": name, "better": better, "worse": worse, "on": claim.on}
        numbers = {"max_seeds": max_seeds, "level": level(number, discoveries)}
        entry = load(Registered, {**names, **numbers, "lower_is_better": lower_is_better})
        self.append(entry)
        return entry


@contextmanager
def opened(path: Path, *, new: bool = False) -> Iterator[Ledger]:
    """A ledger, which no other command changes meanwhile. Raises `BadInput` if there is none, but for a `new` one."""
    if not new and kind(path, "ledger") is None:
        raise BadInput(f"there is no ledger '{path}': --register begins one")
    with StoreLocks(real(path).parent).exclusive():
        text = content(path, "ledger").decode(errors="replace") if path.exists() else ""
        yield Ledger(path, tuple(text.splitlines()))


def _entry(line: bytes, where: str) -> Registered | Looked:
    data = parsed(line, where)
    try:
        return load(Registered, data["registered"]) if "registered" in data else load(Looked, data["looked"])
    except (KeyError, Mismatch) as error:
        raise BadInput(
            f"{where} is no entry of a ledger ({str(error) or 'no object'}): name another file with --ledger"
        ) from None
