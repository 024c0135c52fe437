"""How the code reads: names say what a thing is, and a type has one definition."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent / "bertlab"


def test_types_of_arrays_are_defined_once():
    definition = re.compile(r"^\w+ = npt\.NDArray\[", re.M)
    defining = [path.name for path in ROOT.rglob("*.py") if definition.search(path.read_text(encoding="utf-8"))]
    assert defining == ["arrays.py"]
