"""Measurements of this machine: what is timed, not how fast it is."""

import dataclasses
import weakref

import pytest
import torch

from bertlab.errors import BadInput
from bertlab.estimates import microbenchmark
from bertlab.estimates.cost import JOB_SECONDS
from bertlab.estimates.history import Trials
from bertlab.estimates.microbenchmark import StepTimer
from bertlab.inputs.batches import Batches
from bertlab.lab import plan, scales, studies
from bertlab.lab.scales import find
from bertlab.recipe import cost
from bertlab.store.runs import Store
from bertlab.training import pretraining


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [0.0]
    monkeypatch.setattr(microbenchmark.time, "perf_counter", lambda: now[0])
    return now


def stopped(timer, clock, seconds, total):
    """Steps of these seconds each until the timer stops them; how many there were."""
    for number, step in enumerate(seconds, start=1):
        clock[0] += step
        try:
            timer(number, total, "pre-training")
        except microbenchmark._Timed:
            return number
    raise AssertionError("it did not stop")


def test_the_clock_starts_after_warm_up_steps(clock, machine):
    timer = StepTimer(machine)
    assert stopped(timer, clock, [10.0, 8.0, *[1.0] * 50], 1000) == 2 + 3
    assert timer.step == 1.0


def test_short_steps_are_timed_until_there_are_enough(clock, machine):
    assert stopped(StepTimer(machine, 24), clock, [0.01] * 50, 1000) == 2 + 24
    assert stopped(StepTimer(machine, 24), clock, [0.01] * 50, 7) == 7
    assert stopped(StepTimer(machine, 24), clock, [0.01], 1) == 1


def test_a_gpu_is_waited_for_twice_only(clock, machine, monkeypatch):
    waited = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(clock[0]))
    assert stopped(StepTimer(dataclasses.replace(machine, gpus=1)), clock, [0.25] * 100, 1000) == 10 + 12
    assert waited == [2.5, 5.5]


def timed(monkeypatch):
    """Replaces trainings by steps of one second; returns the recipes and machines of the calls."""
    seen = []

    def train(recipe, corpus, work, machine, max_steps):
        seen.append((recipe, machine))
        return 1.0

    monkeypatch.setattr(microbenchmark, "step_seconds", train)
    return seen


def test_a_plan_times_large_steps_on_fewer_sequences(corpus, machine, tmp_path, monkeypatch):
    """A step of 8 sequences would take this machine long: it is timed with 2, and takes four times as long."""
    seen = timed(monkeypatch)
    recipe = find("smoke").recipe
    speed = microbenchmark.flops_per_second(recipe, corpus, tmp_path, machine, 1.0)
    assert [each.schedule.batch_size for each, _ in seen] == [2]
    assert [each.schedule.steps for each, _ in seen] == [recipe.schedule.steps]  # compiled as the whole one would be
    assert speed == cost.flops(recipe) / (4 * recipe.schedule.steps)


def test_phases_count_by_their_steps(corpus, machine, tmp_path, monkeypatch):
    seen = timed(monkeypatch)
    recipe = find("smoke").recipe
    inputs = dataclasses.replace(recipe.inputs, phase2_length=64, phase2_share=0.5)
    recipe = dataclasses.replace(recipe, inputs=inputs)
    speed = microbenchmark.flops_per_second(recipe, corpus, tmp_path, machine, 1e15)
    assert [each.inputs.length for each, _ in seen] == [32, 64]
    assert speed == cost.flops(recipe) / recipe.schedule.steps


def test_trials_train_on_any_text(corpus, machine, tmp_path, monkeypatch):
    """The text of a trial is one source, and that of a plan may be three."""
    seen = timed(monkeypatch)
    recipe = find("smoke").recipe
    recipe = dataclasses.replace(recipe, inputs=dataclasses.replace(recipe.inputs, corpora=2))
    microbenchmark.flops_per_second(recipe, corpus, tmp_path, machine, 1e15)
    assert Batches(seen[0][0], corpus).sequences_in(0) > 0
    with pytest.raises(BadInput, match="and the number of corpora is 1"):
        Batches(recipe, corpus)


def test_throughput_is_that_of_the_scales_own_batch(corpus, machine, tmp_path, monkeypatch):
    monkeypatch.setattr(microbenchmark, "peak", lambda machine: 1.0)  # so slow that a plan takes fewer
    made = weakref.WeakSet()
    monkeypatch.setattr(pretraining.PretrainingModule, "on_fit_start", lambda self: made.add(self.model))
    found = microbenchmark.throughput(find("smoke").recipe, corpus, tmp_path, machine)
    assert found.sequences_per_step == 8
    assert found.share_of_peak == found.flops_per_second
    assert not made  # a plan of large models times many, one after the other


def test_the_peak_multiplies_random_entries(machine, monkeypatch):
    seen = []
    product = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda *given: seen.append(given) or product(*given))
    assert microbenchmark.peak(machine, (64, 32, 16)) > 0
    left, right = seen[0]
    assert min(left.std(), right.std()) > 0.5


def test_a_model_whose_trial_would_take_minutes_is_not_tried(machine, tmp_path, monkeypatch):
    """Its steps are timed by matrix products: those of two sequences would take more than four seconds."""
    seen = timed(monkeypatch)
    request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), only=("80/10/10",))
    job = next(each for each in plan.make(request, machine).jobs if each.kind == "pretrain")
    recipe = job.recipe
    flops = 2 * recipe.inputs.length * cost.flops_per_token(recipe)
    for peak, tried in ((flops / 4 / 0.3 * 1.01, True), (flops / 4 / 0.3 * 0.99, False)):
        monkeypatch.setattr(microbenchmark, "peak", lambda machine, peak=peak: peak)
        trials = Trials(Store(tmp_path / "runs"), machine, tmp_path)
        seconds = trials.seconds(job)
        assert len(seen) == 1
        assert trials.sources == ({"trials"} if tried else {"the speed of matrix products"})
    assert seconds == pytest.approx(JOB_SECONDS + cost.flops(recipe) / (0.3 * peak), rel=0.01)


def test_trials_time_each_shape_once(machine, tmp_path, monkeypatch):
    """Both seeds of two variants: two trials, and measurements take their FLOPs at the speed of these."""
    seen = timed(monkeypatch)
    monkeypatch.setattr(microbenchmark, "peak", lambda machine: 1e12)
    request = plan.Request(
        studies=(studies.find("masking"),),
        scale=scales.find("smoke"),
        seeds=(0, 1),
        only=("80/10/10", "0/0/100"),
        random_init=True,
    )
    jobs = plan.make(request, machine).jobs
    trials = Trials(Store(tmp_path / "runs"), machine, tmp_path)
    times = {job: trials.seconds(job) for job in jobs}
    assert len(seen) == 2
    assert all(seconds > 0 for seconds in times.values())
    trained = {seconds for job, seconds in times.items() if job.kind == "pretrain" and job.steps}
    assert trained == {trials.seconds(next(job for job in jobs if job.kind == "pretrain"))}
    assert max(trained) > JOB_SECONDS
