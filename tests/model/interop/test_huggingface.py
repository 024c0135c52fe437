"""Checkpoints in the transformers format: the reference implementation's logits are ours, both ways."""

import dataclasses
import json

import pytest
import torch

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import checkpoint, huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM, NextSentence
from bertlab.text.tokenizers import ByteLevelBPE, WordPiece
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from random_weights import perturbed

TOKENS = 24
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{number}" for number in range(85))]


def described(positions):
    return recipe.Model(layers=3, hidden=64, heads=4, positions=positions, max_positions=TOKENS, dropout=0.1)


def inputs():
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(5, len(WORDS), (4, TOKENS), generator=generator)
    return tokens, torch.randint(0, 2, tokens.shape, generator=generator), torch.tensor([TOKENS, 3, 17, 10])


def reference(positions, causal=False):
    """A random model of the reference implementation."""
    from transformers import BertConfig, RoFormerConfig

    sizes = {
        "vocab_size": len(WORDS), "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 256, "max_position_embeddings": TOKENS, "layer_norm_eps": 1e-12,
        "is_decoder": causal,
    }  # fmt: skip
    if positions == "learned":
        return perturbed(kind(positions, causal)(BertConfig(**sizes)))
    model = kind(positions, causal)(RoFormerConfig(**sizes, embedding_size=64))
    table = model.roformer.encoder.embed_positions.weight.clone()
    perturbed(model).roformer.encoder.embed_positions.weight.data.copy_(table)
    return model


def kind(positions, causal):
    """The class of the reference implementation."""
    import transformers

    if causal:
        return transformers.BertLMHeadModel if positions == "learned" else transformers.RoFormerForCausalLM
    return transformers.BertForPreTraining if positions == "learned" else transformers.RoFormerForMaskedLM


def assert_same_logits(ours, theirs, padded):
    tokens, segments, lengths = inputs()
    if not padded:
        lengths = torch.full_like(lengths, TOKENS)
    real = torch.arange(TOKENS) < lengths[:, None]
    every = torch.arange(TOKENS).expand_as(tokens)
    with torch.no_grad():
        expected = theirs.eval()(input_ids=tokens, token_type_ids=segments, attention_mask=real.long())
        arrays = {loss.kind: {"positions": every} for loss in ours.objective}
        batch = TensorBatch.of(tokens, lengths if padded else None, arrays, segments=segments)
        masked, *relation = (ours.eval().logits(batch, loss.kind) for loss in ours.objective)
    logits = expected["prediction_logits"] if "prediction_logits" in expected else expected["logits"]
    assert logits.std() > 0.1
    torch.testing.assert_close(masked[real], logits[real], rtol=0, atol=1e-5)
    if "seq_relationship_logits" in expected:
        torch.testing.assert_close(relation[0], expected["seq_relationship_logits"], rtol=0, atol=1e-5)


