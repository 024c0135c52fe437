"""The time left while jobs run: by hand, with a clock of the test."""

import dataclasses

import pytest

from bertlab.estimates.remaining import Remaining
from bertlab.lab.jobs import PrepareCorpus, Pretrain
from bertlab.lab.scales import find
from bertlab.machine import Machine
from bertlab.recipe import cost


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def jobs(*steps):
    """Pre-trainings of some steps."""
    recipe = find("smoke").recipe
    corpus = PrepareCorpus(recipe.corpus, recipe.tokenizer, ())
    made = (dataclasses.replace(recipe.schedule, steps=number) for number in steps)
    recipes = [dataclasses.replace(recipe, seed=seed, schedule=each) for seed, each in enumerate(made)]
    return [Pretrain(each, corpus, "study-variant") for each in recipes]


@pytest.fixture
def started():
    """The time left of some jobs, with a clock at 0."""

    def start(made, known=lambda job, devices: None, workers=0):
        found = Remaining.of(made, Machine(workers=workers, threads=1), known)
        found.clock = Clock()
        return found

    return start


def test_the_speed_of_the_first_training_gives_the_time_of_all(started):
    made = jobs(1000, 3000, 0)
    one, two = made[:2]
    assert cost.flops(two.recipe) == pytest.approx(3 * cost.flops(one.recipe))
    left = started(made)
    assert left.seconds() is None
    left.begin(one)
    left.clock.now = 20.0  # torch loads
    left.at(one, 0.0)
    assert left.seconds() is None
    left.clock.now = 30.0
    left.at(one, 0.1)
    # a tenth of the first job in ten seconds: 90 s left of it, 300 s of the second, and 3 s of the third
    assert left.seconds() == pytest.approx(90 + 300 + 3)
    left.clock.now = 120.0
    left.end(one)
    assert left.seconds() == pytest.approx(360 + 3), "with the time to load torch"


def test_two_workers_take_half_as_long(started):
    made = jobs(1000, 1000, 1000, 1000)
    left = started(made, lambda job, devices: 60.0 / devices, workers=2)
    assert left.seconds() == pytest.approx(120.0)
    left.begin(made[0])
    left.begin(made[1])
    left.at(made[0], 0.5)
    assert left.seconds() == pytest.approx((30 + 60 + 60 + 60) / 2)


def test_a_job_without_a_result_is_not_waited_for(started):
    one, two = made = jobs(1000, 1000)
    left = started(made, lambda job, devices: 60.0)
    left.begin(one)
    left.end(one, done=False)
    assert left.seconds() == 60.0
    left.begin(two)
    left.end(two)
    assert left.seconds() == 0.0
