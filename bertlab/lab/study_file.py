"""A user's study file and the modules beside it, and whether they contain code or only data.

A data file imports public classes of `bertlab` and assigns values to names. Everything else (a function, a class, an
assignment to an attribute, another import) is code and may change what runs compute: the SHA-256 of its source is then
part of their ids, and every process that computes one runs the file first. For a data file that imports code from a
module beside it, the id contains the source of that module.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from bertlab.errors import BadInput
from bertlab.public import MODULES

DATA = (
    "__future__",
    "bertlab.adaptation",
    "bertlab.objectives",
    "bertlab.recipe",
    "bertlab.lab.study",
    "bertlab.lab.studies",
)
"""Modules that a data file may import, besides some of the standard library."""
PLAIN = ("collections", "dataclasses", "decimal", "fractions", "itertools", "math", "pathlib", "typing")
_FUNCTIONS: list[Any] = [
    abs,
    all,
    any,
    bool,
    dict,
    enumerate,
    float,
    frozenset,
    int,
    len,
    list,
    max,
    min,
    print,
    range,
    reversed,
]
_FUNCTIONS += [round, set, sorted, str, sum, tuple, zip]
FUNCTIONS = frozenset(function.__name__ for function in _FUNCTIONS)
"""The built-in functions that a data file may call."""
NAMES = frozenset({"__file__", "__name__", "__doc__", "__all__"})
FORBIDDEN = frozenset(dir(builtins)) - FUNCTIONS - NAMES

_run: set[str] = set()
"""Hashes of the code that this process has run."""


@dataclass(frozen=True)
class Code:
    """A study file that contains code."""

    path: Path = field(compare=False)
    """Absolute, because worker processes read it too."""
    sha256: str

    def require(self) -> None:
        """Runs the file once per process. Raises `BadInput` if it differs from what the command has read."""
        if self.sha256 in _run:
            return
        found = StudyFile.read(str(self.path))
        if found.code != self:
            raise BadInput(
                f"study file '{self.path}' has changed since the command began, or differs on another machine: give "
                "the same command again"
            )
        found.run()


@dataclass(frozen=True)
class StudyFile:
    """A user's study file."""

    given: str
    """Its path on the command line."""
    sources: Mapping[str, str]
    """The source of the file and of the modules that it imports from its folder, by their path there."""
    code: Code | None
    """The file and the hash of its code, if there is code."""

    @classmethod
    def read(cls, given: str) -> StudyFile:
        """Reads the file at a path. Raises `BadInput` if that fails."""
        path = Path(given)
        texts: dict[str, str] = {}
        trees: dict[str, ast.Module] = {}
        waiting = [path.name]
        while waiting:
            name = waiting.pop()
            if name not in texts:
                texts[name] = _text(path.parent / name)
                trees[name] = _parsed(texts[name])
                waiting += _beside(trees[name], path.parent).values()
        coded = {name for name in texts if _defines(trees[name], path.parent, frozenset())}
        while more := {
            name for name in texts.keys() - coded if _defines(trees[name], path.parent, frozenset(coded))
        }:  # a module that uses code is code
            coded |= more
        digest = hashlib.sha256(repr(sorted((name, texts[name]) for name in coded)).encode(errors="surrogatepass"))
        code = Code(path.resolve(), digest.hexdigest()) if coded else None
        return cls(given, dict(sorted(texts.items())), code)

    def run(self) -> ModuleType:
        """Runs the file, which can import modules beside it. Raises whatever it raises."""
        path = self.code.path if self.code is not None else Path(self.given)
        folder = str(path.resolve().parent)
        for name in self.sources:  # another study may have imported modules of the same names
            stem = name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
            known = getattr(sys.modules.get(stem), "__file__", None)
            if known and name != path.name and not str(known).startswith(folder):
                del sys.modules[stem]
        if folder not in sys.path:
            sys.path.append(folder)  # last, so that it hides no installed module
        module = executed(path)
        if self.code is not None:
            _run.add(self.code.sha256)
        return module


def executed(path: Path) -> ModuleType:
    """Runs a Python file as a module. Raises whatever it raises, and `BadInput` for another kind of file."""
    spec = importlib.util.spec_from_file_location(f"bertlab_study_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"study file '{path}' is not a Python file: name it <study>.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look names up here
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # leaves no files beside the user's
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writing
    return module


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"'{path}' cannot be read: {error.strerror}") from error
    try:
        return importlib.util.decode_source(content)
    except (SyntaxError, ValueError):  # running it reports the error
        return content.decode("latin-1")


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # running it reports the error
        return ast.Module([], [])


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The modules that a file imports, each with the name that the import binds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield each.name, each.asname or each.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                home = MODULES.get(each.name) if node.module == "bertlab" else None
                yield home or "." * node.level + (node.module or ""), each.asname or each.name
                if home is None and node.module in ("bertlab", None):
                    yield f"{node.module}.{each.name}", each.asname or each.name


def _beside(tree: ast.Module, folder: Path) -> dict[str, str]:
    """The imported modules in the folder of a file, with their paths there."""
    found = {}
    for module, _ in _imports(tree):
        stem = module.replace(".", "/")
        for name in (f"{stem}.py", f"{stem}/__init__.py"):
            if not module.startswith((".", "bertlab.")) and (folder / name).is_file():
                found[module] = name
    return found


def _defines(tree: ast.Module, folder: Path, coded: frozenset[str]) -> bool:
    """Whether a file contains code; `coded` are files in its folder that do."""
    beside = _beside(tree, folder)
    callable_, touched = {*FUNCTIONS}, set[str]()
    for module, name in _imports(tree):
        if module in beside:
            (touched if beside[module] in coded else callable_).add(name)
        elif module in DATA or module.partition(".")[0] in PLAIN:
            callable_.add(name)
        elif module != "bertlab" or name == "bertlab":
            return True
    return any(_acts(node, callable_, touched) for node in ast.walk(tree))


def _acts(node: ast.AST, callable_: set[str], touched: set[str]) -> bool:
    """Whether a node is code. Data may call names in `callable_`, and must not use names in `touched`."""
    if isinstance(node, ast.Name):
        return node.id in FORBIDDEN or node.id in touched or (node.id.startswith("__") and node.id not in NAMES)
    if isinstance(node, ast.Attribute):
        return not isinstance(node.ctx, ast.Load) or node.attr.startswith("__")
    if isinstance(node, ast.Subscript):
        return not isinstance(node.ctx, ast.Load) and _root(node) in callable_
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in callable_
        return not (named or isinstance(node.func, ast.Attribute))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Delete, ast.With, ast.Global)
    return isinstance(node, kinds)


def _root(node: ast.AST) -> str:
    """The name before attributes and subscripts."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
