"""Bad input: one line that says what, where and what to do; exit 2; nothing left behind. Names that look like paths,
markup or formulas, or are not valid Unicode, are no bad input."""

import csv
import gzip
import json
import os
import subprocess
import sys
import unicodedata

import pytest

from bertlab.names import filename

STUDY = """
from bertlab.recipe import Schedule
from bertlab.lab.study import Measurement, Study, Task, Variant
study = Study(name="own", question="?", source="me", baseline="a", variants=[Variant("a")],
              measurements=[Measurement("m", task=Task(kind="classification", name="own", path={path!r},
                                                       text=("sentence",), labels=("no", "yes")))])
"""


@pytest.fixture
def refused(call, capsys, tmp_path, monkeypatch):
    """Asserts that a command gives one line and exit 2, and leaves the folder as it was."""
    monkeypatch.chdir(tmp_path)

    def check(*arguments, says):
        before = sorted(tmp_path.rglob("*"))
        code = call(*arguments)
        captured = capsys.readouterr()
        assert code == 2, captured
        lines = captured.err.strip().splitlines()
        assert len(lines) == 1, captured.err
        assert lines[0].startswith("bertlab: ")
        assert says in lines[0]
        assert sorted(tmp_path.rglob("*")) == before

    return check


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ablate", "maskin"], "did you mean 'masking'"),
        (["ablate", "own_study.py"], "does not exist"),
        (["ablate", "masking", "--scale", "tinny"], "did you mean 'tiny'"),
        (["ablate", "masking", "--corpus", "microwrld"], "did you mean 'microworld'"),
        (["ablate", "masking", "--corpus", "no/such/file.txt"], "no/such/file.txt"),
        (["ablate", "masking", "--data", "nowhere"], "'nowhere' does not exist"),
        (["ablate", "masking", "--vocab", "vocab.txt"], "vocab.txt"),
        (["ablate", "masking", "--substitute", "conll2003"], "write TASK=DATASET"),
        (["ablate", "masking", "--substitute", "conl=bc5cdr"], "unknown task"),
        (["ablate", "masking", "--only", "80/10/01"], "did you mean '80/10/10'"),
        (["ablate", "masking", "--set", "schedule.stepps=5"], "did you mean 'schedule.steps'"),
        (["ablate", "masking", "--set", "schedule.steps=-5"], "schedule.steps is -5"),
        (["ablate", "masking", "--set", "schedule.steps=1e99"], "schedule.steps"),
        (["ablate", "masking", "--set", "masked_lm.corruption.mask=0.5"], "study 'masking' sets it for its variants"),
        (["ablate", "dynamic", "--set", "masked_lm.corruption.mask=0.5"], "add up to 1"),
        (["ablate", "masking", "--set", "finetune.lr=0.5"], "unknown field 'finetune.lr'"),
        (["ablate", "masking", "--seeds", "0"], "--seeds is 0"),
        (["ablate", "masking", "--claim-seeds", "2-1"], "--claim-seeds is 2-1"),
        (["ablate", "masking", "--precision", "fp8"], "unknown precision 'fp8'"),
        (["ablate", "masking", "--gpus", "-1"], "--gpus"),
        (["ablate", "masking", "--no-such-option"], "--no-such-option"),
        (["ablate"], "Missing argument"),
        (["ablatte", "masking"], "ablatte"),
        (["report"], "bertlab ablate"),
        (["runs"], "no runs directory"),
        (["export", "aa", "out"], "no finished run"),
        (["fill-mask", "a/b/c", "a [MASK]"], "no run of the store"),
        (["export", "masking", "out", "--results"], "masking"),
    ],
)
def test_wrong_words(refused, arguments, says):
    refused(*arguments, says=says)


def corpus_file(folder, name):
    path = folder / name
    if name == "empty.jsonl":
        path.write_text("")
    elif name == "latin.txt":
        path.write_bytes("Ein Käfer. Noch einer.".encode("latin-1"))
    elif name == "column.jsonl":
        path.write_text('{"txt": "A text. Another."}\n')
    elif name == "broken.jsonl":
        path.write_text('{"text": "A text."}\n{"text": \n')
    elif name == "cut.jsonl.gz":
        path.write_bytes(gzip.compress(b'{"text": "A text. Another."}\n' * 50)[:40])
    elif name == "alone.txt":
        path.write_text("One document alone. It cannot be held out and trained on.")
    elif name == "text.docx":
        path.write_text("A text.")
    return path


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("empty.jsonl", "empty.jsonl"),
        ("latin.txt", "UTF-8"),
        ("column.jsonl", "'txt'"),
        ("broken.jsonl", "broken.jsonl"),
        ("cut.jsonl.gz", "cut.jsonl.gz"),
        ("alone.txt", "document"),
        ("text.docx", ".docx"),
    ],
)
def test_wrong_corpora(refused, tmp_path, name, says):
    path = corpus_file(tmp_path, name)
    (tmp_path / "own").mkdir()
    rows = '{"sentence": "good", "label": 1}\n{"sentence": "bad", "label": 0}\n'
    for split in ("train", "validation"):
        (tmp_path / "own" / f"{split}.jsonl").write_text(rows)
    (tmp_path / "own.py").write_text(STUDY.format(path=str(tmp_path / "own")))
    refused("ablate", "own.py", "--scale", "smoke", "--corpus", str(path), says=says)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"sentence": "good", "label": 2}, "label"),
        ({"sentence": "good", "label": "maybe"}, "maybe"),
        ({"sentense": "good", "label": 1}, "did you mean 'sentense'"),
        ({"sentence": 3, "label": 1}, "sentence"),
    ],
)
def test_wrong_tasks(refused, tmp_path, text_file, row, says):
    """Found before anything is trained."""
    (tmp_path / "own").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "own" / f"{split}.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "own.py").write_text(STUDY.format(path=str(tmp_path / "own")))
    refused("ablate", "own.py", "--scale", "smoke", "--corpus", str(text_file), says=says)


