"""LoRA computes and trains what `peft` does with a transformers model of the same weights."""

import pytest
import torch
from torch.nn import functional
from transformers import BertModel

from bertlab.adaptation import LoRA
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface, peft
from bertlab.model.streams import TensorBatch
from bertlab.recipe import T5, Model, ModernBert
from bertlab.tasks import kinds
from bertlab.text.tokenizers import WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from random_weights import perturbed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{number}" for number in range(35))]
MATRICES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "fc1": "intermediate.dense",
    "fc2": "output.dense",
}
OF_ATTENTION = ("query", "key", "value")  # one linear layer of ours
RANK, ALPHA, LAYERS = 3, 12.0, 2

# peft reads a name of a model that transformers is to rename
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture
def written(tmp_path):
    """Our model, and the folder of the same one for transformers."""
    shape = Model(layers=LAYERS, hidden=16, heads=2, max_positions=32, dropout=0.0)
    ours = perturbed(PretrainingModel(shape, len(WORDS), 32, 0))
    huggingface.write(tmp_path / "out", ours, shape, TrainedWordPiece(WORDS, WordPiece(lowercase=False)))
    return ours, tmp_path / "out"


def changes(encoder, matrix, among=OF_ATTENTION):
    """Our A and B of a matrix, layer by layer; of the attention, those `among` are changed."""
    layers = []
    for layer in encoder.layers:
        linear = {
            "output": layer.attention.out_proj,
            "fc1": layer.mlp.fc1,
            "fc2": layer.mlp.fc2,
        }.get(matrix, layer.attention.qkv_proj)
        layers.append(linear.parametrizations.weight[among.index(matrix) if matrix in among else 0])
    return layers


def test_vectors_and_gradients_are_those_of_peft_before_and_after_updates(written):
    from peft import LoraConfig, get_peft_model

    ours, folder = written
    encoder = LoRA(rank=RANK, alpha=ALPHA, matrices=tuple(MATRICES)).encoder(ours.eval(), ("lora", 0, 0))
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=[*MATRICES.values()], lora_dropout=0.0)
    theirs = get_peft_model(BertModel.from_pretrained(folder, add_pooling_layer=False), config).eval()
    layers = theirs.base_model.model.encoder.layer
    pairs, generator = [], torch.Generator().manual_seed(0)
    for matrix, path in MATRICES.items():
        for layer, change in zip(layers, changes(encoder, matrix), strict=True):
            linear = layer.get_submodule(path)
            down, up = linear.lora_A["default"].weight, linear.lora_B["default"].weight
            with torch.no_grad():
                change.up.copy_(0.1 * torch.randn(change.up.shape, generator=generator))
                down.copy_(change.down)
                up.copy_(change.up)
            pairs += [(change.down, down), (change.up, up)]
    assert len(pairs) == 2 * LAYERS * len(MATRICES) == sum(value.requires_grad for value in encoder.parameters())
    assert {id(value) for _, value in pairs} == {id(value) for value in theirs.parameters() if value.requires_grad}

    tokens = torch.randint(5, len(WORDS), (3, 12), generator=generator)
    segments, lengths = torch.zeros_like(tokens), torch.tensor([12, 7, 9])
    real = torch.arange(12) < lengths[:, None]
    target = torch.randn(3, 12, 16, generator=generator)
    optimizers = [torch.optim.SGD([pair[side] for pair in pairs], lr=0.05) for side in (0, 1)]
    for _ in range(3):
        vectors = encoder(TensorBatch.of(tokens, lengths, segments=segments))
        expected = theirs(input_ids=tokens, token_type_ids=segments, attention_mask=real.long()).last_hidden_state
        torch.testing.assert_close(vectors[real], expected[real], rtol=0, atol=1e-5)
        for optimizer, states in zip(optimizers, (vectors, expected), strict=True):
            optimizer.zero_grad()
            functional.mse_loss(states[real], target[real], reduction="sum").backward()
        for mine, its in pairs:
            assert its.grad.any()
            torch.testing.assert_close(mine.grad, its.grad, rtol=1e-3, atol=1e-3)
        for optimizer in optimizers:
            optimizer.step()


def test_merged_weights_are_those_that_peft_merges(written):
    from peft import LoraConfig, get_peft_model

    ours, folder = written
    setting = LoRA(rank=RANK, alpha=ALPHA)
    encoder = setting.encoder(ours.eval(), ("lora", 0, 0))
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=["query", "value"])
    theirs = get_peft_model(BertModel.from_pretrained(folder, add_pooling_layer=False), config)
    for matrix in setting.matrices:
        for layer, change in zip(
            theirs.base_model.model.encoder.layer, changes(encoder, matrix, setting.matrices), strict=True
        ):
            torch.nn.init.normal_(change.up)
            linear = layer.get_submodule(MATRICES[matrix])
            with torch.no_grad():
                linear.lora_A["default"].weight.copy_(change.down)
                linear.lora_B["default"].weight.copy_(change.up)
    setting.merge(encoder)
    merged = theirs.merge_and_unload()
    for layer, its in zip(encoder.layers, merged.encoder.layer, strict=True):
        expected = torch.cat([its.get_submodule(MATRICES[name]).weight for name in OF_ATTENTION])
        torch.testing.assert_close(layer.attention.qkv_proj.weight, expected, rtol=1e-5, atol=1e-6)


