"""Sentence pairs, full sentences and doc sentences: nothing lost, nothing twice, every boundary where it belongs."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bertlab.errors import BadInput
from bertlab.inputs.collator import Collator
from bertlab.inputs.formats import Layout, doc_sentences, full_sentences, sentence_pairs
from bertlab.inputs.formats import base as layouts
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.objectives.selection import chosen as chosen_of

UNLIKELY = 1e-6
"""Draws are fixed by their keys: a test below this fails always or never."""
PAD, CLS, SEP, MASK = 0, 2, 3, 4
FIRST = 5
"""The id of the first token: every token of a text is another."""


def text(documents: list[list[int]]) -> Any:
    """Documents given as the lengths of their sentences."""
    sentences = np.cumsum([0, *(length for document in documents for length in document)])
    return SimpleNamespace(
        tokens=np.arange(FIRST, FIRST + sentences[-1]),
        sentences=sentences,
        documents=np.cumsum([0, *map(len, documents)]),
    )


def document_of(source: Any, places: np.ndarray) -> np.ndarray:
    return np.searchsorted(source.sentences[source.documents], places, side="right") - 1


def shown(source: Any, layout: Layout, length: int) -> list[list[int]]:
    """The tokens of every sequence as they are trained on, padding cut off."""
    ids = SimpleNamespace(pad=PAD, cls=CLS, sep=SEP, mask=MASK, ordinary=source.tokens.astype(np.int32))
    batch = Collator((CausalLM(),), ids, source, length, 0).collate(layout, np.arange(len(layout)), 0, 0)
    assert (batch.lengths == layout.lengths).all()
    assert not any(sequence[size:].any() for sequence, size in zip(batch.tokens, batch.lengths, strict=True))
    return [sequence[:size].tolist() for sequence, size in zip(batch.tokens, batch.lengths, strict=True)]


sizes = st.lists(st.integers(1, 40), min_size=1, max_size=12).filter(lambda lengths: sum(lengths) > 1)
corpora = st.lists(sizes, min_size=2, max_size=12).map(text)


@settings(max_examples=150, deadline=None)
@given(corpora, st.integers(8, 100), st.integers(0, 3), st.integers(0, 3))
def test_sentence_pairs_are_two_sentences_and_show_every_token_once(
    source: Any, length: int, copy: int, seed: int
) -> None:
    layout = sentence_pairs(source, length=length, copy=copy, seed=seed)
    own = np.where(layout.is_random_next, layout.first_length, layout.first_length + layout.second_length)
    assert (layout.starts == layout.first).all()
    lost = np.diff(np.append(layout.starts, len(source.tokens))) - own
    # Of what is left alone at the end of a document a random pair may have the front.
    spans, documents = layouts.pieces(source, (length - 3) // 2, (length - 3) // 2)
    alone = np.isin(layout.first, spans[documents[1:] - 1])
    assert (lost[alone & layout.is_random_next] >= 0).all()
    assert not lost[~(alone & layout.is_random_next)].any()
    assert min(layout.first_length.min(), layout.second_length.min()) >= 1
    assert layout.lengths.max() <= length
    # Neither segment holds the end of a sentence but at its own end.
    for begin, size in ((layout.first, layout.first_length), (layout.second, layout.second_length)):
        same = np.searchsorted(source.sentences, begin, side="right")
        assert (same == np.searchsorted(source.sentences, begin + size - 1, side="right")).all()
    home, away = document_of(source, layout.first), document_of(source, layout.second)
    assert ((home != away) == layout.is_random_next).all()
    assert (layout.second == layout.first + layout.first_length)[~layout.is_random_next].all()


@pytest.mark.parametrize("sentences", [1, 2, 3, 4, 5, 9, 40])
def test_half_of_the_sentence_pairs_are_true_whatever_the_documents(sentences: int) -> None:
    layout = sentence_pairs(text([[10] * sentences] * 6000), length=64, copy=0, seed=0)
    true = int((~layout.is_random_next).sum())
    # The pairs of a document depend on each other: the variance is bounded by that of whole documents.
    assert abs(true - len(layout) / 2) < 5 * np.sqrt(6000) * max(1, np.sqrt(sentences) / 2)


def test_sentences_longer_than_half_a_sequence_are_cut_and_none_is_lost() -> None:
    source = text([[500, 30, 31] * 4, [7, 61] * 4] * 10)
    layout = sentence_pairs(source, length=63, copy=0, seed=0)
    assert {30, 29} <= set(layout.first_length) | set(layout.second_length)
    assert max(layout.first_length.max(), layout.second_length.max()) == 30
    assert np.where(
        layout.is_random_next, layout.first_length, layout.first_length + layout.second_length
    ).sum() == len(source.tokens)


@pytest.mark.parametrize(("documents", "splits"), [([[5, 9]], True), ([[5, 9, 6, 9, 7, 9, 8, 9]], False)])
def test_a_last_sentence_is_split_where_few_of_its_length_are_followed_by_one(
    documents: list[list[int]], splits: bool
) -> None:
    source = text(documents * 200)
    layout = sentence_pairs(source, length=32, copy=0, seed=0)
    alone = np.isin(layout.first, source.sentences[source.documents[1:] - 1])
    assert alone.sum() > 40
    assert (layout.first_length[alone] < 9).all() == (layout.first_length[alone] < 9).any() == splits
    assert layout.is_random_next[alone].all() != splits


def test_the_other_sentence_is_any_that_follows_one_of_the_form_of_the_first() -> None:
    source = text([[5, 9]] * 40 + [[5, 6, 5, 7, 8, 5, 3], [5, 4], [5], [8, 5]])
    drawn = [sentence_pairs(source, length=32, copy=copy, seed=0) for copy in range(200)]
    starts = source.sentences[:80:2]
    wanted = [each.is_random_next & (each.first_length == 5) & np.isin(each.first, starts) for each in drawn]
    second = np.concatenate([each.second[those] for each, those in zip(drawn, wanted, strict=True)])
    places, counts = np.unique(np.searchsorted(source.sentences, second), return_counts=True)
    assert places.tolist() == [*range(1, 80, 2), 81, 83, 86, 88]
    assert stats.chisquare(counts[40:]).pvalue > UNLIKELY
    assert abs(counts[40:].sum() / counts.sum() - 4 / 43) < 0.02  # one of 44 is in the sequence's own document


def test_one_document_has_no_partner() -> None:
    with pytest.raises(BadInput, match="1 document"):
        sentence_pairs(text([[5, 5]]), length=16, copy=0, seed=0)


@settings(max_examples=150, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=12).map(text), st.integers(8, 100))
def test_full_sentences_are_the_text_with_a_separator_at_every_boundary(source: Any, length: int) -> None:
    sequences = shown(source, full_sentences(source, length=length), length)
    assert all(len(sequence) <= length and sequence[0] == CLS and sequence[-1] == SEP for sequence in sequences)
    ends = set((source.sentences[source.documents[1:]] + FIRST - 1).tolist())
    tokens = [token for sequence in sequences for token in sequence if token >= FIRST]
    assert tokens == source.tokens.tolist()
    for sequence in sequences:
        held = [token for token in sequence if token >= FIRST]
        expected = [[token, SEP] if token in ends else [token] for token in held[:-1]]
        assert sequence == [CLS, *itertools.chain(*expected), held[-1], SEP]


@settings(max_examples=150, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=12).map(text), st.integers(8, 100))
def test_layout_are_as_full_as_whole_sentences_allow(source: Any, length: int) -> None:
    for cut in (full_sentences, doc_sentences):
        sequences = shown(source, cut(source, length=length), length)
        for sequence, after in itertools.pairwise(sequences):
            begin, end = after[1] - FIRST, sequence[-2] - FIRST + 1
            assert begin == end
            crossing = begin in source.sentences[source.documents]
            if crossing and cut is doc_sentences:
                continue
            assert len(sequence) + crossing + _piece(source, begin, length - 2) > length


def _piece(source: Any, begin: int, room: int) -> int:
    """Tokens of the sentence, or of its first piece, that begins at a place."""
    sentences, _ = layouts.pieces(source, room, room)
    at = int(np.searchsorted(sentences, begin))
    return int(sentences[at + 1] - sentences[at])


@settings(max_examples=150, deadline=None)
@given(st.lists(sizes, min_size=1, max_size=12).map(text), st.integers(8, 100))
def test_doc_sentences_never_leave_their_document(source: Any, length: int) -> None:
    layout = doc_sentences(source, length=length)
    assert (document_of(source, layout.first) == document_of(source, layout.first + layout.first_length - 1)).all()
    assert layout.lengths.max() <= length
    tokens = [token for sequence in shown(source, layout, length) for token in sequence if token >= FIRST]
    assert tokens == source.tokens.tolist()


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_do_not_show(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = text([[3, 40, 5, 90, 2], [1, 1], [30] * 9] * 12)

    def all_three() -> list[list[int]]:
        made = (
            full_sentences(source, length=64),
            doc_sentences(source, length=64),
            sentence_pairs(source, length=64, copy=0, seed=0),
        )
        return [getattr(each, name).tolist() for each in made for name in type(each).__dataclass_fields__]

    whole = all_three()
    monkeypatch.setattr(layouts, "BLOCK", block)
    assert all_three() == whole


@settings(max_examples=50, deadline=None)
@given(corpora, st.integers(12, 64), st.integers(0, 5))
def test_masks_fall_on_ordinary_tokens_of_layout_with_many_separators(source: Any, length: int, seed: int) -> None:
    layout = full_sentences(source, length=length)
    ids = SimpleNamespace(pad=PAD, cls=CLS, sep=SEP, mask=MASK, ordinary=source.tokens.astype(np.int32))
    chosen = np.arange(len(layout))
    plain = Collator((CausalLM(),), ids, source, length, seed).collate(layout, chosen, 0, 0)
    batch = Collator((MaskedLM(mask_prob=0.5),), ids, source, length, seed).collate(layout, chosen, 0, 0)
    found = SimpleNamespace(**batch.arrays["masked_lm"])
    assert found.weights.sum(axis=1).tolist() == [chosen_of(0.5, size) for size in layout.first_length.tolist()]
    there = np.take_along_axis(plain.tokens, found.positions, 1)
    assert (there[found.weights > 0] >= FIRST).all()
    assert (there == found.targets)[found.weights > 0].all()
    for sequence in range(len(layout)):
        places = found.positions[sequence, found.weights[sequence] > 0]
        assert len(set(places.tolist())) == len(places)
        untouched = np.setdiff1d(np.arange(length), places)
        assert (batch.tokens[sequence, untouched] == plain.tokens[sequence, untouched]).all()


def test_every_next_token_is_predicted_and_nothing_after_the_last() -> None:
    source = text([[3, 2], [4]])
    layout = full_sentences(source, length=16)
    ids = SimpleNamespace(pad=PAD, cls=CLS, sep=SEP, mask=MASK, ordinary=source.tokens)
    batch = Collator((CausalLM(),), ids, source, 16, 0).collate(layout, np.array([0]), 0, 0)
    found = SimpleNamespace(**batch.arrays["causal_lm"])
    assert batch.tokens[0].tolist() == [CLS, 5, 6, 7, 8, 9, SEP, 10, 11, 12, 13, SEP, 0, 0, 0, 0]
    real = found.weights[0] > 0
    assert found.positions[0, real].tolist() == list(range(11))
    assert found.targets[0, real].tolist() == [5, 6, 7, 8, 9, SEP, 10, 11, 12, 13, SEP]
    assert not batch.format
