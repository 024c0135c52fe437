"""Held-out figures and minimal pairs at the milestones of finished pre-trainings, from the command line to the page."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from bertlab.errors import BadInput
from bertlab.lab import plan, scales, studies
from bertlab.report.gather import gather_all
from bertlab.store.runs import Store

MEASURED = ("--measure", "masked_lm_loss", "--measure", "perplexity", "--measure", "zorro", "--curves")


@pytest.fixture(scope="module")
def curves(call: Any, smoke: Any, finished: Path) -> Path:
    """The store of `finished` with these measurements of its models."""
    assert call(*smoke, *MEASURED, "--runs", finished) == 0
    return finished


def test_a_store_gets_the_curves_of_the_models_that_it_has(curves: Path) -> None:
    store = Store(curves)
    kinds = sorted(run.kind for run in store.runs() if run.kind in ("held-out", "zero-shot"))
    assert kinds == ["held-out"] * 2 + ["zero-shot"] * 5, "half of the steps, and the end"
    (study,) = gather_all(store)
    assert study.milestones("perplexity") == study.milestones("zorro") == [50, 100]
    assert study.milestones("MNLI fine-tuned") == [100]
    for cell in study.column("perplexity", 50):
        run = store.get(cell.run_id)
        assert run is not None
        assert run.definition() == {"pretrain": cell.pretrain_id, "milestone": 50}
        assert cell.value == run.result().heldout["perplexity"]
        assert cell.seconds > 0, "its time counts"
    ends = {cell.pretrain_id: cell.value for cell in study.column("masked_lm_loss")}
    for cell in study.column("masked_lm_loss", 50):
        end = ends[cell.pretrain_id]
        assert cell.value is not None
        assert end is not None
        assert 0 < abs(cell.value - end) < 0.5


def test_the_same_command_runs_nothing_again_and_a_record_repeats_it(call: Any, smoke: Any, curves: Path) -> None:
    before = {run.id for run in Store(curves).runs()}
    assert call(*smoke, *MEASURED, "--runs", curves) == 0
    assert {run.id for run in Store(curves).runs()} == before
    (record,) = Store(curves).records(needed=()).values()
    assert record.command.count("--measure zorro --curves") == 1
    assert record.command.count("--curves") == 1, "the first command had none"


def test_the_page_draws_them_and_tables_carry_the_milestone(call: Any, curves: Path, tmp_path: Path) -> None:
    assert call("report", "--runs", curves, "--out", tmp_path) == 0
    assert "![3 measurements of 2 variants during pre-training.]" in (tmp_path / "masking.md").read_text()
    with (tmp_path / "masking.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["measurement"] == "masked_lm_loss"]
    for variant in ("80/10/10", "0/0/100"):
        assert [row["milestone"] for row in rows if row["variant"] == variant] == ["50", "100"]


def test_a_figure_that_no_loss_of_a_study_has_is_unknown() -> None:
    masking, replaced = studies.find("masking"), studies.find("replaced-tokens")
    with pytest.raises(BadInput, match="unknown measurement 'replaced_tokens_loss'"):
        plan.Request(studies=(masking,), scale=scales.find("smoke"), measure=("replaced_tokens_loss",))
    (*_, more) = studies.measuring(replaced, {"replaced_tokens_loss"}).measurements
    assert (more.name, more.task, more.metric) == ("replaced_tokens_loss", "", "replaced_tokens_loss")
