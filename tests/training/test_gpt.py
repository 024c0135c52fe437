"""GPT's fine-tuning: extract token, both orders, new rows of embeddings, the auxiliary loss (Radford et al. 2018)."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from bertlab.adaptation import GPT
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.progress import silent
from bertlab.recipe import Inputs, Model, Recipe
from bertlab.recipe.identity import to_canonical
from bertlab.tasks import kinds
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from bertlab.training.finetuning import encode_training, finetune, open_pretrained

SETTINGS = GPT(batch_size=16, epochs=6, peak_lr=3e-3, length=32)
BOTH = dataclasses.replace(SETTINGS, both_orders=True)
CLS, SEP, MASK = 2, 3, 4
KEY = ("gpt", 0, 0)


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    """The directory of a left-to-right model with initial weights."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", *(f"##{letter}" for letter in "abcdefgh")]
    recipe = Recipe(
        tokenizer=WordPiece(vocabulary=64),
        inputs=Inputs(length=32, format="full-sentences"),
        objective=(CausalLM(),),
        model=Model(layers=2, hidden=32, heads=2, initialisation="width", max_positions=32),
    )
    directory = tmp_path_factory.mktemp("causal")
    TrainedWordPiece(pieces).save(directory / "vocab.txt")
    PretrainingModel(recipe.model, len(pieces), 32, 0, recipe.objective).save(directory / "model.safetensors")
    record = {"kind": "pretrain", "id": "1" * 16, "science": {"recipe": to_canonical(recipe)}}
    (directory / "recipe.json").write_text(json.dumps(record), encoding="utf-8")
    return directory


def prepared(directory, task, setting):
    """The opened model, the module to train, and the builder of its batches."""
    opened = open_pretrained(directory)
    module = setting.adapt(opened.model, kinds.find(task.kind), task.labels, KEY)
    part = encode_training(task, opened, setting)
    return opened.model, module, setting.inputs(opened.model, part, Machine(), silent).build


def test_a_sequence_ends_with_the_extract_token_and_both_orders_are_two_blocks(causal, pairs):
    rows = np.arange(5)
    _, _, build = prepared(causal, pairs, SETTINGS)
    inputs = build(rows)["inputs"]
    lengths = inputs.lengths["inputs"]
    assert (inputs.tokens[torch.arange(5), lengths - 1] == MASK).all()
    assert (inputs.tokens[:, 0] == CLS).all()
    assert ((inputs.tokens == SEP).sum(1) == 1).all(), "the delimiter stands between the texts alone"
    both = prepared(causal, pairs, BOTH)[2](rows)["inputs"]
    assert torch.equal(both.tokens[:5], inputs.tokens)
    for row in range(5):
        tokens, size = inputs.tokens[row].tolist(), int(lengths[row])
        middle = tokens.index(SEP)
        turned = [CLS, *tokens[middle + 1 : size - 1], SEP, *tokens[1:middle], MASK]
        assert both.tokens[5 + row, :size].tolist() == turned
        assert both.format["segments"][5 + row, :size].tolist() == [0] * (size - middle) + [1] * middle


def test_both_orders_give_the_same_logits_whichever_is_first(causal, pairs):
    _, module, build = prepared(causal, pairs, BOTH)
    batch, kind = build(np.arange(8)), kinds.find("classification")
    logits = BOTH.logits(module.eval(), kind, batch)
    turned, one = (
        {**batch, "inputs": batch["inputs"].take(rows)} for rows in (torch.arange(16).roll(8), torch.arange(8))
    )
    torch.testing.assert_close(BOTH.logits(module, kind, turned), logits)
    alone = prepared(causal, pairs, SETTINGS)[1].eval()
    assert not torch.allclose(SETTINGS.logits(alone, kind, one), logits)


def test_the_vectors_of_both_orders_are_added_under_the_linear_layer(causal, pairs):
    _, module, build = prepared(causal, pairs, BOTH)
    batch = build(np.arange(3))
    states = module.eval().encoder(batch["inputs"])
    extracted = states[torch.arange(6), batch["inputs"].lengths["inputs"] - 1]
    expected = (extracted[:3] + extracted[3:]) @ module.output.weight.T + module.output.bias
    torch.testing.assert_close(BOTH.logits(module, kinds.find("classification"), batch)[:, 0], expected)


@pytest.mark.parametrize("setting", [SETTINGS, BOTH], ids=["one order", "both"])
def test_the_auxiliary_loss_is_the_mean_over_each_sequence_and_then_over_sequences(causal, pairs, setting):
    quiet = dataclasses.replace(setting, dropout=0.0)
    model, module, build = prepared(causal, pairs, quiet)
    batch, kind = build(np.arange(6)), kinds.find("classification")
    loss = quiet.loss(module.train(), kind, batch)
    plain = kind.loss(quiet.logits(module.eval(), kind, batch), batch["targets"])
    encoder, head = model.encoder, model.lm_head
    by_sequence = []
    for row, size in enumerate(batch["inputs"].lengths["inputs"].tolist()):
        tokens = batch["inputs"].tokens[row : row + 1, :size]
        segments = batch["inputs"].format["segments"][row : row + 1, :size]
        states = encoder(TensorBatch.of(tokens, segments=segments))
        logits = head(states[:, :-1], encoder.output_embeddings)
        by_sequence.append(torch.nn.functional.cross_entropy(logits[0].float(), tokens[0, 1:]))
    torch.testing.assert_close(loss, plain + 0.5 * torch.stack(by_sequence).mean())


