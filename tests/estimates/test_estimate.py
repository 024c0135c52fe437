"""What a plan costs, against cases reckoned by hand."""

import dataclasses

import pytest

from bertlab.estimates import cards, estimate
from bertlab.estimates.recorded import alike
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import Measure, Pretrain
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.recipe import Masking, cost
from bertlab.store.runs import Store

TIMES = {"corpus": 10.0, "finetune": 20.0, "features": 5.0}
MASKING = studies.find("masking")


def seconds(job, devices):
    """A corpus takes 10 s, a baseline 100, another pre-training 60, measurements 20 and 5."""
    if isinstance(job, Pretrain):
        return (100.0 if job.recipe.masking == Masking() else 60.0) / devices
    return TIMES[job.kind]


def made(machine, **changes):
    given = {"studies": (MASKING,), "scale": scales.find("smoke"), "only": ("80/10/10", "0/0/100")}
    return plan.make(plan.Request(**(given | changes)), machine)


def test_one_device_takes_the_sum(machine):
    assert estimate.makespan(made(machine).jobs, machine, seconds) == 10 + 100 + 60 + 4 * 20 + 2 * 5
    assert estimate.makespan([], machine, seconds) == 0


def test_two_workers_share_the_jobs(machine):
    """Text first, then both trainings at once; from 60 s on one worker measures the other row, 20 + 20 s, until the
    baseline is ready at 100. Of the 50 s that are left each takes 25: 20 and 5."""
    both = dataclasses.replace(machine, workers=2, threads=0)
    start = 10 + estimate.SECONDS_TO_START_WORKERS
    assert estimate.makespan(made(machine).jobs, both, seconds) == start + 100 + 25


def test_four_gpus_are_two_for_each_of_two_trainings(machine):
    """The baseline takes 50 s and the other 30; its fine-tunings follow until 50, and all that is left fits in 20."""
    four = dataclasses.replace(machine, gpus=4, threads=0)
    start = 10 + estimate.SECONDS_TO_START_WORKERS
    assert estimate.makespan(made(machine).jobs, four, seconds) == start + 50 + 20


def test_what_is_not_known_is_not_told(machine):
    assert estimate.makespan(made(machine).jobs, machine, lambda job, devices: None) is None


def test_kinds_studies_seeds_and_sharing(machine, tmp_path):
    """The second study asks for the baseline again, and for one of its measurements."""
    other = Study(
        name="other",
        question="",
        source="",
        baseline="the same",
        variants=[Variant("the same")],
        measurements=[Measurement("MNLI", task="mnli")],
    )
    asked = made(machine, studies=(MASKING, other), only=("80/10/10", "0/0/100", "the same"), seeds=(0, 1))
    found = estimate.estimate(asked, Store(tmp_path / "runs"), machine, seconds)
    assert found.done == dict.fromkeys(("corpus", "pretrain", "finetune", "features"), 0)
    assert found.kinds["pretrain"].pretrainings == 4
    assert found.kinds["finetune"].seconds == 8 * 20
    to_do = found.to_do
    assert (to_do.pretrainings, to_do.measurements, to_do.others) == (4, 12, 1)
    assert to_do.seconds == 10 + 2 * (100 + 60 + 4 * 20 + 2 * 5)
    assert {name: each.seconds for name, each in found.studies.items()} == {
        "masking": to_do.seconds,
        "other": 10 + 2 * (100 + 20),
    }
    more = found.one_more_seed
    assert (more.pretrainings, more.measurements, more.others, more.seconds) == (2, 6, 0, 250)
    assert (found.shared.pretrainings, found.shared.measurements, found.shared.seconds) == (2, 2, 240)


def test_tokens_operations_and_disk(machine):
    """A pre-training: 20 steps of 8 sequences of 32 tokens, weights after 10 and after 20 steps. A fine-tuning: 10
    steps of 32 of the 64 rows, five passes; its predictions for 64 rows of each split that is judged."""
    jobs = made(machine).jobs
    pretrain, finetune = (next(job for job in jobs if isinstance(job, kind)) for kind in (Pretrain, Measure))
    found = estimate.amount([pretrain], machine, seconds)
    assert found.tokens == 20 * 8 * 32
    assert found.flops == cost.flops(pretrain.recipe)
    assert found.disk_bytes == 2 * cost.weight_bytes(pretrain.recipe.model, 512, 128)
    found = estimate.amount([finetune], machine, seconds)
    assert 5 * 64 * 5 < found.tokens < 5 * 64 * 32
    forward = cost.encoder_flops_per_token(pretrain.recipe.model, 32)
    assert 3 * found.tokens * forward < found.flops < 3 * found.tokens * forward * 2
    assert found.disk_bytes in (estimate.RESULT_BYTES + 8 * 64, estimate.RESULT_BYTES + 8 * 128)
    assert estimate.amount([finetune], machine, seconds, whole=False).flops == 0


