"""What a plan costs, against cases computed by hand."""

import dataclasses
import itertools

import numpy as np
import pytest

from bertlab.adaptation import FineTuning
from bertlab.estimates import cost as costs
from bertlab.estimates.cost import LAYER_SECONDS, gpu_seconds
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import CorpusPreparation, Evaluation, Pretraining, evaluation
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.machine import Machine
from bertlab.objectives import MaskedLM
from bertlab.recipe import cost
from bertlab.store.runs import Store
from bertlab.tasks import catalog, data, kinds
from bertlab.tasks.locate import locate
from bertlab.text import sources
from bertlab.text.tokenizers import WordPiece

TIMES = {"corpus": 10.0, "finetune": 20.0, "features": 5.0}
MASKING = studies.find("masking")


def seconds(job, devices):
    """A corpus takes 10 s, a baseline 100, another pre-training 60, measurements 20 and 5."""
    if isinstance(job, Pretraining):
        return (100.0 if job.recipe.objective[0] == MaskedLM() else 60.0) / devices
    return TIMES[job.kind]


def made(machine, **changes):
    given = {"studies": (MASKING,), "scale": scales.find("smoke"), "only": ("80/10/10", "0/0/100")}
    return plan.make(plan.Request(**(given | changes)), machine)


def test_one_device_takes_the_sum(machine):
    assert costs.wall_seconds(made(machine).jobs, machine, seconds) == 10 + 100 + 60 + 4 * 20 + 2 * 5
    assert costs.wall_seconds([], machine, seconds) == 0


def test_two_workers_share_the_jobs(machine):
    """Text first; an even share of the other 250 s is longer than the longest chain, of 100 + 20 s."""
    both = dataclasses.replace(machine, workers=2, threads=0)
    assert costs.wall_seconds(made(machine).jobs, both, seconds) == 10 + 125
    cluster = dataclasses.replace(both, cluster="auto")
    assert costs.wall_seconds(made(machine).jobs, cluster, seconds) == 10 + costs.RAY_START_SECONDS + 125


def test_four_gpus_are_two_for_each_of_two_trainings(machine):
    """The longest chain, 50 s of the baseline and 20 s of a measurement, is longer than an even share of all work."""
    four = dataclasses.replace(machine, gpus=4, threads=0)
    start = 10 + costs.RAY_START_SECONDS
    assert costs.wall_seconds(made(machine).jobs, four, seconds) == start + 50 + 20


def test_an_unknown_time_makes_the_total_unknown(machine):
    assert costs.wall_seconds(made(machine).jobs, machine, lambda job, devices: None) is None


def test_kinds_and_studies(machine, tmp_path):
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
    found = costs.estimate(asked, Store(tmp_path / "runs"), machine, seconds)
    assert found.done == dict.fromkeys(("corpus", "pretrain", "finetune", "features"), 0)
    assert found.jobs["pretrain"].counts["pretrainings"] == 4
    assert found.jobs["finetune"].seconds == 8 * 20
    to_do = found.to_do
    assert to_do.counts == {"pretrainings": 4, "measurements": 12, "corpora": 1, "trunks": 0}
    assert to_do.seconds == 10 + 2 * (100 + 60 + 4 * 20 + 2 * 5)


def test_tokens_operations_and_disk(machine):
    """A pre-training: 20 steps of 8 sequences of 32 tokens, weights after 10 and after 20 steps. A fine-tuning: 10
    steps of 32 of the 64 examples, five passes; its predictions for 64 examples of each evaluated split."""
    jobs = made(machine).jobs
    pretrain, finetune = (next(job for job in jobs if isinstance(job, kind)) for kind in (Pretraining, Evaluation))
    found = costs.cost([pretrain], machine, seconds)
    assert found.tokens == 20 * 8 * 32
    assert found.flops == cost.flops(pretrain.recipe)
    assert found.disk_bytes == 2 * cost.weight_bytes(pretrain.recipe)
    found = costs.cost([finetune], machine, seconds)
    assert 5 * 64 * 5 < found.tokens < 5 * 64 * 32
    forward = pretrain.recipe.model.flops_per_token(32, False)
    assert 3 * found.tokens * forward < found.flops < 3 * found.tokens * forward * 2
    assert found.disk_bytes == evaluation.KEPT_BYTES
    assert costs.cost([finetune], machine, seconds, read_tasks=False).flops == 0


def test_the_size_of_synthetic_text_is_known_before_it_is_written(machine):
    (corpus,) = (job for job in made(machine).jobs if isinstance(job, CorpusPreparation))
    (located,) = corpus.located
    assert corpus.work().text.bytes == pytest.approx(sum(map(len, sources.documents(located))), rel=0.02)


def test_operations_of_measurements():
    """Of fine-tuning three times the forward pass, of a frozen encoder once; features are read once."""
    scale = scales.find("tiny")
    model, forward = scale.recipe.model, scale.recipe.model.flops_per_token(64, False)
    assert 3 * forward < cost.flops_per_token(scale.recipe)
    assert scale.finetune.flops(model, 100, 10, 5) == (3 * 5 * 100 + 10) * forward
    frozen = dataclasses.replace(scale.finetune, frozen=True)
    assert frozen.flops(model, 100, 10, 5) == (5 * 100 + 10) * forward
    # Two directions, four gates of 128 units: a layer reads 4 x 128 features and its state, the next one 256.
    tagger = 2 * 2 * 4 * 128 * ((512 + 128) + (256 + 128))
    expected = 110 * forward + (3 * 6 * 100 + 10) * tagger
    assert scale.features.flops(model, 100, 10, 6) == expected


