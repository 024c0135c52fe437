"""ModernBERT's tokenizer: training, the files of transformers with tokens that were added to them."""

import json

import pytest

from bertlab.errors import BadInput
from bertlab.text.tokenizers import SPECIALS, ByteLevelBPE, ModernBPE, base

TEXTS = ["The cat sat on the mat, and the dog barked at the cat.", "A café in the old town: naïve cats!"] * 5
DECOMPOSED = "A cafe\N{COMBINING ACUTE ACCENT} in the old town"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A tokenizer as ModernBERT's: special tokens and runs of spaces are added to a BPE that lacks them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    trained = json.loads(ByteLevelBPE(vocabulary=300, add_prefix_space=False).train(TEXTS).backend.to_str())["model"]
    entries = [each for each in trained["vocab"] if not each.startswith("<") or len(each) == 1]
    numbers = dict(zip(entries, range(len(entries)), strict=True))
    backend = Tokenizer(models.BPE(numbers, [(first, second) for first, second in trained["merges"]]))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([AddedToken(" " * size, normalized=True) for size in (4, 3, 2)] + [AddedToken("|||IP|||")])
    backend.add_special_tokens(["<|padding|>", "[UNK]", "[CLS]", "[SEP]", "[PAD]"])
    backend.add_special_tokens([AddedToken("[MASK]", lstrip=True, special=True)])
    backend.add_tokens(["[unused0]"])
    ids = [(each, backend.token_to_id(each)) for each in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ids)
    folder = tmp_path_factory.mktemp("published")
    backend.save(str(folder / "tokenizer.json"))
    names = {f"{each.strip('[]').lower()}_token": each for each in SPECIALS}
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_a_published_one_is_read_with_its_tokens_and_written_with_them(published, tmp_path):
    from transformers import AutoTokenizer

    ours, theirs = base.read(published), AutoTokenizer.from_pretrained(published)
    assert isinstance(ours.settings, ModernBPE)
    assert not ours.settings.add_prefix_space
    assert ours.size == len(theirs)
    assert (ours.pad, ours.mask, ours.cls) == (theirs.pad_token_id, theirs.mask_token_id, theirs.cls_token_id)
    texts = ["The cat sat.", DECOMPOSED, "two  or   three     spaces", "at |||IP||| [unused0]", "漢字\n!"]
    assert ours.encode(texts) == [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]
    assert ours.mask not in ours.encode(["[MASK]"])[0], "the text of a special token is text"
    around = ours.encode_around(["The ", " sat."])
    assert theirs("The [MASK] sat.")["input_ids"] == [ours.cls, *around[0], ours.mask, *around[1], ours.sep]
    assert ours.shown(ours.encode(["a  cat"])[0][1]).isspace()

    ours.save(tmp_path / "tokenizer.json")
    assert ModernBPE(add_prefix_space=False).load(tmp_path / "tokenizer.json").data == ours.data
    ours.write(tmp_path, 64, 2)
    written = AutoTokenizer.from_pretrained(tmp_path)
    for text in (*texts, "The [MASK] sat."):
        assert written(text)["input_ids"] == theirs(text)["input_ids"]
    assert base.read(tmp_path).data == ours.data


def test_one_is_trained_on_text_in_nfc():
    ours = ModernBPE(vocabulary=300).train(TEXTS)
    assert ours.vocabulary[:5] == list(SPECIALS)
    assert (ours.pad, ours.unk, ours.cls, ours.sep, ours.mask) == (0, 1, 2, 3, 4)
    assert ours.encode([DECOMPOSED]) == ours.encode(["A café in the old town"])
    robertas = ByteLevelBPE(vocabulary=300).train(TEXTS)
    assert ours.encode(TEXTS) == robertas.encode(TEXTS)
    assert ours.encode([DECOMPOSED]) != robertas.encode([DECOMPOSED])


@pytest.mark.parametrize(
    "change",
    [
        {"normalizer": {"type": "Lowercase"}},
        {"added_tokens": []},
        {"added_tokens": "[PAD]"},
        {"added_tokens": [{"content": "[PAD]"}]},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"model": {"type": "Unigram"}},
        {"model": []},
    ],
)
def test_another_tokenizer_is_one_line(published, tmp_path, change):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads((published / "tokenizer.json").read_text()) | change))
    with pytest.raises(BadInput, match=r"not the tokenizer\.json of a byte-level BPE as ModernBERT's") as raised:
        ModernBPE().load(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(BadInput, match=r"of another kind: only .*modern_bpe.* as in BERT, RoBERTa, ALBERT, Mod"):
        base.read(tmp_path)
