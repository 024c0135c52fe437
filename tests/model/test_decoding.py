"""Decoding token after token: the texts of the reference implementation, and the probabilities of teacher forcing."""

import copy

import pytest
import torch

from bertlab.adaptation import Bert2Bert
from bertlab.errors import BadInput
from bertlab.model.decoding import TextModel, beam_search, greedy
from bertlab.model.encoder import BertEncoder
from bertlab.model.ensemble import mean_of
from bertlab.model.heads import PretrainingModel
from bertlab.model.initial import initialise
from bertlab.model.interop.architectures import bert, t5
from bertlab.model.streams import TensorBatch
from bertlab.model.t5 import new_encoder
from bertlab.recipe import T5, Model, ModernBert
from random_weights import perturbed

VOCABULARY, STEPS, START, END = 12, 10, 0, 1
FACTORS = {"embeddings": 0.2, "out_proj": 4, "fc2": 4, "final_norm": 3, "decoder_norm": 3}
STRUCTURES = [
    {},
    {"gated": True, "tied": False},
    {"shared": True},
    {"structure": "decoder"},
    {"structure": "prefix-decoder"},
]
BERT = {"layers": 2, "hidden": 32, "heads": 4, "dropout": 0.0, "max_positions": 24}
BERTS = [  # the start, the model, and the bias of the end mark, with which texts have many lengths
    ("both", Model(**BERT), 4.0),
    ("shared", Model(**BERT), 1.5),
    ("encoder", Model(**BERT, positions="rotary", norm_position="pre", embedding_size=16), 1.5),
    ("none", ModernBert(**BERT, window=8), 1.5),
]


def name_of(case):
    return str(case) if isinstance(case, dict) else f"{type(case[1]).__name__}, {case[0]}"


@pytest.fixture(scope="module", params=[*STRUCTURES, *BERTS], ids=name_of)
def encoder(request):
    return encoder_of(**request.param) if isinstance(request.param, dict) else bert2bert(*request.param)


def bert2bert(start, model, bias_of_end=None):
    """A small BERT with a decoder, with random weights, in fp64; with a bias of the end mark, they are such that texts
    differ."""
    pretrained = perturbed(PretrainingModel(model, VOCABULARY, 24, 0))
    encoder = perturbed(Bert2Bert(start=start).encoder(pretrained, ("bert2bert", 0, 0)))
    if bias_of_end is None:
        return encoder.double().eval()
    factors = {"out_proj": 2, "fc2": 2, "qkv_proj": 16, "tokens": 3, "transform.weight": 6, "lm_head.bias": 0}
    with torch.no_grad():
        for name, value in encoder.named_parameters():
            value *= next((factor for part, factor in factors.items() if part in name), 1)
        encoder.lm_head.bias[END] = bias_of_end
    return encoder.double().eval()


def encoder_of(**fields):
    """A small T5 with random weights, in fp64."""
    model = T5(layers=2, hidden=32, heads=4, dropout=0.0, distance=20, buckets=16, **fields)
    encoder = new_encoder(model, VOCABULARY, 64).eval()
    initialise(encoder, lambda name: model.deviation(f"encoder.{name}"), 0)
    perturbed(encoder)
    with torch.no_grad():
        for name, value in encoder.named_parameters():  # so that texts have many tokens and lengths
            value *= next((factor for part, factor in FACTORS.items() if part in name), 1)
    return encoder.double()


def batch_of(examples=64, width=15):
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(2, VOCABULARY, (examples, width), generator=generator)
    lengths = torch.randint(1, width + 1, (examples,), generator=generator)
    lengths[0] = width
    tokens[torch.arange(width) >= lengths[:, None]] = START
    return TensorBatch.of(tokens, lengths)


def decoded(decode, encoder, batch, *options):
    examples = len(batch.tokens)
    with torch.inference_mode():
        return decode(encoder, batch, torch.full((examples,), START), torch.full((examples,), END), STEPS, *options)


def log_likelihoods(encoder, batch, outputs):
    """Of the texts up to their end, by teacher forcing."""
    before = torch.cat([torch.full_like(outputs[:, :1], START), outputs[:, :-1]], 1)
    with torch.inference_mode():
        log_probs = TextModel(encoder, 0.0)(batch, before).log_softmax(-1).gather(-1, outputs[..., None])[..., 0]
    return (log_probs * _counted(outputs)).sum(1), _counted(outputs).sum(1)


