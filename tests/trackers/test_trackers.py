"""Each tracker, where its package is installed, keeps the curves, the figures and the tables of a page in its group."""

import dataclasses
import importlib
import json
import posixpath
import re
import sys
from collections import namedtuple
from types import ModuleType, SimpleNamespace

import pandas
import pytest

from bertlab import trackers
from bertlab.errors import BadInput
from bertlab.trackers.base import Page
from bertlab.trackers.lightning import Opener

FIGURES = {"mean/MNLI: 80/10/10": 83.5, "claims/undecided": 3}
POINTS = [("train/loss", 2.0, 1), ("mean", 3.0, 2)]
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


class StandInClient:
    """What `mlflow.MlflowClient` does with the calls of the tracker, in memory; MLflow's own checks of names."""

    experiments, runs = {}, []

    def get_experiment_by_name(self, name):
        return self.experiments.get(name)

    def create_experiment(self, name):
        self.experiments[name] = SimpleNamespace(experiment_id="7", lifecycle_stage="active")

    def search_runs(self, experiment_ids, filter_string="", max_results=1000):
        key, value = re.fullmatch(r"tags\.`([\w.]+)` = '(\w+)'", filter_string).groups()
        return [run for run in self.runs if run.tags[key] == value][:max_results]

    def create_run(self, experiment_id, start_time=None, tags=None, run_name=None):
        info = SimpleNamespace(run_id=f"run{len(self.runs)}", run_name=run_name, status="RUNNING")
        self.runs.append(SimpleNamespace(info=info, tags=tags, metrics=[], params={}, texts={}))
        return self.runs[-1]

    def update_run(self, run_id, status=None, name=None):
        self.of(run_id).info.status = status

    def of(self, run_id):
        return next(run for run in self.runs if run.info.run_id == run_id)

    def log_batch(self, run_id, metrics=(), params=(), tags=()):
        for each in (*metrics, *params):
            assert re.fullmatch(r"[/\w.\- ]{1,250}", each.key)
            assert posixpath.normpath(each.key) == each.key
            assert not each.key.startswith(("/", ".."))
        assert len(params) <= 100
        self.of(run_id).metrics += [(each.key, each.value, each.step) for each in metrics]
        self.of(run_id).params |= {each.key: each.value for each in params}

    def log_text(self, run_id, text, artifact_file):
        self.of(run_id).texts[artifact_file] = text

    set_terminated = update_run


@pytest.fixture
def mlflow(monkeypatch):
    """The module, or a stand-in with the runs that it keeps."""
    monkeypatch.setattr(StandInClient, "experiments", {})
    monkeypatch.setattr(StandInClient, "runs", [])
    entities = {"Metric": namedtuple("Metric", "key value timestamp step"), "Param": namedtuple("Param", "key value")}
    modules = {
        "mlflow": {"MlflowClient": StandInClient},
        "mlflow.entities": entities,
        "mlflow.exceptions": {"MlflowException": OSError},
    }
    for name, members in modules.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return StandInClient.runs


def test_mlflow_continues_the_run_of_the_page(page, mlflow):
    page = dataclasses.replace(page, fields={**page.fields, "many": {f"field {n}": n for n in range(150)}})
    logged("mlflow", page)
    (run,) = mlflow
    assert run.info.run_name == "masking at smoke"
    assert run.tags == {"bertlab.id": "0f1e2d3c", "study": "masking", "kind": "results"}
    assert run.metrics == [
        ("train/loss", 2.0, 1),
        ("train/loss", 1.0, 2),
        ("mean/MNLI_ 80/10/10", 83.5, 3),
        ("claims/undecided", 3, 3),
    ]
    assert run.params["recipe.steps"] == "20"
    assert run.params["many.field 149"] == "149"
    assert run.texts == {"values.csv": "variant,mean\n80/10/10,83.5\n<b>,\n"}
    assert run.info.status == "FINISHED"


def test_mlflow_takes_any_name(page, mlflow, hostile_names):
    with trackers.opened(["mlflow"], page) as found:
        found["mlflow"].finish({f"mean/{name}": 1.0 for name in hostile_names}, 3)
    assert len(mlflow[0].metrics) == len(dict.fromkeys(hostile_names))


def test_tensorboard_has_the_tables_as_text(page):
    logged("tensorboard", page)
    written = b"".join(path.read_bytes() for path in page.folder.glob("events.out.tfevents.*"))
    assert b"| 80/10/10  |   83.5 |\n| <b>       |        |" in written
    assert re.search(rb"mean/MNLI[:_ ]+80/10/10", written)
    assert "steps: 20" in (page.folder / "hparams.yaml").read_text()


class StandInLogger:
    """A Lightning logger that keeps what it gets."""

    def __init__(self):
        self.metrics, self.parameters, self.ended = [], {}, ""

    def log_hyperparams(self, params):
        self.parameters |= params

    def log_metrics(self, metrics, step):
        self.metrics += [(name, value, step) for name, value in metrics.items()]

    def save(self):
        pass

    def finalize(self, status):
        self.ended = status


def test_a_lightning_logger_has_all_pages_and_a_function_makes_one_for_each(page):
    shared, alone = StandInLogger(), []
    chosen = [Opener(shared), Opener(lambda page: alone.append(StandInLogger()) or alone[-1])]
    for name in ("a", "b"):
        with trackers.opened(chosen, dataclasses.replace(page, name=name)) as found:
            assert len(found) == 2
            for tracker in found.values():
                tracker.log({"train/loss": 2.0}, 1)
                tracker.finish({"mean": 3.0}, 2, {"values": TABLE})
    assert shared.metrics == [(f"{name}/{key}", value, step) for name in "ab" for key, value, step in POINTS]
    assert [each.metrics for each in alone] == [POINTS, POINTS]
    assert shared.parameters == {"a": page.fields, "b": page.fields}
    assert alone[0].parameters == page.fields
    assert (shared.ended, alone[0].ended) == ("", "success"), "the shared one is still in use"
    with pytest.raises(BadInput, match="loggers has 3: give names, Lightning loggers"):
        Opener(3)
