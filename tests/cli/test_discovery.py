"""What a user finds without reading code: completion in a shell, and help."""

import dataclasses
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
import typer

from bertlab.cli import complete
from bertlab.cli.main import app
from bertlab.cli.options import ScaleOptions
from bertlab.errors import BadInput
from bertlab.lab import builtin_studies, plan, scales, studies
from bertlab.machine import Machine
from bertlab.store import records
from small_record import record, row, value

PROGRAM = "from bertlab.cli.main import main; main()"


def asked(*words):
    """The environment in which a shell asks for the last word."""
    given = {"COMP_WORDS": "\n".join(map(str, ("bertlab", *words))), "COMP_CWORD": str(len(words))}
    return given | {"_BERTLAB_COMPLETE": "complete_bash"}


@pytest.fixture
def completed(call, capsys, monkeypatch, tmp_path):
    """The words with which a shell completes the last of some."""
    monkeypatch.chdir(tmp_path)

    def complete(*words):
        capsys.readouterr()
        with monkeypatch.context() as patch:
            for name, value in asked(*words).items():
                patch.setenv(name, value)
            assert call() == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out.splitlines() if captured.out.strip() else []

    return complete


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Completes a line as bash does, with the script that `--show-completion` prints."""
    place = tmp_path_factory.mktemp("shell")
    (place / "bin").mkdir()
    program = place / "bin" / "bertlab"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}\n")
    program.chmod(0o755)
    script = subprocess.run(
        [program],
        env=os.environ | {"_BERTLAB_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    def complete(*words):
        given = " ".join(map(shlex.quote, ("bertlab", *words)))
        body = f"{script}\nCOMP_WORDS=({given})\nCOMP_CWORD={len(words)}\n"
        body += '_bertlab_completion bertlab\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
        env = os.environ | {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
        found = subprocess.run(["bash", "-c", body], env=env, capture_output=True, text=True, check=True, cwd=place)
        return found.stdout.splitlines()

    return complete


def test_bash_completes_commands_studies_and_words_with_spaces(shell):
    assert shell("abl") == ["ablate"]
    assert shell("ablate", "masking", "s") == [
        "scaling",
        "sentence-order",
        "seq2seq-start",
        "sharing",
        "size",
        "span-boundary",
        "span-length",
        "spans",
        "stability",
    ]
    escaped = ["LTR\\ \\&\\ no\\ NSP", "LTR\\ \\&\\ no\\ NSP\\ +\\ BiLSTM"]
    assert shell("ablate", "nsp", "--only", "LTR") == escaped
    # where the names go on differently, the user presses the key again: the shell then has the escaped beginning
    assert shell("ablate", "nsp", "--only", "LTR\\ \\&\\ no\\ NSP\\ +") == escaped[1:]
    # the words come back as the variants' names
    assert [shlex.split(word)[0] for word in escaped] == [each.name for each in studies.find("nsp").variants[2:]]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ablate", "masking", "--scale", "m"], ["micro", "mini"]),
        (["ablate", "--precision", ""], ["auto", "fp32", "bf16"]),
        (["plan", "nsp", "--only", "B"], ["BERT"]),
        (["ablate", "nsp", "--measure", "M"], ["MNLI", "MRPC"]),
        (["plan", "spans", "--measure", "Co"], ["Coreference", "CoLA"]),
        (["finetune", "--task", "squad_"], ["squad_v2"]),
        (["finetune", "--adaptation", "feat"], ["features"]),
        (["ablate", "masking", "--substitute", "conll"], ["conll2003="]),
        (["export", ""], []),
        (["export", "--results", "a"], ["adaptation", "adapters", "architectures", "all"]),
        (["ablate", "none.py", "--only", ""], []),
    ],
)
def test_names_are_completed(completed, words, expected):
    assert completed(*words) == expected


def test_zsh_and_fish_complete_the_same_words(call, capsys, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "bertlab ablate nsp --only 'LTR")
    monkeypatch.setenv("_BERTLAB_COMPLETE", "complete_zsh")
    assert call() == 0
    assert capsys.readouterr().out == """_arguments '*: :(("LTR & no NSP"\n"LTR & no NSP + BiLSTM"))'\n"""
    monkeypatch.setenv("_BERTLAB_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    assert call() == 0
    assert capsys.readouterr().out == "LTR & no NSP\nLTR & no NSP + BiLSTM\n"


def test_runs_are_completed_from_the_store(completed, tmp_path):
    trained, measured = f"bb02{'0' * 12}", f"bb04{'0' * 12}"
    for path in (
        "corpus/aa01--microworld",
        f"pretrain/{trained}--own-a-seed0",
        "pretrain/.bb03.work",
        f"finetune/{measured}--own-a-mnli",
    ):
        (tmp_path / "store" / path).mkdir(parents=True)
        (tmp_path / "store" / path / "manifest.json").write_text("{}")
    assert completed("fill-mask", "--runs", "store", "") == ["own-a-seed0", trained]
    assert completed("export", "--runs", "store", "b") == [measured, trained]
    assert completed("runs", "--runs", "store", "--remove", "b") == [measured, trained]
    assert completed("runs", "--runs", "store", "--remove", "own") == ["own-a-mnli", "own-a-seed0"]
    values = (value(trained, measured, variant="A b", measurement="MNLI"),)
    records.write(tmp_path / "store", "own", record("own", rows=(row("A b", trained),), cells=values))
    assert completed("export", "--runs", "store", "own/") == ["own/A\\ b/0", "own/A\\ b/0/MNLI"]
    found = completed("runs", "--runs", "store", "--remove", "own/")
    assert found == ["own/A\\ b/0", "own/A\\ b/0/MNLI"]
    (tmp_path / "store" / "studies" / "damaged.json").write_text("{")
    assert completed("export", "--runs", "store", "own") == [*found, "own-a-mnli", "own-a-seed0"]


def test_a_study_file_is_read_and_not_run(completed, tmp_path):
    text = 'open("ran", "w")\nstudy = Study(variants=[Variant("one"), Variant("two words", fields={})])\n'
    (tmp_path / "own.py").write_text(text)
    assert completed("ablate", "own.py", "--only", "") == ["one", "two\\ words"]
    assert not (tmp_path / "ran").exists()


def test_completion_imports_nothing_heavy(tmp_path):
    heavy = "{'torch', 'lightning', 'numpy', 'rich', 'scipy', 'pandas', 'matplotlib', 'transformers', 'datasets'}"
    code = (
        f"import atexit, sys; atexit.register(lambda: print('loaded', sorted({heavy} & {{*sys.modules}})))\n{PROGRAM}"
    )
    env = os.environ | asked("ablate", "masking", "--only", "")
    found = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-2:] == ["0/0/100", "loaded []"]


@pytest.mark.parametrize("name", builtin_studies.names())
def test_every_variant_is_completed(name):
    context = SimpleNamespace(params={"study": [name]})
    assert complete.values("VARIANT")(context, "") == [each.name for each in studies.find(name).variants]


def commands():
    return typer.main.get_command(app).commands


def test_bertlab_alone_prints_help_only(call, capsys):
    assert call() == 0
    alone = capsys.readouterr()
    assert call("--help") == 0
    assert alone.out == capsys.readouterr().out
    assert alone.err == ""
    assert all(f"  {name} " in alone.out for name in commands())


@pytest.mark.parametrize("name", commands())
def test_help_has_an_example_that_parses(name, call, capsys):
    assert call(name, "-h") == 0
    text = capsys.readouterr().out
    example = text.rsplit("Example:\n", 1)[1].strip()
    program, command, *words = shlex.split(example)
    assert (program, command) == ("bertlab", name)
    with commands()[name].make_context(name, words):
        pass


def test_options_stand_under_headings(call, capsys):
    assert call("ablate", "-h") == 0
    text = capsys.readouterr().out
    found = {}
    for part in re.split(r"\n\n(?=\S)", text):
        heading, _, lines = part.partition("\n")
        found[heading.rstrip(":")] = re.findall(r"^  (?:-h, )?(--[a-z-]+)", lines, re.MULTILINE)
    assert found["Variants and seeds"] == [
        "--only", "--measure", "--curves", "--from", "--seeds", "--claim-seeds", "--random-init", "--budget",
        "--until-decided", "--name",
    ]  # fmt: skip
    assert {"--gpus", "--workers", "--cluster"} <= {*found["Devices"]}
    assert found["Options"][-1] == "--help"
    listed = [option for options in found.values() for option in options]
    assert sorted(listed) == sorted({*listed})
    assert {each.opts[0] for each in commands()["ablate"].params if each.opts[0][:2] == "--"} <= {*listed}
    assert "--scale smoke|micro|tiny|mini|base|paper" in text


def json_of(call, capsys, *words):
    capsys.readouterr()
    assert call(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_a_study_file_is_listed(call, capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(builtin_studies.path("nsp").read_text().replace('"nsp"', '"mine"'))
    assert [each["name"] for each in json_of(call, capsys, "studies", file, "masking")] == ["mine", "masking"]


def test_a_wrong_usage_names_the_help_of_its_command(call, capsys):
    for words, path in ((("tasks", "--all"), "bertlab tasks"), (("ablat",), "bertlab")):
        assert call(*words) == 2
        assert f"(see `{path} --help`)" in capsys.readouterr().err


def test_options_with_two_names_are_one_option(call, capsys, tmp_path):
    for name in ("--runs", "--store"):
        assert call("runs", name, tmp_path / "none") == 2
        assert f"there is no runs directory '{tmp_path / 'none'}'" in capsys.readouterr().err
    for name in ("--substitute", "--replace"):
        assert call("plan", "masking", name, "mnli") == 2
        assert "write TASK=DATASET" in capsys.readouterr().err


def test_tasks_are_listed(call, capsys):
    listed = {each["name"]: each for each in json_of(call, capsys, "tasks")}
    assert listed["mnli"]["hub"] == "nyu-mll/glue:mnli"
    assert (listed["squad"]["kind"], listed["squad"]["metrics"][0]) == ("span", "exact")
    assert listed["cb"]["metrics"] == ["accuracy", "matthews", "macro_f1"], "three labels have no other F1"
    assert listed["multirc"]["metrics"] == ["accuracy", "matthews", "f1", "exact"]
    assert listed["boolq"]["metrics"] == ["accuracy", "matthews", "f1"], "a question has one answer"
    assert listed["gap"]["metrics"] == ["f1", "f1_masculine", "f1_feminine", "bias"]
    assert listed["commonsense_qa"]["hub"] == "tau/commonsense_qa"
    assert call("tasks") == 0
    text = capsys.readouterr().out
    assert all(f"\n{name} " in text for name in listed)


def test_scales_are_listed(call, capsys):
    listed = {each["name"]: each for each in json_of(call, capsys, "scales")}
    assert [*listed] == ["smoke", "micro", "tiny", "mini", "base", "paper"]
    assert inspect.signature(ScaleOptions).parameters["scale"].default.metavar == "|".join(listed)
    assert listed["paper"]["fields"]["model.layers"] == 12
    assert listed["paper"]["tokens"] == 256 * (900_000 * 128 + 100_000 * 512)
    assert listed["smoke"]["fields"]["finetune.max_steps"] == 10
    assert call("scales") == 0
    assert "900,000 steps of 256 x 128, 100,000 steps of 256 x 512" in capsys.readouterr().out


def test_show_has_the_papers_table_and_what_the_variants_differ_in(call, capsys):
    masking, nsp, size = json_of(call, capsys, "show", "masking", "nsp", "size", "--scale", "tiny")
    features = {"MNLI fine-tuned": 84.3, "NER fine-tuned": 94.9, "NER feature-based": 94.0}
    assert masking["published"]["100/0/0"] == features
    corruption = {
        f"masked_lm.corruption.{name}": share for name, share in (("mask", 0), ("keep", 0.2), ("random", 0.8))
    }
    assert masking["variants"]["0/20/80"] == corruption
    of_tasks = {path for path in masking["recipe"] if path.startswith("multitask.")}  # on which no variant trains
    unset = {*corruption, "schedule.over_steps", *of_tasks}
    assert set(masking["recipe"]) - set(masking["set"]) == unset
    assert masking["recipe"]["schedule.steps"] == 2000
    assert nsp["variants"]["LTR & no NSP"] == {"objective": ["causal_lm"], "finetune.bilstm": False}
    assert nsp["variants"]["LTR & no NSP + BiLSTM"] == {"objective": ["causal_lm"], "finetune.bilstm": True}
    assert size["variants"]["2L, 4/3 H (Large)"] == {"model.layers": 8, "model.hidden": 192, "model.heads": 3}
    call("show", "scaling", "multi-task", "--scale", "smoke", "--json")
    scaling, multitask = json.loads(capsys.readouterr().out)
    ensembles = {name: fields["ensemble"] for name, fields in scaling["variants"].items() if fields["ensemble"]}
    assert ensembles == {"4x ensembled": "4 pre-trainings", "4x ensembled, fine-tune only": "4 fine-tunings"}
    left_out = [name for name, fields in multitask["variants"].items() if fields["without_measured"]]
    assert left_out == ["leave-one-out, fine-tuned"]
    assert size["claims"][0]["pairs"][0] == ["L/2, A/4", "L/4"]


def refusal(request, option, usual):
    """Why `--set` refuses to leave a field at the value that is shown; empty if it does not."""
    try:
        jobs = plan.make(dataclasses.replace(request, scale=request.scale.set([option])), Machine()).jobs
    except BadInput as error:
        return str(error)
    return "" if [job.id for job in jobs] == usual else "a size that the study multiplies"


@pytest.mark.parametrize("name", builtin_studies.names())
def test_show_names_the_fields_that_set_sets(name, call, capsys):
    """Setting each listed field to its value works and changes nothing; the others are refused."""
    (shown,) = json_of(call, capsys, "show", name, "--scale", "smoke")
    study, scale = studies.find(name), scales.find("smoke")
    request = plan.Request(studies=(study,), scale=scale, corpora=("microworld",), seeds=(0,))
    spelled = {path: ",".join(leaf) if isinstance(leaf, list) else str(leaf) for path, leaf in shown["recipe"].items()}
    machine = Machine()
    usual = [job.id for job in plan.make(request, machine).jobs]
    same = scale.set([f"{path}={spelled[path]}" for path in shown["set"]])
    assert [job.id for job in plan.make(dataclasses.replace(request, scale=same), machine).jobs] == usual
    for path in {*shown["recipe"]} - {*shown["set"]}:
        # or it does not go with the scale's other fields: of a selection that only the variants have, one of several
        # shares, a format without pairs, the objective of another model; numbers over steps are written in studies
        refusals = (
            r"sets it for its variants|has no effect|add up to 1|has one segment|cannot be set from|"
            r"even head size|keeps its directions apart|a size that the study multiplies|needs a decoder"
        )
        assert re.search(refusals, refusal(request, f"{path}={spelled[path]}", usual))


@pytest.mark.parametrize(("options", "epochs"), [((), 2.5), (("--set", "tasks.mnli.epochs=2"), 2)])
def test_show_has_the_settings_of_single_tasks(call, capsys, options, epochs):
    (shown,) = json_of(call, capsys, "show", "masking", "--scale", "micro", *options)
    assert shown["recipe"]["tasks.mnli.epochs"] == epochs
    assert "tasks.mnli.epochs" in shown["set"]
    assert shown["recipe"]["finetune.epochs"] == 8
    assert not any(path.startswith("tasks.ontonotes") for path in shown["recipe"])


def test_show_prints_tables(call, capsys):
    assert call("show", "convergence", "--set", "schedule.steps=77") == 0
    text = capsys.readouterr().out
    assert "MNLI, 3 %" in text
    assert re.search(r"schedule\.steps +77 ", text)
    assert re.search(r"model\.positions +rotary +variants differ", text)
    assert "BERT at 100 % over BERT at" in text
    assert "`ablate` gives" not in text
    assert call("show", "mask-schedule") == 0
    text = capsys.readouterr().out
    assert re.search(r"inputs\.format +full-sentences +fixed", text)
    assert re.search(r"masked_lm\.mask_prob +0\.15 +variants differ", text)
    assert re.search(r"inputs\.length +32 *\n", text)
    assert call("show", "equal-time") == 0
    assert "`ablate` gives ALBERT xxlarge the steps that take as long" in capsys.readouterr().out


def test_a_pipe_or_a_large_file_in_the_place_of_a_study_or_a_record_completes_nothing(completed, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "own.py")  # reading it would never end
    assert completed("ablate", "own.py", "--only", "") == []
    (tmp_path / "large.py").write_text('Variant("a")\n' + "#" * complete.MOST_BYTES)
    assert completed("ablate", "large.py", "--only", "") == []
    (tmp_path / "runs" / "studies").mkdir(parents=True)
    (tmp_path / "runs" / "pretrain" / "0123456789abcdef--one").mkdir(parents=True)
    (tmp_path / "runs" / "pretrain" / "0123456789abcdef--one" / "manifest.json").write_text("{}")
    os.mkfifo(tmp_path / "runs" / "studies" / "own.json")
    assert completed("export", "") == ["one", "0123456789abcdef"]


def test_names_that_a_terminal_would_obey_are_left_out_and_a_file_s_warnings_not_shown(completed, tmp_path):
    (tmp_path / "own.py").write_text('pattern = "\\d"\nVariant("\\x1b[31mred")\nVariant("good")\n')
    assert completed("ablate", "own.py", "--only", "") == ["good"]


@pytest.mark.parametrize(
    "environment",
    [
        {"COMP_WORDS": "bertlab ablate ", "COMP_CWORD": "x"},
        {"COMP_WORDS": "bertlab ablate ", "COMP_CWORD": ""},
        {"COMP_WORDS": "bertlab 'ablate", "COMP_CWORD": "-9"},
        {"COMP_WORDS": "bertlab ablate "},
        {"COMP_CWORD": "1"},
        {"_BERTLAB_COMPLETE": ""},
        {"_BERTLAB_COMPLETE": "garbage"},
        {"_BERTLAB_COMPLETE": "complete_zsh"},
        {"_BERTLAB_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "'"},
        {"_BERTLAB_COMPLETE": "source_no"},
    ],
)
def test_no_variable_of_a_shell_is_an_internal_error(call, capsys, monkeypatch, environment):
    for name in ("COMP_WORDS", "COMP_CWORD", "_TYPER_COMPLETE_ARGS"):
        monkeypatch.delenv(name, raising=False)
    for name, text in ({"_BERTLAB_COMPLETE": "complete_bash"} | environment).items():
        monkeypatch.setenv(name, text)
    assert call() in (0, 1)
    assert "error" not in capsys.readouterr().err
