"""WordPiece: training, cutting, and the files of transformers: what it writes is read, all else is refused."""

import hashlib
import json
import os
import string
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.text.tokenizers import SPECIALS, WordPiece, base
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

TEXTS = [
    "The cat sat on the mat, and the dog barked at the cat.",
    "A café in the old town: naïve cats, unbelievable dogs!",
    "Cats and dogs are believable; unsat mats are not.",
] * 5

TRAIN = """
import sys, random
from pathlib import Path
from bertlab.text.tokenizers import WordPiece
words = ["".join(random.Random(i).choices("abcdefghijklmnop", k=2 + i % 7)) for i in range(600)]
texts = [" ".join(random.Random(-i).choices(words, k=40)) + " Ünïcode 漢字!" for i in range(200)]
WordPiece(vocabulary=900).train(texts).save(Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def wordpiece():
    return WordPiece(vocabulary=200).train(TEXTS)


def pieces(wordpiece, text):
    return [wordpiece.vocabulary[number] for number in wordpiece.encode([text])[0]]


def fixed(*entries, lowercase=True):
    return TrainedWordPiece([*SPECIALS, *entries], WordPiece(lowercase=lowercase))


def test_two_processes_train_the_same_vocabulary(tmp_path):
    found = []
    for seed in ("1", "2"):
        path = tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", TRAIN, str(path)], check=True, env=environment)
        found.append(path.read_bytes())
    assert found[0] == found[1]
    assert len(found[0].splitlines()) == 900
    # and the same as on the machine where this was written
    assert hashlib.sha256(found[0]).hexdigest()[:16] == "e674f66625ac4507"


def test_single_characters_leave_room_for_pieces():
    letters = [chr(ord("a") + number % 26) + chr(0x430 + number % 32) for number in range(200)]
    made = WordPiece(vocabulary=65).train([" ".join(letters)] * 3)
    single = {piece.removeprefix("##") for piece in made.vocabulary if len(piece.removeprefix("##")) == 1}
    assert len(single) == 22, "each is twice in the vocabulary, at the beginning of words and in them: 45 entries of 60"
    assert made.size <= 65


def test_text_outside_ascii_has_the_lower_case_of_the_library():
    """A sigma at the end of a word stays one: Python's own lower case would change it."""
    wordpiece = fixed("ο", "##δ", "##ο", "##σ", "##ς")
    assert pieces(wordpiece, "ΟΔΟΣ") == ["ο", "##δ", "##ο", "##σ"]


def test_the_order_of_the_texts_does_not_change_the_vocabulary(wordpiece):
    assert WordPiece(vocabulary=200).train(reversed(TEXTS)).vocabulary == wordpiece.vocabulary


def test_a_trained_vocabulary_is_well_formed(wordpiece):
    assert tuple(wordpiece.vocabulary[:5]) == SPECIALS
    assert (wordpiece.pad, wordpiece.unk, wordpiece.cls, wordpiece.sep, wordpiece.mask) == (0, 1, 2, 3, 4)
    assert len(set(wordpiece.vocabulary)) == wordpiece.size <= 200
    assert pieces(wordpiece, "cat") == ["cat"]
    assert "##!" not in wordpiece.vocabulary


@pytest.mark.parametrize("size", [64, 100, 300])
def test_no_more_entries_than_asked_for_even_with_a_large_alphabet(size):
    everything = " ".join(chr(code) for code in range(0x21, 0x2000))
    trained = WordPiece(vocabulary=size).train([everything, everything, *TEXTS])
    assert trained.size <= size
    assert pieces(trained, "\u1e9e\u0e01") == ["[UNK]"] or size == 300


def test_a_word_without_end_is_trained_on_and_unknown():
    trained = WordPiece(vocabulary=200).train([*TEXTS, "ab" * 500_000])
    assert pieces(trained, "ab" * 51) == ["[UNK]"]
    assert pieces(trained, "ab" * 50) != ["[UNK]"]


