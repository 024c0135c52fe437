"""ELECTRA and what lies between it and BERT: definitions, a plain loop over transformers' models, what is shared."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import Sequences, Stream
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM, ReplacedTokens, SampledLM, TokenGenerator
from bertlab.recipe import BiLSTM, Inputs, Model, Recipe, Schedule, cost
from bertlab.recipe.objective import INPUTS
from bertlab.training.data import to_tensors

ELECTRA = TokenGenerator(width=0.5), ReplacedTokens()
OBJECTIVES = {
    "ELECTRA": ELECTRA,
    "nothing shared": (TokenGenerator(width=0.5, sharing="none"), ReplacedTokens()),
    "all shared": (TokenGenerator(width=1, sharing="all"), ReplacedTokens()),
    "ELECTRA 15 %": (TokenGenerator(), ReplacedTokens(tokens="masked")),
    "Replace MLM": (TokenGenerator(), SampledLM()),
    "All-Tokens MLM": (TokenGenerator(), SampledLM(tokens="all")),
}


def recipe_of(objective: Any = ELECTRA, **model: Any) -> Recipe:
    described = {"layers": 2, "hidden": 16, "heads": 2, "dropout": 0.0, "initialisation": "width"}
    return Recipe(
        objective=objective,
        inputs=Inputs(length=48, format="full-sentences"),
        model=Model(**described | model),
        schedule=Schedule(batch_size=16, steps=1000),
    )


def built(recipe: Recipe, corpus: Any) -> Any:
    return PretrainingModel.of(recipe, corpus.tokenizer.size)


def tensors(recipe: Recipe, corpus: Any, step: int = 0) -> Any:
    return to_tensors(Batches(recipe, corpus).batch(step)).to("cpu")


def text_of(batch: Any) -> Any:
    """The tokens (B, T) before any was masked."""
    masked, tokens = batch.arrays["generator"], batch.tokens.clone()
    numbers, slots = (masked["weights"] > 0).nonzero(as_tuple=True)
    tokens[numbers, masked["positions"][numbers, slots]] = masked["targets"][numbers, slots]
    return tokens


def test_arrays_by_hand() -> None:
    tokens = np.array([[2, 7, 4, 9, 3, 0], [2, 4, 3, 0, 0, 0]], np.int32)  # 4 is [MASK]
    masked = {
        "positions": np.array([[2, 0], [1, 0]], np.int32),
        "targets": np.array([[8, 0], [6, 0]], np.int32),
        "weights": np.array([[1, 0], [1, 0]], np.float32),
    }
    streams = {INPUTS: Stream(tokens, np.array([5, 3], np.int32))}
    sequences = Sequences(streams, np.zeros((2, 0)), np.array([3, 1]), np.arange(2), 0, arrays={"generator": masked})
    of_all = ReplacedTokens().batch_transform(SimpleNamespace(), 6, 0)(sequences)
    assert {name: array.tolist() for name, array in of_all.items()} == {
        "positions": [[0, 1, 2, 3, 4, 0], [0, 1, 2, 0, 0, 0]],
        "targets": [[2, 7, 8, 9, 3, 0], [2, 6, 3, 0, 0, 0]],
        "weights": [[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]],
    }
    assert ReplacedTokens().count(of_all) == 8
    of_masked = ReplacedTokens(tokens="masked").batch_transform(SimpleNamespace(), 6, 0)(sequences)
    assert all((of_masked[name] == masked[name]).all() for name in masked)
    assert (sequences.tokens == tokens).all()


@given(st.integers(0, 2**24 - 1), st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=9))
def test_a_sample_is_where_the_cumulative_probability_passes_the_draw(number: int, logits: list[float]) -> None:
    head, draw = fixed_head(torch.tensor([[logits]])), number / 2**24
    _, sample = head(SimpleNamespace(encode=lambda *_: None, output_embeddings=None), *[None] * 2, *slots(draw))
    ends = np.cumsum(np.exp(np.float64(logits)) / np.exp(np.float64(logits)).sum())
    begins = np.append(0.0, ends[:-1])
    chosen = int(sample)
    assert begins[chosen] - 1e-5 <= draw <= ends[chosen] + 1e-5


def fixed_head(logits: Any) -> Any:
    """The generator's head with an LM head that gives these `logits`."""
    head = TokenGenerator().new_head(Model(layers=1, hidden=8, heads=2), 10)
    head.lm_head = torch.nn.Identity()
    head.lm_head.forward = lambda hidden, embeddings: logits
    return head


