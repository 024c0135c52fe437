"""The multi-bootstrap against its definition, resample by resample."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bertlab.report.statistics import effects
from bertlab.report.statistics.effects import Seed, drawn, resampled
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.metrics import Mean


def test_draws_are_with_replacement_and_keyed() -> None:
    counts = drawn(4000, 5, 1)
    assert (counts.sum(1) == 5).all()
    shares = np.bincount(counts[:, 2], minlength=6) / 4000  # binomial of 5 draws at 1 in 5
    assert shares[:3] == pytest.approx([0.8**5, 0.8**4, 10 * 0.2**2 * 0.8**3], abs=0.03)
    assert (drawn(4000, 5, 1) == counts).all()
    assert (drawn(4000, 5, 2) != counts).any()
    assert (drawn(10, 5, 1) == counts[:10]).all()  # more resamples begin with the same


def test_seeds_and_examples_are_drawn_apart() -> None:
    assert (drawn(50, 6, 3) != drawn(50, 6, ~3)).any()


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_by_the_definition(metric: str) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 7)

    def finetune_seeds(number: int) -> list[dict[str, np.ndarray]]:
        return [{"prediction": rng.integers(0, 2, 7), "label": label} for _ in range(number)]

    runs = [
        (finetune_seeds(2), finetune_seeds(1)),
        (finetune_seeds(1), finetune_seeds(3)),
        (finetune_seeds(2), finetune_seeds(2)),
    ]
    kind = KINDS["classification"]
    seeds: list[Seed] = [
        ([kind.metric(metric, each) for each in one], [kind.metric(metric, each) for each in other])
        for one, other in runs
    ]
    found = resampled(seeds, 20, key=9)

    def score(run: dict[str, np.ndarray], examples: np.ndarray) -> float:
        guess, right = run["prediction"][examples], run["label"][examples]
        if metric == "accuracy":
            return 100 * float(np.mean(guess == right))
        both, either = np.sum(guess & right), np.sum(guess) + np.sum(right)
        return 200 * float(both) / float(either) if either else 0.0

    for resample, value in enumerate(found):
        # Sellam et al. 2022, algorithm 1: the seeds, then the examples, the same for both rows.
        which = np.repeat(np.arange(3), drawn(20, 3, 9)[resample])
        examples = np.repeat(np.arange(7), drawn(20, 7, ~9)[resample])
        differences = [
            np.mean([score(each, examples) for each in runs[seed][0]])
            - np.mean([score(each, examples) for each in runs[seed][1]])
            for seed in which
        ]
        assert value == pytest.approx(np.mean(differences))


def test_all_seeds_and_examples_of_a_tiny_study() -> None:
    scores = np.array([[0.0, 4.0], [1.0, 9.0]])
    found = resampled([([Mean(each)], [Mean(np.zeros(2))]) for each in scores], 20_000)
    # All 4 x 4 resamples of two seeds and two examples.
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    all_of_them = [scores[np.ix_(seeds, examples)].mean() for seeds in pairs for examples in pairs]
    assert found.mean() == pytest.approx(np.mean(all_of_them), abs=0.05)
    assert found.std() == pytest.approx(np.std(all_of_them), rel=0.02)
    assert set(np.round(found, 6)) == set(np.round(all_of_them, 6))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    seeds: list[Seed] = [([Mean(rng.random(11))], [Mean(rng.random(11))]) for _ in range(3)]
    whole = resampled(seeds, 30)
    monkeypatch.setattr(effects, "BLOCK", 40)
    np.testing.assert_allclose(resampled(seeds, 30), whole)


def test_a_thousand_resamples_of_a_study_take_little_time() -> None:
    rng = np.random.default_rng(5)
    seeds: list[Seed] = [([Mean(rng.random(2000))], [Mean(rng.random(2000))]) for _ in range(6)]
    drawn.cache_clear()
    start = time.process_time()
    resampled(seeds)
    assert time.process_time() - start < 1.0