@pytest.mark.parametrize("setting", [SETTINGS, BOTH], ids=["one order", "both"])
def test_padding_behind_the_extract_token_changes_neither_logits_nor_loss(causal, pairs, setting):
    quiet, kind = dataclasses.replace(setting, dropout=0.0), kinds.find("classification")
    _, module, build = prepared(causal, pairs, quiet)
    batch = build(np.arange(6))
    tokens, lengths = batch["inputs"].streams["inputs"]
    wide = [torch.nn.functional.pad(one, (0, 5)) for one in (tokens, batch["inputs"].format["segments"])]
    padded = {**batch, "inputs": TensorBatch.of(wide[0], lengths, segments=wide[1])}
    torch.testing.assert_close(quiet.logits(module.eval(), kind, padded), quiet.logits(module, kind, batch))
    torch.testing.assert_close(quiet.loss(module.train(), kind, padded), quiet.loss(module, kind, batch))


def test_weight_0_is_the_loss_of_the_task_and_leaves_the_lm_head_out(causal, pairs):
    setting = dataclasses.replace(SETTINGS, lm_weight=0.0, dropout=0.0)
    _, module, build = prepared(causal, pairs, setting)
    batch, kind = build(np.arange(6)), kinds.find("classification")
    loss = setting.loss(module.train(), kind, batch)
    torch.testing.assert_close(loss, kind.loss(setting.logits(module, kind, batch), batch["targets"]))
    of_model = sum(value.numel() for value in prepared(causal, pairs, SETTINGS)[1].parameters())
    assert of_model > sum(value.numel() for value in module.parameters())


def test_three_rows_are_drawn_anew_by_the_key_and_no_other(causal, pairs):
    before = open_pretrained(causal).model.encoder.output_embeddings
    after, again = (prepared(causal, pairs, SETTINGS)[0].encoder.output_embeddings for _ in range(2))
    assert torch.equal(after, again)
    changed = (before != after).any(1).nonzero()[:, 0].tolist()
    assert changed == [CLS, SEP, MASK]
    rows = after[[CLS, SEP, MASK]].detach()
    assert len({tuple(row.tolist()) for row in rows}) == 3
    assert 0.015 < rows.std() < 0.025
    other = open_pretrained(causal).model
    SETTINGS.encoder(other, ("gpt", 1, 0))
    assert not torch.equal(other.encoder.output_embeddings[CLS], after[CLS])


def test_every_weight_that_is_read_has_a_gradient(causal, pairs):
    _, module, build = prepared(causal, pairs, SETTINGS)
    SETTINGS.loss(module.train(), kinds.find("classification"), build(np.arange(16))).backward()
    without = [name for name, value in module.named_parameters() if value.grad is None or not value.grad.any()]
    assert without == []
    gradient = module.encoder.output_embeddings.grad
    assert gradient[[CLS, SEP, MASK]].any(1).all()


def test_a_task_of_each_kind_is_learned(causal, pairs, scores, entities, choices, machine):
    run = {"seed": 0, "finetune_seed": 0, "machine": machine, "progress": silent}
    assert finetune(causal, pairs, SETTINGS, **run).metrics["accuracy"] > 90
    assert finetune(causal, scores, dataclasses.replace(SETTINGS, length=16), **run).metrics["pearson"] > 50
    for task in (entities, choices):
        outcome = finetune(causal, task, dataclasses.replace(SETTINGS, max_steps=3), **run)
        assert np.isfinite(outcome.curve[-1]["loss"])


def test_models_and_tasks_that_it_does_not_fit_are_refused(pretrained, causal, pairs, entities, choices):
    with pytest.raises(BadInput, match="continues a left-to-right language model, and this model is none"):
        SETTINGS.check(Recipe(objective=(MaskedLM(),)))
    SETTINGS.check(Recipe(objective=(CausalLM(),)))
    with pytest.raises(BadInput, match="pre-train with CausalLM, or use FineTuning"):
        SETTINGS.encoder(open_pretrained(pretrained).model, KEY)
    for task in (entities, choices):
        assert "both_orders adds two vectors of a pair of texts" in BOTH.unsupported_reason(kinds.find(task.kind))
    assert not BOTH.unsupported_reason(kinds.find("regression"))
    single = dataclasses.replace(pairs, train=dataclasses.replace(pairs.train, text=pairs.train.text[:1]))
    with pytest.raises(BadInput, match="this task has one text: leave it out"):
        prepared(causal, single, BOTH)
