"""Tags, their schemes, and windows of words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab.errors import BadInput
from bertlab.tasks.examples import IGNORED
from bertlab.tasks.kinds import tagging
from bertlab.tasks.task import RawExamples, Table, Task

encode = tagging.Tagging().encode


def raw(words, tags):
    return RawExamples(text=(words,), labels=tags)


def named(words, tags, names=()):
    task = Task(kind="tagging", text=("tokens",), label="tags")
    return tagging.named(task, Table("file", {"tokens": words, "tags": tags}), names)


def test_integers_take_their_names():
    names = ("O", "B-PER", "I-PER")
    assert named([["a", "b", "c"], ["d", "e"]], [[0, 1, 2], ["I-PER", "O"]], names) == [
        ["O", "B-PER", "I-PER"],
        ["I-PER", "O"],
    ]


@pytest.mark.parametrize(
    ("tags", "names", "message"),
    [
        ([["O"], [3]], (), "tag 3 in file column tags row 2: give tags as texts, or name the labels"),
        ([["O"], [-1]], ("O", "B-A"), "tag -1 in file column tags row 2: give one of O, B-A"),
        ([["O"], [2]], ("O", "B-A"), "tag 2 in file column tags row 2: give one of O, B-A"),
        ([["O", "B-X"]], ("O", "B-A", "I-A"), "tag 'B-X' in file column tags row 1: give one of O, B-A, I-A"),
        ([["O"], [None]], (), "tag None in file column tags row 2"),
        ([["O"], [True]], ("O", "B-A"), "tag True in file column tags row 2"),
        ([["B-A", "S-A"]], (), "tag 'S-A' in file column tags: give O, B-type and I-type only"),
    ],
)
def test_wrong_tags(tags, names, message):
    with pytest.raises(BadInput, match=message):
        named([["a"] * len(each) for each in tags], tags, names)


@pytest.mark.parametrize(
    ("words", "tags", "message"),
    [
        ([["a"], ["a", "b"]], [["O"], ["O"]], "file column tags row 2 is .*: give a list of 2 tags"),
        (["a b"], [["O"]], "file column tokens row 1 is .a b.: give a list of texts"),
        ([["a", 3]], [["O", "O"]], "file column tokens row 1 is .*: give a list of texts"),
        ([["a"]], ["O"], "file column tags row 1 is .O.: give a list of 1 tags"),
    ],
)
def test_wrong_sentences(words, tags, message):
    with pytest.raises(BadInput, match=message):
        named(words, tags)


def test_names_of_tags_found_in_the_data():
    assert tagging.label_names([[["B-X"]], [["O", "B-A", "I-A"]]]) == ("O", "B-A", "I-A", "B-X", "I-X")
    assert tagging.label_names([[["NOUN", "VERB"]]]) == ("NOUN", "VERB")


def test_a_target_sits_at_the_first_piece_of_each_word(tokenizer):
    found = encode(raw([["ab", "c", "def"]], [np.array([1, 0, 2])]), tokenizer, 16)
    batch = found.batch(np.array([0]))
    assert batch.lengths.tolist() == [8]
    assert batch.positions.tolist() == [[1, 3, 4]]
    assert batch.targets.tolist() == [[1, 0, 2]]


@given(
    st.lists(
        st.lists(st.integers(1, 14).map(lambda size: ("abcdefgh" * 2)[:size]), max_size=12), min_size=1, max_size=6
    ),
    st.integers(8, 20),
)
def test_windows_cover_every_word_once_and_in_order(tokenizer, words, length):
    tags = [np.arange(len(row)) for row in words]
    found = encode(raw(words, tags), tokenizer, length)
    assert (found.lengths <= length).all()
    assert found.raw_count == len(words)
    assert found.example_index.tolist() == [number for number, row in enumerate(words) for _ in row]
    everything = [word for row in words for word in row]
    assert found.counts.sum() == len(everything) == len(found.targets)
    if not everything:
        return
    batch = found.batch(np.arange(len(found)))
    full = batch.targets != IGNORED
    assert batch.slots[full].tolist() == list(range(len(everything)))
    first = np.take_along_axis(batch.tokens, batch.positions, axis=1)[full]
    assert [tokenizer.vocabulary[token] for token in first] == [word[0] for word in everything]
    # Nothing but the end of a word that is longer than a row is lost.
    pieces = int((found.lengths - 2).sum())
    assert pieces == sum(min(len(word), length - 2) for word in everything)


def shown(found, tokenizer):
    """Each row as text, with the tagged pieces as capitals."""
    texts = []
    for number in range(len(found)):
        batch = found.batch(np.array([number]))
        pieces = [tokenizer.vocabulary[token][-1] for token in batch.tokens[0, 1 : batch.lengths[0] - 1]]
        for place in batch.positions[0][batch.slots[0] >= 0]:
            pieces[place - 1] = pieces[place - 1].upper()
        texts.append("".join(pieces))
    return texts


@pytest.mark.parametrize(
    ("length", "groups", "rows"),
    [
        (7, None, ["bCDef", "dEFgh"]),  # half before and half behind, of one document
        (8, None, ["abCDef", "cdEFgh"]),
        (7, [0, 0, 1, 1], ["abCD", "EFgh"]),  # up to the ends of their documents
        (9, [0, 0, 0, 1], ["abCDef", "abcdEF"]),
        (20, None, ["abCDefgh", "abcdEFgh"]),
        (4, None, ["CD", "EF"]),  # no room
    ],
)
def test_neighbours_of_the_same_document_fill_a_row(tokenizer, length, groups, rows):
    sentences = [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    tags = [np.array([0, 0]), np.array([1, 2]), np.array([3, 4]), np.array([0, 0])]
    split = RawExamples(text=(sentences,), labels=tags, groups=None if groups is None else np.array(groups))
    found = encode(split.take(np.array([1, 2])), tokenizer, length, options=("context",))
    assert shown(found, tokenizer) == rows
    assert found.targets.tolist() == [1, 2, 3, 4]
    assert found.example_index.tolist() == [0, 0, 1, 1]


def test_a_line_of_conll_begins_a_document(tokenizer):
    sentences = [[tagging.DOCUMENT_START], ["a", "b"], [tagging.DOCUMENT_START], ["c", "d"]]
    split = RawExamples(text=(sentences,), labels=[np.zeros(len(words), np.int64) for words in sentences])
    found = encode(split.take(np.array([1])), tokenizer, 40, options=("context",))
    assert shown(found, tokenizer)[0].endswith("AB")


@given(st.lists(st.lists(st.sampled_from(["ab", "cde", "f" * 13]), max_size=9), min_size=1, max_size=6), st.data())
def test_a_context_changes_no_target_and_reads_the_text_as_it_stands(tokenizer, words, data):
    length = data.draw(st.integers(8, 40))
    tags = [np.arange(len(row)) for row in words]
    alone, found = (encode(raw(words, tags), tokenizer, length, options=each) for each in ((), ("context",)))
    assert (found.lengths <= length).all()
    for name in ("targets", "example_index", "counts"):
        assert getattr(found, name).tolist() == getattr(alone, name).tolist()
    text = "".join(word for row in words for word in row)
    rows = [row.lower() for row in shown(found, tokenizer)]
    assert all(row in text for row in rows)
    if len(text) <= length - 2:
        assert set(rows) <= {text}
