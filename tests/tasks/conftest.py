"""A tokenizer whose pieces are known, and task files written by hand."""

import csv
import gzip
import json

import pytest

from bertlab.text.tokenizers.wordpiece import TrainedWordPiece

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh", *(f"##{letter}" for letter in "abcdefgh")]


@pytest.fixture(scope="session")
def tokenizer():
    """Every letter of a word is one piece: `abc` is a ##b ##c."""
    return TrainedWordPiece(PIECES)


@pytest.fixture
def write():
    """Writes rows to a file of the kind that its name says."""

    def written(path, rows):
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        if plain.suffix == ".parquet":
            import pyarrow
            import pyarrow.parquet

            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), plain)
        elif plain.suffix == ".jsonl":
            plain.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        else:
            with plain.open("w", encoding="utf-8", newline="") as stream:
                table = csv.DictWriter(stream, rows[0], dialect="excel" if plain.suffix == ".csv" else "excel-tab")
                table.writeheader()
                table.writerows(rows)
        if plain != path:
            path.write_bytes(gzip.compress(plain.read_bytes()))
            plain.unlink()
        return path

    return written
