"""What running jobs show on a terminal, and what `--logger` writes: the runs are the same byte for byte."""

import io
import re
import shutil

import pytest
from rich.console import Console

from bertlab import results
from bertlab.cli import live
from bertlab.cli.live import Live, brief, shortened, shown, title
from bertlab.estimates.eta import Eta
from bertlab.lab import plan, studies
from bertlab.lab.jobs import CorpusPreparation, Pretraining
from bertlab.lab.scales import find
from bertlab.machine import Machine
from bertlab.trackers import TRACKERS

RECIPE = find("smoke").recipe
NAME = "a long name of a variant that goes on"
JOB = Pretraining(RECIPE, CorpusPreparation(RECIPE.corpus, RECIPE.tokenizer, ()), f"study-{NAME}")


@pytest.fixture
def lines(monkeypatch):
    """What a terminal of some columns, or a file, shows of a job at some step."""

    def show(*calls, columns=80, terminal=True):
        screen = Console(file=io.StringIO(), force_terminal=terminal, width=columns, markup=False, color_system=None)
        monkeypatch.setattr(live, "console", lambda: screen)
        monkeypatch.setattr(live, "say", screen.print)
        left = Eta.of_pending([JOB], Machine(), lambda job, devices: 100.0)
        with Live(left) as shown:
            shown.addresses = {JOB.id: [f"study/{NAME}/0"]}
            progress = shown.begin(JOB, 1, 1)
            for done, total, stage, figures in calls:
                progress(done, total, stage, **figures)
            if terminal:
                screen.file.truncate(0)
                shown.refresh()
            text = screen.file.getvalue()
        return [
            line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "\n", text).splitlines() if line.strip(" \0")
        ]

    return show


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (80, "a long name… goes on/0 ━"),
        (100, "a long name of a… that goes on/0 ━"),
        (140, f"[1/1] …/{NAME}/0 ━"),
        (180, f"[1/1] pretrain study/{NAME}/0 ━"),
    ],
)
def test_a_bar_keeps_its_figures(lines, columns, name):
    whole, job = lines((500, 1000, "pre-training", {"loss": 6.1234}), columns=columns)
    assert "all jobs" in whole
    assert "0/1" in whole
    assert "50 s left" in whole
    assert job.startswith(name)
    assert "500/1,000" in job
    assert "loss 6.123" in job
    assert len(job) <= columns


