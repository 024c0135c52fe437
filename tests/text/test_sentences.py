"""Documents to sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.text.sentences import LONGEST, cut, sentences


def test_full_stops_end_sentences_and_abbreviations_do_not():
    assert list(sentences("Mr. Smith went home. He slept.")) == ["Mr. Smith went home.", "He slept."]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_blank_line_ends_a_sentence_and_a_line_end_does_not(newline):
    document = "= Title =\n\nOne\nline.\n\n\n \nThe end".replace("\n", newline)
    assert [sentence.split() for sentence in sentences(document)] == [
        ["=", "Title", "="],
        ["One", "line."],
        ["The", "end"],
    ]


def test_white_space_within_a_sentence_is_one_space():
    assert list(sentences("Lines that were\nwrapped,  with\t gaps.\n\nA line.")) == [
        "Lines that were wrapped, with gaps.",
        "A line.",
    ]


@given(st.text(alphabet="aB. !?\n\"'é漢\u2028", max_size=400))
def test_nothing_but_white_space_is_lost(document):
    found = list(sentences(document))
    assert "".join("".join(found).split()) == "".join(document.split())
    assert all(sentence and sentence == sentence.strip() for sentence in found)


def test_text_without_full_stops_is_cut_between_words():
    found = list(sentences("word " * 100_000))
    assert max(map(len, found)) <= LONGEST
    assert set(" ".join(found).split()) == {"word"}
    assert len(" ".join(found).split()) == 100_000


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 30))
def test_pieces_join_to_the_whole_and_are_short(text, longest):
    pieces = list(cut(text, longest))
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= longest for piece in pieces)


def test_pieces_end_at_the_strongest_break():
    assert list(cut("one two\nthree\n\nfour five six", 20)) == ["one two\nthree\n\n", "four five six"]
    assert list(cut("one two\nthree four", 14)) == ["one two\n", "three four"]
    assert list(cut("one two three", 9)) == ["one two ", "three"]
    assert list(cut("onetwothree", 6)) == ["onetwo", "three"]


@pytest.mark.parametrize("space", ["\x85", "\xa0", "\u2009", "\u2028", "\u3000"])
def test_a_wide_space_before_a_full_stop_is_survived(space):
    assert list(sentences(f"Vitamin B{space}. It is good.")) in (
        ["Vitamin B .", "It is good."],
        ["Vitamin B . It is good."],
    )
