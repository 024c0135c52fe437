"""A user's study file and the modules beside it, and whether they contain code or only data.

A data file imports from `bertlab` and assigns values to names. A function, a class, an assignment to an attribute or
another import is code, which may change what runs compute. If the file or a module beside it contains code, the SHA-256
of their sources is part of the ids of all runs, and every process that computes one runs the file first.
"""

import ast
import dataclasses
import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from bertlab.errors import BadInput
from bertlab.recipe.identity import default_of
from bertlab.tasks.kinds import KINDS

DATA = (
    "__future__",
    "bertlab",
    "bertlab.adaptation",
    "bertlab.lab.papers",
    "bertlab.lab.study",
    "bertlab.objectives",
    "bertlab.recipe",
    "bertlab.text.tokenizers",
)
"""Modules that a data file may import, besides `PLAIN`."""
PLAIN = ("collections", "dataclasses", "decimal", "fractions", "itertools", "math", "pathlib", "typing")
"""Packages of the standard library that a data file may import."""
CODE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Delete)
CHANGING = ("setattr", "delattr", "getattr", "vars", "globals", "type", "exec", "eval", "compile")
"""Built-in functions that can make or change a class, or run text."""
NAMES = ("__file__", "__name__", "__doc__", "__all__")
"""Names with two underscores that a data file may use."""

_run: set[str] = set()
"""Hashes of the code that this process has run."""
_files: set[Path] = set()
"""The study files that this process has run, and the modules beside them."""


@dataclass(frozen=True)
class Code:
    """A study file that contains code."""

    path: Path = field(compare=False)
    """The path is absolute, because worker processes read it too."""
    sha256: str

    def require(self) -> None:
        """Runs the file once per process. Raises `BadInput` if it differs from what the command has read."""
        if self.sha256 in _run:
            return
        file = StudyFile.read(str(self.path))
        if file.code != self:
            raise BadInput(
                f"study file '{self.path}' has changed since the command began, or differs on another machine: give "
                "the same command again"
            )
        file.run()


@dataclass(frozen=True)
class StudyFile:
    """A user's study file."""

    argument: str
    """The path of the file on the command line."""
    sources: Mapping[str, str]
    """The source of the file and of the modules that it imports from its folder, by their path there."""
    code: Code | None
    """The file and the hash of its code, if there is code."""

    @classmethod
    def read(cls, argument: str) -> Self:
        """Reads the file at a path. Raises `BadInput` if that fails, and `SyntaxError` for a file that is no Python."""
        path = Path(argument)
        sources: dict[str, str] = {}
        is_code = False
        waiting = [path.name]
        while waiting:
            name = waiting.pop()
            if name not in sources:
                try:
                    sources[name] = importlib.util.decode_source((path.parent / name).read_bytes())
                except OSError as error:
                    raise BadInput(f"'{path.parent / name}' cannot be read: {error.strerror}") from error
                beside, acts = _examined(ast.parse(sources[name], name), path.parent)
                waiting += beside
                is_code |= acts
        sources = dict(sorted(sources.items()))
        digest = hashlib.sha256(repr(list(sources.items())).encode(errors="surrogatepass")).hexdigest()
        return cls(argument, sources, Code(path.resolve(), digest) if is_code else None)

    def run(self) -> ModuleType:
        """Runs the file, which can import modules beside it. Raises whatever it raises."""
        path = Path(self.argument)
        folder = str(path.resolve().parent)
        for name in self.sources:  # another study may have imported modules of the same names
            stem = name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
            loaded = getattr(sys.modules.get(stem), "__file__", None)
            if loaded and name != path.name and not str(loaded).startswith(folder):
                del sys.modules[stem]
        if folder not in sys.path:
            sys.path.append(folder)  # last, so that it hides no installed module
        _files.update((path.parent / name).resolve() for name in self.sources)
        module = executed(path)
        if self.code is not None:
            _run.add(self.code.sha256)
        return module


def place_of(error: BaseException) -> str:
    """Where a study file raised or passed on an error, such as `mine.py, line 7`; empty if no study file did."""
    frames = [(Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return next((f"{path.name}, line {line}" for path, line in reversed(frames) if path.resolve() in _files), "")


def written(study: Any) -> str:
    """The source of a study file that defines `study`. Raises `BadInput` for values of classes that a file defines."""
    for measurement in study.measurements:
        if (kind := KINDS.get(getattr(measurement.task, "kind", ""))) is not None and kind.user_defined:
            raise _defined(type(kind))
    names: set[str] = set()
    expression = _expression(study, names)
    return f"from bertlab import {', '.join(sorted(names))}\n\nstudy = {expression}\n"


def _expression(value: Any, names: set[str]) -> str:
    """A Python expression that gives `value`, fields at their defaults left out; adds the classes that it uses."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        if not kind.__module__.startswith("bertlab."):
            raise _defined(kind)
        names.add(kind.__name__)
        shown = (field for field in fields(value) if field.repr)
        attributes = ((field.name, getattr(value, field.name), default_of(field)) for field in shown)
        arguments = [f"{name}={_expression(item, names)}" for name, item, usual in attributes if item != usual]
        return f"{kind.__name__}({', '.join(arguments)})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_expression(item, names)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple):
        items = "".join(f"{_expression(item, names)}, " for item in value)
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    return repr(value)


def _defined(kind: type) -> BadInput:
    return BadInput(
        f"{kind.__name__} is defined in {kind.__module__}, and results keep the code that they come from: define it "
        "and the study in a file, and give its path"
    )


def executed(path: Path) -> ModuleType:
    """Runs a Python file as a module. Raises whatever it raises, and `BadInput` for another kind of file."""
    spec = importlib.util.spec_from_file_location(f"bertlab_study_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"study file '{path}' is not a Python file: name it <study>.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look names up here
    writing, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # leaves no files beside the user's
    streams = sys.stdout, sys.stderr
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writing
        sys.stdout, sys.stderr = streams  # a file that replaces them takes no line of the command
    return module


def _examined(tree: ast.Module, folder: Path) -> tuple[list[str], bool]:
    """The paths of the modules that a file imports from its folder, and whether it contains code."""
    beside: list[str] = []
    is_code = False
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = ["." * node.level + (node.module or "")]
        elif isinstance(node, ast.Name):
            is_code |= node.id in CHANGING or (node.id.startswith("__") and node.id not in NAMES)
        elif isinstance(node, ast.Attribute):
            is_code |= not isinstance(node.ctx, ast.Load) or node.attr.startswith("__")
        else:
            is_code |= isinstance(node, CODE)
        for module in modules:
            stem = module.replace(".", "/")
            places = () if module.startswith((".", "bertlab")) else (f"{stem}/__init__.py", f"{stem}.py")
            source = next((name for name in places if (folder / name).is_file()), "")
            is_code |= not (source or module in DATA or module.partition(".")[0] in PLAIN)
            beside += [source] if source else []
    return beside, is_code
