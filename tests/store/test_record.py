"""Records as types: read and written back equal, and refused with the place of what does not fit."""

import ast
import json
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated

import pytest

from bertlab.store import archive
from bertlab.store import record as record_types
from bertlab.store import result as result_types
from bertlab.store.files import read_sealed
from bertlab.store.record import Record
from bertlab.store.schema import OPTIONAL, Count, Mismatch, load, to_json
from small_record import record, row, value

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bertlab"
REPORTS = ROOT / "reports"
STORES = sorted(path.parent for path in REPORTS.glob("*/runs.tar.xz"))


@pytest.mark.parametrize("store", STORES, ids=lambda path: path.name)
def test_the_records_of_the_repository_are_read_and_written_back_equal(store):
    archived = archive.opened(store)
    names = archived.folders["studies"]
    assert names
    for name in names:
        data = read_sealed(store / "studies" / name, data=archived.read("studies", name))
        assert to_json(load(Record, data)) == data


def test_a_record_is_what_its_json_gives():
    made = record(rows=(row("a", "1" * 16),), cells=(value("1" * 16, "2" * 16, published=84.2),), name="mine")
    data = json.loads(json.dumps(to_json(made)))
    assert load(Record, data) == made
    assert data["name"] == "mine"
    assert "sequential" not in data
    assert load(Record, {**data, "of a later version": 1}) == made


@dataclass(frozen=True)
class Inner:
    ids: tuple[Count, ...]
    share: float = 0.5


@dataclass(frozen=True)
class Outer:
    text: str
    inner: Inner | None = None
    name: Annotated[str, OPTIONAL] = ""
    numbers: tuple[int | str, ...] = ()


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ([], ""),
        ({}, "text"),
        ({"text": 1}, "text"),
        ({"text": None}, "text"),
        ({"text": "", "inner": 7}, "inner"),
        ({"text": "", "inner": {"ids": 7}}, "inner.ids"),
        ({"text": "", "inner": {"ids": [0, -1]}}, "inner.ids[1]"),
        ({"text": "", "inner": {"ids": [True]}}, "inner.ids[0]"),
        ({"text": "", "inner": {"ids": [], "share": "x"}}, "inner.share"),
        ({"text": "", "numbers": [1, "a", 2.5]}, "numbers[2]"),
    ],
)
def test_the_first_part_that_does_not_fit_is_named(data, where):
    with pytest.raises(Mismatch) as mismatch:
        load(Outer, data)
    assert mismatch.value.where == where


def test_defaults_are_written_but_for_optional_fields():
    made = load(Outer, {"text": "a", "inner": {"ids": [1], "share": 1}, "else": 2})
    assert made == Outer("a", Inner((1,), 1))
    assert to_json(made) == {"text": "a", "inner": {"ids": [1], "share": 1}, "numbers": []}
    assert to_json(Outer("a", name="b"))["name"] == "b"


def accesses(path):
    """How often a file reads a field of a record or a result by a text: `x["rows"]`, `x.get("rows")`."""
    types = [kind for module in (record_types, result_types) for kind in vars(module).values() if is_dataclass(kind)]
    names = {field.name for kind in types for field in fields(kind)}
    keys = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            keys.append(node.slice)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "get":
            keys += node.args[:1]
    return sum(isinstance(key, ast.Constant) and key.value in names for key in keys)


def test_records_and_results_are_read_by_attributes():
    """Columns of tables and definitions of runs, which stay plain data, have names in common with them."""
    folders = [path for name in ("store", "report", "sequential") for path in (PACKAGE / name).rglob("*.py")]
    counts = {path.name: accesses(path) for path in (*folders, *(PACKAGE / "lab").glob("*.py"))}
    assert sum(counts.values()) < 80, counts
    assert counts["union.py"] == counts["record.py"] == counts["rounds.py"] == 0
