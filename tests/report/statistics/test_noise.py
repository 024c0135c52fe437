"""Means, spreads and where they come from: worked by hand, and by simulating studies of known components; the
distribution of Behrens and Fisher."""

from __future__ import annotations

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
import scipy.stats

from bertlab.report.statistics.effects import summarise
from bertlab.report.statistics.noise import (
    Components,
    Contributions,
    components,
    minus,
    noise,
)
from bertlab.report.statistics.variance import BehrensFisher, Component

TRUE = Components(
    seed=1.0,
    finetune=0.5,
    example=9.0,
    seed_example=4.0,
    finetune_example=16.0,
    seeds=4,
    finetune_seeds=2,
    examples=20,
)
SOURCES = ("seed", "finetune", "example", "seed_example", "finetune_example")


def nested(*values: list[list[float]]) -> Contributions:
    """Of values [seed][fine-tuning seed][example]."""
    return {seed: {restart: np.array(each) for restart, each in enumerate(runs)} for seed, runs in enumerate(values)}


def simulated(study: int, true: Components = TRUE, seeds: int = 4, restarts: int = 2, apart: float = 0.0) -> list:
    """Three variants of a study that share their examples; the standard deviation of their means is `apart`."""
    draw = np.random.default_rng([study, seeds, restarts, int(apart)]).standard_normal
    sd, examples = {name: math.sqrt(getattr(true, name)) for name in SOURCES}, true.examples
    shared, means = sd["example"] * draw(examples), apart * draw(3)
    found = []
    for mean in means:
        of_seeds = sd["seed"] * draw((seeds, 1, 1)) + sd["seed_example"] * draw((seeds, 1, examples))
        of_runs = sd["finetune"] * draw((seeds, restarts, 1))
        of_runs = of_runs + sd["finetune_example"] * draw((seeds, restarts, examples))
        found.append({seed: dict(enumerate(each)) for seed, each in enumerate(mean + shared + of_seeds + of_runs)})
    return found


def without(variants: list[Contributions]) -> list[Contributions]:
    """The variants without some of their runs, another number in each."""
    first, second, third = (dict(each) for each in variants)
    first = {seed: dict(list(runs.items())[: 1 + seed % 2]) for seed, runs in first.items()}
    del second[0], third[1], third[2]
    return [first, second, third]


def test_two_seeds_with_two_runs_on_two_examples() -> None:
    found = components([nested([[1.0, 3.0], [5.0, 7.0]], [[2.0, 2.0], [2.0, 10.0]])])
    assert found is not None
    # Means of runs 2, 6 and 2, 6: within seeds 8, between their means 4, 4 nothing.
    # Deviations of the first example -1, -1 and 0, -4, of the second their negatives: within seeds 0 and 8, mean 4,
    # twice; between the means -1 and -2 .5, twice. So within 8 and between 1, which has half of the former in it.
    assert found.finetune_example == pytest.approx(8)
    assert found.seed_example == pytest.approx(1 - 8 / 2)
    assert found.finetune == pytest.approx(8 - 8 / 2)
    assert found.seed == pytest.approx(0 - 8 / 2 - (1 - 8 / 2) / 2)
    # The examples' means are 1.5 below and above: variance 4.5, in it half of the variance between seeds.
    assert found.example == pytest.approx(4.5 - 1 / 2)
    assert (found.seeds, found.finetune_seeds, found.examples) == (2, 2, 2)
    assert found.between == pytest.approx(0)
    assert found.positive.seed == found.positive.seed_example == 0
    assert found.one_run == pytest.approx((0, 4, (4 + 0 + 8) / 2))


@pytest.mark.parametrize("lose", [list, without], ids=["all runs", "missing runs"])
def test_over_many_studies_each_component_is_its_true_value(lose: object) -> None:
    found = [components(lose(simulated(study))) for study in range(400)]  # type: ignore[operator]
    for name in SOURCES:
        estimates = [getattr(each, name) for each in found]
        error = np.std(estimates) / math.sqrt(len(estimates))
        assert fmean(estimates) == pytest.approx(getattr(TRUE, name), abs=3.5 * error), name
        assert error < 0.2 * getattr(TRUE, name) + 0.05, name


def test_with_one_run_a_seed_both_kinds_of_seeds_are_one() -> None:
    every = [components(simulated(study, restarts=1)) for study in range(400)]
    found = [each for each in every if each]
    assert len(found) == 400
    assert {(each.finetune, each.finetune_example, each.finetune_seeds) for each in found} == {(0, 0, 1)}
    assert fmean(each.seed for each in found) == pytest.approx(TRUE.seed + TRUE.finetune, rel=0.1)
    assert fmean(each.seed_example for each in found) == pytest.approx(
        TRUE.seed_example + TRUE.finetune_example, rel=0.1
    )


def test_runs_without_predictions_have_the_spread_on_these_examples() -> None:
    found = noise([nested([[1.0], [3.0]], [[5.0], [7.0]])])
    assert found is not None
    assert (found.run.seed, found.run.finetune) == (pytest.approx(8 - 2 / 2), pytest.approx(2))
    assert found.shares == pytest.approx((7 / 9, 2 / 9, 0))
    assert (found.signal, found.ratio) == (None, None)


def test_one_seed_tells_nothing() -> None:
    assert noise([nested([[1.0, 2.0], [3.0, 5.0]])] * 2) is None
    assert noise([]) is None
    assert noise([{}]) is None
    one, two = nested([[1.0, 2.0]]), nested([[1.0, 2.0]], [[3.0, 5.0]])
    found = noise([one, two])
    assert found is not None, "the other variant has two"
    assert found.signal is None


