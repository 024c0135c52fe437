"""How often verdicts and intervals are wrong, by simulated studies; `benchmarks/verdicts.py` prints them all."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

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
