"""Files are written below their root only, and no other module of the package writes names from data around that."""

import ast
import json
import os
from pathlib import Path

import pytest

from bertlab.errors import BadInput
from bertlab.store.writes import append_line, copy, folder, move, remove, write, write_json

PACKAGE = Path(__file__).parents[2] / "bertlab"
OUTSIDE = ("..", "../x", "a/../../x", "/x", "", "a\0b", "y" * 5000, "y" * 256, "/".join(["y" * 200] * 30), "\ud800")


@pytest.fixture
def root(tmp_path):
    """A folder with links that lead out of it, beside a file and a folder that nobody may change."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "victim").write_text("mine")
    (tmp_path / "root").mkdir()
    for link, leads in (
        ("out", "../elsewhere"),
        ("victim", "../elsewhere/victim"),
        ("gone", "../new"),
        ("loop", "loop"),
    ):
        (tmp_path / "root" / link).symlink_to(leads)
    yield tmp_path / "root"
    assert [path.name for path in tmp_path.iterdir() if path.name != "root"] == ["elsewhere"]
    assert [path.read_text() for path in (tmp_path / "elsewhere").iterdir()] == ["mine"]


@pytest.mark.parametrize("name", [*OUTSIDE, "out/x", "out/victim", "victim", "gone", "loop", "gone/x", "loop/x"])
def test_nothing_is_written_outside(root, name):
    (root / "a").mkdir()
    before = sorted(os.listdir(root))
    calls = (
        lambda: write(root, name, "x"),
        lambda: append_line(root, name, {}),
        lambda: folder(root, name),
        lambda: copy(root.parent / "elsewhere" / "victim", root, name),
    )
    for call in calls:
        with pytest.raises(BadInput, match=r"leads out of|no name of a file"):
            call()
    assert sorted(os.listdir(root)) == before


@pytest.mark.parametrize("name", [*OUTSIDE, "out/victim"])
def test_nothing_is_removed_or_renamed_outside(root, name):
    (root / "a").mkdir()
    for call in (lambda: remove(root, name), lambda: move(root, "a", name), lambda: move(root, name, "b")):
        with pytest.raises(BadInput, match=r"leads out of|no name of a file"):
            call()
    assert (root / "a").is_dir()


def test_a_link_is_removed_or_replaced_itself(root):
    remove(root, "out")
    write(root, "own", "x")
    move(root, "own", "victim")
    assert not (root / "out").exists()
    assert (root / "victim").read_text() == "x"
    assert not (root / "victim").is_symlink()


def test_a_root_may_be_a_link_itself(root):
    write(root / "out", "own", "x")
    assert (root.parent / "elsewhere" / "own").read_text() == "x"
    remove(root / "out", "own")


def test_a_number_that_json_lacks_is_null(tmp_path):
    write_json(tmp_path, "x.json", {"a": [float("nan"), 1.5], "b": (float("inf"),)})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": [None, 1.5], "b": [None]}


WRITES = {"mkdir", "rename", "rmtree", "symlink_to", "touch", "unlink", "rmdir", "write_bytes", "write_text"}
WRITES |= {"copyfile", "copytree", "copy2", "makedirs", "hardlink_to", "removedirs"}
MODES = ("w", "wb", "a", "ab", "x", "xb", "w+", "r+b")
OWN_NAMES = {
    "api.py": "the folder of `prepare_corpus`, which its caller names",
    "cli/bench.py": "a temporary folder",
    "cli/export.py": "the target that a user names",
    "cli/main.py": "a temporary file with a traceback",
    "estimates/microbenchmark.py": "a temporary folder",
    "estimates/history.py": "a temporary folder",
    "execution/on_ray.py": "flags of processes",
    "execution/on_slurm.py": "the folder of jobs that a user names",
    "execution/processes.py": "flags of processes",
    "hub.py": "empty files of a temporary folder, with a check of its own",
    "model/heads.py": "weights in the folder of a run at work",
    "model/interop/huggingface.py": "the files of a checkpoint in a new folder",
    "store/archive.py": "an archive in memory, which the functions write",
    "store/locks.py": "locks, whose paths a store checks",
    "store/runs.py": "locks and parts in a checked folder",
    "store/writes.py": "the functions themselves",
    "text/document_file.py": "a temporary file beside a corpus at work",
    "text/tokenizers/base.py": "the files of a tokenizer in a new folder",
    "text/tokenizers/wordpiece.py": "the files of a tokenizer in a new folder",
    "text/tokens.py": "the files of a corpus at work",
    "trackers/__init__.py": "the folder of a run's loggers",
    "training/callbacks.py": "milestones of a run at work",
    "training/checkpoints.py": "checkpoints of a run at work",
    "training/pretraining.py": "milestones of a run at work",
}
"""Modules that write without `store/writes.py`: names of their own, in a folder that they make or a user names."""


def is_write(call):
    """Whether a call changes files: one of `WRITES`, or `open` with a mode that writes."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    texts = [node.value for node in (*call.args, *(option.value for option in call.keywords)) if hasattr(node, "value")]
    return name in WRITES or (name == "open" and any(str(mode) in MODES for mode in texts))


def calls(path):
    return [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]


def test_no_module_writes_around_these_functions():
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if any(map(is_write, calls(path)))}
    assert found == OWN_NAMES.keys()
