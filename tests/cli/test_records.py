"""Records that lack something, `--keep` and `report --compare`: what a store has beside its results, and beside
another."""

import copy
import json
import shutil

import pytest

from bertlab import errors
from bertlab.cli.jobs import run_jobs
from bertlab.errors import BadInput
from bertlab.lab import plan, scales, studies
from bertlab.report.gather import gather_all
from bertlab.store import addresses, union
from bertlab.store.files import digest, read_sealed
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


RUN = "masking-80-10-10-seed0"
FINETUNE = ("finetune", "--from", RUN, "--task", "mrpc", "--scale", "smoke", "--threads", "1")


@pytest.fixture(scope="module")
def store(call, finished):
    assert call(*FINETUNE, "--keep", "--runs", finished) == 0
    return Store(finished)


def with_model(store):
    return [run for run in store.runs() if run.kind == "finetune" and run.holds_task_model]


def test_the_run_has_the_changes_and_says_what_they_are(store):
    (run,) = with_model(store)
    (pretraining,) = (run for run in store.runs() if run.label == RUN)
    data = json.loads((run.path / "task.json").read_text())
    assert (data["pretrained"], data["kind"], data["seed"]) == (pretraining.id, "classification", 0)
    assert data["labels"]
    assert data["settings"]["length"] == 32
    assert data["tokenizer"] == pretraining.manifest()["vocab.txt"].sha256
    assert data["weights"] == pretraining.manifest()["model.safetensors"].sha256
    assert {"task.json", "task.safetensors"} <= run.manifest().keys()


def test_the_id_is_that_of_the_run_without_the_model(store, call, finished, tmp_path, capsys):
    (run,) = with_model(store)
    before = {other.id for other in store.runs()}
    assert call(*FINETUNE, "--runs", finished) == 0  # finished already
    assert {other.id for other in Store(finished).runs()} == before
    assert run.label.startswith(f"{RUN}-")


def test_a_run_that_finished_without_its_model_is_named(store, call, finished, capsys):
    lora = (*FINETUNE, "--adaptation", "lora", "--runs", finished)
    assert call(*lora) == 0
    capsys.readouterr()
    assert call(*lora, "--keep") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--keep: 1 run finished without keeping the model: `bertlab runs --remove " in line


def test_no_plan_is_carried_out_whose_runs_finished_without_a_model(finished, machine):
    """Plans of a search and of rounds are made after the command's own."""
    request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), keep=True)
    with pytest.raises(BadInput, match=r"--keep: [0-9]+ runs finished without keeping the model"):
        run_jobs(plan.make(request, machine).jobs, Store(finished), machine)


def test_the_command_that_uses_the_model_names_its_run(store, call, capsys):
    (run,) = with_model(store)
    capsys.readouterr()
    assert call(*FINETUNE, "--keep", "--runs", store.root) == 0
    assert f"`bertlab predict {run.id} FILE --runs {store.root}`" in capsys.readouterr().out


def test_what_is_kept_is_not_pruned(store, call, finished):
    (run,) = with_model(store)
    assert call("runs", "--prune", "--runs", finished) == 0
    assert [remaining.id for remaining in with_model(Store(finished))] == [run.id]


@pytest.fixture
def moved(finished, tmp_path):
    """The finished store without its weights, and one value of it made better."""
    new = tmp_path / "new"
    shutil.copytree(finished, new, ignore=shutil.ignore_patterns("*.npy", "*.safetensors", "corpus"))
    (record,) = Store(new).records().values()
    run = min(path for path in (new / "finetune").iterdir() if path.name[:16] in addresses.run_ids(record))
    result = json.loads((run / "result.json").read_text())
    result["metrics"] = {name: value + 1 for name, value in result["metrics"].items()}
    (run / "result.json").write_text(json.dumps(result))
    for path in new.glob("*/*/manifest.json"):  # what is left out, and what was changed
        sealed = {name: facts for name, facts in json.loads(path.read_text()).items() if (path.parent / name).exists()}
        if path.parent == run:
            sealed["result.json"] = {
                "bytes": (run / "result.json").stat().st_size,
                "sha256": digest(run / "result.json"),
            }
        path.write_text(json.dumps(sealed))
    return new


def state(root):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in root.rglob("*") if path.is_file()}


def test_what_moved_is_shown_and_neither_store_is_written_to(finished, moved, call, capsys, tmp_path):
    before = state(finished), state(moved)
    out = tmp_path / "out"
    assert call("report", "--runs", moved, "--compare", finished, "--out", out) == 0
    assert (state(finished), state(moved)) == before
    shown = capsys.readouterr().out
    assert "1 mean moved" in " ".join(shown.split())
    assert sorted(path.name for path in out.glob("compare*")) == ["compare.csv"]
    table = [line for line in (out / "index.md").read_text().splitlines() if line.startswith("|")]
    assert sum(line.startswith("| masking, smoke: ") for line in table) == 1
    first = (out / "index.md").read_bytes(), (out / "compare.csv").read_bytes()
    assert call("report", "--runs", moved, "--compare", finished, "--out", out) == 0
    assert ((out / "index.md").read_bytes(), (out / "compare.csv").read_bytes()) == first


def test_nothing_is_said_in_one_line(finished, call, capsys, tmp_path):
    assert call("report", "--runs", finished, "--compare", finished, "--out", tmp_path / "out") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Since {finished}: No value changed: the same runs" in shown


def test_without_an_old_store_nothing_is_written(finished, call, capsys, tmp_path):
    empty, out = tmp_path / "empty", tmp_path / "out"
    empty.mkdir()
    file = next(finished.glob("studies/*.json"))
    for old in (tmp_path / "missing", empty, file):
        assert call("report", "--runs", finished, "--compare", old, "--out", out) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1
        assert str(old) in lines[0]
        assert "--compare" in lines[0]
    assert not out.exists()
    assert not any(empty.iterdir())