@pytest.fixture
def tokenizer():
    return TrainedWordPiece(WORDS, WordPiece(lowercase=False))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_theirs_is_read_with_its_logits(positions, padded, causal, tmp_path, tokenizer):
    theirs = reference(positions, causal)
    theirs.save_pretrained(tmp_path)
    tokenizer.save(tmp_path / "vocab.txt")
    found, ours, read = huggingface.read(tmp_path)
    model = found.model
    assert (model.layers, model.hidden, model.heads, model.positions) == (3, 64, 4, positions)
    assert read.vocabulary == WORDS
    assert ours.encoder.causal == causal
    assert_same_logits(ours, theirs, padded)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_ours_is_written_with_its_logits(positions, padded, causal, tmp_path, tokenizer):
    ours = perturbed(PretrainingModel(described(positions), len(WORDS), TOKENS, 0, (CausalLM(),) if causal else ()))
    huggingface.write(tmp_path / "out", ours, described(positions), tokenizer)
    theirs, report = kind(positions, causal).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert_same_logits(ours, theirs, padded)


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("made", ["wordpiece", "bpe"])
def test_the_written_tokenizer_gives_pairs_the_segments_of_the_model(made, segments, tmp_path, tokenizer):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    if made == "bpe":
        tokenizer = ByteLevelBPE(vocabulary=300).train(["some words " * 9])
    model = dataclasses.replace(described("learned"), segments=segments)
    ours = perturbed(PretrainingModel(model, tokenizer.size, TOKENS, 0))
    huggingface.write(tmp_path / "out", ours, model, tokenizer)
    pair = AutoTokenizer.from_pretrained(tmp_path / "out")("word1", "word2 word3", return_tensors="pt")
    assert ("token_type_ids" in pair) == (segments > 1)
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    ids = pair["input_ids"]
    segments = ((ids == tokenizer.sep).cumsum(1) - (ids == tokenizer.sep).long()) * (segments - 1)
    batch = TensorBatch.of(ids, None, {"masked_lm": {"positions": torch.arange(ids.shape[1])[None]}}, segments=segments)
    with torch.no_grad():
        logits = ours.eval().logits(batch, "masked_lm")
        torch.testing.assert_close(theirs(**pair).logits, logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_what_is_written_is_read_back_whole(positions, causal, tmp_path, tokenizer):
    ours = perturbed(PretrainingModel(described(positions), len(WORDS), TOKENS, 0, (CausalLM(),) if causal else ()))
    huggingface.write(tmp_path / "out", ours, described(positions), tokenizer)
    found, again, read = huggingface.read(tmp_path / "out")
    assert found.model == described(positions)
    assert again.encoder.causal == causal
    assert (read.vocabulary, read.settings.lowercase) == (WORDS, False)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


def test_rows_of_added_tokens_are_kept_and_those_of_padding_are_not(tmp_path):
    """Through a checkpoint of transformers, ours, and transformers again."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, BertConfig, BertForPreTraining

    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 64}
    theirs = perturbed(BertForPreTraining(BertConfig(vocab_size=len(WORDS) + 5, **sizes)))
    theirs.save_pretrained(tmp_path)
    TrainedWordPiece(WORDS).save(tmp_path / "vocab.txt")
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[URL]": len(WORDS), "covid": len(WORDS) + 1}))
    found, ours, read = huggingface.read(tmp_path)
    table = theirs.bert.embeddings.word_embeddings.weight
    assert torch.equal(ours.encoder.embeddings.tokens.weight, table[: len(WORDS) + 2])
    assert read.vocabulary == [*WORDS, "[URL]", "covid"]
    assert found.tokenizer.file == "tokenizer.json"
    read.save(tmp_path / "saved.json")
    assert found.tokenizer.load(tmp_path / "saved.json").encode(["word1 [URL]"]) == [[6, len(WORDS)]]

    huggingface.write(tmp_path / "out", ours, found.model, read)
    again = AutoModelForMaskedLM.from_pretrained(tmp_path / "out")
    batch = AutoTokenizer.from_pretrained(tmp_path / "out")("word1 [URL] xcovid", return_tensors="pt")
    assert batch["input_ids"].tolist() == [[2, 6, len(WORDS), 1, len(WORDS) + 1, 3]]
    with torch.no_grad():
        expected = theirs.eval()(**batch)["prediction_logits"][..., : len(WORDS) + 2]
        torch.testing.assert_close(again.eval()(**batch).logits, expected, rtol=0, atol=1e-5)


def test_a_config_without_a_type_is_of_the_model_of_its_weights(tmp_path, tokenizer):
    from safetensors.torch import load_file, save_file

    path, weights = published(tmp_path / "out", tokenizer) / "config.json", tmp_path / "out" / "model.safetensors"
    expected, *_ = huggingface.read(tmp_path / "out")
    config = json.loads(path.read_text())
    del config["model_type"]
    path.write_text(json.dumps(config))
    assert huggingface.read(tmp_path / "out")[0] == expected
    save_file({name.removeprefix("bert."): tensor for name, tensor in load_file(weights).items()}, weights)
    with pytest.raises(BadInput, match='has no model_type, and the weights do not say it: add "model_type": "bert"'):
        huggingface.read(tmp_path / "out")


def test_the_content_of_a_checkpoint_has_the_files_that_say_something(tmp_path, tokenizer):
    def content():
        return checkpoint.locate(str(directory), Machine(cache=tmp_path / "cache"), "--from").content

    directory = published(tmp_path / "out", tokenizer)
    before = content()
    (directory / "spiece.model").write_bytes(b"pieces")
    assert content() == before, "beside another vocabulary"
    names = directory / "special_tokens_map.json"
    names.write_text('{"mask_token": "[MASK]", "cls_token": {"content": "[CLS]"}}')
    assert content() == before, "as in every checkpoint"
    names.write_text('{"mask_token": "[MASK]", "additional_special_tokens": ["[E1]"]}')
    assert content() != before
    names.unlink()
    (directory / "added_tokens.json").write_text('{"[E1]": 90}')
    assert content() != before
    for path in (*directory.glob("*vocab*"), *directory.glob("tokenizer.json")):
        path.unlink()
    alone = content()
    (directory / "spiece.model").write_bytes(b"others")
    assert content() != alone


def test_a_bare_encoder_and_the_names_of_tensorflow_are_understood(tmp_path, tokenizer):
    from safetensors.torch import load_file, save_file

    ours = perturbed(PretrainingModel(described("learned"), len(WORDS), TOKENS, seed=0))
    huggingface.write(tmp_path / "out", ours, described("learned"), tokenizer)
    path = tmp_path / "out" / "model.safetensors"
    renamed = {
        name.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma"): tensor
        for name, tensor in load_file(path).items()
        if name.startswith("bert.")
    }
    save_file(renamed, path)
    _, again, _ = huggingface.read(tmp_path / "out")
    tokens, segments, lengths = inputs()
    assert torch.equal(
        again.eval().encoder(TensorBatch.of(tokens, lengths, segments=segments)),
        ours.eval().encoder(TensorBatch.of(tokens, lengths, segments=segments)),
    )


@pytest.mark.parametrize(("without", "pairs"), [(("cls.seq_relationship.",), True), (("cls.", "bert.pooler."), False)])
def test_the_losses_are_those_whose_heads_a_checkpoint_has(without, pairs, tmp_path, tokenizer):
    """A masked LM of `transformers` has no pooler: it gets a new one for each seed, which adapters train."""
    from safetensors.torch import load_file, save_file

    ours = published(tmp_path / "out", tokenizer)
    path = ours / "model.safetensors"
    save_file({name: value for name, value in load_file(path).items() if not name.startswith(without)}, path)
    for fresh in (False, True):
        found, again, _ = huggingface.read(ours, fresh=fresh)
        assert found.objective == again.objective == ((MaskedLM(), NextSentence()) if pairs else (MaskedLM(),))
        first, again.pooler_seed = again.pooler.dense.weight, 1
        assert torch.equal(first, again.pooler.dense.weight) == pairs


def published(directory, tokenizer):
    huggingface.write(
        directory, PretrainingModel(described("learned"), len(WORDS), TOKENS, 0), described("learned"), tokenizer
    )
    return directory


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "only roberta, roberta-prelayernorm, bert, roformer, albert"),
        ({"hidden_act": "relu"}, "hidden_act"),
        ({"layer_norm_eps": 0.2}, "layer_norm_eps"),
        ({"type_vocab_size": 3}, "model.segments"),
        ({"vocab_size": None}, "config.json says None"),
        ({"vocab_size": 100}, "does not fit"),
        ({"vocab_size": 10**12}, "config.json says 1000000000000"),
        ({"num_hidden_layers": 4}, r"lacks bert\.encoder\.layer\.3\."),
        ({"num_hidden_layers": 1}, r"no place for bert\.encoder\.layer\.1\."),
        ({"hidden_size": 63}, "model.hidden"),
        ({"hidden_size": 65536}, "does not fit"),
        ({"num_hidden_layers": True}, "model.layers"),
        ({"hidden_dropout_prob": "x", "attention_probs_dropout_prob": None}, "could not convert"),
        ({"hidden_dropout_prob": 0.2}, "attention_probs_dropout_prob"),
        ({"is_decoder": "no"}, "is_decoder 'no'"),
    ],
)
def test_a_config_of_another_model_is_bad_input(change, message, tmp_path, tokenizer):
    path = published(tmp_path / "out", tokenizer) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BadInput, match=message):
        huggingface.read(tmp_path / "out")


def test_files_that_are_missing_or_broken_are_bad_input(tmp_path, tokenizer):
    directory = published(tmp_path / "out", tokenizer)
    with pytest.raises(BadInput, match="exists"):
        published(directory, tokenizer)
    weights = directory / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-10])
    with pytest.raises(BadInput, match="cannot be read"):
        huggingface.read(directory)
    weights.rename(directory / "pytorch_model.bin")
    with pytest.raises(BadInput, match="they must be safetensors"):
        huggingface.read(directory)
    (directory / "config.json").write_text("{")
    with pytest.raises(BadInput, match="JSON"):
        huggingface.read(directory)
    (directory / "config.json").unlink()
    with pytest.raises(BadInput, match=r"config\.json"):
        huggingface.read(directory)


def test_weights_that_would_be_lost_or_are_no_numbers_are_bad_input(tmp_path, tokenizer):
    from safetensors.torch import load_file, save_file

    directory = published(tmp_path / "out", tokenizer)
    path = directory / "model.safetensors"
    whole = load_file(path)
    words, norm = whole["bert.embeddings.word_embeddings.weight"], "bert.embeddings.LayerNorm.weight"
    accepted = {
        "classifier.weight": torch.zeros(2, 64),
        "qa_outputs.bias": torch.zeros(2),
        "bert.embeddings.position_ids": torch.arange(TOKENS)[None],
        "cls.predictions.decoder.weight": words.clone(),
    }
    save_file(whole | accepted, path)
    _, ours, _ = huggingface.read(directory)
    assert torch.equal(ours.encoder.embeddings.tokens.weight, words)
    for change, message in (
        ({"bert.encoder.layer.0.adapter.weight": words.clone()}, "no place for bert.encoder.layer.0.adapter.weight"),
        ({"lora.weight": words.clone()}, "no place for lora.weight"),
        ({"cls.predictions.decoder.weight": words + 1}, "no place for cls.predictions.decoder.weight"),
        ({norm: torch.full((64,), float("nan"))}, "LayerNorm.weight is not finite"),
        ({norm: torch.ones(64, dtype=torch.int8)}, "LayerNorm.weight is torch.int8: weights must be floating-point"),
        ({norm: torch.ones(1, 64)}, "does not fit config.json"),
    ):
        save_file(whole | change, path)
        with pytest.raises(BadInput, match=message):
            huggingface.read(directory)


def test_no_memory_is_allocated_for_sizes_that_the_file_does_not_have(tmp_path, tokenizer):
    path = published(tmp_path / "out", tokenizer) / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"vocab_size": 10**7, "hidden_size": 65_536}))
    for fresh in (False, True):
        with pytest.raises(BadInput, match="does not fit"):
            huggingface.read(tmp_path / "out", fresh=fresh)
