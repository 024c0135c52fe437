"""The archive of exported results: equal bytes, read as folders are, and nothing of a hostile one is written. Stores
joined: copies are whole and on disk, results go before failures."""

import dataclasses
import io
import json
import lzma
import os
import shutil
import tarfile

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.report import export
from bertlab.store import archive, lookup, records
from bertlab.store.merge import merge
from bertlab.store.predictions import divided, packed
from bertlab.store.result import Failure
from bertlab.store.runs import Store
from bertlab.store.writes import write_json

RUN = f"finetune/{'a0' * 8}--a-run"


@pytest.fixture(scope="module")
def exported(finished, tmp_path_factory):
    root = tmp_path_factory.mktemp("exported") / "results"
    root.mkdir()
    export.results(Store(finished), "masking", root)
    return root


@pytest.fixture
def folders(exported, unpacked, tmp_path):
    """The same results in folders."""
    return unpacked(shutil.copytree(exported, tmp_path / "folders"))


def tree(root):
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def contents(run):
    return run.id, run.kind, run.label, run.definition(), run.result(), run.environment(), run.metrics(), run.timing()


def test_a_run_reads_alike_in_an_archive_and_in_folders(exported, folders, finished):
    archived, plain = Store(exported), Store(folders)
    assert [*map(contents, archived.runs())] == [*map(contents, plain.runs())]
    assert len(archived.runs()) == 12
    assert archived.records() == plain.records() == Store(finished).records()
    for run in archived.runs():
        assert run.damage() is None
        assert {name: run.content(name) for name in run.manifest()} == {
            name: plain.get(run.id).content(name) for name in run.manifest()
        }
        assert lookup.find(archived, f"{run.id[:12]}") == lookup.find(archived, str(run.path)) == run
        assert (run.bare, run.root) == (True, exported)
    assert archived.get("f" * 16) is None


