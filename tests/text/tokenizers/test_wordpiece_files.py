"""Tokenizers in the files of transformers: what it writes is read, what is written it reads, all else is refused."""

import json

import pytest

from bertlab.errors import BadInput
from bertlab.text.tokenizers import SPECIALS, WordPiece, base
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

LETTERS = "abcdefghijklmnopqrstuvwxyzABé漢,.![]"
PIECES = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), "mask", "the", "CaFé", "cafe", "café"]
TEXTS = ["The CaFé, café!", "a [MASK] of 漢漢 naïve", "xyz\u0301\t the.the", "\U0001f600 é", "a" * 120, ""]


@pytest.fixture(
    params=[(True, None), (False, None), (True, False), (False, True), (False, False)],
    ids=["uncased", "cased", "uncased with accents", "cased without accents", "cased, said twice"],
)
def directory(request, tmp_path):
    """A tokenizer as transformers 5 saves it."""
    from transformers import BertTokenizer

    case, accents = request.param
    theirs = BertTokenizer(
        vocab={piece: number for number, piece in enumerate(PIECES)}, do_lower_case=case, strip_accents=accents
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
    assert ours.vocabulary == PIECES
    (directory / "tokenizer_config.json").unlink()
    assert base.read(directory).encode(plain) == expected, "tokenizer.json alone"


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_written_gives_transformers_the_same_ids(lowercase, tmp_path):
    ours = TrainedWordPiece(PIECES, WordPiece(lowercase=lowercase))
    ours.write(tmp_path, 64, 2)
    ids = theirs(tmp_path)
    for text, found in zip(TEXTS, ids, strict=True):
        (before, *after) = ours.encode(text.split("[MASK]"))
        assert found == [ours.cls, *before, *(each for part in after for each in (ours.mask, *part)), ours.sep]
    for removed in ((), ("vocab.txt",), ("tokenizer_config.json",)):
        for name in removed:
            (tmp_path / name).unlink()
        again = base.read(tmp_path)
        assert (again.vocabulary, again.settings.lowercase, again.digest) == (PIECES, lowercase, ours.digest)


def test_vocab_txt_alone_is_lowercased_unless_its_settings_say_otherwise(tmp_path):
    TrainedWordPiece(PIECES).save(tmp_path / "vocab.txt")
    settings = tmp_path / "tokenizer_config.json"
    for text, lowercase, accents in (
        (None, True, "by-case"),
        ('{"do_lower_case": false, "strip_accents": false}', False, "by-case"),
        ('{"strip_accents": false}', True, "keep"),
        ('{"do_lower_case": false, "strip_accents": true}', False, "strip"),
    ):
        if text is not None:
            settings.write_text(text)
        read = base.read(tmp_path)
        assert (read.settings.lowercase, read.settings.accents) == (lowercase, accents)
    for text, message in (
        ('{"do_lower_case": "no"}', "tokenizer_config.json: .*lowercase is 'no'"),
        ('{"strip_accents": "no"}', "accents is 'no'"),
        ('{"tokenize_chinese_chars": false}', "Chinese"),
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
        {"added_tokens": [{"id": len(NUMBERS), "content": "covid"}]},
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
    kept = {"strip": False, "keep": True, "by-case": not settings.lowercase}[settings.accents]
    change(directory / "tokenizer_config.json", strip_accents=kept)
    with pytest.raises(BadInput, match="differ in accents"):
        base.read(directory)
