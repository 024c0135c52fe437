"""Learning-rate curves against their published definitions."""

import math
from dataclasses import dataclass
from typing import ClassVar

import pytest

from bertlab.errors import ArmFailed, BadInput
from bertlab.recipe import Recipe, Schedule
from bertlab.recipe.identity import canonical, load, set_fields, to_canonical
from bertlab.recipe.ranges import arms
from bertlab.recipe.schedules import Constant, Cosine, Curve, InverseSquareRoot, LinearDecay, WarmupStableDecay

CURVES = [arm() for arm in arms(Curve).values() if arm.__module__.startswith("bertlab.")]


def rates(curve: Curve, *steps: int, warmup: float = 0.1) -> list[float]:
    schedule = Schedule(steps=100, peak_lr=2.0, warmup=warmup, curve=curve)
    return [schedule.learning_rate(step) for step in steps]


def test_a_constant_rate_stays_at_the_peak():
    assert rates(Constant(), 0, 9, 10, 99) == pytest.approx([0.2, 2, 2, 2])


def test_the_inverse_square_root_is_that_of_the_transformer():
    hidden, warm = 512, 4000
    schedule = Schedule(steps=100_000, peak_lr=(hidden * warm) ** -0.5, warmup=0.04, curve=InverseSquareRoot())
    for update in (1, 2000, 4000, 4001, 16_000, 100_000):  # Vaswani et al. 2017, equation 3
        published = hidden**-0.5 * min(update**-0.5, update * warm**-1.5)
        assert schedule.learning_rate(update - 1) == pytest.approx(published, rel=1e-12)


def test_the_inverse_square_root_is_that_of_t5():
    steps = 2**19
    curve = InverseSquareRoot(flat=10_000 / steps)
    schedule = Schedule(steps=steps, peak_lr=0.01, warmup=0.0, curve=curve)
    for update in (1, 9_999, 10_000, 10_001, 40_000, steps):  # Raffel et al. 2020, section 3.1.2
        assert schedule.learning_rate(update - 1) == pytest.approx(1 / math.sqrt(max(update, 10_000)), rel=1e-12)


def test_the_cosine_falls_to_its_floor():
    assert rates(Cosine(), 0, 50, 75, 100, warmup=0.0) == pytest.approx([2, 1, 1 - math.sqrt(0.5), 0], abs=1e-12)
    assert rates(Cosine(floor=0.1), 10, 55, 100) == pytest.approx([2, 1.1, 0.2])


def test_the_rate_is_stable_before_it_decays():
    assert rates(WarmupStableDecay(cooldown=0.2), 4, 10, 79, 80, 90, 99) == pytest.approx([1, 2, 2, 2, 1, 0.1])
    root = WarmupStableDecay(cooldown=0.2, shape="1-sqrt")
    assert rates(root, 79, 80, 85, 99) == pytest.approx([2, 2, 1, 2 * (1 - math.sqrt(19 / 20))])
    whole = WarmupStableDecay(cooldown=1.0)
    assert rates(whole, *range(100)) == rates(LinearDecay(), *range(100)), "the decay begins behind the warm-up"


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.kind)
@pytest.mark.parametrize("warmup", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("steps", [1, 2, 17])
def test_no_curve_exceeds_its_peak_or_rises_again(curve, warmup, steps):
    schedule = Schedule(steps=steps, peak_lr=1.0, warmup=warmup, curve=curve)
    warm = round(warmup * steps)
    values = [schedule.learning_rate(step) for step in range(steps)]
    assert all(0 < value <= 1 for value in values)
    assert values[warm:] == sorted(values[warm:], reverse=True)


def test_the_linear_curve_leaves_ids_as_they_are_and_others_are_named():
    assert canonical(Schedule(curve=LinearDecay())) == "{}"
    assert to_canonical(Schedule(curve=Cosine())) == {"curve": "cosine"}
    schedule = Schedule(curve=Cosine(floor=0.1))
    assert to_canonical(schedule) == {"curve": {"kind": "cosine", "floor": 0.1}}
    for each in (schedule, *(Schedule(curve=curve) for curve in CURVES)):
        assert load(Schedule, to_canonical(each)) == each


def test_set_chooses_a_curve_and_its_fields():
    texts = {"schedule.curve": "warmup-stable-decay", "schedule.curve.cooldown": "0.2"}
    assert set_fields(Recipe(), texts).schedule.curve == WarmupStableDecay(cooldown=0.2)
    with pytest.raises(BadInput, match=r"schedule.curve.floor has no effect: schedule.curve is linear, not cosine"):
        set_fields(Recipe(), {"schedule.curve.floor": "0.1"})
    with pytest.raises(BadInput, match=r"unknown value of schedule.curve 'cosin'.*cosine"):
        set_fields(Recipe(), {"schedule.curve": "cosin"})


def test_a_curve_of_a_study_file_is_checked():
    @dataclass(frozen=True, kw_only=True)
    class Broken(Curve):
        kind: ClassVar[str] = "broken"

        def share(self, step: int, warm: int, steps: int) -> float:
            return -1.0

    with pytest.raises(ArmFailed, match=r"Broken.share .* returns -1.0: give 0 to 1,000"):
        Schedule(steps=10, warmup=0.0, curve=Broken()).learning_rate(0)
