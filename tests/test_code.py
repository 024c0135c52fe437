"""How the code reads: names say what a thing is and exist, a type has one definition, and nothing unpickles data."""

import ast
import itertools
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "bertlab"
DOCS = ROOT.parent / "docs"
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


def test_classes_and_functions_are_short():
    """With their docstrings: a class has at most 200 lines, a function 50."""
    limits = {ast.ClassDef: 200, ast.FunctionDef: 50, ast.AsyncFunctionDef: 50}
    long = {
        f"{path}: {node.name}": lines
        for path, source in SOURCES.items()
        for node in ast.walk(ast.parse(source))
        if (lines := getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1) > limits.get(type(node), lines)
    }
    assert not long


def test_types_of_arrays_are_defined_once():
    definition = re.compile(r"^\w+ = npt\.NDArray\[", re.M)
    assert [path for path, source in SOURCES.items() if definition.search(source)] == ["arrays.py"]


def test_what_is_named_in_backticks_exists():
    """`Class.member` and `package.module.name`, in the code and in the documentation."""
    trees = {path: ast.parse(source) for path, source in SOURCES.items()}
    classes = defaultdict(list)
    for node in itertools.chain.from_iterable(map(ast.walk, trees.values())):
        if isinstance(node, ast.ClassDef):
            classes[node.name].append(node)

    def lacks(owner, name):
        if owner in classes:
            bases = [ast.unparse(base).partition("[")[0] for node in classes[owner] for base in node.bases]
            return name not in _defined(*classes[owner]) and all(
                base in classes and lacks(base, name) for base in bases
            )
        tree = trees.get(owner.removeprefix("bertlab.").replace(".", "/") + ".py")
        return tree is not None and name not in _defined(tree)

    pages = {path.name: path.read_text(encoding="utf-8") for path in (*DOCS.rglob("*.md"), *ROOT.parent.glob("*.md"))}
    missing = [
        f"{path}: {owner}.{name}"
        for path, text in (SOURCES | pages).items()
        for owner, name in re.findall(r"`([\w.]+)\.(\w+)(?:\(\))?`", text)
        if lacks(owner, name)
    ]
    assert missing == []
    assert lacks("Study", "prepare")
    assert lacks("report.looks", "Look")


def _defined(*trees):
    """All names that these define, import or assign to."""
    nodes = [*itertools.chain.from_iterable(map(ast.walk, trees))]
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.alias)}
    stored = [node for node in nodes if isinstance(getattr(node, "ctx", None), ast.Store)]
    return names | {getattr(node, "id", None) or getattr(node, "attr", None) for node in stored}


REPOSITORY = Path(__file__).parent.parent
FORBIDDEN = (
    r"\b(cloudpickle|dill|marshal|pickle|shelve)\b",
    r"(?<![.\w])(eval|exec)\(",
    r"\bos\.(popen|system)\(",
    r"shell\s*=\s*True",
    r"trust_remote_code",
    r"load_from_checkpoint",
    r"\btorch\.load\(",
    r"allow_pickle\s*=\s*True",
    r"\byaml\.(unsafe_)?load\(",
)


@pytest.mark.parametrize("pattern", FORBIDDEN)
def test_nothing_runs_or_unpickles_what_it_was_given(pattern):
    files = [path for folder in ("bertlab", "ablations") for path in (REPOSITORY / folder).rglob("*.py")]
    assert len(files) > 100
    lines = [
        f"{path.relative_to(REPOSITORY)}:{number}: {line.strip()}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert lines == []


def test_lightning_is_one_whose_checkpoints_run_no_code():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = next(each for each in project["dependencies"] if each.startswith("lightning"))
    lowest = re.search(r">=([\d.]+)", wanted)
    assert tuple(map(int, lowest[1].split("."))) >= (2, 6, 6)
