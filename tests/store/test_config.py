"""Commands of records as files."""

import shlex
import tomllib

from bertlab.store.config import config, saved_copy, write_configs


def test_a_command_and_its_file_have_the_same_options(hostile_names):
    for name in (*hostile_names, "--scale", "-x", "15"):
        try:
            name.encode()
        except UnicodeEncodeError:
            continue
        words = ["--scale", "tiny", "--corpus", "a", "--corpus", name, "--only", name, "--measure", name]
        command = shlex.join(["bertlab", "ablate", "own.py", *words, "--finetune-seeds", "3", "--random-init"])
        assert tomllib.loads(config(command)) == {
            "study": ["own.py"],
            "scale": "tiny",
            "corpus": ["a", name],
            "only": [name],
            "measure": [name],
            "finetune-seeds": 3,
            "random-init": True,
        }


def test_each_command_has_a_file_and_no_other_stays(tmp_path):
    (studies := tmp_path / "studies").mkdir()

    def files():
        return {path.name: tomllib.loads(path.read_text())["seeds"] for path in studies.glob("*.toml")}

    write_configs(tmp_path, "other--smoke--12345678", [("bertlab ablate other --seeds 9", {})])
    commands = [(f"bertlab ablate own.py --seeds {each}", {"own.py": each}) for each in ("3", "5-6")]
    write_configs(tmp_path, "own--smoke--12345678", commands)
    other = {"other--smoke--12345678.toml": "9"}
    assert files() == other | {"own--smoke--12345678.toml": "3", "own--smoke--12345678-2.toml": "5-6"}
    copies = [saved_copy(studies / f"own--smoke--12345678{number}.toml", "own.py") for number in ("", "-2")]
    assert [copy.read_text() for copy in copies] == ["3", "5-6"]
    written = (studies / "own--smoke--12345678.toml").stat()
    write_configs(tmp_path, "own--smoke--12345678", [("bertlab ablate own.py --seeds 3", {})])
    assert files() == other | {"own--smoke--12345678.toml": "3"}
    assert not copies[1].parent.exists()
    assert (studies / "own--smoke--12345678.toml").stat().st_mtime_ns == written.st_mtime_ns
    for none in (
        "bertlab ablate own --seeds 3 --corpus \udcff",
        "bertlab ablate own --set 'a=1",
        "bertlab ablate own --set",
    ):
        write_configs(tmp_path, "own--smoke--12345678", [("bertlab ablate own.py --seeds 3", {})])
        write_configs(tmp_path, "own--smoke--12345678", [(none, {})])
        assert files() == other
