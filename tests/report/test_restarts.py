"""Random restarts: failed runs, their spread, and the best of several, of scores that are known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.restarts import expected_best, has_failed, restarts, table
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store

SCORES = {("80/10/10", 0): (33.3, 60.0, 63.0), ("80/10/10", 1): (70.0, 72.3, 74.6), ("100/0/0", 0): (80.0,)}
"""The scores of the restarts of each variant and pre-training seed. A majority guess has 33.3."""


@pytest.fixture
def study(builder: Any) -> Callable[..., StudyResults]:
    """A study with these scores."""

    def gathered(scores: dict[tuple[str, int], tuple[float, ...]] = SCORES) -> StudyResults:
        for (variant, seed), values in scores.items():
            run_id = builder.pretrain(variant, seed)
            for finetune_seed, value in enumerate(values):
                builder.cell(variant, "MNLI", value, seed, finetune_seed, run_id)
        return gather(Store(builder.root), [builder.record()])[0]

    return gathered


def test_a_line_has_the_failed_runs_the_spread_within_models_and_the_best_of_as_many_as_all_have(study):
    shown = table(study())
    assert shown.columns == ("on", "variant", "failed runs", "mean", "sd of restarts", "worst", "best of 3")
    # of each model two degrees of freedom: sums of squares 534.66 and 10.58 over 4; the best are 63 and 74.6
    assert shown.rows == (
        ("MNLI", "80/10/10 (baseline)", "1 of 6", "62.2", f"{math.sqrt((534.66 + 10.58) / 4):.1f}", "33.3", "68.8"),
        ("MNLI", "100/0/0", "0 of 1", "80.0", "", "80.0", ""),
    )
    assert any("compares with no mean" in line for line in notes("restarts", study()))


def test_one_restart_of_each_model_has_no_table(study):
    assert not table(study({("80/10/10", 0): (60.0,), ("80/10/10", 1): (62.0,)})).rows


def test_the_best_of_k_is_the_mean_over_all_ways_to_choose_them():
    points = [1.0, 5.0, 2.0, 9.0, 4.0]
    for k in range(1, 6):
        ways = [max(chosen) for chosen in itertools.combinations(points, k)]
        assert expected_best(points, k) == pytest.approx(sum(ways) / len(ways))


def test_a_run_has_failed_by_its_accuracy_whatever_is_reported_and_where_it_diverged(study):
    cell = study().cells[1]
    of_f1 = replace(cell, metric="f1", value=70.0)
    guesses = {"f1": 81.0, "accuracy": 68.0}
    assert has_failed(replace(of_f1, guesses=guesses, metrics={"f1": 70.0, "accuracy": 69.0})) is False
    assert has_failed(replace(of_f1, guesses=guesses, metrics={"f1": 82.0, "accuracy": 68.0})) is True
    assert has_failed(replace(of_f1, guesses={"f1": 81.0}, metrics={"f1": 82.0, "accuracy": 50.0})) is False
    assert has_failed(replace(of_f1, guesses={})) is None
    assert has_failed(replace(cell, value=None, metrics={}, guesses={}, status="diverged")) is True


def test_a_diverged_run_counts_as_failed_and_has_no_score(study):
    complete = study()
    diverged = [replace(cell, value=None, status="diverged") if cell.value == 60.0 else cell for cell in complete.cells]
    restart = restarts(replace(complete, cells=tuple(diverged)), "80/10/10", "MNLI")
    assert (restart.failed, restart.fewest, restart.worst, restart.best_of(3)) == ((2, 6), 2, 33.3, None)
    assert restart.best_of(2) == pytest.approx((63.0 + (74.6 + 74.6 + 72.3) / 3) / 2)
    pending = [replace(cell, value=None, status="pending") for cell in complete.cells]
    assert restarts(replace(complete, cells=tuple(pending)), "80/10/10", "MNLI") is None
