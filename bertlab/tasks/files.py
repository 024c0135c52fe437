"""Finds local task files: `<split>.jsonl`, `.csv` or `.tsv`, each optionally gzipped, or `.parquet`."""

from pathlib import Path

from bertlab.errors import BadInput
from bertlab.store.files import kind

SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
"""The suffixes of task files, in order of precedence."""


def existing(folder: Path, split: str) -> Path | None:
    """The file of a split in a folder, if there is one."""
    paths = (folder / f"{split}{suffix}" for suffix in SUFFIXES)
    return next((path for path in paths if kind(path, "task file") == "file"), None)


def find(folder: Path, split: str) -> Path:
    """The file of a split in a folder; if it is missing, `BadInput` lists the files of the folder."""
    path = existing(folder, split)
    if path is None:
        there = ", ".join(sorted(each.name for each in folder.glob("*")))
        raise BadInput(f"{folder} has no {split}.jsonl (or .parquet, .csv, .tsv): it has {there or 'nothing'}")
    return path
