"""Rows of tasks in local files."""

import gzip

import pytest

from bertlab.errors import BadInput
from bertlab.tasks import locate
from bertlab.tasks.task import Table
from bertlab.text import rows

ROWS = [{"sentence": 'a "b, c" ä', "label": 1, "idx": 0}, {"sentence": "d", "label": 0, "idx": 1}]


def read(path, columns):
    return [*Table.of(rows.read(path), str(path), columns).columns.values()]


def message(path, columns=("sentence", "label")):
    with pytest.raises(BadInput) as caught:
        read(path, columns)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [each for each in rows.SUFFIXES if "tsv" not in each])
def test_rows(tmp_path, write, suffix):
    path = write(tmp_path / f"train{suffix}", ROWS)
    assert locate.split_file(tmp_path, "train") == path
    labels = ["1", "0"] if "csv" in suffix else [1, 0]
    assert read(path, ("label", "sentence")) == [labels, ['a "b, c" ä', "d"]]


def test_empty_lines_of_tables_are_no_rows(tmp_path):
    (tmp_path / "train.csv").write_text("sentence,label\na,0\n\nb,1\n\n")
    assert [*rows.read(tmp_path / "train.csv")] == [{"sentence": "a", "label": "0"}, {"sentence": "b", "label": "1"}]


@pytest.mark.parametrize(("suffix", "mark"), [("csv", ","), ("tsv", "\t")])
def test_a_cell_may_be_a_long_document(tmp_path, suffix, mark):
    passage = "word " * 50_000
    (tmp_path / f"train.{suffix}").write_text(f"passage{mark}label\n{passage}{mark}1\n")
    assert [*rows.read(tmp_path / f"train.{suffix}")] == [{"passage": passage, "label": "1"}]


def test_quotes_in_tab_separated_files_are_text(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text('label\tsentence\n1\t"open\n0\tclosed" too\n', encoding="utf-8")
    assert read(path, ("sentence",)) == [['"open', 'closed" too']]


def quoted(path, lines, **options):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [*rows.read(path, **options)]


@pytest.mark.parametrize(
    ("lines", "cell"),
    [
        (["text\tlabel", '"He said ""no""."\t0', "plain\t1"], '"He said ""no""."'),
        (['"text"\t"label"', '"plain"\t"0"'], '"text"'),
        (["text\tlabel", '"two\tparts"\t0'], '"two'),
        (["text\tlabel", '"two', 'lines"\t0'], '"two'),
        (["text\tlabel", '"He left."\t0', '"plain"\t1'], '"plain"'),
    ],
)
def test_quotes_that_seem_to_enclose_cells_are_asked_about(tmp_path, lines, cell):
    path = tmp_path / "train.tsv"
    with pytest.raises(BadInput, match="set the task's field quoted to True if quotes enclose cells") as caught:
        quoted(path, lines)
    assert f"{path} has the cell '{cell}'" in str(caught.value)
    assert quoted(path, lines, quoted=True)[0]["text"] in (
        *('He said "no".', "plain", "two\tparts", "two\nlines", "He left."),
    )


@pytest.mark.parametrize(
    "cells",
    [
        ['"Stop!"', "plain"],
        ['"a ""b"" c"', '"open'],
        ['"One" and "two"', 'inner "" quotes'],
        ['""', "plain"],
    ],
)
def test_other_quotes_of_a_tsv_are_text(tmp_path, cells):
    lines = ["text\tlabel", *(f"{cell}\t0" for cell in cells)]
    assert [row["text"] for row in quoted(tmp_path / "train.tsv", lines)] == cells


def test_quotes_are_what_the_task_says(tmp_path):
    lines = ["text,label", '"He said ""no""",0']
    assert quoted(tmp_path / "train.csv", lines)[0]["text"] == 'He said "no"'
    assert quoted(tmp_path / "train.csv", lines, quoted=False)[0]["text"] == '"He said ""no"""'
    tabs = [line.replace(",", "\t") for line in lines]
    assert quoted(tmp_path / "train.tsv", tabs, quoted=False)[0]["text"] == '"He said ""no"""'


def test_a_missing_split_names_what_is_there(tmp_path, write):
    write(tmp_path / "dev.jsonl", ROWS)
    with pytest.raises(BadInput, match=r"has no validation\.jsonl .* it has dev\.jsonl"):
        locate.split_file(tmp_path, "validation")
    with pytest.raises(BadInput, match=r"it has nothing; add the file \(`bertlab fetch STUDY DIR` writes"):
        locate.split_file(tmp_path / "nowhere", "validation")


def test_a_split_in_two_files_is_asked_about(tmp_path, write):
    paths = [write(tmp_path / f"train{suffix}", ROWS) for suffix in (".csv", ".jsonl")]
    with pytest.raises(BadInput, match=r"has train\.jsonl and train\.csv: keep the one that holds train"):
        locate.split_file(tmp_path, "train")
    paths[0].unlink()
    assert locate.split_file(tmp_path, "train") == paths[1]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_missing_column_gets_the_nearest_name(tmp_path, write, suffix):
    path = write(tmp_path / f"train{suffix}", [{"sentense": "d", "label": 0}])
    assert "row 1 has no column 'sentence', which the task reads: did you mean 'sentense'?" in message(path)


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_bytes(b'{"sentence": "\xff", "label": 0}\n')
    assert "line 1 is not JSON ('utf-8' codec" in message(path)
    path.write_text('{"sentence": "a", "label": 0}\n{"sentence": \n')
    assert "line 2 is not JSON" in message(path)
    path.write_text("[1]\n")
    assert "line 1 is not a JSON object" in message(path)
    path.write_text("\n")
    assert "has no rows" in message(path)
    damaged = tmp_path / "train.jsonl.gz"
    damaged.write_bytes(gzip.compress(b'{"sentence": "a", "label": 0}\n' * 1000)[:-20])
    assert "damaged" in message(damaged)
    damaged.write_bytes(b"plain text")
    assert "damaged" in message(damaged)
    parquet = tmp_path / "train.parquet"
    parquet.write_bytes(b"PAR?")
    assert "not a Parquet file" in message(parquet)
    cells = tmp_path / "train.csv"
    cells.write_text("sentence,label\na,0,extra\n")
    assert "line 2 has 3 cells, the header 2" in message(cells)
    cells.write_bytes(b"sentence,label\n\xff,0\n")
    assert "is not UTF-8" in message(cells)
