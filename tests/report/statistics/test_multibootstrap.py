"""The multi-bootstrap against its definition, and the interval of an effect against the multi-bootstrap's."""

from __future__ import annotations

import numpy as np
import pytest

from bertlab.report.statistics.effects import effect
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.metrics import Mean, MetricOfMeans, f1_points
from multibootstrap import Seed, drawn, interval, resampled


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

    def score(run: dict[str, np.ndarray], examples: np.ndarray) -> float:
        guess, right = run["prediction"][examples], run["label"][examples]
        if metric == "accuracy":
            return 100 * float(np.mean(guess == right))
        both, either = np.sum(guess & right), np.sum(guess) + np.sum(right)
        return 200 * float(both) / float(either) if either else 0.0

    for resample, value in enumerate(resampled(seeds, 20, key=9)):
        # Sellam et al. 2022, algorithm 1: the seeds, then the examples, the same for both rows.
        which = np.repeat(np.arange(3), drawn(20, 3, 18)[resample])
        examples = np.repeat(np.arange(7), drawn(20, 7, 19)[resample])
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


NOISES = {
    "seeds": (1.0, 1.0, 1.0),
    "examples": (0.02, 3.0, 1.0),
    "interaction": (0.0, 0.0, 3.0),
    "all": (0.3, 3.0, 3.0),
}


@pytest.mark.parametrize("noise", NOISES)
def test_the_interval_is_that_of_the_bootstrap_from_20_seeds_on(noise: str) -> None:
    rng, (seed, example, both) = np.random.default_rng(list(NOISES).index(noise)), NOISES[noise]
    widths = []
    for key in range(40):
        draw = rng.standard_normal
        differences = seed * draw((25, 1)) + example * draw(60) + both * draw((25, 60))
        seeds: list[Seed] = [([Mean(scores)], [Mean(np.zeros(60))]) for scores in differences]
        sides = ({number: seed[side] for number, seed in enumerate(seeds)} for side in (0, 1))
        measured = effect(*sides)
        assert measured is not None
        assert measured.interval is not None
        low, high = interval(measured, resampled(seeds, 1000, key))
        widths.append((measured.interval.high - measured.interval.low) / (high - low))
        for ours, theirs in ((measured.interval.low, low), (measured.interval.high, high)):
            assert ours == pytest.approx(theirs, abs=0.25 * measured.interval.half)
    assert np.mean(widths) == pytest.approx(1, abs=0.04)


def test_the_interval_of_f1_is_that_of_the_bootstrap() -> None:
    rng, seeds = np.random.default_rng(1), list[Seed]()
    for right in rng.beta(30, 10, 25):
        counts = [rng.random(300) < 0.5 for _ in range(2)]
        found = [(positive & (rng.random(300) < right), positive) for positive in counts]
        sides = [
            MetricOfMeans(np.stack([hit, hit | ~positive, positive], -1) * 1.0, f1_points) for hit, positive in found
        ]
        seeds.append(([sides[0]], [sides[1]]))
    measured = effect({at: seed[0] for at, seed in enumerate(seeds)}, {at: seed[1] for at, seed in enumerate(seeds)})
    assert measured is not None
    assert measured.interval is not None
    ends = interval(measured, resampled(seeds, 2000))
    assert (measured.interval.low, measured.interval.high) == pytest.approx(ends, abs=0.25 * measured.interval.half)