@pytest.mark.parametrize("text", ["1 / 0", "study = 3", "x ="])
def test_wrong_study_files(refused, tmp_path, text):
    (tmp_path / "own.py").write_text(text)
    refused("ablate", "own.py", says="own.py")


def test_places_that_cannot_be_written(refused, tmp_path, finished):
    (tmp_path / "file").write_text("")
    refused("ablate", "masking", "--scale", "smoke", "--runs", "file/runs", says="a file is in its place")
    refused("report", "--runs", str(finished), "--out", "file/reports", says="file")
    refused("export", "aa", "file", "--runs", str(finished), says="exists")


@pytest.mark.parametrize(
    ("text", "says"), [("a word", "has no [MASK]"), ("[MASK] " * 500, "positions: shorten it"), ("", "has no [MASK]")]
)
def test_a_text_that_cannot_be_filled(refused, finished, text, says):
    refused("fill-mask", "masking-80-10-10-seed0", text, "--runs", str(finished), says=says)


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nsys.argv = ['bertlab', '--help']\nfrom bertlab.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'lightning', 'datasets', 'pandas', 'transformers', 'ray', 'numpy', 'matplotlib', 'scipy'}\n"
        "print('loaded', sorted(heavy & set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"}
    ).stdout
    assert "ablate" in printed
    assert printed.strip().endswith("loaded []")


def test_no_module_of_the_plan_needs_torch():
    code = (
        "import sys\nimport bertlab.recipe.cost, bertlab.lab.scales, bertlab.lab.study, bertlab.lab.studies\n"
        "import bertlab.store.runs, bertlab.lab.plan, bertlab.lab.jobs, bertlab.inputs.batches, bertlab.text.tokens\n"
        "import bertlab.tasks.catalog\n"
        "import bertlab.estimates.microbenchmark, bertlab.estimates.history, bertlab.estimates.cost\n"
        "assert not {'torch', 'lightning', 'datasets', 'transformers'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


EVIL = "=1|<b>[red]\x1b[31m\n$x$ `rm` ..\udcff"
SEEN = "=1|<b>[red][31m $x$ `rm` .."
CLASSES = ("=no|", "<b>yes\x1b[31m", "__may\nbe__\ud800")
HOSTILE = f"""
from bertlab.lab.study import Measurement, Study, Task, Variant
from bertlab.objectives import MaskedLM
task = Task(kind="classification", name={EVIL!r}, dataset={EVIL!r}, path="data/" + {EVIL!r}, text=({EVIL!r},),
            label="=1", labels={CLASSES!r})
study = Study(name="../" + {SEEN!r}, question={EVIL!r}, source={EVIL!r}, baseline="../" + {SEEN!r},
              variants=[Variant("../" + {SEEN!r}), Variant("[/]", objective=(MaskedLM(mask_prob=0.3),))],
              measurements=[Measurement({SEEN!r}, task=task)])
"""


@pytest.fixture
def place(tmp_path, monkeypatch, text_file):
    """A folder with a study, its data and a corpus; the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(HOSTILE)
    for folder in ("data", "corpus"):
        (tmp_path / folder / EVIL).mkdir(parents=True)
    (tmp_path / "corpus" / EVIL / "train.jsonl").write_text(text_file.read_text())
    rows = [{EVIL: f"word {number} \ud800", "=1": CLASSES[number % 3]} for number in range(12)]
    for split in ("train", "validation"):
        (tmp_path / "data" / EVIL / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_from_the_plan_to_the_report(call, place, capsys):
    before = set(place.iterdir())
    study = ("ablate", "own.py", "--scale", "smoke", "--corpus", f"corpus/{EVIL}", "--threads", "1")
    assert call(*study, "--precision", "fp32") == 0
    assert call("report") == 0
    out, err = capsys.readouterr()
    assert "1 of" not in err
    assert "C" not in {unicodedata.category(each)[0] for each in (out + err).replace("\n", "")}
    assert set(place.iterdir()) - before == {place / "runs", place / "reports"}
    stem = filename(f"../{SEEN}")
    assert {path.name for path in (place / "reports").iterdir()} >= {"index.md", f"{stem}.md", f"{stem}.csv"}
    with (place / "reports" / f"{stem}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["variant"] for row in rows} == {f"../{SEEN}", "[/]"}
    assert {row["dataset"] for row in rows} == {f"'{SEEN}"}
    assert {row["status"] for row in rows} <= {"done", "collapsed"}
    assert call("runs", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 5