def test_operations_of_measurements():
    """Of fine-tuning three times the forward pass, of a frozen encoder once; features are read once."""
    scale = scales.find("tiny")
    model, forward = scale.recipe.model, cost.encoder_flops_per_token(scale.recipe.model, 64)
    assert 3 * forward < cost.flops_per_token(scale.recipe)
    assert cost.measurement_flops(model, scale.finetune, 100, 10, 5) == (3 * 5 * 100 + 10) * forward
    frozen = dataclasses.replace(scale.finetune, frozen=True)
    assert cost.measurement_flops(model, frozen, 100, 10, 5) == (5 * 100 + 10) * forward
    # Two directions, four gates of 128 units: a layer reads 4 x 128 features and its state, the next one 256.
    tagger = 2 * 2 * 4 * 128 * ((512 + 128) + (256 + 128))
    expected = 110 * forward + (3 * 6 * 100 + 10) * tagger
    assert cost.measurement_flops(model, scale.features, 100, 10, 6) == expected


def test_cards_take_what_their_figures_say(machine):
    """Two cards for two trainings: each takes its operations at 30 % of the peak, and its steps' kernels."""
    card = cards.Accelerator("card", 1e9, 80e9, 400)
    two = dataclasses.replace(machine, gpus=2, threads=0)
    jobs = made(machine).jobs
    pretrain = next(job for job in jobs if isinstance(job, Pretrain))
    taken = estimate.on_cards(card, two)
    work, launching = cost.flops(pretrain.recipe), 20 * 5 * cards.SECONDS_A_LAYER
    assert taken(pretrain, 1) == pytest.approx(cards.SECONDS_A_JOB + work / 0.3e9 + launching)
    assert taken(pretrain, 4) == pytest.approx(cards.SECONDS_A_JOB + work / 1.2e9 + launching)
    assert taken(jobs[0], 1) == 0


def test_what_is_shared_would_take_one_card_as_long_however_many_there_are(machine, tmp_path):
    """Two pre-trainings, asked for twice: on one card, or on eight that are four for each."""
    card = cards.Accelerator("card", 1e9, 80e9, 400)
    other = dataclasses.replace(MASKING, name="other")
    saved, alone = set(), 0.0
    for gpus in (1, 8):
        many = dataclasses.replace(machine, gpus=gpus, threads=0)
        asked = made(many, studies=(MASKING, other))
        taken = estimate.on_cards(card, many)
        saved.add(estimate.estimate(asked, Store(tmp_path / "runs"), many, taken).shared.seconds)
        alone = sum(taken(job, 1) for job in asked.jobs)
    assert saved == {alone}


def test_what_comes_first_costs_as_much_as_a_task(machine):
    """64 rows of another task in 6 steps, before as many of its own, which alone is judged."""
    tagged = {"studies": (studies.find("features"),), "only": ()}
    alone, both = (
        next(job for job in made(machine, **tagged, intermediate_task=first).jobs if job.kind == "finetune")
        for first in ({}, {"conll2003": "entities"})
    )
    assert both.intermediate_task is not None
    tokens, flops = estimate.work(alone, machine)
    all_tokens, all_flops = estimate.work(both, machine)
    assert all_tokens == pytest.approx(2 * tokens, rel=0.2)
    forward = cost.encoder_flops_per_token(estimate.recipe_of(both).model, both.settings.length)
    assert all_flops - flops == pytest.approx(3 * (all_tokens - tokens) * forward)
    card = cards.Accelerator("card", 1e30, 80e9, 400)  # all that takes time is the launching of kernels
    taken = estimate.on_cards(card, machine)
    assert taken(both, 1) - taken(alone, 1) == pytest.approx(6 * 5 * cards.SECONDS_A_LAYER)


def test_jobs_alike_take_as_long(machine):
    jobs = made(machine, only=(), seeds=(0, 1)).jobs
    pretrainings = [job for job in jobs if isinstance(job, Pretrain)]
    # The baseline is evaluated under its own masking already, the others once more.
    assert len({alike(job, machine) for job in pretrainings}) == 2
    measured = [job for job in jobs if isinstance(job, Measure)]
    assert len({alike(job, machine) for job in measured}) == 3