def slots(draw: float) -> Any:
    """Positions, targets and draws of one slot."""
    return torch.zeros(1, 1, dtype=torch.long), torch.zeros(1, 1, dtype=torch.long), torch.tensor([[draw]])


def test_samples_have_the_distribution_of_the_generator() -> None:
    probabilities = torch.tensor([0.5, 0.3, 0.0, 0.2])
    draws = (torch.arange(4096) / 4096)[None]  # every draw once
    head = fixed_head(probabilities.log().expand(1, 4096, 4))
    targets = torch.ones(1, 4096, dtype=torch.long)
    losses, samples = head(SimpleNamespace(encode=lambda *_: None, output_embeddings=None), *[None] * 3, targets, draws)
    assert (samples.flatten().bincount(minlength=4) / 4096).tolist() == pytest.approx([0.5, 0.3, 0.0, 0.2], abs=1e-3)
    assert losses.mean().item() == pytest.approx(-np.log(0.3))


@pytest.mark.parametrize("tokens", ["all", "masked"])
def test_a_perfect_generator_replaces_nothing(corpus: Any, monkeypatch: Any, tokens: Any) -> None:
    recipe = recipe_of((TokenGenerator(), ReplacedTokens(tokens=tokens)))
    model, batch = built(recipe, corpus), tensors(recipe, corpus)
    certain = 100.0 * F.one_hot(batch.arrays["generator"]["targets"], corpus.tokenizer.size)
    monkeypatch.setattr(model.generator.lm_head, "forward", lambda hidden, embeddings: certain)
    prepared = model.prepared(batch)
    assert (prepared.tokens == text_of(batch)).all()
    of_all = prepared.arrays["replaced_tokens"]
    assert (of_all["shown"] == of_all["targets"])[of_all["weights"] > 0].all()
    assert model.losses(batch)["generator"].item() == pytest.approx(0, abs=1e-3)
    # Where all is original, the loss is that of saying so.
    logits, weights = model.logits(prepared, "replaced_tokens"), of_all["weights"]
    assert model.losses(batch)["replaced_tokens"].item() == pytest.approx(
        50 * (F.softplus(logits) * weights).sum().item(), rel=1e-5
    )


def test_the_share_of_replaced_tokens_and_none_but_masked_ones(corpus: Any) -> None:
    """A generator that knows nothing replaces all masked tokens but one in the size of the vocabulary."""
    recipe = recipe_of()
    model, batch = built(recipe, corpus), tensors(recipe, corpus)
    for parameter in model.generator.lm_head.parameters():
        torch.nn.init.zeros_(parameter)
    prepared, text = model.prepared(batch), text_of(batch)
    changed, masked = prepared.tokens != text, batch.tokens == corpus.tokenizer.mask
    assert not (changed & ~masked).any()
    assert changed.sum() >= 0.95 * masked.sum() > 0
    arrays = prepared.arrays["replaced_tokens"]
    labels = arrays["shown"] != arrays["targets"]
    assert int((labels * arrays["weights"]).sum()) == int(changed.sum())


def test_samples_belong_to_the_sequence_and_its_epoch(corpus: Any) -> None:
    recipe = recipe_of()
    model, batch = built(recipe, corpus), tensors(recipe, corpus)
    whole = model.prepared(batch).tokens
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(0))
    assert (model.prepared(batch.take(order)).tokens == whole[order]).all()
    draws = batch.arrays["generator"]["draws"]
    assert ((draws >= 0) & (draws < 1)).all()
    other = dataclasses.replace(recipe, seed=1)
    assert (tensors(other, corpus).arrays["generator"]["draws"][:, :2] != draws[:, :2]).all()


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_a_batch_that_is_split_has_the_same_sums(corpus: Any, objective: Any) -> None:
    recipe = recipe_of(objective)
    model, whole = built(recipe, corpus), Batches(recipe, corpus).batch(3)
    parts = [whole.rows(slice(5)), whole.rows(slice(5, len(whole.lengths))).trimmed()]
    every, *sums = (model.losses(to_tensors(part).to("cpu")) for part in (whole, *parts))
    for kind, value in every.items():
        assert value.item() == pytest.approx(sum(of_part[kind].item() for of_part in sums), rel=1e-4)


