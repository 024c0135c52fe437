"""The store: done means renamed, a damaged file is never taken for a whole one."""

import errno
import fcntl
import json
import multiprocessing
import os
import re
import shutil
from pathlib import Path

import pytest

from bertlab.errors import FULL, BadInput, RunFailed, Unwritable, writing
from bertlab.names import filename, label
from bertlab.store import locks, lookup, records
from bertlab.store.files import digest, read_lines
from bertlab.store.prune import prune
from bertlab.store.result import Failure, Result
from bertlab.store.run import Run
from bertlab.store.runs import CHECKPOINT, Store
from bertlab.store.writes import append_line, sweep, write, write_json
from small_record import record

A = 16 * "a"


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "runs")
    made.create_directories()
    return made


def finished(store, run_id="0123456789abcdef", name="Masking 80/10/10"):
    work = store.work("pretrain", run_id)
    write_json(work, "recipe.json", {"science": {"recipe": {}}})
    write_json(work, "result.json", {"status": "done"})
    (work / "milestones").mkdir()
    (work / "milestones" / "a.safetensors").write_bytes(b"weights")
    return store.finish("pretrain", run_id, name)


def test_a_run_is_absent_until_it_is_whole(store):
    work = store.work("pretrain", "0123456789abcdef")
    (work / "result.json").write_text("{}")
    assert store.runs() == []
    assert store.unfinished() == [("pretrain", "0123456789abcdef", False)]
    run = finished(store)
    assert store.get(run.id) == run
    assert run.path.name == "0123456789abcdef--masking-80-10-10"
    assert run.result() == Result(status="done")
    assert store.unfinished() == []


def test_a_directory_without_a_manifest_is_no_run(store):
    run = finished(store)
    (run.path / "manifest.json").unlink()
    assert store.get(run.id) is None


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_damage_is_found(store, harm):
    run = finished(store)
    run.verify()
    file = run.path / "milestones" / "a.safetensors"
    if harm == "remove":
        file.unlink()
    else:
        file.write_bytes(b"weightz" if harm == "flip" else b"weight")
    with pytest.raises(BadInput, match=r"is damaged: remove it with `bertlab runs --remove 0123456789abcdef`"):
        run.verify()


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
@pytest.mark.parametrize("name", ["result.json", "recipe.json", "manifest.json"])
def test_a_run_whose_small_files_are_damaged_does_not_count(store, harm, name):
    run = finished(store)
    file = run.path / name
    content = file.read_bytes()
    if harm == "remove":
        file.unlink()
    else:
        file.write_bytes(bytes([content[0] ^ 1]) + content[1:] if harm == "flip" else content[:-3])
    assert store.runs() == []
    assert store.get(run.id) is None
    if name != "manifest.json" or harm != "remove":  # a directory without a manifest never was a run
        assert store.damaged() == [(run, file)]
        with pytest.raises(BadInput, match="is damaged"):
            lookup.find(store, run.id)
        assert lookup.find(store, run.id, to_remove=True) == run
    again = finished(store)
    assert store.runs() == [again]
    again.verify()
    assert [path.name for path in run.path.parent.glob(".*")] == [f".{run.path.name}.damaged"]
    prune(store)
    assert not list(run.path.parent.glob(".*"))


def test_what_only_the_work_needs_is_no_part_of_the_run(store):
    work = store.work("pretrain", "0123456789abcdef")
    part = work / ".result.json.1.part"  # of a write that was killed
    part.write_text("")
    assert store.work("pretrain", "0123456789abcdef") == work
    assert not part.exists()
    part.write_text("")
    (work / CHECKPOINT).mkdir()
    for name in ("recipe.json", "result.json", f"{CHECKPOINT}/moments.json"):
        write_json(work, name, {"science": {}})
    run = store.finish("pretrain", "0123456789abcdef", "one")
    assert sorted(run.manifest()) == ["recipe.json", "result.json"]
    assert sorted(path.name for path in run.path.iterdir()) == ["manifest.json", "recipe.json", "result.json"]


