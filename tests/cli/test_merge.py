"""Seeds of one study, trained by two people: joined they are the study of one, byte for byte."""

import dataclasses
import io
import json
import pickle
import shutil

import numpy as np
import pytest

from bertlab.errors import RunFailed
from bertlab.store import archive, records
from bertlab.store.config import read, write_configs
from bertlab.store.files import digest, read_json
from bertlab.store.merge import MergedStores
from bertlab.store.runs import Store
from bertlab.store.writes import write_json
from small_record import record, request

STUDY = """
from bertlab import Claim, Corruption, MaskedLM, Measurement, NextSentence, Study, Variant

other = MaskedLM(corruption=Corruption(mask=0.0, keep=0.0, random=1.0))

study = Study(
    name="own", question="Does it?", source="here", baseline="a",
    variants=[Variant("a"), Variant("b", objective=(other, NextSentence()))],
    measurements=[Measurement("loss", metric="masked_lm_loss"), Measurement("MNLI", task="mnli")],
    claims=[Claim("a is better", better="a", worse="b", on="MNLI")],
)
"""


@pytest.fixture(scope="module")
def study(call, tmp_path_factory):
    """Runs the study with some seeds in a store."""
    path = tmp_path_factory.mktemp("study") / "own.py"
    path.write_text(STUDY)
    sets = (
        "schedule.steps=4",
        "finetune.max_steps=2",
        "finetune.max_eval_examples=48",
        "finetune.max_train_examples=16",
    )
    small = [word for setting in sets for word in ("--set", setting)]

    def ablate(runs, seeds, *more):
        command = ("ablate", path, "--scale", "smoke", *small, "--threads", "1", "--precision", "fp32")
        assert call(*command, "--seeds", seeds, "--runs", runs, *more) == 0

    return ablate


@pytest.fixture(scope="module")
def whole(study, tmp_path_factory):
    """A store of four seeds."""
    runs = tmp_path_factory.mktemp("whole") / "runs"
    study(runs, "4")
    return runs


@pytest.fixture(scope="module")
def halves(call, study, whole, tmp_path_factory):
    """Two stores of two seeds each, with the same clocks."""
    folder = tmp_path_factory.mktemp("halves")
    for name, seeds in (("one", "0-1"), ("two", "2-3")):
        shutil.copytree(whole, folder / name, ignore=shutil.ignore_patterns("studies"))
        study(folder / name, seeds)
        assert call("runs", "--prune", "--runs", folder / name) == 0
        assert len(Store(folder / name).runs()) == 1 + 4 + 4
    return folder / "one", folder / "two"


@pytest.fixture(scope="module")
def reported(call, tmp_path_factory):
    """The files of the report of some stores."""

    def report(*stores):
        out = tmp_path_factory.mktemp("report")
        given = [word for store in stores for word in ("--runs", store)]
        assert call("report", *given, "--out", out, "--format", "md", "--format", "html", "--format", "latex") == 0
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.*")}

    return report


def files(runs):
    return {
        (run.path.name, path.relative_to(run.path).as_posix()): path.read_bytes()
        for run in Store(runs).runs()
        for path in run.path.rglob("*.*")
    }


def test_two_halves_are_the_whole_byte_for_byte(call, whole, halves, reported, tmp_path, capsys):
    expected = reported(whole)
    assert b"4 seeds of pre-training (0, 1, 2, 3)" in expected["own.md"]
    assert call("merge", *halves, "--into", tmp_path / "all") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "own, scale smoke: 16 values, seeds 0, 1, 2, 3" in printed
    assert "differs:" not in printed
    assert files(tmp_path / "all") == files(whole)
    assert Store(tmp_path / "all").records() == Store(whole).records()
    assert reported(tmp_path / "all") == expected
    assert reported(*halves) == expected
    assert reported(*halves[::-1]) == expected
    assert call("merge", *halves, tmp_path / "all", "--into", tmp_path / "all") == 0
    assert "0 new runs, 17 were there" in " ".join(capsys.readouterr().out.split())


def test_the_texts_of_the_first_store_count(halves):
    """As its runs do: an older copy takes no claim and no published value from a newer one."""
    one, two = (Store(half) for half in halves)
    for first, second in ((one, two), (two, one)):
        name, record = next(iter(first.records().items()))
        newer = dataclasses.replace(record, question="newer?")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(first, "records", lambda name=name, newer=newer: {name: newer})
            (joined,) = MergedStores([first, second]).records().values()
        assert joined.question == "newer?"


