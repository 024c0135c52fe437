"""What `ablate` and `report` show at their end."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertlab.cli import results
from bertlab.cli.results import MOST_CLAIMS, failing, print_result, print_results
from bertlab.report.gather import gather
from bertlab.store.runs import Store


def test_the_result_of_a_study_without_claims(builder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (0, 1):
        builder.cell("80/10/10", "MNLI", 50.0 + seed, seed, pretrain_id=builder.pretrain("80/10/10", seed))
        builder.cell("100/0/0", "MNLI", 51.0 + 2 * seed, seed, pretrain_id=builder.pretrain("100/0/0", seed))
    builder.cell("[red]", "MNLI", None, pretrain_id=builder.pretrain("[red]", finished=False))
    (study,) = gather(Store(builder.root), [builder.record()])
    print_result(study)
    words = capsys.readouterr().out.split()
    for expected in ("50.5", "(0.7)", "84.2", "[red]", "pending", "+1.5", "±6.4", "+0.1"):
        assert expected in words


@pytest.mark.parametrize(
    ("loss", "scales", "warning"),
    [
        (4.4, ("tiny", "tiny"), ""),
        (5.8, ("tiny", "tiny"), "Warning: No model here learned more than how frequent words are"),
        (5.8, ("tiny", "smoke"), "Warning: No model here learned more than how frequent words are"),
        (5.8, ("smoke", "smoke"), "masking works: 2 of 2 runs finished, scale smoke"),
        (4.4, ("smoke", "smoke"), ""),
    ],
)
def test_several_studies_say_first_that_no_model_of_them_learned_anything(
    builder: Any, capsys: pytest.CaptureFixture[str], loss: float, scales: tuple[str, str], warning: str
) -> None:
    records = []
    for study, run, own, scale in zip(("masking", "own"), ("aa", "bb"), (5.8, loss), scales, strict=True):
        one = type(builder)(builder.root, study=study, scale=scale)
        one.cell("80/10/10", "MNLI", 50.0, pretrain_id=one.pretrain("80/10/10", loss=own, run_id=run), run_id=f"{run}0")
        records.append(one.record(study))
    print_results(gather(Store(builder.root), records))
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(warning or "Claims by verdict")


def test_a_study_at_scale_smoke_shows_the_floors_of_each_task_in_place_of_a_comparison(
    builder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    one = type(builder)(builder.root, study="masking", scale="smoke")
    for place, variant in enumerate(("80/10/10", "100/0/0")):
        one.cell(variant, "MNLI", 97.5 + place, pretrain_id=one.pretrain(variant, loss=5.8))
    one.cell("0/0/100", "MNLI", None, pretrain_id=one.pretrain("0/0/100", finished=False))
    (study,) = gather(Store(one.root), [one.record()])
    print_results([study], differences=True)
    heading, columns, _, task, meaning = capsys.readouterr().out.splitlines()
    assert heading.startswith("masking: 4 of 6 runs finished, scale smoke")  # a pre-training, and so a task, is missing
    assert columns.split()[:4] == ["task", "models", "majority", "guess"]
    assert task.split()[:5] == ["MNLI", "97.5", "to", "98.5", f"{study.floors('MNLI')['majority guess']:.1f}"]
    assert meaning.startswith("Scale smoke tests the program")


@pytest.mark.parametrize("seeds", [1, 2])
@pytest.mark.parametrize("imported", [False, True])
def test_a_deviation_is_explained_only_where_there_is_one(
    builder: Any, capsys: pytest.CaptureFixture[str], seeds: int, imported: bool
) -> None:
    run = builder.pretrain("80/10/10")
    for seed in range(seeds):
        builder.cell("80/10/10", "MNLI", 50.0 + seed, finetune_seed=seed, pretrain_id=run)
    (study,) = gather(Store(builder.root), [builder.record(pretrained="bert" * imported)])
    print_result(study)
    printed = capsys.readouterr().out
    assert ("(0.7)" in printed) == ("mean (sd" in printed) == (seeds > 1)
    assert ("on one checkpoint" in printed) == imported


def test_figures_of_the_pre_training_have_no_fine_tuning_seed(builder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    loss = {"measurement": "LM", "method": "pretraining", "metric": "perplexity"}
    for cells in ([*builder.cells, {**builder.cells[0], **loss}], [{**builder.cells[0], **loss}]):
        (study,) = gather(Store(builder.root), [builder.record(cells=cells)])
        print_result(study)
        said = "Values, each of one fine-tuning seed. " if len(cells) > 1 else ""
        assert f"\n{said}One pre-training seed has no interval" in capsys.readouterr().out


def test_the_unit_the_direction_and_the_measured_seeds_are_named(
    builder: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(3):
        run = builder.pretrain("80/10/10", seed)
        for restart in (0, 1):
            builder.cell("80/10/10", "MNLI", 50.0 + seed if seed < 2 else None, seed, restart, run)
    cells = [{**each, "method": "pretraining", "metric": "perplexity", "run_id": run} for each in builder.cells[:1]]
    cells = [{**each, "measurement": "LM"} for each in cells]
    (study,) = gather(Store(builder.root), [builder.record(cells=[*builder.cells, *cells])])
    print_result(study)
    printed = capsys.readouterr().out
    assert "Values: mean (sd), n = 2 seeds x 1 to 2 fine-tuning seeds; 1 where no sd is shown" in printed
    assert "Less is better: LM.\n" in printed


def test_of_many_studies_the_verdicts_are_counted(builder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    studies = []
    for study in ("masking", "other"):
        made = type(builder)(builder.root / study, study=study)
        for variant in ("80/10/10", "100/0/0"):
            for seed in range(4):
                value = 50.0 + seed * seed / 10 - (9.0 + seed / 10) * (variant == "80/10/10") * (study == "other")
                made.cell(variant, "MNLI", value, seed, pretrain_id=made.pretrain(variant, seed))
        worse = {"text": "100/0/0 is worse", "better": "80/10/10", "worse": "100/0/0", "on": "MNLI"}
        studies += gather(Store(made.root), [made.record(claims=[worse])])
    print_results(studies)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert " ".join(printed[1]) == "study scale reproduced contradicted undecided not measured"
    assert [line[0] for line in printed[3:]] == ["masking", "other"]
    assert failing(studies, ["contradicted"])
    assert "contradicted: 100/0/0 is worse (other, scale tiny" in capsys.readouterr().err
    assert not failing(studies, ["not measured"])
    assert not failing(studies, None)


def test_the_command(call: Any, builder: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.record()
    assert call("report", "masking", "--runs", builder.root, "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    files = len([*(tmp_path / "out").glob("*.csv")])
    assert files > 3
    assert printed.endswith(f"\nwrote {tmp_path / 'out' / 'index.html'}, 2 more pages and {files} CSV files\n")
    assert call("report", "markings", "--runs", builder.root, "--out", tmp_path / "out") == 2
    assert capsys.readouterr().err == "bertlab: unknown study 'markings': did you mean 'masking'?\n"


def test_the_result_table_loads_nothing_slow() -> None:
    code = (
        "import sys; from bertlab.cli import report; from bertlab.report import findings, page, tables\n"
        "slow = {'torch', 'pandas', 'matplotlib', 'scipy', 'datasets', 'lightning'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_shows_of_many_claims_those_with_a_verdict(
    builder: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    for variant, value in (("80/10/10", 70.0), ("100/0/0", 50.0), ("0/0/100", 70.0)):
        for seed in range(4):
            own = value + np.random.default_rng([seed, int(value)]).normal()
            builder.cell(variant, "MNLI", own, seed, pretrain_id=builder.pretrain(variant, seed))
    claims = [
        {"text": f"claim {n}", "better": "80/10/10", "worse": "0/0/100", "on": "MNLI"} for n in range(MOST_CLAIMS)
    ]
    claims.append({"text": "another claim", "better": "80/10/10", "worse": "100/0/0", "on": "MNLI"})
    (study,) = gather(Store(builder.root), [builder.record(claims=claims)])
    monkeypatch.setattr(results, "console", lambda: SimpleNamespace(is_terminal=terminal))
    print_result(study, differences=True)
    printed = capsys.readouterr().out
    assert "another claim" in printed
    assert ("claim 0" in printed) == ("variant minus baseline" in printed) == (not terminal)
    assert (f"{MOST_CLAIMS} claims undecided: the page" in printed) == terminal


@pytest.mark.parametrize(("terminal", "reported"), [(True, True), (True, False), (False, True)])
def test_a_terminal_shows_no_reasons_that_the_written_pages_have(
    builder: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, reported: bool
) -> None:
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant))
    claim = {"text": "one claim", "better": "80/10/10", "worse": "100/0/0", "on": "MNLI"}
    (study,) = gather(Store(builder.root), [builder.record(claims=[claim])])
    monkeypatch.setattr(results, "console", lambda: SimpleNamespace(is_terminal=terminal))
    print_result(study, differences=reported)
    printed = capsys.readouterr().out
    assert "one claim" in printed
    assert ("needs at least 4 seeds" in printed) is not (terminal and reported)


def test_what_holds_for_several_claims_is_said_once(builder: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant))
    claims = [{"text": text, "better": "80/10/10", "worse": "100/0/0", "on": "MNLI"} for text in ("one", "two")]
    (study,) = gather(Store(builder.root), [builder.record(claims=claims)])
    print_result(study)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    place = next(number for number, line in enumerate(lines) if line.startswith("undecided"))
    assert [line.split()[:2] for line in lines[place : place + 2]] == [["undecided", "one"], ["undecided", "two"]]
    assert lines[place + 2].startswith("- both: ")
    assert not any(line.startswith("-") for line in lines[place + 3 :])
