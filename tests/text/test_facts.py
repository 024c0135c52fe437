"""The line of facts about a text."""

import json

import numpy as np
import pytest

from bertlab.machine import Machine
from bertlab.text import facts
from bertlab.text.sources import resolve

BERT = "".join(f"Sentence one of {place}.\nIts second one!\n“And a third.”\n\n" for place in range(9))
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
    (single,) = facts.doubts({"single": 0.95})
    assert "corpus.documents=blank-line" in single


def test_a_text_file_in_the_form_of_bert_is_doubted_and_a_book_is_not(located):
    for text in (BERT, BERT.replace("\n", "\r\n")):
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
