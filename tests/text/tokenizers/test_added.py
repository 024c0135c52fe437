"""Tokens that were added to published tokenizers: wherever their files name them, they are what transformers reads."""

import json
import string

import pytest

from bertlab.errors import BadInput
from bertlab.text.tokenizers import SPECIALS, ByteLevelBPE, ModernBPE, Unigram, WordPiece, added, base
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

LETTERS = "abcdefghijklmnopqrstuvwxyz.,![]<>"
PIECES = [*SPECIALS, *LETTERS, *(f"##{letter}" for letter in LETTERS), "the", "cat", "[E1]"]
SENTENCES = ["the cat sat on the mat, and the dog saw it.", "A naive cat! <b> [c] url covid"] * 5
TEXTS = [
    "The [URL] url [E1] covid COVID xcovidx", "[URL][URL] the[E1]cat", " [URL] ", "covid", "[url] the <user> <USER>.",
    "", "the cat",
]  # fmt: skip


def bert():
    return TrainedWordPiece(PIECES)


def roberta():
    return ByteLevelBPE(vocabulary=300, add_prefix_space=False).train(SENTENCES)


def modern_bert():
    return ModernBPE(vocabulary=300, add_prefix_space=False).train(SENTENCES)


def albert():
    entries = [
        ["<pad>", 0.0],
        ["<unk>", 0.0],
        ["[CLS]", 0.0],
        ["[SEP]", 0.0],
        ["[MASK]", 0.0],
        ["▁", -3.0],
        ["▁the", -3.0],
    ]
    entries += [[letter, -5.0 - place / 100] for place, letter in enumerate(string.ascii_lowercase + ".,![]<>1")]
    return Unigram()._trained(entries)


KINDS = {"bert": bert, "roberta": roberta, "modernbert": modern_bert, "albert": albert}


@pytest.fixture(params=KINDS)
def published(request, tmp_path):
    """A directory that transformers reads, and the number of its entries."""
    ours = KINDS[request.param]()
    ours.write(tmp_path, 64, 2)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": request.param}))
    return tmp_path, ours.size


def change(path, **fields):
    data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(data | fields), encoding="utf-8")


def to_json(folder, *tokens):
    path = folder / "tokenizer.json"
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    added = json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
    change(path, added_tokens=added + [flags | token for token in tokens])


def by_json(folder, size):
    to_json(folder, {"id": size, "content": "[URL]"}, {"id": size + 1, "content": "covid", "special": False})


def by_json_normalized(folder, size):
    flags = {"special": False, "normalized": True}
    to_json(folder, {"id": size, "content": "covid", **flags}, {"id": size + 1, "content": "<USER>", **flags})


def by_json_flags(folder, size):
    flags = {"special": False, "normalized": True, "single_word": True, "lstrip": True}
    to_json(folder, {"id": size, "content": "covid", **flags}, {"id": size + 1, "content": "[URL]", "rstrip": True})


