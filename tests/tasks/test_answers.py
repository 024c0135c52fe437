"""What a column of answers means."""

import dataclasses

import pytest

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.tasks import answers, data
from bertlab.tasks.locate import locate
from bertlab.tasks.task import Table, Task

OWN = Task(kind="classification", text=("text",), label="class")
WORDS = ["red", "green", "blue", "grey", "pink", "gold"]


@pytest.fixture
def load(tmp_path, write):
    """Reads a task whose splits have these answers, in files of a kind."""

    def read(values, suffix=".jsonl", task=OWN, validation=None, **fields):
        for split, each in (("train", values), ("validation", values if validation is None else validation)):
            rows = [{"text": WORDS[at % 6], "ends": [*"abc"], "class": value} for at, value in enumerate(each)]
            if suffix in (".csv", ".tsv"):
                rows = [{name: value for name, value in row.items() if name != "ends"} for row in rows]
            for earlier in (tmp_path / "own").glob(f"{split}.*"):
                earlier.unlink()
            write(tmp_path / "own" / f"{split}{suffix}", rows)
        task = dataclasses.replace(task, path=str(tmp_path / "own"), **fields)
        return data.load(task, machine=Machine(cache=tmp_path / "cache"), world=False)

    return read


@pytest.fixture
def refused(load):
    """The message about such a task."""

    def read(*args, **options):
        with pytest.raises(BadInput) as caught:
            load(*args, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return read


TABLES = pytest.mark.parametrize("suffix", [".csv", ".tsv"])
FILES = pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])


@TABLES
@pytest.mark.parametrize(
    "cells",
    [
        ["01", "1", "010", "10"],
        ["1_0", "10"],
        ["1e3", "1000"],
        ["1.0", "2.0"],
        ["1.0", "1"],
        ["٣", "3"],
        ["+1", "1"],
        ["-0", "0"],
        ["nan", "null", "NA", "None"],
        ["True", "False"],
        ["9" * 40, "8"],
    ],
)
def test_labels_of_a_table_are_the_texts_of_its_cells(load, suffix, cells):
    found = load(cells, suffix)
    assert found.labels == tuple(sorted(cells))
    assert [found.labels[place] for place in found.train.labels] == cells


@TABLES
def test_a_column_of_integers_counts_labels(load, suffix):
    assert load(["0", "2", "1", "0"], suffix).train.labels == [0, 2, 1, 0]
    named = load(["0", "2", "1", "0"], suffix, labels=("a", "b", "c"))
    assert (named.labels, named.train.labels) == (("a", "b", "c"), [0, 2, 1, 0])


@TABLES
def test_texts_to_write_may_be_integers(load, suffix):
    """As those of sums."""
    cells = ["12", "7", "12"]
    assert load(cells, suffix, kind="text-to-text").train.labels == cells
    assert load(cells, suffix, kind="text-to-text", label="{class} of {class}").train.labels[1] == "7 of 7"
    assert load(cells, suffix, kind="text-to-answer").train.labels == [(cell,) for cell in cells]
    assert load(cells, suffix, kind="text-to-label").train.labels == cells


@TABLES
def test_the_type_of_a_column_is_that_of_all_splits(load, suffix):
    found = load(["0", "1"], suffix, validation=["0", "01"])
    assert found.labels == ("0", "01", "1")
    assert (found.train.labels, found.evaluation.labels) == ([0, 2], [0, 1])


def test_scores_of_a_table_are_numbers(load, refused):
    task = dataclasses.replace(OWN, kind="regression")
    assert load(["1", "2.5", " 1e1", "-.5"], ".csv", task).train.labels == [1.0, 2.5, 10.0, -0.5]
    assert load(["1", "2"], ".csv", task).train.labels == [1.0, 2.0]
    for cell in ("1_0", "٣", "nan", "inf", "", "1,5"):
        assert f"column class row 2 is {cell!r}: give a finite number" in refused(["1", cell], ".csv", task)
    assert "row 1 is '3.5', a text: give a finite number" in refused(["3.5", "1"], ".jsonl", task)


@FILES
def test_an_integer_that_is_a_name_and_counts_another_label_is_refused(load, refused, suffix):
    values = [0, 1, 1] if suffix in (".jsonl", ".parquet") else ["0", "1", "1"]
    said = refused(values, suffix, labels=("1", "0"))
    assert "0 is the name of a label and counts another one, '1': set the task's field counted_from" in said
    assert load(values, suffix, labels=("1", "0"), counted_from=0).train.labels == [0, 1, 1]
    assert load(values, suffix, labels=("0", "1")).train.labels == [0, 1, 1]