def _counted(outputs):
    """Which outputs are no later than the first end."""
    return ((outputs == END).cumsum(1) - (outputs == END).long()) == 0


@pytest.mark.parametrize("case", [*STRUCTURES[:2], *BERTS[:2]], ids=name_of)
@pytest.mark.parametrize("beams", [1, 4])
def test_texts_are_those_of_transformers(case, beams):
    batch, of_t5 = batch_of(), isinstance(case, dict)
    encoder = encoder_of(**case) if of_t5 else bert2bert(*case)
    theirs = reference(encoder, case) if of_t5 else encoder_decoder_model(encoder)
    mask = torch.arange(batch.tokens.shape[1]) < batch.lengths["inputs"][:, None]
    right = theirs.generate(
        batch.tokens, attention_mask=mask.long(), max_new_tokens=STEPS, num_beams=beams, do_sample=False,
        length_penalty=0.0, early_stopping=False, pad_token_id=START, eos_token_id=END, decoder_start_token_id=START,
    )[:, 1:]  # fmt: skip
    ours = decoded(greedy, encoder, batch) if beams == 1 else decoded(beam_search, encoder, batch, beams, 0.0)[0]
    right = torch.where(_counted(right), right, START)  # theirs repeats the end behind it
    assert ours[:, : right.shape[1]].tolist() == right.tolist()
    ended = (ours == END).any(1).sum()
    assert 0 < ended < len(ours), "some texts end"
    assert len({*map(tuple, ours.tolist())}) > 4


def test_a_step_with_caches_is_the_whole_pass(encoder):
    batch, outputs = batch_of(), torch.randint(2, VOCABULARY, (64, STEPS), generator=torch.Generator().manual_seed(4))
    outputs[:, 0] = START
    with torch.inference_mode():
        state = encoder.begin(batch, STEPS)
        logits = TextModel(encoder, 0.0)(batch, outputs)
        for step in range(STEPS):
            vectors = encoder.step(outputs[:, step], state)
            stepped = torch.nn.functional.linear(vectors, encoder.output_embeddings, encoder.output_bias)
            assert torch.allclose(stepped, logits[:, step], atol=1e-10)


def test_the_score_of_a_beam_is_the_likelihood_of_its_text(encoder):
    batch = batch_of()
    outputs, scores = decoded(beam_search, encoder, batch, 4, 0.0)
    right, counts = log_likelihoods(encoder, batch, outputs)
    assert torch.allclose(scores, right, atol=1e-9)
    likelier = log_likelihoods(encoder, batch, decoded(greedy, encoder, batch))[0]
    assert (scores - likelier).mean() > 0.01
    outputs, scores = decoded(beam_search, encoder, batch, 4, 2.0)
    right, longer = log_likelihoods(encoder, batch, outputs)
    assert torch.allclose(scores, right / ((5 + longer) / 6) ** 2, atol=1e-9)
    assert longer.sum() > counts.sum(), "the penalty is for short texts"


def test_one_beam_is_greedy_and_an_example_does_not_depend_on_its_batch(encoder):
    batch = batch_of()
    together = decoded(greedy, encoder, batch)
    assert decoded(beam_search, encoder, batch, 1, 0.0)[0].tolist() == together.tolist()
    beams = decoded(beam_search, encoder, batch, 4, 0.6)[0]
    for number in range(0, 64, 16):
        length = batch.lengths["inputs"][number]
        alone = TensorBatch.of(batch.tokens[number : number + 1, :length])
        assert decoded(greedy, encoder, alone).tolist() == together[number : number + 1].tolist()
        assert decoded(beam_search, encoder, alone, 4, 0.6)[0].tolist() == beams[number : number + 1].tolist()


def test_the_best_beam_of_all_is_found_where_beams_are_many():
    """With as many beams as texts, the search is exhaustive."""
    encoder, batch = encoder_of(), batch_of(2)
    steps, ids = 2, [(first, second) for first in range(VOCABULARY) for second in range(VOCABULARY)]
    texts = torch.tensor([pair if pair[0] != END else (END, START) for pair in ids])
    start, end = (torch.full((2,), token) for token in (START, END))
    with torch.inference_mode():
        found, scores = beam_search(encoder, batch, start, end, steps, VOCABULARY, 0.0)
    for number in range(2):
        rows = batch.take(torch.full((len(texts),), number))
        every = log_likelihoods(encoder, rows, texts)[0]
        assert scores[number].item() == pytest.approx(every.max().item())
        assert found[number].tolist() == texts[every.argmax()].tolist()


