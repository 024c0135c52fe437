"""Effects over seeds and examples: worked by hand, against scipy, and by simulating studies of a known effect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bertlab.report.statistics.effects import Effect, Runs, effect
from bertlab.report.statistics.variance import VarianceComponents, measured
from bertlab.tasks.kinds.classification import accuracy
from bertlab.tasks.metrics import Mean

STUDIES = 1000
SEEDS = (4, 6, 10, 25)
NOISES = {
    # Standard deviations of what a seed, an example, and the two together add to a difference.
    "seed noise dominant": (1.0, 1.0, 1.0),
    "example noise dominant": (0.02, 3.0, 1.0),
    "interaction alone": (0.0, 0.0, 3.0),
    "both alike": (0.3, 3.0, 3.0),
}


def runs(scores: np.ndarray) -> Runs:
    """One fine-tuning seed a seed: scores (S, E)."""
    return {seed: [Mean(each)] for seed, each in enumerate(scores)}


def against_nothing(differences: np.ndarray) -> Effect:
    """The effect of differences (S, E)."""
    found = effect(runs(differences), runs(np.zeros_like(differences)))
    assert found is not None
    return found


def studies(n: int, noise: str, true: float = 0.0, examples: int = 60) -> list[Effect]:
    """The effects that simulated studies find."""
    rng = np.random.default_rng([n, list(NOISES).index(noise)])
    seed, example, both = NOISES[noise]
    found = []
    for _ in range(STUDIES):
        draw: Callable[..., np.ndarray] = rng.standard_normal
        differences = seed * draw((n, 1)) + example * draw(examples) + both * draw((n, examples))
        found.append(against_nothing(true + differences))
    return found


def test_the_spread_of_two_seeds_and_two_examples() -> None:
    spread = measured(np.array([[1.0, 3.0], [2.0, 6.0]]))
    # Mean squares: seeds 4, examples 9, together 1. Variance of the mean: (4 + 9 - 1) / 4.
    assert spread == VarianceComponents(n=2, examples=2, between=2.0, sampling=2.0, interaction=0.5)
    assert spread.variance(2) == 3.0
    assert spread.freedom(2) == pytest.approx(9 / (1 + 4))
    assert spread.variance(8) == 2.25  # more seeds leave what the examples add


def test_examples_that_add_nothing_are_not_taken_off() -> None:
    spread = measured(np.array([[1.0, 3.0, 2.0], [6.0, 4.0, 5.0]]))  # the means over seeds are all 3.5
    assert spread is not None
    assert spread.sampling == 0.0
    assert spread.variance(2) == pytest.approx(4.5 / 2)
    assert spread.freedom(2) == 1.0


@given(st.lists(st.floats(-9, 9).filter(lambda value: abs(value) > 1e-3), min_size=2, max_size=9, unique=True))
def test_without_examples_it_is_the_paired_t_test(values: list[float]) -> None:
    found = against_nothing(np.array(values)[:, None])
    evaluated = found.confidence
    assert evaluated is not None
    expected = scipy.stats.ttest_1samp(values, 0.0)
    assert 2 * min(evaluated.below(0), 1 - evaluated.below(0)) == pytest.approx(expected.pvalue, rel=1e-6)
    limits = expected.confidence_interval(0.95)
    ends = found.interval
    assert ends is not None
    # an end may lie at 0: errors count against the width
    assert [ends.low, ends.high] == pytest.approx([limits.low, limits.high], abs=1e-7 * (limits.high - limits.low))


def test_equivalence_is_two_one_sided_t_tests() -> None:
    values = np.array([0.3, -0.2, 0.4, 0.1, 0.2])
    found = against_nothing(values[:, None])
    above = scipy.stats.ttest_1samp(values, -0.5, alternative="greater").pvalue
    below = scipy.stats.ttest_1samp(values, 0.5, alternative="less").pvalue
    assert found.between(-0.5, 0.5) == pytest.approx(max(above, below))
    beyond = scipy.stats.ttest_1samp(values, 0.05, alternative="greater").pvalue
    assert found.beyond(-0.05, 0.05) == pytest.approx(2 * beyond)
    assert found.between(-0.05, 0.05) > 0.5  # type: ignore[operator]


def test_pairs_are_the_seeds_in_common_with_finetune_seeds_averaged() -> None:
    row = {0: [Mean(np.array([100.0, 0.0])), Mean(np.array([100.0, 100.0]))], 3: [Mean(np.array([0.0, 0.0]))]}
    other = {0: [Mean(np.array([0.0, 0.0]))], 7: [Mean(np.array([100.0, 100.0]))]}
    found = effect(row, other)
    assert found is not None
    assert (found.mean, found.n, found.examples) == (75.0, 1, 2)
    assert effect(row, {7: other[7]}) is None


def test_one_seed_has_no_interval() -> None:
    found = against_nothing(np.arange(9.0)[None])
    assert found.mean == 4.0
    assert (found.interval, found.p, found.between(-9.0, 9.0), found.beyond(-1.0, 1.0)) == (None, None, None, None)


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_what_does_not_vary_is_no_evidence(value: float) -> None:
    found = against_nothing(np.full((6, 30), value))
    assert found.mean == pytest.approx(value)
    assert found.spread is None
    assert (found.interval, found.p, found.between(-1.0, 1.0)) == (None, None, None)


def test_runs_on_other_examples_are_not_paired() -> None:
    with pytest.raises(ValueError, match="runs on 2 and 3 examples cannot be paired"):
        effect({0: [Mean(np.zeros(2))]}, {0: [Mean(np.zeros(3))]})


def test_a_variant_against_the_other_is_the_other_way_round() -> None:
    rng = np.random.default_rng(1)
    one, other = runs(rng.normal(size=(6, 50))), runs(rng.normal(size=(6, 50)))
    there, back = effect(one, other), effect(other, one)
    assert there is not None
    assert back is not None
    assert there.mean == pytest.approx(-back.mean)
    assert there.p == pytest.approx(back.p)
    assert there.interval.low == pytest.approx(-back.interval.high)  # type: ignore[union-attr]


def test_a_quantile_is_where_the_p_value_is_its_share() -> None:
    rng = np.random.default_rng(3)
    found = against_nothing(rng.normal(size=(25, 40)))
    assert found.spread is not None
    confidence = found.spread.confidence(found.mean, 25)
    for share in (0.025, 0.5, 0.9):
        assert confidence.below(confidence.quantile(share)) == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", SEEDS)
def test_intervals_cover_what_they_promise(n: int, noise: str) -> None:
    found = studies(n, noise)
    covered = np.mean([each.interval is not None and each.interval.covers(0.0) for each in found])
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("n", [6, 25])
def test_what_judges_and_what_is_shown_agree(n: int) -> None:
    for found in studies(n, "seed noise dominant")[:200]:
        assert found.p is not None
        assert found.interval is not None
        if abs(found.p - 0.05) > 1e-6:
            assert (found.p < 0.05) != found.interval.covers(0.0)


def answers(n: int, examples: int, gain: float, rng: np.random.Generator) -> tuple[Runs, Runs]:
    """Labels of two variants whose accuracies differ by `gain` (a share); examples are easy or hard for both."""
    ease = rng.beta(4, 2, examples)
    label = rng.integers(0, 3, examples)
    rows = []
    for better in (gain, 0.0):
        chance = np.clip(ease + better + 0.01 * rng.standard_normal((n, 1)), 0, 1)
        right = rng.random((n, examples)) < chance
        rows.append({seed: [accuracy(np.where(each, label, label + 1), label)] for seed, each in enumerate(right)})
    return rows[0], rows[1]


@pytest.mark.parametrize(("gain", "low", "high"), [(0.0, 0.03, 0.07), (0.06, 0.9, 1.0)])
def test_a_planted_effect_is_found_and_none_where_there_is_none(gain: float, low: float, high: float) -> None:
    rng = np.random.default_rng(11)
    found = [effect(*answers(6, 500, gain, rng)) for _ in range(STUDIES)]
    seen = np.mean([each is not None and each.p is not None and each.p <= 0.05 for each in found])
    assert low <= seen <= high


def test_a_margin_is_kept_and_broken_at_the_nominal_rates() -> None:
    rng = np.random.default_rng(12)
    noise = rng.standard_normal((STUDIES, 6, 1))
    on_the_edge = [against_nothing(1.0 + each) for each in noise]  # as far off as the margin
    inside = np.mean([each.between(-1.0, 1.0) <= 0.05 for each in on_the_edge])  # type: ignore[operator]
    outside = np.mean([each.beyond(-1.0, 1.0) <= 0.05 for each in on_the_edge])  # type: ignore[operator]
    assert 0.0 <= inside <= 0.065  # one-sided
    assert 0.01 <= outside <= 0.04  # one of two sides
    alike = [against_nothing(each / 4) for each in noise]
    assert np.mean([each.between(-1.0, 1.0) <= 0.05 for each in alike]) > 0.99  # type: ignore[operator]


def test_a_contrast_is_the_effect_of_the_differences_of_each_seed_and_example() -> None:
    """Four runs a seed on the same examples: (a - b) - (c - d), its variance that of these values."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 5, 40)) + rng.normal(size=(4, 5, 1)) + np.arange(4.0)[:, None, None] ** 2
    found = effect(*map(runs, values))
    direct = effect(runs(values[0] - values[1] - values[2] + values[3]), runs(np.zeros((5, 40))))
    assert found is not None
    assert direct is not None
    assert found.mean == pytest.approx(direct.mean)
    assert found.mean == pytest.approx((values[0] - values[1] - values[2] + values[3]).mean())
    assert (found.n, found.p) == (5, pytest.approx(direct.p))


def test_a_contrast_is_over_the_seeds_that_all_four_have() -> None:
    one, two, three, four = (runs(np.full((3, 1), float(value))) for value in (9, 5, 3, 2))
    found = effect(one, two, {0: three[0], 2: three[2]}, four)
    assert found is not None
    assert (found.n, found.mean, dict(found.by_seed)) == (2, 3.0, {0: 3.0, 2: 3.0})
    assert effect(one, two, {7: three[0]}, four) is None
