"""What running jobs show: a terminal of 80 columns has the bar, the figures and both ends of a name."""

import io
import re

import pytest
from rich.console import Console

from bertlab.cli import live
from bertlab.cli.live import Live, brief, shortened, shown, title
from bertlab.estimates.eta import Eta
from bertlab.lab import plan, studies
from bertlab.lab.jobs import CorpusPreparation, Pretraining
from bertlab.lab.scales import find
from bertlab.machine import Machine

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
