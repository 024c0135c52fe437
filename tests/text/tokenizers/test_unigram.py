"""Unigram of ALBERT and T5, as transformers and SentencePiece compute it; and entries that stand for spans of text."""

import base64
import dataclasses
import functools
import io
import itertools
import json
import math
import os
import random
import string
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.objectives import Corruption
from bertlab.objectives.selection import Choice
from bertlab.recipe.identity import to_canonical
from bertlab.tasks.kinds.span import Answers, tokens_of
from bertlab.text.tokenizers import ByteLevelBPE, ModernBPE, T5Unigram, Unigram, WordPiece, base

SPECIALS = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["".join(random.Random(i).choices("abcdefghijklmnop", k=2 + i % 7)) for i in range(600)]
MORE = [" ".join(random.Random(-i).choices(WORDS, k=40)) + " Ünïcode 漢字!" for i in range(200)]
TRAIN = """
import json, sys
from pathlib import Path
from bertlab.text.tokenizers import Unigram
Unigram(vocabulary=400).train(json.load(sys.stdin)).save(Path(sys.argv[1]))
"""
SENTENCES = [
    "The cats  sat (playing) on ``mats''.",
    "A café,\tnaïve ﬁne dogs\nbarked; 漢字 İstanbul ①",
    " ▁leading and trailing ",
    "zero\u200bwidth [mask] ZZZ!",
    "",
]


def charsmap(character: str, replacement: str, place: int = 0, child: int = 0) -> bytes:
    """A table of SentencePiece that replaces one character: a double array over its bytes, and the replacement.

    It is damaged if the replacement is at another place, or the last child elsewhere.
    """
    key, node = character.encode(), 256
    units = [0] * 256 * (len(key) + 2)
    units[0] = 256 << 10
    for depth, byte in enumerate(key):
        last = depth == len(key) - 1
        at, node = node ^ byte, 256 * (depth + 2)
        units[at] = (at ^ (child if child and last else node)) << 10 | last << 8 | byte
    units[node] = 1 << 31 | place
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + replacement.encode() + b"\0"


def with_table(table, data):
    """Adds a table of characters to a tokenizer.json."""
    text = base64.b64encode(table).decode() if isinstance(table, bytes) else table
    data["normalizer"]["normalizers"].append({"type": "Precompiled", "precompiled_charsmap": text})


@pytest.fixture(scope="module", params=[{}, {"do_lower_case": False, "keep_accents": True}, {"table": True}], ids=str)
def published(request, tmp_path_factory):
    """A tokenizer as transformers saves ALBERT's, with a table of characters or without."""
    from transformers import AlbertTokenizerFast

    common = [("▁the", -3.0), ("▁cat", -4.0), ("▁sat", -4.5), ("s", -3.5), ("ing", -3.2), ("▁play", -4.1), ("at", -4.2)]
    letters = [(letter, -6.0 - number / 100) for number, letter in enumerate(string.ascii_letters[:-1] + '.,("é[]<>')]
    entries = [*((special, 0.0) for special in SPECIALS), ("▁", -3.3), *common]
    entries += [each for each in letters if each[0] not in {piece for piece, _ in entries}]
    options = dict(request.param)
    if options.pop("table", False):
        options["_spm_precompiled_charsmap"] = charsmap("\u200b", " ")
    folder = tmp_path_factory.mktemp("published")
    AlbertTokenizerFast(vocab=entries, **options).save_pretrained(folder)
    return folder


