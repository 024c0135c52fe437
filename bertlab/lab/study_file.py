"""A user's study file: what it and the modules beside it say, and whether they define what is trained.

A file of data imports public classes of `bertlab` and assigns values to names. All else (a
function, a class, an attribute that is set, another import) may change what runs compute: then the SHA-256 of the
source is part of their ids, and every process that carries one out runs the file first. Of a file of data that imports
code from a module beside it, the source of that module is.
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
"""Modules of which a file of data takes its values, beside some of the standard library."""
PLAIN = ("collections", "dataclasses", "decimal", "fractions", "itertools", "math", "pathlib", "typing")
FUNCTIONS = frozenset(
    {
        "abs",
        "all",
        "any",
        "bool",
        "dict",
        "enumerate",
        "float",
        "frozenset",
        "int",
        "len",
        "list",
        "max",
        "min",
        "print",
    }
    | {"range", "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"}
)
"""What of Python itself a file of data may call."""
NAMES = frozenset({"__file__", "__name__", "__doc__", "__all__"})
FORBIDDEN = frozenset(dir(builtins)) - FUNCTIONS - NAMES

_run: set[str] = set()
"""The code that this process has run, by its hash."""


@dataclass(frozen=True)
class Code:
    """A study file that defines what is trained."""

    path: Path = field(compare=False)
    """Absolute: worker processes read it too."""
    sha256: str

    def require(self) -> None:
        """Runs the file if this process has not yet. Raises `BadInput` if it is not what the command has read."""
        if self.sha256 in _run:
            return
        found = StudyFile.read(str(self.path))
        if found.code != self:
            raise BadInput(
                f"study file '{self.path}' is another than when the command began, or on another machine: "
                "give the same command again"
            )
        found.run()


@dataclass(frozen=True)
class StudyFile:
    """A study file of the user's."""

    given: str
    """Its path, as the user wrote it."""
    sources: Mapping[str, str]
    """The texts of the file and of the modules that it imports from its folder, by their path in that."""
    code: Code | None
    """What is defined there beside data, if anything is."""

    @classmethod
    def read(cls, given: str) -> StudyFile:
        """The file at a path. Raises `BadInput` if it cannot be read."""
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
        }:  # what calls code is code
            coded |= more
        digest = hashlib.sha256(repr(sorted((name, texts[name]) for name in coded)).encode(errors="surrogatepass"))
        code = Code(path.resolve(), digest.hexdigest()) if coded else None
        return cls(given, dict(sorted(texts.items())), code)

    def run(self) -> ModuleType:
        """Runs the file, which finds modules beside it, and returns it as a module. Raises whatever it raises."""
        path = self.code.path if self.code is not None else Path(self.given)
        folder = str(path.resolve().parent)
        for name in self.sources:  # another study of this process may have had modules of the same names
            stem = name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
            known = getattr(sys.modules.get(stem), "__file__", None)
            if known and name != path.name and not str(known).startswith(folder):
                del sys.modules[stem]
        if folder not in sys.path:
            sys.path.append(folder)  # the last: it hides nothing that is installed
        module = executed(path)
        if self.code is not None:
            _run.add(self.code.sha256)
        return module


def executed(path: Path) -> ModuleType:
    """A Python file as a module. Raises whatever it raises, and `BadInput` for another kind of file."""
    spec = importlib.util.spec_from_file_location(f"bertlab_study_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"study file '{path}' is not a Python file: name it <study>.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look names up
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # nothing is left beside a file that is read
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
    except (SyntaxError, ValueError):  # running it says what is wrong
        return content.decode("latin-1")


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # running it says what is wrong
        return ast.Module([], [])


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The modules that a file imports, each with a name that it gives to them or to what it takes from them."""
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
    """Of the modules that a file imports those that lie in its folder, as paths within it."""
    found = {}
    for module, _ in _imports(tree):
        stem = module.replace(".", "/")
        for name in (f"{stem}.py", f"{stem}/__init__.py"):
            if not module.startswith((".", "bertlab.")) and (folder / name).is_file():
                found[module] = name
    return found


def _defines(tree: ast.Module, folder: Path, coded: frozenset[str]) -> bool:
    """Whether a file does more than name data; `coded` are files in its folder that do."""
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
    """Whether a part of a file is more than data; `callable_` may be called, and `touched` not be looked at."""
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
    """The name at the left of attributes and subscripts."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
