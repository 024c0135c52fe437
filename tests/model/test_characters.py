"""Embeddings from characters, compared with the sums that define them (Peters et al. 2018, section 3.4)."""

import pytest
import torch

from bertlab.model.characters import BEGIN, END, PADDING, CharacterCNN
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM
from bertlab.recipe import BiLSTM, Model, Size, cost
from bertlab.recipe.identity import canonical

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##the", "über", "x" * 60, "x" * 70, *"abcdefgh"]
OBJECTIVE = (BidirectionalLM(),)
CONFIG = BiLSTM(layers=2, hidden=16, cells=20, dropout=0.0, embeddings="characters")


def model_of(config=CONFIG):
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
    cnn = model_of().encoder.characters
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
    cnn = model_of().encoder.characters
    assert cnn.spelling[8].tolist() == [BEGIN, *b"x" * 48, END] == cnn.spelling[9].tolist()
    assert cnn.spelling[7].tolist() == spelt("über")
    assert len(spelt("über")) == 50
    assert spelt("über")[:8] == [BEGIN, 0xC3, 0xBC, *b"ber", END, PADDING]


def test_every_weight_has_a_gradient_and_the_output_matrix_is_a_table_of_its_own():
    model, tokens = model_of().train(), torch.tensor([[2, 5, 6, 7, 3], [2, 10, 3, 0, 0]])
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
    model = model_of()
    model.save(tmp_path / "model.safetensors")
    other = PretrainingModel(CONFIG, len(PIECES), 64, 1, OBJECTIVE).double().eval()
    other.load(tmp_path / "model.safetensors")
    other.encoder.spell(PIECES)
    batch = TensorBatch.of(torch.tensor([[2, 5, 6, 3]]))
    assert torch.equal(other.encoder(batch), model.encoder(batch))
