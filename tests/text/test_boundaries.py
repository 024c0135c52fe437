"""Where documents begin and end."""

import io

import pytest

from bertlab.text.boundaries import LONGEST, RULES, of_records, of_text

BERT = "First one.\nSecond one.\n\nAnother document.\nIts end.\n"
DOCUMENTS = ["First one.\nSecond one.", "Another document.\nIts end."]


def read(text, unit):
    data = text if isinstance(text, bytes) else text.encode()
    return [document.strip() for document in of_text(io.BytesIO(data), unit) if document.strip()]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("by-type", [BERT.strip()]),
        ("file", [BERT.strip()]),
        ("blank-line", DOCUMENTS),
        ("line", ["First one.", "Second one.", "Another document.", "Its end."]),
    ],
)
def test_what_a_text_file_is(unit, expected):
    assert read(BERT, unit) == expected


@pytest.mark.parametrize("unit", ["blank-line", "line", "article", "babylm"])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_change_nothing(unit, end):
    text = "= = = PG1 = = =\n\n= One =\n\nAn article.\n\nMore.\n\n= Two =\n\nThe end.\n"
    assert read(b"\xef\xbb\xbf" + text.replace("\n", end).encode(), unit) == read(text, unit)


@pytest.mark.parametrize("separator", ["\x85", "\x0b", "\x0c", "\u2028", "\u2029", "\x1c"])
@pytest.mark.parametrize("unit", sorted(RULES))
def test_other_separators_end_neither_lines_nor_documents(unit, separator):
    text = f"= One =\n\nSome{separator}text here.\n\nThe{separator}{separator}end.\n"
    plain = text.replace(separator, "x")
    assert [document.replace(separator, "x") for document in read(text, unit)] == read(plain, unit)


def test_articles_of_a_text_file():
    text = (
        " \n = One = \n \n Text . \n \n = = Section = = \n \n More . \n = no title = \n \n = Two = \n \n The end . \n"
    )
    assert read(text, "article") == [
        "= One =\n\nText .\n\n= = Section = =\n\nMore .\n= no title =",
        "= Two =\n\nThe end .",
    ]


def test_documents_of_babylm_are_between_its_marks_or_else_blank_lines():
    marked = "= = = PG1 = = =\nOne.\n\nStill one.\n= = = PG2 = = =\nTwo.\n"
    assert read(marked, "babylm") == ["One.\n\nStill one.", "Two."]
    assert read(f"In front.\n{marked}", "babylm")[0] == "In front."
    assert read("A: yes\nB: no\n\nA: again\n", "babylm") == ["A: yes\nB: no", "A: again"]
    assert read("", "babylm") == []


@pytest.mark.parametrize("unit", sorted(RULES))
def test_long_documents_and_long_lines_are_cut(unit):
    line = "word " * 1000
    endless = "w" * (2 * LONGEST + 5)
    found = read(f"{line}\n" * 500 + endless, unit)
    assert "".join(found).replace("\n", "").count("w") == 500 * 1000 + len(endless)
    assert max(map(len, found)) <= LONGEST
    assert len(found) >= 4


def test_records_are_lines_unless_they_have_several():
    rows = ["One.", "Still one.", "", "Two.", "A whole\ndocument.", "Three.", "   ", "Four."]
    assert list(of_records(rows, "by-type")) == rows
    assert list(of_records(rows, "record")) == rows
    found = [document.strip() for document in of_records(rows, "blank-line")]
    assert [each for each in found if each] == ["One.\nStill one.", "Two.", "A whole\ndocument.", "Three.", "Four."]
