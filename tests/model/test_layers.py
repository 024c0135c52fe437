"""Attention at 160 tokens against a plain softmax; and operations of backbones as torch counts them, on sequences of
one token, since the counted attention sees all tokens."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertlab import recipe
from bertlab.model.attention import Attention, bias_at, gather, padding_bias
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import PretrainingModel
from bertlab.model.initial import initialise
from bertlab.model.layers import MLP, Block, LayerNorm
from bertlab.model.modern_bert import ModernBertEncoder
from bertlab.model.positions import window_bias
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, CausalLM
from bertlab.recipe import LSTM, BiLSTM, BiTransformer, Model

BATCH, HEADS, TOKENS, WIDTH = 3, 2, 160, 16
LENGTHS = torch.tensor([TOKENS, 7, 131])
POSITIONS = torch.tensor([[0, 159, 64, 64], [6, 0, 3, 5], [130, 129, 1, 77]])
WAYS = pytest.mark.parametrize("short", [1000, 0], ids=["products", "fused"])
CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["both ways", "causal"])
BOTH = pytest.mark.parametrize("modern", [False, True], ids=["BERT", "ModernBERT"])
TYPES = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])


def normal(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


BIASES = {
    "none": None,
    "padding": padding_bias(LENGTHS, TOKENS, torch.float32),
    "by head": normal(1, HEADS, TOKENS, TOKENS),
    "by sequence": normal(BATCH, 1, TOKENS, TOKENS),
    "by sequence and head": normal(BATCH, HEADS, TOKENS, TOKENS),
    "of keys, by head": normal(1, HEADS, 1, TOKENS),
    "by head, with padding": normal(1, HEADS, TOKENS, TOKENS) + padding_bias(LENGTHS, TOKENS, torch.float32),
    "window": window_bias(None, 4, normal(BATCH, TOKENS, WIDTH)),
    "window with padding": window_bias(padding_bias(LENGTHS, TOKENS, torch.float32), 4, normal(BATCH, TOKENS, WIDTH)),
}


def by_hand(attention, x, bias, causal):
    """softmax(q k' / sqrt(d) + bias) v in fp64, one head of one sequence at a time, through the module's matrices."""
    weights = attention.qkv_proj.weight.double().chunk(3), attention.out_proj.weight.double()
    query, key, value = (x.double() @ matrix.T for matrix in weights[0])
    full = torch.zeros(BATCH, HEADS, TOKENS, TOKENS).double() + (0 if bias is None else bias)
    out, size = torch.zeros(BATCH, TOKENS, WIDTH).double(), WIDTH // HEADS
    for row in range(BATCH):
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = query[row, :, part] @ key[row, :, part].T / size**0.5 + full[row, head]
            if causal:
                column = torch.arange(TOKENS)
                scores[column > column[:, None]] = -torch.inf
            out[row, :, part] = scores.softmax(-1) @ value[row, :, part]
    return out @ weights[1].T


@WAYS
@CAUSAL
@TYPES
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("name", BIASES)
def test_a_bias_holds_for_its_sequence_and_head_beside_the_causal_mask(
    name, biases, causal, short, dtype, tolerance, monkeypatch
):
    """Whole and read at positions. The angles are zero: each token is at position 0."""
    monkeypatch.setattr("bertlab.model.kernels.attention.SHORT", short)
    attention = Attention(WIDTH, HEADS, 0.1, biases=biases)
    initialise(attention, 0.5, seed=1)
    attention = attention.to(dtype).eval()
    x = normal(BATCH, TOKENS, WIDTH, seed=2).to(dtype)
    bias = None if BIASES[name] is None else BIASES[name].to(dtype)
    angles = (torch.ones(TOKENS, WIDTH // HEADS // 2), torch.zeros(TOKENS, WIDTH // HEADS // 2))
    expected = by_hand(attention, x, bias, causal).to(dtype)
    whole = attention(x, x, bias, angles, causal=causal)
    torch.testing.assert_close(whole, expected, rtol=0, atol=tolerance)
    read = attention(gather(x, POSITIONS), x, bias, angles, POSITIONS, causal=causal)
    torch.testing.assert_close(read, gather(expected, POSITIONS), rtol=0, atol=tolerance)


@pytest.mark.parametrize("pre", [False, True], ids=["post-norm", "pre-norm"])
def test_a_block_with_cross_attention_is_a_decoder_layer_of_torch(pre):
    """Causal over its own tokens, and everywhere on a memory of which each sequence has its own length."""
    model = recipe.Model(hidden=WIDTH, heads=HEADS, dropout=0.1)
    parts = [Attention(WIDTH, HEADS, 0.1), MLP(model), LayerNorm(WIDTH), LayerNorm(WIDTH)]
    block = Block(*parts, cross=(Attention(WIDTH, HEADS, 0.1), LayerNorm(WIDTH)), pre_norm=pre)
    initialise(block, 0.5, seed=1)
    theirs = torch.nn.TransformerDecoderLayer(
        WIDTH, HEADS, 4 * WIDTH, activation="gelu", batch_first=True, norm_first=pre
    )
    names = {"self_attn": "attention", "multihead_attn": "cross_attention"}
    for name, ours in names.items():
        of_theirs, of_ours = getattr(theirs, name), getattr(block, ours)
        of_theirs.in_proj_weight.data, of_theirs.in_proj_bias.data = of_ours.qkv_proj.weight, of_ours.qkv_proj.bias
        of_theirs.out_proj.load_state_dict(of_ours.out_proj.state_dict())
    theirs.linear1.load_state_dict(block.mlp.fc1.state_dict())
    theirs.linear2.load_state_dict(block.mlp.fc2.state_dict())
    for name, norm in (("norm1", block.attention_norm), ("norm2", block.cross_norm), ("norm3", block.mlp_norm)):
        getattr(theirs, name).load_state_dict(norm.state_dict())
    block, theirs = block.double().eval(), theirs.double().eval()
    x, memory = normal(3, 6, WIDTH).double(), normal(3, 9, WIDTH, seed=1).double()
    lengths = torch.tensor([9, 4, 1])
    mask = torch.nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    expected = theirs(x, memory, mask, memory_key_padding_mask=torch.arange(9) >= lengths[:, None], tgt_is_causal=True)
    found = block(x, None, None, None, None, memory, padding_bias(lengths, 9, torch.float64), causal=True)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    positions = torch.tensor([[5, 0], [3, 3], [1, 2]])
    memory_bias = padding_bias(lengths, 9, torch.float64)
    read = block(x, None, None, positions, None, memory, memory_bias, causal=True)
    torch.testing.assert_close(read, gather(expected, positions), rtol=0, atol=1e-10)


def test_rows_of_a_bias_are_those_of_their_sequence_and_head():
    """Number 1000 b + 100 h + 10 i + j for sequence b, head h, token i seeing token j; later tokens are masked."""
    b, h, i, j = torch.meshgrid(*map(torch.arange, (2, 2, 3, 3)), indexing="ij")
    bias, x = (1000 * b + 100 * h + 10 * i + j).float(), torch.zeros(2, 3, 4)
    rows = bias_at(torch.tensor([[2, 0], [1, 1]]), bias, False, x)
    assert rows[0, 1].tolist() == [[120, 121, 122], [100, 101, 102]]
    assert rows[1, 0].tolist() == [[1010, 1011, 1012]] * 2
    rows = bias_at(torch.tensor([[2, 0], [1, 1]]), bias[:1], True, x)
    assert rows[0, 1].tolist() == [[120, 121, 122], [100, -torch.inf, -torch.inf]]
    assert rows[1, 1].tolist() == [[110, 111, -torch.inf]] * 2
    assert bias_at(torch.tensor([[1]]), None, True, x[:1]).tolist() == [[[[0, 0, -torch.inf]]]]


def stack(of, modern, causal):
    """An own encoder of one layer whose attention gets the bias that `of` makes of the usual one."""

    class Own(ModernBertEncoder if modern else BertEncoder):
        def attention_inputs(self, x, lengths):
            return [(of(bias, x), angles) for bias, angles in super().attention_inputs(x, lengths)]

    shape = {"hidden": WIDTH, "heads": HEADS, "layers": 1, "dropout": 0.0}
    model = recipe.ModernBert(**shape) if modern else recipe.Model(**shape)
    built = Own(model, 50, TOKENS, causal)
    initialise(built, 0.2, seed=1)
    return built.eval()


OF_STACK = {
    "usual": lambda bias, x: bias,
    "window": lambda bias, x: window_bias(bias, 4, x),
    "by head": lambda bias, x: BIASES["by head"] + (0 if bias is None else bias),
    "by sequence": lambda bias, x: BIASES["by sequence"][: len(x)] + (0 if bias is None else bias),
}


@WAYS
@CAUSAL
@BOTH
@pytest.mark.parametrize("name", OF_STACK)
def test_what_an_encoder_reads_at_positions_is_what_it_computes_for_all(name, modern, causal, short, monkeypatch):
    """Sequences of 160, 7 and 131 tokens; a changed token changes only those that see it."""
    monkeypatch.setattr("bertlab.model.kernels.attention.SHORT", short)
    model = stack(OF_STACK[name], modern, causal)
    tokens = torch.randint(5, 50, (BATCH, TOKENS), generator=torch.Generator().manual_seed(3))
    segments = torch.zeros_like(tokens)
    whole = model(TensorBatch.of(tokens, LENGTHS, segments=segments))
    assert whole.isfinite().all()
    read = model(TensorBatch.of(tokens, LENGTHS, segments=segments), POSITIONS)
    torch.testing.assert_close(read, gather(whole, POSITIONS), rtol=0, atol=1e-5)
    changed = tokens.clone()
    changed[:, 3] = 1
    changed[1, 7:] = 2  # padding
    differs = (model(TensorBatch.of(changed, LENGTHS, segments=segments)) != whole).any(-1)
    column = torch.arange(TOKENS)
    sees = (column >= 3) | (not causal)
    if name == "window":
        sees &= (column - 3).abs() <= 4
    for row, length in enumerate(LENGTHS.tolist()):
        assert differs[row, :length].tolist() == sees[:length].tolist()


SHAPE = {"layers": 3, "hidden": 32, "heads": 4}
DIRECTIONS = (BidirectionalLM(),)
LEFT_TO_RIGHT = (CausalLM(),)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(
    ("config", "objective"),
    [
        (Model(**SHAPE), LEFT_TO_RIGHT),
        (BiTransformer(**SHAPE), DIRECTIONS),
        (BiTransformer(**SHAPE, intermediate=80, positions="rotary", norm_position="pre"), DIRECTIONS),
        (BiLSTM(layers=3, hidden=32, cells=40), DIRECTIONS),
        (BiLSTM(layers=2, hidden=32, cells=40, embeddings="characters"), DIRECTIONS),
        (LSTM(layers=2, hidden=32, embedding_size=12), LEFT_TO_RIGHT),
    ],
)
def test_they_are_those_that_torch_counts(config, objective):
    encoder = PretrainingModel(config, 40, 64, 0, objective).encoder.double().eval()  # oneDNN's LSTM is not counted
    tokens = torch.arange(5, 15)[:, None]  # ten sequences of one token each, all different
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        encoder.encode(encoder.embed(TensorBatch.of(tokens))["inputs"])
    assert counter.get_total_flops() == 10 * config.flops_per_token(1, encoder.causal)


def test_both_directions_cost_twice_a_model_of_the_same_size():
    """BERT's section 5.1: twice as expensive as one bidirectional model; with attention to one side, a little less."""
    single = Model(layers=12, hidden=768, heads=12)
    both = BiTransformer(layers=12, hidden=1536, heads=24)
    assert both.half == single
    ratio = both.flops_per_token(512, causal=False) / single.flops_per_token(512, causal=False)
    assert 1.85 < ratio < 2
    layers = single.parameters(0, 0) - 4 * 768
    assert both.parameters(30_522, 512) == single.parameters(30_522, 512) + layers
