"""T5 checkpoints: the reference implementation's vectors and logits are ours, both ways, with its tokenizer."""

import json

import pytest
import torch

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch, TensorStream
from bertlab.objectives import PrefixLM
from bertlab.recipe.identity import canonical
from bertlab.recipe.objective import INPUTS
from bertlab.text.tokenizers import WordPiece
from random_weights import perturbed
from started import assert_adapted

PADDED = 5
"""The token table has entries beyond the vocabulary."""
SIZE = {"layers": 2, "hidden": 32, "heads": 4, "dropout": 0.0, "max_positions": 512}
VERSION_1_1 = {"gated": True, "tied": False, "intermediate": 48, "decoder_layers": 3}


@pytest.fixture(scope="module")
def tokenizer():
    """A WordPiece with eight sentinels."""
    return WordPiece(vocabulary=90, sentinels=8).train(["the cat sat on the mat, and the dog barked"] * 3)


@pytest.fixture(scope="module", params=["1.0", "1.1"])
def checkpoint(request, tokenizer, tmp_path_factory):
    """A small random T5 of each version as transformers saves it."""
    from transformers import T5Config, T5ForConditionalGeneration

    folder, newer = tmp_path_factory.mktemp("checkpoints") / "tiny-t5", request.param == "1.1"
    config = T5Config(
        vocab_size=tokenizer.size + PADDED, d_model=32, d_kv=8, d_ff=48 if newer else 128, num_layers=2, num_heads=4,
        num_decoder_layers=3 if newer else 2, dropout_rate=0.0, feed_forward_proj="gated-gelu" if newer else "relu",
        tie_word_embeddings=not newer, pad_token_id=tokenizer.pad, eos_token_id=tokenizer.sep,
    )  # fmt: skip
    torch.manual_seed(0)
    theirs = T5ForConditionalGeneration(config)
    if newer:
        theirs.lm_head.weight = torch.nn.Parameter(theirs.lm_head.weight.detach() * 0.3)
    perturbed(theirs).save_pretrained(folder)
    tokenizer.write(folder, 512, 0)
    return folder


def logits_of(ours, tokens, lengths, written):
    loss = PrefixLM()
    streams = {INPUTS: TensorStream(tokens, lengths), "outputs": TensorStream(written)}
    arrays = {loss.kind: {"weights": torch.ones(written.shape)}}
    with torch.no_grad():
        return ours.eval().logits(TensorBatch(streams, arrays), loss.kind)


def assert_same(ours, theirs, pad):
    generator = torch.Generator().manual_seed(1)
    size = len(ours.encoder.output_embeddings)
    tokens = torch.randint(5, size, (4, 40), generator=generator)
    written = torch.randint(5, size, (4, 9), generator=generator)
    lengths = torch.tensor([40, 3, 17, 10])
    real = torch.arange(40) < lengths[:, None]
    tokens[~real] = pad
    with torch.no_grad():
        expected = theirs.eval()(input_ids=tokens, attention_mask=real.long(), decoder_input_ids=written)
        memory = ours.eval().encoder(TensorBatch.of(tokens, lengths))
    torch.testing.assert_close(memory[real], expected.encoder_last_hidden_state[real], rtol=0, atol=2e-5)
    assert expected.logits.std() > 0.1
    logits = logits_of(ours, tokens, lengths, written)
    torch.testing.assert_close(logits, expected.logits[..., :size], rtol=0, atol=2e-5)


def test_theirs_is_read_with_its_vectors_and_logits(checkpoint, tokenizer):
    from transformers import T5ForConditionalGeneration

    described, ours, read = huggingface.read(checkpoint)
    fields = VERSION_1_1 if described.model.gated else {}
    assert described.model == recipe.T5(**SIZE, **fields)
    assert described.objective == (PrefixLM(),)
    assert read.vocabulary == tokenizer.vocabulary
    assert read.sentinels.tolist() == tokenizer.sentinels.tolist()
    assert described.tokenizer.sentinels == 8
    assert read.encode(["the <extra_id_0> cat"]) == tokenizer.encode(["the <extra_id_0> cat"])
    assert_same(ours, T5ForConditionalGeneration.from_pretrained(checkpoint), tokenizer.pad)


@pytest.mark.parametrize(
    "fields", [{}, VERSION_1_1, {"gated": True}, {"buckets": 16, "distance": 20}, {"shared": True}], ids=str
)
def test_ours_is_written_with_its_logits_and_read_back_whole(fields, tokenizer, tmp_path):
    from transformers import T5ForConditionalGeneration

    model = recipe.T5(**SIZE, **fields)
    ours = perturbed(PretrainingModel(model, tokenizer.size, 512, 0, (PrefixLM(),)))
    huggingface.write(tmp_path / "out", ours, model, tokenizer)
    theirs, report = T5ForConditionalGeneration.from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert_same(ours, theirs, tokenizer.pad)
    described, again, _ = huggingface.read(tmp_path / "out")
    assert canonical(described.model) == canonical(model.unshared)
    assert_same(again, theirs, tokenizer.pad)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == ["T5ForConditionalGeneration"]
    assert (config["decoder_start_token_id"], config["eos_token_id"]) == (tokenizer.pad, tokenizer.sep)


def test_a_stack_alone_is_not_written(tokenizer, tmp_path):
    model = recipe.T5(**SIZE, structure="decoder")
    ours = PretrainingModel(model, tokenizer.size, 512, 0, (PrefixLM(),))
    with pytest.raises(BadInput, match="a T5 has an encoder and a decoder"):
        huggingface.write(tmp_path / "out", ours, model, tokenizer)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d_kv": 64}, "d_kv 64: only models with 8"),
        ({"feed_forward_proj": "gated-silu"}, "feed_forward_proj 'gated-silu': only models with relu"),
        ({"is_decoder": True}, "is_decoder True"),
        ({"num_heads": 0}, r"model\.heads is 0"),
        ({"relative_attention_num_buckets": 30}, "buckets must be a multiple of 4"),
        ({"num_decoder_layers": 1}, "no place for decoder.block.1"),
        ({"decoder_start_token_id": 2}, "decoder_start_token_id 2: with this tokenizer, only models with 0"),
        ({"eos_token_id": [3, 5]}, r"eos_token_id \[3, 5\]: with this tokenizer, only models with 3"),
    ],
)
def test_what_cannot_be_read_is_one_line(change, message, checkpoint, tmp_path):
    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((checkpoint / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(BadInput, match=message) as error:
        huggingface.read(tmp_path)
    assert "\n" not in str(error.value)


def test_its_encoder_is_adapted(checkpoint, call, tmp_path):
    assert_adapted(checkpoint, call, tmp_path / "runs", ("questions", "finetune"))
