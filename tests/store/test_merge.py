"""Stores joined: copies are whole and on disk, results go before failures."""

import io
import os

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.store.merge import merge
from bertlab.store.predictions import divided, packed
from bertlab.store.result import Failure
from bertlab.store.runs import Store
from bertlab.store.writes import write_json

A0, A1 = (name * 8 for name in ("a0", "a1"))


@pytest.fixture
def stores(tmp_path):
    made = [Store(tmp_path / name) for name in ("one", "other", "into")]
    for store in made:
        store.create_directories()
    return made


def finish(store, *more, run_id=A0):
    """A finished run with `more` files."""
    work = store.work("pretrain", run_id)
    contents = {"recipe": {"science": {}}, "result": {"status": "done"}, "environment": {}}
    for name, content in (contents | {name: [] for name in more}).items():
        write_json(work, f"{name}.json", content)
    return store.finish("pretrain", run_id, "a run")


def joined(into, *others):
    return merge([other.root for other in others], into.root, lambda done, total: None)[:2]


def test_a_run_that_is_finished_somewhere_has_not_failed(stores):
    one, other, into = stores
    finish(one)
    for store, run_id in ((other, A0), (other, A1), (into, A0)):
        store.fail(Failure(id=run_id, status="failed"))
    assert joined(into, other, one) == (1, 0)
    assert [failure.id for failure in into.failures()] == [A1]


def test_a_copy_with_more_files_takes_the_place_of_one_with_fewer(stores):
    one, _, into = stores
    finish(one, "more")
    finish(into)
    assert joined(into, one) == (1, 0)
    (run,) = into.runs()
    assert "more.json" in run.manifest()
    assert [path.name for path in run.path.parent.iterdir()] == [run.path.name]


def test_a_merge_lists_its_folder_as_often_for_many_runs_as_for_few(stores, monkeypatch):
    one, other, into = stores
    for number in range(2):
        finish(one, run_id=f"{number:016x}")
    for number in range(2, 12):
        finish(other, run_id=f"{number:016x}")
    (into.root / "pretrain").mkdir(exist_ok=True)
    listed = []
    listdir, scandir = os.listdir, os.scandir
    monkeypatch.setattr(os, "listdir", lambda path=".": listed.append(str(path)) or listdir(path))
    monkeypatch.setattr(os, "scandir", lambda path=".": listed.append(str(path)) or scandir(path))
    counts = []
    for source in (one, other):
        listed.clear()
        copied, _ = joined(into, source)
        counts.append((copied, listed.count(str(into.root / "pretrain"))))
    assert [copied for copied, _ in counts] == [2, 10]
    assert counts[1][1] <= counts[0][1] + 1, "the first merge finds nothing to list at first"


def test_a_copy_is_on_disk_before_it_has_its_name(stores, monkeypatch):
    one, _, into = stores
    finish(one)
    synced = {}
    monkeypatch.setattr(
        os,
        "fsync",
        lambda descriptor: synced.setdefault(os.readlink(f"/proc/self/fd/{descriptor}"), into.get(A0)),
    )
    assert joined(into, one) == (1, 0)
    beside = into.root / "pretrain" / f".{A0}.merged"
    names = ("recipe.json", "result.json", "environment.json", "manifest.json")
    assert {str(beside / name): None for name in names}.items() <= synced.items()


def test_links_are_refused_wherever_they_lead(stores):
    one, _, into = stores
    run = finish(one, "more", "other")
    (run.path / "more.json").unlink()
    (run.path / "more.json").symlink_to("other.json")
    with pytest.raises(BadInput, match="is a link"):
        joined(into, one)


def test_right_answers_of_both_splits_are_apart_so_that_runs_can_share_them(stores):
    run = finish(stores[0])
    arrays = {f"{split}{name}": np.arange(3) for split in ("", "test_") for name in ("prediction", "label", "group")}
    content = packed(arrays)
    assert content == packed(dict(reversed(arrays.items())))
    (run.path / "predictions.npz").write_bytes(content)
    files = divided(run)
    names = {"predictions.npz": {"prediction", "test_prediction"}}
    names["answers.npz"] = {"label", "group", "test_label", "test_group"}
    assert files.keys() == names.keys()
    for name, data in files.items():
        with np.load(io.BytesIO(data)) as found:
            assert {*found} == names[name]
