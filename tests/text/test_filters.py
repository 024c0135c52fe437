"""C4's rules, by themselves and together."""

import gzip
import json

import pytest

from bertlab import synthetic
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus
from bertlab.text import facts, filters, tokens
from bertlab.text.document_file import DocumentFile
from bertlab.text.filters import Filter
from bertlab.text.sources import documents, resolve
from bertlab.text.tokenizers import WordPiece

FIRST = "One man walks home. Two women stay here. Three cats sleep all day."
PAGE = f"{FIRST} Four dogs bark at night."


@pytest.mark.parametrize(
    ("rule", "page", "left", "removed"),
    [
        ("lorem-ipsum", "Here is Lorem Ipsum.", "", 1),
        ("curly-brackets", "if (a) { b; }", "", 1),
        ("citations", "It is so[12] and not so.[citation needed][]", "It is so and not so.", 3),
        ("terminal-punctuation", 'Home\nHe left.\nWhy?\nSo it goes ...\n"Yes"\nmenu', 'He left.\nWhy?\n"Yes"', 3),
        ("five-words", "one two three four\none two three four five", "one two three four five", 1),
        ("javascript", "Enable JavaScript now.\nText.", "Text.", 1),
        ("policies", "Read our Privacy Policy.\nWe value privacy.", "We value privacy.", 1),
        ("three-sentences", "One. Two.", "", 1),
        ("three-sentences", "One. Two! “Three?”", "One. Two! “Three?”", 0),
        ("three-sentences", "Version 1.2 costs 3.50 more.", "", 1),
        ("five-sentences", "One. Two. Three. Four.", "", 1),
        ("repeated-spans", "A b. C d. E f. A b. C d. E f. G h", "A b. C d. E f. G h", 3),
    ],
)
def test_a_rule_by_itself(rule, page, left, removed):
    cleaning = Filter(Corpus(filter=rule))
    assert cleaning(page) == left
    assert cleaning.facts() == {"rules": rule, "pages": 1, "left": int(bool(left)), "removed": {rule: removed}}


def test_a_span_that_two_pages_have_stays_in_the_first_one():
    cleaning = Filter(Corpus(filter="repeated-spans"))
    assert cleaning(PAGE) == PAGE
    assert cleaning(f"New words begin.\n{FIRST} Others end it.") == "New words begin. Others end it."
    assert cleaning("One man walks home. Two women stay here. No cat sleeps.").startswith("One man")  # two are no span
    assert cleaning.removed == {"repeated-spans": 3}


def test_a_span_of_a_page_that_is_removed_stays_in_a_later_one():
    cleaning, longer = Filter(Corpus(filter="repeated-spans,five-sentences")), f"{PAGE} Five birds sing."
    assert [cleaning(PAGE), cleaning(longer), cleaning(longer)] == ["", longer, ""]


def test_all_rules_together_leave_the_sentences_of_a_page():
    page = f"Home\nLog in\n{FIRST}[1]\nThis page uses cookies all the time.\nToo short.\nRead more ..."
    cleaning = Filter(Corpus(filter="c4"))
    assert [cleaning(page), cleaning("Menu\nAbout")] == [FIRST, ""]
    counts = {"citations": 1, "terminal-punctuation": 5, "five-words": 1, "policies": 1, "three-sentences": 1}
    assert {rule: count for rule, count in cleaning.removed.items() if count} == counts
    line = filters.sentence(cleaning.facts())
    assert line.startswith(
        "filter c4 keeps 1 of 2 pages and removes 1 mark (citations), 5 lines (terminal-punctuation)"
    )
    assert filters.sentence({"rules": "c4"}) == "filter c4"


def test_bad_words_are_those_of_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("Darn\n\nbloody hell\n")
    cleaning = Filter(Corpus(filter="bad-words", bad_words="sha256:0"), path)
    pages = ["DARN it.", "Darning a sock.", "A bloody hell of a day.", "bloody hells"]
    assert [cleaning(page) for page in pages] == ["", pages[1], "", pages[3]]
    assert "bad-words" in filters.rules(Corpus(filter="c4", bad_words="sha256:0"))
    assert "bad-words" not in filters.rules(Corpus(filter="c4"))
    path.write_text("Darn\n", encoding="utf-8-sig")  # as editors of Windows save it
    assert Filter(Corpus(filter="bad-words", bad_words="sha256:0"), path)("Darn it.") == ""
    path.write_text(" \n\n")
    with pytest.raises(BadInput, match=r"words\.txt has no words: give a text file, one word a line"):
        Filter(Corpus(filter="bad-words", bad_words="sha256:0"), path)
    for corpus in (Corpus(filter="bad-words"), Corpus(bad_words="sha256:0")):
        with pytest.raises(BadInput, match="--bad-words"):
            filters.rules(corpus)
    with pytest.raises(BadInput, match="policies"):
        filters.rules(Corpus(filter="c4,policy"))


