"""`bertlab report --compare`: what it says and writes, and that it leaves the old store alone."""

import json
import shutil

import pytest

from bertlab.store.files import digest


@pytest.fixture
def moved(finished, tmp_path):
    """The finished store without its weights, and one value of it made better."""
    new = tmp_path / "new"
    shutil.copytree(finished, new, ignore=shutil.ignore_patterns("*.npy", "*.safetensors", "corpus"))
    run = min((new / "finetune").iterdir())
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
