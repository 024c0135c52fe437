"""Spans that a task marks in its texts."""

import pytest

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import catalog, data, marks
from bertlab.tasks.task import Table, columns_of

TEXT = "He said it,  and \"they heard it. It's new"


def marked(index, words, text=TEXT):
    return Table("file", {"t": [text], "i": [index], "w": [words]}).texts("{t[i@w]}")[0]


def test_the_columns_of_a_marked_text():
    assert columns_of("{text[at@words]} in {other[start:end]}") == ("text", "at", "words", "other", "start", "end")
    assert columns_of("{option[3]}") == ("option[3]",), "a name with brackets"
    assert marks.columns("text") == ("text",)


@pytest.mark.parametrize(
    ("index", "words", "expected"),
    [
        (0, "He", "[ He ] said it,  and \"they heard it. It's new"),
        (2, "it", "He said [ it ],  and \"they heard it. It's new"),
        (6, "it", "He said it,  and \"they heard [ it ]. It's new"),
        ("6", "it", "He said it,  and \"they heard [ it ]. It's new"),
        (4, "they", "He said it,  and \"[ they ] heard it. It's new"),
        (7, "it", "He said it,  and \"they heard it. [ It ]'s new"),
        (5, "heard it", "He said it,  and \"they [ heard it ]. It's new"),
        (3, "they", "He said it,  and \"[ they ] heard it. It's new"),
        (0, "ow", None),
        (8, "said", None),
        (9, "new", None),
        (-1, "He", None),
        (None, "He", None),
        (0, "", None),
        (0, None, None),
        (1, "aid", None),
    ],
)
def test_words_are_found_at_their_number_or_beside_it(index, words, expected):
    if expected is not None:
        assert marked(index, words) == expected
        return
    with pytest.raises(
        BadInput, match=r"^file column i row 1: .* of w are no span of the text: give its place in words$"
    ):
        marked(index, words)


def test_the_words_at_the_number_come_before_their_neighbours():
    for index in range(4):
        expected = ["it"] * 4
        expected[index] = "[ it ]"
        assert marked(index, "it", "it it it it") == " ".join(expected)


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (0, 2, "[ ab ] cd"),
        ("3", "5", "ab [ cd ]"),
        (3, 6, None),
        (2, 2, None),
        (-1, 2, None),
        (None, 2, None),
        (0, None, None),
    ],
)
def test_characters_are_marked_from_the_first_to_the_end(begin, end, expected):
    table = Table("file", {"t": ["x y", "ab cd"], "s": [0, begin], "e": [1, end], "n": ["one", "two"]})
    if expected is not None:
        assert table.texts("{n}: {t[s:e]}") == ["one: [ x ] y", f"two: {expected}"]
        return
    with pytest.raises(
        BadInput, match=r"^file column s row 2: .* of e are no span of the text: give its place in char"
    ):
        table.texts("{n}: {t[s:e]}")


@pytest.mark.parametrize(("begin", "end", "wrong"), [(0, 1, "[ a ]b"), (1, 3, "a[ b ]cd"), (2, 5, "ab[ cd ]")])
def test_spans_that_cut_words_in_most_rows_are_asked_about(begin, end, wrong):
    """Ends are those of the last character, or positions count from 1, or in units of another encoding."""
    one = {"t": ["ab cd", "ab cd"], "s": [begin, 0], "e": [end, 2]}
    assert len(Table("file", one).texts("{t[s:e]}")) == 2, "one of two may be a part of a word"
    most = {name: [values[0], *values] for name, values in one.items()}
    with pytest.raises(
        BadInput, match=r"^file column s row 1: .* of e are .*: count characters from 0, the end"
    ) as raised:
        Table("file", most).texts("{t[s:e]}")
    assert wrong in str(raised.value)


WSC = {"text": "Ann beat Eve as she ran.", "span1_text": "Ann", "span2_text": "she", "span2_index": 4, "label": 1}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".csv"])
def test_a_pronoun_of_wsc_is_marked_in_every_kind_of_file(tmp_path, write, suffix):
    for split in ("train", "validation"):
        write(tmp_path / "wsc" / f"{split}{suffix}", [WSC])
    machine = Machine(data=tmp_path, cache=tmp_path / "cache")
    found = data.load(catalog.find("wsc"), machine=machine, world=False)
    assert found.evaluation.text == (["Ann beat Eve as [ she ] ran."], ["she is Ann"])
    write(tmp_path / "wsc" / f"train{suffix}", [{name: each for name, each in WSC.items() if name != "span2_index"}])
    with pytest.raises(BadInput, match="row 1 has no column 'span2_index', which the task reads"):
        data.load(catalog.find("wsc"), machine=machine, world=False)