@pytest.mark.parametrize("back", [False, True], ids=["ours to theirs", "theirs to ours"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)], ids=str)
def test_a_bert_with_a_decoder_has_the_logits_of_transformers(back, dtype, tolerance):
    encoder, batch = bert2bert("both", BERTS[0][1]), batch_of()
    theirs = encoder_decoder_model(encoder)
    if back:
        with torch.no_grad():
            for value in theirs.parameters():
                value += 0.1 * torch.randn(value.shape, generator=torch.Generator().manual_seed(7))
            for name, value in theirs.decoder.bert.embeddings.named_parameters():
                value.copy_(theirs.encoder.embeddings.get_parameter(name))
        copied(encoder, theirs, back=True)
    encoder, theirs = encoder.to(dtype), theirs.to(dtype)
    outputs = torch.randint(2, VOCABULARY, (64, STEPS), generator=torch.Generator().manual_seed(4))
    mask = torch.arange(batch.tokens.shape[1]) < batch.lengths["inputs"][:, None]
    with torch.inference_mode():
        right = theirs(batch.tokens, attention_mask=mask.long(), decoder_input_ids=outputs).logits
        ours = TextModel(encoder, 0.0)(batch, outputs)
    assert right.std() > 0.3
    assert torch.allclose(ours, right, 0, tolerance)


@pytest.mark.parametrize(
    ("start", "same"),
    [
        ("both", {"embeddings", "encoder", "decoder", "lm_head"}),
        ("shared", {"embeddings", "encoder", "decoder", "lm_head"}),
        ("encoder", {"embeddings", "encoder"}),
        ("decoder", {"embeddings", "decoder", "lm_head"}),
        ("embeddings", {"embeddings"}),
        ("none", set()),
    ],
)
def test_a_start_keeps_its_part_of_the_pretrained_weights(start, same):
    """Rothe et al. 2020, Table 1, in the parameters of this model."""
    model = perturbed(PretrainingModel(Model(**BERT), VOCABULARY, 24, 0))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    encoder = Bert2Bert(start=start).encoder(model, ("bert2bert", 0, 0))
    where = {
        **{f"encoder.{part}": part for part in ("embeddings", "layers")},
        **{"decoder_layers": "layers", "lm_head": "lm_head"},
    }
    names = {"encoder.embeddings": "embeddings", "encoder.layers": "encoder", "decoder_layers": "decoder"}
    kept = {name: set() for name in names.values()} | {"lm_head": set()}
    for name, value in encoder.named_parameters(remove_duplicate=False):
        if "cross" not in name:
            part = next(part for part in where if name.startswith(part))
            origin = name.replace(part, f"encoder.{where[part]}" if part != "lm_head" else part, 1)
            kept[names.get(part, part)].add(torch.equal(value, before[origin]))
    assert {part for part, equal in kept.items() if equal == {True}} == same
    assert all(True not in equal for part, equal in kept.items() if part not in same)
    layer, table = 12 * 32 * 32 + 13 * 32, (VOCABULARY + 2 + 24 + 2) * 32
    cross, head = 4 * (32 * 32 + 32) + 2 * 32, 32 * 32 + 3 * 32 + VOCABULARY
    stacks = 1 if start == "shared" else 2
    assert sum(value.numel() for value in encoder.parameters()) == table + 2 * (stacks * layer + cross) + head
    again = Bert2Bert(start=start).encoder(model, ("bert2bert", 0, 1))
    other = again.decoder_layers[0].cross_attention.qkv_proj.weight
    assert not torch.equal(other, encoder.decoder_layers[0].cross_attention.qkv_proj.weight)


@pytest.mark.parametrize(("start", "millions"), [("both", 221), ("none", 221), ("shared", 136)])
def test_a_bert_base_with_a_decoder_has_about_the_papers_parameters(start, millions):
    """Rothe et al. 2020, Table 1; with the transform of BERT's LM head and its bias."""
    with torch.device("meta"):
        model = PretrainingModel(Model(), 30_522, 512, 0)
        encoder = Bert2Bert(start=start).encoder(model, ("bert2bert", 0, 0))
    assert sum(value.numel() for value in encoder.parameters()) == pytest.approx(millions * 1e6, abs=2e6)


