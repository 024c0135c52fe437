"""What is added to finished results later, in the file `addenda.json` of a store: no run and no id changes.

`floors` are lexical floors that are fitted on as many examples as the models read; those in results of earlier versions
are fitted on 4,000 at most. `remarks` are sentences beside verdicts: what was fixed after values had been seen.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from bertlab.errors import BadInput, warn
from bertlab.recipe.identity import identity
from bertlab.store.files import kind, read_json
from bertlab.store.result import Metrics
from bertlab.store.schema import OPTIONAL, Count, to_json
from bertlab.store.writes import write_json

FILE = "addenda.json"


@dataclass(frozen=True)
class Remark:
    """A sentence beside the verdicts of a study, or beside a claim; empty fields apply to all."""

    sentence: str
    study: str
    section: Annotated[str, OPTIONAL] = ""
    """The key of a section of the study, eight hexadecimal digits."""
    on: Annotated[str, OPTIONAL] = ""
    """The measurement beside whose verdicts it stands."""
    claim: Annotated[str, OPTIONAL] = ""
    """The text of a claim."""


@dataclass(frozen=True)
class Floor:
    """The metrics of a lexical floor on the splits of a task, with the number of examples that it is fitted on."""

    examples: Count
    evaluation: Metrics
    test: Annotated[Metrics | None, OPTIONAL] = None


@dataclass(frozen=True)
class Addenda:
    """The addenda of a store."""

    floors: Mapping[str, Floor] = field(default_factory=dict)
    """The floors by their `floor_key`."""
    remarks: tuple[Remark, ...] = ()

    def of(self, keys: Collection[str], studies: Collection[str]) -> "Addenda":
        """The addenda of the floors with these keys and of these studies."""
        floors = {key: floor for key, floor in self.floors.items() if key in keys}
        return Addenda(floors, tuple(remark for remark in self.remarks if remark.study in studies))

    def write(self, root: Path) -> None:
        """Writes them into a store; nothing if there are none. Raises `Unwritable`."""
        if self.floors or self.remarks:
            write_json(root, FILE, to_json(replace(self, floors=dict(sorted(self.floors.items())))))


def read(root: Path) -> Addenda:
    """The addenda of a store; none without the file. Warns of a file of another form, and reads nothing of it."""
    path = root / FILE
    try:
        return read_json(path, Addenda) if kind(path, "file") else Addenda()
    except BadInput as error:
        warn(f"{error}; it is skipped")
        return Addenda()


def joined(several: Iterable[Addenda]) -> Addenda:
    """The addenda of several stores; of two floors of the same examples, the first counts."""
    floors: dict[str, Floor] = {}
    remarks: dict[Remark, None] = {}
    for part in several:
        floors = {**part.floors, **floors}
        remarks |= dict.fromkeys(part.remarks)
    return Addenda(floors, tuple(remarks))


def floor_key(definition: Mapping[str, Any]) -> str:
    """Identifies the floor of a run on a task, by the data from which the run's id follows."""
    settings = definition.get("settings", {})
    limits = {name: settings.get(name) or 0 for name in ("max_train_examples", "max_eval_examples")}
    limits |= {name: settings[name] for name in ("train_share",) if name in settings}
    return identity("floor", data=definition.get("data"), task=definition.get("task"), **limits)
