"""Tokenizers in the files of transformers: what it writes is read, what is written it reads, all else is refused."""

import json
import string

import pytest

from bertlab.errors import BadInput
from bertlab.text.tokenizers import SPECIALS, WordPiece, base
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece


def pieces(lowercase=True, accents=False):
    """A vocabulary of text of this case, with accents or without."""
    letters = "abcdefghijklmnopqrstuvwxyz漢,.![]" + "AB" * (not lowercase) + "é" * accents
    words = ["mask", "the", "cafe", *["CaFe"] * (not lowercase), *["café"] * accents]
    return [*SPECIALS, *letters, *(f"##{letter}" for letter in letters), *words]


PIECES = pieces()
TEXTS = ["The CaFé, café!", "a [MASK] of 漢漢 naïve", "xyz\u0301\t the.the", "\U0001f600 é", "a" * 120, ""]


@pytest.fixture(
    params=[(True, None), (False, None), (True, False), (False, True), (False, False)],
    ids=["uncased", "cased", "uncased with accents", "cased without accents", "cased, said twice"],
)
def directory(request, tmp_path):
    """A tokenizer as transformers 5 saves it."""
    from transformers import BertTokenizer

    case, accents = request.param
    entries = pieces(case, accents=not case if accents is None else not accents)
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


def theirs(directory, texts=TEXTS):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(directory)(texts)["input_ids"]


def test_what_transformers_saves_is_read_with_its_ids(directory):
    ours = base.read(directory)
    plain = [text for text in TEXTS if "[MASK]" not in text]  # in theirs that is a token, in ours text
    expected = [ids[1:-1] for ids in theirs(directory, plain)]
    assert ours.encode(plain) == expected
    assert ours.vocabulary == [*json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"]]
    (directory / "tokenizer_config.json").unlink()
    assert base.read(directory).encode(plain) == expected, "tokenizer.json alone"


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_written_gives_transformers_the_same_ids(lowercase, tmp_path):
    entries = pieces(lowercase, accents=not lowercase)
    ours = TrainedWordPiece(entries, WordPiece(lowercase=lowercase))
    ours.write(tmp_path, 64, 2)
    ids = theirs(tmp_path)
    for text, found in zip(TEXTS, ids, strict=True):
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
        (pieces(), None, True, "by-case"),
        (pieces(), '{"do_lower_case": true}', True, "by-case"),
        (pieces(), '{"do_lower_case": null, "strip_accents": null}', True, "by-case"),
        (pieces(accents=True), None, True, "keep"),
        (pieces(accents=True), '{"strip_accents": false}', True, "keep"),
        (pieces(accents=True), '{"do_lower_case": true}', True, "keep"),
        (pieces(False), None, False, "by-case"),
        (pieces(False), '{"model_max_length": 512}', False, "by-case"),
        (pieces(False), '{"do_lower_case": false, "strip_accents": true}', False, "strip"),
        (pieces(False, True), None, False, "by-case"),
        (pieces(False, True), '{"do_lower_case": false, "strip_accents": false}', False, "by-case"),
        (
            [*pieces(), *(f"word{number}" for number in range(300)), "COVID", "<E1>"],
            '{"do_lower_case": true}',
            True,
            "by-case",
        ),
        ([*pieces(), "[URL]", "[E1]", "[unused1]"], None, True, "by-case"),
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
            pieces(False),
            {"do_lower_case": True},
            "has 'A', which a text without capitals never has: set do_lower_case to false",
        ),
        (pieces(False, True), {"do_lower_case": True}, "'A', which a text without capitals never has"),
        (
            pieces(accents=True),
            {"do_lower_case": True, "strip_accents": None},
            "'é', which a text without accents never has: set strip_accents to false in",
        ),
        (pieces(False, True), {"do_lower_case": False, "strip_accents": True}, "'é', which a text without accents"),
        (
            pieces(),
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
        (pieces(False), {}, r"vocab.txt has 'A', .*: set tokenizer.lowercase=false"),
        (pieces(), {"lowercase": False}, r"vocab.txt has no entry with a capital.*: set tokenizer.lowercase=true"),
        (pieces(accents=True), {}, r"vocab.txt has 'é', .*: set tokenizer.accents=keep"),
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
