"""Paths that a user names: too long, of nobody's, circular, of a pipe or device. One line, and never a wait."""

import os
import socket

import pytest

SMOKE = ("--scale", "smoke")


@pytest.fixture
def hostile(place):
    """Paths that are neither a file nor a folder."""
    os.mkfifo(place / "pipe.txt")
    (place / "dangling.txt").symlink_to("nothing")
    (place / "circle.txt").symlink_to("circle.txt")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.txt")
    (place / "zero.txt").symlink_to("/dev/zero")
    (place / "folder.txt").mkdir()
    (place / "file").write_text("A text.")
    return place


LONG, LONGER = "a" * 300, "a/" * 2500
NOWHERE = ["pipe.txt", "dangling.txt", "circle.txt", "socket.txt", "zero.txt", LONG + ".txt", LONGER + "a.txt"]
NOBODY = "~nosuchuser/a.txt"


@pytest.mark.parametrize(
    "path", [*NOWHERE, NOBODY, "folder.txt", "/dev/null", "/proc/self/mem", "file", "", ".", "/dev"]
)
def test_corpora(refused, hostile, path):
    refused("ablate", "masking", *SMOKE, "--corpus", path, says="corpus|file")


@pytest.mark.parametrize("path", [*NOWHERE, NOBODY, "folder.txt", "/dev/null", "/dev/zero", "", "file"])
def test_vocabularies(refused, hostile, path):
    refused("ablate", "masking", *SMOKE, "--vocab", path, "--dry-run", says="(?i)vocab|special|entries|\\[PAD\\]")


@pytest.mark.parametrize(
    ("name", "content", "more", "says"),
    [
        ("a.txt", b"[PAD]\n[CLS]\n[SEP]\n[MASK]\nword\n", (), r"a\.txt: .* no \[UNK\]"),
        ("a.txt", b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", (), r"a\.txt: .* special tokens alone"),
        ("a.txt", b"[PAD]\n\xff\n", (), r"a\.txt is not UTF-8 at byte 6"),
        ("a.json", b'{"model": {}}', (), r"a\.json is a tokenizer\.json: set"),
        ("a.json", b'{"model": {}}', ("--set", "tokenizer=unigram"), r"a\.json is not .* a Unigram"),
        ("a.json", b"[", ("--set", "tokenizer=byte_level_bpe"), r"a\.json cannot be read as JSON"),
    ],
)
@pytest.mark.parametrize("command", [("ablate", "nsp"), ("plan", "nsp"), ("pretrain",)])
def test_a_vocabulary_of_another_kind_is_refused_by_a_plan(refused, place, command, name, content, more, says):
    (place / name).write_bytes(content)
    dry = () if command[0] == "plan" else ("--dry-run",)
    refused(*command, *SMOKE, "--vocab", name, *more, *dry, says=says)


@pytest.mark.parametrize("path", [*NOWHERE, "~nosuchuser", "file", "/dev/null", "nosuch"])
def test_mirrors(refused, hostile, path):
    refused("ablate", "masking", *SMOKE, "--data", path, says="data")


@pytest.mark.parametrize("path", [*NOWHERE, "file", "/dev/null"])
@pytest.mark.parametrize("command", [["ablate", "masking", *SMOKE], ["runs"], ["report"], ["export", "a", "out"]])
def test_stores(refused, hostile, command, path):
    refused(*command, "--runs", path, says="store '")


def test_a_store_in_place_of_a_device_is_not_said_to_be_a_file(refused):
    refused("runs", "--runs", "/dev/null", says="store '/dev/null' is neither a file nor a folder, but a pipe, dev")


@pytest.mark.parametrize("stores", [["circle.txt", "--into", "m"], [".", "--into", "circle.txt/m"]])
def test_stores_in_a_circle_are_not_merged(refused, hostile, stores):
    refused("merge", *stores, says="store 'circle.txt")


@pytest.mark.parametrize("path", [*NOWHERE, "folder.txt", "file", "/dev/null", "nosuch/dir/x"])
def test_checkpoints(refused, hostile, path):
    refused("ablate", "masking", *SMOKE, "--from", path, says="--from|directory|config")


@pytest.mark.parametrize("name", ["pipe.py", "dangling.py", "circle.py", "zero.py", LONG + ".py", LONGER + "a.py"])
def test_study_files(refused, hostile, name):
    if (found := hostile / name.replace(".py", ".txt")).name in os.listdir(hostile):
        found.rename(hostile / name)
        if name == "circle.py":
            (hostile / name).unlink()
            (hostile / name).symlink_to(name)
    refused("ablate", name, *SMOKE, says="study file")


@pytest.mark.parametrize("name", ["pipe.txt", "dangling.txt", "circle.txt", "socket.txt", "zero.txt"])
def test_what_lies_within_a_corpus(refused, hostile, name):
    (hostile / "corpus").mkdir()
    (hostile / "corpus" / "good.txt").write_text("A text. Another.")
    (hostile / name).rename(hostile / "corpus" / name)
    if name == "circle.txt":
        (hostile / "corpus" / name).unlink()
        (hostile / "corpus" / name).symlink_to(name)
    refused("ablate", "masking", *SMOKE, "--corpus", "corpus", says=name.replace(".", r"\."))


@pytest.mark.skipif(os.getuid() == 0, reason="permissions do not bind root")
@pytest.mark.parametrize("name", ["corpus", "corpus/inner", "corpus/good.txt"])
def test_what_may_not_be_read(refused, place, name):
    (place / "corpus" / "inner").mkdir(parents=True)
    (place / "corpus" / "good.txt").write_text("A text. Another.")
    (place / name).chmod(0)
    try:
        refused("ablate", "masking", *SMOKE, "--corpus", "corpus", says="corpus")
    finally:
        (place / name).chmod(0o700)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"])
@pytest.mark.parametrize("kind", ["pipe", "zero", "dangling", "circle"])
def test_checkpoints_with_a_pipe_or_device(refused, place, name, kind):
    (place / "given").mkdir()
    for each in ("config.json", "vocab.txt"):
        (place / "given" / each).write_text("{}")
    path = place / "given" / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"zero": "/dev/zero", "dangling": "nothing", "circle": name}[kind])
    refused("ablate", "masking", *SMOKE, "--from", "given", says=name.replace(".", r"\."))


@pytest.mark.parametrize(
    "target", ["file", "folder.txt", "pipe.txt", "circle.txt", "zero.txt", LONG, LONGER, "file/x", "new/x"]
)
def test_where_to_export(refused, hostile, target):
    (hostile / "runs").mkdir()
    refused("export", "nosuch", target, says="exists|cannot be|no finished run|neither a file|link")
