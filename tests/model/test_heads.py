"""The heads: cheap losses equal the dense computation, and weights survive their file."""

import pytest
import torch
import torch.nn.functional as F

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model import heads
from bertlab.model.heads import ClassificationModel, PretrainingModel, SpanModel, TaggingModel
from bertlab.model.layers import set_dropout
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM, NextSentence
from bertlab.recipe.objective import bert

VOCABULARY, BATCH, TOKENS, SLOTS = 70, 4, 12, 3


def pretraining(positions="learned", objective=(), **fields):
    described = recipe.Model(layers=2, hidden=32, heads=2, positions=positions, **{"dropout": 0.0, **fields})
    model = PretrainingModel(described, VOCABULARY, 16, 0, objective)
    with torch.no_grad():
        for each in model.parameters():  # weights at which logits are not all alike
            each.add_(torch.randn(each.shape, generator=torch.Generator().manual_seed(each.numel())) * 0.2)
    return model


def batch(kind="masked_lm"):
    generator = torch.Generator().manual_seed(2)
    tokens = torch.randint(0, VOCABULARY, (BATCH, TOKENS), generator=generator).int()
    positions = torch.tensor([[1, 4, 7], [2, 3, 0], [5, 0, 0], [1, 2, 11]]).int()
    weights = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1]]).float()
    targets = torch.randint(0, VOCABULARY, (BATCH, SLOTS), generator=generator).int()
    lengths = torch.tensor([12, 6, 8, 12]).int()
    slots = {"positions": positions, "targets": targets, "weights": weights}
    labels = {"labels": torch.tensor([0, 1, 1, 0]).int()}
    return TensorBatch.of(tokens, lengths, {kind: slots, "next_sentence": labels}, segments=tokens % 2)


def plain(given):
    return given.tokens, given.format["segments"], given.lengths["inputs"]


def dense_losses(model, batch):
    """The same losses by way of the logits of every token."""
    x = model.encoder(batch)
    found = {}
    for loss in model.objective:
        head, arrays = model.head(loss), batch.arrays[loss.kind]
        if loss.kind == "next_sentence":
            found[loss.kind] = F.cross_entropy(head(x[:, 0]), arrays["labels"].long(), reduction="sum")
            continue
        logits = head(x, model.encoder.embeddings.tokens.weight).flatten(0, 1)
        labels = torch.full((BATCH, TOKENS), -100)
        for row in range(BATCH):
            for slot in range(SLOTS):
                if arrays["weights"][row, slot]:
                    labels[row, arrays["positions"][row, slot]] = arrays["targets"][row, slot]
        found[loss.kind] = F.cross_entropy(logits, labels.flatten(), reduction="sum", ignore_index=-100)
    return found


@pytest.mark.parametrize("objective", [bert(), (MaskedLM(),), (CausalLM(),), (NextSentence(),)])
@pytest.mark.parametrize(("positions", "many"), [("learned", 8 * VOCABULARY), ("rotary", heads.MANY_LOGITS)])
def test_losses_and_gradients_equal_the_dense_computation(positions, many, objective, monkeypatch):
    monkeypatch.setattr(heads, "MANY_LOGITS", many)  # of nine predictions
    monkeypatch.setattr(heads, "PREDICTIONS_AT_ONCE", 4)
    results = []
    for losses in (PretrainingModel.losses, dense_losses):
        model = pretraining(positions, objective).train()
        sums = losses(model, batch(objective[0].kind))
        sum(value / 9 for value in sums.values()).backward()
        results.append((sums, {name: each.grad for name, each in model.named_parameters()}))
    ours, dense = results
    assert list(ours[0]) == [loss.kind for loss in objective]
    torch.testing.assert_close(ours[0], dense[0], rtol=1e-6, atol=1e-6)
    for name, gradient in ours[1].items():
        torch.testing.assert_close(gradient, dense[1][name], rtol=1e-5, atol=1e-6, msg=name)


def test_a_model_has_the_heads_of_its_objective_and_always_the_same_pooler():
    model = PretrainingModel(recipe.Model(layers=1, hidden=16, heads=2), VOCABULARY, 16, 0, (MaskedLM(),))
    both = PretrainingModel(recipe.Model(layers=1, hidden=16, heads=2), VOCABULARY, 16, 0)
    assert not any(name.startswith("nsp_head") for name in model.state_dict())
    assert both.pooler is both.nsp_head.pooler
    assert torch.equal(model.pooler.dense.weight, both.pooler.dense.weight)
    assert all(torch.equal(value, both.state_dict()[name]) for name, value in model.state_dict().items())


def test_losses_are_those_of_the_predictions():
    model, given = pretraining().eval(), batch()
    masked, relation = model.logits(given, "masked_lm"), model.logits(given, "next_sentence")
    assert masked.shape == (BATCH, SLOTS, VOCABULARY)
    assert relation.shape == (BATCH, 2)
    slots, labels = given.arrays["masked_lm"], given.arrays["next_sentence"]["labels"].long()
    losses = F.cross_entropy(masked.flatten(0, 1), slots["targets"].flatten().long(), reduction="none")
    sums = model.losses(given)
    torch.testing.assert_close((losses * slots["weights"].flatten()).sum(), sums["masked_lm"])
    torch.testing.assert_close(F.cross_entropy(relation, labels, reduction="sum"), sums["next_sentence"])


