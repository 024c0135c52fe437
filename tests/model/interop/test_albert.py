"""ALBERT checkpoints: the reference implementation's logits are ours, both ways; what it does not have is refused."""

import json

import pytest
import torch

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM, SentenceOrder
from bertlab.recipe.identity import canonical
from bertlab.text.tokenizers import Unigram, WordPiece, base
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from random_weights import perturbed
from started import assert_adapted, assert_fills_masks

TOKENS = 24
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{number}" for number in range(85))]
ALBERT = (MaskedLM(), SentenceOrder())


def described(**fields):
    usual = {"layers": 3, "hidden": 64, "heads": 4, "max_positions": TOKENS, "sharing": "all", "embedding_size": 16}
    return recipe.Model(**{**usual, **fields})


def built(model, objective=ALBERT):
    return perturbed(PretrainingModel(model, len(WORDS), TOKENS, 0, objective))


def assert_same_logits(ours, theirs):
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(5, len(WORDS), (4, TOKENS), generator=generator)
    segments, lengths = torch.randint(0, 2, tokens.shape, generator=generator), torch.tensor([TOKENS, 3, 17, 10])
    real = torch.arange(TOKENS) < lengths[:, None]
    every = torch.arange(TOKENS).expand_as(tokens)
    with torch.no_grad():
        expected = theirs.eval()(input_ids=tokens, token_type_ids=segments, attention_mask=real.long())
        batch = TensorBatch.of(
            tokens, lengths, {loss.kind: {"positions": every} for loss in ours.objective}, segments=segments
        )
        masked, *pairs = (ours.eval().logits(batch, loss.kind) for loss in ours.objective)
    logits = expected["prediction_logits"] if "prediction_logits" in expected else expected["logits"]
    assert logits.std() > 0.1
    torch.testing.assert_close(masked[real], logits[real], rtol=0, atol=1e-5)
    assert ("sop_logits" in expected) == bool(pairs)
    for each in pairs:
        torch.testing.assert_close(each, expected["sop_logits"], rtol=0, atol=1e-5)