def theirs_of(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def trained():
    return Unigram(vocabulary=400).train(MORE)


def changed(folder, target, change):
    """A tokenizer.json in `target` with parts of that in `folder` replaced."""
    data = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    change(data)
    (target / "tokenizer.json").write_text(json.dumps(data), encoding="utf-8")


# Published tokenizers.


def test_ids_and_offsets_are_those_of_transformers(published):
    ours, theirs = base.read(published), theirs_of(published)
    assert isinstance(ours.settings, Unigram)
    assert (ours.settings.cased, ours.settings.keep_accents) == (not theirs.do_lower_case, theirs.keep_accents)
    assert ours.size == len(theirs)
    found = (ours.pad, ours.unk, ours.cls, ours.sep, ours.mask)
    assert found == tuple(theirs.convert_tokens_to_ids(SPECIALS))
    expected = theirs(SENTENCES, add_special_tokens=False, return_offsets_mapping=True)
    assert ours.encode(SENTENCES) == expected["input_ids"]
    assert ours.offsets(SENTENCES) == list(zip(expected["input_ids"], expected["offset_mapping"], strict=True))
    assert len({*itertools.chain(*expected["input_ids"])}) > 30
    around = ours.encode_around(["The ", " sat on", "ing."])
    text = "The [MASK] sat on[MASK]ing."
    assert theirs(text)["input_ids"] == [ours.cls, *around[0], ours.mask, *around[1], ours.mask, *around[2], ours.sep]


@settings(max_examples=100)
@given(text=st.text(max_size=60))
def test_any_text_has_the_tokens_of_transformers(published, text):
    assume(not any(special in text for special in SPECIALS))  # they are text here: see the test below
    ours, theirs = base.read(published), theirs_of(published)
    assert ours.encode([text]) == [theirs(base.valid(text), add_special_tokens=False)["input_ids"]]


def test_the_text_of_a_special_token_is_text(published):
    ours, theirs = base.read(published), theirs_of(published)
    text = " ".join(SPECIALS)
    assert theirs(text, add_special_tokens=False)["input_ids"] == [0, 1, 2, 3, 4]
    (found,) = ours.encode([text])
    assert not {ours.pad, ours.cls, ours.sep, ours.mask} & {*found}
    assert "".join(map(ours.shown, found)).startswith(" <pad> <u")


@pytest.mark.parametrize("new", [False, True])
def test_files_are_those_of_transformers_and_read_back(published, trained, new, tmp_path):
    ours = trained if new else base.read(published)
    ours.write(tmp_path, 64, 2)
    theirs = theirs_of(tmp_path)
    for text in SENTENCES:
        assert theirs(text)["input_ids"] == [ours.cls, *ours.encode([text])[0], ours.sep]
    assert theirs("a", "b")["token_type_ids"][-1] == 1
    assert theirs("the [MASK] [CLS]")["input_ids"][-3:] == [ours.mask, ours.cls, ours.sep]
    assert base.read(tmp_path).data == ours.data
    ours.save(tmp_path / "saved.json")
    again = ours.settings.load(tmp_path / "saved.json")
    assert again.data == ours.data
    assert again.encode(SENTENCES) == ours.encode(SENTENCES)


def test_older_files_are_read(published, tmp_path):
    def older(data):
        del data["model"]["type"], data["model"]["byte_fallback"]
        space = {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}
        data["pre_tokenizer"]["pretokenizers"][1] = space
        data["normalizer"]["normalizers"].append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})

    changed(published, tmp_path, older)
    assert base.read(tmp_path).encode(SENTENCES) == base.read(published).encode(SENTENCES)


def test_symbols_that_are_added_tokens_remain_their_own(published, tmp_path):
    from tokenizers import Tokenizer

    number = base.read(published).vocabulary.index("(")
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    changed(published, tmp_path, lambda data: data["added_tokens"].append({"id": number, "content": "(", **flags}))
    ours, theirs = base.read(tmp_path), Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    text = "the cats(at sat"
    assert ours.encode([text]) == [theirs.encode(text, add_special_tokens=False).ids]
    assert ours.encode([text]) != base.read(published).encode([text])


