"""ELMo's use of a pre-trained model: what is read, what is trained, and what represents a text."""

import pytest
import torch

from bertlab.adaptation import ELMo, Features, FineTuning
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM
from bertlab.recipe import BiLSTM, Model
from bertlab.tasks import kinds

LENGTHS = torch.tensor([9, 5])


def batch_of():
    tokens = torch.randint(5, 30, (2, 9), generator=torch.Generator().manual_seed(0))
    return TensorBatch.of(tokens, LENGTHS)


def prepared(adaptation, kind="classification", model=None):
    config = model or BiLSTM(hidden=8, cells=6, dropout=0.0)
    objective = (BidirectionalLM(),) if config.apart else ()
    pretrained = PretrainingModel(config, 30, 16, 0, objective)
    return adaptation.adapt(pretrained, kinds.find(kind), ("a", "b", "c"), ("k",)).eval(), pretrained


@pytest.mark.parametrize(("levels", "read"), [("embeddings", 0), ("first", 1), ("top", 2)])
def test_one_layer_alone_is_what_a_mix_with_all_weight_on_it_reads(levels, read):
    alone, _ = prepared(ELMo(levels=levels, lstm_size=5))
    mixed, pretrained = prepared(ELMo(lstm_size=5))
    states = pretrained.encoder.hidden_states(batch_of())
    with torch.no_grad():
        mixed.encoder.mix.shares.fill_(-100.0)
        mixed.encoder.mix.shares[read] = 0.0
    assert len(states) == 3
    torch.testing.assert_close(mixed(batch_of()), alone(batch_of()), rtol=0, atol=1e-6)
    others = [prepared(ELMo(levels=other, lstm_size=5))[0] for other in {"embeddings", "first", "top"} - {levels}]
    assert not any(torch.allclose(alone(batch_of()), other(batch_of())) for other in others)


def test_a_text_is_the_mean_of_its_tokens_with_learned_attention():
    model, _ = prepared(ELMo(levels="top", lstm_size=5))
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
    adapted, pretrained = prepared(ELMo(), kind, model)
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
    adapted, pretrained = prepared(ELMo(frozen=False, encoder_lr=0.5))
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