@pytest.fixture
def synced(monkeypatch):
    """The paths that are synced and the names that files get, in this order."""
    done = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    for name in ("replace", "rename"):
        renamed = getattr(Path, name)
        monkeypatch.setattr(
            Path, name, lambda path, to, renamed=renamed: (renamed(path, to), done.append(f"named {to.name}"))
        )
    return done


def test_a_file_is_on_disk_before_it_has_its_name(tmp_path, synced):
    write(tmp_path, "x", "a")
    assert synced == [f"{tmp_path}/.x.{os.getpid()}.part", "named x", str(tmp_path)]


def test_a_run_is_on_disk_before_it_has_its_name(store, synced):
    run = finished(store)
    work = run.path.with_name(f".{run.id}.work")
    at = synced.index(f"named {run.path.name}")
    needed = ("recipe.json", "result.json", "milestones/a.safetensors", "milestones", "")
    assert {str(work / name) for name in needed} <= {*synced[:at]}
    assert "named manifest.json" in synced[:at]
    assert synced[at + 1] == str(run.path.parent)


def test_only_old_parts_of_killed_processes_are_swept(tmp_path):
    dead = 2**22 + 1
    names = (f".x.{os.getpid()}.part", f".x.{dead}.part", f".x.{dead + 1}.part", f".y.{dead}.part")
    for name in names:
        (tmp_path / name).mkdir()
        if name != names[2]:
            os.utime(tmp_path / name, (0, 0))
    sweep(tmp_path / "x")
    assert {path.name for path in tmp_path.iterdir()} == {*names} - {names[1]}


def test_the_part_of_a_process_of_another_user_stays(tmp_path, monkeypatch):
    def refused(process, number):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refused)
    (tmp_path / ".x.7.part").mkdir()
    os.utime(tmp_path / ".x.7.part", (0, 0))
    sweep(tmp_path / "x")
    assert (tmp_path / ".x.7.part").exists()


def test_a_lock_has_the_last_record_of_each_stage(tmp_path):
    with locks.locked(tmp_path / "a") as lock:
        for done, stage, recorded in ((1, "x" * 3000, 1), (2, "x" * 3000, 1), (3, "y", 3)):
            lock(done, 9, stage)
            assert locks.record(tmp_path / "a").done == recorded


def test_a_group_that_outlives_its_command_keeps_its_lock(store):
    with store.locks.group(A):
        with store.locks.run(A) as lock:
            assert lock is None
        with (
            pytest.raises(RunFailed, match="another process writes run a"),
            store.locks.group(A),
        ):
            pass
    with store.locks.run(A) as lock:
        assert lock is not None


def test_the_beginning_of_a_file_has_a_digest_of_its_own(tmp_path):
    for name, content in (("one", b"abc"), ("two", b"abcdef")):
        (tmp_path / name).write_bytes(content)
    assert digest(tmp_path / "one") == digest(tmp_path / "two", 3) != digest(tmp_path / "two")


def test_loggers_of_a_run_stay_with_the_first_study(store):
    first = store.logs("one", "pretrain", "aa", "a run")
    assert first == store.root / "logs" / "one" / "pretrain" / "aa--a-run"
    first.mkdir(parents=True)
    assert store.logs("two", "pretrain", "aa", "it") == first
    assert store.logs("two", "pretrain", "ab", "it").parts[-3:] == ("two", "pretrain", "ab--it")


def test_those_who_look_at_a_lock_do_not_hold_it(tmp_path):
    (tmp_path / "a").touch()
    with (tmp_path / "a").open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert not locks.is_locked(tmp_path / "a")


@pytest.mark.parametrize(("changed", "file"), [({"kind": "finetune"}, "recipe.json"), ({"id": "0"}, "recipe.json")])
def test_a_file_of_another_run_is_damage(store, changed, file):
    run = finished(store)
    write_json(run.path, file, {"science": {}, **changed})
    facts = {"bytes": (run.path / file).stat().st_size, "sha256": digest(run.path / file)}
    write_json(run.path, "manifest.json", run.read("manifest.json", dict) | {file: facts})
    assert store.damaged() == [(run, run.path / file)]