def test_runs_of_other_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="2 and 3 examples"):
        components([nested([[1.0, 2.0]], [[3.0, 5.0]]), nested([[1.0, 2.0, 3.0]])])


def test_nothing_varies() -> None:
    equal = nested(*[[[0.1, 0.1, 0.1]] * 2] * 3)
    found = noise([equal, equal])
    assert found is not None
    assert (found.sd, found.between, found.signal) == (0, 0, 0)
    assert (found.ratio, found.shares) == (None, None)


def test_differences_are_of_seeds_and_runs_that_both_have() -> None:
    one = {0: {0: np.array([3.0]), 1: np.array([9.0])}, 1: {0: np.array([4.0])}, 2: {1: np.array([8.0])}}
    other = {0: {0: np.array([1.0])}, 2: {0: np.array([8.0])}, 3: {0: np.array([1.0])}}
    assert minus(one, other) == {0: {0: np.array([2.0])}}


def test_what_variants_share_is_no_noise_of_their_difference() -> None:
    studies = [simulated(study) for study in range(100)]
    paired = [[minus(*pair) for pair in itertools.combinations(variants, 2)] for variants in studies]
    of_differences = [part for pairs in paired if (part := components(pairs))]
    assert len(of_differences) == 100
    shared = fmean(part.example for part in of_differences)
    assert shared == pytest.approx(0, abs=0.3), "all variants have the same examples"
    apart = fmean(part.finetune_example for part in of_differences)
    assert apart == pytest.approx(2 * TRUE.finetune_example, rel=0.05)


@pytest.mark.parametrize("apart", [0.0, 2.0])
def test_the_signal_is_what_seeds_and_examples_do_not_explain(apart: float) -> None:
    found = [each for study in range(300) if (each := noise(simulated(study, apart=apart)))]
    between = TRUE.seed + TRUE.finetune / 2 + (TRUE.seed_example + TRUE.finetune_example / 2) / 20
    assert fmean(each.between**2 for each in found) == pytest.approx(between, rel=0.05)
    squares = fmean(each.signal**2 for each in found if each.signal is not None)
    # a mean square below 0 counts as 0: without any signal that leaves a part of its own error, between / seeds
    assert squares == pytest.approx(apart**2, rel=0.15, abs=0.5 * between / 4)
    both = [(each.ratio, each.signal) for each in found]
    assert all(ratio == pytest.approx(signal / each.between) for (ratio, signal), each in zip(both, found, strict=True))


def test_finetune_seeds_are_averaged_before_seeds() -> None:
    summary = summarise({0: [10.0, 20.0, 30.0], 1: [40.0]})
    assert summary is not None
    assert summary.mean == 30.0  # and not 25, the mean of the four
    assert summary.sd == pytest.approx(math.sqrt(200))
    assert (summary.seeds, summary.finetune_seeds, summary.median) == (2, (1, 3), 25.0)
    assert (summary.low, summary.high) == (20.0, 40.0)


def test_with_one_seed_the_spread_is_over_its_finetune_seeds() -> None:
    summary = summarise({7: [10.0, 12.0]})
    assert summary is not None
    assert summary.sd == pytest.approx(math.sqrt(2))
    assert (summary.seeds, summary.finetune_seeds) == (1, (2, 2))
    assert (summary.low, summary.high) == (10.0, 12.0)
    for none in (summarise({7: [10.0]}), summarise({7: [10.0, 12.0]}, of_seeds=True)):
        assert none is not None
        assert none.sd is None
    assert summarise({}) is None


NOTHING = Component(0.0, 50.0)


@pytest.mark.parametrize("freedom", [1.0, 3.0, 9.5, 200.0])
@pytest.mark.parametrize("turned", [False, True])
def test_one_part_alone_is_student(freedom: float, turned: bool) -> None:
    parts = (Component(1.7, freedom), NOTHING)
    found = BehrensFisher(0.3, *(parts[::-1] if turned else parts))
    for share in (1e-6, 0.0021, 0.025, 0.4, 0.5, 0.975):
        value = scipy.stats.t.ppf(share, freedom, loc=0.3, scale=math.sqrt(1.7))
        assert found.below(value) == pytest.approx(share, rel=1e-6)
        assert found.quantile(share) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("one", "two"), [((1.0, 3.0), (0.5, 40.0)), ((0.2, 3.0), (1.0, 4.0)), ((1.0, 9.0), (1.0, 5000))]
)
def test_two_parts_are_the_sum_of_two_students(one: tuple[float, float], two: tuple[float, float]) -> None:
    rng = np.random.default_rng(0)
    draws = np.sort(sum(math.sqrt(size) * rng.standard_t(freedom, 400_000) for size, freedom in (one, two)))
    found = BehrensFisher(0.0, Component(*one), Component(*two))
    for share in (0.002, 0.025, 0.2, 0.9):
        assert np.searchsorted(draws, found.quantile(share)) / len(draws) == pytest.approx(share, rel=0.12)


def test_it_lies_about_its_mean() -> None:
    found = BehrensFisher(1.5, Component(0.4, 3.0), Component(0.1, 30.0))
    assert found.below(1.5) == pytest.approx(0.5)
    assert found.below(1.0) == pytest.approx(1 - found.below(2.0))
    assert (found.quantile(0.025) + found.quantile(0.975)) / 2 == pytest.approx(1.5)


def test_a_small_part_by_chance_does_not_make_it_narrow() -> None:
    # Satterthwaite gives 66 degrees of freedom here, a critical value of 2.97 errors at 12 claims and 5 %.
    found = BehrensFisher(0.0, Component(0.25, 3.0), Component(1.0, 999.0))
    assert -found.quantile(0.05 / 24) / math.sqrt(1.25) > 3.4