def test_losses_of_bf16_logits_are_computed_in_fp32():
    logits = torch.randn(6, VOCABULARY, generator=torch.Generator().manual_seed(0)).bfloat16()
    targets, weights = torch.arange(6), torch.tensor([1.0, 1, 0, 1, 1, 0])
    exact = (logits.double().logsumexp(1) - logits.double()[targets, targets])[[0, 1, 3, 4]].sum()
    found = heads.weighted_loss(logits, targets, weights)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(exact.item(), rel=1e-6)


def test_bf16_is_near_fp32():
    model = pretraining().eval()
    exact = sum(model.losses(batch()).values())
    with torch.autocast("cpu", torch.bfloat16):
        rounded = sum(model.losses(batch()).values())
    assert rounded.dtype == torch.float32
    assert rounded.item() == pytest.approx(exact.item(), rel=0.02)
    gradients = [torch.cat([g.flatten() for g in torch.autograd.grad(each, list(model.parameters()))])
                 for each in (exact, rounded)]  # fmt: skip
    assert F.cosine_similarity(*gradients, dim=0) > 0.999


def test_weights_survive_their_file_with_the_tied_matrix_once(tmp_path):
    from safetensors import safe_open

    model, other = pretraining(), pretraining(dropout=0.3)
    with torch.no_grad():
        for each in other.parameters():
            each.zero_()
    model.save(tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        shapes = [tuple(file.get_tensor(name).shape) for name in file.keys()]  # noqa: SIM118 (not a mapping)
    assert shapes.count((VOCABULARY, 32)) == 1
    other.load(tmp_path / "model.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


def test_a_file_that_is_not_the_model_s_is_bad_input(tmp_path):
    path = tmp_path / "model.safetensors"
    with pytest.raises(BadInput, match="cannot read"):
        pretraining().load(path)
    path.write_bytes(b"not weights")
    with pytest.raises(BadInput, match="cannot read"):
        pretraining().load(path)
    PretrainingModel(recipe.Model(layers=1, hidden=16, heads=2), VOCABULARY, 16, seed=0).save(path)
    with pytest.raises(BadInput, match="another model"):
        pretraining().load(path)


def test_classification_reads_cls_and_takes_the_dropout_given():
    source = pretraining()
    model = ClassificationModel(source.encoder, source.pooler, 3, dropout=0.2, seed=5)
    assert {each.p for each in model.modules() if isinstance(each, torch.nn.Dropout)} == {0.2}
    logits = model.eval()(batch())
    by_hand = model.output(torch.tanh(source.pooler.dense(source.encoder(batch())[:, 0])))
    torch.testing.assert_close(logits, by_hand, rtol=0, atol=1e-5)
    same = ClassificationModel(source.encoder, source.pooler, 3, 0.2, seed=5)
    other = ClassificationModel(source.encoder, source.pooler, 3, 0.2, seed=6)
    assert torch.equal(same.output.weight, model.output.weight)
    assert not torch.equal(other.output.weight, model.output.weight)


def test_the_output_layer_of_a_task_starts_as_berts():
    """Normal with a standard deviation of 0.02, truncated at two of them, at any width."""
    weight = TaggingModel(pretraining().encoder, None, 200, dropout=0.1, seed=1).output.weight
    assert weight.abs().max() <= 0.04
    assert weight.std().item() == pytest.approx(0.88 * 0.02, rel=0.03)


@pytest.mark.parametrize("padded", [False, True])
def test_classification_reads_the_last_token_of_a_causal_encoder(padded):
    source = pretraining(objective=(CausalLM(),))
    model = ClassificationModel(source.encoder, source.pooler, 3, dropout=0.0, seed=5).eval()
    tokens, segments, lengths = plain(batch())
    last = lengths - 1 if padded else torch.full((BATCH,), TOKENS - 1)
    logits = model(TensorBatch.of(tokens, lengths if padded else None, segments=segments))
    read = source.encoder(TensorBatch.of(tokens, segments=segments))[torch.arange(BATCH), last]
    torch.testing.assert_close(logits, model.output(torch.tanh(source.pooler.dense(read))), rtol=0, atol=1e-5)


def test_tagging_labels_every_token_or_those_asked_for():
    source = pretraining()
    model = TaggingModel(source.encoder, None, 5, dropout=0.1, seed=1).eval()
    logits = model(batch())
    assert logits.shape == (BATCH, TOKENS, 5)
    positions = torch.tensor([[1, 3]] * BATCH)
    picked = model(batch(), positions)
    torch.testing.assert_close(picked, logits[:, [1, 3]], rtol=0, atol=1e-5)
    model.train()(batch()).sum().backward()
    assert source.encoder.embeddings.tokens.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", [ClassificationModel, TaggingModel])
def test_what_the_output_layer_of_a_task_reads_is_dropped(kind):
    """At a probability of 1, its bias alone is left (BERT's released code)."""
    source = pretraining()
    model = kind(source.encoder, source.pooler, 3, dropout=0.0, seed=5).train()
    with torch.no_grad():
        model.output.bias.copy_(torch.tensor([1.0, 2.0, 3.0]))
    logits = model(batch())
    model.dropout.p = 1.0
    left = model(batch())
    assert torch.equal(left, model.output.bias.expand_as(left))
    assert not torch.equal(left, logits)


def test_of_a_span_and_whether_there_is_one_the_class_alone_has_dropout():
    """At a probability of 1, the bias of the class is left; the released code drops nothing before S and E."""
    source = pretraining()
    model = SpanModel(source.encoder, dropout=0.0, seed=1, pooler=source.pooler).train()
    with torch.no_grad():
        model.answerable.bias.copy_(torch.tensor([1.0, 2.0]))
    before = model(batch())
    model.dropout.p = 1.0
    after = model(batch())
    assert torch.equal(after[:, :2], before[:, :2])
    assert torch.equal(after[:, 2, :2], model.answerable.bias.expand(BATCH, 2))
    assert not torch.equal(after, before)


def test_spans_have_a_start_and_an_end_at_every_token_but_padding():
    source = pretraining()
    model = SpanModel(source.encoder, dropout=0.1, seed=1).eval()
    tokens, lengths = batch().streams["inputs"]
    logits = model(batch())
    assert logits.shape == (BATCH, 2, TOKENS)
    padding = torch.arange(TOKENS) >= lengths[:, None]
    assert torch.equal(logits == -torch.inf, padding[:, None].expand(-1, 2, -1))
    by_hand = model.output(source.encoder(batch()))
    torch.testing.assert_close(logits[:, 1][~padding], by_hand[..., 1][~padding], rtol=0, atol=1e-5)
    assert model(TensorBatch.of(tokens)).isfinite().all()
    joint = SpanModel(source.encoder, dropout=0.1, seed=1, pooler=source.pooler).eval()
    both = joint(batch())
    assert torch.equal(both[:, :2], logits), "the classifier starts from weights of its own"
    assert torch.equal(both[:, 2] == -torch.inf, (torch.arange(TOKENS) > 1).expand(BATCH, -1))
    held = joint.answerable(source.pooler(source.encoder(batch())[:, 0]))
    torch.testing.assert_close(both[:, 2, :2], held, rtol=0, atol=1e-5)


def test_a_step_is_repeated_to_the_bit_whatever_was_drawn_before():
    model = PretrainingModel(recipe.Model(layers=2, hidden=64, heads=2, dropout=0.1), 200, 32, seed=0).train()
    tokens = torch.randint(0, 200, (8, 32), generator=torch.Generator().manual_seed(0))
    positions = torch.arange(5).expand(8, 5) + 1
    slots = {"positions": positions, "targets": tokens[:, :5], "weights": torch.ones(8, 5)}
    arrays = {"masked_lm": slots, "next_sentence": {"labels": tokens[:, 0] % 2}}
    batch = TensorBatch.of(tokens, None, arrays, segments=tokens % 2)

    def step(key):
        torch.manual_seed(key)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = sum(model.losses(batch).values())
        loss.backward()
        return loss.item(), [each.grad.clone() for each in model.parameters()]

    loss, gradients = step(2**64 - 3)
    other, _ = step(1)
    torch.rand(10)
    again, repeated = step(2**64 - 3)
    assert loss == again != other
    assert all(torch.equal(one, two) for one, two in zip(gradients, repeated, strict=True))


def test_every_dropout_of_a_model_is_set():
    """Of embeddings, attention probabilities and both sublayers: at 0, training computes what evaluation does."""
    model = PretrainingModel(recipe.Model(layers=2, hidden=64, heads=2, dropout=0.5), 50, 16, seed=0)
    tokens = torch.arange(32).view(2, 16)
    plain = model.eval().encoder(TensorBatch.of(tokens, segments=tokens % 2))
    assert not torch.equal(model.train().encoder(TensorBatch.of(tokens, segments=tokens % 2)), plain)
    set_dropout(model, 0.0)
    assert torch.equal(model.train().encoder(TensorBatch.of(tokens, segments=tokens % 2)), plain)


def test_losses_that_share_a_head_have_the_first_one_s():
    made = []

    def new_head(self, model, vocabulary):
        made.append(self.kind)
        return torch.nn.Linear(1, 1)

    first, second = (type("Own", (MaskedLM,), {"kind": kind, "new_head": new_head})() for kind in ("own", "other"))
    model = PretrainingModel(recipe.Model(layers=1, hidden=8, heads=2), 20, 16, 0, (first, second))
    assert made == ["own"]
    assert model.head(first) is model.head(second)
