"""Measurements of this machine: what they come to, not how fast it is."""

from types import SimpleNamespace

import pytest

from bertlab.estimates import measure
from bertlab.estimates.measure import Clock, Speed, middle
from bertlab.lab.scales import find
from bertlab.machine import Machine
from bertlab.recipe import Finetuning

TAKEN = Speed(start=1.0, step=1.0, end=1.0)


def test_seconds_of_a_job():
    speed = Speed(start=1.0, step=0.5, end=2.0, milestone=3.0)
    assert speed.seconds(10) == 1 + 5 + 2
    assert speed.seconds(10, milestones=4) == 1 + 5 + 2 + 3 * 3
    assert speed.seconds(0, milestones=0) == 3


def test_the_middle_does_not_count_what_is_rare():
    assert middle([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 100.0]) == 1.0
    assert middle([2.0]) == 2.0
    assert middle([0.0, 1.0, 3.0, 50.0]) == 2.0


def test_a_clock_splits_a_job(monkeypatch):
    """Begun at 0; steps end at 5, 6, 7 and 8; all is over at 10. The first of them took as long as the others."""
    monkeypatch.setattr(measure.time, "perf_counter", iter([5.0, 6.0, 7.0, 8.0, 10.0]).__next__)
    clock = Clock(began=0.0)
    clock(100, 200, "reading features")
    for step in range(4):
        clock(step + 1, 4, "pre-training")
    assert clock.speed() == Speed(start=4.0, step=1.0, end=2.0)


def test_steps_of_a_training():
    settings = Finetuning(batch_size=32, epochs=2.5)
    assert measure.training_steps(settings, 100) == 10
    assert measure.training_steps(Finetuning(batch_size=32, epochs=3, max_steps=7), 100) == 7
    assert measure.training_steps(Finetuning(batch_size=32, epochs=0.01), 100) == 1


def test_a_measured_pretraining_is_shortened_and_leaves_a_model(corpus, machine, tmp_path):
    from bertlab.training.finetuning import open_pretrained

    recipe = find("smoke").recipe
    speed = measure.pretraining(recipe, corpus, tmp_path, machine, 1e9)
    assert min(speed.start, speed.end) >= 0
    assert min(speed.step, speed.milestone) > 0
    assert open_pretrained(tmp_path).model.encoder.hidden_size == recipe.model.hidden


def test_large_steps_are_measured_on_fewer_sequences(corpus, machine, tmp_path, monkeypatch):
    """A step of 8 sequences would take the machine long: it is tried with 2, and takes four times as long."""
    seen = []

    def tried(recipe, corpus, work, machine):
        seen.append(recipe.schedule.batch_size)
        return TAKEN

    monkeypatch.setattr(measure, "_pretrained", tried)
    speed = measure.pretraining(find("smoke").recipe, corpus, tmp_path, machine, 1.0)
    assert seen == [2]
    assert speed.step == 4.0


@pytest.mark.parametrize("whole", [True, False])
def test_a_short_training_is_compiled_if_the_whole_one_would_be(corpus, machine, tmp_path, monkeypatch, whole):
    recipe, seen = find("smoke").recipe, []
    monkeypatch.setattr(Machine, "compiles", lambda machine, given: whole and given == recipe)
    monkeypatch.setattr("bertlab.machine.has_compiler", lambda: True)
    monkeypatch.setattr(measure, "_pretrained", lambda recipe, corpus, work, machine: seen.append(machine) or TAKEN)
    measure.pretraining(recipe, corpus, tmp_path, machine, 1.0)
    assert [each.compile for each in seen] == ["yes" if whole else "no"]


def test_peaks_are_of_each_precision(machine, monkeypatch):
    monkeypatch.setattr(measure, "PRODUCT", (64, 32, 16))
    monkeypatch.setattr(measure, "has_bf16", lambda device: False)
    (name, figure), *others = measure.peaks(machine).items()
    assert name == "fp32"
    assert not others
    assert figure > 0


@pytest.mark.parametrize(("hardware", "measured"), [(True, {"fp32", "bf16"}), (False, {"fp32"})])
def test_throughput_tells_the_peak_of_each_precision(corpus, machine, tmp_path, monkeypatch, hardware, measured):
    monkeypatch.setattr(measure, "peak", lambda machine, precision: {"fp32": 1e9, "bf16": 3e9}[precision])
    monkeypatch.setattr(measure, "has_bf16", lambda device: hardware)
    found = measure.throughput(find("smoke").recipe, corpus, tmp_path, machine)
    assert found.peaks_flops_per_second.keys() == measured
    assert found.peak_flops_per_second == found.peaks_flops_per_second["fp32"] == 1e9
    assert found.share_of_peak == found.flops_per_second / 1e9


def test_training_on_another_task_before_belongs_to_the_start(machine, tmp_path, monkeypatch):
    """The other task takes 1 s to read and four steps of half a second; only the own one is judged."""
    monkeypatch.setattr("bertlab.training.finetuning.finetune", lambda *given, **named: None)
    monkeypatch.setattr(Clock, "speed", lambda clock: Speed(start=1.0, step=0.5, end=2.0))
    own, other = (SimpleNamespace(train=range(rows), evaluation=range(8)) for rows in (64, 128))
    settings, recipe = Finetuning(batch_size=32, epochs=1), find("smoke").recipe
    alone, both = (
        measure.finetuning(tmp_path, own, settings, recipe, machine, 1e15, intermediate_task=first)
        for first in (None, other)
    )
    assert alone == Speed(start=1.0, step=0.5, end=2.0)
    assert both == Speed(start=1.0 + 1.0 + 4 * 0.5, step=0.5, end=2.0)
