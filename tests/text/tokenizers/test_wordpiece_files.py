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


@pytest.mark.parametrize("accents", ["by-case", "keep", "strip"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_written_gives_transformers_the_same_ids(lowercase, accents, tmp_path):
    ours = TrainedWordPiece(PIECES, WordPiece(lowercase=lowercase, accents=accents))
    ours.write(tmp_path, 64)
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
        ("{}", True, "by-case"),
        ('{"do_lower_case": false, "strip_accents": false}', False, "by-case"),
        ('{"strip_accents": false}', True, "keep"),
        ('{"do_lower_case": false, "strip_accents": true}', False, "strip"),
    ):
        if text is not None:
            settings.write_text(text)
        read = base.read(tmp_path)
        assert (read.settings.lowercase, read.settings.accents) == (lowercase, accents)
    for text, message in (
        ('{"do_lower_case": "no"}', "do_lower_case 'no'"),
        ('{"strip_accents": "no"}', "strip_accents 'no'"),
        ('{"tokenize_chinese_chars": false}', "Chinese"),
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
    ("changes", "message"),
    [
        ({"model": None}, "model with unk_token None"),
        ({"model__type": "BPE"}, "is of another kind: only .*wordpiece.* can be read"),
        ({"model__continuing_subword_prefix": "@@"}, "continuing_subword_prefix '@@'"),
        ({"model__unk_token": "<unk>"}, "unk_token"),
        ({"model__max_input_chars_per_word": 1000}, "max_input_chars_per_word"),
        ({"normalizer": None}, "normalizer with type None"),
        ({"normalizer": {"type": "Lowercase"}}, "normalizer with type 'Lowercase'"),
        ({"normalizer__clean_text": False}, "clean_text False"),
        ({"normalizer__handle_chinese_chars": False}, "handle_chinese_chars False"),
        ({"normalizer__lowercase": 1}, "lowercase 1"),
        ({"normalizer__strip_accents": "yes"}, "strip_accents 'yes'"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer with type 'Whitespace'"),
        ({"pre_tokenizer": []}, "pre_tokenizer with type None"),
        ({"model__vocab": list(PIECES)}, "number its vocabulary"),
        ({"model__vocab": {**NUMBERS, "x1": "7"}}, "number its vocabulary"),
        ({"model__vocab": {**NUMBERS, "x1": 10**9}}, "number its vocabulary"),
        ({"model__vocab": {**NUMBERS, "a\nb": len(PIECES)}}, "line break"),
        ({"model__vocab": {"a": 0}, "added_tokens": []}, r"has no \[PAD\]"),
        ({"added_tokens": [{"id": 400, "content": "<new>"}]}, "adds the token '<new>'"),
        ({"added_tokens": 3}, "adds the token 3"),
    ],
)
def test_a_tokenizer_that_is_not_berts_is_one_line(directory, changes, message):
    change(directory / "tokenizer.json", **changes)
    with pytest.raises(BadInput, match=message) as caught:
        base.read(directory)
    assert "\n" not in str(caught.value)


def test_files_that_contradict_one_another_are_refused(directory):
    TrainedWordPiece(PIECES[:-1]).save(directory / "vocab.txt")
    with pytest.raises(BadInput, match="other entries"):
        base.read(directory)
    TrainedWordPiece(PIECES).save(directory / "vocab.txt")
    lowercase = base.read(directory).settings.lowercase
    change(directory / "tokenizer_config.json", do_lower_case=not lowercase)
    with pytest.raises(BadInput, match="differ in lower-casing"):
        base.read(directory)
    change(directory / "tokenizer_config.json", do_lower_case=lowercase, strip_accents=not lowercase)
    change(directory / "tokenizer.json", normalizer__strip_accents=lowercase)
    with pytest.raises(BadInput, match="differ in accents"):
        base.read(directory)