def test_a_manifest_without_a_result_is_damage(store):
    run = finished(store)
    manifest = run.read("manifest.json", dict)
    del manifest["result.json"]
    write_json(run.path, "manifest.json", manifest)
    assert store.damaged() == [(run, run.path / "manifest.json")]


def test_a_run_that_another_process_has_repeated_is_not_set_aside(store, monkeypatch):
    run = finished(store)
    found = iter([None, run.path / "result.json", None])
    monkeypatch.setattr(Run, "damage", lambda self, large=True: next(found))
    with pytest.raises(RunFailed, match="has to be repeated"):
        store.get_verified(run.id)
    assert run.path.exists()


def test_an_empty_store_stays_while_a_command_needs_it(store):
    with store.locks.reserved([A]):
        store.remove_if_empty()
        assert store.locks.reserved_ids() == {A}
    store.remove_if_empty()
    assert not store.root.exists()


def test_shared_answers_lie_in_their_folder_only(store):
    run = finished(store)
    manifest = run.read("manifest.json", dict)
    (store.root / "answers").mkdir()
    for name in (digest(run.path / "recipe.json"), "../studies/a"):
        path = store.root / "answers" / f"{name}.npz"
        path.write_bytes((run.path / "recipe.json").read_bytes())
        facts = manifest["recipe.json"] | {"sha256": name}
        write_json(run.path, "manifest.json", {**manifest, "answers.npz": facts})
        assert store.damaged() == ([(run, run.path / "manifest.json")] if name.startswith("..") else [])


def test_what_is_to_be_used_is_hashed_and_set_aside_if_it_is_damaged(store):
    run = finished(store)
    assert store.get_verified(run.id) == run
    (run.path / "milestones" / "a.safetensors").write_bytes(b"weightz")
    assert store.runs() == [run]
    with pytest.raises(RunFailed, match=r"a.safetensors' was damaged: the run has to be repeated"):
        store.get_verified(run.id)
    assert store.runs() == store.damaged() == []
    with pytest.raises(RunFailed, match="is gone"):
        store.get_verified(run.id)


def test_a_record_makes_its_folder(tmp_path):
    """Runs may have been kept without it."""
    store = Store(tmp_path / "runs")
    records.write(store.root, "masking", record())
    assert [*store.records()] == ["masking"]


def test_records_that_were_changed_are_not_read(store):
    kept = record(question="84.2?")
    records.write(store.root, "masking", kept)
    assert [*store.records(needed=()).values()] == [kept]
    file = store.root / "studies" / "masking.json"
    file.write_text(file.read_text().replace("84.2", "84.3"))
    with pytest.raises(BadInput, match=r"masking.json' is damaged"):
        store.records()
    assert store.records(needed=()) == {}
    store.fail(Failure(id=A, status="failed"))
    file = store.root / "failures" / f"{A}.json"
    file.write_text(file.read_text().replace("failed", "failee"))
    assert store.failure(A) is None
    assert store.failures() == []


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES])
def test_a_place_without_room_is_one_line(tmp_path, number):
    with pytest.raises(Unwritable, match=f"'{tmp_path}' cannot be written .*--runs") as caught, writing(tmp_path):
        raise OSError(number, os.strerror(number))
    assert ("MB are free" in str(caught.value)) is (number in FULL)


def test_other_errors_are_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(FileNotFoundError), writing(tmp_path):
        (tmp_path / "gone").read_bytes()


def test_a_lock_is_seen_by_others_and_freed_by_death(store):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    holder = context.Process(target=hold, args=(store.root, ready, done))
    store.work("pretrain", A)
    holder.start()
    assert ready.wait(30)
    assert store.unfinished() == [("pretrain", A, True)]
    holder.kill()
    holder.join()
    assert store.unfinished() == [("pretrain", A, False)]
    with store.locks.run(A):
        pass


