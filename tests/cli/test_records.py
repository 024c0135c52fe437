"""Records of studies that lack something, or hold it as another type: named in one line, never a fault of bertlab."""

import copy
import shutil

import pytest

from bertlab import errors
from bertlab.errors import BadInput
from bertlab.report.gather import gather_all
from bertlab.store import union
from bertlab.store.files import read_sealed
from bertlab.store.record import Record
from bertlab.store.runs import Store
from bertlab.store.schema import load
from bertlab.store.writes import write_sealed

DEFAULTS = (
    "averages",
    "sizes",
    *(
        f"claims.{name}"
        for name in ("better", "worse", "rising", "than", "within", "or_better", "at", "since", "needs")
    ),
)
"""Fields with a default."""


@pytest.fixture(scope="module")
def written(finished, tmp_path_factory):
    """A store with its runs, the file of its record, and the record."""
    runs = shutil.copytree(finished, tmp_path_factory.mktemp("written") / "runs")
    (file,) = runs.glob("studies/*.json")
    return runs, file, read_sealed(file)


def places(value, *above):
    """The way to every key of a record, and into the first member of each list."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield (*above, key)
            if above[-1:] not in (("variants",), ("measurements",)):  # which are a study's own
                yield from places(each, *above, key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from places(value[0], *above, 0)


def altered(record, way, how):
    found = copy.deepcopy(record)
    inner = found
    for key in way[:-1]:
        inner = inner[key]
    if how == "gone":
        del inner[way[-1]]
    else:
        inner[way[-1]] = 7 if isinstance(inner[way[-1]], str | list | dict | bool) else ["a"]
    return found


@pytest.mark.parametrize("how", ["gone", "of another type"])
def test_no_key_of_a_record_is_trusted(written, capsys, monkeypatch, how):
    runs, file, record = written
    store = Store(runs)
    for way in places(record):
        name = ".".join(str(key) for key in way if key != 0)
        if how == "gone" and name.startswith(("definition.variants.", "definition.measurements.", *DEFAULTS)):
            continue
        monkeypatch.setattr(errors, "_warned", set())
        write_sealed(file.parent, file.name, altered(record, way, how))
        with pytest.raises(BadInput, match="move it away") as refused:
            union.merged(store, [load(Record, record)])
        assert file.name in str(refused.value)
        assert f"its {name} is" in str(refused.value).replace("[0]", "")
        capsys.readouterr()
        study = gather_all(store)
        printed = capsys.readouterr().err.splitlines()
        assert not study, name
        assert [file.name in each for each in printed] == [True], name


def test_a_record_without_code_is_one_line(written, smoke, call, capsys):
    runs, file, record = written
    write_sealed(file.parent, file.name, altered(record, ("definition", "code"), "gone"))
    capsys.readouterr()
    assert call(*smoke, "--runs", runs, "--dry-run") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert file.name in line
    assert "its definition.code is missing" in line


def test_good_records_are_reported_beside_a_bad_one(written, call, capsys, tmp_path, monkeypatch):
    runs, file, record = written
    monkeypatch.setattr(errors, "_warned", set())
    write_sealed(file.parent, file.name, record)
    bad = file.with_name("other.json")
    write_sealed(
        bad.parent, bad.name, {name: each for name, each in record.items() if name != "scale"} | {"study": "other"}
    )
    capsys.readouterr()
    try:
        assert call("report", "--runs", runs, "--out", tmp_path / "out", "--format", "md") == 0
        assert capsys.readouterr().err.count("other.json") == 1
        assert call("merge", runs, "--into", tmp_path / "all") == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "other.json" in line
        assert "move it away" in line
    finally:
        bad.unlink()