def reached(model: Any, loss: Any) -> set[str]:
    """The names of the parameters that the gradient of a loss reaches."""
    model.zero_grad()
    loss.backward()
    return {name for name, value in model.named_parameters() if value.grad is not None and value.grad.abs().sum() > 0}


def test_detection_trains_the_discriminator_alone(corpus: Any) -> None:
    for sharing in ("none", "embeddings"):
        recipe = recipe_of((TokenGenerator(width=0.5, sharing=sharing), ReplacedTokens()))
        model, batch = built(recipe, corpus), tensors(recipe, corpus)
        names = reached(model, model.losses(batch)["replaced_tokens"])
        assert {name.partition(".")[0] for name in names} == {"encoder", "detection_head"}
        own = reached(model, model.losses(batch)["generator"])
        shared = {"encoder.embeddings.tokens.weight", "encoder.embeddings.positions.weight"}
        assert {name for name in own if not name.startswith("generator.")} == (set() if sharing == "none" else shared)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_what_is_shared_is_stored_saved_and_counted_once(corpus: Any, objective: Any, tmp_path: Any) -> None:
    recipe = recipe_of(objective)
    model, generator, sharing = built(recipe, corpus), objective[0], objective[0].sharing
    own, inner = model.encoder.embeddings, model.generator.encoder
    if sharing == "all":
        assert inner is None
    else:
        for table in ("tokens", "positions"):
            same = getattr(inner.embeddings, table).weight.data_ptr() == getattr(own, table).weight.data_ptr()
            assert same == (sharing == "embeddings")
        assert inner.embeddings.segments is not own.segments
        assert inner.hidden_size == generator.width * 16
    count = sum(value.numel() for value in model.parameters())
    assert cost.parameters(recipe.model, corpus.tokenizer.size, 128, objective) == count
    model.save(tmp_path / "model.safetensors")
    assert sum(value.numel() for value in model.state_dict().values()) == count
    other = PretrainingModel.of(dataclasses.replace(recipe, seed=1), corpus.tokenizer.size)
    other.load(tmp_path / "model.safetensors")
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    assert all(torch.equal(one, another) for one, another in pairs)


def test_the_encoder_starts_as_that_of_a_masked_lm(corpus: Any) -> None:
    one, other = built(recipe_of(), corpus), built(recipe_of((MaskedLM(),)), corpus)
    weights = other.encoder.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in one.encoder.state_dict().items())


def test_losses_are_those_of_a_plain_loop_over_transformers(corpus: Any) -> None:
    """Google's ELECTRA as transformers has it, with our weights: mask, sample, detect, one sequence after the other."""
    recipe = recipe_of((TokenGenerator(width=0.5), ReplacedTokens()), layer_norm_eps=1e-12)
    model, batch = built(recipe, corpus).double().eval(), tensors(recipe, corpus)
    for parameter in model.parameters():  # so that biases count too
        torch.nn.init.normal_(parameter, 0.0, 0.3, generator=torch.Generator().manual_seed(parameter.numel()))
    generator, discriminator = theirs(model)
    sums, arrays = model.losses(batch), batch.arrays["generator"]
    expected = {"generator": 0.0, "replaced_tokens": 0.0}
    for row, text in enumerate(text_of(batch)):
        length = int(batch.arrays["replaced_tokens"]["weights"][row].sum())
        where = arrays["positions"][row][arrays["weights"][row] > 0]
        text, labels = text[None, :length], torch.full((1, length), -100)
        labels[0, where] = text[0, where]
        output = generator(batch.tokens[row : row + 1, :length], labels=labels)
        expected["generator"] += output.loss.item() * len(where)
        shown = text.clone()
        for slot, place in enumerate(where):
            share = output.logits[0, place].softmax(-1).cumsum(-1)
            shown[0, place] = int((share <= arrays["draws"][row, slot]).sum())
        assert (shown != text).any()
        loss = discriminator(shown, labels=(shown != text).long()).loss
        expected["replaced_tokens"] += 50 * loss.item() * length
    assert {kind: value.item() for kind, value in sums.items()} == pytest.approx(expected, rel=1e-6)