def test_rules_in_any_order_are_the_same_corpus():
    assert Corpus(filter=" policies,c4, ,c4") == Corpus(filter="c4,policies")
    assert Corpus(filter=" , ") == Corpus()


def test_a_corpus_is_what_its_filter_leaves_and_its_facts_say_so(tmp_path):
    located = resolve("microworld-pages:80", machine=Machine())
    corpus = Corpus(sources=(located.source,), filter="c4")
    (tmp_path / "corpus").mkdir()
    prepared = tokens.prepare(corpus, WordPiece(vocabulary=512), [located], tmp_path / "corpus", progress=silent)
    kept = prepared["train"]["documents"] + prepared["heldout"]["documents"]
    assert prepared["text"]["filter"]["pages"] == 80
    assert prepared["text"]["filter"]["left"] == kept < 80
    cleaning = Filter(corpus)
    cleaned = [*filter(None, map(cleaning, documents(located)))]
    assert sum(map(len, cleaned)) == prepared["bytes"]  # ASCII
    assert f"filter c4 keeps {kept} of 80 pages" in facts.sentence(prepared["text"])
    (tmp_path / "words.txt").write_text("the\na\n")
    strict = Corpus(sources=(located.source,), filter="bad-words,five-sentences", bad_words="sha256:0")
    with pytest.raises(BadInput, match=r"no text left .filter bad-words,five-sentences keeps 0 of 80 pages"):
        DocumentFile.write(tmp_path / "text", [located], silent, cleaning=Filter(strict, tmp_path / "words.txt"))


def test_synthetic_pages_have_the_sentences_of_the_documents_and_noise_that_c4_removes():
    pages, texts = [*synthetic.pages(60)], [*synthetic.documents(60)]
    assert pages == [*synthetic.pages(60)]
    holding = [text for page, text in zip(pages, texts, strict=True) if text.split(". ")[0] in page]
    assert 45 < len(holding) < 60
    cleaning = Filter(Corpus(filter="c4"))
    words = [sum(len(text.split()) for text in group) for group in (pages, texts, map(cleaning, pages))]
    assert words[0] > 1.3 * words[1]
    assert 0.75 * words[1] < words[2] < 1.05 * words[1]
    assert not {rule for rule in filters.C4 if not cleaning.removed[rule]} - {"citations"}


def record(kind, text):
    """A record of a WARC file."""
    content = text.encode()
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: text/plain\r\nContent-Length: {len(content)}\r\n\r\n"
    return head.encode() + content + b"\r\n\r\n"


def test_a_wet_file_is_read_as_it_is(tmp_path):
    pages = ["Erste Seite.\nMit naïve Zeile.\r\n\r\nWARC/1.0 in a text", "Second."]
    whole = record("warcinfo", "software: x") + b"".join(record("conversion", page) for page in pages)
    members = [record("warcinfo", "a"), *(record("conversion", page) for page in pages)]
    (tmp_path / "plain.warc.wet").write_bytes(whole)
    (tmp_path / "zipped.warc.wet.gz").write_bytes(b"".join(map(gzip.compress, members)))  # a member a record
    machine = Machine(cache=tmp_path / "cache")
    for name in ("plain.warc.wet", "zipped.warc.wet.gz"):
        assert [*documents(resolve(str(tmp_path / name), machine=machine))] == pages
    (tmp_path / "cut.wet").write_bytes(whole[:-20])
    (tmp_path / "other.wet").write_text(json.dumps({"text": "a"}))
    for length in ("9" * 12, "9" * 20, "9" * 5000, "-1", ""):
        (tmp_path / f"{len(length)}.wet").write_bytes(whole + f"WARC/1.0\r\nContent-Length: {length}\r\n\r\n".encode())
    damaged = [(f"{name}.wet", "damaged WET") for name in ("cut", 12, 20, 5000, 2, 0)]
    for name, says in (*damaged, ("other.wet", "no WET file")):
        with pytest.raises(BadInput, match=says):
            [*documents(resolve(str(tmp_path / name), machine=machine))]
