"""Names as they are shown, and as they name files."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.names import filename, plain, visible


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("80/10/10", "80/10/10"),
        (" a  b\t", "a b"),
        ("a\nb\r\nc\u2028d", "a b c d"),
        ("a \u200b b", "a b"),
        ("\x1b[31mred\x9b0m", "[31mred0m"),
        ("\u202eabc\ufeff\ud800\uffff", "abc"),
        ("naïve 中文 🦔", "naïve 中文 🦔"),
        ("\u200b", ""),
    ],
)
def test_plain(name, shown):
    assert plain(name) == shown


@given(st.text(st.characters(codec=None)))
def test_what_is_plain_is_one_line_that_is_seen_and_stays(name):
    shown = plain(name)
    assert shown == shown.strip() == plain(shown) == visible(shown)
    assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    shown.encode()


@given(st.text(st.characters(codec="ascii"), min_size=1))
def test_visible_keeps_what_is_seen_and_line_feeds(text):
    assert visible(text) == re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", "", text)


def test_files_of_distinct_names_are_distinct_and_stay_in_their_folder(hostile_names):
    names = {*hostile_names, "masking", "Masking", "mask/ing", "mask ing", "mask-ing", "index", "lpt1.x"}
    stems = {filename(name) for name in names}
    assert len({stem.lower() for stem in stems}) == len(names)
    assert "masking" in stems
    assert not stems & {"index", "con", "nul.txt", "lpt1.x"}
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,72}", stem) and stem[-1].isalnum() for stem in stems)
