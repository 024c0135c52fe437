"""`--config` and `--print-config`: the options of a command as a file."""

import itertools
import re
import shlex
import shutil
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import typer

from bertlab import errors
from bertlab.cli import config
from bertlab.cli.ablate import AblateOptions
from bertlab.cli.main import app
from bertlab.cli.options import StudyOptions, group
from bertlab.store import commands
from bertlab.store.files import read_sealed
from bertlab.store.record import AblateRequest
from bertlab.store.runs import Store


@pytest.fixture
def printed(call, capsys, monkeypatch, tmp_path):
    """The options that a command prints as a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BERTLAB_WORKERS")

    def options(*words):
        capsys.readouterr()
        assert call(*words, "--print-config") == 0
        return capsys.readouterr().out

    return options


@pytest.mark.parametrize(
    "words",
    [
        [
            "ablate",
            "masking",
            "nsp",
            "--only",
            "80/10/10",
            "--seeds",
            "3-5",
            "--set",
            "schedule.steps=5",
            "--random-init",
        ],
        ["ablate", "own.py", "--corpus", 'a "name" \\ of ü', "--budget", "2h", "--search", "--workers", "0"],
        ["plan", "masking", "--peak-tflops", "989.5", "--gpus", "8", "--json"],
        ["audit", "all", "--data", "some where"],
        ["pretrain", "--seed", "7", "--vocab", "vocab.txt"],
        ["finetune", "--task", "mnli", "--from", "a-run", "--adaptation", "adapters"],
        ["bench", "--precision", "bf16"],
        ["report", "masking", "nsp", "--runs", "there", "--format", "latex", "--fail-on", "contradicted"],
        ["runs", "--study", "nsp"],
        ["export", "all", "there", "--results", "--json"],
        ["merge", "A", "B", "--into", "C"],
        ["fetch", "masking", "there"],
        ["fill-mask", "a-run", "a [MASK] b", "--top", "3"],
        ["generate", "a-run", "a text", "--beam", "3"],
        ["submit", "--sbatch", "partition=gpu", "--nodes", "2", "ablate", "all"],
    ],
)
def test_printed_options_are_those_of_the_command(printed, tmp_path, words):
    text = printed(*words)
    (tmp_path / "file.toml").write_text(text)
    assert printed(words[0], "--config", "file.toml") == text
    values = tomllib.loads(text)
    for name, value in itertools.pairwise(words):
        if name.startswith("--") and not value.startswith("--"):
            assert values[name[2:]] in (value, [value]) or float(value) == values[name[2:]]


@pytest.mark.parametrize("command", config.COMMANDS)
def test_printed_options_without_their_comment_signs_are_a_file(tmp_path, command):
    """What is printed for an option without a value shows how to write one."""
    defaults = {each.name: each.default.default for each in config.COMMANDS[command].values()}
    text = config.text(command, {name: None if value is ... else value for name, value in defaults.items()})
    assert len(re.findall(r"^## ", text, re.M)) > 1, "headings"
    (tmp_path / "all.toml").write_text(re.sub(r"^#", "", text, flags=re.M))
    assert tomllib.loads((tmp_path / "all.toml").read_text()).keys() == config.COMMANDS[command].keys()
    config.read(tmp_path / "all.toml", command)  # the types are right


def test_every_command_reads_a_file():
    assert set(config.COMMANDS) == set(typer.main.get_command(app).commands)


def test_the_command_line_wins_and_set_adds(printed, tmp_path, monkeypatch):
    (tmp_path / "file.toml").write_text(
        'study = ["nsp"]\nscale = "tiny"\nseeds = 4\nset = ["schedule.steps=5"]\nonly = "BERT"\nruns = "there"\n'
    )
    values = tomllib.loads(printed("ablate", "--config", "file.toml"))
    wanted = {"study": ["nsp"], "scale": "tiny", "seeds": "4", "only": ["BERT"], "set": ["schedule.steps=5"]}
    assert {name: values[name] for name in wanted} == wanted
    words = ["ablate", "masking", "--scale", "mini", "--only", "a", "--only", "b", "--set", "schedule.steps=7"]
    values = tomllib.loads(printed(*words, "--config", "file.toml"))
    assert (values["study"], values["scale"], values["only"]) == (["masking"], "mini", ["a", "b"])
    assert values["set"] == ["schedule.steps=5", "schedule.steps=7"]  # of which the last one counts
    assert (values["seeds"], values["runs"]) == ("4", "there")
    monkeypatch.setenv("BERTLAB_RUNS", "elsewhere")
    assert tomllib.loads(printed("ablate", "--config", "file.toml"))["runs"] == "elsewhere"


def test_commands_on_studies_read_the_files_of_one_another(printed, tmp_path):
    (tmp_path / "file.toml").write_text('study = ["nsp"]\nseeds = "3"\nsearch = true\n')
    assert tomllib.loads(printed("plan", "--config", "file.toml"))["seeds"] == "3"
    assert "seeds" not in tomllib.loads(printed("audit", "--config", "file.toml"))
    assert tomllib.loads(printed("report", "--config", "file.toml"))["study"] == ["nsp"]


@pytest.mark.parametrize(
    ("command", "text", "says"),
    [
        ("ablate", "scal = 'tiny'", "did you mean 'scale'?"),
        ("ablate", "finetune_seeds = 3", "did you mean 'finetune-seeds'?"),
        ("ablate", "scale = ['tiny']", "scale is ['tiny']: write a text in quotes"),
        ("ablate", "threads = '2'", "threads is '2': write a whole number"),
        ("ablate", "threads = true", "threads is True: write a whole number"),
        ("ablate", "random-init = 1", "random-init is 1: write true or false"),
        ("ablate", "only = [1]", "only is [1]: write a list of texts"),
        ("ablate", "vocab = 3", "vocab is 3: write a text in quotes"),
        ("ablate", "[scale]\nname = 'tiny'", "scale is {'name': 'tiny'}: write a text"),
        ("ablate", "scale = 'tinny'", "did you mean 'tiny'?"),
        ("ablate", "gpus = -1", "--gpus"),
        ("ablate", "scale = tiny", "is not TOML"),
        ("ablate", "config = 'other.toml'", "unknown option"),
        ("ablate", None, "cannot be used"),
        ("plan", "peak-tflops = '989'", "peak-tflops is '989': write a number"),
        ("pretrain", "study = ['nsp']", "study is an option of `bertlab ablate`"),
        ("ablate", "task = 'mnli'", "task is an option of `bertlab finetune`"),
    ],
)
def test_wrong_files_are_one_line(call, capsys, monkeypatch, tmp_path, command, text, says):
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / "file.toml").write_text(text)
    words = ["masking"] if command != "pretrain" else []
    assert call(command, *words, "--config", "file.toml") == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert says in line
    assert captured.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file.toml"] * (text is not None)


def test_a_study_file_that_is_there_goes_before_the_copy_and_the_difference_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(errors, "_warned", set())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text("as it was")
    path = tmp_path / "own.toml"
    path.write_text('study = ["mine.py"]\n')
    for text, study in (("changed", "mine.py"), ("as it was", "mine.py"), (None, str(tmp_path / "own" / "mine.py"))):
        (tmp_path / "mine.py").write_text(text) if text else (tmp_path / "mine.py").unlink()
        assert config.read(path, "ablate")["study"] == [study]
        assert ("'mine.py' is not as it was" in capsys.readouterr().err) is (text == "changed")


def test_the_options_of_a_record_are_those_that_define_its_setting():
    given = {
        "scale": "tiny", "corpus": ["a b", "c"], "words": "1M", "bad_words": Path("words.txt"),
        "vocab": Path("vocab.txt"), "data": Path("mirror"),
        "substitute": ["mnli=snli"], "intermediate_task": ["rte=mnli"], "from_": "a run", "set_": ["schedule.steps=5"],
    }  # fmt: skip
    words = shlex.split(group(StudyOptions, {"study": ["masking"], **given}).spelled())
    names = [f"--{name.strip('_').replace('_', '-')}" for name in given]
    assert [*dict.fromkeys(words[::2])] == names
    assert words[1::2] == [
        "tiny",
        "a b",
        "c",
        "1M",
        "words.txt",
        "vocab.txt",
        "mirror",
        "mnli=snli",
        "rte=mnli",
        "a run",
        "schedule.steps=5",
    ]


def test_a_record_has_every_option_of_its_command_on_which_a_value_depends():
    asked = AblateRequest(
        study="own",
        options="",
        seeds=(1,),
        claim_seeds=(2,),
        finetune_seeds=2,
        only=("a",),
        measure=("b",),
        curves=True,
        random_init=True,
    )
    options = {config.long_name(field.name) for field in fields(AblateOptions)}
    of_record = {*commands.SETTING, *commands.options(asked, name="a name")}
    assert options - of_record == {"runs", "keep", "logger", "retry", "dry-run"}


def test_the_file_of_a_study_repeats_it(call, finished, capsys):
    """Nothing is left to run, and the record stays the same."""
    (record,) = finished.glob("studies/*.json")
    file = record.with_suffix(".toml")
    before = read_sealed(record), file.read_text()
    assert call("ablate", "--config", file, "--runs", finished, "--threads", "1", "--precision", "fp32") == 0
    assert (read_sealed(record), file.read_text()) == before
    values = tomllib.loads(before[1])
    assert (values["study"], values["only"], values["random-init"]) == (["masking"], ["80/10/10", "0/0/100"], True)
    file.unlink()
    capsys.readouterr()
    assert call("report", "--runs", finished, "--out", finished / "out", "--format", "md") == 0
    assert call("ablate", *values["study"], "--scale", "smoke", "--runs", finished, "--dry-run") == 0


def test_the_file_of_a_single_run_repeats_it(call, finished, tmp_path, capsys):
    runs = tmp_path / "runs"  # the other tests' store stays as it is
    shutil.copytree(finished, runs)
    store = Store(runs)
    before = {run.id for run in store.runs()}
    words = [
        "--from",
        "masking/80/10/10/0",
        "--task",
        "mnli",
        "--set",
        "finetune.epochs=1",
        "--set",
        "tasks.mnli.epochs=1",
    ]
    usual = ["--runs", runs, "--threads", "1", "--precision", "fp32"]
    assert call("finetune", *words, "--scale", "smoke", *usual) == 0
    (run,) = (each for each in store.runs() if each.id not in before)
    values = tomllib.loads((run.path / "config.toml").read_text())
    assert (values["scale"], values["task"], len(values["set"])) == ("smoke", "mnli", 2)
    assert call("finetune", "--config", run.path / "config.toml", *usual) == 0
    assert {each.id for each in store.runs()} == {*before, run.id}
    assert store.damaged() == []