def test_the_command_of_results_takes_their_copy_of_the_study_file(call, whole, tmp_path, capsys):
    assert call("export", "own", tmp_path / "results", "--results", "--runs", whole) == 0
    (record,) = (whole / "studies").glob("*.json")
    config = tmp_path / "results" / "studies" / f"{record.stem}.toml"
    assert not config.exists()
    text = read(config).decode()
    assert text == record.with_suffix(".toml").read_text()
    assert call("ablate", "--config", config, "--runs", whole, "--precision", "fp32", "--dry-run") == 0
    assert call("ablate", "--config", config.with_name("own.toml"), "--runs", whole, "--dry-run") == 2
    assert f"'own.toml': choose from {config.name}" in capsys.readouterr().err
    (copy,) = (tmp_path / "results" / "studies").glob("*/*.py")
    assert copy.read_text() == STUDY
    lines = text.splitlines()
    lines = ['study = ["gone/own.py"]' if line.startswith("study") else line for line in lines]
    config.write_text("\n".join(lines))
    capsys.readouterr()
    assert call("ablate", "--config", config, "--runs", whole, "--precision", "fp32", "--dry-run") == 0
    assert "finetune 8 0" in " ".join(capsys.readouterr().out.split())
    config.write_text(config.read_text().replace("gone/own.py", str(tmp_path / "own.py")))
    (tmp_path / "own.py").write_text(f"{STUDY}# changed")
    assert call("ablate", "--config", config, "--runs", whole, "--precision", "fp32", "--dry-run") == 0
    assert f"'{copy}' is the file of those results" in capsys.readouterr().err
    config.write_text(config.read_text().replace(str(tmp_path / "own.py"), "gone/own.py"))
    copy.unlink()
    assert call("ablate", "--config", config, "--runs", whole, "--precision", "fp32", "--dry-run") == 2
    assert "gone/own.py' does not exist" in capsys.readouterr().err


def test_sources_are_written_below_their_directory_only(tmp_path):
    outside = {"../out.py": "", "/tmp/out.py": "", "a/../../out.py": "", "notes.txt": "", "bad.py": "\udc80"}
    (tmp_path / "studies").mkdir()
    sources = {"own.py": "", "part/beside.py": "x = 1", **outside}
    write_configs(tmp_path, "own", record("own", requests=(request("own.py"),), sources=(sources,)))
    written = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.py")}
    assert written == {"studies/own/own.py": "", "studies/own/part/beside.py": "x = 1"}


def test_exported_results_are_joined_alike_and_give_way_to_runs_with_weights(call, whole, halves, reported, tmp_path):
    for number, half in enumerate(halves):
        assert call("export", "own", tmp_path / f"{number}", "--results", "--runs", half) == 0
    expected = {name: text for name, text in reported(whole).items() if name.endswith("csv")}
    joined = reported(tmp_path / "0", tmp_path / "1")
    assert {name: joined[name] for name in expected} == expected
    archived = archive.opened(tmp_path / "0")
    assert len(archived.folders["answers"]) == 1  # of four runs
    for folder in (name for name in archived.folders if name.startswith("finetune")):
        with np.load(io.BytesIO(archived.read(folder, "predictions.npz"))) as arrays:
            assert "label" not in arrays
    assert call("merge", tmp_path / "0", tmp_path / "1", "--into", tmp_path / "all") == 0
    assert not (tmp_path / "all" / "answers").exists()  # each run is whole
    assert {name: reported(tmp_path / "all")[name] for name in expected} == expected
    assert call("export", "own", tmp_path / "again", "--results", "--runs", tmp_path / "0") == 0
    assert files(tmp_path / "again") == files(tmp_path / "0")
    shutil.copytree(halves[0], tmp_path / "mine")
    assert call("merge", tmp_path / "1", "--into", tmp_path / "mine") == 0
    assert len(Store(tmp_path / "mine").runs()) == 17
    assert call("merge", halves[1], "--into", tmp_path / "mine") == 0
    assert files(tmp_path / "mine") == files(whole)


def tampered(runs, kind, name, **changes):
    """Changes a JSON file of one run of a store and seals it again."""
    path = sorted((runs / kind).glob("[0-9a-f]*"))[0]
    content = json.loads((path / name).read_text())
    for key, value in changes.items():
        content[key] = {**content[key], **value} if isinstance(value, dict) else value
    write_json(path, name, content)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest[name] = {"bytes": (path / name).stat().st_size, "sha256": digest(path / name)}
    write_json(path, "manifest.json", manifest)
    return path.name.partition("--")[0]


