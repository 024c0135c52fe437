"""What the comparisons of a study say together of how much its seeds differ, and how often verdicts and intervals are
wrong; `benchmarks/verdicts.py` prints all these rates."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from bertlab.report.statistics.variance import LIGHTER, NOISY, SHARED, Typical, VarianceComponents, measured


def spread(ratio: float, n: int = 4, unit: float = 1.0) -> VarianceComponents:
    """A spread whose seeds differ by so much more than seeds that are alike."""
    return VarianceComponents(n=n, examples=1000, between=ratio * unit, sampling=0.1 * unit, interaction=unit)


def apart(spreads: Sequence[VarianceComponents], freedom: float = math.inf) -> Typical:
    """A study whose variants have one comparison each."""
    return Typical(tuple((each,) for each in spreads), freedom)


@pytest.mark.parametrize("prior", [4.0, 12.0])
def test_degrees_of_freedom_are_those_that_variances_were_drawn_with(prior: float) -> None:
    # Smyth's model: the variances are inverse chi-squares of the prior degrees of freedom; here with one baseline.
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        true, seeds = prior / rng.chisquare(prior, 200), rng.standard_normal((201, 4))
        typical = Typical.from_spreads([[spread(each)] for each in true * (seeds[1:] - seeds[:1]).var(1, ddof=1) / 2])
        assert typical is not None
        found.append(1 / typical.freedom)
    assert 0.7 * prior < 1 / np.mean(found) < prior, "rather too few, which lends less"


def test_seeds_that_scatter_by_chance_alone_are_taken_to_be_alike() -> None:
    others = [spread(0.9), spread(1.0), spread(1.1)]
    alike = Typical.from_spreads([[each] for each in others])
    assert alike == apart(others)
    raised = spread(0.25).moderated(alike)
    assert raised.between == pytest.approx((0.25 + 3 * 1.0) / 4)
    assert raised.sampling == spread(0.25).sampling


def test_a_variance_is_raised_to_that_of_the_others_and_never_lowered() -> None:
    quiet, loud = spread(1.0), spread(1.2)
    assert quiet.moderated(apart([quiet, loud])).between == pytest.approx(1.1)
    own = loud.moderated(apart([quiet, loud]))
    assert own.between == 1.2
    assert own.borrowed == quiet.moderated(apart([quiet, loud])).borrowed > 0


def test_a_variant_that_varies_more_than_the_others_borrows_nothing() -> None:
    others = [spread(1.0)] * 4
    quiet = spread(0.2)
    for ratio, borrows in ((1.01 * NOISY, False), (0.99 * NOISY, True)):
        alike = [quiet, spread(2 * ratio - 0.2)]  # by the mean over its tasks
        after = quiet.moderated(Typical(((*alike,), *((each,) for each in others)), math.inf), alike)
        assert (after != quiet) == borrows


@pytest.mark.parametrize(("variants", "n"), [(2, 4), (3, 4), (5, 4), (12, 4), (3, 8)])
def test_degrees_of_freedom_are_those_of_the_mean_of_comparisons_with_one_baseline(variants: int, n: int) -> None:
    # a variance with f degrees of freedom scatters by 2 / f of its square
    seeds = np.random.default_rng(0).standard_normal((4000, variants + 1, n))
    scatter = ((seeds[:, 1:] - seeds[:, :1]).var(2, ddof=1) / 2).mean(1).var()
    spreads = [spread(1.0, n), *(spread(1.0 + place / 1e9, n) for place in range(1, variants))]
    borrowed = spreads[0].moderated(apart(spreads)).borrowed
    assert (n - 1) * (1 + borrowed / LIGHTER) == pytest.approx(2 / scatter, rel=0.1)


def test_a_comparison_with_fewer_seeds_lends_less() -> None:
    two, eight = (spread(1.0).moderated(apart([spread(2.0, n)])) for n in (2, 8))
    assert two.between == pytest.approx(1.25), "a third of the degrees of freedom of four seeds"
    assert eight.between == pytest.approx((1 + 7 / 3 * 2) / (10 / 3))
    assert 0 < two.borrowed < eight.borrowed


def test_seeds_that_scatter_more_are_left_nearer_to_their_own() -> None:
    typical = Typical.from_spreads([[spread(each)] for each in (0.01, 100.0, 0.02, 50.0)])
    assert typical is not None
    assert typical.freedom < 1
    assert spread(10.0).moderated(typical).between < 25


@pytest.mark.parametrize(("shared", "low", "high"), [(1.0, 0.99, 1.0), (0.0, SHARED, SHARED + 0.1)])
def test_tasks_on_which_a_run_is_good_or_bad_together_say_one_thing(shared: float, low: float, high: float) -> None:
    rng = np.random.default_rng(0)
    variants = []
    for _ in range(10):
        common = rng.standard_normal((4, 1))
        parts = [shared * common + (1 - shared) * rng.standard_normal((4, 1)) for _ in range(5)]
        variants.append([measured(10 * each + 0.1 * rng.standard_normal((4, 50))) for each in parts])
    typical = Typical.from_spreads(variants)
    assert typical is not None
    assert low <= typical.within <= high
    alone = Typical.from_spreads(variants[:1])
    assert alone is not None
    own = [each for each in variants[0] if each]
    borrowed = own[0].moderated(alone, own).borrowed
    assert borrowed == pytest.approx(0, abs=0.01) if shared else borrowed > 0.5


def test_units_do_not_matter() -> None:
    ratios = [0.5, 2.0, 1.0]
    one = Typical.from_spreads([[spread(each)] for each in ratios])
    other = Typical.from_spreads(
        [[spread(each, unit=unit)] for each, unit in zip(ratios, (1e-4, 1.0, 1e5), strict=True)]
    )
    assert one is not None
    assert other is not None
    assert spread(0.5, unit=1e-4).moderated(other).between == pytest.approx(1e-4 * spread(0.5).moderated(one).between)


def test_what_cannot_be_compared_stays_as_it_is() -> None:
    alone = VarianceComponents(n=4, examples=1, between=2.0, sampling=0.0)
    assert Typical.from_spreads([[spread(1.0)], [alone, None]]) is None, "one comparison has nobody to borrow from"
    assert Typical.from_spreads([[spread(0.0)], [spread(0.0)]]) is None
    two = Typical.from_spreads([[spread(1.0)], [spread(1.5)]])
    assert alone.moderated(two) == alone
    assert spread(1.0).moderated(None) == spread(1.0)


FOLDER = Path(__file__).parents[3] / "benchmarks"


def script(name: str) -> Any:
    specification = importlib.util.spec_from_file_location(f"benchmark_{name}", FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # where dataclasses look up its annotations
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def simulated() -> Any:
    return script("verdicts")


@pytest.fixture(scope="module")
def noisy() -> Any:
    return script("noisy")


def bound(rate: float, studies: int, sure: float = 0.999) -> float:
    """What a rate of at most `rate` shows at most, among so many studies."""
    return float(binom.ppf(sure, studies, rate)) / studies


def test_a_family_without_effects_has_few_verdicts(simulated: Any) -> None:
    found = {}
    for n in (4, 6, 10):
        for name, tasks in simulated.FAMILIES.items():
            studies = 120 if n == 4 else 40
            found[name, n] = simulated.family([replace(each, n=n) for each in tasks], studies, n)[0], studies
    for case, (rate, studies) in found.items():
        assert rate <= bound(0.06, studies), case
    total = sum(studies for _, studies in found.values())
    assert sum(rate * studies for rate, studies in found.values()) / total <= bound(0.06, total, 0.99)


def test_intervals_cover_the_truth(simulated: Any) -> None:
    for name, world in simulated.COVERED.items():
        for n in (4, 10):
            missed = 1 - simulated.coverage(replace(world, n=n), 80, n, together=3)[0]
            assert missed <= bound(0.07, 240), (name, n)


@pytest.mark.parametrize("n", [4, 6])
def test_many_studies_are_judged_as_one_is_by_a_report(noisy: Any, n: int) -> None:
    for shape in noisy.SHAPES.values():
        values = shape.values(2, n)
        by_report = [noisy.package(study, shape.pairs) for study in values]
        assert noisy.judged(values, shape.pairs) == pytest.approx(np.array(by_report), rel=0.02)


@pytest.mark.parametrize("n", [4, 6])
def test_a_noisy_variant_gets_few_verdicts_and_intervals_that_cover(noisy: Any, n: int) -> None:
    for name, shape in noisy.SHAPES.items():
        wrong, covered = noisy.errors(shape, n, 400)
        assert wrong <= bound(0.06, 400), name
        assert 1 - covered <= bound(0.06, 400), name  # claims that hang together count as one


def test_looking_at_a_noisy_variant_in_rounds_finds_no_more(noisy: Any) -> None:
    for name in noisy.LOOKED_AT:
        assert noisy.errors_in_rounds(noisy.SHAPES[name], 200) <= bound(0.06, 200), name


@pytest.mark.parametrize("n", [4, 6])
def test_variants_that_are_alike_borrow(noisy: Any, n: int) -> None:
    for name, shape in noisy.ALIKE.items():
        now, alone = noisy.power(shape, n, 0.8, 400)
        assert now > alone + 0.1, name


@pytest.mark.parametrize("n", [4, 6, 10])
@pytest.mark.parametrize("chance", [0.05, 0.1])
def test_collapses_alone_make_no_verdict(simulated: Any, chance: float, n: int) -> None:
    found = simulated.collapsing(chance, 0.0, n, 200, n)
    assert found.better <= bound(0.06, 200)


@pytest.mark.parametrize("n", [4, 6])
def test_a_variant_that_was_seen_to_collapse_is_not_better_for_its_other_seeds(simulated: Any, n: int) -> None:
    # Two points better in nine seeds of ten, and no better in the mean.
    found = simulated.collapsing(0.1, 2.0, n, 200, n)
    assert found.after <= bound(0.06, round(200 * (1 - found.unseen)))


def test_an_effect_is_found_more_often_than_by_each_comparison_alone(simulated: Any) -> None:
    now, before = simulated.seen(simulated.World(n=4, examples=4000, noise=0.3, gain=2.0), 60)
    assert now > 0.8
    assert now >= before - 0.1
