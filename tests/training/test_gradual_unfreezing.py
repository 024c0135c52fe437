"""Gradual unfreezing: one more layer from the top in each epoch (Howard and Ruder 2018, section 3.3)."""

import dataclasses
import itertools

import pytest
import torch

from bertlab.adaptation import GradualUnfreezing
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.objectives import MaskedLM, SpanCorruption
from bertlab.progress import silent
from bertlab.recipe import T5, Model
from bertlab.tasks import kinds
from bertlab.training import finetuning
from bertlab.training.finetuning import FinetuningModule, finetune, open_pretrained

SETTINGS = GradualUnfreezing(batch_size=16, epochs=4, peak_lr=3e-3, length=32)


def test_each_epoch_trains_one_more_level():
    setting = GradualUnfreezing(epochs=4)
    assert [setting.unfrozen(step, 8, levels=3) for step in range(8)] == [1, 1, 2, 2, 3, 3, 3, 3]
    assert [setting.unfrozen(step, 8, levels=13) for step in range(8)] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_stages_unfreeze_all_levels_evenly():
    """The embeddings are one level more than there are layers, and go with the lowest layer."""
    setting = GradualUnfreezing(epochs=1, stages=4)
    assert [setting.unfrozen(step, 8, levels=13) for step in range(8)] == [3, 3, 6, 6, 9, 9, 13, 13]
    assert [setting.unfrozen(step, 4, levels=3) for step in range(4)] == [1, 1, 3, 3]
    paper = GradualUnfreezing(stages=12)  # Raffel et al. 2020: 2^18 steps, one of 12 layers each 2^18 / 12
    assert [paper.unfrozen(step, 12, levels=13) for step in range(12)] == [*range(1, 12), 13]
    assert [paper.unfrozen(step, 2**18, levels=13) for step in (0, 21_845, 21_846, 2**18 - 1)] == [1, 1, 2, 13]


def test_an_update_changes_the_levels_of_its_epoch_and_those_above(pretrained, pairs, machine, monkeypatch):
    snapshots = []
    step = FinetuningModule.on_train_batch_end

    def watched(self, *args):
        snapshots.append([value.detach().clone() for value in self.model.encoder.parameters()])
        step(self, *args)

    monkeypatch.setattr(FinetuningModule, "on_train_batch_end", watched)
    setting = dataclasses.replace(SETTINGS, epochs=3, max_steps=6)
    finetune(pretrained, pairs, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)
    encoder = open_pretrained(pretrained).model.encoder
    states = [list(encoder.parameters()), *snapshots]
    level_of = {id(value): place for place, level in enumerate(encoder.levels) for value in level.parameters()}
    of_parameter = [level_of[id(value)] for value in encoder.parameters()]
    changed = [
        {level for level, one, two in zip(of_parameter, before, after, strict=True) if not torch.equal(one, two)}
        for before, after in itertools.pairwise(states)
    ]
    assert changed == [{2}, {2}, {1, 2}, {1, 2}, {0, 1, 2}, {0, 1, 2}]


def test_it_is_learnt(pretrained, pairs, machine):
    outcome = finetune(pretrained, pairs, SETTINGS, seed=0, finetune_seed=0, machine=machine, progress=silent)
    assert outcome.metrics["accuracy"] > 90


def test_parameters_that_layers_share_are_trained_with_the_last_layer():
    model = PretrainingModel(Model(layers=3, hidden=32, heads=2, sharing="all"), 20, 32, 0, (MaskedLM(),))
    adapted = SETTINGS.adapt(model, kinds.find("classification"), ("a", "b"), ("k",))
    SETTINGS.on_step(adapted, 0, 100)
    trained = {name for name, value in adapted.encoder.named_parameters() if value.requires_grad}
    assert trained == {name for name, _ in adapted.encoder.named_parameters() if name.startswith("layers.")}


def test_both_stacks_of_t5_are_unfrozen_together_below_embeddings_that_are_always_trained():
    """Raffel et al. 2020, section 3.5.1."""
    model = PretrainingModel(T5(layers=3, hidden=32, heads=2), 20, 32, 0, (SpanCorruption(),))
    setting = GradualUnfreezing(stages=3, embeddings=True)
    adapted = setting.adapt(model, kinds.find("text-to-text"), (), ("k",))
    trained, turns = {"embeddings.tokens.weight"}, []
    for stage in range(3):
        setting.on_step(adapted, stage, 3)
        now = {name for name, value in model.encoder.named_parameters() if value.requires_grad}
        turns.append({".".join(name.split(".")[:2]) for name in now - trained})
        trained = trained | now
        assert now == trained
    assert turns == [
        {"layers.2", "decoder_layers.2", "final_norm.weight", "decoder_norm.weight"},
        {"layers.1", "decoder_layers.1"},
        {"layers.0", "decoder_layers.0", "relative_bias.table", "decoder_bias.table"},
    ]
    assert trained == {name for name, _ in model.encoder.named_parameters()}


def test_a_frozen_encoder_is_refused():
    with pytest.raises(BadInput, match=r"gradual-unfreezing.frozen is true, and every layer is unfrozen in its turn"):
        GradualUnfreezing(frozen=True)


def test_the_module_calls_the_adaptation_before_each_update(pretrained, pairs, machine, monkeypatch):
    calls = []
    monkeypatch.setattr(GradualUnfreezing, "on_step", lambda self, model, step, steps: calls.append((step, steps)))
    setting = dataclasses.replace(SETTINGS, max_steps=3)
    finetuning.finetune(pretrained, pairs, setting, seed=0, finetune_seed=0, machine=machine, progress=silent)
    assert calls == [(0, 3), (1, 3), (2, 3)]
