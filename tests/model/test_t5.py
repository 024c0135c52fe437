"""T5's stacks: the reference implementation's logits, the buckets of distances, the joined decoders, and the cost."""

import dataclasses

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.initial import initialise
from bertlab.model.interop.architectures import t5
from bertlab.model.streams import TensorBatch, TensorStream
from bertlab.model.t5 import buckets, new_encoder
from bertlab.recipe import T5, Recipe, cost
from bertlab.recipe.objective import INPUTS, Decoded
from random_weights import perturbed

OUTPUTS = "outputs"
SHAPE = {"layers": 3, "hidden": 32, "heads": 4, "dropout": 0.0, "distance": 20, "buckets": 16}
VERSION_1_1 = {"gated": True, "tied": False, "decoder_layers": 2}
LENGTHS, ANSWERS = torch.tensor([29, 7, 1, 18]), torch.tensor([3, 11, 9, 1])


def encoder_of(double=True, **fields):
    model = T5(**SHAPE | fields)
    encoder = new_encoder(model, 50, 64).eval()
    initialise(encoder, lambda name: model.deviation(f"encoder.{name}"), 0)
    perturbed(encoder)
    return encoder.double() if double else encoder


def batch_of(width=29, answers=11):
    generator = torch.Generator().manual_seed(2)
    streams = {}
    for name, lengths, tokens in ((INPUTS, LENGTHS, width), (OUTPUTS, ANSWERS, answers)):
        ids = torch.randint(3, 50, (4, tokens), generator=generator)
        ids[torch.arange(tokens) >= lengths[:, None]] = 0
        streams[name] = TensorStream(ids, lengths)
    streams[OUTPUTS].tokens[:, 0] = 0
    return TensorBatch(streams, {})


def decoded(encoder, batch, **options):
    read = {"loss": Decoded(OUTPUTS, **options)}
    return encoder.read(encoder.embed(batch), batch.lengths, read)["loss"]


