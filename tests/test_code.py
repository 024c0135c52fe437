"""How the code reads: names say what a thing is, and a type has one definition."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent / "bertlab"
SOURCES = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}
PLACEHOLDERS = {"each", "found", "known", "own", "given", "kept", "made", "place"}
"""Names of variables that say nothing: a loop variable is named after what it holds, a result after what it is."""
MOST = 4
"""Uses of them at most: fields that ids and printed checks have, above all."""


def test_names_of_variables_are_no_placeholders():
    uses = Counter(
        f"{path}: {node.id}"
        for path, source in SOURCES.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Name) and node.id in PLACEHOLDERS
    )
    assert sum(uses.values()) <= MOST, uses.most_common()


def test_types_of_arrays_are_defined_once():
    definition = re.compile(r"^\w+ = npt\.NDArray\[", re.M)
    assert [path for path, source in SOURCES.items() if definition.search(source)] == ["arrays.py"]