def test_spaces_alone_split_text_where_nothing_else_does(published, tmp_path):
    """As converters of transformers 4 write it: a mask takes the space in front of it."""
    from tokenizers import Tokenizer

    changed(published, tmp_path, lambda data: data.update(pre_tokenizer=data["pre_tokenizer"]["pretokenizers"][1]))
    ours, theirs = base.read(tmp_path), Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in SENTENCES:
        assert ours.encode([text]) == [theirs.encode(text, add_special_tokens=False).ids]
    assert ours.encode_around(["the ", " sat"]) == ours.encode(["the", " sat"]) != ours.encode(["the ", " sat"])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["model"].update(type="BPE"),
        lambda data: data["model"].update(vocab={"a": 1}),
        lambda data: data["model"].update(byte_fallback=True),
        lambda data: data["model"].update(unk_id=0),
        lambda data: data["model"]["vocab"].append(["the", "-1"]),
        lambda data: data["model"]["vocab"].append(["the", math.nan]),
        lambda data: data["model"]["vocab"].append(["the", 10**400]),
        lambda data: data["model"]["vocab"].append(["▁the", -1.0]),
        lambda data: data["model"]["vocab"].pop(0),
        lambda data: data["normalizer"]["normalizers"].append({"type": "NFC"}),
        *(
            functools.partial(with_table, table)
            for table in (
                b"",
                struct.pack("<I", 0),
                struct.pack("<I", 4) + b"\xff" * 4,
                charsmap("ab", "c")[:-1].replace(b"c", b"\xff"),
                charsmap("ab", "c", place=3),
                charsmap("ab", "é", place=1),
                charsmap("ab", "c", child=1 << 12),
                "AAA",
                None,
            )
        ),
        lambda data: data["normalizer"]["normalizers"].pop(0),
        lambda data: data.update(normalizer=None),
        lambda data: data["normalizer"].update(type="NFC"),
        lambda data: data["pre_tokenizer"].update(type="Whitespace"),
        lambda data: data.update(pre_tokenizer={"type": "Whitespace"}),
        lambda data: data["pre_tokenizer"].update(pretokenizers=[]),
        lambda data: data["pre_tokenizer"]["pretokenizers"][1].update(prepend_scheme="never"),
        lambda data: data["pre_tokenizer"]["pretokenizers"][1].update(split=False),
        lambda data: data["added_tokens"].append({"content": "covid"}),
        lambda data: data["added_tokens"].append({"content": "s"}),
        lambda data: data.update(added_tokens="<pad>"),
    ],
)
def test_another_tokenizer_is_one_line(published, tmp_path, change):
    changed(published, tmp_path, change)
    with pytest.raises(BadInput, match=r"not the tokenizer\.json of a Unigram tokenizer as ALBERT's") as raised:
        Unigram().load(tmp_path / "tokenizer.json")
    assert "\n" not in str(raised.value)
    with pytest.raises(BadInput, match=r"is of another kind: only .*unigram.* as in BERT, RoBERTa, ALBERT"):
        base.read(tmp_path)


def test_settings_must_be_those_of_the_file(published, tmp_path):
    ours = base.read(published)
    path, config = published / "tokenizer.json", tmp_path / "tokenizer_config.json"
    other = Unigram(lowercase=not ours.settings.lowercase)
    with pytest.raises(BadInput, match=r"was made with tokenizer\.lowercase=(true|false): give --set"):
        other.load(path)
    (tmp_path / "tokenizer.json").write_bytes(path.read_bytes())
    config.write_text(json.dumps({"do_lower_case": other.lowercase}))
    with pytest.raises(BadInput, match=r"and tokenizer_config\.json differ in do_lower_case: correct one"):
        base.read(tmp_path)


@pytest.fixture(scope="module", params=["identity", "nmt_nfkc"])
def pieces(request, tmp_path_factory):
    """A checkpoint with a spiece.model alone, as ALBERT publishes it."""
    folder = tmp_path_factory.mktemp("pieces")
    specials = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "control_symbols": ["[CLS]", "[SEP]", "[MASK]"]}
    specials |= {"user_defined_symbols": ["(", ")"], "normalization_rule_name": request.param}
    (folder / "spiece.model").write_bytes(sentencepiece_file([text.lower() for text in MORE], 300, **specials))
    (folder / "config.json").write_text(json.dumps({"model_type": "albert"}))
    return folder


def sentencepiece_file(texts, size, **settings):
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=size, num_threads=1, minloglevel=2, **settings
    )
    return model.getvalue()


