"""A kind of job that the package does not know is planned, estimated, scheduled, stored and listed as any other."""

import ast
import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import bertlab
from bertlab.cli.jobs import print_plan, run_jobs, unfinished
from bertlab.estimates.cost import estimate, gpu_seconds
from bertlab.estimates.eta import Eta
from bertlab.estimates.history import RuntimeHistory
from bertlab.execution.schedule import execute
from bertlab.lab import plan as planning
from bertlab.lab import scales, studies
from bertlab.lab.jobs import CorpusPreparation, Job, base
from bertlab.lab.jobs.base import Storage, Work
from bertlab.store.prune import prune
from bertlab.store.runs import Store

FLOPS = 6e12


@dataclass(frozen=True)
class Counting(Job, kinds=("counting",)):
    """Counts the files of a prepared corpus."""

    corpus: CorpusPreparation
    times: int = 1
    fails: bool = False
    kind = "counting"
    counted = "counts"

    @property
    def label(self):
        return f"files-{self.times}"

    @property
    def needs(self):
        return (self.corpus,)

    def definition(self):
        return {"corpus": self.corpus.id, "times": self.times, "fails": self.fails}

    def work(self):
        return Work(tokens=100, flops=FLOPS)

    def storage(self):
        return Storage(kept=12)

    def run(self, work, store, machine, progress):
        if self.fails:
            raise RuntimeError("nothing to count")
        progress(1, 1, "counting")
        files = [*store.get_verified(self.corpus.id).path.iterdir()]
        return {"status": "done", "files": self.times * len(files)}


base.KINDS.pop("counting")  # other tests do not see it


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(base.KINDS, "counting", Counting)


@pytest.fixture
def planned(machine):
    """A plan of two such jobs, after the corpus that they need."""
    request = planning.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), only=("80/10/10",))
    plan = planning.make(request, machine)
    jobs = planning.jobs_of([Counting(plan.jobs[0]), Counting(plan.jobs[0], times=2)])
    assert [job.kind for job in jobs] == ["corpus", "counting", "counting"]
    return dataclasses.replace(plan, cells=(), jobs=jobs)


def test_it_is_estimated_from_what_it_says(planned, machine, tmp_path):
    store = Store(tmp_path / "runs")
    left = estimate(planned, store, machine, gpu_seconds(1e12)).to_json()
    assert {name: left["to_do"][name] for name in ("corpora", "counts", "measurements")} == {
        "corpora": 1, "counts": 2, "measurements": 0,
    }  # fmt: skip
    assert (left["jobs"]["counting"]["tokens"], left["jobs"]["counting"]["disk_bytes"]) == (200, 24)
    assert left["jobs"]["counting"]["seconds"] == pytest.approx(2 * (3 + FLOPS / 0.3e12))
    eta = Eta.of_pending(planned.jobs, machine, lambda job, devices: 5.0)
    assert eta.seconds() == 15


def test_it_runs_after_what_it_needs_and_is_in_the_store(planned, machine, tmp_path, capsys, call):
    store = Store(tmp_path / "runs")
    print_plan(planned, store, machine)
    assert "counting     0       2" in capsys.readouterr().out
    assert run_jobs(planned.jobs, store, machine)
    corpus, one, two = (store.get(job.id) for job in planned.jobs)
    files = [run.read("result.json", dict)["files"] for run in (one, two)]
    assert files == [len([*corpus.path.iterdir()]), 2 * len([*corpus.path.iterdir()])]
    assert planned.pending(store) == []
    assert not execute(planned.jobs, store, machine, None, lambda: None)
    capsys.readouterr()
    history = RuntimeHistory(store, machine)
    assert history.seconds(planned.jobs[1]) == one.seconds()
    assert call("runs", "--json", "--runs", store.root) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {(run["kind"], run["label"]) for run in listed} >= {("counting", "files-1"), ("counting", "files-2")}
    with store.locks.reserved([one.id]):
        assert prune(store) == (1, 0), "what it was made from is needed too"
    assert {run.id for run in store.runs()} == {corpus.id, one.id}


def test_its_failure_is_that_of_a_job(planned, machine, tmp_path):
    store, failing = Store(tmp_path / "runs"), Counting(planned.jobs[0], fails=True)
    jobs = (*planned.jobs[:1], failing)
    assert not run_jobs(jobs, store, machine)
    assert [(job["kind"], job["reason"]) for job in unfinished(jobs, store)] == [
        ("counting", "failed: nothing to count")
    ]


def test_nobody_asks_which_kind_a_job_is_of():
    """Nor does anybody outside of `lab/jobs` compare its kind with a text."""
    names = {kind.__name__ for kind in base.KINDS.values()} | {"Job", "Pretrained"}
    asking = []
    for path in sorted(Path(bertlab.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
        if not any(module.startswith("bertlab.lab.jobs") for module in modules):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                classes = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                asking += [f"{path}:{node.lineno}"] if classes & names else []
            if isinstance(node, ast.Compare) and ast.unparse(node.left).endswith("job.kind"):
                asking.append(f"{path}:{node.lineno}")
    assert asking == []
