"""Exported tables."""

from decimal import Decimal
from pathlib import Path

import pandas
from pyarrow import parquet

from bertlab.report.export import write_parquet


def test_published_decimals_and_absent_values_keep_their_values(tmp_path: Path) -> None:
    lines = {"difference": [Decimal("-0.3"), None], "seeds": [4, None], "nothing": [None, None]}
    write_parquet(tmp_path / "table.parquet", pandas.DataFrame(lines, dtype=object))
    found = parquet.read_table(tmp_path / "table.parquet")
    assert found.to_pydict() == {"difference": [-0.3, None], "seeds": [4, None], "nothing": [None, None]}
    assert [str(each) for each in found.schema.types] == ["double", "int64", "double"]