def test_results_that_differ_are_refused_unless_they_were_computed_otherwise(call, halves, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(halves[0], other)
    run_id = tampered(other, "pretrain", "result.json", steps=5)
    for command in (("merge", halves[0], other, "--into", tmp_path / "all"), ("report", "--out", tmp_path / "out")):
        stores = () if command[0] == "merge" else ("--runs", halves[0], "--runs", other)
        assert call(*command, *stores) == 2
        complaint = capsys.readouterr().err
        assert f"run {run_id} has one result in" in complaint
        assert complaint.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    on_gpu = [tmp_path / "one", tmp_path / "two"]
    for place, known in zip(on_gpu, (halves[0], other), strict=True):
        shutil.copytree(known, place)
        tampered(place, "pretrain", "environment.json", numerics={"device": "a GPU"})
    assert call("merge", *on_gpu, "--into", tmp_path / "joined") == 0  # which adds in another order each time
    assert f"1 result of the first of the stores kept: {run_id}" in " ".join(capsys.readouterr().out.split())
    tampered(other, "pretrain", "environment.json", numerics={"precision": "bf16"})
    assert call("merge", halves[0], other, "--into", tmp_path / "all") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "precision differs: fp32 in" in printed
    assert f"1 result of the first of the stores kept: {run_id}" in printed
    assert files(tmp_path / "all") == files(halves[0])


@pytest.mark.parametrize(("by", "code"), [(1e-14, 0), (1e-6, 2)])
def test_results_that_differ_by_rounding_are_the_same(call, halves, tmp_path, by, code, capsys):
    """And those of two versions of bertlab, of which the later one has another metric."""
    other = tmp_path / "other"
    shutil.copytree(halves[0], other)
    known = read_json(sorted((other / "pretrain").glob("[0-9a-f]*"))[0] / "result.json", dict)["heldout"]["perplexity"]
    tampered(other, "pretrain", "result.json", heldout={"perplexity": known * (1 + by), "later": 1.0})
    assert call("merge", halves[0], other, "--into", tmp_path / "all") == code
    assert ("kept" in capsys.readouterr().out) is False


@pytest.mark.parametrize("place", ["pretrain/*/model.safetensors", "pretrain/*/result.json", "answers/*.npz"])
@pytest.mark.parametrize("harm", ["flip", "link"])
def test_what_is_damaged_or_lies_elsewhere_is_refused_before_anything_is_written(
    call, halves, unpacked, tmp_path, place, harm, capsys
):
    other = tmp_path / "other"
    if place.startswith("answers"):
        assert call("export", "own", other, "--results", "--runs", halves[1]) == 0
        unpacked(other)
    else:
        shutil.copytree(halves[1], other)
    file = next(other.glob(place))
    if harm == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    else:
        file.write_bytes(file.read_bytes()[:-2] + b"?\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert call("merge", halves[0], other, "--into", tmp_path / "all") == 2
    assert file.name in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_file_that_is_no_file_of_predictions_is_one_line(call, halves, tmp_path, capsys):
    other = shutil.copytree(halves[1], tmp_path / "other")
    file = sorted(other.glob("finetune/*/predictions.npz"))[0]
    file.write_bytes(pickle.dumps({"label": [0]}))
    manifest = read_json(file.with_name("manifest.json"), dict)
    manifest[file.name] = {"bytes": file.stat().st_size, "sha256": digest(file)}
    write_json(file.parent, "manifest.json", manifest)
    for command in (("report", "--out", tmp_path / "out"), ("merge", halves[1], "--into", tmp_path / "all")):
        code = call(*command, *((other,) if command[0] == "merge" else ("--runs", other)))
        assert code == (2 if command[0] == "merge" else 0), "a report counts the value of the run alone"
        (line,) = capsys.readouterr().err.splitlines()
        assert f"'{file}' is not a file of predictions" in line


def test_a_damaged_copy_is_replaced(call, halves, tmp_path):
    into = shutil.copytree(halves[0], tmp_path / "into")
    (run, *_) = (run for run in Store(into).runs() if run.kind == "pretrain")
    (run.path / "manifest.json").write_text("{")
    assert call("merge", halves[0], "--into", into) == 0
    assert Store(into).get(run.id).damage() is None
    assert [path.name for path in run.path.parent.glob(".*.damaged")] == [f".{run.path.name}.damaged"]


@pytest.mark.parametrize("kind", ["nowhere", "empty", "file", "another study", "into"])
def test_stores_that_do_not_go_together(call, halves, tmp_path, kind, capsys):
    into = tmp_path / "all"
    other = tmp_path / kind
    if kind == "file":
        other.write_text("")
    elif kind == "another study":
        shutil.copytree(halves[1], other)
        ((name, record),) = Store(other).records().items()
        definition = dataclasses.replace(record.definition, variants={**record.definition.variants, "b": {"name": "b"}})
        records.write(other, name, dataclasses.replace(record, definition=definition))
    elif kind != "nowhere":
        other.mkdir()
    if kind == "into":
        (other / "a file").write_text("")
        into, other = other, halves[1]
    assert call("merge", halves[0], other, "--into", into) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert ("is not the study with that name" if kind == "another study" else "store") in complaint
    assert not (tmp_path / "all").exists()


def test_results_without_weights_say_so_when_weights_are_needed(call, study, halves, tmp_path, capsys):
    assert call("export", "own", tmp_path / "results", "--results", "--runs", halves[0]) == 0
    capsys.readouterr()
    study(tmp_path / "results", "2", "--dry-run")  # nothing is left to do
    printed = capsys.readouterr()
    assert "pretrain" in printed.out
    assert "corpus" not in printed.out, "no pre-training needs it"
    assert "weights" not in printed.err
    study(tmp_path / "results", "2")
    assert not (tmp_path / "results" / "corpus").exists()
    study(tmp_path / "results", "2", "--finetune-seeds", "2", "--dry-run")
    assert "4 jobs will fail: they need the weights of 4 runs" in capsys.readouterr().err
    store = Store(tmp_path / "results")
    for run in store.runs():
        if run.kind == "pretrain":
            with pytest.raises(RunFailed, match=rf"{run.id} is a result without weights"):
                store.get_verified(run.id)
