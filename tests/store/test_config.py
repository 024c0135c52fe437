"""Commands of records as files."""

import dataclasses
import shlex
import tomllib

from bertlab.cli.config import COMMANDS
from bertlab.store import commands
from bertlab.store.config import saved_copy, write_configs
from bertlab.store.record import short_hash
from small_record import record, request


def test_a_command_and_its_file_have_the_same_options(hostile_names, tmp_path):
    (tmp_path / "studies").mkdir()
    for name in (*hostile_names, "--scale", "-x", "15"):
        words = ["--scale", "tiny", "--corpus", "a", "--corpus", name, "--search"]
        asked = request("own.py", options=shlex.join(words), only=(name,), measure=(name,), finetune_seeds=3)
        asked = dataclasses.replace(asked, random_init=True, seeds=(0, 1), claim_seeds=(3, 4))
        choices = ["--seeds", "2", "--claim-seeds", "3-4", "--finetune-seeds", "3", "--only", name, "--measure", name]
        line = ["bertlab", "ablate", "own.py", *words, *choices, "--random-init", "--name", "mine"]
        assert shlex.split(commands.line([asked], "mine")) == line
        write_configs(tmp_path, "own", record("own", requests=(asked,), name="mine"))
        try:
            name.encode()
        except UnicodeEncodeError:
            assert not (tmp_path / "studies" / "own.toml").exists()
            continue
        assert tomllib.loads((tmp_path / "studies" / "own.toml").read_text()) == {
            "study": ["own.py"],
            "scale": "tiny",
            "corpus": ["a", name],
            "search": True,
            "seeds": "2",
            "claim-seeds": "3-4",
            "finetune-seeds": 3,
            "only": [name],
            "measure": [name],
            "random-init": True,
            "name": "mine",
        }


def test_options_of_a_setting_have_the_types_of_the_command():
    from bertlab.cli import ablate  # noqa: F401

    hints = {name: str(option.annotation) for name, option in COMMANDS["ablate"].items()}
    for name, kind in commands.SETTING.items():
        assert ("list[" in hints[name]) is (kind is list)
        assert (hints[name] == "<class 'bool'>") is (kind is bool)


def test_each_command_has_a_file_and_no_other_stays(tmp_path):
    (studies := tmp_path / "studies").mkdir()

    def files():
        return {path.name: tomllib.loads(path.read_text())["seeds"] for path in studies.glob("*.toml")}

    def save(stem, *requests, sources=()):
        write_configs(tmp_path, f"{stem}--smoke--12345678", record(stem, requests=requests, sources=sources))

    one = request("own.py", seeds=(0, 1, 2))
    save("other", request("other", seeds=tuple(range(9))))
    sources = [{"own.py": "3"}, {"own.py": "5-6"}]
    first, second = (short_hash(files) for files in sources)
    asked = dataclasses.replace(one, file=first), dataclasses.replace(one, seeds=(5, 6), file=second)
    save("own", *asked, sources=tuple(sources))
    other = {"other--smoke--12345678.toml": "9"}
    assert files() == other | {"own--smoke--12345678.toml": "3", "own--smoke--12345678-2.toml": "5-6"}
    copies = [saved_copy(studies / f"own--smoke--12345678{number}.toml", "own.py") for number in ("", "-2")]
    assert [copy.read_text() for copy in copies] == ["3", "5-6"]
    written = (studies / "own--smoke--12345678.toml").stat()
    save("own", one)
    assert files() == other | {"own--smoke--12345678.toml": "3"}
    assert not copies[1].parent.exists()
    assert (studies / "own--smoke--12345678.toml").stat().st_mtime_ns == written.st_mtime_ns
    for options in ("--corpus \udcff", "--set 'a=1", "--set"):
        save("own", one)
        save("own", dataclasses.replace(one, options=options))
        assert files() == other
