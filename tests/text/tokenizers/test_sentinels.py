"""Entries that stand for spans of text: no text has them, no loss draws them, and files do without them."""

import dataclasses
import json

import numpy as np
import pytest

from bertlab.objectives import Corruption
from bertlab.objectives.selection import Choice
from bertlab.recipe.identity import to_canonical
from bertlab.text.tokenizers import ByteLevelBPE, ModernBPE, Unigram, WordPiece

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
