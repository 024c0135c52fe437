"""Trunks: what goes on from the state of shared first steps has the bits that it has alone."""

import dataclasses
import signal

import pytest

from bertlab import progress as signals
from bertlab.lab import scales
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.optimizers import Muon
from bertlab.progress import Interrupted, silent
from bertlab.recipe.identity import canonical
from bertlab.recipe.prefix import shared_prefixes
from bertlab.recipe.schedules import Constant, InverseSquareRoot, Stages, WarmupStableDecay
from bertlab.store import result
from bertlab.store.run import TRUNKS
from bertlab.training import data
from bertlab.training.pretraining import pretrain, train_trunk
from bertlab.training.trunks import TrunkState, steps_before

SMOKE = scales.find("smoke").recipe
MILESTONES = (30, 50, 100)


@pytest.fixture(autouse=True)
def few_evaluated(monkeypatch):
    monkeypatch.setattr(data, "EVALUATION_SEQUENCES", 64)


def with_schedule(recipe, **fields):
    return dataclasses.replace(recipe, schedule=dataclasses.replace(recipe.schedule, **fields))


def horizons(curve, recipe=SMOKE):
    return [with_schedule(recipe, curve=curve, warmup_steps=3, steps=steps) for steps in (5, 15, 25)]


def alternating(until):
    halves = (MaskedLM(share=0.5), CausalLM(share=0.5))
    first, second = (Stages(multiples=multiples, begins=(until,)) for multiples in ((2, 0), (0, 2)))
    over_steps = {"causal_lm.share": first, "masked_lm.share": second}
    return with_schedule(dataclasses.replace(SMOKE, objective=halves), over_steps=over_steps)


LISTS = {
    "1x, 3x, 5x": (horizons(WarmupStableDecay(cooldown=0.2, shape="1-sqrt")), [4, 12]),
    "without a decay": (horizons(Constant(), dataclasses.replace(SMOKE, optimizer=Muon())), [4, 14]),
    "other decays": (
        [
            with_schedule(SMOKE, curve=curve, steps=12, warmup_steps=2)
            for curve in (InverseSquareRoot(), WarmupStableDecay(), Constant())
        ],
        [2, 11],
    ),
    "other objectives later": ([alternating(until) for until in (0.5, 0.8, 1.0)], [10, 16]),
}


def trained(prefix, corpus, machine, root, progress=silent):
    """The trunk of a prefix, after those before it."""
    before = prefix.before and trained(prefix.before, corpus, machine, root)
    work = root / prefix.id
    schedules = [recipe.schedule for recipe in prefix.recipes]
    milestones = {schedule.milestone(percent) for schedule in schedules for percent in MILESTONES}
    milestones = sorted(step for step in milestones if step <= prefix.steps)
    if not work.exists() or progress is not silent:
        work.mkdir(exist_ok=True)
        train_trunk(prefix.recipes[0], corpus, work, machine, milestones, prefix.steps, progress, trunk=before)
    part = result.TrunkFacts(
        id=prefix.id, first=before.trunks.steps if before else 0, steps=prefix.steps, seconds=1.0, training=1.0
    )
    return TrunkState(work, result.Trunks((*(before.trunks.trunks if before else ()), part)))


def files(work):
    paths = [work / "metrics.jsonl", work / "model.safetensors", *(work / "milestones").iterdir()]
    return {path.name: path.read_bytes() for path in paths}


@pytest.mark.parametrize("name", LISTS)
def test_bits_are_those_of_unshared_runs(corpus, machine, tmp_path, name):
    """Weights, milestones and their figures, the curve, and the result."""
    recipes, ends = LISTS[name]
    prefixes = shared_prefixes(recipes)
    assert sorted({prefix.steps for prefix in prefixes.values()}) == ends
    for number, recipe in enumerate(recipes):
        alone, shared = tmp_path / f"alone-{number}", tmp_path / f"shared-{number}"
        alone.mkdir(), shared.mkdir()
        expected = pretrain(recipe, corpus, alone, machine, MILESTONES, silent)
        trunk = trained(prefixes[canonical(recipe)], corpus, machine, tmp_path)
        assert pretrain(recipe, corpus, shared, machine, MILESTONES, silent, trunk=trunk) == expected
        assert files(shared) == files(alone)


@pytest.mark.parametrize("stop", [2, 7])
def test_trunks_and_runs_resume_to_the_bit(corpus, machine, tmp_path, monkeypatch, stop):
    monkeypatch.setattr(signals, "_received", [])
    recipes, _ = LISTS["1x, 3x, 5x"]
    prefix = shared_prefixes(recipes)[canonical(recipes[1])]

    def ask(done, *_, **__):
        if done == stop:
            signals._received.append(signal.SIGINT)

    alone, shared = tmp_path / "alone", tmp_path / "shared"
    alone.mkdir(), shared.mkdir()
    pretrain(recipes[2], corpus, alone, machine, MILESTONES, silent)
    with pytest.raises(Interrupted):
        trained(prefix, corpus, machine, tmp_path, ask)
    signals._received.clear()
    trunk = trained(prefix, corpus, machine, tmp_path, lambda *_, **__: None)
    with pytest.raises(Interrupted):
        pretrain(recipes[2], corpus, shared, machine, MILESTONES, ask, trunk=trunk)
    signals._received.clear()
    pretrain(recipes[2], corpus, shared, machine, MILESTONES, silent)  # it needs the trunk no more
    assert files(shared) == files(alone)
    assert steps_before(shared) == 12


def test_without_its_trunk_a_run_whose_checkpoint_is_lost_begins_anew(corpus, machine, tmp_path, monkeypatch):
    monkeypatch.setattr(signals, "_received", [])
    recipes, _ = LISTS["other decays"]
    trunk = trained(shared_prefixes(recipes)[canonical(recipes[0])], corpus, machine, tmp_path)
    alone, shared = tmp_path / "alone", tmp_path / "shared"
    alone.mkdir(), shared.mkdir()
    pretrain(recipes[0], corpus, alone, machine, MILESTONES, silent)

    def ask(done, *_, **__):
        if done == 3:
            signals._received.append(signal.SIGINT)

    with pytest.raises(Interrupted):
        pretrain(recipes[0], corpus, shared, machine, MILESTONES, ask, trunk=trunk)
    signals._received.clear()
    next(shared.glob("checkpoint/*/weights.safetensors")).write_bytes(b"damaged")
    pretrain(recipes[0], corpus, shared, machine, MILESTONES, silent)
    assert files(shared) == files(alone)
    assert not (shared / TRUNKS).exists()


def test_a_trunk_without_the_weights_of_a_milestone_is_not_gone_on_from(corpus, machine, tmp_path):
    recipes, _ = LISTS["other decays"]
    trunk = trained(shared_prefixes(recipes)[canonical(recipes[1])], corpus, machine, tmp_path)
    shared = tmp_path / "shared"
    shared.mkdir()
    pretrain(recipes[1], corpus, shared, machine, (*MILESTONES, 75), silent, trunk=trunk)
    assert steps_before(shared) == 0
    assert (shared / "milestones" / "step-00000009.safetensors").exists()
