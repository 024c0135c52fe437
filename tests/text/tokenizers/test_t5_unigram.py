"""T5's tokenizer: SentencePiece's own ids and those of `transformers`, and sentinels that no text has."""

import dataclasses
import io
import json

import numpy as np
import pytest

from bertlab.errors import BadInput
from bertlab.text.tokenizers import T5Unigram, base

TEXTS = ["The cat sat on the mat, and the dog saw it.", "A naïve Cat!", "Thank you for inviting me to your party"] * 5
UNSEEN = ["The dog thanked the cat", "naïve <extra_id_3> </s> mats", "Zürich is 7 miles off", ""]


@pytest.fixture(scope="module")
def pieces():
    """A spiece.model with the specials of T5's, and SentencePiece's own tokenizer."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS), model_writer=model, vocab_size=90, model_type="unigram", hard_vocab_limit=False,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, normalization_rule_name="nmt_nfkc", minloglevel=2, num_threads=1,
    )  # fmt: skip
    return model.getvalue(), sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def test_a_spiece_model_is_read_with_its_ids(pieces, tmp_path):
    content, theirs = pieces
    (tmp_path / "spiece.model").write_bytes(content)
    ours = base.read(tmp_path)
    assert ours.settings == T5Unigram()
    assert ours.encode([*TEXTS, *UNSEEN]) == theirs.encode([*TEXTS, *UNSEEN])
    assert (ours.pad, ours.sep, ours.unk) == (0, 1, 2)
    size = theirs.get_piece_size()
    assert ours.size == size + 100
    assert ours.sentinels.tolist() == [*range(size + 99, size - 1, -1)]
    assert ours.vocabulary[-1] == "<extra_id_0>"
    assert not np.isin(ours.ordinary, [0, 1, 2, *ours.sentinels]).any()


def test_a_config_says_how_many_sentinels_there_are(pieces, tmp_path):
    (tmp_path / "spiece.model").write_bytes(pieces[0])
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"extra_ids": 7}))
    assert len(base.read(tmp_path).sentinels) == 7
    config.write_text(json.dumps({"extra_ids": "7"}))
    with pytest.raises(BadInput, match="extra_ids '7': give a number"):
        base.read(tmp_path)


def test_a_tokenizer_of_transformers_is_read_with_its_ids(pieces, tmp_path):
    from transformers import T5Tokenizer

    size = pieces[1].get_piece_size()
    scored = [(pieces[1].id_to_piece(number), pieces[1].get_score(number)) for number in range(size)]
    scored += [(f"<extra_id_{number}>", 0.0) for number in reversed(range(20))]
    theirs = T5Tokenizer(vocab=scored, extra_ids=20)
    theirs.save_pretrained(tmp_path)
    ours = base.read(tmp_path)
    assert ours.settings == T5Unigram(sentinels=20)
    plain = [text for text in (*TEXTS, *UNSEEN) if "<" not in text]
    assert ours.encode(plain) == theirs(plain, add_special_tokens=False)["input_ids"]
    assert ours.sentinels.tolist() == theirs.convert_tokens_to_ids([f"<extra_id_{number}>" for number in range(20)])


def test_a_trained_one_is_written_for_transformers_and_read_back(tmp_path):
    from transformers import AutoTokenizer

    ours = T5Unigram(vocabulary=80, sentinels=5).train(TEXTS)
    assert ours.vocabulary[:3] == ["<pad>", "</s>", "<unk>"]
    assert ours.vocabulary[-5:] == [f"<extra_id_{number}>" for number in (4, 3, 2, 1, 0)]
    ours.write(tmp_path, 64, 0)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    assert theirs(TEXTS[0])["input_ids"] == [*ours.encode(TEXTS[:1])[0], ours.sep]
    assert theirs("<extra_id_2>", add_special_tokens=False)["input_ids"] == [ours.sentinels[2]]
    again = base.read(tmp_path)
    assert (again.vocabulary, again.settings) == (
        ours.vocabulary,
        dataclasses.replace(ours.settings, vocabulary=30_522),
    )
    assert again.encode(UNSEEN) == ours.encode(UNSEEN)
    assert max(map(max, filter(None, again.encode(UNSEEN)))) < min(ours.sentinels)


def test_its_file_needs_its_number_of_sentinels(tmp_path):
    trained = T5Unigram(vocabulary=80, sentinels=5).train(TEXTS)
    trained.save(tmp_path / "tokenizer.json")
    assert T5Unigram(vocabulary=80, sentinels=5).load(tmp_path / "tokenizer.json").data == trained.data
    with pytest.raises(BadInput, match="lacks some of 6 sentinels"):
        T5Unigram(vocabulary=80, sentinels=6).load(tmp_path / "tokenizer.json")