def test_a_gpu_elsewhere_takes_what_its_peak_says(machine):
    """Two GPUs for two trainings: each takes its FLOPs at 30 % of the peak, and at least its steps' kernel launches."""
    jobs = made(machine).jobs
    pretrain = next(job for job in jobs if isinstance(job, Pretraining))
    taken = gpu_seconds(1e9)
    work, launching = cost.flops(pretrain.recipe), 20 * 5 * LAYER_SECONDS
    assert taken(pretrain, 1) == pytest.approx(costs.JOB_SECONDS + work / 0.3e9 + launching)
    assert taken(pretrain, 4) == pytest.approx(costs.JOB_SECONDS + work / 1.2e9 + launching)
    assert taken(jobs[0], 1) == 0
    # Three times the launches take as long as one run's; three times the operations take three times as long.
    assert gpu_seconds(1e30, 3)(pretrain, 1) == pytest.approx(costs.JOB_SECONDS + launching)
    assert gpu_seconds(1.0, 3)(pretrain, 1) == pytest.approx(costs.JOB_SECONDS + 3 * work / 0.3)


def test_an_intermediate_task_costs_as_much_as_a_task(machine):
    """64 examples of another task in 6 steps, before as many of its own, of which only its own is evaluated."""
    tagged = {"studies": (studies.find("features"),), "only": ()}
    alone, both = (
        next(job for job in made(machine, **tagged, intermediate_task=first).jobs if job.kind == "finetune")
        for first in ({}, {"conll2003": "entities"})
    )
    assert both.intermediate_task is not None
    one, two = alone.work(), both.work()
    assert two.tokens == pytest.approx(2 * one.tokens, rel=0.2)
    forward = both.pretraining.recipe.model.flops_per_token(both.settings.length, False)
    assert two.flops - one.flops == pytest.approx(3 * (two.tokens - one.tokens) * forward)
    taken = gpu_seconds(1e30)  # only kernel launches take time
    assert taken(both, 1) - taken(alone, 1) == pytest.approx(6 * 5 * LAYER_SECONDS)


def test_jobs_alike_take_as_long(machine):
    jobs = made(machine, only=(), seeds=(0, 1)).jobs
    pretrainings = [job for job in jobs if isinstance(job, Pretraining)]
    # The baseline is evaluated under its own masking already, the others once more.
    assert len({job.similar_to(machine) for job in pretrainings}) == 2
    measured = [job for job in jobs if isinstance(job, Evaluation)]
    assert len({job.similar_to(machine) for job in measured}) == 3


def test_steps_of_a_training():
    assert FineTuning(batch_size=32, epochs=2.5).steps(100) == 10
    assert FineTuning(batch_size=32, epochs=3, max_steps=7).steps(100) == 7
    assert FineTuning(batch_size=32, epochs=0.01).steps(100) == 1


@pytest.mark.parametrize("name", ["squad", "race", "mnli", "ontonotes"])
def test_the_extent_of_examples_is_near_that_of_their_sequences(name, tmp_path, monkeypatch):
    """Windows of a context, the endings of a choice, the segments of a document."""
    task = data.load(catalog.find(name), machine=Machine(cache=tmp_path), world=True)
    kind, raw = kinds.find(task.kind), task.train.take(np.arange(60))
    texts = [text if isinstance(text, str) else " ".join(text) for column in raw.text for text in column]
    tokenizer = WordPiece(vocabulary=400, lowercase=False).train(texts)
    pieces = sum(map(len, tokenizer.encode(texts))) / sum(len(text.split()) for text in texts)
    monkeypatch.setattr("bertlab.tasks.kinds.base.PIECES_PER_WORD", pieces)
    for length, training in itertools.product((32, 64, 128), (True, False)):
        found = kind.encode(raw, tokenizer, length, training)
        examples, tokens = kind.extent(raw, length, training)
        assert len(found) / len(raw) == pytest.approx(examples, rel=0.35)
        assert sum(map(len, found.sequences)) / len(raw) == pytest.approx(tokens, rel=0.15)


@pytest.mark.parametrize("name", ["rte", "squad"])
def test_a_synthetic_task_is_read_as_far_as_its_sizes_depend_on_it(machine, name):
    located = locate(catalog.find(name), machine=machine, world=True)
    whole = data.read(located)
    parts = [part for part in (whole.train, whole.evaluation, whole.test) if part is not None]
    extents = [kinds.find(whole.kind).extent(part, 32, training=part is whole.train) for part in parts]
    expected = [(len(part), *extent) for part, extent in zip(parts, extents, strict=True)]
    assert evaluation._sizes(located, False, 32) == expected
    assert len(whole.evaluation) > len(data.read(located, 10).evaluation) == 10
