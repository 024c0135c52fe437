"""Pruning: what a record ever asked for stays, and what a command at work needs."""

import json
import multiprocessing
import os
import threading

import pytest

from bertlab.errors import BadInput
from bertlab.store import records
from bertlab.store.prune import prune
from bertlab.store.runs import CHECKPOINT, Store
from bertlab.store.writes import write_json
from small_record import record, row, value

NAMES = ("a0", "a1", "a2", "a3", "b0", "c0", "c1", "c2", "f0", "f1", "f2")
A0, A1, A2, A3, B0, C0, C1, C2, F0, F1, F2 = (8 * name for name in NAMES)


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "runs")
    made.create_directories()
    return made


def finish(store, kind, run_id, **science):
    work = store.work(kind, run_id)
    write_json(work, "recipe.json", {"kind": kind, "id": run_id, "science": science})
    write_json(work, "result.json", {"status": "done"})
    return store.finish(kind, run_id, "a run")


def test_only_what_no_record_asks_for_is_removed(store):
    for kind, run_id in (
        ("corpus", C0),
        ("corpus", C1),
        ("corpus", C2),
        ("finetune", F0),
        ("finetune", F1),
    ):
        finish(store, kind, run_id)
    finish(store, "pretrain", A0, corpus=C0)
    finish(store, "pretrain", A1, corpus=C2)
    finish(store, "finetune", B0)
    for run_id in (A2, A3):
        store.work("pretrain", run_id)
    rows = (row("a", A0, C0), row("a", A2, C1))
    records.write(
        store.root, "own", record(tries=(B0,), rows=rows, cells=(value(A0, F0), value(A2, F2, pretrain_seed=1)))
    )
    assert prune(store) == (3, 1)
    assert {run.id for run in store.runs()} == {
        C0,
        C1,
        A0,
        F0,
        B0,
    }
    assert [run_id for _, run_id, _ in store.unfinished()] == [A2]
    assert prune(store) == (0, 0)


def test_first_steps_from_which_an_interrupted_study_goes_on_stay(store):
    def train(run_id):
        (state := store.work("trunk", run_id) / "state").mkdir()
        (state / "step-00000002").write_bytes(b"weights")
        finish(store, "trunk", run_id, corpus=C0)

    finish(store, "corpus", C0)
    finish(store, "pretrain", A0, corpus=C0)
    records.write(store.root, "own", record(rows=tuple(row("a", run_id, C0) for run_id in (A0, A1))))
    train(C1)
    assert prune(store) == (0, 0)
    finish(store, "pretrain", A1, corpus=C0)  # the last run of the study
    assert prune(store) == (1, 0)
    assert {run.id for run in store.runs()} == {C0, A0, A1}


def test_remains_of_killed_commands_are_removed_unless_one_may_use_them(store):
    run = finish(store, "pretrain", A0, corpus=C0)
    records.write(store.root, "own", record(rows=tuple(row("a", run_id, C0) for run_id in (A0, A1))))
    store.work("pretrain", A1)
    finish(store, "corpus", C2)
    finish(store, "pretrain", A2, corpus=C2)
    with store.locks.reserved([A2]):  # and so its text
        assert prune(store) == (0, 0)
    assert prune(store) == (2, 0)
    group, checkpoint = store.locks.scratch / "group.1", run.path / CHECKPOINT  # it was killed while it removed it
    group.mkdir()
    checkpoint.mkdir()
    with store.locks.run(A1):
        prune(store)
        assert (group.exists(), checkpoint.exists()) == (True, False)
    prune(store)
    assert not group.exists()
    assert store.runs() == [run]


def test_nothing_is_removed_while_a_record_cannot_be_read(store):
    finish(store, "pretrain", A0, corpus=C0)
    (store.root / "studies" / "own.json").write_text("{")
    with pytest.raises(BadInput, match=r"own.json' is damaged"):
        prune(store)
    assert [run.id for run in store.runs()] == [A0]


def test_what_a_command_at_work_needs_stays_until_it_ends(store):
    finish(store, "corpus", C0)
    store.work("pretrain", A0)
    finish(store, "corpus", C1)
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    command = context.Process(target=at_work, args=(store.root, ready, done))
    command.start()
    assert ready.wait(60)
    assert [prune(store), prune(store)] == [(1, 0), (0, 0)]
    assert [run.id for run in store.runs()] == [C0]
    assert [run_id for _, run_id, _ in store.unfinished()] == [A0]
    command.kill()  # and so it says nothing more
    command.join()
    assert prune(store) == (1, 1)
    assert store.runs() == []
    assert not list(store.locks.scratch.glob("asks.*"))


def at_work(root, ready, done):
    with Store(root).locks.reserved([C0, A0]):
        ready.set()
        done.wait(60)


def test_several_at_once_do_not_trip_over_each_other(store):
    for number in range(40):
        finish(store, "corpus", f"{number:016x}")
    found = []
    threads = [threading.Thread(target=lambda: found.append(prune(Store(store.root)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(0, 0)] * 3 + [(40, 0)]


def test_a_command_that_begins_waits_for_a_prune(store):
    began = threading.Event()

    def begin():
        with store.locks.reserved([C0]):
            began.set()

    with store.locks.exclusive():
        thread = threading.Thread(target=begin)
        thread.start()
        assert not began.wait(0.7)
    assert began.wait(60)
    thread.join()
    assert json.dumps(sorted(store.locks.reserved_ids())) == "[]"


def test_a_run_that_another_command_removes_is_damaged_and_no_error(store, monkeypatch):
    run = finish(store, "corpus", C0)
    listed = os.scandir

    def removed(path):
        monkeypatch.undo()
        entries = [*listed(path)]
        store.remove([run])
        return entries

    monkeypatch.setattr(os, "scandir", removed)
    assert run.damage() == run.path / "manifest.json"


def test_what_a_killed_merge_left_is_removed_unless_one_copies_it_now(store):
    left = store.root / "corpus" / f".{C0}.merged"
    left.mkdir(parents=True)
    with store.locks.run(C0):
        prune(store)
        assert left.exists()
    prune(store)
    assert not left.exists()


def test_runs_that_lie_elsewhere_are_not_removed_there(store, tmp_path):
    """A folder of a run that is a link: the link goes, what it leads to stays."""
    run = finish(store, "corpus", C0)
    (run.path / CHECKPOINT).mkdir()
    away = run.path.rename(tmp_path / run.path.name)
    run.path.symlink_to(away)
    assert prune(store) == (1, 0)
    assert not run.path.is_symlink()
    assert {path.name for path in away.iterdir()} >= {CHECKPOINT, "manifest.json", "recipe.json"}
