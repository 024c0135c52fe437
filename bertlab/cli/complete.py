"""Completes words on the command line. Reads names from files, runs no code of a study and imports nothing heavy."""

import ast
import io
import itertools
import os
import re
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import typer

from bertlab.lab import builtin_studies
from bertlab.names import ALL

Completer = Callable[[typer.Context, str], list[str]]
PACKAGE = Path(__file__).resolve().parents[1]
MOST_BYTES = 1_000_000
"""The size of the largest study file whose names are completed."""


def asked() -> bool:
    """Whether a shell asks for completions, and not a user for a command."""
    return "_BERTLAB_COMPLETE" in os.environ


class Word(str):
    """A word with the characters escaped that bash would take apart.

    Typer keeps the words that start with what stands on the command line, which has no escapes.
    """

    def __new__(cls, text: str) -> "Word":
        """The escaped word, in bash; other shells quote by themselves."""
        bash = any(name.endswith("_COMPLETE") and value == "complete_bash" for name, value in os.environ.items())
        word = super().__new__(cls, re.sub(r"([^\w./:=,@%+-])", r"\\\1", text) if bash else text)
        word.text = text
        return word

    text: str

    def startswith(self, begun: Any, *bounds: Any) -> bool:
        """Whether the word without escapes starts with this text."""
        return self.text.startswith(begun, *bounds)


def _completer(find: Callable[[typer.Context], Iterable[str]]) -> Completer:
    """Completes from what `find` lists; from nothing if that fails, because a shell cannot show errors."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            names = [name for name in dict.fromkeys(find(ctx)) if name.startswith(incomplete)]
            return [Word(name) for name in names if name.isprintable()]  # a terminal would obey escape sequences
        except Exception:
            return []

    return complete


def _adaptations(ctx: typer.Context) -> Iterable[str]:
    """The kinds of adaptation."""
    from bertlab.adaptation import Adaptation
    from bertlab.recipe.ranges import arms

    return sorted(arms(Adaptation))


def _tables(path: str) -> dict[str, Any]:
    return tomllib.loads((PACKAGE / path).read_text(encoding="utf-8"))


def _files(ctx: typer.Context) -> Iterator[ast.Module]:
    """The files of the chosen studies, or of all of bertlab's own."""
    studies = ctx.params.get("study") or ctx.args or [ALL]  # after an option without its value, words stay in `args`
    for study in builtin_studies.names() if ALL in studies else studies:
        yield _parsed(Path(study) if study.endswith(".py") else builtin_studies.path(study))


def _parsed(path: Path) -> ast.Module:
    """A Python file. Raises an error for what is no file, and for one too large to be read while a user waits."""
    from bertlab.store.files import content

    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path} is large")
    with warnings.catch_warnings(action="ignore"):  # those about its code would be on the command line
        return ast.parse(content(path, "study file"))


def _variants(ctx: typer.Context) -> Iterator[str]:
    """The names of the variants of studies."""
    for file in _files(ctx):
        yield from _names("Variant", file.body, _assigned(file))


def _measurements(ctx: typer.Context) -> Iterator[str]:
    """The names of the measurements of studies, and of those that they import from `lab/papers.py`."""
    papers = _assigned(_parsed(PACKAGE / "lab/papers.py"))
    for file in _files(ctx):
        imported = {alias.name for node in file.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        shared = [value for name, value in papers.items() if name in imported]
        yield from _names("Measurement", [*file.body, *shared], _assigned(file))


def _assigned(file: ast.Module) -> dict[str, ast.expr]:
    """What a file assigns to its names."""
    assigned = [node for node in file.body if isinstance(node, ast.Assign)]
    return {target.id: node.value for node in assigned for target in node.targets if isinstance(target, ast.Name)}


def _names(called: str, nodes: Iterable[ast.AST], assigned: Mapping[str, ast.expr]) -> Iterator[str]:
    """The texts that are first in calls such as `Variant("...")`, or names that a file has `assigned` to such texts."""
    for node in itertools.chain.from_iterable(map(ast.walk, nodes)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == called and node.args:
            first = assigned.get(getattr(node.args[0], "id", ""), node.args[0])
            if isinstance(name := getattr(first, "value", None), str):
                yield name


def _runs(*kinds: str) -> Callable[[typer.Context], Iterator[str]]:
    """The addresses of finished runs of some kinds (`*`: of all), then their labels, and then their ids."""

    def find(ctx: typer.Context) -> Iterator[str]:
        from bertlab.store.lookup import addresses_of
        from bertlab.store.runs import Store

        store = Store(Path(ctx.params.get("runs") or os.environ.get("BERTLAB_RUNS") or "runs"), lenient=True)
        with redirect_stderr(io.StringIO()):  # warnings about damaged runs and records would be on the command line
            runs = [run for run in store.listing.sealed() if run.kind in kinds or "*" in kinds]
            by_run = addresses_of(store)
        yield from sorted(address for run in runs for address in by_run.get(run.id, ()))
        yield from sorted(run.label for run in runs)
        yield from (run.id for run in runs)

    return find


def _studies(ctx: typer.Context) -> list[str]:
    return [*builtin_studies.names(), ALL]


def _exported(ctx: typer.Context) -> Iterable[str]:
    """What `export` takes: with `--results` a study, else a run with a model."""
    return _studies(ctx) if ctx.params.get("results") else _runs("pretrain", "import", "finetune")(ctx)


MODEL = "RUN|DIR|HUB_NAME[@REVISION]"
_FINDERS: dict[str, Callable[[typer.Context], Iterable[str]]] = {
    "STUDY": _studies,
    "TASK": lambda ctx: [name for table in _tables("tasks/catalog.toml").values() for name in table],
    "TASK=DATASET": lambda ctx: [f"{name}=" for name in _tables("tasks/catalog.toml")["published"]],
    "KIND": _adaptations,
    "VARIANT": _variants,
    "MEASUREMENT": _measurements,
    "RUN": _runs("*"),
    MODEL: _runs("pretrain", "import"),
}
"""What finds the names that each metavar stands for."""
EXPORTED = _completer(_exported)


def values(metavar: str) -> Completer | None:
    """Completes what a metavar stands for: one of its choices, as `auto|yes|no`, or a name; None for any other text."""
    if "|" in metavar and metavar.islower():
        return _completer(lambda ctx: metavar.split("|"))
    return _completer(_FINDERS[metavar]) if metavar in _FINDERS else None
