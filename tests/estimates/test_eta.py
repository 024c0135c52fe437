"""The time left while jobs run: by hand, with a clock of the test."""

import dataclasses

import pytest

from bertlab.estimates import eta
from bertlab.estimates.cost import JOB_SECONDS, gpu_seconds
from bertlab.estimates.eta import TEXT_SPEED, Eta
from bertlab.lab.jobs import CorpusPreparation, Pretraining
from bertlab.lab.jobs.base import Text, Work
from bertlab.lab.scales import find
from bertlab.machine import Machine
from bertlab.recipe import cost
from bertlab.text.tokenizers import WordPiece


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def jobs(*steps):
    """Pre-trainings of some steps."""
    recipe = find("smoke").recipe
    corpus = CorpusPreparation(recipe.corpus, recipe.tokenizer, ())
    made = (dataclasses.replace(recipe.schedule, steps=number) for number in steps)
    recipes = [dataclasses.replace(recipe, seed=seed, schedule=each) for seed, each in enumerate(made)]
    return [Pretraining(each, corpus, "study-variant") for each in recipes]


def text_of(monkeypatch, size):
    """Every corpus is of a text of this many bytes."""
    work = Work(text=Text(size, WordPiece(), None, ""))
    monkeypatch.setattr(CorpusPreparation, "work", lambda job: work)


@pytest.fixture
def started():
    """The time left of some jobs, with a clock at 0."""

    def start(made, known=lambda job, devices: None, workers=0):
        found = Eta.of_pending(made, Machine(workers=workers, threads=1), known)
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


def test_a_training_that_went_on_from_a_checkpoint_counts_with_what_was_left_of_it(started):
    one, _ = made = jobs(1000, 3000)
    left = started(made)
    left.begin(one)
    left.clock.now = 20.0
    left.at(one, 0.9)
    left.clock.now = 30.0
    left.end(one)
    assert left.seconds() == pytest.approx(30 * 3 / 0.1)


def test_a_job_unlike_all_that_ran_before_is_guessed_from_the_pace_of_the_others(started):
    one, two = jobs(1000, 3000)
    left = started([one, two], known=lambda job, devices: 50.0 if job is one else None)
    assert left.seconds() == pytest.approx(50 + 150)
    assert left.guessed


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


def test_a_corpus_takes_the_time_of_its_bytes_until_it_shows_its_speed(started, monkeypatch):
    text_of(monkeypatch, 6_000_000)
    (one,) = jobs(1000)
    left = started([one.corpus, one], lambda job, devices: 60.0 if job == one else None)
    left.begin(one.corpus)
    left.clock.now = 2.0
    assert left.seconds() == pytest.approx(JOB_SECONDS + 6 - 2 + 60)
    left.at(one.corpus, 0.1)
    left.clock.now = 12.0
    left.at(one.corpus, 0.6)
    assert left.seconds() == pytest.approx(0.4 * 10 / 0.5 + 60)


@pytest.mark.parametrize(("size", "guessed"), [(23_000_000, False), (25_000_000, True), (0, True)])
def test_while_a_large_corpus_is_prepared_the_speed_of_training_is_a_guess(started, monkeypatch, size, guessed):
    text_of(monkeypatch, size)
    monkeypatch.setattr(eta.microbenchmark, "peak", lambda machine: 1e9)
    (one,) = jobs(1000)
    corpus = one.corpus
    left = started([corpus, one])
    left.begin(corpus)
    training = gpu_seconds(1e9)(one, 1)
    assert left.seconds() == (pytest.approx(JOB_SECONDS + size / TEXT_SPEED + training) if guessed else None)
    assert left.guessed
    left.end(corpus)
    left.begin(one)
    left.at(one, 0.0)
    left.clock.now = 10.0
    left.at(one, 0.1)
    assert left.seconds() == pytest.approx(90), "measured"
    assert not left.guessed
    assert [*started([corpus]).guesses] == [corpus.id], "nothing is trained"
