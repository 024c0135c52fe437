"""Segment pairs and single segments: nothing lost, nothing twice, balanced, drawn as BERT draws them; and the form of
a pair, without its words, does not tell whether the second segment follows the first."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from bertlab import keyed
from bertlab.errors import BadInput
from bertlab.inputs.formats import Layout, segment_pair, segment_pairs, single_segments
from bertlab.inputs.formats import base as layouts
from bertlab.inputs.formats.pairs import FormIndex, PairLayout
from bertlab.recipe import Inputs

COLUMNS = tuple(name for name in Layout.__dataclass_fields__ if name != "breaks")
UNLIKELY = 1e-6
"""Draws are fixed by their keys: a test below this fails always or never."""


def text(documents: list[list[int]]) -> Any:
    """Documents given as the lengths of their sentences; every token is its own place."""
    sentences = np.cumsum([0, *(length for document in documents for length in document)])
    return SimpleNamespace(
        tokens=np.arange(sentences[-1]),
        sentences=sentences,
        documents=np.cumsum([0, *map(len, documents)]),
    )


def own_end(layout: Layout) -> np.ndarray:
    """Where the part of each sequence that is its own, and not another document's, ends."""
    return np.where(layout.is_random_next, layout.first + layout.first_length, layout.second + layout.second_length)


def document_of(source: Any, places: np.ndarray) -> np.ndarray:
    return np.searchsorted(source.sentences[source.documents], places, side="right") - 1


corpora = st.lists(
    st.lists(st.integers(1, 40), min_size=1, max_size=12).filter(lambda lengths: sum(lengths) > 1),
    min_size=2,
    max_size=12,
).map(text)


@pytest.mark.parametrize(
    ("form", "bounds", "drawn"),
    [(5, (1, 9), {1}), (6, (1, 9), {1}), (7, (1, 9), {1, 2}), (7, (7, 7), {1, 2}), (8, (8, 9), {2})],
)
def test_a_sentence_of_another_form_is_drawn_only_if_there_is_none_nearer(
    form: int, bounds: tuple[int, int], drawn: set[int]
) -> None:
    """Outside of the bounds, any sentence of any other document is as likely."""
    index = FormIndex(np.array([1, 5, 9]), np.array([0, 1, 3]))
    i, forms, home = np.arange(200), np.full(200, form), np.zeros(200, np.int64)
    found = index.draw((forms, forms), bounds, home, lambda *purpose: keyed.key("a test", *purpose), i)
    assert {*found.tolist()} == drawn


def test_of_two_segments_that_are_too_long_the_first_keeps_the_odd_token() -> None:
    layout = segment_pairs(text([[20] * 40] * 2), length=66, short=0.0, copy=0, seed=0)
    kept = {*zip(layout.first_length.tolist(), layout.second_length.tolist(), strict=True)}
    assert (32, 31) in kept
    assert (31, 32) not in kept  # both segments had 40 tokens, for 63 in all


@settings(max_examples=150, deadline=None)
@given(corpora, st.integers(8, 64), st.sampled_from([0.0, 0.3, 1.0]), st.integers(0, 3), st.integers(0, 3))
def test_every_sequence_is_a_pair_and_no_token_comes_twice(
    source: Any, length: int, short: float, copy: int, seed: int
) -> None:
    layout = segment_pairs(source, length=length, short=short, copy=copy, seed=seed)
    assert layout.first_length.min() >= 1
    assert layout.second_length.min() >= 1
    assert (layout.first_length + layout.second_length).max() <= length - 3

    # Each segment lies within one document; the second in the same one, after the first, or in another.
    home = document_of(source, layout.first)
    away = document_of(source, layout.second)
    assert (document_of(source, layout.first + layout.first_length - 1) == home).all()
    assert (document_of(source, layout.second + layout.second_length - 1) == away).all()
    assert ((home != away) == layout.is_random_next).all()
    assert (layout.second >= layout.first + layout.first_length)[~layout.is_random_next].all()

    # Own parts follow each other, and every document is begun at its start.
    assert (layout.first[1:] >= own_end(layout)[:-1]).all()
    assert set(home) == set(range(len(source.documents) - 1))
    begins = np.diff(home, prepend=-1) > 0
    assert (layout.starts == source.sentences[source.documents[home]])[begins].all()
    assert (np.diff(layout.starts) > 0).all()


