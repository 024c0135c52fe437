"""Masks and biases of attention at 160 tokens, beyond the short sequences of the products, against a plain softmax."""

import pytest
import torch

from bertlab import recipe
from bertlab.errors import ArmFailed
from bertlab.model.encoder import Encoder
from bertlab.model.initial import initialise
from bertlab.model.layers import SelfAttention, bias_at, gather, padding_bias
from bertlab.model.modern_bert import ModernAttention, ModernEncoder, window_bias

BATCH, HEADS, TOKENS, WIDTH = 3, 2, 160, 16
LENGTHS = torch.tensor([TOKENS, 7, 131])
POSITIONS = torch.tensor([[0, 159, 64, 64], [6, 0, 3, 5], [130, 129, 1, 77]])
WAYS = pytest.mark.parametrize("short", [1000, 0], ids=["products", "fused"])
CAUSAL = pytest.mark.parametrize("causal", [False, True], ids=["both ways", "causal"])
BOTH = pytest.mark.parametrize("modern", [False, True], ids=["BERT", "ModernBERT"])


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
    return (out @ weights[1].T).float()


@WAYS
@CAUSAL
@BOTH
@pytest.mark.parametrize("name", BIASES)
def test_a_bias_holds_for_its_sequence_and_head_beside_the_causal_mask(name, modern, causal, short, monkeypatch):
    """Whole and read at positions. The angles are zero: each token is at position 0."""
    monkeypatch.setattr("bertlab.model.kernels.attention.SHORT", short)
    shape = {"hidden": WIDTH, "heads": HEADS, "layers": 1}
    attention = ModernAttention(recipe.ModernBert(**shape)) if modern else SelfAttention(recipe.Model(**shape))
    initialise(attention, 0.5, seed=1)
    attention.eval()
    x, bias = normal(BATCH, TOKENS, WIDTH, seed=2), BIASES[name]
    angles = (torch.ones(TOKENS, WIDTH // HEADS // 2), torch.zeros(TOKENS, WIDTH // HEADS // 2))
    expected = by_hand(attention, x, bias, causal)
    first = (x,) if modern else (x, x)
    torch.testing.assert_close(attention(*first, bias, angles, causal=causal), expected, rtol=0, atol=1e-5)
    first = (x,) if modern else (gather(x, POSITIONS), x)
    read = attention(*first, bias, angles, POSITIONS, causal=causal)
    torch.testing.assert_close(read, gather(expected, POSITIONS), rtol=0, atol=1e-5)


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

    class Own(ModernEncoder if modern else Encoder):
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
    whole = model(tokens, segments, LENGTHS)
    assert whole.isfinite().all()
    read = model(tokens, segments, LENGTHS, POSITIONS)
    torch.testing.assert_close(read, gather(whole, POSITIONS), rtol=0, atol=1e-5)
    changed = tokens.clone()
    changed[:, 3] = 1
    changed[1, 7:] = 2  # padding
    differs = (model(changed, segments, LENGTHS) != whole).any(-1)
    column = torch.arange(TOKENS)
    sees = (column >= 3) | (not causal)
    if name == "window":
        sees &= (column - 3).abs() <= 4
    for row, length in enumerate(LENGTHS.tolist()):
        assert differs[row, :length].tolist() == sees[:length].tolist()


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (
            lambda bias, x: torch.zeros(5, 5),
            r"makes a bias of shape \(5, 5\), torch.float32: give floats of shape \(2 or",
        ),
        (lambda bias, x: torch.zeros(3, 1, 5, 5), r".*: give floats of shape \(2 or 1, 2 or 1, 5 or 1, 5\)"),
        (lambda bias, x: torch.zeros(2, 3, 5, 5), "makes a bias"),
        (lambda bias, x: torch.zeros(1, 1, 4, 5), "makes a bias"),
        (lambda bias, x: torch.zeros(1, 1, 5, 1), "makes a bias"),
        (
            lambda bias, x: torch.ones(1, 1, 5, 5).bool(),
            r"makes a bias of shape \(1, 1, 5, 5\), torch.bool: give floats",
        ),
        (lambda bias, x: "causal", "makes a bias 'causal': give floats"),
    ],
)
def test_a_bias_of_another_form_is_refused(of, says):
    tokens = torch.zeros(2, 5, dtype=torch.long)
    with pytest.raises(ArmFailed, match=rf"^Own\.attention_inputs \(test_layers\.py, line \d+\) {says}"):
        stack(of, modern=False, causal=False)(tokens, tokens)


@pytest.mark.parametrize("returned", [None, [], [(None, None)] * 2, [None], [(None,)], iter([(None, None)])])
def test_inputs_of_other_layers_are_refused(monkeypatch, returned):
    built, tokens = stack(OF_STACK["usual"], modern=False, causal=False), torch.zeros(2, 5, dtype=torch.long)
    monkeypatch.setattr(type(built), "attention_inputs", lambda *given: returned)
    with pytest.raises(ArmFailed, match="return a list of a bias and angles, each perhaps None, for each of 1 layers"):
        built(tokens, tokens)