@FILES
def test_integers_that_are_names_and_no_counts_are_names(load, suffix):
    values = [3, 1, 2, 3] if suffix in (".jsonl", ".parquet") else ["3", "1", "2", "3"]
    assert load(values, suffix, labels=("1", "2", "3")).train.labels == [2, 0, 1, 2]
    assert load(values[1:3], suffix, labels=("1", "2", "3")).train.labels == [0, 1]


def test_texts_in_json_are_names(load, refused):
    assert load(["1", "0"], labels=("1", "0")).train.labels == [0, 1]
    assert load(["01", "1"]).labels == ("01", "1")


def test_an_integer_as_text_is_said_to_be_a_text(refused):
    said = refused(["0", "1"], labels=("negative", "positive"))
    assert "label '0' in" in said
    assert "row 1 is a text and no name: give one of 0 (negative), 1 (positive), a number without quotes" in said


@FILES
def test_labels_from_1_without_names_are_five_and_not_six(load, suffix):
    values = [5, 1, 4, 2, 3] if suffix in (".jsonl", ".parquet") else [*"51423"]
    for fields in ({}, {"counted_from": 1}, {"labels": (*"12345",)}):
        found = load(values, suffix, **fields)
        assert (found.labels, found.train.labels) == ((*"12345",), [4, 0, 3, 1, 2])


def test_labels_of_four_digits_are_names(load):
    found = load(["1990", "1812", "1990"], ".csv")
    assert (found.labels, found.train.labels) == (("1812", "1990"), [1, 0, 1])


@FILES
def test_named_labels_without_a_0_may_count_from_1(load, refused, suffix):
    values = [1, 2, 3, 1] if suffix in (".jsonl", ".parquet") else [*"1231"]
    for some in (values, values[:2]):
        said = refused(some, suffix, labels=("a", "b", "c"))
        assert "has no 0, so that its integers may count from 1: set the task's field counted_from" in said
    assert load(values, suffix, labels=("a", "b", "c"), counted_from=1).train.labels == [0, 1, 2, 0]
    assert load(values[:2], suffix, labels=("a", "b", "c"), counted_from=0).train.labels == [1, 2]
    wrong = refused(values, suffix, labels=("a", "b", "c"), counted_from=0)
    assert "row 3: give one of 0 (a), 1 (b), 2 (c)" in wrong
    assert load(values[:2], suffix, labels=("a", "b", "c"), validation=[*values, type(values[0])(0)][-2:])


@pytest.mark.parametrize("values", [[1, 2], [3, 1], ["1", "2"], ["3", "1"]])
def test_endings_may_be_counted_from_1(load, refused, values):
    task = dataclasses.replace(OWN, kind="multiple-choice", text=("text", "ends"))
    assert "may count from 1: set the task's field counted_from" in refused(values, task=task)
    found = load(values, task=task, counted_from=1)
    assert (found.labels, found.train.labels) == (("1", "2", "3"), [int(value) - 1 for value in values])


def test_tags_may_be_counted_from_1(tmp_path, write):
    rows = [{"words": ["a", "b", "c"], "tags": [1, 2, 3]}]
    for split in ("train", "validation"):
        write(tmp_path / f"{split}.jsonl", rows)
    task = Task(kind="tagging", path=str(tmp_path), text=("words",), label="tags", labels=("x", "y", "z"))
    machine = Machine(cache=tmp_path / "cache")
    with pytest.raises(BadInput, match="may count from 1"):
        data.load(task, machine=machine, world=False)
    counted = dataclasses.replace(task, counted_from=1)
    assert data.load(counted, machine=machine, world=False).train.labels[0].tolist() == [0, 1, 2]


@FILES
def test_rows_without_a_label_are_left_out(load, refused, suffix):
    typed = suffix in (".jsonl", ".parquet")
    values = [0, 1, -1, 1, -1] if typed else ["0", "1", "-1", "1", "-1"]
    fields = {"labels": ("no", "yes")}
    said = refused(values, suffix, **fields)
    assert "label -1 in" in said
    assert "row 3: give one of 0 (no), 1 (yes); if the row has no label, leave it out with unlabelled=(-1,)" in said
    for absent in ((-1,), ("-1", "-"), ("-", -1)):
        found = load(values, suffix, unlabelled=absent, **fields)
        assert (found.train.labels, found.train.text[0]) == ([0, 1, 1], ["red", "green", "grey"])
        assert found.unlabelled == 4, "of both splits"
    assert load(values[:2], suffix, unlabelled=(-1,), **fields).unlabelled == 0
    assert "has no row with a label: the task's field unlabelled leaves out all 2" in refused(
        values, suffix, unlabelled=(-1,), validation=[values[2]] * 2, **fields
    )


