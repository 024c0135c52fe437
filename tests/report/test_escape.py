"""Names that try to be more than names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.names import plain
from bertlab.report import escape


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("80/10/10", "80/10/10"),
        ("100 % [MASK]", "100 % \\[MASK\\]"),
        ("a|b", "a&#124;b"),
        ("a\\|b", "a&#92;&#124;b"),
        ("a\nb\r\n# c", "a b # c"),
        ("`rm`", "&#96;rm&#96;"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[x](javascript:1)", "\\[x\\](javascript:1)"),
        ("![x](y)", "!\\[x\\](y)"),
        ("https://example.org", "https&#58;//example.org"),
        ("www.example.org", "www&#46;example.org"),
        ("_www.example.org", "\\_www&#46;example.org"),
        ("a@example.org", "a&#64;example.org"),
        ("**bold** _it_ ud_gum", "\\*\\*bold\\*\\* \\_it\\_ ud_gum"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("a\u202eb\x00c", "abc"),
    ],
)
def test_markdown(name: str, shown: str) -> None:
    assert escape.markdown(name) == shown


@pytest.mark.parametrize("name", ["# x", ":---:", "- x", "+ x", "= x", "1. x", "12) x", "> x", "---"])
def test_a_paragraph_opens_no_block(name: str) -> None:
    assert not re.match(r"[-+>=:#]|\d+[.)](\s|$)", escape.paragraph(name))


def test_a_heading_keeps_its_end() -> None:
    assert escape.paragraph("in C# ##") == "in C# #\\#"
    assert escape.paragraph("#") == "\\#"


def test_numbers_stay_readable() -> None:
    assert escape.paragraph("50.0 % of -0.5") == "50.0 % of -0.5"
    assert escape.paragraph("-0.5") == "-0.5"


@given(st.text())
def test_no_cell_ends_early_and_no_html_gets_through(name: str) -> None:
    shown = escape.markdown(name)
    assert not set(shown) & set("|`<>\n\r")
    assert not re.search(r"(?<!\\)[\[\]*]", shown)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\t=x", "\r+x", "\u200b-x", "＝1", "'=1"])
def test_no_formula_in_csv(name: str) -> None:
    assert escape.csv(name) == "'" + plain(name)


@pytest.mark.parametrize("name", ["80/10/10", "", "1-1", "'", "'quoted'"])
def test_csv_leaves_what_is_no_formula(name: str) -> None:
    assert escape.csv(name) == name