def hold(root, ready, done):
    with Store(root).locks.run(A):
        ready.set()
        done.wait(60)


def test_names_match_ids_labels_and_paths(store):
    first = finished(store, "aa00000000000000", "one")
    second = finished(store, "ab00000000000000", "two")
    assert lookup.find(store, "aa") == lookup.find(store, "one") == lookup.find(store, str(first.path)) == first
    assert lookup.find(store, "two") == second
    with pytest.raises(BadInput, match="may be"):
        lookup.find(store, "a")
    for text, to_remove in (("zz", False), ("a", True), ("aa", True)):
        with pytest.raises(BadInput, match="no finished run"):
            lookup.find(store, text, to_remove=to_remove)
    assert lookup.find(store, first.id, to_remove=True) == lookup.find(store, "one", to_remove=True) == first


def test_removing_leaves_nothing(store):
    run = finished(store)
    store.remove([run])
    assert not run.path.exists()
    assert store.runs() == []


def test_a_removal_that_is_killed_leaves_no_run(store, monkeypatch):
    run = finished(store)
    monkeypatch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
    store.remove([run])
    assert store.runs() == store.damaged() == []


def test_failures_are_kept_until_the_run_is_finished(store):
    store.fail(Failure(id="0123456789abcdef", status="diverged", reason="x"))
    assert store.failure("0123456789abcdef").status == "diverged"
    finished(store)
    assert store.failures() == []


def test_a_line_that_was_cut_short_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for rest in ("", "\n{}"):  # of another attempt
        path.write_text('{"step": 1}\n{"step": 2}\n{"st' + rest)
        assert read_lines(path.read_bytes(), dict) == [{"step": 1}, {"step": 2}]


@pytest.mark.parametrize(
    "text", ["../../etc/passwd", "a/b", "", "...", "MNLI fine-tuned", "x" * 200, "<b>", "\n", "🦔"]
)
def test_labels_cannot_leave_the_store(text):
    made = label(text)
    assert 1 <= len(made) <= 64
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-")
    assert made[0] not in "._-"


def test_hostile_names_make_runs_and_records_inside_the_store(store, hostile_names, tmp_path):
    for number, name in enumerate(hostile_names):
        run = finished(store, f"{number:016x}", name)
        assert run.path.parent == store.root / "pretrain"
        assert re.fullmatch(r"[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?", run.label)
        assert store.get(run.id) == run
        records.write(store.root, filename(f"{name}--tiny--01234567"), record(study=name, source=name))
    assert len(store.runs()) == len(hostile_names)
    found = [*store.records(needed=()).values()]
    assert sorted(record.study for record in found) == sorted(hostile_names)
    assert all(record.source == record.study for record in found)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_failures_and_lines_keep_any_text(store, hostile_names):
    for number, name in enumerate(hostile_names):
        store.fail(Failure(id=f"{number:016x}", reason=name))
        append_line(store.root, "metrics.jsonl", {name: name})
    assert [failure.reason for failure in store.failures()] == hostile_names
    assert read_lines((store.root / "metrics.jsonl").read_bytes(), dict) == [{name: name} for name in hostile_names]


def test_a_record_of_a_long_name_keeps_its_setting_apart(store):
    for mark in ("01234567", "89abcdef"):
        records.write(store.root, filename(f"{'a' * 80}--tiny--{mark}"), record(setting=mark))
    assert {record.setting for record in store.records(needed=()).values()} == {"01234567", "89abcdef"}


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        Store(tmp_path / "file" / "runs").create_directories()


def test_writing_leaves_no_part_behind(tmp_path):
    with pytest.raises(TypeError):
        write_json(tmp_path, "x.json", {"a": object()})
    write_json(tmp_path, "y.json", [1])
    assert [path.name for path in tmp_path.iterdir()] == ["y.json"]
    assert json.loads((tmp_path / "y.json").read_text()) == [1]
