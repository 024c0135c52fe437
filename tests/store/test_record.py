"""Records as types, their commands as files, and what is added to finished results later."""

import ast
import dataclasses
import json
import shlex
import tomllib
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated

import pytest

from bertlab.cli.config import COMMANDS
from bertlab.store import addenda, archive, commands
from bertlab.store import record as record_types
from bertlab.store import result as result_types
from bertlab.store.addenda import Addenda, Floor, Remark, floor_key
from bertlab.store.config import saved_copy, write_configs
from bertlab.store.files import read_sealed
from bertlab.store.merge import MergedStores
from bertlab.store.record import Record, short_hash
from bertlab.store.runs import Store
from bertlab.store.schema import OPTIONAL, Count, Mismatch, load, to_json
from small_record import record, request, row, value

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


def test_a_record_has_each_value_once():
    once = value("1" * 16, "2" * 16)
    other = value("1" * 16, "2" * 16, finetune_seed=1)
    assert load(Record, to_json(record(cells=(once, other)))).cells == (once, other)
    with pytest.raises(Mismatch, match=r"^cells$"):
        load(Record, to_json(record(cells=(once, other, once))))


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


FLOOR = Floor(10_000, {"accuracy": 45.6}, {"accuracy": 45.0})
SCIENCE = {
    "pretrain": "a",
    "data": "sha256:1",
    "task": {"kind": "classification"},
    "settings": {"max_train_examples": 9},
}


def test_they_are_read_as_they_were_written(tmp_path):
    both = Addenda({"0a": FLOOR}, (Remark("Seen before.", "nsp", on="MNLI"),))
    both.write(tmp_path)
    assert addenda.read(tmp_path) == both == Store(tmp_path).addenda()
    assert addenda.read(tmp_path / "nowhere") == Addenda()
    Addenda().write(empty := tmp_path / "empty")
    assert not empty.exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"floors": {"0a": 1}}', '{"remarks": [{"study": "nsp"}]}'])
def test_a_file_of_another_form_is_one_warning(tmp_path, content, capsys):
    (tmp_path / addenda.FILE).write_text(content)
    assert addenda.read(tmp_path) == Addenda()
    assert capsys.readouterr().err.count("it is skipped") == 1


def test_the_floor_of_a_run_depends_on_its_examples_alone():
    same = {**SCIENCE, "pretrain": "b", "settings": {"max_train_examples": 9, "peak_lr": 1e-3}}
    others = ({**SCIENCE, "data": "sha256:2"}, {**SCIENCE, "settings": {}}, {**SCIENCE, "task": {"kind": "span"}})
    assert floor_key(same) == floor_key(SCIENCE)
    assert len({floor_key(science) for science in (SCIENCE, *others)}) == 4


def test_of_two_stores_the_first_floor_counts(tmp_path):
    for name, points in (("one", 45.0), ("two", 46.0)):
        (tmp_path / name / "studies").mkdir(parents=True)
        floors = {"0a": replace(FLOOR, evaluation={"accuracy": points}), name: FLOOR}
        Addenda(floors, (Remark("The same.", "nsp"), Remark(name, "nsp"))).write(tmp_path / name)
    joined = MergedStores([Store(tmp_path / "one"), Store(tmp_path / "two")]).addenda()
    assert (joined.floors["0a"].evaluation, len(joined.floors)) == ({"accuracy": 45.0}, 3)
    assert [remark.sentence for remark in joined.remarks] == ["The same.", "one", "two"]
    assert joined.of({"one"}, {"other"}) == Addenda({"one": FLOOR})


def test_remarks_without_fields_are_short(tmp_path):
    Addenda(remarks=(Remark("Seen before.", "nsp"),)).write(tmp_path)
    assert json.loads((tmp_path / addenda.FILE).read_text())["remarks"] == [
        {"sentence": "Seen before.", "study": "nsp"}
    ]


def test_a_command_and_its_file_have_the_same_options(hostile_names, tmp_path):
    (tmp_path / "studies").mkdir()
    for name in (*hostile_names, "--scale", "-x", "15"):
        words = ["--scale", "tiny", "--corpus", "a", "--corpus", name, "--search"]
        asked = request("own.py", options=shlex.join(words), only=(name,), measure=(name,), finetune_seeds=3)
        asked = dataclasses.replace(asked, random_init=True, seeds=(0, 1), claim_seeds=(3, 4))
        choices = ["--seeds", "2", "--claim-seeds", "3-4", "--finetune-seeds", "3", "--only", name, "--measure", name]
        line = ["bertlab", "ablate", "own.py", *words, *choices, "--random-init", "--name", "mine"]
        assert shlex.split(commands.line([asked], "mine")) == line
        write_configs(tmp_path, "own", record("own", requests=(asked,), name="mine"))
        try:
            name.encode()
        except UnicodeEncodeError:
            assert not (tmp_path / "studies" / "own.toml").exists()
            continue
        assert tomllib.loads((tmp_path / "studies" / "own.toml").read_text()) == {
            "study": ["own.py"],
            "scale": "tiny",
            "corpus": ["a", name],
            "search": True,
            "seeds": "2",
            "claim-seeds": "3-4",
            "finetune-seeds": 3,
            "only": [name],
            "measure": [name],
            "random-init": True,
            "name": "mine",
        }


def test_options_of_a_setting_have_the_types_of_the_command():
    from bertlab.cli import ablate  # noqa: F401

    hints = {name: str(option.annotation) for name, option in COMMANDS["ablate"].items()}
    for name, kind in commands.SETTING.items():
        assert ("list[" in hints[name]) is (kind is list)
        assert (hints[name] == "<class 'bool'>") is (kind is bool)


def test_each_command_has_a_file_and_no_other_stays(tmp_path):
    (studies := tmp_path / "studies").mkdir()

    def files():
        return {path.name: tomllib.loads(path.read_text())["seeds"] for path in studies.glob("*.toml")}

    def save(stem, *requests, sources=()):
        write_configs(tmp_path, f"{stem}--smoke--12345678", record(stem, requests=requests, sources=sources))

    one = request("own.py", seeds=(0, 1, 2))
    save("other", request("other", seeds=tuple(range(9))))
    sources = [{"own.py": "3"}, {"own.py": "5-6"}]
    first, second = (short_hash(files) for files in sources)
    asked = dataclasses.replace(one, file=first), dataclasses.replace(one, seeds=(5, 6), file=second)
    save("own", *asked, sources=tuple(sources))
    other = {"other--smoke--12345678.toml": "9"}
    assert files() == other | {"own--smoke--12345678.toml": "3", "own--smoke--12345678-2.toml": "5-6"}
    copies = [saved_copy(studies / f"own--smoke--12345678{number}.toml", "own.py") for number in ("", "-2")]
    assert [copy.read_text() for copy in copies] == ["3", "5-6"]
    written = (studies / "own--smoke--12345678.toml").stat()
    save("own", one)
    assert files() == other | {"own--smoke--12345678.toml": "3"}
    assert not copies[1].parent.exists()
    assert (studies / "own--smoke--12345678.toml").stat().st_mtime_ns == written.st_mtime_ns
    for options in ("--corpus \udcff", "--set 'a=1", "--set"):
        save("own", one)
        save("own", dataclasses.replace(one, options=options))
        assert files() == other