def test_words_are_cut_greedily_into_the_longest_pieces():
    wordpiece = fixed("un", "##aff", "##able", "unaf", "##fable", "##f")
    assert pieces(wordpiece, "unaffable") == ["unaf", "##fable"]
    assert pieces(wordpiece, "unaffables un") == ["[UNK]", "un"]


def test_words_are_cut_in_a_text_as_each_alone():
    """Unknown, overlong and odd ones among them."""
    words = ["ab", "x", "c", "abx", "a" * 101, "é", "abb", "a#", "##b", "cab", "b", "7", "ab7", "c1"]
    texts = ["ab ab", *(" ".join(words[start::3]) for start in range(3)), "", " ".join(words)]
    wordpiece = fixed("a", "##b", "c", "##a", "7", "##7", "#", "b")
    alone = {word: fixed(*wordpiece.vocabulary[5:]).encode([word])[0] for word in words}
    assert wordpiece.encode(texts) == [[number for word in text.split() for number in alone[word]] for text in texts]
    assert [wordpiece.vocabulary[number] for number in alone["cab"]] == ["c", "##a", "##b"]
    assert alone["abx"] == alone["x"] == alone["a" * 101] == [wordpiece.unk]


def test_lowercase_strips_accents_and_cased_keeps_them():
    assert pieces(fixed("cafe", "café"), "Café CAFÉ") == ["cafe", "cafe"]
    assert pieces(fixed("cafe", "Café", lowercase=False), "Café cafe CAFÉ") == ["Café", "cafe", "[UNK]"]


def test_punctuation_and_ideographs_stand_alone_and_control_characters_vanish():
    wordpiece = fixed("a", "b", "ab", ".", "_", "’", "¿", "漢", "字")
    assert pieces(wordpiece, "a.b_a’b¿") == ["a", ".", "b", "_", "a", "’", "b", "¿"]
    assert pieces(wordpiece, "a漢字b") == ["a", "漢", "字", "b"]
    assert pieces(wordpiece, "a\x0bb a\x1cb a\x00b a\u00adb a\u2028b") == ["ab", "ab", "ab", "ab", "a", "b"]


def test_special_tokens_in_text_are_text(wordpiece):
    specials = {wordpiece.pad, wordpiece.cls, wordpiece.sep, wordpiece.mask}
    for text in ("[MASK]", "a [CLS] b[SEP]", "[PAD]" * 3, "[mask]"):
        assert not specials & set(wordpiece.encode([text])[0])
        assert not specials & set(wordpiece.offsets([text])[0][0])
        assert not specials & set(wordpiece.encode_words([text.split()])[0][0])
    with_brackets = fixed("[", "]", "mask", "[mask]")
    assert pieces(with_brackets, "[MASK]") == ["[", "mask", "]"]


