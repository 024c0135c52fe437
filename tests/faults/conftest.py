"""A small study of two rows and one that diverges, its undisturbed end, and a warm process to disturb it in."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bertlab.store.runs import CHECKPOINT, Store

STUDY = """
from bertlab import Corruption, Features, MaskedLM, Measurement, NextSentence, Study, Task, Variant

task = Task(kind="tagging", name="long", path="long", text=("tokens",), label="tags", labels=("O", "B-LONG", "I-LONG"))
study = Study(
    name="own",
    question="Does it go on?",
    source="here",
    baseline="one",
    variants=[
        Variant("one", objective=(MaskedLM(corruption=Corruption(mask=0.8, keep=0.1, random=0.1)), NextSentence())),
        Variant("two", objective=(MaskedLM(corruption=Corruption(mask=0.0, keep=0.0, random=1.0)), NextSentence())),
        Variant("wild", fields={"optimizer.weight_decay": "10", "schedule.peak_lr": "10"}),
    ],
    measurements=[
        Measurement("fine-tuned", task=task, metric="f1"),
        Measurement("features", task=task, adaptation=Features(), metric="f1", milestones=(50, 100)),
    ],
    published={("one", "fine-tuned"): 84.2, ("two", "fine-tuned"): 83.6},
)
"""
ABLATE = (
    "ablate", "own.py", "--scale", "smoke", "--corpus", "world.jsonl", "--set", "schedule.steps=6",
    "--set", "tagging.max_steps=3", "--set", "features.max_steps=3",
    "--threads", "1", "--precision", "fp32", "--keep",
)  # fmt: skip
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
}


class Warm:
    """Runs command lines in forks of one process that has imported everything."""

    def __init__(self, place: Path) -> None:
        environment = os.environ | ONE_THREAD | {"BERTLAB_CACHE": str(place / "cache")}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm.py"))],
            cwd=place, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def at_once(self, *commands):
        """What becomes of commands that run at once: `status`, `printed` and `seconds` of each."""
        self.process.stdin.write(json.dumps(commands) + "\n")
        self.process.stdin.flush()
        return [SimpleNamespace(**each) for each in json.loads(self.process.stdout.readline())]

    @staticmethod
    def command(runs, arguments=ABLATE, faults="", kill=None, limit=None):
        """A command line, and what is to disturb it."""
        return {"arguments": arguments, "runs": str(runs), "faults": faults, "kill": kill, "limit": limit}

    def ablate(self, runs, **disturbed):
        """Runs the study in the store `runs`."""
        return self.at_once(self.command(runs, **disturbed))[0]

    def report(self, runs, **disturbed):
        """Writes the report of the store `runs` into `reports` beside it."""
        return self.at_once(self.command(runs, ("report", "--out", str(runs.with_name("reports"))), **disturbed))[0]


def finished_files(runs):
    """Every file of every finished run apart from what says by whom it was run, when, and how long; and from its last
    checkpoint, which is removed once the run is finished: a kill may come between, and `runs --prune` removes it."""
    return {
        (run.path.name, path.relative_to(run.path).as_posix()): path.read_bytes()
        for run in Store(runs).runs()
        for path in sorted(run.path.rglob("*"))
        if path.is_file()
        and path.name not in ("manifest.json", "environment.json", "timing.jsonl")
        and CHECKPOINT not in path.relative_to(run.path).parts
    }


def failed_runs(runs):
    """Why runs ended without a result."""
    return [(failure.id, failure.status, failure.reason) for failure in Store(runs).failures()]


def pages(folder):
    """Every file of a report; what a killed write left has a name that nobody takes for one."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".part"
    }


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    """The study's file, its text and its task."""
    from bertlab import synthetic as microworld

    folder = tmp_path_factory.mktemp("faults")
    texts = list(microworld.documents(120))
    (folder / "own.py").write_text(STUDY)
    (folder / "world.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "long").mkdir()
    for split, chosen in (("train", texts[:40]), ("validation", texts[40:60])):
        words = [text.split()[:12] for text in chosen]
        rows = [{"tokens": each, "tags": ["B-LONG" if len(word) > 5 else "O" for word in each]} for each in words]
        (folder / "long" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="session")
def warm(place):
    made = Warm(place)
    with made.process:
        yield made
    assert made.process.returncode == 0


@pytest.fixture(scope="session")
def undisturbed(warm, tmp_path_factory):
    """The end of the study when nothing happens: its files and report, how long it takes, the places that it passes."""
    folder = tmp_path_factory.mktemp("undisturbed")
    runs, record = folder / "runs", folder.with_name(f"{folder.name}-places")
    ran = warm.ablate(runs, faults=f"record:{record}")
    assert ran.status == 1, ran.printed  # of the row that diverges
    reported = warm.report(runs, faults=f"record:{record}")
    assert reported.status == 0, reported.printed
    return SimpleNamespace(
        runs=runs,
        files=finished_files(runs),
        failures=failed_runs(runs),
        pages=pages(folder / "reports"),
        seconds=ran.seconds,
        places=record.read_text().splitlines(),
    )


@pytest.fixture
def same_end(warm, undisturbed):
    """Asserts that a store, given the command again, ends as the undisturbed one did, byte for byte."""

    def check(runs):
        ran = warm.ablate(runs)
        assert ran.status == 1, ran.printed
        assert failed_runs(runs) == undisturbed.failures
        files = finished_files(runs)
        assert files.keys() == undisturbed.files.keys()
        assert [name for name, content in files.items() if content != undisturbed.files[name]] == []
        assert warm.report(runs).status == 0
        assert pages(runs.with_name("reports")) == undisturbed.pages
        assert not list(runs.glob("*/.*.work/**/*.part"))

    return check