def theirs(model: Any) -> Any:
    """`ElectraForMaskedLM` with the weights of the generator, `ElectraForPreTraining` with those of the encoder."""
    import transformers

    heads = {
        "lm_head.transform.": "generator_predictions.dense.",
        "lm_head.norm.": "generator_predictions.LayerNorm.",
        "lm_head.bias": "generator_lm_head.bias",
        "detection_head.output.": "discriminator_predictions.dense_prediction.",
        "detection_head.": "discriminator_predictions.",
    }
    from bertlab.model.interop.architectures.bert import Bert

    names = {**{ours: named.format(base="electra", projection="{projection}") for ours, named in Bert.names.items()}}
    names = {"encoder.embeddings.projection.": "electra.embeddings_project.", **names, **heads}
    made = []
    for kind, encoder in (("ForMaskedLM", model.generator.encoder), ("ForPreTraining", model.encoder)):
        config = transformers.ElectraConfig(
            vocab_size=len(encoder.output_embeddings),
            embedding_size=16,
            hidden_size=encoder.hidden_size,
            num_hidden_layers=2,
            num_attention_heads=encoder.heads,
            intermediate_size=4 * encoder.hidden_size,
            max_position_embeddings=128,
        )
        other = getattr(transformers, f"Electra{kind}")(config).double().eval()
        parts = torch.nn.ModuleDict({"encoder": encoder, "lm_head": model.generator.lm_head})
        parts["detection_head"] = model.detection_head
        state = {}
        for name, value in parts.state_dict().items():
            for part, theirs in names.items():
                name = name.replace(part, theirs)
            values = value.chunk(3) if "{projection}" in name else [value]
            for projection, piece in zip(("query", "key", "value"), values, strict=False):
                state[name.format(projection=projection)] = piece
        state["generator_lm_head.weight"] = state["electra.embeddings.word_embeddings.weight"]
        missing = other.load_state_dict({n: v for n, v in state.items() if n in other.state_dict()}, strict=False)
        assert not missing.missing_keys
        made.append(other)
    return made


def test_all_tokens_are_copied_or_predicted(corpus: Any) -> None:
    """p(x) = D [x is shown] + (1 - D) softmax(x) (section 3.5)."""
    recipe = recipe_of((TokenGenerator(), SampledLM(tokens="all")))
    model, batch = built(recipe, corpus).double(), tensors(recipe, corpus)
    prepared = model.prepared(batch)
    arrays, head = prepared.arrays["sampled_lm"], model.sampled_lm_head
    hidden = model.encoder(prepared, arrays["positions"])
    gate = head.copy(hidden)[..., 0].sigmoid()
    softmax = head.lm_head(hidden, model.encoder.output_embeddings).softmax(-1)
    share = (1 - gate) * softmax.gather(-1, arrays["targets"][..., None])[..., 0]
    share = share + gate * (arrays["shown"] == arrays["targets"])
    expected = -(share.log() * arrays["weights"]).sum()
    torch.testing.assert_close(model.losses(batch)["sampled_lm"], expected, rtol=1e-6, atol=0)


