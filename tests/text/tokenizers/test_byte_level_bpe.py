"""Byte-level BPE, of GPT-2, RoBERTa and ModernBERT, as transformers computes it; and which characters have entries."""

import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.text.tokenizers import SPECIALS, ByteLevelBPE, ModernBPE, TrainedTokenizer, Unigram, WordPiece, base
from bertlab.text.tokenizers.alphabet import alphabet

TEXTS = [
    "The cat sat on the mat, and the dog barked at the cat.",
    "A café in the old town: naïve cats, unbelievable dogs!",
    "Cats and dogs are believable; unsat mats are not.",
] * 5
WORDS = ["".join(random.Random(i).choices("abcdefghijklmnop", k=2 + i % 7)) for i in range(600)]
MORE = [" ".join(random.Random(-i).choices(WORDS, k=40)) + " Ünïcode 漢字!" for i in range(200)]
TRAIN = """
import json, sys
from pathlib import Path
from bertlab.text.tokenizers import ByteLevelBPE
ByteLevelBPE(vocabulary=900).train(json.load(sys.stdin)).save(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def trained():
    return ByteLevelBPE(vocabulary=350).train(TEXTS)


def pieces(tokenizer: TrainedTokenizer, ids):
    return [tokenizer.shown(number) for number in ids]


def test_order_threads_and_processes_do_not_change_the_vocabulary(tmp_path):
    path = tmp_path / "tokenizer.json"
    environment = {**os.environ, "PYTHONHASHSEED": "2", "RAYON_NUM_THREADS": "3"}
    command, texts = [sys.executable, "-c", TRAIN, str(path)], json.dumps(MORE[::-1])
    subprocess.run(command, check=True, env=environment, input=texts.encode())
    here = ByteLevelBPE(vocabulary=900).train(MORE)
    assert path.read_bytes() == here.data
    assert here.size == 900
    # and the same as on the machine where this was written
    assert here.digest[:16] == "0a36556510c831d8"


def test_merges_are_the_most_frequent_pairs():
    """Sennrich et al. 2016, section 3.2, by hand: 'low' 5, 'lower' 2, 'newest' 6, 'widest' 3 times."""
    text = " ".join(["low"] * 5 + ["lower"] * 2 + ["newest"] * 6 + ["widest"] * 3)
    found = ByteLevelBPE(vocabulary=261 + 4).train([text])
    # es 9, est 9; then of the pairs that occur 7 times (lo, Ġl) and 6 times (Ġn, ne, ew, wes) the most frequent ones
    assert found.vocabulary[261:263] == ["es", "est"]
    assert sorted(found.vocabulary[263:]) in (["lo", "low"], ["lo", "Ġlo"], ["Ġl", "Ġlo"])


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_no_text_is_lost_or_unknown(trained, text):
    (ids,) = trained.encode([text])
    encoded = text.encode("utf-8", "replace").decode()
    found = trained.backend.decode(ids)
    assert found in (encoded, f" {encoded}")
    assert not {trained.pad, trained.unk, trained.cls, trained.sep, trained.mask} & set(ids)


def test_case_is_kept_and_a_space_belongs_to_the_word_behind_it(trained):
    assert trained.settings.cased
    (ids,) = trained.encode(["the The cat."])
    assert pieces(trained, ids) == [" the", " The", " cat", "."]
    assert trained.vocabulary[:5] == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    assert (trained.cls, trained.pad, trained.sep, trained.unk, trained.mask) == (0, 1, 2, 3, 4)
    assert trained.ordinary.tolist() == list(range(5, trained.size))
    (text,) = trained.encode(["<mask> <s>"])
    assert not {trained.cls, trained.mask} & set(text), "the text of a special token is text"


def test_words_begin_at_spaces(trained):
    text = "unbelievable dogs (naïve), not “mats”"
    (ids,) = trained.encode([text])
    words: list[list[int]] = []
    for number, begins in zip(ids, trained.word_starts[ids], strict=True):
        words = [*words, [number]] if begins else [*words[:-1], [*words[-1], number]]
    assert [trained.backend.decode(word) for word in words] == [f" {word}" for word in text.split()]


@pytest.mark.parametrize("prefix", [True, False])
def test_words_of_a_sentence_are_encoded_as_in_text(prefix):
    tokenizer = ByteLevelBPE(vocabulary=350, add_prefix_space=prefix).train(TEXTS)
    words = ["unbelievable", "cats", "sat"]
    ((ids, owners),) = tokenizer.encode_words([words])
    assert [ids] == tokenizer.encode([" ".join(words)])
    assert [
        tokenizer.backend.decode([number for number, owner in zip(ids, owners, strict=True) if owner == word]).strip()
        for word in range(3)
    ] == words
    assert pieces(tokenizer, ids)[0].startswith(" ") == prefix


def test_offsets_point_into_the_original_text_without_spaces(trained):
    text = "Old  café, dogs."
    ids, spans = trained.offsets([text])[0]
    assert [ids] == trained.encode([text])
    assert not any(text[start:end].startswith(" ") for start, end in spans)
    covered = {at for start, end in spans for at in range(start, end)}
    assert covered == {at for at, character in enumerate(text) if character != " "}
    assert max(spans)[1] == len(text)


def test_parts_around_a_masked_word(trained):
    parts = ["the ", " sat on the ", "."]
    found = trained.encode_around(parts)
    assert [pieces(trained, ids) for ids in found] == [[" the"], [" sat", " on", " the"], ["."]]


@pytest.mark.parametrize("names", [("tokenizer.json",), ("vocab.json", "merges.txt", "tokenizer_config.json")])
@pytest.mark.parametrize("prefix", [True, False])
def test_files_are_those_of_transformers(tmp_path, names, prefix):
    from transformers import AutoTokenizer

    ours = ByteLevelBPE(vocabulary=350, add_prefix_space=prefix).train(TEXTS)
    ours.write(tmp_path, 64, 2)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    sentence = "The naïve cats  are unbelievable, café!"
    expected = [ours.cls, *ours.encode([sentence])[0], ours.sep]
    assert theirs(sentence)["input_ids"] == expected
    around = ours.encode_around(["The ", " are."])
    assert theirs("The <mask> are.")["input_ids"] == [ours.cls, *around[0], ours.mask, *around[1], ours.sep]
    assert (theirs.pad_token_id, theirs.mask_token_id) == (ours.pad, ours.mask)
    assert (theirs.bos_token, theirs.eos_token) == ("<s>", "</s>")
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in names:
        (tmp_path / name).rename(kept / name)
    read = base.read(kept)
    assert isinstance(read.settings, ByteLevelBPE)
    assert read.settings.add_prefix_space == prefix
    assert read.data == ours.data


def test_saved_and_loaded_is_the_same(trained, tmp_path):
    path = tmp_path / "tokenizer.json"
    trained.save(path)
    loaded = ByteLevelBPE().load(path)
    assert loaded.data == trained.data
    assert loaded.encode(TEXTS) == trained.encode(TEXTS)
    assert np.array_equal(loaded.word_starts, trained.word_starts)
    with pytest.raises(BadInput, match=r"tokenizer.json was made with tokenizer.add_prefix_space=true: give --set"):
        ByteLevelBPE(add_prefix_space=False).load(path)


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("model", "type", "Unigram"),
        ("model", "vocab", ["a"]),
        ("model", "vocab", {"a": "1"}),
        ("model", "merges", [["a", "b", "c"]]),
        ("model", "merges", [["qqq", "a"]]),
        ("model", "byte_fallback", True),
        ("model", "end_of_word_suffix", "</w>"),
        ("pre_tokenizer", "type", "Whitespace"),
        ("pre_tokenizer", "use_regex", False),
        (None, "normalizer", {"type": "Lowercase"}),
        (None, "added_tokens", [{"content": "covid"}]),
    ],
)
def test_another_tokenizer_is_one_line(trained, tmp_path, part, field, value):
    path = tmp_path / "tokenizer.json"
    data = json.loads(trained.data)
    (data[part] if part else data)[field] = value
    path.write_text(json.dumps(data))
    with pytest.raises(BadInput, match=r"not the tokenizer.json of a byte-level BPE") as raised:
        ByteLevelBPE().load(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(BadInput, match=r"is of another kind: only .*byte_level_bpe"):
        base.read(tmp_path)


def test_the_most_frequent_characters_are_enough_where_they_cover_the_text():
    frequency = {"a": 5_000, "b": 4_000, "c": 999, "d": 1}
    assert alphabet(frequency, 9) == ["a", "b", "c"], "a third of the entries, which cover 99.99 %"
    assert alphabet(frequency, 6) == ["a", "b", "c"], "two of six cover 90 %, and the third does the rest"


def test_a_thousand_characters_are_enough_for_letters_and_not_for_ideographs():
    letters = {chr(0x100 + place): 1_000_000 // (place + 1) ** 3 + 1 for place in range(2_000)}
    assert len(alphabet(letters, 30_000)) == 1_000
    ideographs = {chr(0x4E00 + place): 5 for place in range(3_000)}
    assert len(alphabet(ideographs, 30_000)) == 3_000
    assert len(alphabet(ideographs, 2_000)) == 1_500, "three quarters"
    assert len(alphabet(ideographs, 2_000, lambda character: 2)) == 750


def test_rare_characters_wait_until_the_text_is_covered():
    frequency = {chr(0x4E00 + place): 1_000 for place in range(1_200)} | {"r": 4, "q": 3}
    assert alphabet(frequency, 30_000)[1_200:] == ["r"], "it occurs more than a few times"


def test_a_script_of_many_characters_is_known():
    texts = ["".join(chr(0x4E00 + (7 * line + place) % 1_500) for place in range(300)) for line in range(400)]
    for tokenizer in (WordPiece(vocabulary=4_000), Unigram(vocabulary=4_000)):
        trained = tokenizer.train(texts)
        assert not any(trained.unk in ids for ids in trained.encode(texts[:50]))


TOWN = ["The cat sat on the mat, and the dog barked at the cat.", "A café in the old town: naïve cats!"] * 5
DECOMPOSED = "A cafe\N{COMBINING ACUTE ACCENT} in the old town"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A tokenizer as ModernBERT's: special tokens and runs of spaces are added to a BPE that lacks them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    trained = json.loads(ByteLevelBPE(vocabulary=300, add_prefix_space=False).train(TOWN).backend.to_str())["model"]
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
    ours = ModernBPE(vocabulary=300).train(TOWN)
    assert ours.vocabulary[:5] == list(SPECIALS)
    assert (ours.pad, ours.unk, ours.cls, ours.sep, ours.mask) == (0, 1, 2, 3, 4)
    assert ours.encode([DECOMPOSED]) == ours.encode(["A café in the old town"])
    robertas = ByteLevelBPE(vocabulary=300).train(TOWN)
    assert ours.encode(TOWN) == robertas.encode(TOWN)
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
def test_another_tokenizer_than_modernberts_is_one_line(published, tmp_path, change):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads((published / "tokenizer.json").read_text()) | change))
    with pytest.raises(BadInput, match=r"not the tokenizer\.json of a byte-level BPE as ModernBERT's") as raised:
        ModernBPE().load(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(BadInput, match=r"of another kind: only .*modern_bpe.* as in BERT, RoBERTa, ALBERT, Mod"):
        base.read(tmp_path)