def by_decoder(folder, size):
    special = {"special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
    named = {"[URL]": special, "covid": {**special, "special": False, "normalized": True}}
    decoder = {str(size + place): {"content": text, **flags} for place, (text, flags) in enumerate(named.items())}
    change(folder / "tokenizer_config.json", added_tokens_decoder=decoder)


def by_legacy(folder, size):
    change(folder / "added_tokens.json", **{"[URL]": size, "covid": size + 1})


def by_map(folder, size):
    change(folder / "special_tokens_map.json", additional_special_tokens=["[URL]", "<USER>"])


def by_config(folder, size):
    change(folder / "tokenizer_config.json", additional_special_tokens=["[URL]", "covid"])


def by_extra(folder, size):
    change(folder / "tokenizer_config.json", extra_special_tokens=["[URL]", "covid"])


def by_both(folder, size):
    by_legacy(folder, size)
    change(folder / "special_tokens_map.json", additional_special_tokens=["[URL]"])


WAYS = [
    by_json, by_json_normalized, by_json_flags, by_decoder, by_legacy, by_map, by_config, by_extra, by_both,
]  # fmt: skip


def ids_of(folder, texts=TEXTS):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)(texts, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_added_tokens_are_those_of_transformers(published, way, tmp_path):
    folder, size = published
    way(folder, size)
    ours = base.read(folder)
    assert ours.encode(TEXTS) == ids_of(folder)
    assert ours.size == size + 2
    assert ours.encode([ours.added[0]["content"]])[0][-1] == size
    assert ours.shown(size) in ("[URL]", "covid")

    written = tmp_path / "written"
    written.mkdir()
    ours.write(written, 64, 2)
    assert ids_of(written) == ours.encode(TEXTS)
    again = base.read(written)
    assert (again.vocabulary, again.data, again.encode(TEXTS)) == (ours.vocabulary, ours.data, ours.encode(TEXTS))

    saved = written / ours.settings.file
    ours.save(saved)
    loaded = ours.settings.load(saved)
    assert (loaded.data, loaded.encode(TEXTS)) == (ours.data, ours.encode(TEXTS))
    assert loaded.vocabulary == ours.vocabulary


@pytest.mark.parametrize("way", [by_decoder, by_legacy, by_map, by_config])
@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_older_files_have_no_tokenizer_json(way, kind, tmp_path):
    ours = KINDS[kind]()
    ours.write(tmp_path, 64, 2)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    (tmp_path / "tokenizer_config.json").unlink()
    way(tmp_path, ours.size)
    found = base.read(tmp_path)
    assert found.encode(TEXTS) == ids_of(tmp_path)
    assert found.size == ours.size + 2


def test_older_files_name_a_token_with_its_flags(published):
    folder, size = published
    token = {"content": "[URL]", "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    change(folder / "special_tokens_map.json", additional_special_tokens=[token], bos_token=None)
    by_dict = base.read(folder)
    change(folder / "special_tokens_map.json", additional_special_tokens=["[URL]"])
    assert by_dict.data == base.read(folder).data
    assert by_dict.size == size + 1


def test_markers_of_a_vocab_txt_are_whole_if_a_file_names_them(tmp_path):
    bert().save(tmp_path / "vocab.txt")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    text = "the [E1] cat"
    assert base.read(tmp_path).encode([text]) == ids_of(tmp_path, [text])
    change(tmp_path / "special_tokens_map.json", additional_special_tokens=["[E1]"])
    ours = base.read(tmp_path)
    assert ours.encode([text]) == ids_of(tmp_path, [text]) == [[*map(PIECES.index, ("the", "[E1]", "cat"))]]
    assert ours.vocabulary == PIECES


def test_other_names_of_special_tokens_are_added_in_the_order_of_transformers(tmp_path):
    bert().save(tmp_path / "vocab.txt")
    names = {"eos_token": "[EOS]", "bos_token": "[BOS]", "additional_special_tokens": ["[URL]"], "pad_token": "[PAD]"}
    change(tmp_path / "tokenizer_config.json", **names)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    ours, texts = base.read(tmp_path), ["[BOS] the [URL] cat [EOS]"]
    assert ours.encode(texts) == ids_of(tmp_path, texts)
    assert ours.vocabulary[-3:] == ["[BOS]", "[EOS]", "[URL]"]


@pytest.mark.parametrize(
    ("name", "fields", "says"),
    [
        (
            "tokenizer.json",
            {"id": len(PIECES) + 1},
            f"'[URL]' the id {len(PIECES) + 1}, and the next one is {len(PIECES)}",
        ),
        ("tokenizer.json", {"id": 7}, "tokenizer.json gives the added token '[URL]' the id 7, and the next one is"),
        ("added_tokens.json", {"[URL]": 90}, "added_tokens.json gives the added token '[URL]' the id 90, and the next"),
        ("added_tokens.json", {"the": 90}, "the added token 'the' the id 90, and the vocabulary"),
        ("added_tokens.json", {"[URL]": "x"}, "gives '[URL]' the id 'x': give a number"),
        (
            "special_tokens_map.json",
            {"mask_token": "[B]"},
            "has mask_token '[B]': only tokenizers with [MASK] can be read",
        ),
        ("special_tokens_map.json", {"bos_token": ""}, "names the special token '': give a text"),
        ("tokenizer_config.json", {"added_tokens_decoder": {"9": "x"}}, "has the added token 'x'"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(tmp_path, name, fields, says):
    bert().write(tmp_path, 64, 2)
    if name == "tokenizer.json":
        to_json(tmp_path, {"content": "[URL]", **fields})
    else:
        change(tmp_path / name, **fields)
    with pytest.raises(BadInput) as caught:
        base.read(tmp_path)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unreadable_file_is_named_once(tmp_path, monkeypatch):
    bert().write(tmp_path, 64, 2)

    def refused(path, what):
        raise BadInput(f"{what} '{path}': Permission denied")

    monkeypatch.setattr(added, "content", refused)
    with pytest.raises(BadInput) as caught:
        base.read(tmp_path)
    assert str(caught.value) == f"checkpoint file '{tmp_path / 'tokenizer.json'}': Permission denied"


def test_a_tokenizer_that_splits_its_special_tokens_is_refused(tmp_path):
    ours = bert()
    ours.write(tmp_path, 64, 2)
    change(tmp_path / "tokenizer_config.json", split_special_tokens=True)
    assert base.read(tmp_path).encode(TEXTS) == ours.encode(TEXTS), "the five are split here anyway"
    by_map(tmp_path, ours.size)
    with pytest.raises(BadInput, match=r"split_special_tokens true: only tokenizers that leave '\[URL\]' whole"):
        base.read(tmp_path)


def test_a_given_tokenizer_json_of_bert_has_its_added_tokens(tmp_path):
    bert().write(tmp_path, 64, 2)
    by_json(tmp_path, len(PIECES))
    path = tmp_path / "tokenizer.json"
    loaded = WordPiece(whole=True).load(path)
    assert loaded.encode(["the [URL]"]) == [[PIECES.index("the"), len(PIECES)]]
    with pytest.raises(BadInput, match=r"is a tokenizer.json: set tokenizer.whole=true"):
        WordPiece().load(path)
    with pytest.raises(BadInput, match=r"was made with tokenizer.lowercase=true: give --set"):
        WordPiece(whole=True, lowercase=False).load(path)
    change(path, pre_tokenizer={"type": "Whitespace"})
    with pytest.raises(BadInput, match=r"is not the tokenizer.json of a WordPiece as BERT's: give one"):
        WordPiece(whole=True).load(path)


def test_words_and_offsets_have_added_tokens(tmp_path):
    bert().write(tmp_path, 64, 2)
    by_json(tmp_path, len(PIECES))
    ours, text = base.read(tmp_path), "The [URL] cat"
    ids, places = ours.offsets([text])[0]
    assert [text[begin:end] for begin, end in places] == ["The", "[URL]", "cat"]
    assert ours.encode_words([["The", "[URL]", "cat"]])[0][0] == ids
    assert [*ours.word_starts[ids]] == [True] * 3


def test_a_vocabulary_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8-sig")
    assert WordPiece().load(tmp_path / "vocab.txt").vocabulary == PIECES
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": true}', encoding="utf-8-sig")
    assert base.read(tmp_path).vocabulary == PIECES
