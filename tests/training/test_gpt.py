"""GPT's fine-tuning (Radford et al. 2018), ELMo's use of a pre-trained model, and the feature-based approach."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from bertlab.adaptation import GPT, ELMo, Features, FineTuning
from bertlab.adaptation.base import tensors
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, CausalLM, MaskedLM
from bertlab.progress import silent
from bertlab.recipe import BiLSTM, Inputs, Model, Recipe
from bertlab.recipe.identity import to_canonical
from bertlab.tasks import kinds
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from bertlab.training.finetuning import FinetuningModule, encode_training, finetune, open_pretrained, predict

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


LENGTHS = torch.tensor([9, 5])


def batch_of():
    tokens = torch.randint(5, 30, (2, 9), generator=torch.Generator().manual_seed(0))
    return TensorBatch.of(tokens, LENGTHS)


def with_elmo(adaptation, kind="classification", model=None):
    config = model or BiLSTM(hidden=8, cells=6, dropout=0.0)
    objective = (BidirectionalLM(),) if config.apart else ()
    pretrained = PretrainingModel(config, 30, 16, 0, objective)
    return adaptation.adapt(pretrained, kinds.find(kind), ("a", "b", "c"), ("k",)).eval(), pretrained


@pytest.mark.parametrize(("levels", "read"), [("embeddings", 0), ("first", 1), ("top", 2)])
def test_one_layer_alone_is_what_a_mix_with_all_weight_on_it_reads(levels, read):
    alone, _ = with_elmo(ELMo(levels=levels, lstm_size=5))
    mixed, pretrained = with_elmo(ELMo(lstm_size=5))
    states = pretrained.encoder.hidden_states(batch_of())
    with torch.no_grad():
        mixed.encoder.mix.shares.fill_(-100.0)
        mixed.encoder.mix.shares[read] = 0.0
    assert len(states) == 3
    torch.testing.assert_close(mixed(batch_of()), alone(batch_of()), rtol=0, atol=1e-6)
    others = [with_elmo(ELMo(levels=other, lstm_size=5))[0] for other in {"embeddings", "first", "top"} - {levels}]
    assert not any(torch.allclose(alone(batch_of()), other(batch_of())) for other in others)


def test_a_text_is_the_mean_of_its_tokens_with_learned_attention():
    model, _ = with_elmo(ELMo(levels="top", lstm_size=5))
    encoder, batch = model.encoder, batch_of()
    torch.nn.init.normal_(encoder.attention.weight)
    states = encoder.encoder.hidden_states(batch)[-1]
    vectors = encoder.recurrent(states, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        weights = encoder.attention(vectors[row, :length]).softmax(0)
        expected = model.output((weights * vectors[row, :length]).sum(0))
        torch.testing.assert_close(model(batch)[row], expected, rtol=0, atol=1e-6)
    alone = model(TensorBatch.of(batch.tokens[1:, :5]))
    torch.testing.assert_close(model(batch)[1:], alone, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["classification", "tagging", "span", "multiple-choice"])
@pytest.mark.parametrize("model", [None, Model(layers=2, hidden=16, heads=2)], ids=["BiLSTM", "BERT"])
def test_frozen_it_trains_the_new_modules_alone(kind, model):
    adapted, pretrained = with_elmo(ELMo(), kind, model)
    adapted.train()
    assert not pretrained.encoder.training, "a frozen model has no dropout"
    trained = {name.split(".")[1] for name, value in adapted.named_parameters() if value.requires_grad}
    assert trained == {"mix", "recurrent", "attention", "weight", "bias"}
    assert not any(value.requires_grad for value in pretrained.encoder.parameters())
    adapted(batch_of()).float().exp().sum().backward()
    assert adapted.encoder.mix.shares.grad is not None


def test_fine_tuned_the_model_has_a_rate_of_its_own():
    setting = ELMo.at_scale(FineTuning(peak_lr=1e-4, epochs=4.0), Features(peak_lr=2e-3, lstm_size=7, lstm_layers=1))
    assert (setting.peak_lr, setting.encoder_lr, setting.epochs) == (2e-3, 0.05, 4.0)
    assert (setting.lstm_size, setting.lstm_layers) == (7, 1)
    adapted, pretrained = with_elmo(ELMo(frozen=False, encoder_lr=0.5))
    rates = ELMo(frozen=False, encoder_lr=0.5).lr_multipliers(adapted)
    assert rates.keys() == set(pretrained.encoder.parameters())
    assert set(rates.values()) == {0.5}
    adapted.train()(batch_of()).sum().backward()
    assert pretrained.encoder.tokens.weight.grad.abs().sum() > 0


def test_operations_of_a_frozen_model_are_those_of_one_pass():
    model = BiLSTM(hidden=8, cells=6)
    once, above = model.flops_per_token(128, False), 2.0 * 2 * 4 * 5 * (8 + 5)
    frozen = ELMo(lstm_size=5, lstm_layers=1)
    assert frozen.flops(model, 10, 1, 3.0) == 30 * (once + 3 * above) + once + above
    assert ELMo(lstm_size=5, lstm_layers=1, frozen=False).flops(model, 10, 0, 1.0) == 10 * 3 * (once + above)


FEATURES = Features(batch_size=16, epochs=4, peak_lr=1e-2, length=32)
SHORT = dataclasses.replace(FEATURES, max_steps=4)


@pytest.fixture
def run(pretrained, machine):
    def ran(data, settings=FEATURES, *, finetune_seed=0):
        return finetune(
            pretrained, data, settings, seed=0, finetune_seed=finetune_seed, machine=machine, progress=silent
        )

    return ran


def test_tags_are_learnt(run, entities):
    found = run(entities)
    assert found.metrics["f1"] > 90
    assert found.predictions["label"].tolist() == np.concatenate(entities.evaluation.labels).tolist()
    assert found.steps == found.curve[-1]["step"]


def test_test_rows_are_judged_by_the_same_training(run, entities):
    alone, tested = run(entities, SHORT), run(dataclasses.replace(entities, test=entities.evaluation), SHORT)
    assert alone.curve == tested.curve
    assert tested.metrics == tested.test.metrics == alone.metrics
    assert tested.majority == tested.test.majority


def test_the_same_bits_each_time_and_others_for_a_finetune_seed(run, entities):
    one, two, other = run(entities, SHORT), run(entities, SHORT), run(entities, SHORT, finetune_seed=1)
    assert one.curve == two.curve
    assert (one.predictions["log_likelihood"] == two.predictions["log_likelihood"]).all()
    assert (one.predictions["log_likelihood"] != other.predictions["log_likelihood"]).any()


def test_activations_are_the_top_layers_at_first_pieces(pretrained, entities, machine):
    opened = open_pretrained(pretrained)
    train = encode_training(entities, opened, Features(length=32))
    row = int(np.argmax(train.counts))
    found = Features().inputs(opened.model, train, machine, silent).build(np.array([row]))["features"]
    assert found.shape == (1, train.counts[row], 2 * 32), "two levels side by side"
    batch = train.batch(np.array([row]))
    with torch.inference_mode():
        states = opened.model.encoder.eval().hidden_states(tensors(batch)["inputs"])
    expected = torch.cat(states[-2:], dim=-1)[0, torch.from_numpy(batch.positions[0]).long()]
    assert torch.allclose(found[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("layers", "of_twelve", "of_two"),
    [
        ("embeddings", [0], [0]),
        ("second-to-last", [11], [1]),
        ("last", [12], [2]),
        ("sum-last-four", [9, 10, 11, 12], [1, 2]),
        ("concatenate-last-four", [9, 10, 11, 12], [1, 2]),
        ("sum-all", list(range(1, 13)), [1, 2]),
    ],
)
def test_each_row_of_table_7_reads_its_levels(layers, of_twelve, of_two):
    settings = Features(layers=layers)
    assert list(settings.levels(12)) == of_twelve
    assert list(settings.levels(2)) == of_two


def test_what_is_read_decides_what_is_learnt(run, entities):
    found = {
        layers: run(entities, dataclasses.replace(SHORT, layers=layers)).curve
        for layers in ("embeddings", "last", "sum-all", "concatenate-last-four")
    }
    assert len({str(curve) for curve in found.values()}) == 4


def test_the_tagger_has_the_dropout_of_its_setting(pretrained, entities):
    model = open_pretrained(pretrained).model
    tagger = Features(dropout=0.3).adapt(model, kinds.find("tagging"), entities.labels, ("head",))
    assert [each.p for each in tagger.modules() if isinstance(each, torch.nn.Dropout)] == [0.3] * 2


def test_only_tagging_has_features(run, pairs):
    with pytest.raises(BadInput, match="the feature-based approach tags words"):
        run(pairs)


def test_features_and_scores_are_the_same_where_training_is_in_bf16(pretrained, entities, machine):
    opened, half = open_pretrained(pretrained), dataclasses.replace(machine, precision="bf16")
    assert half.precision_used == "bf16"
    train = encode_training(entities, opened, Features(length=32))
    read = (Features().inputs(opened.model, train, each, silent) for each in (machine, half))
    assert torch.equal(*(each.build(np.arange(len(train)))["features"] for each in read))
    head = torch.nn.Linear(32, 3)

    class Module(FinetuningModule):
        def forward(self, batch):
            return head(opened.model.encoder(batch["inputs"], batch["positions"]))

    module = Module(opened.model, kinds.find("tagging"), FineTuning(), 1, ())
    read = FineTuning().inputs(opened.model, train, machine, silent)
    one, two = (predict(module, train, read, each) for each in (machine, half))
    assert (one == two).all()
