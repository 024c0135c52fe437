"""Modules and packages import in one direction."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "bertlab"

KNOWN = {
    ("bertlab.recipe.objective", "bertlab.recipe.recipe"),
}
"""Pairs of which the first may still import the second or the other way round, for types: the cycles that remain."""


def modules() -> dict[str, Path]:
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, known: dict[str, Path]) -> set[str]:
    """The modules of bertlab that one imports, anywhere in its file and for its types too."""
    found = set()
    for node in ast.walk(ast.parse(known[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{each.name}" for each in node.names} & known.keys()
            found |= inside or {node.module}
    return {each for each in found & known.keys() if each != name and tuple(sorted((name, each))) not in KNOWN}


def package(name: str) -> str:
    """The package of a module; a module of the root stands for itself."""
    parts = name.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 and (ROOT / parts[1]).is_dir() else name


@pytest.mark.parametrize("place", [str, package])
def test_no_imports_form_a_cycle(place):
    known = modules()
    assert len(known) > 100
    graph: dict[str, set[str]] = {}
    for name in known:
        graph.setdefault(place(name), set()).update(map(place, imported(name, known)))
    for name, others in graph.items():
        others.discard(name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))
