"""ELMo's model: LSTMs of two directions that never meet, as torch's packed LSTM computes them; two Transformers in
their place; embeddings from characters, as the sums that define them (Peters et al. 2018, section 3.4)."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bertlab.errors import BadInput
from bertlab.model.characters import BEGIN, END, PADDING, CharacterCNN
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, CausalLM, MaskedLM, NextSentence
from bertlab.recipe import BiLSTM, BiTransformer, Model, Recipe, Size, cost
from bertlab.recipe.identity import canonical

torch_warns = pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
LENGTHS = torch.tensor([12, 5, 9])
OBJECTIVE = (BidirectionalLM(),)


def model_of(config=None, objective=OBJECTIVE):
    config = config or BiLSTM(layers=2, hidden=16, cells=20, dropout=0.0)
    return PretrainingModel(config, 40, 64, 0, objective).double().eval()


def tokens_of(seed=0):
    return torch.randint(5, 40, (3, 12), generator=torch.Generator().manual_seed(seed))


def torch_lstm(layer):
    lstm = torch.nn.LSTM(layer.input_size, layer.hidden_size, batch_first=True, proj_size=layer.proj_size).double()
    lstm.load_state_dict(layer.state_dict())
    return lstm


def states_of(encoder, tokens, lengths=LENGTHS):
    return encoder.hidden_states(TensorBatch.of(tokens, lengths))


@torch_warns
def test_layers_are_packed_lstms_with_a_skip_connection():
    encoder, tokens = model_of().encoder, tokens_of()
    states = states_of(encoder, tokens)
    embeddings = states[0][..., :8]
    assert torch.equal(embeddings, states[0][..., 8:])
    for half, lstms, mirrored in ((0, encoder.rightward, False), (1, encoder.leftward, True)):
        for row, length in enumerate(LENGTHS.tolist()):
            x = embeddings[row, :length].flip(0) if mirrored else embeddings[row, :length]
            for depth, lstm in enumerate(lstms.layers, 1):
                out = torch_lstm(lstm)(x[None])[0][0]
                x = out if depth == 1 else x + out
                expected = x.flip(0) if mirrored else x
                torch.testing.assert_close(states[depth][row, :length].chunk(2, -1)[half], expected, rtol=0, atol=1e-12)


@torch_warns
def test_one_layer_is_torchs_bidirectional_lstm():
    encoder, tokens = model_of(BiLSTM(layers=1, hidden=16, cells=20, dropout=0.0)).encoder, tokens_of()
    reference = torch.nn.LSTM(8, 20, batch_first=True, bidirectional=True, proj_size=8).double()
    weights = dict(encoder.rightward.layers[0].named_parameters())
    weights |= {f"{name}_reverse": value for name, value in encoder.leftward.layers[0].named_parameters()}
    reference.load_state_dict(weights)
    embedded, last = states_of(encoder, tokens)
    packed = pack_padded_sequence(embedded[..., :8], LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(reference(packed)[0], batch_first=True)
    for row, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(last[row, :length], expected[row, :length], rtol=0, atol=1e-12)


@torch_warns
@pytest.mark.parametrize("padding", [0, 7])
def test_gradients_are_those_of_a_loop_over_the_sequences(padding):
    """Sequences of different lengths in a batch, with more padding than they need, against each by itself in torch's
    LSTMs: forward and backward, in both directions."""
    model, tokens = model_of(), tokens_of()
    factors = torch.randn(3, 12, 16, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    wide = torch.cat((tokens, torch.zeros(3, padding, dtype=torch.long)), 1)
    batched = states_of(model.encoder, wide)[-1]
    real = torch.arange(12) < LENGTHS[:, None]
    (batched[:, :12] * factors)[real].sum().backward()
    gradients = {name: value.grad.clone() for name, value in model.encoder.named_parameters()}
    model.zero_grad()
    for row, length in enumerate(LENGTHS.tolist()):
        x = model.encoder.norm(model.encoder.tokens(tokens[row, :length]))
        for lstms, mirrored, half in ((model.encoder.rightward, False, 0), (model.encoder.leftward, True, 1)):
            y = x.flip(0) if mirrored else x
            for depth, lstm in enumerate(lstms.layers):
                out = torch.func.functional_call(torch_lstm(lstm), dict(lstm.named_parameters()), y[None])[0][0]
                y = out if depth == 0 else y + out
            y = y.flip(0) if mirrored else y
            torch.testing.assert_close(batched[row, :length].chunk(2, -1)[half], y, rtol=0, atol=1e-12)
            (y * factors[row, :length].chunk(2, -1)[half]).sum().backward(retain_graph=True)
    for name, value in model.encoder.named_parameters():
        torch.testing.assert_close(value.grad, gradients[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("changed", [0, 3, 8])
def test_a_changed_token_moves_neither_directions_prediction_of_it(changed):
    model, tokens = model_of(), tokens_of()
    other = tokens.clone()
    other[:, changed] = (tokens[:, changed] - 4) % 35 + 5
    real = torch.arange(12) < LENGTHS[:, None]
    for before, after in zip(states_of(model.encoder, tokens), states_of(model.encoder, other), strict=True):
        moved = [(one != two).any(-1) & real for one, two in zip(before.chunk(2, -1), after.chunk(2, -1), strict=True)]
        (right, left), changes = moved, real[:, changed]
        assert not right[:, :changed].any()
        assert not left[:, changed + 1 :].any()
        assert right[changes, changed].all()
        assert left[changes, changed].all()


def test_at_positions_and_without_padding_vectors_are_the_same():
    encoder, tokens = model_of().encoder, tokens_of()
    whole = states_of(encoder, tokens)[-1]
    positions = torch.tensor([[0, 11, 4], [4, 0, 1], [8, 2, 7]])
    read = encoder.encode(encoder.embed(TensorBatch.of(tokens, LENGTHS))["inputs"], LENGTHS, positions)
    expected = torch.stack([row[chosen] for row, chosen in zip(whole, positions, strict=True)])
    torch.testing.assert_close(read, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(states_of(encoder, tokens[1:2, :5], None)[-1][0], whole[1, :5], rtol=0, atol=1e-12)


def test_a_loss_on_pairs_reads_what_tasks_read_at_cls():
    """The left-to-right half of [CLS] has read [CLS] alone: that of the last token stands for it."""
    model = model_of(objective=(MaskedLM(), NextSentence()))
    batch = TensorBatch.of(tokens_of(), LENGTHS)
    embedded, read_at = model.encoder.embed(batch), {"pairs": None, "masked": torch.tensor([[0, 3], [2, 1], [0, 0]])}
    vectors = model.encoder.read(embedded, batch.lengths, read_at)
    states = states_of(model.encoder, tokens_of())[-1]
    for row, length in enumerate(LENGTHS.tolist()):
        whole = torch.cat((states[row, length - 1, :8], states[row, 0, 8:]))
        torch.testing.assert_close(vectors["pairs"][row], whole, rtol=0, atol=1e-12)
        expected = states[row, read_at["masked"][row]]
        torch.testing.assert_close(vectors["masked"][row], expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(vectors["pairs"], model.encoder(batch)[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("objective", [OBJECTIVE, (MaskedLM(),)], ids=["both directions", "masked"])
def test_counts_are_those_of_the_model(objective):
    config = BiLSTM(layers=3, hidden=16, cells=20)
    count = sum(value.numel() for value in model_of(config, objective).parameters())
    assert cost.parameters(config, 40, 64, objective) == count


def test_operations_are_those_of_its_matrices():
    """Each number of a matrix takes a multiplication and an addition for each token, and logits are of 2 x 11 of 12."""
    config, (objective,) = BiLSTM(layers=2, hidden=16, cells=20), OBJECTIVE
    model = model_of(config)
    matrices = sum(value.numel() for name, value in model.named_parameters() if "weight_" in name)
    assert config.flops_per_token(12, causal=False) == 2 * matrices
    assert objective.flops(config, 40, 12) == 2 * 22 * model.encoder.output_embeddings.numel()


def test_at_the_size_of_the_paper_it_has_the_papers_parameters():
    """Four LSTMs of 4,096 cells and 512 units: 18.9 million each."""
    config = BiLSTM(hidden=1024)
    assert (config.layers, config.units, config.embedding_width) == (2, 4096, 512)
    assert config.shape == "BiLSTM of 2 layers, 1024 wide, 4,096 cells"
    assert config.parameters(0, 0) == pytest.approx(4 * (8 * 4096 * 512 + 4096 * 512 + 8 * 4096), rel=1e-4)


def test_in_a_study_its_layers_are_as_large_as_those_of_the_scale():
    for layers, hidden in ((2, 96), (12, 768)):
        other = Model(layers=layers, hidden=hidden)
        config = BiLSTM(hidden=hidden).scaled(Size(width=4 / 3)).as_large_as(other)
        assert config.hidden == hidden * 4 // 3
        assert config.parameters(0, 0) == pytest.approx(other.parameters(0, 0), rel=0.01)
    assert BiLSTM(hidden=16, cells=20).as_large_as(Model()).cells == 20
    assert BiLSTM(hidden=32).scaled(Size(width=4 / 3)).hidden == 42, "an even width"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BiLSTM(hidden=15), "model.hidden is 15: each direction has half of it"),
        (lambda: BiLSTM(hidden=16, cells=8), "model.cells is 8 and a direction is 8 wide: give more cells"),
        (lambda: Recipe(objective=OBJECTIVE), "bidirectional_lm needs a model that keeps its directions apart"),
        (lambda: Recipe(objective=(CausalLM(),), model=BiLSTM()), "causal_lm predicts from the left alone"),
        (
            lambda: Recipe(objective=(MaskedLM(), BidirectionalLM()), model=BiLSTM()),
            "masked_lm and bidirectional_lm see one side of a token and both: choose one, or give each a share",
        ),
    ],
)
def test_what_it_refuses(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_a_masked_model_learns_on_it():
    recipe = Recipe(objective=(MaskedLM(),), model=BiLSTM(hidden=16))
    assert not recipe.causal
    hidden = model_of(recipe.model, recipe.objective).encoder.hidden_size
    assert hidden == 16


def test_under_autocast_on_the_cpu_lstms_compute_in_full_precision():
    layer = model_of().float().encoder.rightward.layers[0]
    x = torch.randn(3, 12, 8, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        out = layer(x)
    assert out.dtype == torch.float32
    assert torch.equal(out, layer(x))


FIELDS = {"layers": 2, "hidden": 16, "heads": 4, "dropout": 0.0}


def bitransformer(**fields):
    return PretrainingModel(BiTransformer(**FIELDS | fields), 40, 64, 0, OBJECTIVE).double().eval()


def batch_of():
    tokens = torch.randint(5, 40, (3, 12), generator=torch.Generator().manual_seed(0))
    return TensorBatch.of(tokens, LENGTHS)


@pytest.mark.parametrize("positions", ["learned", "rotary"])
@pytest.mark.parametrize("norm_position", ["post", "pre"])
def test_each_half_is_a_causal_encoder_and_counts_are_its_own(positions, norm_position):
    model = bitransformer(positions=positions, norm_position=norm_position)
    encoder, batch = model.encoder, batch_of()
    states = encoder.hidden_states(batch)
    x = states[0][..., :8]
    for row, length in enumerate(LENGTHS.tolist()):
        right = encoder.rightward.encode(x[row : row + 1, :length])[0]
        left = encoder.leftward.encode(x[row : row + 1, :length].flip(1))[0].flip(0)
        torch.testing.assert_close(states[-1][row, :length], torch.cat((right, left), -1), rtol=0, atol=1e-10)
    count = sum(value.numel() for value in model.parameters())
    config = BiTransformer(**FIELDS, positions=positions, norm_position=norm_position)
    assert cost.parameters(config, 40, 64, OBJECTIVE) == count
    assert sum(value.numel() for level in encoder.levels for value in level.parameters()) == count - 40


@pytest.mark.parametrize("changed", [0, 3, 8])
def test_a_changed_token_moves_neither_transformers_prediction_of_it(changed):
    encoder, tokens = bitransformer().encoder, batch_of().tokens
    other = tokens.clone()
    other[:, changed] = (tokens[:, changed] - 4) % 35 + 5
    real = torch.arange(12) < LENGTHS[:, None]
    before, after = (encoder.hidden_states(TensorBatch.of(ids, LENGTHS))[-1].chunk(2, -1) for ids in (tokens, other))
    right, left = ((one - two).abs().amax(-1) * real for one, two in zip(before, after, strict=True))
    assert right[:, :changed].max() < 1e-12 if changed else True
    assert left[:, changed + 1 :].max() < 1e-12
    assert (right[real[:, changed], changed] > 1e-6).all()
    assert (left[real[:, changed], changed] > 1e-6).all()


def test_tasks_read_a_whole_sequence_at_cls():
    encoder, batch = bitransformer().encoder, batch_of()
    states = encoder.hidden_states(batch)[-1]
    whole, read = encoder(batch), encoder(batch, torch.tensor([[0, 4], [3, 0], [0, 0]]))
    for row, length in enumerate(LENGTHS.tolist()):
        summary = torch.cat((states[row, length - 1, :8], states[row, 0, 8:]))
        torch.testing.assert_close(whole[row, 0], summary, rtol=0, atol=1e-10)
        torch.testing.assert_close(whole[row, 1:length], states[row, 1:length], rtol=0, atol=1e-10)
    torch.testing.assert_close(read[0], whole[0, [0, 4]], rtol=0, atol=1e-10)
    torch.testing.assert_close(read[1], whole[1, [3, 0]], rtol=0, atol=1e-10)


def test_it_costs_two_causal_encoders():
    half = Model(layers=2, hidden=8, heads=2)
    assert BiTransformer(**FIELDS).flops_per_token(12, causal=False) == 2 * half.flops_per_token(12, causal=True)
    assert BiTransformer(**FIELDS).half == Model(layers=2, hidden=8, heads=2, dropout=0.0)
    assert Recipe(model=BiTransformer(**FIELDS), objective=OBJECTIVE).model.apart


@pytest.mark.parametrize("fields", [{"heads": 1}, {"hidden": 20, "heads": 5}, {"embedding_size": 8}])
def test_what_a_bitransformer_refuses(fields):
    with pytest.raises(BadInput, match="bitransformer"):
        BiTransformer(**FIELDS | fields)


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##the", "über", "x" * 60, "x" * 70, *"abcdefgh"]

CONFIG = BiLSTM(layers=2, hidden=16, cells=20, dropout=0.0, embeddings="characters")


def model_with_characters(config=CONFIG):
    model = PretrainingModel(config, len(PIECES), 64, 0, OBJECTIVE).double().eval()
    model.encoder.spell(PIECES)
    return model


def spelt(piece):
    """The fifty characters of a piece."""
    ids = [BEGIN, *piece.encode()[:48], END]
    return ids + [PADDING] * (50 - len(ids))


def vector_of(cnn, piece):
    """The vector of one piece, filter by filter and place by place."""
    characters = [cnn.embeddings.weight[number] for number in spelt(piece)]
    features = []
    for convolution in cnn.convolutions:
        size = convolution.kernel_size[0]
        for weight, bias in zip(convolution.weight, convolution.bias, strict=True):
            windows = [torch.stack(characters[start : start + size], 1) for start in range(50 - size + 1)]
            features.append(max((weight * window).sum() + bias for window in windows).clamp(min=0))
    x = torch.stack(features)
    for highway in cnn.highways:
        gate = 1 / (1 + torch.exp(-(highway.gate.weight @ x + highway.gate.bias - 2)))
        x = gate * (highway.transform.weight @ x + highway.transform.bias).clamp(min=0) + (1 - gate) * x
    return cnn.projection.weight @ x + cnn.projection.bias


def test_a_vector_is_what_the_definition_gives():
    cnn = model_with_characters().encoder.characters
    for value in cnn.parameters():
        torch.nn.init.normal_(value, std=0.3)
    tokens = torch.tensor([[2, 5, 6, 3], [7, 5, 8, 4]])
    vectors = cnn(tokens)
    for row, ids in enumerate(tokens.tolist()):
        for column, number in enumerate(ids):
            torch.testing.assert_close(vectors[row, column], vector_of(cnn, PIECES[number]), rtol=0, atol=1e-10)
    assert torch.equal(vectors[0, 1], vectors[1, 1])
    assert not torch.allclose(vectors[0, 1], vectors[0, 2]), "a piece inside of a word is another one"


def test_long_pieces_are_cut():
    cnn = model_with_characters().encoder.characters
    assert cnn.spelling[8].tolist() == [BEGIN, *b"x" * 48, END] == cnn.spelling[9].tolist()
    assert cnn.spelling[7].tolist() == spelt("über")
    assert len(spelt("über")) == 50
    assert spelt("über")[:8] == [BEGIN, 0xC3, 0xBC, *b"ber", END, PADDING]


def test_every_weight_has_a_gradient_and_the_output_matrix_is_a_table_of_its_own():
    model, tokens = model_with_characters().train(), torch.tensor([[2, 5, 6, 7, 3], [2, 10, 3, 0, 0]])
    lengths = torch.tensor([5, 3])
    arrays = {"following": tokens[:, 1:], "preceding": tokens[:, :-1], "weights": torch.ones(2, 4)}
    model.losses(TensorBatch.of(tokens, lengths, {"bidirectional_lm": arrays}))["bidirectional_lm"].backward()
    assert all(value.grad is not None and value.grad.any() for value in model.parameters())
    assert model.encoder.output_embeddings is model.encoder.tokens.weight
    values = {value for level in model.encoder.levels for value in level.parameters()}
    assert values == {*model.encoder.parameters()}


@pytest.mark.parametrize("hidden", [16, 42])
def test_parameters_are_those_of_the_model(hidden):
    config = BiLSTM(layers=2, hidden=hidden, cells=40, embeddings="characters")
    count = sum(value.numel() for value in PretrainingModel(config, 40, 64, 0, OBJECTIVE).parameters())
    assert cost.parameters(config, 40, 64, OBJECTIVE) == count


def test_at_the_papers_size_it_has_the_papers_filters():
    """2,048 filters, of the widths that the released code has; two highway layers; a projection to 512."""
    config = BiLSTM(hidden=1024, embeddings="characters")
    assert config.filters == ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    with torch.device("meta"):
        cnn = CharacterCNN(10, config.embedding_width, config.filters)
    assert [tuple(layer.transform.weight.shape) for layer in cnn.highways] == [(2048, 2048)] * 2
    assert tuple(cnn.projection.weight.shape) == (512, 2048)
    assert cnn.embeddings.embedding_dim == 16


def test_a_model_without_it_is_what_it_was():
    assert canonical(BiLSTM(embeddings="tokens")) == canonical(BiLSTM())
    names = {name for name, _ in PretrainingModel(BiLSTM(hidden=16, cells=20), 40, 64, 0, OBJECTIVE).named_parameters()}
    assert not any("characters" in name for name in names)
    assert BiLSTM(hidden=16).scaled(Size(width=2)).as_large_as(Model(layers=2, hidden=16, heads=2)).units > 16


def test_the_spelling_is_that_of_the_tokenizer_and_in_no_file(tmp_path):
    model = model_with_characters()
    model.save(tmp_path / "model.safetensors")
    other = PretrainingModel(CONFIG, len(PIECES), 64, 1, OBJECTIVE).double().eval()
    other.load(tmp_path / "model.safetensors")
    other.encoder.spell(PIECES)
    batch = TensorBatch.of(torch.tensor([[2, 5, 6, 3]]))
    assert torch.equal(other.encoder(batch), model.encoder(batch))
