"""Which files of a folder are text to train on."""

import pytest

from bertlab.errors import BadInput
from bertlab.splits import training

ENDS = (".txt", ".jsonl", ".parquet", ".tokens")


@pytest.mark.parametrize(
    ("train", "others"),
    [
        (["train.jsonl"], ["validation.jsonl", "test.jsonl"]),
        (["train.jsonl.gz", "train-00000-of-00002.parquet"], ["dev.jsonl"]),
        (
            ["data/train-00000-of-00001.jsonl"],
            ["data/test-00000-of-00001.jsonl", "data/validation-00000-of-00001.jsonl"],
        ),
        (["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"], ["extra.parquet"]),
        (["train-00000-of-00001-a09b74b3.parquet"], ["b.parquet"]),
        (["x.train.txt"], ["x.valid.txt"]),
        (["corpus_train.jsonl"], ["corpus_test.jsonl"]),
        (["train/0.jsonl", "train/1.jsonl"], ["test/0.jsonl", "dev/0.jsonl"]),
        (["train/topics/a.txt", "train/letters/a.txt"], ["test/topics/a.txt", "test/letters/b.txt"]),
        (["train_0.txt", "train_1.txt"], ["eval_0.txt"]),
        (["train_0/a.jsonl", "train_1/a.jsonl"], ["dev/a.jsonl"]),
        (["childes.train", "books.train"], ["childes.dev", "books.test"]),
        (["train_10M/childes.train"], ["dev/childes.dev", "test/childes.test"]),
        (["wiki.train.tokens"], ["wiki.valid.tokens", "wiki.test.tokens"]),
        (["part1.train.txt", "part2.train.txt"], ["part3.test.txt"]),
        (["Training.txt"], ["Testing.txt", "notes.txt"]),
        (["train.jsonl"], ["validation_matched.jsonl", "validation_mismatched.jsonl"]),
        (["train.jsonl"], ["README.txt"]),
        (["en/train-00000-of-00001.parquet"], ["en/test-00000-of-00001.parquet"]),
    ],
    ids=lambda files: files[0],
)
def test_files_of_the_training_split(train, others):
    files = sorted([*train, *others])
    assert sorted(training(files, ENDS)) == sorted(train)


@pytest.mark.parametrize(
    "files",
    [
        ["gold.txt", "rain.txt", "train-robbery.txt", "train-spotting.txt", "train-station.txt"],
        ["plane.txt", "train.txt"],
        ["ship.txt", "test-pilots.txt", "train-robbery.txt"],
        ["devil.txt", "latest.txt", "trainspotting.txt"],
        ["childes.train", "gutenberg.train"],
        ["train-1.jsonl", "train-2.jsonl"],
        ["test.txt", "validation.txt"],
        ["a/x.txt", "train/y.txt"],
        ["a.txt", "train-and-test.txt"],
    ],
    ids=lambda files: files[-1],
)
def test_titles_and_folders_without_splits_are_text(files):
    assert training(files, ENDS) == files


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        (["one/test-00000-of-00001.parquet", "one/train-00000-of-00001.parquet",
          "two/test-00000-of-00001.parquet", "two/train-00000-of-00001.parquet"], "one, two"),
        (["de/train-00000-of-00002.parquet", "en/train-00000-of-00002.parquet"], "de, en"),
        (["de/test/0.txt", "de/train/0.txt", "en/test/0.txt", "en/train/1.txt"], "de, en"),
        (["sub/train.jsonl", "sub/valid.jsonl", "train.jsonl", "valid.jsonl"], "., sub"),
        (["dev/a.dev", "train_100M/a.train", "train_10M/a.train"], "train_100M, train_10M"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_several_configurations_are_not_mixed(files, folders):
    with pytest.raises(BadInput) as caught:
        training(files, ENDS)
    assert f"({folders}): give one of these folders" in str(caught.value)