@settings(max_examples=150, deadline=None)
@given(corpora, st.integers(90, 140), st.integers(0, 5))
@example(text([[1] * 7 + [7], [1] * 6 + [7, 32], [1] * 4 + [17], [1, 16, 32, 32, 2]]), 90, 2)
def test_only_full_layout_and_backs_of_lone_sentences_lose_tokens(source: Any, length: int, copy: int) -> None:
    """Sentences that fit into half a sequence: what a sequence covers is shown, unless it overflows."""
    layout = segment_pairs(source, length=length, short=0.0, copy=copy, seed=1)
    covered = np.diff(np.append(layout.starts, source.sentences[-1]))  # up to where the next sequence starts
    lost = covered - np.where(layout.is_random_next, layout.first_length, layout.first_length + layout.second_length)
    full = layout.first_length + layout.second_length == length - 3
    # A random pair keeps the front of a document's last sentence if that is all it has.
    tail = np.isin(layout.starts + covered, source.sentences[source.documents[1:]]) & layout.is_random_next
    longest = np.diff(source.sentences).max()
    assert not lost[~full & ~tail].any()
    assert (lost[tail] < longest + 1).all()
    # The overflow is less than the one sentence that crosses, or a lone token that would be left over; of another
    # document's end it is what that is too long by, cut from the longer segment.
    assert lost[~layout.is_random_next].max(initial=0) < longest + 1
    cut = layout.is_random_next & ~tail & (lost > 0)
    assert (layout.first_length[cut] >= layout.second_length[cut] - 1).all()


def test_long_sentences_are_not_thrown_away() -> None:
    source = text([[500, 700], [900], [3, 400, 5]] * 20)
    layout = segment_pairs(source, length=128, short=0.0, copy=0, seed=0)
    shown = np.where(layout.is_random_next, layout.first_length, layout.first_length + layout.second_length).sum()
    assert shown > 0.93 * len(source.tokens)
    single = single_segments(source, length=128)
    assert single.first_length.sum() > 0.93 * len(source.tokens)


def test_lone_last_token_is_not_left_over() -> None:
    source = text([[20, 1], [1, 1], [1, 1, 1], [30, 40, 1], [60, 1]] * 200)
    for copy in range(3):
        layout = segment_pairs(source, length=64, short=0.1, copy=copy, seed=0)
        end = source.sentences[source.documents[document_of(source, layout.first) + 1]]
        assert (end - layout.starts >= 2).all()


@pytest.fixture(scope="module")
def prose() -> Any:
    """Documents of every size, from one sentence to two hundred."""
    draw = np.random.default_rng(0)
    sizes = [1, 2, 3, 10, 200] * 200
    return text([[int(length) for length in draw.integers(2, 40, size)] for size in sizes])


def test_half_of_the_pairs_are_random(prose: Any) -> None:
    layout = segment_pairs(prose, length=128, short=0.1, copy=0, seed=0)
    assert stats.binomtest(int(layout.is_random_next.sum()), len(layout), 0.5).pvalue > UNLIKELY


def test_a_lone_sentence_is_a_true_pair_as_often_as_not() -> None:
    source = text([[21]] * 8000)
    layout = segment_pairs(source, length=64, short=0.0, copy=0, seed=0)
    assert len(layout) == 8000
    assert stats.binomtest(int(layout.is_random_next.sum()), 8000, 0.5).pvalue > UNLIKELY
    assert (layout.second == layout.first + layout.first_length)[~layout.is_random_next].all()
    assert (layout.first_length + layout.second_length == 21).all()
    assert ((layout.second + layout.second_length) % 21 == 0).all()
    for kind in (layout.is_random_next, ~layout.is_random_next):
        cuts = np.bincount(layout.first_length[kind], minlength=21)[1:]
        assert len(cuts) == 20
        assert stats.chisquare(cuts).pvalue > UNLIKELY


def test_one_sequence_in_ten_is_short_and_of_any_length() -> None:
    source = text([[1] * 20_000] * 8)
    counts = np.zeros(60, dtype=int)
    for copy in range(20):
        layout = segment_pairs(source, length=64, short=0.1, copy=copy, seed=0)
        # A random second segment that starts near a document's end is short by itself.
        whole = ~layout.is_random_next & (document_of(source, layout.first) == document_of(source, layout.first + 61))
        counts += np.bincount((layout.first_length + layout.second_length)[whole], minlength=62)[2:]
    assert stats.binomtest(int(counts[:-1].sum()), int(counts.sum()), 0.1 * 59 / 60).pvalue > UNLIKELY
    assert stats.chisquare(counts[:-1]).pvalue > UNLIKELY