def reference(encoder, fields):
    """T5 of transformers with the weights of `encoder`, computed in fp64 where the encoder is."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=50, d_model=32, d_kv=8, d_ff=128, num_layers=3, num_decoder_layers=fields.get("decoder_layers"),
        num_heads=4, dropout_rate=0.0, relative_attention_num_buckets=16, relative_attention_max_distance=20,
        feed_forward_proj="gated-gelu" if fields.get("gated") else "relu",
        tie_word_embeddings=fields.get("tied", True), attn_implementation="eager",
    )  # fmt: skip
    theirs = T5ForConditionalGeneration(config).to(next(encoder.parameters()).dtype).eval()
    if not fields.get("tied", True):
        theirs.lm_head.weight = torch.nn.Parameter(theirs.lm_head.weight.detach().clone())
    state, named = theirs.state_dict(), dict(encoder.named_parameters(prefix="encoder"))
    names = {ours: t5.T5().parameter(ours) for ours in named}
    copies = t5.T5.copies.keys() - ({"lm_head.weight"} if not fields.get("tied", True) else set())
    assert sorted(state.keys() - copies) == sorted(name for theirs in names.values() for name in theirs)
    with torch.no_grad():
        for ours, value in named.items():
            for name, part in zip(names[ours], value.chunk(len(names[ours])), strict=True):
                state[name].copy_(part)
    return theirs


@pytest.mark.parametrize("fields", [{}, VERSION_1_1, {"gated": True}])
@pytest.mark.parametrize(("double", "tolerance"), [(False, 1e-5), (True, 1e-10)])
def test_logits_are_those_of_the_reference_with_padding_in_both_streams(fields, double, tolerance, monkeypatch):
    from transformers.models.t5 import modeling_t5

    def in_full_precision(self, x):  # theirs computes the mean square in fp32
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)

    monkeypatch.setattr(modeling_t5.T5LayerNorm, "forward", in_full_precision)
    encoder, batch = encoder_of(double, **fields), batch_of()
    theirs, real = reference(encoder, fields), torch.arange(11) < ANSWERS[:, None]
    mask = (torch.arange(29) < LENGTHS[:, None]).long()
    with torch.no_grad():
        expected = theirs(input_ids=batch.tokens, attention_mask=mask, decoder_input_ids=batch.streams[OUTPUTS].tokens)
        logits = decoded(encoder, batch) @ encoder.output_embeddings.T
        memory = encoder(batch)
    assert expected.logits[real].std() > 0.1
    torch.testing.assert_close(logits[real], expected.logits[real], rtol=0, atol=tolerance)
    torch.testing.assert_close(memory[mask > 0], expected.encoder_last_hidden_state[mask > 0], rtol=0, atol=tolerance)


@pytest.mark.parametrize("both_sides", [True, False])
@pytest.mark.parametrize(("count", "farthest"), [(32, 128), (16, 20), (8, 1_000)])
def test_buckets_are_those_of_the_reference(both_sides, count, farthest):
    from transformers.models.t5.modeling_t5 import T5Attention

    distance = torch.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(distance, both_sides, count, farthest)
    assert torch.equal(buckets(distance, count, farthest, both_sides), theirs)


def test_far_tokens_have_the_bias_of_the_farthest():
    """Tokens at a distance of 20 and more are in one bucket on each side."""
    bias = encoder_of().relative_bias(50)[0]
    assert torch.equal(bias[:, 0, 20], bias[:, 0, 49])
    assert not torch.equal(bias[:, 0, 49], bias[:, 49, 0])
    assert torch.equal(bias[:, 3, 5], bias[:, 41, 43])


@pytest.mark.parametrize("fields", [{}, {"structure": "decoder"}, {"structure": "prefix-decoder"}, {"shared": True}])
def test_a_row_does_not_depend_on_its_padding_or_its_neighbours(fields):
    encoder, batch = encoder_of(**fields), batch_of()
    whole = decoded(encoder, batch)
    assert whole.isfinite().all()
    for row, (length, count) in enumerate(zip(LENGTHS.tolist(), ANSWERS.tolist(), strict=True)):
        streams = {
            INPUTS: TensorStream(batch.tokens[row : row + 1, :length]),
            OUTPUTS: TensorStream(batch.streams[OUTPUTS].tokens[row : row + 1, :count]),
        }
        alone = decoded(encoder, TensorBatch(streams, {}))
        torch.testing.assert_close(whole[row, :count], alone[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("structure", ["decoder", "prefix-decoder"])
def test_a_joined_decoder_reads_the_inputs_and_then_the_outputs(structure):
    """A row by hand: inputs and outputs as one sequence; in a prefix-decoder, the inputs see each other."""
    encoder, batch = encoder_of(structure=structure), batch_of()
    inputs, outputs = batch.tokens[1, :7], batch.streams[OUTPUTS].tokens[1, 1:11]
    sequence = torch.cat((inputs, outputs))[None]
    vectors = decoded(encoder, batch)[1]
    if structure == "decoder":
        expected = encoder(TensorBatch.of(sequence))[0, 6:]
        both = decoded(encoder, batch, with_inputs=True)
        torch.testing.assert_close(both[1, :17], encoder(TensorBatch.of(sequence))[0], rtol=0, atol=1e-10)
        assert both.shape[1] == 29 + 10
    else:
        hidden = torch.ones(17, 17).triu(1)
        hidden[:, :7] = 0
        bias = encoder.relative_bias(17).masked_fill(hidden > 0, -torch.inf)
        x = encoder.embeddings(sequence)
        for layer in encoder.layers:
            x = layer(x, bias, None)
        expected = encoder.final_norm(x)[0, 6:]
        with pytest.raises(BadInput, match="over_inputs"):
            decoded(encoder, batch, with_inputs=True)
    torch.testing.assert_close(vectors, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("structure", ["encoder-decoder", "decoder", "prefix-decoder"])
def test_an_output_sees_all_inputs_and_no_later_output(structure):
    encoder, batch = encoder_of(structure=structure), batch_of()
    before = decoded(encoder, batch)
    for name, at, same in ((OUTPUTS, 5, 5), (INPUTS, 0, 0)):
        tokens = batch.streams[name].tokens.clone()
        tokens[:, at] = (tokens[:, at] + 1) % 50
        streams = {**batch.streams, name: TensorStream(tokens, batch.lengths[name])}
        moved = (decoded(encoder, dataclasses.replace(batch, streams=streams)) - before).abs().amax(-1)
        assert not (moved[:, :same] > 1e-12).any()
        assert (moved[1, same:] > 1e-9).all()
    assert not torch.equal(before[0, 0], before[1, 0])


def test_positions_of_the_inputs_are_read_beside_a_decoder():
    encoder, batch = encoder_of(), batch_of()
    at = torch.tensor([[0, 3], [2, 6], [0, 0], [17, 1]])
    read = {"mlm": at, "first": None, "loss": Decoded(OUTPUTS)}
    vectors = encoder.read(encoder.embed(batch), batch.lengths, read)
    torch.testing.assert_close(vectors["mlm"], encoder(batch, at), rtol=0, atol=1e-10)
    torch.testing.assert_close(vectors["first"], encoder(batch)[:, 0], rtol=0, atol=1e-10)
    assert vectors["loss"].shape == (4, 11, 32)


ALL = [
    {},
    {"structure": "decoder"},
    {"structure": "prefix-decoder", "gated": True},
    {"shared": True},
    {**VERSION_1_1, "intermediate": 48},
]


@pytest.mark.parametrize("fields", ALL)
def test_parameters_are_counted_and_all_are_in_levels(fields):
    model = T5(**SHAPE | fields)
    encoder = encoder_of(**fields)
    count = sum(value.numel() for value in encoder.parameters())
    assert model.parameters(50, 64) == count
    in_levels = {value for level in encoder.levels for value in level.parameters()}
    assert in_levels == {*encoder.parameters()}
    assert len(encoder.levels) == 1 + max(model.layers, model.decoder_depth)
    assert len(encoder.hidden_states(batch_of())) == 4


def test_levels_pair_the_layers_of_both_stacks_from_the_top():
    encoder = encoder_of(decoder_layers=2)
    _, lowest, middle, top = ({*level.modules()} for level in encoder.levels)
    assert not lowest & {*encoder.decoder_layers}
    assert encoder.decoder_layers[0] in middle
    assert {encoder.layers[2], encoder.decoder_layers[1], encoder.final_norm, encoder.decoder_norm} <= top


def test_a_published_size():
    """T5-base has 222.9 million parameters with 32,128 entries (transformers counts 222,903,552)."""
    assert T5().parameters(32_128, 512) == 222_903_552
    assert T5(gated=True, tied=False, intermediate=2048).parameters(32_128, 512) == 247_577_856


@pytest.mark.parametrize("fields", ALL)
def test_operations_are_those_that_torch_counts(fields):
    """Of one input and one output: torch counts all pairs of tokens, also those that are masked."""
    model, encoder = T5(**SHAPE | fields), encoder_of(**fields)
    streams = {name: TensorStream(torch.arange(5, 15)[:, None]) for name in (INPUTS, OUTPUTS)}
    batch = TensorBatch(streams, {})
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        decoded(encoder, batch)
    apart = model.structure == "encoder-decoder"
    expected = model.flops_per_token(1, False) + (model.decoder_flops(1, 1) if apart else 0)
    assert counter.get_total_flops() == 10 * expected


def test_operations_of_a_joined_decoder():
    """Behind 6 inputs 4 outputs: as many as on 10 tokens from the left, less those on the inputs."""
    model = T5(**SHAPE, structure="decoder")
    inputs, whole = 6 * model.flops_per_token(6, True), 10 * model.flops_per_token(10, True)
    assert model.decoder_flops(6, 4) == pytest.approx(whole - inputs)


@pytest.mark.parametrize("fields", [{}, {"shared": True}, VERSION_1_1])
def test_initial_weights_have_their_deviations(fields):
    model = PretrainingModel(T5(layers=2, hidden=64, heads=4, **fields), 2_000, 64, 0, (recipe.Recipe().objective[0],))
    std = {name: value.std().item() / 0.88 for name, value in model.named_parameters() if value.dim() == 2}  # truncated
    assert std["encoder.embeddings.tokens.weight"] == pytest.approx(1, rel=0.05)
    qkv = model.encoder.decoder_layers[1].cross_attention.qkv_proj.weight.chunk(3)
    assert [part.std().item() / 0.88 for part in qkv] == pytest.approx([1 / 32, 1 / 8, 1 / 8], rel=0.05)
    fc1 = "encoder.layers.1.mlp.gated.fc1.weight" if fields.get("gated") else "encoder.layers.1.mlp.fc1.weight"
    assert (std[fc1], std["encoder.layers.1.mlp.fc2.weight"]) == pytest.approx((1 / 8, 1 / 16), rel=0.05)
    assert model.encoder.output_embeddings.std().item() / 0.88 == pytest.approx(1 / 8, rel=0.05)


def test_shared_layers_are_saved_once_and_read_back(tmp_path):
    from safetensors import safe_open

    objective = (recipe.Recipe().objective[0],)
    one, other = (PretrainingModel(T5(**SHAPE, shared=True), 50, 64, seed, objective) for seed in (0, 1))
    one.save(tmp_path / "model.safetensors")
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        count = sum(file.get_tensor(name).numel() for name in file.keys())  # noqa: SIM118
    assert count == sum(value.numel() for value in one.parameters())
    other.load(tmp_path / "model.safetensors")
    batch = batch_of()
    assert torch.equal(decoded(one.encoder.eval(), batch), decoded(other.encoder.eval(), batch))
    assert one.encoder.decoder_layers[0].mlp is one.encoder.layers[0].mlp


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shared": True, "decoder_layers": 2}, "model.shared needs as many layers"),
        ({"buckets": 30}, "buckets must be a multiple of 4"),
        ({"buckets": 64, "distance": 16}, "distance above half of it"),
        ({"heads": 5}, "hidden must be a multiple of heads"),
    ],
)
def test_what_it_refuses(fields, message):
    with pytest.raises(BadInput, match=message):
        T5(**SHAPE | fields)


def test_an_encoder_of_both_sides_has_no_left_to_right_objective():
    from bertlab.objectives import CausalLM

    with pytest.raises(BadInput, match=r"set model\.structure to decoder"):
        Recipe(model=T5(), objective=(CausalLM(),))
    assert Recipe(model=T5(structure="decoder"), objective=(CausalLM(),)).causal


def test_fields_that_change_nothing_are_not_declared():
    assert T5(decoder_layers=12, initialisation="width").declared == T5()
    assert T5(structure="decoder", shared=True, decoder_layers=3).declared == T5(structure="decoder")
    assert cost.parameters(T5(structure="decoder"), 100, 64) == T5(structure="decoder").parameters(100, 64)
