"""RoBERTa checkpoints: the reference implementation's logits are ours, both ways, with its tokenizer's files."""

import dataclasses
import json
import shutil

import pytest
import torch

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import MaskedLM
from bertlab.recipe.identity import canonical
from bertlab.text.tokenizers import SPECIALS, ByteLevelBPE
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from random_weights import perturbed
from started import assert_adapted, assert_fills_masks

TOKENS = 48
MODEL = recipe.Model(
    layers=2, hidden=32, heads=2, intermediate=64, max_positions=TOKENS, segments=1, layer_norm_eps=1e-5
)


@pytest.fixture(scope="module")
def tokenizer():
    return ByteLevelBPE(vocabulary=300, add_prefix_space=False).train(
        ["the cat sat on the mat, and the dog barked"] * 3
    )


@pytest.fixture(scope="module", params=["Roberta", "RobertaPreLayerNorm"])
def checkpoint(request, tokenizer, tmp_path_factory):
    """A small random RoBERTa as transformers saves it."""
    import transformers

    folder = tmp_path_factory.mktemp("checkpoints") / f"tiny-{request.param}"
    config = getattr(transformers, f"{request.param}Config")(
        vocab_size=tokenizer.size, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=TOKENS + 2, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1,
    )  # fmt: skip
    torch.manual_seed(0)
    perturbed(getattr(transformers, f"{request.param}ForMaskedLM")(config)).save_pretrained(folder)
    tokenizer.write(folder, TOKENS, 1)
    return folder


def assert_same_logits(ours, theirs, pad):
    generator = torch.Generator().manual_seed(1)
    size = len(ours.encoder.embeddings.tokens.weight)
    tokens = torch.randint(5, size, (4, TOKENS), generator=generator)
    lengths = torch.tensor([TOKENS, 3, 17, 10])
    real = torch.arange(TOKENS) < lengths[:, None]
    tokens[~real] = pad
    segments = torch.randint(0, 2, tokens.shape, generator=generator)
    seen = {} if theirs.config.type_vocab_size == 1 else {"token_type_ids": segments}  # of one, they change nothing
    every = {MaskedLM.kind: {"positions": torch.arange(TOKENS).expand_as(tokens)}}
    with torch.no_grad():
        expected = theirs.eval()(input_ids=tokens, attention_mask=real.long(), **seen).logits
        found = ours.eval().logits(TensorBatch.of(tokens, lengths, every, segments=segments), MaskedLM.kind)
    assert expected.std() > 0.1
    torch.testing.assert_close(found[real], expected[real], rtol=0, atol=1e-5)


def test_theirs_is_read_with_its_logits_and_its_tokens(checkpoint, tokenizer):
    from transformers import AutoModelForMaskedLM

    found, ours, read = huggingface.read(checkpoint)
    norm_position = "pre" if "PreLayerNorm" in checkpoint.name else "post"
    assert canonical(found.model) == canonical(dataclasses.replace(MODEL, norm_position=norm_position))
    assert found.objective == (MaskedLM(),)
    assert isinstance(found.tokenizer, ByteLevelBPE)
    assert not found.tokenizer.add_prefix_space
    assert read.data == tokenizer.data
    assert huggingface.predicts(checkpoint)
    assert_same_logits(ours, AutoModelForMaskedLM.from_pretrained(checkpoint), tokenizer.pad)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "RobertaForMaskedLM"),
        ({"norm_position": "pre"}, "RobertaPreLayerNormForMaskedLM"),
        ({"activation": "gelu_new"}, "BertForMaskedLM"),  # RoBERTa's LM head has gelu
    ],
)
def test_ours_is_written_with_its_logits_and_read_back_whole(fields, name, tokenizer, tmp_path):
    import transformers

    model = dataclasses.replace(MODEL, **fields)
    ours = perturbed(PretrainingModel(model, tokenizer.size, TOKENS, 0, (MaskedLM(),)))
    huggingface.write(tmp_path / "out", ours, model, tokenizer)
    theirs, report = getattr(transformers, name).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert_same_logits(ours, theirs, tokenizer.pad)
    found, again, _ = huggingface.read(tmp_path / "out")
    assert canonical(found.model) == canonical(model)
    read = dict(again.named_parameters())
    assert all(torch.equal(value, read[name]) for name, value in ours.named_parameters())


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({}, "BertForMaskedLM"),
        ({"norm_position": "pre", "segments": 2}, "RobertaPreLayerNormForMaskedLM"),
        ({"norm_position": "pre", "sharing": "all"}, "RobertaPreLayerNormForMaskedLM"),
    ],
)
def test_padding_of_bert_is_written_as_a_bert_or_in_pre_norm(fields, name, tmp_path):
    from transformers import AutoModelForMaskedLM

    words = TrainedWordPiece([*SPECIALS, *(f"word{number}" for number in range(30))])
    model = dataclasses.replace(MODEL, **fields)
    ours = perturbed(PretrainingModel(model, words.size, TOKENS, 0, (MaskedLM(),)))
    huggingface.write(tmp_path / "out", ours, model, words)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == [name]
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "out")
    assert_same_logits(ours, theirs, words.pad)
    found, again, _ = huggingface.read(tmp_path / "out")
    assert canonical(found.model) == canonical(dataclasses.replace(model, sharing="none"))
    assert_same_logits(again, theirs, words.pad)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pad_token_id": 0}, r"pad_token_id 0|pads with the id 1, config\.json says 0"),
        ({"is_decoder": True}, "is_de"),
        ({"hidden_act": "gelu_new"}, "hidden_act 'gelu_new': only models with gelu can be read"),
    ],
)
def test_what_is_no_roberta_or_computes_something_else_is_refused(change, message, checkpoint, tmp_path):
    shutil.copytree(checkpoint, tmp_path, dirs_exist_ok=True)
    config = json.loads((checkpoint / "config.json").read_text()) | change
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadInput, match=message):
        huggingface.read(tmp_path)


def test_it_is_fine_tuned_and_fills_masks(checkpoint, call, tmp_path, capsys):
    assert_adapted(checkpoint, call, tmp_path / "runs", ("questions", "finetune"))
    assert_fills_masks(checkpoint, call, tmp_path / "runs", capsys)