def test_both_matrices_of_a_gated_feed_forward_network_are_changed_as_peft_changes_them(tmp_path):
    from peft import PeftModel
    from transformers import T5ForConditionalGeneration

    shape = T5(layers=1, hidden=16, heads=2, max_positions=32, dropout=0.0, gated=True, tied=False)
    tokenizer = TrainedWordPiece(WORDS, WordPiece(lowercase=False))
    ours = perturbed(PretrainingModel(shape, len(WORDS), 32, 0))
    huggingface.write(tmp_path / "base", ours, shape, tokenizer)
    setting = LoRA(rank=RANK, alpha=ALPHA, matrices=tuple(MATRICES))
    model = setting.adapt(ours.eval(), kinds.find("text-to-text"), (), ("lora", 0, 0)).eval()
    generator = torch.Generator().manual_seed(0)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    with torch.no_grad():
        for value in trained.values():
            value.copy_(0.1 * torch.randn(value.shape, generator=generator))
    of_gate = [value for name, value in trained.items() if ".mlp.gated.fc1." in name and name.endswith(".up")]
    assert [value.shape for value in of_gate] == [(2 * shape.feedforward, RANK)] * 2
    changes = [*setting.low_rank_changes(trained)]
    (tmp_path / "adapter").mkdir()
    peft.write(tmp_path / "adapter", trained, changes, ours, shape, tokenizer, "ConditionalGeneration")
    theirs = PeftModel.from_pretrained(
        T5ForConditionalGeneration.from_pretrained(tmp_path / "base"), tmp_path / "adapter"
    ).eval()
    tokens, outputs = torch.randint(5, len(WORDS), (2, 9), generator=generator), torch.tensor([[0, 7, 8], [0, 9, 6]])
    with torch.no_grad():
        expected = theirs(input_ids=tokens, decoder_input_ids=outputs).logits
        torch.testing.assert_close(model(TensorBatch.of(tokens, None), outputs), expected, rtol=1e-4, atol=1e-4)


def adapted(shape, folder):
    """A tagger with changes that are not zero, and the logits that it gives and its adapter in peft."""
    import transformers
    from peft import PeftModel

    tokenizer = TrainedWordPiece(WORDS, WordPiece(lowercase=False))
    ours, plain = (perturbed(PretrainingModel(shape, len(WORDS), 32, 0)) for _ in range(2))
    huggingface.write(folder / "base", plain, shape, tokenizer)
    setting, generator = LoRA(rank=RANK, alpha=ALPHA, matrices=tuple(MATRICES)), torch.Generator().manual_seed(0)
    model = setting.adapt(ours.eval(), kinds.find("tagging"), ("a", "b", "c"), ("lora", 0, 0)).eval()
    values = {id(value): name for name, value in model.state_dict(keep_vars=True).items() if value.requires_grad}
    trained = {name: model.get_parameter(name) for name in values.values()}
    with torch.no_grad():
        for value in trained.values():
            value.copy_(0.2 * torch.randn(value.shape, generator=generator))
    (folder / "adapter").mkdir()
    changes = [*setting.low_rank_changes(trained)]
    name = peft.write(folder / "adapter", trained, changes, plain, shape, tokenizer, "TokenClassification")
    theirs = getattr(transformers, name).from_pretrained(folder / "base", num_labels=3)
    theirs = PeftModel.from_pretrained(theirs, folder / "adapter").eval()
    tokens = torch.randint(5, len(WORDS), (2, 9), generator=generator)
    with torch.no_grad():
        return model(TensorBatch.of(tokens, None)), theirs(input_ids=tokens).logits


@pytest.mark.parametrize("sharing", ["none", "attention", "feed-forward", "all"])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_a_matrix_that_layers_share_is_changed_in_each_of_them(tmp_path, sharing, positions):
    shape = Model(layers=3, hidden=16, heads=2, max_positions=32, dropout=0.0, sharing=sharing, positions=positions)
    torch.testing.assert_close(*adapted(shape, tmp_path), rtol=1e-4, atol=1e-4)


def test_an_adapter_on_what_would_compute_something_else_is_refused(tmp_path):
    with pytest.raises(BadInput, match="exported pre-training: leave out --adapter"):
        adapted(ModernBert(layers=2, hidden=16, heads=2, max_positions=32, dropout=0.0), tmp_path)
