"""Names as they are shown, and as they name files; numbers and times as text."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.names import filename, plain, visible
from bertlab.wording import duration, flops, format_count, lowest_to_highest, megabytes, pluralise


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


@pytest.mark.parametrize(("number", "text"), [(0, "0 seeds"), (1, "1 seed"), (3, "3 seeds"), (1200, "1,200 seeds")])
def test_things_are_counted(number, text):
    assert pluralise(number, "seed") == text


def test_a_span_has_both_ends_where_they_differ():
    assert [lowest_to_highest(values) for values in ([4, 3, 5], [3, 3], [])] == ["3 to 5", "3", ""]
    assert lowest_to_highest((0.12, 0.14), "{:.1f}".format) == "0.1"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (4.24, "4.2 s"),
        (9.97, "10 s"),
        (59.6, "60 s"),
        (185, "3 min"),
        (7620, "2.1 h"),
        (259200, "3.0 days"),
    ],
)
def test_times_are_rounded(seconds, text):
    assert duration(seconds) == text


def test_bytes_are_told_in_megabytes_until_there_are_many():
    assert (megabytes(340e6), megabytes(12e9)) == ("340 MB", "12 GB")
    assert [megabytes(size) for size in (28_000, 2_417_664, 9_999_999, 0)] == ["0.028 MB", "2.4 MB", "10 MB", "0 MB"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (41_300, "41K"),
        (999_400, "999K"),
        (999_900, "1.0M"),
        (4_210_000, "4.2M"),
        (9_960_000, "10M"),
        (110_100_000, "110M"),
        (1.3e9, "1.3B"),
        (8_519_680_000, "8.5B"),
        (1.5e12, "1,500B"),
    ],
)
def test_large_counts_are_short(number, text):
    assert format_count(number) == text


def test_operations_are_powers_of_ten():
    assert (flops(9.87e10), flops(3.3e5), flops(1.2e100)) == ("9.9e10", "3.3e5", "1.2e100")
