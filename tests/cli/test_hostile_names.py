"""A user's study whose folders, columns, classes and variants have names that look like paths, markup or formulas, and
whose texts are not valid Unicode."""

import csv
import json
import unicodedata

import pytest

from bertlab.names import filename

EVIL = "=1|<b>[red]\x1b[31m\n$x$ `rm` ..\udcff"
SEEN = "=1|<b>[red][31m $x$ `rm` .."
CLASSES = ("=no|", "<b>yes\x1b[31m", "__may\nbe__\ud800")
STUDY = f"""
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
    (tmp_path / "own.py").write_text(STUDY)
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