@pytest.mark.parametrize(
    ("columns", "total", "figures"),
    [
        (80, 1000, "loss 2.310"),
        (90, 1000, "loss 2.310  155,000 tokens/s"),
        (90, 100_000, "loss 2.310"),
        (120, 1_000_000, "loss 2.310  155,000 tokens/s"),
    ],
)
def test_figures_without_room_are_left_out_whole(lines, columns, total, figures):
    """Without its first digits, a number is another one."""
    given = {"loss": 2.31, "tokens_per_second": 155_000.0}
    _, job = lines((total // 2, total, "pre-training", given), columns=columns)
    assert f" {total // 2:,}/{total:,} " in job
    assert re.split(" {2,}", job, maxsplit=2)[2] == figures
    assert len(job) <= columns


def test_a_stage_is_shortened_and_figures_follow_it_where_they_fit():
    given = {"loss": 2.31, "tokens_per_second": 155_000.0}
    for width, text in (
        (37, "reading  loss 2.310  155,000 tokens/s"),
        (36, "reading  loss 2.310"),
        (18, "reading"),
        (6, "rea…ng"),
    ):
        assert shown(given, "reading", width) == text


def test_no_total_is_shown_before_it_is_known(lines):
    for calls in ((), ((1_000_008, 0, "reading text", {}),)):
        shown = "\n".join(lines(*calls))
        assert not re.search(r"\d/[0?]|\?", shown)
    assert "1,000,008" in shown


def test_a_log_has_the_time_of_day_and_whole_names(lines):
    steps = (500, 1000, "pre-training", {"loss": 6.1234, "tokens_per_second": 41234.4})
    (line,) = lines(steps, columns=200, terminal=False)
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[1/1\] pretrain study/a long name of a variant that goes on/0: "
        r"500/1,000 pre-training  loss 6\.123  41,234 tokens/s; all jobs: 50 s left",
        line,
    )


def test_a_corpus_has_a_time_left_before_anything_is_trained(monkeypatch):
    logged = []
    monkeypatch.setattr(live, "console", lambda: Console(file=io.StringIO()))
    monkeypatch.setattr(live, "say", logged.append)
    left = Eta.of_pending([JOB.corpus, JOB], Machine(), lambda job, devices: 100.0 if job == JOB else None)
    with Live(left) as shown:
        shown.begin(JOB.corpus, 1, 2)(1_000_008, 0, "reading text")
    assert re.search(r"1,000,008 reading text; all jobs: ~2 min left$", logged[0])


def test_a_vocabulary_has_no_share_of_the_time(monkeypatch):
    left = Eta.of_pending([], Machine(), lambda job, devices: 100.0)
    shares = []
    monkeypatch.setattr(left, "at", lambda job, share: shares.append(share))
    monkeypatch.setattr(live, "say", lambda text: None)
    with Live(left) as shown:
        progress = shown.begin(JOB.corpus, 1, 1)
        for done, total in ((5, 0), (0, 1), (1, 1), (3, 10)):
            progress(done, total, "a stage")
    assert shares == [0.3]


def test_a_log_has_a_line_for_each_stage_at_once(lines):
    """Of one stage, a line now and then."""
    steps = [(done, 9, stage, {}) for done, stage in ((1, "reading"), (2, "reading"), (3, "training"), (4, "training"))]
    shown = lines(*steps, columns=200, terminal=False)
    assert [re.search(r"\d/9 \w+", line)[0] for line in shown] == ["1/9 reading", "3/9 training"]


@pytest.mark.parametrize(("again", "left"), [(True, 100.0), (False, 0.0)])
def test_a_job_that_is_tried_again_has_its_time_again(monkeypatch, again, left):
    remaining = Eta.of_pending([JOB], Machine(), lambda job, devices: 100.0)
    monkeypatch.setattr(live, "say", lambda text: None)
    with Live(remaining) as shown:
        shown.begin(JOB, 1, 1)
        shown.failed(JOB, "no luck", again=again)
    assert remaining.seconds() == left


def test_names_lose_their_middle():
    assert shortened("masking", 7) == "masking"
    assert all(len(shortened("x" * 100, width)) == width for width in range(3, 100))


@pytest.fixture(scope="module")
def measured():
    """The jobs of study masking at scale smoke that measure, with their addresses."""
    made = plan.make(plan.Request(studies=(studies.find("masking"),), scale=find("smoke"), seeds=(0, 1)), Machine())
    cells = [cell for cell in made.cells if cell.job.kind != "pretrain"]
    known = {each.job.id: [f"masking/{each.variant}/{each.pretraining.seed}/{each.measurement.name}"] for each in cells}
    return [each.job for each in cells], known


def test_a_name_loses_kind_and_study_first(measured):
    jobs, known = measured
    (job,) = (each for each in jobs if known[each.id] == ["masking/80/10/10/0/MNLI fine-tuned"])
    assert title(job, known) == "finetune masking/80/10/10/0/MNLI fine-tuned"
    for width, text in (
        (51, "[12/40] finetune masking/80/10/10/0/MNLI fine-tuned"),
        (50, "[12/40] masking/80/10/10/0/MNLI fine-tuned"),
        (41, "[12/40] …/80/10/10/0/MNLI fine-tuned"),
        (35, "80/10/10/0/MNLI fine-tuned"),
        (25, "80/10/10/0/MNLI fi…-tuned"),
        (16, "80/10/10/0/MN…ed"),
        (15, "80/10/1…e-tuned"),
    ):
        assert brief("[12/40]", job, known, width) == text


@pytest.mark.parametrize("width", [22, 30, 40, 60])
def test_jobs_of_a_study_have_names_of_their_own_at_any_width(measured, width):
    jobs, known = measured
    names = [brief("[1/1]", each, known, width) for each in jobs]
    assert max(map(len, names)) <= width
    assert len({*names}) == len(names) == 36


def test_jobs_without_an_address_keep_their_number(measured):
    corpus = JOB.corpus
    assert brief("[1/9]", corpus, {}, 100) == f"[1/9] {title(corpus, {})}"
    assert brief("[1/9]", JOB, {}, 20) == shortened(f"[1/9] {JOB.label.replace(' ', '-')}", 20)
    assert brief("[1/9]", JOB, {JOB.id: [f"study/{NAME}/0"]}, 20) == shortened(f"{NAME}/0", 20)


@pytest.fixture(scope="module")
def logged(call, smoke, tmp_path_factory):
    """One variant of the finished study, logged to TensorBoard."""
    runs = tmp_path_factory.mktemp("logged") / "runs"
    command = [part for part in smoke if part not in ("0/0/100", "--random-init")]
    command.pop(len(command) - 1 - command[::-1].index("--only"))
    assert call(*command, "--logger", "tensorboard", "--runs", runs) == 0
    return runs


def test_the_runs_are_the_same(finished, logged):
    files = [
        path.relative_to(logged)
        for path in logged.glob("*/*--*/**/*")
        if path.is_file() and "logs" not in path.parts and path.name not in ("timing.jsonl", "manifest.json")
    ]
    assert {path.parts[0] for path in files} == {"corpus", "pretrain", "finetune", "features"}
    for path in files:
        assert (logged / path).read_bytes() == (finished / path).read_bytes(), path


def test_each_training_is_logged_beside_the_runs(logged):
    folders = {path.parent for path in (logged / "logs" / "masking").rglob("events.out.tfevents.*")}
    names = {path.relative_to(logged / "logs" / "masking").as_posix() for path in folders}
    trained = {
        path.relative_to(logged).as_posix()
        for kind in ("pretrain", "finetune", "features")
        for path in (logged / kind).glob("[!.]*")
    }
    assert {name for name in names if not name.startswith("results/")} == trained


def test_the_results_of_the_study_are_a_page_of_its_group(call, smoke, finished, tmp_path, monkeypatch):
    """The means and verdicts of the report, also where the finished command is repeated."""
    opened = []

    class StandIn:
        packages = ("torch",)

        def __init__(self, page):
            self.page, self.finished, self.closed = page, [], []
            opened.append(self)

        def finish(self, figures, step, tables=None):
            self.finished.append((figures, step, tables))

        def close(self, *, failed):
            self.closed.append(failed)

    monkeypatch.setitem(TRACKERS, "tensorboard", StandIn)
    runs = shutil.copytree(finished, tmp_path / "runs")
    assert call(*smoke, "--logger", "tensorboard", "--runs", runs) == 0
    (page,) = opened  # nothing was trained
    assert (page.page.group, page.page.kind, page.closed) == ("masking", "results", [False])
    ((figures, step, tables),) = page.finished
    means = results(runs).groupby(["variant", "measurement"])["value"].mean()
    shown = {name: value for name, value in figures.items() if name.startswith("mean/")}
    expected = {f"mean/{measurement}: {variant}": mean for (variant, measurement), mean in means.items()}
    assert shown == pytest.approx(expected)
    assert step == len(results(runs))
    assert sum(figures.values()) - sum(shown.values()) == len(tables["claims"]) > 0
    assert set(tables["values"]["variant"]) == {"80/10/10", "0/0/100", "no pre-training"}
    plain = (int, float, str, type(None))
    assert all(isinstance(value, plain) for table in tables.values() for value in table.values.flat)
    assert not any(value != value for table in tables.values() for value in table.values.flat), "missing is None"


def test_a_report_reads_no_logs(call, logged, tmp_path):
    assert call("report", "--runs", logged, "--out", tmp_path / "one") == 0
    for path in (logged / "logs").rglob("*"):
        if path.is_file():
            path.write_bytes(b"\0")
    assert call("report", "--runs", logged, "--out", tmp_path / "two") == 0
    for path in filter(lambda path: path.is_file(), (tmp_path / "one").rglob("*")):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize(
    "command", [("ablate", "masking"), ("pretrain",), ("finetune", "--task", "mnli", "--from", "x")]
)
def test_bad_loggers_are_one_line(call, capsys, tmp_path, command):
    assert call(*command, "--logger", "papyrus", "--runs", tmp_path / "runs") == 2
    assert "unknown logger 'papyrus'" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