def test_replaced_lm_predicts_the_masked_tokens_of_the_samples(corpus: Any) -> None:
    recipe = recipe_of((TokenGenerator(), SampledLM()))
    model, batch = built(recipe, corpus).double(), tensors(recipe, corpus)
    prepared, masked = model.prepared(batch), batch.arrays["generator"]
    hidden = model.encoder(prepared, masked["positions"])
    expected = model.sampled_lm_head.lm_head.loss(
        hidden, model.encoder.output_embeddings, masked["targets"], masked["weights"], sparse=False
    )
    torch.testing.assert_close(model.losses(batch)["sampled_lm"], expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_heldout_figures_are_means_over_the_same_text(corpus: Any, objective: Any) -> None:
    recipe = recipe_of(objective)
    model, figures = built(recipe, corpus).eval(), {}
    with torch.inference_mode():
        for loss in objective:
            for evaluation in loss.evaluations(recipe, corpus, 40, final=True):
                batches = [to_tensors(batch).to("cpu") for batch in evaluation.batches]
                sums = [evaluation.sums(model, batch) for batch in batches]
                totals = {name: sum(float(part[name]) for part in sums) for name in evaluation.names}
                metrics = evaluation.metrics(totals)
                assert {name for name in metrics if not name.endswith("_majority")} == {*loss.metric_labels}
                figures |= metrics
    assert figures["generator_loss"] == pytest.approx(np.log(corpus.tokenizer.size), rel=0.05)
    if "sampled_lm_loss" in figures:
        assert figures["sampled_lm_loss"] == pytest.approx(np.log(corpus.tokenizer.size), rel=0.05)
    if "replaced_tokens_loss" in figures:
        assert figures["replaced_tokens_loss"] == pytest.approx(np.log(2), rel=0.2)
        fewest = 0.8 if objective[1].tokens == "all" else 0.9  # 15 % of all tokens, nearly all of the masked ones
        assert fewest < figures["replaced_tokens_majority"] < 1


def test_an_exported_discriminator_is_an_encoder_of_transformers(corpus: Any, tmp_path: Any) -> None:
    """Without the generator, and without heads that it lacks; another training may start from it."""
    import transformers

    from bertlab.model.interop import huggingface

    recipe = recipe_of((TokenGenerator(), SampledLM()), positions="learned")
    model, batch = built(recipe, corpus).eval(), tensors(recipe, corpus)
    huggingface.write(tmp_path / "out", model, recipe.model, corpus.tokenizer)
    theirs, loaded = transformers.BertModel.from_pretrained(
        tmp_path / "out", add_pooling_layer=False, output_loading_info=True
    )
    assert [*loaded["missing_keys"], *loaded["unexpected_keys"]] == []
    with torch.inference_mode():
        hidden = theirs.eval()(batch.tokens[:, :16]).last_hidden_state
        torch.testing.assert_close(hidden, model.encoder(TensorBatch.of(batch.tokens[:, :16])), rtol=1e-4, atol=1e-5)
    assert theirs.config.architectures == ["BertModel"]
    _, back, _ = huggingface.read(tmp_path / "out")
    assert torch.equal(back.encoder.embeddings.tokens.weight, model.encoder.embeddings.tokens.weight)


def test_operations(corpus: Any) -> None:
    """The generator's layers on all tokens, LM head and logits at 15 %, and a layer and a logit on all tokens."""
    small = Model(layers=2, hidden=8, heads=1, embedding_size=16, dropout=0.0, initialisation="width")
    recipe, vocabulary = recipe_of(), 30_522
    more = cost.flops_per_token(recipe) - 3 * recipe.model.flops_per_token(48, False)
    head = 0.15 * 16 * (8 + vocabulary) + 16 * 17
    assert more == pytest.approx(3 * (small.flops_per_token(48, False) + 2 * head))


@pytest.mark.parametrize(
    ("width", "hidden", "heads", "wanted"),
    [(1 / 3, 768, 12, (256, 4)), (1 / 4, 256, 4, (64, 1)), (1 / 4, 96, 2, (24, 1)), (0.5, 32, 2, (16, 1))],
)
def test_a_generator_is_narrower_with_as_many_layers(width: float, hidden: int, heads: int, wanted: Any) -> None:
    narrow = Model(layers=3, hidden=hidden, heads=heads).narrowed(width)
    assert (narrow.hidden, narrow.heads, narrow.layers, narrow.embedding_width) == (*wanted, 3, hidden)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Recipe(objective=(ReplacedTokens(),)), "put one before it, as in objective=generator,replaced_tokens"),
        (
            lambda: Recipe(objective=(MaskedLM(), SampledLM())),
            "put one before it, as in objective=generator,sampled_lm",
        ),
        (lambda: Recipe(objective=(TokenGenerator(sharing="all"), ReplacedTokens())), "^generator.sharing is all"),
        (lambda: Recipe(objective=(TokenGenerator(share=0.5), CausalLM(share=0.5))), "it needs all sequences, give 1"),
        (lambda: Recipe(objective=(TokenGenerator(), CausalLM())), "see one side of a token and both"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_line(make: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_another_backbone_has_a_generator_that_shares_nothing(corpus: Any) -> None:
    recipe = dataclasses.replace(recipe_of(), model=BiLSTM(hidden=16, layers=1))
    with pytest.raises(BadInput, match=r"^generator\.sharing: .* shares no embeddings with another model: give none$"):
        built(recipe, corpus)
    alone = dataclasses.replace(recipe, objective=(TokenGenerator(sharing="none"), ReplacedTokens()))
    model = built(alone, corpus)
    assert all(value.isfinite() for value in model.losses(tensors(alone, corpus)).values())
    count = sum(value.numel() for value in model.parameters())
    assert cost.parameters(alone.model, corpus.tokenizer.size, 128, alone.objective) == count


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_the_audit_finds_nothing(corpus: Any, objective: Any) -> None:
    (audited,) = audit(recipe_of(objective), corpus, most=40_000)
    assert [check for check in audited.checks if check.holds is False] == []