def test_a_sentencepiece_file_gives_the_tokens_of_transformers_and_of_sentencepiece(pieces, tmp_path):
    import sentencepiece

    ours, theirs = base.read(pieces), theirs_of(pieces)
    assert ours.vocabulary[:5] == SPECIALS
    for text in (*SENTENCES, *MORE[:20], "mabc(dab) c"):
        assert ours.encode([text]) == [theirs(text, add_special_tokens=False)["input_ids"]]
    library = sentencepiece.SentencePieceProcessor(model_file=str(pieces / "spiece.model"))
    texts = [" ".join(random.Random(i).choices(WORDS, k=12)) for i in range(50)]
    assert ours.encode(texts) == library.encode(texts)
    ours.write(tmp_path, 64, 2)
    assert base.read(tmp_path).encode(SENTENCES) == ours.encode(SENTENCES)


def test_a_sentencepiece_file_takes_its_case_from_the_config(pieces, tmp_path):
    (tmp_path / "spiece.model").write_bytes((pieces / "spiece.model").read_bytes())
    assert base.read(tmp_path).settings == Unigram()
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "keep_accents": True}))
    assert base.read(tmp_path).settings == Unigram(lowercase=False, keep_accents=True)


@pytest.mark.parametrize(
    "settings", [{"model_type": "bpe"}, {"byte_fallback": True}, {"add_dummy_prefix": False}, {}], ids=str
)
def test_another_sentencepiece_file_is_one_line(settings, tmp_path):
    """The last is one without ALBERT's special tokens."""
    (tmp_path / "spiece.model").write_bytes(sentencepiece_file(MORE, 400, **settings))
    with pytest.raises(BadInput, match=r"spiece\.model is of another kind: only .*unigram.* as in BERT, "):
        base.read(tmp_path)


@pytest.mark.parametrize("file", [lambda file: file[:-20], lambda file: b"\xff" * 9 + file, lambda file: b""])
def test_a_damaged_sentencepiece_file_is_one_line(pieces, file, tmp_path):
    (tmp_path / "spiece.model").write_bytes(file((pieces / "spiece.model").read_bytes()))
    with pytest.raises(BadInput, match=r"spiece\.model is damaged: fetch the checkpoint again"):
        base.read(tmp_path)


# Words.


def test_words_begin_at_spaces(published):
    ours = base.read(published)
    text = "the cats (playing) “sat”, 漢字."
    (ids,) = ours.encode([text])
    assert np.count_nonzero(ours.word_starts[ids]) == len(text.split())
    ((words, owners),) = ours.encode_words([text.split()])
    assert words == ids
    assert np.array_equal(np.flatnonzero(np.diff(owners, prepend=-1)), np.flatnonzero(ours.word_starts[ids]))
    assert [ours.shown(number) for number in ids[:2]] == [" the", " cat"]


@pytest.mark.parametrize("answer", ["cats", "(playing)", "playing", "café", "mats"])
def test_an_answer_is_found_by_its_characters(published, answer):
    ours = base.read(published)
    text = "the  cats sat (playing) a café on\tmats"
    ((_, places),) = ours.offsets([text])
    span = np.array([[-1, -1], *places])
    ((first, last),) = tokens_of(Answers((answer,), (text.index(answer),)), span)
    assert text[span[first][0] : span[last][1]] == answer


# Training.


def test_order_threads_and_processes_do_not_change_the_vocabulary(trained, tmp_path):
    path, texts = tmp_path / "tokenizer.json", json.dumps(MORE[::-1])
    for seed, threads in (("2", "3"), ("3", "1")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", TRAIN, str(path)], check=True, env=environment, input=texts.encode())
        assert path.read_bytes() == trained.data
    assert trained.size == 400
    assert trained.vocabulary[:5] == SPECIALS
    # and the same as on the machine where this was written
    assert trained.digest[:16] == "f48ae02c06d7ca73"


def test_frequent_words_are_pieces_and_no_piece_mixes_letters_with_others():
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))
    words = ["The", "unbelievable", "unbelievable,", "café:", "café", "1999", "1999!", "cats", "cats."]
    texts = [" ".join(random.Random(number).choices(words, k=12)) for number in range(50)] + [rare] * 4
    found = Unigram(vocabulary=150).train(texts)
    assert {"▁unbelievable", "▁1999", "▁cats", "▁the", "▁cafe", "▁"} <= {*found.vocabulary}
    (ids,) = found.encode(["the cats, unbelievable"])
    assert [found.shown(number) for number in ids] == [" the", " cats", ",", " unbelievable"]
    for piece in found.vocabulary[5:]:
        assert piece.strip("▁").isalpha() or not any(map(str.isalpha, piece))
        assert "▁" not in piece[1:]
    assert found.unk not in found.encode([f"cats {rare}"])[0], "there is room for every character"
    assert found.unk in Unigram(vocabulary=70).train(texts).encode([f"cats {rare}"])[0], "characters leave a quarter"
    cased = Unigram(vocabulary=150, lowercase=False, keep_accents=True).train(texts)
    assert {"▁The", "▁café"} <= {*cased.vocabulary}
    assert cased.settings.cased