def test_equal_results_are_equal_bytes(exported, folders, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    before = os.umask(0o077)
    try:
        for label, store in zip("ab", (exported, folders), strict=True):
            again = tmp_path / label
            again.mkdir()
            export.results(Store(store), "masking", again)
            assert tree(again) == tree(exported)
    finally:
        os.umask(before)
    with tarfile.open(exported / archive.FILE) as tar:
        facts = {(item.mtime, item.mode, item.uid, item.gid, item.uname, item.gname) for item in tar}
        names = tar.getnames()
    assert facts == {(0, 0o644, 0, 0, "", "")}
    shuffled = [(name, archive.opened(exported).read(*name.rsplit("/", 1))) for name in reversed(names)]
    archive.save(tmp_path, shuffled)
    assert (tmp_path / archive.FILE).read_bytes() == (exported / archive.FILE).read_bytes()


def test_a_merge_makes_folders_of_an_archive(exported, folders, tmp_path):
    for source in (exported, folders):
        assert merge([source], tmp_path / f"of-{source.name}", lambda done, total: None)[:2] == (12, 0)
    joined = tree(tmp_path / f"of-{exported.name}")
    assert joined == tree(tmp_path / f"of-{folders.name}")
    assert archive.FILE not in joined
    assert merge([exported], tmp_path / f"of-{exported.name}", lambda done, total: None)[:2] == (0, 12)


def test_a_folder_counts_in_place_of_an_archived_run_and_a_file_in_place_of_a_record(exported, folders):
    shutil.copy(exported / archive.FILE, folders)
    store = Store(folders)
    assert all(run.path.is_dir() for run in store.runs())
    run, *others = store.runs()
    shutil.rmtree(run.path)
    assert [item.id for item in store.runs()] == [run.id, *(item.id for item in others)]
    assert store.get(run.id).path.parents[1].name == archive.FILE
    ((name, record),) = store.records().items()
    records.write(store.root, name, dataclasses.replace(record, question="newer?"))
    assert [item.question for item in store.records().values()] == ["newer?"]


def test_a_run_in_an_archive_is_not_removed(exported, call, capsys, tmp_path):
    store = shutil.copytree(exported, tmp_path / "runs")
    before = tree(store)
    run = Store(store).runs()[0]
    assert call("runs", "--remove", run.id, "--runs", store) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"run {run.id} is in '{store / archive.FILE}': `bertlab merge {store} --into STORE`" in line
    assert {name: data for name, data in tree(store).items() if not name.startswith(".locks")} == before


def test_a_store_that_cannot_be_written_is_read(exported, call, tmp_path):
    store = shutil.copytree(exported, tmp_path / "runs")
    before = tree(store)
    for command in (
        ("runs", "--runs", store),
        ("report", "--format", "md", "--runs", store, "--out", tmp_path / "out"),
    ):
        for path in (store, *store.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        assert call(*command) == 0
    assert tree(store) == before


def test_a_changed_file_under_a_good_archive_is_a_damaged_run(exported, tmp_path):
    opened = archive.opened(exported)
    files = {
        f"{folder}/{name}": opened.read(folder, name) for folder in opened.folders for name in opened.folders[folder]
    }
    result = next(name for name in files if name.startswith("finetune") and name.endswith("result.json"))
    archive.save(tmp_path, (files | {result: files[result].replace(b"0", b"1")}).items())
    ((run, path),) = Store(tmp_path).damaged()
    assert path == tmp_path / archive.FILE / result
    assert len(Store(tmp_path).runs()) == 11
    with pytest.raises(BadInput, match=r"result.json' is damaged: get the archive again"):
        merge([tmp_path], tmp_path / "into", lambda done, total: None)
    assert not (tmp_path / "into").exists()
    assert run.id == result.split("/")[1].partition("--")[0]


def tar(*members):
    """A tar of members: names, or names with other fields."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as stream:
        for entry in members:
            name, fields = (entry, {}) if isinstance(entry, str) else entry
            member = tarfile.TarInfo(name)
            for field, value in fields.items():
                setattr(member, field, value)
            stream.addfile(member, io.BytesIO(b"x" * member.size))
    return file.getvalue()


GOOD = tar(f"{RUN}/result.json", "studies/own.json")
BOMB = lzma.compress(bytes(2**20) * 80)
HOSTILE = {
    "above": tar("../victim"),
    "above a run": tar(f"{RUN}/../../../victim"),
    "absolute": tar("/tmp/victim"),
    "absolute in a folder": tar("finetune//victim"),
    "null": tar((f"{RUN}/a", {"pax_headers": {"path": f"{RUN}/a\0b"}})),
    "deep": tar(f"{RUN}/a/b/c"),
    "another folder": tar(".locks/store"),
    "no id": tar("finetune/a-run/result.json"),
    "no kind": tar(f"logs/{'a0' * 8}--a/result.json"),
    "no hash": tar("answers/own.npz"),
    "code": tar("studies/own.py"),
    "link": tar((f"{RUN}/result.json", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})),
    "hard link": tar((f"{RUN}/result.json", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"})),
    "device": tar((f"{RUN}/result.json", {"type": tarfile.CHRTYPE})),
    "pipe": tar((f"{RUN}/result.json", {"type": tarfile.FIFOTYPE})),
    "folder": tar((RUN, {"type": tarfile.DIRTYPE})),
    "sparse": tar((f"{RUN}/result.json", {"pax_headers": {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}})),
    "twice": tar(f"{RUN}/result.json", f"{RUN}/result.json"),
}
HEADER = tarfile.TarInfo("a")
HEADER.type = tarfile.XHDTYPE


def sized(size):
    """The good tar, whose first member says another size, packed."""
    header = bytearray(GOOD[:512])
    header[124:136], header[148:156] = size, b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return lzma.compress(header + GOOD[512:])


DAMAGED = {
    "a size beyond all numbers": sized(b"\x80" + (2**80).to_bytes(11, "big")),
    "a size below zero": sized((-512).to_bytes(12, "big", signed=True)),
    "headers of headers": lzma.compress(HEADER.tobuf(tarfile.USTAR_FORMAT) * 3000 + GOOD),
    "empty": b"",
    "no xz": b"x" * 1000,
    "cut off": lzma.compress(GOOD)[:-20],
    "more after it": lzma.compress(GOOD) + b"more",
    "a bit": lzma.compress(GOOD)[:60] + bytes([lzma.compress(GOOD)[60] ^ 1]) + lzma.compress(GOOD)[61:],
    "no tar": lzma.compress(b"x" * 5000),
    "a tar without its end": lzma.compress(GOOD[:1024]),
    "a tar with a hole": lzma.compress(GOOD[:512] + b"x" * 512 + GOOD[1024:]),
    "immense": lzma.compress(GOOD[:124] + b"77777777777\0" + GOOD[136:]),
    "a decoder with gigabytes": lzma.compress(GOOD, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**30}]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_other_things_than_results_are_refused_and_not_written(name, tmp_path, call, capsys):
    root = tmp_path / "deep" / "runs"
    root.mkdir(parents=True)
    (root / archive.FILE).write_bytes(lzma.compress(HOSTILE[name]))
    before = tree(tmp_path)
    for command in (
        ("report", "--out", tmp_path / "out", "--runs"),
        ("merge", "--into", tmp_path / "into"),
        ("runs", "--runs"),
    ):
        assert call(*command, root) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"'{root / archive.FILE}' " in line
        assert "which exported results have not" in line or "is damaged" in line
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_archive_is_one_line(name, tmp_path):
    (tmp_path / archive.FILE).write_bytes(DAMAGED[name])
    with pytest.raises(BadInput, match=r"runs.tar.xz' is damaged: get it again"):
        Store(tmp_path, lenient=True).runs()


def test_an_archive_that_unpacks_to_much_more_is_refused(tmp_path):
    (tmp_path / archive.FILE).write_bytes(BOMB)
    with pytest.raises(BadInput, match=r"unpacks to more than 68 MB, which results do not"):
        Store(tmp_path).runs()


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / archive.FILE)
    with pytest.raises(BadInput, match="neither a file nor a folder"):
        Store(tmp_path).runs()


def test_an_archive_is_read_again_when_it_changes(tmp_path):
    for run_id in ("a0" * 8, "a1" * 8):
        files = {"recipe.json": {"science": {}}, "result.json": {}}
        data = {name: json.dumps(content).encode() for name, content in files.items()}
        facts = {name: {"bytes": len(item), "sha256": archive.sha256(item).hexdigest()} for name, item in data.items()}
        data["manifest.json"] = json.dumps(facts).encode()
        archive.save(tmp_path, ((f"finetune/{run_id}--a/{name}", item) for name, item in data.items()))
        assert [run.id for run in Store(tmp_path).runs()] == [run_id]


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
