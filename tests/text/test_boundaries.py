"""Where documents begin and end, and the line of facts about a text."""

import io
import json

import numpy as np
import pytest

from bertlab.machine import Machine
from bertlab.text import facts
from bertlab.text.boundaries import LONGEST, RULES, of_records, of_text
from bertlab.text.sources import resolve

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


PLACES = "".join(f"Sentence one of {place}.\nIts second one!\n“And a third.”\n\n" for place in range(9))
BOOK = "".join(f"A paragraph of {place}\nthat goes on for some\nlines. It ends here.\n\n" for place in range(9))
PARAGRAPHS = "".join(f"Paragraph {place} has one line. And two sentences.\n\n" for place in range(9))


@pytest.fixture
def located(tmp_path):
    def locate(name, **texts):
        for path, text in texts.items():
            place = tmp_path / name / path.replace("__", "/").replace("_of_", "-of-").replace("_dot_", ".")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return (resolve(str(tmp_path / name), machine=Machine(cache=tmp_path / "cache")),)

    return locate


def test_files_taken_and_left_and_documents_before_anything_is_prepared(located):
    rows = "".join(json.dumps({"text": f"Text {place}."}) + "\n" for place in range(8))
    found = located("hub", data__train_dot_jsonl=rows, data__test_dot_jsonl=rows, data__dev_dot_jsonl=rows)
    known = facts.before(found, "by-type")
    assert known == {"files": [1, 3], "documents": 8}
    assert facts.sentence(known, facts.names(found)) == "1 of 3 files (data/train.jsonl), 8 documents"
    alone = located("alone", a_dot_txt="A.", b_dot_txt="B.")
    assert facts.sentence(facts.before(alone, "by-type"), facts.names(alone)) == "2 files, 2 documents"
    microworld = (resolve("microworld:30", machine=Machine()),)
    assert facts.sentence(facts.before(microworld, "by-type")) == "30 documents"


def test_the_facts_of_tokens_by_hand():
    found = facts.of_text(
        [np.array([7, 1, 8, 9]), np.array([1, 5])], [np.array([0, 1, 4]), np.array([0, 2])], unknown=1
    )
    assert found == {"documents": 3, "sentences": 2.0, "single": 1 / 3, "unknown": 2 / 6}


def test_a_line_with_everything():
    whole = {"files": [1, 3], "documents": 1, "sentences": 4, "single": 0.1, "unknown": 0.003}
    whole["targets"] = {"of the pairs have an order": 0.98}
    expected = (
        "1 of 3 files, 1 document, 4.0 sentences each (median), 0.3 % unknown tokens, 98 % of the pairs have an order"
    )
    assert facts.sentence(whole) == expected
    assert facts.sentence({}) == ""


def test_texts_are_merged_with_the_lowest_shares():
    one, other = {"documents": 3, "unknown": 0.0}, {"documents": 3, "unknown": 0.1}
    texts = [{**one, "targets": {"a": 0.5, "b": 1.0}}, {**one, "targets": {"a": 0.2}}, other]
    assert facts.merged(texts) == [{**one, "targets": {"a": 0.2, "b": 1.0}}, other]


def test_doubts():
    assert facts.doubts({"unknown": 0.01, "single": 0.5}) == []
    (unknown,) = facts.doubts({"unknown": 0.3})
    assert "30.0% of the tokens are unknown" in unknown
    (passes,) = facts.doubts({"passes": [1024, 93]})
    assert "inputs.epochs is 1,024, but a training passes over its text 93 times only" in passes
    assert facts.sentence({"passes": [7]}) == "7 of 7 passes", "a result from elsewhere"
    assert facts.sentence({"documents": 9, "passes": [1024, 93]}) == "9 documents, 93 of 1,024 passes"
    (single,) = facts.doubts({"single": 0.95})
    assert "corpus.documents=blank-line" in single


def test_a_text_file_in_the_form_of_bert_is_doubted_and_a_book_is_not(located):
    for text in (PLACES, PLACES.replace("\n", "\r\n")):
        (doubt,) = facts.layout_doubts(located("bert", corpus_dot_txt=text), "by-type")
        assert "corpus.txt" in doubt
        assert "corpus.documents=blank-line" in doubt
    assert facts.layout_doubts(located("bert"), "blank-line") == []
    for text in (BOOK, PARAGRAPHS, "One.\nTwo.\n", ""):
        assert facts.layout_doubts(located("book", corpus_dot_txt=text + " "), "by-type") == []


@pytest.mark.parametrize(
    ("name", "text", "unit"),
    [
        ("a_dot_train", "= = = PG1 = = =\nSome text.\n\nMore\n", "babylm"),
        ("wiki_dot_tokens", " \n = One = \n \n Text . \n \n = Two = \n \n More . \n", "article"),
        (
            "rows_dot_jsonl",
            "".join(json.dumps({"text": each}) + "\n" for each in ("", " = One = \n", "", "a\n", "", " = Two = ")),
            "article",
        ),
    ],
)
def test_other_layouts_that_a_plan_doubts(located, name, text, unit):
    found = located("other", **{name: text})
    (doubt,) = facts.layout_doubts(found, "by-type")
    assert doubt.endswith(f"set corpus.documents={unit}")
    assert facts.layout_doubts(found, unit) == []
