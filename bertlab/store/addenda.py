"""What is added to finished results later, in the file `addenda.json` of a store: no run and no id changes.

`floors` are lexical floors that are fitted on as many examples as the models read; those in results of earlier versions
are fitted on 4,000 at most. `remarks` are sentences beside verdicts: what was fixed after values had been seen.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, warn
from bertlab.recipe.identity import identity
from bertlab.store import forms
from bertlab.store.files import kind, read_json
from bertlab.store.writes import write_json

FILE = "addenda.json"


@dataclass(frozen=True)
class Remark:
    """A sentence beside the verdicts of a study, or beside a claim; empty fields apply to all."""

    sentence: str
    study: str
    section: str = ""
    """The key of a section of the study, eight hexadecimal digits."""
    on: str = ""
    """A measurement."""
    claim: str = ""
    """The text of a claim."""


@dataclass(frozen=True)
class Addenda:
    """The addenda of a store."""

    floors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By `floor_key`: `examples`, the number that a floor is fitted on, its metrics on `evaluation` and `test`."""
    remarks: tuple[Remark, ...] = ()

    def kept(self, keys: Collection[str], studies: Collection[str]) -> "Addenda":
        """Those of some floors and studies."""
        floors = {key: floor for key, floor in self.floors.items() if key in keys}
        return Addenda(floors, tuple(remark for remark in self.remarks if remark.study in studies))

    def write(self, root: Path) -> None:
        """Writes them into a store; nothing if there are none. Raises `Unwritable`."""
        if not (self.floors or self.remarks):
            return
        remarks = [{name: text for name, text in vars(remark).items() if text} for remark in self.remarks]
        write_json(root, FILE, {"floors": dict(sorted(self.floors.items())), "remarks": remarks})


def read(root: Path) -> Addenda:
    """The addenda of a store; none without the file. Warns of a file of another form, and reads nothing of it."""
    path = root / FILE
    try:
        contents = read_json(path, forms.ADDENDA) if kind(path, "file") else {}
    except BadInput as error:
        warn(f"{error}; it is skipped")
        contents = {}
    fields = (
        {name: entry[name] for name in vars(Remark("", "")) if name in entry} for entry in contents.get("remarks", ())
    )
    return Addenda(contents.get("floors", {}), tuple(Remark(**remark) for remark in fields))


def joined(several: Iterable[Addenda]) -> Addenda:
    """The addenda of several stores; of two floors of the same examples, the first counts."""
    floors: dict[str, Mapping[str, Any]] = {}
    remarks: dict[Remark, None] = {}
    for part in several:
        floors = {**part.floors, **floors}
        remarks |= dict.fromkeys(part.remarks)
    return Addenda(floors, tuple(remarks))


def floor_key(science: Mapping[str, Any]) -> str:
    """Identifies the floor of a run on a task, by the data from which the run's id follows."""
    settings = science.get("settings", {})
    limits = {name: settings.get(name) or 0 for name in ("max_train_examples", "max_eval_examples")}
    return identity("floor", data=science.get("data"), task=science.get("task"), **limits)
