"""ModernBERT checkpoints: the reference implementation's vectors and logits are ours, both ways, with its tokenizer."""

import json

import pytest
import torch

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.recipe.identity import canonical
from bertlab.text.tokenizers import ModernBPE
from random_weights import perturbed
from started import assert_adapted, assert_fills_masks

TOKENS, PADDED = 200, 7
"""The window of 8 is short of most sequences; the token table has entries beyond the vocabulary."""
SIZE = {"layers": 5, "hidden": 32, "heads": 2, "max_positions": TOKENS, "layer_norm_eps": 1e-5, "dropout": 0.0}
MODEL = recipe.ModernBert(**SIZE, intermediate=40, window=8)


@pytest.fixture(scope="module")
def tokenizer():
    return ModernBPE(vocabulary=300, add_prefix_space=False).train(["the cat sat on the mat, and the dog barked"] * 3)


@pytest.fixture(scope="module")
def checkpoint(tokenizer, tmp_path_factory):
    """A small random ModernBERT as transformers saves it."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    folder = tmp_path_factory.mktemp("checkpoints") / "tiny-modernbert"
    ids = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"))
    config = ModernBertConfig(
        vocab_size=tokenizer.size + PADDED, hidden_size=32, num_hidden_layers=5, num_attention_heads=2,
        intermediate_size=40, max_position_embeddings=TOKENS, local_attention=8, pad_token_id=tokenizer.pad, **ids,
    )  # fmt: skip
    torch.manual_seed(0)
    perturbed(ModernBertForMaskedLM(config)).save_pretrained(folder)
    tokenizer.write(folder, TOKENS, 1)
    return folder


def assert_same(ours, theirs, pad):
    generator = torch.Generator().manual_seed(1)
    size = len(ours.encoder.embeddings.tokens.weight)
    tokens = torch.randint(5, size, (4, TOKENS), generator=generator)
    lengths = torch.tensor([TOKENS, 3, 170, 10])
    real = torch.arange(TOKENS) < lengths[:, None]
    tokens[~real] = pad
    segments = torch.randint(0, 2, tokens.shape, generator=generator)  # which change nothing
    every = {MaskedLM.kind: {"positions": torch.arange(TOKENS).expand_as(tokens)}}
    with torch.no_grad():
        expected = theirs.eval()(input_ids=tokens, attention_mask=real.long(), output_hidden_states=True)
        states = ours.eval().encoder.hidden_states(TensorBatch.of(tokens, lengths, segments=segments))
        logits = ours.logits(TensorBatch.of(tokens, lengths, every, segments=segments), MaskedLM.kind)
    assert len(states) == len(expected.hidden_states) == 6
    for found, wanted in zip(states, expected.hidden_states, strict=True):
        torch.testing.assert_close(found[real], wanted[real], rtol=0, atol=1e-5)
    assert expected.logits.std() > 0.1
    torch.testing.assert_close(logits[real], expected.logits[real][:, :size], rtol=0, atol=1e-5)


def test_theirs_is_read_with_its_vectors_and_logits(checkpoint, tokenizer):
    from transformers import ModernBertForMaskedLM

    found, ours, read = huggingface.read(checkpoint)
    assert found.model == MODEL
    assert found.objective == (MaskedLM(),)
    assert read.data == tokenizer.data
    assert huggingface.predicts(checkpoint)
    assert_same(ours, ModernBertForMaskedLM.from_pretrained(checkpoint), tokenizer.pad)


@pytest.mark.parametrize(
    "fields",
    [
        {"intermediate": 40, "window": 8},
        {"global_every": 2, "window": 5, "global_base": 9_000.0, "local_base": 300.0, "activation": "gelu_new"},
        {"global_every": 1},
    ],
)
def test_ours_is_written_with_its_logits_and_read_back_whole(fields, tokenizer, tmp_path):
    from transformers import ModernBertForMaskedLM

    model = recipe.ModernBert(**SIZE, **fields)
    ours = perturbed(PretrainingModel(model, tokenizer.size, TOKENS, 0, (MaskedLM(),)))
    huggingface.write(tmp_path / "out", ours, model, tokenizer)
    theirs, report = ModernBertForMaskedLM.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert_same(ours, theirs, tokenizer.pad)
    found, again, _ = huggingface.read(tmp_path / "out")
    assert canonical(found.model) == canonical(model)
    read = dict(again.named_parameters())
    assert all(torch.equal(value, read[name]) for name, value in ours.named_parameters())


def test_the_older_config_of_published_checkpoints_is_read(checkpoint, tmp_path):
    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((checkpoint / "config.json").read_text())
    for newer in ("layer_types", "rope_parameters"):
        del config[newer]
    older = {"global_attn_every_n_layers": 2, "global_rope_theta": 80_000.0, "layer_norm_eps": 1e-3}
    (tmp_path / "config.json").write_text(json.dumps(config | older | {"position_embedding_type": "absolute"}))
    found, _, _ = huggingface.read(tmp_path)
    assert found.model == recipe.ModernBert(**SIZE, intermediate=40, window=8, global_every=2, global_base=80_000.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm_bias": True}, "norm_bias True: only models with False"),
        ({"mlp_bias": True}, "mlp_bias True"),
        ({"decoder_bias": False}, "decoder_bias False: only models with True"),
        ({"hidden_activation": "silu"}, "hidden_activation 'silu'"),
        ({"classifier_activation": "silu"}, "classifier_activation 'silu': only models with gelu"),
        ({"attention_dropout": 0.1}, "attention_dropout 0.1: only models with 0.0"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling"),
        ({"rope_parameters": {"full_attention": {"rope_type": "yarn", "rope_theta": 1e4}}}, "has rope_parameters"),
        ({"rope_parameters": [1]}, "has rope_parameters"),
        ({"rope_parameters": {"full_attention": {"rope_theta": "x"}}}, "not the config of a model"),
        ({"layer_types": ["sliding_attention"] * 5}, "has layer_types"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "has layer_types"),
        ({"local_attention": 1}, r"model\.window is 1"),
        ({"layer_types": None, "global_attn_every_n_layers": 0}, r"model\.global_every is 0"),
        ({"num_hidden_layers": "5"}, r"model\.layers is '5'"),
        ({"num_hidden_layers": 10**12, "layer_types": None}, r"model\.layers is 1000000000000"),
        ({"num_hidden_layers": 4, "layer_types": None}, r"no place for model\.layers\.4\."),
        ({"is_decoder": True}, "is_decoder True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings False"),
    ],
)
def test_what_cannot_be_read_is_one_line(change, message, checkpoint, tmp_path):
    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((checkpoint / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadInput, match=message) as raised:
        huggingface.read(tmp_path)
    assert "\n" not in str(raised.value)


def test_left_to_right_is_not_written(tokenizer, tmp_path):
    ours = PretrainingModel(MODEL, tokenizer.size, TOKENS, 0, (CausalLM(),))
    with pytest.raises(BadInput, match=r"no architecture for 5 layers, 32 wide, 2 heads, ModernBERT, .*left to right"):
        huggingface.write(tmp_path / "out", ours, MODEL, tokenizer)


def test_it_is_adapted_fills_masks_and_is_written(checkpoint, call, tmp_path, capsys):
    runs = tmp_path / "runs"
    assert_adapted(checkpoint, call, runs, ("entities", "finetune"), ("entities", "features"))
    assert_fills_masks(checkpoint, call, runs, capsys)
    assert call("export", "tiny-modernbert", tmp_path / "out", "--runs", runs) == 0
    assert "the ModernBERT checkpoint of" in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "config.json").read_text())["model_type"] == "modernbert"