odd = st.text(
    alphabet=st.one_of(
        st.sampled_from("abcABCéÉİΣσςß .,!'’“—_-[]\n\t\r\x00\x0b\x0c\x1c\x85\xa0\u00ad\u0301\u200b\u2028漢ﬁ\ufffd"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=60,
)
ALPHABET = [chr(code) for code in (*range(0x21, 0x7F), 0xE9, 0x3C3, 0x3C2, 0xDF, 0x6F22, 0x2019, 0x201C, 0x2014)]


@given(st.lists(odd, max_size=4), st.booleans())
def test_cutting_at_spaces_and_punctuation_first_changes_nothing(texts, lowercase):
    characters = [*ALPHABET, *(f"##{each}" for each in ALPHABET), "ab", "##bc"]
    wordpiece = fixed(*characters, lowercase=lowercase)
    whole = [ids for ids, _ in wordpiece.offsets(texts)]
    assert wordpiece.encode(texts) == whole
    assert wordpiece.encode(texts) == whole  # from memory


def test_agrees_with_the_tokenizer_of_transformers(tmp_path):
    transformers = pytest.importorskip("transformers")
    wordpiece = WordPiece(vocabulary=200).train(TEXTS)
    wordpiece.save(tmp_path / "vocab.txt")
    theirs = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    for text in (*TEXTS[:3], "Zebra's CAFÉ—unbelievable...", "漢 don't   \t\n dogs"):
        assert wordpiece.encode([text])[0] == theirs(text, add_special_tokens=False)["input_ids"]


def test_halves_of_surrogate_pairs_do_not_stop_it(wordpiece):
    assert len(wordpiece.encode(["cat \ud800 cat"])[0]) == 3
    assert len(wordpiece.offsets(["cat \ud800 cat"])[0][0]) == 3
    assert WordPiece(vocabulary=200).train([*TEXTS, "\udc00"]).size


def test_memory_of_words_is_bounded(wordpiece, monkeypatch):
    monkeypatch.setattr("bertlab.text.tokenizers.wordpiece._MEMORY", 5)
    fresh = TrainedWordPiece(wordpiece.vocabulary)
    for number in range(100):
        assert len(fresh.encode([f"cat{number:05d}"])[0]) >= 1
    assert fresh._ids.cache_info().currsize <= 5
    assert fresh.encode(TEXTS) == wordpiece.encode(TEXTS)


def test_every_word_has_an_id_and_every_id_its_word(wordpiece):
    rows = [["unbelievable", "cats", "", "\u200b", "New York"], [], ["."]]
    encoded = wordpiece.encode_words(rows)
    assert [len(ids) == len(owners) for ids, owners in encoded] == [True] * 3
    ids, owners = encoded[0]
    assert sorted(set(owners)) == [0, 1, 2, 3, 4]
    assert owners == sorted(owners)
    assert [ids[owners.index(word)] for word in (2, 3)] == [wordpiece.unk] * 2
    assert [number for number, word in zip(ids, owners, strict=True) if word == 0] == wordpiece.encode(
        ["unbelievable"]
    )[0]
    assert encoded[1] == ([], [])


def test_offsets_point_into_the_original_text():
    wordpiece = fixed("cafe", "##s", "old", ".")
    text = "Old  CAFÉs."
    ids, spans = wordpiece.offsets([text])[0]
    assert [text[start:end] for start, end in spans] == ["Old", "CAFÉ", "s", "."]
    assert [ids] == wordpiece.encode([text])


def test_offsets_do_not_part_a_letter_from_its_accents():
    text = "Cafe\u0301, old cafe\u0301"
    ((_, spans),) = fixed("cafe", "old", ",").offsets([text])
    assert [text[start:end] for start, end in spans] == ["Cafe\u0301", ",", "old", "cafe\u0301"]


def test_saved_and_loaded_is_the_same(wordpiece, tmp_path):
    path = tmp_path / "vocab.txt"
    wordpiece.save(path)
    loaded = WordPiece().load(path)
    assert loaded.vocabulary == wordpiece.vocabulary
    assert loaded.encode(TEXTS) == wordpiece.encode(TEXTS)


def test_a_published_vocabulary_may_have_its_specials_anywhere(tmp_path):
    path = tmp_path / "vocab.txt"
    entries = ["[PAD]", "[unused0]", "a\u2028b", "[UNK]", "cat", "[CLS]", "[SEP]", "##s", "[MASK]"]
    path.write_bytes("\r\n".join(entries).encode())
    loaded = WordPiece().load(path)
    assert loaded.vocabulary == entries
    assert (loaded.pad, loaded.unk, loaded.cls, loaded.sep, loaded.mask) == (0, 3, 5, 6, 8)
    assert loaded.ordinary.tolist() == [1, 2, 4, 7]
    assert loaded.ordinary.dtype == np.int32
    assert loaded.encode(["Cats"]) == [[4, 7]]


def test_ids_are_packed_in_four_bytes_where_two_do_not_hold_them():
    small, large = fixed(*map(str, range(65_531))), fixed(*map(str, range(65_532)))
    assert (small.dtype.itemsize, large.dtype.itemsize) == (2, 4)
    assert large.encode(["65531 0"]) == [[65_536, 5]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[PAD]\n[UNK]\n[CLS]\na\n", ("[SEP]", "[MASK]")),
        (b"[PAD]\n\xff\n", ("UTF-8", "byte 6")),
        (b"", ("[PAD]",)),
        (None, ("cannot be used", "No such file")),
    ],
)
def test_unusable_vocabularies(tmp_path, data, words):
    path = tmp_path / "vocab.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadInput) as caught:
        WordPiece().load(path)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


def test_a_vocabulary_of_special_tokens_alone_is_refused(tmp_path):
    """No token could stand in for a masked one."""
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(SPECIALS) + "\n")
    with pytest.raises(BadInput, match=r"vocab.txt: the vocabulary has special tokens alone: give one with pieces"):
        WordPiece().load(path)


