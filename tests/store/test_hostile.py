"""Stores from elsewhere: whatever stands in their JSON, nothing outside of the target changes, and a report is made.

Each test takes some of the cases of a walk over all values of all files. `HOSTILE=1` in the environment takes all.
"""

import copy
import hashlib
import importlib
import json
import os
import random
import shutil

import pytest

from bertlab import errors
from bertlab.report import export
from bertlab.store.merge import merge
from bertlab.store.result import Failure
from bertlab.store.runs import Store

OUTSIDE = ("../../victim", "/{there}/victim", "..", "a\0b", "y" * 5000, "../failures/x")
UNFIT = (None, True, "", "x" * 10_000, -1, 10**9, 10**30, 1e308, float("nan"), float("inf"), [], ["a"], [[0]], {}, ...)
DEEP = json.loads("[" * 300 + "]" * 300)
FILES = ("recipe.json", "result.json", "environment.json", "manifest.json", "timing.jsonl", "metrics.jsonl")


@pytest.fixture(scope="module")
def exported(finished, unpacked, tmp_path_factory):
    """The results of a finished study without weights in folders, with a failure."""
    root = tmp_path_factory.mktemp("exported") / "results"
    root.mkdir()
    export.results(Store(finished), "masking", root)
    unpacked(root)
    (root / "failures").mkdir()
    Store(root).fail(Failure(id="f" * 16, kind="finetune", label="a", status="failed", reason="r", log=""))
    return root


def files(root):
    """The record, the failure, and the files of a run of each kind."""
    yield from (*root.glob("studies/*.json"), *root.glob("failures/*.json"))
    for kind in ("pretrain", "finetune", "features"):
        run = min((root / kind).iterdir())
        yield from (run / name for name in FILES if (run / name).exists())


def read(file):
    text = file.read_text()
    return [*map(json.loads, text.splitlines())] if file.suffix == ".jsonl" else json.loads(text)


def places(value, *above):
    """The way to every value, and into the first and the last member of each list."""
    inner = value.items() if isinstance(value, dict) else {}
    if isinstance(value, list) and value:
        inner = {0: value[0], len(value) - 1: value[-1]}.items()
    for key, item in inner:
        yield (*above, key)
        yield from places(item, *above, key)


def altered(data, way, value):
    data = inner = copy.deepcopy(data)
    for key in way[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return data


def put(file, data):
    """Writes other data in the place of a file, under good checksums."""
    if isinstance(data, dict):
        data.pop("sha256", None)
    lines = data if file.suffix == ".jsonl" and isinstance(data, list) else [data]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    manifest = file.with_name("manifest.json")
    if manifest.exists() and file != manifest:
        facts = {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {file.name: facts}))


def some(cases, number):
    return cases if os.environ.get("HOSTILE") else random.Random(0).sample(cases, number)


def tree(folder, *apart):
    """All files below a folder, with their content, but those in `apart`."""
    paths = [path for path in folder.rglob("*") if not any(map(path.is_relative_to, apart))]
    return {path: path.read_bytes() if path.is_file() else None for path in paths if ".locks" not in path.parts}


@pytest.fixture
def store(exported, tmp_path):
    return shutil.copytree(exported, tmp_path / "deep" / "in" / "runs")


@pytest.fixture
def asked(call, capsys, monkeypatch):
    """Gives a command: it may refuse, in lines, but not fail."""
    for name, figures in (("pages", "pictures"), ("page", "figures")):  # which take seconds
        monkeypatch.setattr(importlib.import_module(f"bertlab.report.{name}"), figures, lambda *_, **__: {})

    def asked(case, *arguments):
        monkeypatch.setattr(errors, "_warned", set())
        capsys.readouterr()
        code = call(*arguments)
        said = capsys.readouterr().err
        assert code in (0, 2), (case, arguments, said)
        assert "Traceback" not in said, (case, said)
        return code, said

    return asked


def test_nothing_outside_of_the_target_is_written(store, asked, tmp_path):
    there, target = store.parent.parent, tmp_path / "deep" / "out" / "target"
    (there / "victim.json").write_text("mine")
    cases = [
        (file, way, value.format(there=there))
        for file in files(store)
        for way in places(read(file))
        for value in OUTSIDE
        if file.suffix == ".json"
    ]
    for index, (file, way, value) in enumerate(some(cases, 6)):
        before = {path: path.read_bytes() for path in (file, file.with_name("manifest.json")) if path.exists()}
        put(file, altered(read(file), way, value))
        whole = tree(tmp_path)
        case = file.name, way, value[:20]
        asked(case, "merge", store, "--into", target)
        if not index:  # it takes a second
            asked(case, "export", "masking", target.with_name("results"), "--results", "--runs", store)
        assert tree(tmp_path, target.parent) == whole, case
        shutil.rmtree(target.parent, ignore_errors=True)
        for path, content in before.items():
            path.write_bytes(content)


def test_a_value_of_another_form_costs_its_own_line(store, asked, tmp_path):
    cases = [(file, way, value) for file in files(store) for way in places(read(file)) for value in (*UNFIT, DEEP)]
    for file, way, value in some(cases, 12):
        before = {path: path.read_bytes() for path in (file, file.with_name("manifest.json")) if path.exists()}
        put(file, altered(read(file), way, value))
        case = file.name, way, str(value)[:20]
        code, said = asked(case, "report", "--runs", store, "--out", tmp_path / "pages", "--format", "md")
        assert code == 0 or file.parent.name == "studies", (case, said)  # without its only record there is nothing
        assert code == 0 or file.name in said, (case, said)
        assert asked(case, "runs", "--runs", store)[0] == 0, case
        for path, content in before.items():
            path.write_bytes(content)


@pytest.mark.parametrize(
    "run_id", ["../../victim", "/victim", "0" * 15, "0" * 17, "F" * 16, "f" * 15 + "\n", "a\0b", 7]
)
def test_a_failure_of_no_run_or_of_another_is_refused(store, run_id, capsys, tmp_path):
    (file,) = store.glob("failures/*.json")
    record, other = read(file), file.with_name(f"{'e' * 16}.json")
    put(other, record)
    put(file, record | {"id": run_id})
    capsys.readouterr()
    errors._warned.clear()
    assert Store(store).failures() == []
    assert [file.name in line or other.name in line for line in capsys.readouterr().err.splitlines()] == [True, True]
    merge([store], tmp_path / "into", lambda done, total: None)
    assert not list((tmp_path / "into" / "failures").iterdir())


@pytest.mark.parametrize("link", ["failures", "studies", "pretrain", "finetune", ".locks", ".locks/store"])
def test_a_link_in_the_target_is_not_followed(store, asked, tmp_path, link):
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "victim").write_text("mine")
    (target / link).parent.mkdir(parents=True)
    (target / "corpus" / f"{'a' * 16}--text").mkdir(parents=True)
    (target / link).symlink_to(elsewhere / "victim" if link.endswith("store") else elsewhere)
    before = tree(tmp_path)
    code, said = asked(link, "merge", store, "--into", target)
    assert code == 2
    assert "leads out of" in said
    after = tree(tmp_path)
    assert {path: after[path] for path in before} == before
    assert not [path for path in after.keys() - before.keys() if path.is_file()]
