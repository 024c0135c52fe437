"""Each tracker, where its package is installed, keeps the curves, the figures and the tables of a page in its group."""

import importlib
import json
import re

import pandas
import pytest

from bertlab import trackers
from bertlab.trackers.base import Page

FIGURES = {"mean/MNLI: 80/10/10": 83.5, "claims/undecided": 3}
TABLE = pandas.DataFrame({"variant": ["80/10/10", "<b>"], "mean": [83.5, None]}, dtype=object)


@pytest.fixture
def page(tmp_path):
    return Page(
        id="0f1e2d3c",
        name="masking at smoke",
        group="masking",
        kind="results",
        folder=tmp_path / "logs" / "masking",
        fields={"study": "masking", "recipe": {"steps": 20}},
    )


def logged(name, page, look=lambda tracker: None):
    """Opens a page, closes it, opens it again to continue and finishes it; what `look` finds before it closes."""
    table = TABLE.where(TABLE.notna(), None)
    with trackers.opened([name], page) as first:
        first[name].log({"train/loss": 2.0}, 1)
    with trackers.opened([name], page) as again:
        again[name].log({"train/loss": 1.0}, 2)
        again[name].finish(FIGURES, 3, {"values": table})
        return look(again[name])


@pytest.mark.filterwarnings("default")  # of the package's own imports
def test_wandb_has_a_run_with_a_summary_in_the_group_of_the_study(page, monkeypatch, capfd):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    pytest.importorskip("wandb")
    run, summary = logged("wandb", page, lambda tracker: (tracker.run, dict(tracker.run.summary)))
    known = (run.id, run.name, run.group, run.job_type, run.project)
    assert known == ("0f1e2d3c", "masking at smoke", "masking", "results", "bertlab")
    assert dict(run.config)["recipe"] == {"steps": 20}
    assert summary.items() >= FIGURES.items()
    (path,) = page.folder.rglob("values_*.table.json")
    table = json.loads(path.read_text())
    assert table["columns"] == ["variant", "mean"]
    assert table["data"] == [["80/10/10", 83.5], ["<b>", None]]
    assert len(list(page.folder.rglob("*.wandb"))) == 2, "offline, each opening is a file of the same run"
    assert capfd.readouterr() == ("", ""), "the console is the command's own"


@pytest.mark.filterwarnings("default")
def test_trackio_continues_the_run_of_the_page(page, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read when it is imported, for the whole process
    pytest.importorskip("trackio")
    logged("trackio", page)
    storage = importlib.import_module("trackio.sqlite_storage").SQLiteStorage
    ((run, kept),) = storage.get_all_run_configs("bertlab").items()
    assert (kept["_Group"], kept["study"]) == ("masking", "masking")
    curve = storage.get_logs("bertlab", run_id=run)
    assert [(each["step"], each.get("train/loss")) for each in curve] == [(1, 2.0), (2, 1.0), (3, None)]
    assert {name: curve[-1][name] for name in FIGURES} == FIGURES
    assert curve[-1]["reports/summary"]["_value"] == "## values\n\n- variant 80/10/10; mean 83.5\n- variant <b>"
    assert curve[-1]["values"]["_value"] == [{"variant": "80/10/10", "mean": 83.5}, {"variant": "<b>", "mean": None}]
    assert capfd.readouterr() == ("", "")


def test_tensorboard_has_the_tables_as_text(page):
    logged("tensorboard", page)
    written = b"".join(path.read_bytes() for path in page.folder.glob("events.out.tfevents.*"))
    assert b"| 80/10/10  |   83.5 |\n| <b>       |        |" in written
    assert re.search(rb"mean/MNLI[:_ ]+80/10/10", written)
    assert "steps: 20" in (page.folder / "hparams.yaml").read_text()