def test_a_model_without_a_decoder_is_refused():
    encoder = BertEncoder(Model(layers=1, hidden=16, heads=2), 20, 16)
    with pytest.raises(BadInput, match="BertEncoder has no decoder"):
        TextModel(encoder, 0.0)


def reference(encoder, fields):
    """T5 of transformers with the weights of `encoder`."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0,
        relative_attention_num_buckets=16, relative_attention_max_distance=20,
        feed_forward_proj="gated-gelu" if fields.get("gated") else "relu",
        tie_word_embeddings=fields.get("tied", True), attn_implementation="eager",
    )  # fmt: skip
    theirs = T5ForConditionalGeneration(config).double().eval()
    if not fields.get("tied", True):
        theirs.lm_head.weight = torch.nn.Parameter(theirs.lm_head.weight.detach().clone())
    state, architecture = theirs.state_dict(), t5.T5()
    with torch.no_grad():
        for name, value in encoder.named_parameters(prefix="encoder"):
            theirs_of = architecture.parameter(name)
            for their_name, part in zip(theirs_of, value.chunk(len(theirs_of)), strict=True):
                state[their_name].copy_(part)
    return theirs


def encoder_decoder_model(encoder):
    """A BERT of transformers with a decoder, with the weights of `encoder`."""
    from transformers import BertConfig, EncoderDecoderConfig, EncoderDecoderModel

    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=24, layer_norm_eps=1e-12, attn_implementation="eager",
    )  # fmt: skip
    config = EncoderDecoderConfig.from_encoder_decoder_configs(config, copy.deepcopy(config))
    theirs = EncoderDecoderModel(config).double().eval()
    copied(encoder, theirs)
    return theirs


def copied(encoder, theirs, back=False):
    """Gives theirs the weights of `encoder`, or `back` the other way."""
    state, architecture = theirs.state_dict(), bert.Bert()
    with torch.no_grad():
        for name, value in encoder.named_parameters(remove_duplicate=False):
            of_layer = name.replace("decoder_layers.", "encoder.layers.").replace("cross_", "attention_", 1)
            of_layer = of_layer.replace("attention_attention.", "attention.")
            names = [each.removeprefix("bert.") for each in architecture.parameter(of_layer)]
            if "cross_" in name:
                names = [each.replace(".attention.", ".crossattention.") for each in names]
            stack = "encoder." if name.startswith("encoder.") else "decoder." if "lm_head" in name else "decoder.bert."
            for their_name, part in zip(names, value.chunk(len(names)), strict=True):
                (part if back else state[stack + their_name]).copy_(state[stack + their_name] if back else part)
                if "embeddings." in name:
                    state[f"decoder.bert.{their_name}"].copy_(part)


def rescaled(encoder, factor):
    """A copy whose weights differ by a factor."""
    other = copy.deepcopy(encoder)
    with torch.no_grad():
        for value in other.parameters():
            value *= factor
    return other


def test_several_models_write_by_the_mean_of_their_logits():
    """Greedy decoding against the mean of the logits of each of them, read anew for each token."""
    encoders = [encoder_of(), rescaled(encoder_of(), 1.2), encoder_of(gated=True, tied=False)]
    models = [TextModel(encoder, 0.0).eval() for encoder in encoders]
    joint, batch = mean_of(models).eval(), batch_of()
    rows = 64
    start, end = torch.full((rows,), START), torch.full((rows,), END)
    outputs, ended = start[:, None], torch.zeros(rows, dtype=torch.bool)
    with torch.no_grad():
        written = joint.generate(batch, start, end, STEPS)
        for step in range(STEPS):
            logits = torch.stack([model(batch, outputs) for model in models]).mean(0)
            torch.testing.assert_close(joint(batch, outputs), logits, rtol=0, atol=1e-10)
            tokens = logits[:, -1].argmax(-1).where(~ended, torch.tensor(START))
            assert torch.equal(written[:, step], tokens)
            ended |= tokens == END
            outputs = torch.cat((outputs, tokens[:, None]), 1)
        assert any(not torch.equal(written, model.generate(batch, start, end, STEPS)) for model in models)


def test_a_model_beside_itself_writes_what_it_writes_alone_in_beams_too():
    model, batch = TextModel(encoder_of(), 0.0, beams=4).eval(), batch_of()
    start, end = (torch.full((64,), token) for token in (START, END))
    joint = mean_of([model, copy.deepcopy(model)])
    with torch.no_grad():
        assert torch.equal(joint.generate(batch, start, end, STEPS), model.generate(batch, start, end, STEPS))
