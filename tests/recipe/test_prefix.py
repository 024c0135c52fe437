"""The first steps that recipes share: when they are the same, and how many steps are left to train."""

import dataclasses

import pytest

from bertlab.lab import scales, studies
from bertlab.recipe import Inputs, Schedule
from bertlab.recipe.identity import canonical
from bertlab.recipe.prefix import Prefixes, shared_prefixes
from bertlab.recipe.ranges import arms
from bertlab.recipe.schedules import (
    Constant,
    Cosine,
    Curve,
    InverseSquareRoot,
    LinearDecay,
    Ramp,
    Stages,
    WarmupStableDecay,
)

MICRO = scales.find("micro").recipe
CURVES = [
    LinearDecay(),
    Constant(),
    Cosine(),
    InverseSquareRoot(),
    InverseSquareRoot(flat=0.6),
    Ramp(start=0.5),
    Stages(),
    WarmupStableDecay(),
    WarmupStableDecay(cooldown=1.0),
    WarmupStableDecay(cooldown=0.0, shape="1-sqrt"),
]


def with_schedule(recipe=MICRO, **fields):
    return dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, **fields))


def horizons(**fields):
    return [with_schedule(steps=1000 * multiple, **fields) for multiple in (1, 3, 5)]


def steps_trained(recipes):
    """The steps of recipes with each shared prefix once, and where the prefixes end."""
    shared = shared_prefixes(recipes)
    prefixes = {}
    for prefix in shared.values():
        while prefix:
            prefixes[prefix.id] = prefix
            prefix = prefix.before
    rest = sum(
        recipe.schedule.steps - (shared[canonical(recipe)].steps if canonical(recipe) in shared else 0)
        for recipe in recipes
    )
    trunks = sum(prefix.steps - (prefix.before.steps if prefix.before else 0) for prefix in prefixes.values())
    return rest + trunks, sorted(prefix.steps for prefix in prefixes.values())


@pytest.mark.parametrize("cooldown", [0.1, 0.2])
def test_three_horizons_are_a_trunk_and_its_decays(cooldown):
    """1x, 3x and 5x: all of the longest, and the decays of the others."""
    recipes = horizons(curve=WarmupStableDecay(cooldown=cooldown), warmup_steps=100)
    trained, ends = steps_trained(recipes)
    assert trained == 5000 + (1000 + 3000) * cooldown
    assert trained <= 6200  # of 9,000
    assert ends == [1000 * (1 - cooldown), 3000 * (1 - cooldown)]


def test_without_a_decay_they_are_the_longest_one():
    """But for the last step of each, from which its result follows."""
    assert steps_trained(horizons(curve=Constant(), warmup_steps=100)) == (5002, [999, 2999])


def test_where_the_rate_depends_on_all_steps_nothing_is_shared():
    for fields in ({"curve": LinearDecay(), "warmup": 0.0}, {"curve": WarmupStableDecay(), "warmup": 0.1}):
        assert steps_trained(horizons(**fields)) == (9000, [])


def test_what_decides_the_first_steps_is_not_shared():
    one = with_schedule(curve=Constant(), warmup_steps=10)
    for other in (
        with_schedule(one, steps=900, peak_lr=1e-3),
        with_schedule(one, steps=900, batch_size=16),
        with_schedule(one, steps=900, warmup_steps=11),
        dataclasses.replace(with_schedule(one, steps=900), model=dataclasses.replace(one.model, dropout=0.2)),
        dataclasses.replace(with_schedule(one, steps=900), inputs=Inputs(length=32, document_share=0.5)),
    ):
        assert shared_prefixes([one, other]) == {}
    assert shared_prefixes([one, with_schedule(one, steps=900)])


def test_documents_that_all_steps_decide_are_not_shared():
    """`inputs.epochs` chooses the documents that the steps pass over so often."""
    few = dataclasses.replace(MICRO, inputs=Inputs(length=32, epochs=3))
    constant = [with_schedule(few, curve=Constant(), warmup_steps=10, steps=steps) for steps in (500, 1000)]
    assert shared_prefixes(constant) == {}
    alike = [with_schedule(few, curve=curve, warmup_steps=10) for curve in (Constant(), WarmupStableDecay())]
    assert steps_trained(alike)[1] == [1440]


def test_longer_sequences_at_the_end_begin_later_in_longer_runs():
    two = dataclasses.replace(MICRO, inputs=Inputs(length=32, phase2_length=64, phase2_share=0.5))
    recipes = [with_schedule(two, curve=Constant(), warmup_steps=10, steps=steps) for steps in (500, 1000)]
    assert steps_trained(recipes)[1] == [250]


def test_seeds_do_not_matter_and_equal_recipes_share_nothing():
    one = with_schedule(curve=Constant(), warmup_steps=10)
    assert shared_prefixes([one, one.with_seed(3)]) == {}
    longer = with_schedule(one, steps=2000)
    assert shared_prefixes([one, longer.with_seed(3)]).keys() == {canonical(one), canonical(longer)}


def test_a_saving_below_a_hundredth_is_none():
    late = [with_schedule(curve=curve, warmup_steps=15) for curve in (LinearDecay(), Cosine())]
    assert steps_trained(late) == (3200, [])
    late = [with_schedule(curve=curve, warmup_steps=50) for curve in (LinearDecay(), Cosine())]
    assert steps_trained(late) == (3150, [50])


@pytest.mark.parametrize(
    ("study", "trained", "ends"),
    [
        ("lr-schedule", 5440, [800, 1280]),
        ("mlm-or-clm", 5600, [400, 800, 1200]),  # a causal beginning
        ("masking", 9600, []),
    ],
)
def test_studies_at_scale_micro(study, trained, ends):
    study = studies.find(study)
    scale = study.setting_at(scales.find("micro")).recipe
    assert steps_trained([study.recipe(variant, scale) for variant in study.variants]) == (trained, ends)


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("warmup_steps", [0, 30, 100])
def test_until_the_rate_falls_it_is_the_peak(curve, warmup_steps):
    """The property on which shared steps rest: before `peak_until` no rate depends on the curve or on all steps."""
    schedule = Schedule(steps=100, warmup=0.0, warmup_steps=warmup_steps, curve=curve)
    constant = dataclasses.replace(schedule, curve=Constant(), steps=300)
    for step in range(min(curve.peak_until(schedule.warm, 100), 100)):
        assert schedule.learning_rate(step) == constant.learning_rate(step)


def test_every_curve_is_tested():
    assert {type(curve) for curve in CURVES} == {curve for curve in arms(Curve).values() if not curve._own}


def test_ids_of_prefixes_depend_on_the_seed_alone_not():
    one = with_schedule(curve=Constant(), warmup_steps=10)
    other = with_schedule(one, steps=3000)
    assert Prefixes(one).id(500) == Prefixes(other.with_seed(5)).id(500) != Prefixes(one).id(501)


def test_a_warm_up_in_steps_keeps_older_ids():
    assert "warmup_steps" not in canonical(MICRO)
    assert with_schedule(warmup=0.5, steps=200).schedule.warm == 100
    assert with_schedule(warmup=0.5, steps=200, warmup_steps=7).schedule.learning_rate(6) == MICRO.schedule.peak_lr