@FILES
@pytest.mark.parametrize("absent", ["-", ""])
def test_what_looks_like_no_label_is_no_class(load, refused, suffix, absent):
    if suffix == ".csv" and not absent:
        absent = ""
    said = refused(["b", "a", absent, "b"], suffix)
    assert f"has the label {absent!r}: name all labels in the task's field labels; if the row has no label" in said
    found = load(["b", "a", absent, "b"], suffix, unlabelled=(absent,))
    assert (found.labels, found.train.labels, found.unlabelled) == (("a", "b"), [1, 0, 1], 2)
    named = load(["b", "a", absent, "b"], suffix, labels=("a", "b", absent))
    assert named.train.labels == [1, 0, 2, 1]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_null_or_no_number_is_no_label(load, refused, suffix):
    for value in (None, float("nan")):
        values = [0.0, 1.0, value, 1.0]
        assert "leave it out with unlabelled=('',)" in refused(values, suffix)
        assert load(values, suffix, unlabelled=("",)).train.labels == [0, 1, 1]


def test_marks_of_opinion_are_labels(load):
    assert load(["+", "-", "+"]).labels == ("+", "-")


@pytest.mark.parametrize("other", ["café ", "Café", "cafe\u0301"])
def test_labels_that_differ_in_spelling_alone_are_refused(load, refused, other):
    said = refused(["café", "no", other], ".csv")
    assert f"{other!r}" in said
    assert "which differ in spaces, case or the code of an accent alone" in said
    assert load(["café", "no", other], ".csv", labels=("no", "café", other)).train.labels == [1, 0, 2]


def test_a_split_with_other_names_for_the_labels_is_refused(load, refused):
    said = refused(["pos", "neg"], ".csv", validation=["positive", "negative"])
    assert "validation.csv column class has no label of" in said
    assert "train.csv: it has 'negative', and that has 'neg': give both the same names" in said
    names = ("neg", "pos", "negative", "positive")
    assert load(["pos", "neg"], ".csv", validation=["positive"], labels=names).evaluation.labels == [3]
    assert load(["pos", "neg"], ".csv", validation=["pos", "other"]).labels == ("neg", "other", "pos")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("labels", "places"),
    [((), [1, 0]), (("a", "b"), [1, 0]), (("no", "yes"), [1, 0]), (("Yes", "No"), [0, 1]), (("True", "False"), [0, 1])],
)
def test_a_boolean_is_the_label_of_its_name(load, suffix, labels, places):
    assert load([True, False], suffix, labels=labels).train.labels == places


@TABLES
def test_an_integer_without_a_label_may_be_written_with_a_point(load, suffix):
    """As in tables whose column had empty cells."""
    found = load(["0.0", "1.0", "-1.0"], suffix, unlabelled=(-1,))
    assert (found.labels, found.unlabelled) == (("0.0", "1.0"), 2)
    task = dataclasses.replace(OWN, kind="regression")
    assert load(["0.5", "1.0", "-1.0"], suffix, task, unlabelled=(-1,)).train.labels == [0.5, 1.0]
    assert load(["0.5", "1.0", "-1.0"], suffix, task, unlabelled=("-1",)).train.labels == [0.5, 1.0, -1.0]


def test_rows_without_a_label_are_part_of_the_content(load, tmp_path):
    load([0, 1, -1, 1], labels=("no", "yes"), unlabelled=(-1,))
    task = dataclasses.replace(OWN, path=str(tmp_path / "own"))
    machine = Machine(cache=tmp_path / "cache")
    changes = [{}, {"unlabelled": (-1,)}, {"counted_from": 1}, {"counted_from": 0}, {"columns": ("a", "b")}]
    contents = [locate(dataclasses.replace(task, **each), machine=machine, world=False).content for each in changes]
    assert len({*contents}) == len(changes)
    assert contents[1] == f"{contents[0]}/task.unlabelled=-1"


def test_scores_are_no_labels(refused):
    assert "label 3.8 in" in refused([0, 2, 3.8])
    assert "label 'a' in" in refused([0, 2, "a"])
    assert "has more than 1,000 labels: name them, or measure a regression" in refused([*range(1001)])


def test_a_reader_of_one_split_alone_asks_nothing():
    """A report reads the evaluation split alone."""
    table = Table("file", {"class": [1, 2]})
    assert [*map(answers.reader(OWN, table, ("a", "b", "c")), (1, 2, "c", "x", None, [1]))] == [1, 2, 2] + [None] * 3