def test_more_entries_split_text_less_and_a_small_corpus_yields_fewer():
    sizes = [len(Unigram(vocabulary=size).train(MORE).encode([" ".join(MORE)])[0]) for size in (64, 200, 400)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < 0.7 * sizes[0]
    few = Unigram().train(["a cat"] * 2)
    assert 5 < few.size < 20
    assert Unigram().train(["a"]).vocabulary == [*SPECIALS, "a", "▁"]
    with pytest.raises(BadInput, match="special tokens alone"):
        Unigram().train([])


PARTY = ["The cat sat on the mat, and the dog saw it.", "A naïve Cat!", "Thank you for inviting me to your party"] * 5
UNSEEN = ["The dog thanked the cat", "naïve <extra_id_3> </s> mats", "Zürich is 7 miles off", ""]


@pytest.fixture(scope="module")
def spiece():
    """A spiece.model with the specials of T5's, and SentencePiece's own tokenizer."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(PARTY), model_writer=model, vocab_size=90, model_type="unigram", hard_vocab_limit=False,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, normalization_rule_name="nmt_nfkc", minloglevel=2, num_threads=1,
    )  # fmt: skip
    return model.getvalue(), sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_a_spiece_model_is_read_with_its_ids(spiece, tmp_path):
    content, theirs = spiece
    (tmp_path / "spiece.model").write_bytes(content)
    ours = base.read(tmp_path)
    assert ours.settings == T5Unigram()
    assert ours.encode([*PARTY, *UNSEEN]) == theirs.encode([*PARTY, *UNSEEN])
    assert (ours.pad, ours.sep, ours.unk) == (0, 1, 2)
    size = theirs.get_piece_size()
    assert ours.size == size + 100
    assert ours.sentinels.tolist() == [*range(size + 99, size - 1, -1)]
    assert ours.vocabulary[-1] == "<extra_id_0>"
    assert not np.isin(ours.ordinary, [0, 1, 2, *ours.sentinels]).any()


def test_a_config_says_how_many_sentinels_there_are(spiece, tmp_path):
    (tmp_path / "spiece.model").write_bytes(spiece[0])
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"extra_ids": 7}))
    assert len(base.read(tmp_path).sentinels) == 7
    config.write_text(json.dumps({"extra_ids": "7"}))
    with pytest.raises(BadInput, match="extra_ids '7': give a number"):
        base.read(tmp_path)


def test_a_tokenizer_of_transformers_is_read_with_its_ids(spiece, tmp_path):
    from transformers import T5Tokenizer

    size = spiece[1].get_piece_size()
    scored = [(spiece[1].id_to_piece(number), spiece[1].get_score(number)) for number in range(size)]
    scored += [(f"<extra_id_{number}>", 0.0) for number in reversed(range(20))]
    theirs = T5Tokenizer(vocab=scored, extra_ids=20)
    theirs.save_pretrained(tmp_path)
    ours = base.read(tmp_path)
    assert ours.settings == T5Unigram(sentinels=20)
    plain = [text for text in (*PARTY, *UNSEEN) if "<" not in text]
    assert ours.encode(plain) == theirs(plain, add_special_tokens=False)["input_ids"]
    assert ours.sentinels.tolist() == theirs.convert_tokens_to_ids([f"<extra_id_{number}>" for number in range(20)])


def test_a_trained_one_is_written_for_transformers_and_read_back(tmp_path):
    from transformers import AutoTokenizer

    ours = T5Unigram(vocabulary=80, sentinels=5).train(PARTY)
    assert ours.vocabulary[:3] == ["<pad>", "</s>", "<unk>"]
    assert ours.vocabulary[-5:] == [f"<extra_id_{number}>" for number in (4, 3, 2, 1, 0)]
    ours.write(tmp_path, 64, 0)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    assert theirs(PARTY[0])["input_ids"] == [*ours.encode(PARTY[:1])[0], ours.sep]
    assert theirs("<extra_id_2>", add_special_tokens=False)["input_ids"] == [ours.sentinels[2]]
    again = base.read(tmp_path)
    assert (again.vocabulary, again.settings) == (
        ours.vocabulary,
        dataclasses.replace(ours.settings, vocabulary=30_522),
    )
    assert again.encode(UNSEEN) == ours.encode(UNSEEN)
    assert max(map(max, filter(None, again.encode(UNSEEN)))) < min(ours.sentinels)


def test_its_file_needs_its_number_of_sentinels(tmp_path):
    trained = T5Unigram(vocabulary=80, sentinels=5).train(PARTY)
    trained.save(tmp_path / "tokenizer.json")
    assert T5Unigram(vocabulary=80, sentinels=5).load(tmp_path / "tokenizer.json").data == trained.data
    with pytest.raises(BadInput, match="lacks some of 6 sentinels"):
        T5Unigram(vocabulary=80, sentinels=6).load(tmp_path / "tokenizer.json")


TEXTS = ["the cat sat on the mat, and the dog saw it.", "A naive cat! <b> [c] url covid <extra_id_0>"] * 5
KINDS = [
    WordPiece(vocabulary=80),
    WordPiece(vocabulary=80, whole=True),
    ByteLevelBPE(vocabulary=300),
    ModernBPE(vocabulary=300),
    Unigram(vocabulary=80),
]


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind.kind}{'-whole' * getattr(kind, 'whole', False)}")
def both(request):
    """The same tokenizer without sentinels, and with three."""
    return request.param.train(TEXTS), dataclasses.replace(request.param, sentinels=3).train(TEXTS)


def test_they_follow_the_vocabulary_which_stays_as_it_is(both):
    without, trained = both
    assert without.sentinels.size == 0
    assert trained.vocabulary == [*without.vocabulary, "<extra_id_0>", "<extra_id_1>", "<extra_id_2>"]
    assert trained.sentinels.tolist() == [without.size, without.size + 1, without.size + 2]
    assert trained.ordinary.tolist() == without.ordinary.tolist()
    assert trained.word_starts.shape == (trained.size,)
    assert trained.encode(TEXTS) == without.encode(TEXTS)  # a text that names one has ordinary tokens
    assert max(map(max, trained.encode(TEXTS))) < without.size


def test_their_file_is_the_same_and_is_read_with_them(both, tmp_path):
    without, trained = both
    assert trained.data == without.data
    trained.save(tmp_path / "file")
    opened = trained.settings.load(tmp_path / "file")
    assert (opened.vocabulary, opened.sentinels.tolist()) == (trained.vocabulary, trained.sentinels.tolist())
    assert opened.settings == trained.settings


def test_transformers_knows_them_by_their_ids(both, tmp_path):
    transformers = pytest.importorskip("transformers")
    _, trained = both
    trained.write(tmp_path, 64, 2)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    theirs = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    assert theirs.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_2>"]) == trained.sentinels[[0, 2]].tolist()
    assert len(theirs) == trained.size


def test_none_is_drawn_as_a_random_token(both):
    _, trained = both
    numbers = np.arange(4000, dtype=np.int32)[None]
    show = Corruption(mask=0.0, keep=0.0, random=1.0).replacer(trained)
    shown = show(numbers * 0 + trained.unk, np.array([7], np.uint64), Choice(numbers, numbers * 0 + 1, numbers))
    assert not np.isin(shown, trained.sentinels).any()
    assert {*shown.flat} == {*trained.ordinary.tolist()}


def test_ids_of_recipes_know_them_only_where_there_are_some():
    assert "sentinels" not in to_canonical(WordPiece())
    assert to_canonical(WordPiece(sentinels=100))["sentinels"] == 100
    assert WordPiece(vocabulary=32_000, sentinels=100).entries == 32_100