def entries_of(lowercase=True, accents=False):
    """A vocabulary of text of this case, with accents or without."""
    letters = "abcdefghijklmnopqrstuvwxyz漢,.![]" + "AB" * (not lowercase) + "é" * accents
    words = ["mask", "the", "cafe", *["CaFe"] * (not lowercase), *["café"] * accents]
    return [*SPECIALS, *letters, *(f"##{letter}" for letter in letters), *words]


PIECES = entries_of()
MARKED = ["The CaFé, café!", "a [MASK] of 漢漢 naïve", "xyz\u0301\t the.the", "\U0001f600 é", "a" * 120, ""]


@pytest.fixture(
    params=[(True, None), (False, None), (True, False), (False, True), (False, False)],
    ids=["uncased", "cased", "uncased with accents", "cased without accents", "cased, said twice"],
)
def directory(request, tmp_path):
    """A tokenizer as transformers 5 saves it."""
    from transformers import BertTokenizer

    case, accents = request.param
    entries = entries_of(case, accents=not case if accents is None else not accents)
    theirs = BertTokenizer(
        vocab={piece: number for number, piece in enumerate(entries)}, do_lower_case=case, strip_accents=accents
    )
    theirs.save_pretrained(tmp_path)
    assert not (tmp_path / "vocab.txt").exists()
    return tmp_path


def change(path, **changes):
    """Sets fields of a JSON file at dotted paths; None takes a field out."""
    data = json.loads(path.read_text(encoding="utf-8"))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        at = data
        for name in parents:
            at = at[name]
        at[last] = value
    path.write_text(json.dumps(data), encoding="utf-8")


def theirs(directory, texts=MARKED):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(directory)(texts)["input_ids"]