def test_split_is_anywhere_between_sentences() -> None:
    source = text([[3] * 5000] * 8)
    layout = segment_pairs(source, length=33, short=0.0, copy=0, seed=0)  # chunks of ten sentences
    counts = np.bincount(layout.first_length[layout.is_random_next] // 3, minlength=10)[1:]
    assert len(counts) == 9
    assert stats.chisquare(counts).pvalue > UNLIKELY


def test_what_overflows_is_cut_from_the_longer_segment_at_both_ends() -> None:
    """In true and random pairs alike, by Google's loop: each token at the front or at the back, half each."""
    source = text([[25, 25, 25]] * 12_000)
    layout = segment_pairs(source, length=63, short=0.0, copy=0, seed=0)  # 75 tokens into 60
    expected = stats.binom(15, 0.5).pmf(np.arange(16))
    for kind in (layout.is_random_next, ~layout.is_random_next):
        whole = kind & (layout.starts % 75 == 0)
        for longer, other in (("first", "second"), ("second", "first")):
            chosen = whole & (getattr(layout, f"{other}_length") == 25)
            assert (getattr(layout, f"{longer}_length")[chosen] == 35).all()
            front = np.bincount(getattr(layout, longer)[chosen] % 25, minlength=16)
            assert len(front) == 16
            assert stats.chisquare(_tails(front), _tails(expected * front.sum())).pvalue > UNLIKELY


def _tails(counts: np.ndarray) -> np.ndarray:
    """The first and the last four counts of sixteen added up."""
    return np.array([counts[:4].sum(), *counts[4:12], counts[12:].sum()])


@pytest.mark.parametrize("tokens", [9, 63, 64, 200])
def test_each_token_that_is_cut_is_at_the_front_or_the_back(tokens: int) -> None:
    cut = np.full(20_000, tokens)
    front = segment_pair._heads(cut, 7, np.arange(len(cut)))
    assert abs(front.mean() - tokens / 2) < 5 * np.sqrt(tokens / 4 / len(cut))
    assert abs(front.var() - tokens / 4) < 5 * np.sqrt(2 / len(cut)) * tokens / 4
    assert segment_pair._heads(cut * 0, 7, np.arange(len(cut))).max() == 0


def test_random_segment_starts_at_any_sentence_of_another_document_that_leaves_enough() -> None:
    source = text([[5] * 100, [5] * 150, [5] * 6, [5] * 12, [5]])
    layouts_drawn = [segment_pairs(source, length=32, short=0.0, copy=copy, seed=0) for copy in range(400)]
    chosen = [
        each.is_random_next & (document_of(source, each.first) == 0) & (each.second_length > 5)
        for each in layouts_drawn
    ]
    second = np.concatenate([each.second[those] for each, those in zip(layouts_drawn, chosen, strict=True)])
    # Any sequence needs 24 tokens at most: five sentences.
    places, counts = np.unique(second[second % 5 == 0] // 5 - 100, return_counts=True)
    enough = [*range(146), 150, 151, *range(156, 164)]
    assert set(enough) <= set(places) <= {*range(149), *range(150, 155), *range(156, 167)}
    assert stats.chisquare(counts[np.isin(places, enough)]).pvalue > UNLIKELY


def test_random_segment_of_a_documents_end_is_another_documents_end() -> None:
    """Two sentences in sequences with room for four: nothing fills them, whatever the label."""
    source = text([[9, 7], [6, 8]] * 2000 + [[9, 7] * 100] * 20)
    layout = segment_pairs(source, length=40, short=0.0, copy=0, seed=0)
    short = (
        np.diff(source.sentences[source.documents])[document_of(source, layout.first)] < 20
    ) & layout.is_random_next
    pair = short & np.isin(layout.starts, source.sentences[source.documents[:-1]])
    assert set(layout.second_length[pair]) == {7, 8}
    assert np.isin((layout.second + layout.second_length)[short], source.sentences[source.documents[1:]]).all()


def test_random_segment_fills_the_sequence() -> None:
    source = text([[7] * 300] * 50)
    layout = segment_pairs(source, length=64, short=0.0, copy=0, seed=0)
    rest = source.sentences[source.documents[document_of(source, layout.second) + 1]] - layout.second
    assert (layout.second_length == np.minimum(61 - layout.first_length, rest))[layout.is_random_next].all()


def test_copies_and_seeds_draw_other_pairs(prose: Any) -> None:
    def drawn(copy: int, seed: int | str) -> list[tuple[Any, ...]]:
        layout = segment_pairs(prose, length=128, short=0.1, copy=copy, seed=seed)
        return list(zip(*(getattr(layout, name).tolist() for name in COLUMNS), strict=True))

    assert drawn(0, 0) == drawn(0, 0)
    for other in (drawn(1, 0), drawn(0, 1), drawn(0, "0")):
        assert len(set(drawn(0, 0)) & set(other)) < 0.2 * len(other)


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_do_not_show(prose: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source = text([np.diff(prose.sentences)[low : low + 9].tolist() for low in range(0, 300, 9)])
    whole = segment_pairs(source, length=64, short=0.1, copy=0, seed=0)
    single = single_segments(source, length=64)
    monkeypatch.setattr(layouts, "BLOCK", block)
    for one, other in (
        (whole, segment_pairs(source, length=64, short=0.1, copy=0, seed=0)),
        (single, single_segments(source, length=64)),
    ):
        for name in COLUMNS:
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(8, 140))
def test_single_segments_go_through_each_document(source: Any, length: int) -> None:
    layout = single_segments(source, length=length)
    home = document_of(source, layout.first)
    assert (home == document_of(source, layout.first + layout.first_length - 1)).all()
    assert layout.first_length.min() >= 2
    assert layout.first_length.max() <= length - 2
    assert not isinstance(layout, PairLayout)
    # Cut only where the sequence is full; otherwise the next sequence goes on where this one ends.
    following = np.append(layout.first[1:], len(source.tokens))
    full = layout.first_length == length - 2
    assert (following == layout.first + layout.first_length)[~full].all()
    assert (following >= layout.first + layout.first_length).all()


def test_one_document_has_no_random_partner() -> None:
    with pytest.raises(BadInput, match="1 document"):
        segment_pairs(text([[5, 5]]), length=16, short=0.0, copy=0, seed=0)


PAIRS = 8000
MOST = 0.03 + 3 * 0.5 / np.sqrt(PAIRS / 2)
"""Above the majority: three points, and three standard errors of the half that is scored."""
FORMATS = ("segment-pair", "sentence-pair")


@pytest.fixture(scope="module")
def pair_form() -> Any:
    """The classifiers of `benchmarks/pair_form.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        yield import_module("pair_form")


def random_text(documents: list[np.ndarray]) -> Any:
    """Documents given as the lengths of their sentences."""
    sentences = np.cumsum([0, *np.concatenate(documents)])
    places = np.cumsum([0, *map(len, documents)])
    return SimpleNamespace(tokens=np.arange(sentences[-1]), sentences=sentences, documents=places)


def made(shape: str) -> Any:
    """Documents of one shape."""
    draw = np.random.default_rng(0)

    def documents(count: int, least: int, most: int, shortest: int, longest: int) -> list[np.ndarray]:
        return [draw.integers(shortest, longest + 1, draw.integers(least, most + 1)) for _ in range(count)]

    if shape == "lone sentences":
        return random_text(documents(3000, 1, 2, 4, 30))
    if shape == "a few sentences":
        return random_text(documents(1500, 2, 9, 3, 25))
    if shape == "one long sentence":
        return random_text(documents(3000, 1, 1, 4, 150))
    if shape == "a short sentence and a long one":
        return random_text([np.array([draw.integers(4, 20), draw.integers(40, 90)]) for _ in range(3000)])
    if shape == "a title and a sentence":
        return random_text([np.array([draw.integers(3, 8), draw.integers(15, 28)]) for _ in range(3000)])
    if shape == "long sentences":
        return random_text(documents(300, 1, 40, 5, 150))
    if shape == "short documents and long ones":
        return random_text(documents(2000, 1, 4, 3, 20) + documents(10, 600, 800, 3, 20))
    # Sentences of each document about as long.
    return random_text([draw.integers(size, 2 * size, draw.integers(1, 200)) for size in draw.integers(2, 20, 150)])


SHAPES = (
    "lone sentences", "a few sentences", "one long sentence", "a short sentence and a long one",
    "a title and a sentence", "long sentences", "short documents and long ones", "alike within",
)  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("length", [64, 128])
@pytest.mark.parametrize("shape", SHAPES)
def test_form_does_not_tell_the_label(pair_form: Any, shape: str, length: int, name: str) -> None:
    found = pair_form.classify(*pair_form.pairs(made(shape), Inputs(format=name, length=length), PAIRS))
    assert found.gain < MOST


@pytest.mark.parametrize("name", FORMATS)
def test_form_does_not_tell_the_label_in_the_embedded_text(pair_form: Any, corpus: Any, name: str) -> None:
    found = pair_form.classify(*pair_form.pairs(corpus.train, Inputs(format=name, length=64), PAIRS))
    assert found.gain < MOST
