"""Likelihoods of sentences: a loop over transformers that scores one token at a time gives the same ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bertlab.adaptation.zero_shot import scorer, sentence_scores
from bertlab.errors import BadInput
from bertlab.model.heads import PretrainingModel
from bertlab.model.interop import huggingface
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, CausalLM, MaskedLM, NextSentence, sentences
from bertlab.objectives.generator import TokenGenerator
from bertlab.progress import silent
from bertlab.recipe import BiLSTM, Model
from bertlab.text.tokenizers import ByteLevelBPE, Unigram, WordPiece
from random_weights import perturbed

TEXT = ["The cats of the farmer are barking, aren't they?", "A farmer that the dogs liked has 12 barking cats."] * 4
PAIRS = [
    *("The cats that the farmer liked are barking.", "The cats that the farmer liked is barking."),
    *("A dog barks.", "A dog barks, they said: 12 farmers aren't."),
    *("The cats that the farmer liked are barking.", "the dogs"),
]
TOKENIZERS = [
    WordPiece(vocabulary=90),
    ByteLevelBPE(vocabulary=290),
    ByteLevelBPE(vocabulary=290, add_prefix_space=False),
    Unigram(vocabulary=70),
]
SHAPE = Model(layers=2, hidden=32, heads=2, positions="learned", max_positions=80, dropout=0.3)


def model_with(tokenizer: Any, *objective: Any, shape: Any = SHAPE) -> PretrainingModel:
    model = perturbed(PretrainingModel(shape, tokenizer.size, 80, 0, objective)).eval()
    model.tokenizer = tokenizer
    return model


def encoded(tokenizer: Any) -> list[Any]:
    return [np.array([tokenizer.cls, *ids, tokenizer.sep], np.int32) for ids in tokenizer.encode(PAIRS)]


def log_probability(model: Any, ids: list[int], shown: list[int], position: int, target: int) -> float:
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([shown])).logits[0, position].double()
    return float(logits.log_softmax(-1)[ids[target]])


def masked(ids: list[int], hidden: list[int], mask: int) -> list[int]:
    return [mask if place in hidden else token for place, token in enumerate(ids)]


def masked_lm_scores(model: Any, tokenizer: Any, sentence: str) -> list[float]:
    """Both pseudo-log-likelihoods, as minicons defines them."""
    encoding = tokenizer(sentence)
    ids, words, mask = encoding["input_ids"], encoding.word_ids(), tokenizer.mask_token_id
    places = range(1, len(ids) - 1)
    alone, within = 0.0, 0.0
    for place in places:
        later = [other for other in places if other >= place and words[other] == words[place]]
        alone += log_probability(model, ids, masked(ids, [place], mask), place, place)
        within += log_probability(model, ids, masked(ids, later, mask), place, place)
    return [alone, within]


@pytest.mark.parametrize("settings", TOKENIZERS, ids=str)
def test_a_masked_lm_scores_as_a_loop_over_transformers(settings: Any, tmp_path: Any) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = settings.train(TEXT)
    model = model_with(tokenizer, MaskedLM())
    huggingface.write(tmp_path / "model", model, SHAPE, tokenizer)
    theirs = AutoModelForMaskedLM.from_pretrained(tmp_path / "model").eval()
    their_tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    expected = [masked_lm_scores(theirs, their_tokenizer, sentence) for sentence in PAIRS]
    scores = sentence_scores(model, encoded(tokenizer), silent)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-5)
    assert (np.abs(scores[:, 0] - scores[:, 1]) > 1e-2).any()


def test_a_causal_lm_scores_as_a_loop_over_transformers(tmp_path: Any) -> None:
    from transformers import AutoModelForCausalLM

    tokenizer = TOKENIZERS[0].train(TEXT)
    model = model_with(tokenizer, CausalLM())
    huggingface.write(tmp_path / "model", model, SHAPE, tokenizer)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    expected = [
        [sum(log_probability(theirs, ids, ids, place - 1, place) for place in range(1, len(ids) - 1))]
        for ids in map(np.ndarray.tolist, encoded(tokenizer))
    ]
    np.testing.assert_allclose(sentence_scores(model, encoded(tokenizer), silent), expected, rtol=0, atol=2e-5)


def test_both_directions_score_by_the_mean_of_two_language_models() -> None:
    tokenizer = TOKENIZERS[0].train(TEXT)
    model = model_with(tokenizer, BidirectionalLM(), shape=BiLSTM(hidden=8, cells=6, dropout=0.3))
    encoder, head, expected = model.encoder, model.bilm_head, []
    for ids in encoded(tokenizer):
        tokens = torch.from_numpy(ids).long()[None]
        with torch.no_grad():
            vectors = encoder.encode(encoder.embed(TensorBatch.of(tokens))["inputs"])[0]
            right, left = (head(half, encoder.output_embeddings).log_softmax(-1) for half in vectors.chunk(2, -1))
        places = range(1, len(ids) - 1)
        sums = [sum(right[at - 1, ids[at]] for at in places), sum(left[at + 1, ids[at]] for at in places)]
        expected.append([float(sums[0] + sums[1]) / 2])
    np.testing.assert_allclose(sentence_scores(model, encoded(tokenizer), silent), expected, rtol=0, atol=2e-5)


def test_of_two_language_models_the_first_scores_under_its_own_attention() -> None:
    tokenizer = TOKENIZERS[0].train(TEXT)
    mixed = model_with(tokenizer, MaskedLM(share=0.5), CausalLM(share=0.5))
    alone = model_with(tokenizer, MaskedLM())
    scores = sentence_scores(mixed, encoded(tokenizer), silent)
    np.testing.assert_array_equal(scores, sentence_scores(alone, encoded(tokenizer), silent))
    assert scorer((MaskedLM(share=0.0), CausalLM(share=1.0))) == CausalLM(share=1.0)


def test_an_objective_without_a_language_model_scores_nothing() -> None:
    with pytest.raises(
        BadInput, match=r"objective: no loss of generator and next_sentence scores sentences.*masked_lm"
    ):
        scorer((TokenGenerator(), NextSentence()))
    with pytest.raises(BadInput, match="next_sentence is no language model"):
        NextSentence().log_likelihoods(None, np.zeros((1, 3), np.int64))


def test_a_constant_model_scores_sentences_of_equal_length_equally() -> None:
    tokenizer = TOKENIZERS[0].train(TEXT)
    model = model_with(tokenizer, MaskedLM())
    with torch.no_grad():
        for value in model.parameters():
            value.zero_()
    scores = sentence_scores(model, encoded(tokenizer), silent)
    tokens = np.array([len(ids) - 2 for ids in encoded(tokenizer)])
    np.testing.assert_allclose(scores, -np.log(tokenizer.size) * tokens[:, None] * [1, 1], rtol=1e-6)
    assert (scores[0] == scores[4]).all()


@pytest.mark.parametrize("objective", [MaskedLM(), CausalLM()], ids=lambda loss: loss.kind)
def test_many_sentences_are_scored_in_parts_of_any_size(objective: Any, monkeypatch: Any) -> None:
    tokenizer, reported = TOKENIZERS[0].train(TEXT), []
    model = model_with(tokenizer, objective)
    whole = sentence_scores(model, encoded(tokenizer), silent)
    monkeypatch.setattr(sentences, "TOKENS_AT_ONCE", 40)
    monkeypatch.setattr("bertlab.adaptation.zero_shot.SENTENCES_AT_ONCE", 1)
    scores = sentence_scores(model, encoded(tokenizer), lambda done, total, *_: reported.append(done))
    np.testing.assert_allclose(scores, whole, rtol=0, atol=1e-5)
    assert reported == [1, 2, 3, 4, 5]  # one of six is twice among them


def test_a_text_without_tokens_is_certain() -> None:
    tokenizer = TOKENIZERS[0].train(TEXT)
    empty = np.array([tokenizer.cls, tokenizer.sep], np.int32)
    scores = sentence_scores(model_with(tokenizer, MaskedLM()), [empty, *encoded(tokenizer)], silent)
    assert scores[0].tolist() == [0.0, 0.0]


MASK = 9


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_copies_mask_a_token_alone_or_with_the_rest_of_its_word_and_equal_ones_are_one(data: Any) -> None:
    width = data.draw(st.integers(3, 7))
    inner = st.lists(st.integers(4, 6), min_size=width - 2, max_size=width - 2)
    tokens = np.array([[2, *row, 3] for row in data.draw(st.lists(inner, min_size=1, max_size=4))], np.int32)
    flags = data.draw(st.lists(st.booleans(), min_size=tokens.size, max_size=tokens.size))
    begins = np.array(flags).reshape(tokens.shape)
    copies = sentences.masked_copies(tokens, begins, MASK)
    seen = set()
    for row in range(len(tokens)):
        edges = [place for place in range(1, width - 1) if place == 1 or begins[row, place]] + [width - 1]
        for place in range(1, width - 1):
            end = next(after for before, after in pairwise(edges) if before <= place < after)
            for way, hidden in enumerate(([place], range(place, end))):
                number = copies.numbers[way, row, place - 1]
                expected = masked(tokens[row].tolist(), list(hidden), MASK)
                assert copies.tokens[number].tolist() == expected
                assert copies.positions[number] == place
                seen.add((*expected, place))
    assert len(copies.tokens) == len(seen)


def test_the_token_in_which_two_sentences_differ_is_masked_once_and_so_is_each_word_of_one_token() -> None:
    tokens = np.array([[2, 4, 5, 6, 3], [2, 4, 7, 6, 3]], np.int32)
    copies = sentences.masked_copies(tokens, np.ones(tokens.shape, np.bool_), MASK)
    assert len(copies.tokens) == 5  # of twelve that are read
    assert (copies.numbers[0] == copies.numbers[1]).all()
    assert copies.numbers[0, 0, 1] == copies.numbers[0, 1, 1]
