"""Files of a store are checked on reading: one line names each bad file, and the good ones are shown."""

import json
import os

import pytest

from bertlab.store.result import Failure
from bertlab.store.runs import Store
from bertlab.store.writes import write_json, write_sealed

DEEP = "[" * 100_000
BAD = {
    "empty": "",
    "object": "{}",
    "list": "[]",
    "number": "3",
    "null": "null",
    "text": '"a"',
    "deep": DEEP,
    "binary": "\0\x01",
    "cut": '{"study": "ma',
    "names": '{"study": 3, "rows": {}, "cells": 7, "id": [], "science": 1, "status": {}, "reason": []}',
    "numbers": '{"study": "a", "rows": [3], "cells": [[]], "tries": "x"}',
}


def spoil(path, how):
    """Puts something else in the place of a file."""
    path.unlink(missing_ok=True)
    if how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "circle":
        path.symlink_to(path.name)
    else:
        path.write_text(BAD[how])


WAYS = [*BAD, "folder", "pipe", "circle"]


@pytest.fixture
def store(place):
    """Two finished runs and a failure."""
    found = Store(place / "runs")
    found.create_directories()
    for number in (1, 2):
        run_id = f"{number:016x}"
        work = found.work("pretrain", run_id)
        write_json(work, "recipe.json", {"kind": "pretrain", "id": run_id, "label": "a", "science": {"recipe": {}}})
        write_json(work, "result.json", {"status": "done", "heldout": {}})
        write_json(work, "environment.json", {"numerics": {}})
        found.finish("pretrain", run_id, f"run-{number}")
    found.fail(Failure(id="f" * 16, kind="pretrain", label="x", status="failed", reason="r", science={}))
    return found


@pytest.fixture
def listed(call, capsys):
    def check(*arguments):
        capsys.readouterr()
        assert call("runs", "--json", *arguments) == 0
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert all(line.startswith("bertlab: ") for line in captured.err.splitlines())
        return {each["id"]: each["status"] for each in json.loads(captured.out)}, captured.err

    return check


GOOD = "0" * 15 + "2"


@pytest.mark.parametrize("name", ["recipe.json", "result.json", "manifest.json"])
@pytest.mark.parametrize("how", WAYS)
def test_a_bad_run_hides_no_good_one(store, listed, name, how):
    spoil(store.get("0" * 15 + "1").path / name, how)
    found, _ = listed()
    assert found[GOOD] == "done"
    assert found.get("0" * 15 + "1", "damaged") == "damaged"


@pytest.mark.parametrize("name", ["recipe.json", "result.json", "environment.json"])
@pytest.mark.parametrize("how", BAD)
def test_a_bad_form_under_a_good_seal_does_not_count(store, listed, name, how):
    from bertlab.store.files import digest

    run = store.get("0" * 15 + "1")
    (run.path / name).write_text(BAD[how])
    facts = json.loads((run.path / "manifest.json").read_text())
    facts[name] = {"bytes": (run.path / name).stat().st_size, "sha256": digest(run.path / name)}
    (run.path / "manifest.json").write_text(json.dumps(facts))
    found, _ = listed()
    assert found[GOOD] == "done"
    if (name == "environment.json" and how in ("names", "numbers")) or (how == "object" and name != "recipe.json"):
        return  # of the right form, and it says nothing
    assert found["0" * 15 + "1"] == "damaged"


@pytest.mark.parametrize("how", WAYS)
def test_a_bad_failure_hides_nothing(store, listed, how):
    spoil(store.root / "failures" / f"{'f' * 16}.json", how)
    found, said = listed()
    assert found[GOOD] == "done"
    assert f"{'f' * 16}.json" in said


@pytest.mark.parametrize("how", WAYS)
def test_a_bad_record_is_named_by_a_report(store, call, capsys, how):
    spoil(store.root / "studies" / "own.json", how)
    capsys.readouterr()
    assert call("report") == 2
    lines = capsys.readouterr().err.splitlines()
    assert "own.json" in lines[0]
    assert len(lines) == 2
    assert "nothing is finished" in lines[1]


@pytest.mark.parametrize("how", WAYS)
def test_nothing_is_pruned_beside_a_bad_record(store, call, capsys, how):
    spoil(store.root / "studies" / "own.json", how)
    capsys.readouterr()
    assert call("runs", "--prune") == 2
    assert "own.json" in capsys.readouterr().err
    assert len(store.runs()) == 2


@pytest.mark.parametrize("name", ["", "/", ".", "..", "../x", "*", "0", "0" * 15, "run", "pretrain", "run-1/", "[0-9]"])
def test_only_whole_names_remove(store, refused, name):
    refused("runs", "--remove", name, says="no finished run")
    assert len(store.runs()) == 2


def test_a_run_that_a_running_command_needs_is_not_removed(store, refused):
    with store.locks.reserved([GOOD]):
        refused("runs", "--remove", "run-1", "--remove", GOOD, says="a running command needs .*: wait until it ends")
    assert len(store.runs()) == 2


def test_a_run_is_removed_once(store, call, capsys):
    assert call("runs", "--remove", "run-1", "--remove", "run-1", "--remove", "0" * 15 + "1") == 0
    assert capsys.readouterr().out.count("removed") == 1
    assert [run.id for run in store.runs()] == [GOOD]


def test_exchanged_runs_do_not_count(store, listed):
    one, two = (store.get(f"{number:016x}").path for number in (1, 2))
    aside = one.with_name("aside")
    one.rename(aside)
    two.rename(one)
    aside.rename(two)
    found, _ = listed()
    assert found["0" * 15 + "1"] == found[GOOD] == "damaged"


def test_a_run_that_cannot_be_read_is_not_damaged(store, monkeypatch):
    """It is neither trained anew nor set aside."""
    import errno

    from bertlab.errors import Unusable
    from bertlab.store import files

    def broken(path, what):
        raise files.unusable(OSError(errno.EIO, os.strerror(errno.EIO)), what, path)

    monkeypatch.setattr(files, "opened", broken)
    for look in (store.runs, lambda: store.get(GOOD), lambda: store.get_verified(GOOD)):
        with pytest.raises(Unusable, match="Input/output error"):
            look()
    assert not list(store.root.glob("*/.*.damaged"))


def test_a_sealed_record_of_another_form(store, call, capsys):
    write_sealed(store.root / "studies", "own.json", {"study": "own", "rows": [], "cells": []})
    assert call("report") == 2
    assert "its setting is missing, of another type or out of range" in capsys.readouterr().err


def test_a_measurement_is_told_from_a_run_that_is_not_there(refused, store):
    work = store.work("finetune", "3" * 16)
    write_json(work, "recipe.json", {"kind": "finetune", "id": "3" * 16, "label": "b", "science": {}})
    write_json(work, "result.json", {"status": "done"})
    write_json(work, "environment.json", {"numerics": {}})
    store.finish("finetune", "3" * 16, "measured")
    refused("export", "3" * 16, "out", says="is a measurement that keeps no model")
    refused("export", "4" * 16, "out", says="no finished run")