@pytest.fixture
def tokenizer():
    return TrainedWordPiece(WORDS, WordPiece(lowercase=False))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A small random ALBERT with its tokenizer, as transformers saves both."""
    from transformers import AlbertConfig, AlbertForPreTraining, AlbertTokenizerFast

    folder = tmp_path_factory.mktemp("checkpoints") / "tiny-albert"
    scored = ["▁", *"abcdefghijklmnopqrstuvwxyz.,?'", "▁the", "▁sat", "▁an", "ing", "ed", "er", "s,", "at"]
    specials = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*specials, *dict.fromkeys(scored)]
    scores = [0.0 if piece in specials else -2.0 - number / 10 for number, piece in enumerate(pieces)]
    AlbertTokenizerFast(vocab=list(zip(pieces, scores, strict=True))).save_pretrained(folder)
    config = AlbertConfig(
        vocab_size=len(pieces) + 3, embedding_size=16, hidden_size=32, num_hidden_layers=3, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=96,
    )  # fmt: skip
    perturbed(AlbertForPreTraining(config)).save_pretrained(folder)
    return folder


def test_one_with_its_own_tokenizer_is_adapted_fills_masks_and_is_written(checkpoint, call, tmp_path, capsys):
    from transformers import AutoTokenizer

    found, _, tokenizer = huggingface.read(checkpoint)
    assert isinstance(found.tokenizer, Unigram)
    texts = ["The cat  sat, (played) and Émile's 漢字?", "another, interesting; text"]
    expected = AutoTokenizer.from_pretrained(checkpoint)(texts, add_special_tokens=False)["input_ids"]
    assert tokenizer.encode(texts) == expected
    runs = tmp_path / "runs"
    assert_adapted(checkpoint, call, runs, ("questions", "finetune"), ("entities", "features"))
    assert_fills_masks(checkpoint, call, runs, capsys)
    assert call("export", "tiny-albert", tmp_path / "out", "--runs", runs) == 0
    assert AutoTokenizer.from_pretrained(tmp_path / "out")(texts, add_special_tokens=False)["input_ids"] == expected
    assert base.read(tmp_path / "out").data == tokenizer.data


@pytest.mark.parametrize(
    ("groups", "activation", "sharing"), [(1, "gelu_new", "all"), (1, "gelu", "all"), (3, "gelu_new", "none")]
)
def test_theirs_is_read_with_its_logits(groups, activation, sharing, tmp_path, tokenizer):
    from transformers import AlbertConfig, AlbertForPreTraining

    config = AlbertConfig(
        vocab_size=len(WORDS), embedding_size=16, hidden_size=64, num_hidden_layers=3, num_hidden_groups=groups,
        num_attention_heads=4, intermediate_size=256, max_position_embeddings=TOKENS, hidden_act=activation,
    )  # fmt: skip
    theirs = perturbed(AlbertForPreTraining(config))
    theirs.save_pretrained(tmp_path)
    tokenizer.save(tmp_path / "vocab.txt")
    found, ours, _ = huggingface.read(tmp_path)
    assert found.model == described(sharing=sharing, activation=activation, dropout=0.0)
    assert found.objective == ALBERT
    assert huggingface.predicts(tmp_path)
    assert sum(each.numel() for each in ours.parameters()) == sum(each.numel() for each in theirs.parameters())
    assert_same_logits(ours, theirs)


@pytest.mark.parametrize(
    ("fields", "objective", "name"),
    [
        ({}, ALBERT, "AlbertForPreTraining"),
        ({"activation": "gelu_new"}, (MaskedLM(),), "AlbertForMaskedLM"),
        ({"sharing": "none"}, ALBERT, "AlbertForPreTraining"),
        ({"embedding_size": 0}, ALBERT, "AlbertForPreTraining"),
        ({"embedding_size": 16, "sharing": "none", "positions": "rotary"}, (MaskedLM(),), "RoFormerForMaskedLM"),
        ({"embedding_size": 0, "sharing": "none", "activation": "gelu_new"}, (MaskedLM(),), "BertForMaskedLM"),
        ({"sharing": "attention"}, ALBERT, "AlbertForPreTraining"),
        ({"sharing": "feed-forward"}, ALBERT, "AlbertForPreTraining"),
        ({"embedding_size": 0, "sharing": "attention"}, (MaskedLM(),), "BertForMaskedLM"),
        ({"positions": "rotary"}, (MaskedLM(),), "RoFormerForMaskedLM"),
    ],
)
def test_ours_is_written_with_its_logits_and_read_back_whole(fields, objective, name, tmp_path, tokenizer):
    import transformers

    model = described(**fields)
    ours = built(model, objective)
    huggingface.write(tmp_path / "out", ours, model, tokenizer)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["architectures"] == [name]
    theirs, report = getattr(transformers, name).from_pretrained(tmp_path / "out", output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert_same_logits(ours, theirs)
    found, again, _ = huggingface.read(tmp_path / "out")
    whole = model.sharing in ("none", "all") and (model.sharing == "none" or model.positions == "learned")
    assert canonical(found.model) == canonical(model if whole else model.unshared)
    read = dict(again.named_parameters())
    assert all(torch.equal(value, read[name]) for name, value in ours.named_parameters(remove_duplicate=whole))


@pytest.mark.parametrize(
    ("fields", "objective"),
    [
        ({"norm_position": "pre"}, ALBERT),
        ({"norm": "power"}, ALBERT),
        ({}, (CausalLM(),)),
    ],
)
def test_what_transformers_does_not_have_is_refused(fields, objective, tmp_path, tokenizer):
    model = described(**fields)
    with pytest.raises(BadInput, match="transformers has no architecture for 3 layers, 64 wide, 4 heads, embeddings"):
        huggingface.write(tmp_path / "out", built(model, objective), model, tokenizer)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_hidden_groups": 2}, "num_hidden_groups 2: only models with 1"),
        ({"inner_group_num": 2}, "inner_group_num 2: only models with 1"),
        ({"hidden_act": "relu"}, "hidden_act 'relu': only models with gelu or gelu_new"),
        ({"embedding_size": 0}, "embedding_size 0: give 1 or more"),
        ({"embedding_size": 17}, "does not fit"),
        ({"embedding_size": None}, "does not fit"),  # which stands for 128
        ({"num_hidden_groups": 3}, "lacks albert.encoder.albert_layer_groups.1."),
        ({"is_decoder": True}, "is_decoder True"),
    ],
)
def test_a_config_of_another_model_is_bad_input(change, message, tmp_path, tokenizer):
    huggingface.write(tmp_path / "out", built(described()), described(), tokenizer)
    path = tmp_path / "out" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(BadInput, match=message):
        huggingface.read(tmp_path / "out")


def test_a_projection_of_embeddings_as_wide_as_the_layers_is_read_only_if_it_is_the_identity(tmp_path, tokenizer):
    from safetensors.torch import load_file, save_file

    model = described(embedding_size=0)
    huggingface.write(tmp_path / "out", built(model), model, tokenizer)
    path = tmp_path / "out" / "model.safetensors"
    weights = load_file(path)
    weights["albert.encoder.embedding_hidden_mapping_in.weight"][3, 4] += 1e-3
    save_file(weights, path)
    with pytest.raises(BadInput, match=r"no place for albert\.encoder\.embedding_hidden_mapping_in\.weight"):
        huggingface.read(tmp_path / "out")