def test_what_transformers_saves_is_read_with_its_ids(directory):
    ours = base.read(directory)
    plain = [text for text in MARKED if "[MASK]" not in text]  # in theirs that is a token, in ours text
    expected = [ids[1:-1] for ids in theirs(directory, plain)]
    assert ours.encode(plain) == expected
    assert ours.vocabulary == [*json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"]]
    (directory / "tokenizer_config.json").unlink()
    assert base.read(directory).encode(plain) == expected, "tokenizer.json alone"


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_written_gives_transformers_the_same_ids(lowercase, tmp_path):
    entries = entries_of(lowercase, accents=not lowercase)
    ours = TrainedWordPiece(entries, WordPiece(lowercase=lowercase))
    ours.write(tmp_path, 64, 2)
    ids = theirs(tmp_path)
    for text, found in zip(MARKED, ids, strict=True):
        (before, *after) = ours.encode(text.split("[MASK]"))
        assert found == [ours.cls, *before, *(each for part in after for each in (ours.mask, *part)), ours.sep]
    for removed in ((), ("vocab.txt",), ("tokenizer_config.json",)):
        for name in removed:
            (tmp_path / name).unlink()
        again = base.read(tmp_path)
        assert (again.vocabulary, again.settings.lowercase, again.digest) == (entries, lowercase, ours.digest)


@pytest.mark.parametrize(
    ("entries", "text", "lowercase", "accents"),
    [
        (entries_of(), None, True, "by-case"),
        (entries_of(), '{"do_lower_case": true}', True, "by-case"),
        (entries_of(), '{"do_lower_case": null, "strip_accents": null}', True, "by-case"),
        (entries_of(accents=True), None, True, "keep"),
        (entries_of(accents=True), '{"strip_accents": false}', True, "keep"),
        (entries_of(accents=True), '{"do_lower_case": true}', True, "keep"),
        (entries_of(False), None, False, "by-case"),
        (entries_of(False), '{"model_max_length": 512}', False, "by-case"),
        (entries_of(False), '{"do_lower_case": false, "strip_accents": true}', False, "strip"),
        (entries_of(False, True), None, False, "by-case"),
        (entries_of(False, True), '{"do_lower_case": false, "strip_accents": false}', False, "by-case"),
        (
            [*entries_of(), *(f"word{number}" for number in range(300)), "COVID", "<E1>"],
            '{"do_lower_case": true}',
            True,
            "by-case",
        ),
        ([*entries_of(), "[URL]", "[E1]", "[unused1]"], None, True, "by-case"),
    ],
)
def test_the_case_of_a_vocab_txt_is_that_of_its_settings_or_of_its_entries(tmp_path, entries, text, lowercase, accents):
    TrainedWordPiece(entries).save(tmp_path / "vocab.txt")
    if text is not None:
        (tmp_path / "tokenizer_config.json").write_text(text)
    read = base.read(tmp_path)
    assert (read.settings.lowercase, read.settings.accents) == (lowercase, accents)


@pytest.mark.parametrize(
    ("entries", "text", "message"),
    [
        (
            entries_of(False),
            {"do_lower_case": True},
            "has 'A', which a text without capitals never has: set do_lower_case to false",
        ),
        (entries_of(False, True), {"do_lower_case": True}, "'A', which a text without capitals never has"),
        (
            entries_of(accents=True),
            {"do_lower_case": True, "strip_accents": None},
            "'é', which a text without accents never has: set strip_accents to false in",
        ),
        (
            entries_of(False, True),
            {"do_lower_case": False, "strip_accents": True},
            "'é', which a text without accents",
        ),
        (
            entries_of(),
            {"do_lower_case": False},
            "has no entry with a capital, and a text has them: set do_lower_case to true",
        ),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_a_vocabulary_of_another_case_is_refused(tmp_path, entries, text, message, whole):
    theirs = TrainedWordPiece(entries, WordPiece._like(text["do_lower_case"], text.get("strip_accents")))
    theirs.write(tmp_path, 64, 2)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(text))
    if not whole:
        (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(BadInput, match=message):
        base.read(tmp_path)


@pytest.mark.parametrize(
    ("entries", "fields", "message"),
    [
        (entries_of(False), {}, r"vocab.txt has 'A', .*: set tokenizer.lowercase=false"),
        (
            entries_of(),
            {"lowercase": False},
            r"vocab.txt has no entry with a capital.*: set tokenizer.lowercase=true",
        ),
        (entries_of(accents=True), {}, r"vocab.txt has 'é', .*: set tokenizer.accents=keep"),
    ],
)
def test_a_given_vocabulary_is_of_the_case_of_the_recipe(tmp_path, entries, fields, message):
    path = tmp_path / "vocab.txt"
    TrainedWordPiece(entries).save(path)
    given = f"sha256:{'0' * 64}"
    with pytest.raises(BadInput, match=message):
        WordPiece(given=given, **fields).load(path)
    assert WordPiece(**fields).load(path).vocabulary == entries, "what was trained is of its text"


@pytest.mark.parametrize("entries", [[*map(chr, range(0x4E00, 0x4F00)), *string.ascii_lowercase], ["one", "two", "a"]])
def test_ideographs_and_lists_of_words_show_no_case(tmp_path, entries):
    entries = [*SPECIALS, *entries]
    TrainedWordPiece(entries).save(tmp_path / "vocab.txt")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert base.read(tmp_path).settings.cased


def test_settings_that_bert_does_not_have_are_refused_by_name(tmp_path):
    TrainedWordPiece(PIECES).save(tmp_path / "vocab.txt")
    settings = tmp_path / "tokenizer_config.json"
    for text, message in (
        ('{"do_lower_case": "no"}', "tokenizer_config.json: .*lowercase is 'no'"),
        ('{"strip_accents": "no"}', "accents is 'no'"),
        ('{"tokenize_chinese_chars": false}', "tokenize_chinese_chars false: only BERT"),
        ('{"never_split": ["[E1]"]}', "never_split"),
        ('{"clean_text": false}', "clean_text false"),
        ('{"wordpieces_prefix": "@@"}', "wordpieces_prefix @@"),
        ('{"tokenizer_class": "RoFormerTokenizer"}', "tokenizer_class RoFormerTokenizer"),
        ('{"auto_map": {"AutoTokenizer": ["a.b", null]}}', "auto_map"),
        ('{"mask_token": "[BLANK]"}', r"has mask_token '\[BLANK\]': only tokenizers with \[MASK\] can be read"),
        ('{"tokenizer_class": "BertJapaneseTokenizer"}', "tokenizer_class BertJapaneseTokenizer"),
        ('{"do_basic_tokenize": false}', "do_basic_tokenize false: only BERT"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "cannot be read as JSON"),
    ):
        settings.write_text(text)
        with pytest.raises(BadInput, match=message):
            base.read(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    with pytest.raises(BadInput, match=r"neither tokenizer.json nor vocab.txt"):
        base.read(tmp_path)


NUMBERS = dict(zip(PIECES, range(len(PIECES)), strict=True))


@pytest.mark.parametrize(
    "changes",
    [
        {"model": None},
        {"model__type": "BPE"},
        {"model__continuing_subword_prefix": "@@"},
        {"normalizer": {"type": "Lowercase"}},
        {"normalizer__handle_chinese_chars": False},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"model__vocab": list(PIECES)},
        {"model__vocab": {**NUMBERS, "x1": "7"}},
        {"model__vocab": {**NUMBERS, "x1": 10**9}},
        {"model__vocab": {**NUMBERS, "a\nb": len(NUMBERS)}},
        {"added_tokens": [{"content": "covid"}]},
        {"added_tokens": [{"id": "7", "content": "covid"}]},
        {"added_tokens": "covid"},
    ],
)
def test_a_tokenizer_that_is_not_berts_is_one_line(directory, changes):
    change(directory / "tokenizer.json", **changes)
    with pytest.raises(BadInput, match=r"is of another kind: only .*wordpiece.* can be read") as caught:
        base.read(directory)
    assert "\n" not in str(caught.value)


def test_files_that_differ_in_case_are_refused(directory):
    lowercase = base.read(directory).settings.lowercase
    change(directory / "tokenizer_config.json", do_lower_case=not lowercase)
    with pytest.raises(BadInput, match="differ in lower-casing"):
        base.read(directory)


def test_files_that_differ_in_accents_are_refused(directory):
    settings = base.read(directory).settings
    kept = {"strip": None, "keep": None, "by-case": not settings.lowercase}[settings.accents]
    change(directory / "tokenizer_config.json", strip_accents=kept)
    with pytest.raises(BadInput, match="differ in accents"):
        base.read(directory)


def test_a_repeated_entry_is_named_and_the_last_one_counts(tmp_path, capsys):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join([*SPECIALS, "the", "cat", "the"]), encoding="utf-8")
    assert WordPiece().load(path).encode(["the cat"]) == [[7, 6]]
    assert "'the' 2 times: only the last one is used" in capsys.readouterr().err
