"""Completes words on the command line. Reads names from files, runs no code of a study and imports nothing heavy."""

import ast
import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from bertlab.lab import shipped
from bertlab.names import ALL
from bertlab.store import addresses

Completer = Callable[[typer.Context, str], list[str]]
PACKAGE = Path(__file__).resolve().parents[1]


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

    def startswith(self, begun: Any, *place: Any) -> bool:
        """Whether the word without escapes starts with this text."""
        return self.text.startswith(begun, *place)


def _completer(find: Callable[[typer.Context], Iterable[str]]) -> Completer:
    """Completes from what `find` lists; from nothing if that fails, because a shell cannot show errors."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            return [Word(name) for name in dict.fromkeys(find(ctx)) if name.startswith(incomplete)]
        except Exception:
            return []

    return complete


def choices(*names: str) -> Completer:
    """Completes one of these."""
    return _completer(lambda ctx: names)


def _tables(path: str) -> dict[str, Any]:
    return tomllib.loads((PACKAGE / path).read_text(encoding="utf-8"))


def _variants(ctx: typer.Context) -> Iterator[str]:
    """The names in `Variant("...")` of the files of the chosen studies, or of all of bertlab's own."""
    given = ctx.params.get("study") or ctx.args or [ALL]  # after an option without its value, words stay in `args`
    for study in shipped.names() if ALL in given else given:
        path = Path(study) if study.endswith(".py") else shipped.path(study)
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Variant" and node.args:
                name = getattr(node.args[0], "value", None)
                if isinstance(name, str):
                    yield name


def _runs(*kinds: str) -> Callable[[typer.Context], Iterator[str]]:
    """The addresses of finished runs of some kinds, then their labels, and then their ids."""

    def find(ctx: typer.Context) -> Iterator[str]:
        root = Path(ctx.params.get("runs") or os.environ.get("BERTLAB_RUNS") or "runs")
        paths = [path for kind in kinds for path in sorted((root / kind).glob("[0-9a-f]*--*"))]
        labels = {path.name.partition("--")[0]: path.name.partition("--")[2] for path in paths}
        with suppress(OSError, ValueError, LookupError, TypeError):  # a record that cannot be read
            records = [json.loads(path.read_bytes()) for path in sorted(root.glob("studies/*.json"))]
            known = addresses.of_runs(records)
            yield from sorted(address for run_id in labels for address in known.get(run_id, ()))
        yield from sorted(labels.values())
        yield from labels

    return find


STUDIES = _completer(lambda ctx: [*shipped.names(), ALL])
SCALES = _completer(lambda ctx: _tables("lab/scales.toml"))
TASKS = _completer(lambda ctx: [name for table in _tables("tasks/catalog.toml").values() for name in table])
TASK_PAIRS = _completer(lambda ctx: [f"{name}=" for name in _tables("tasks/catalog.toml")["published"]])
VARIANTS = _completer(_variants)
PRETRAINED = _completer(_runs("pretrain", "import"))
EXPORTED = _completer(
    lambda ctx: [*shipped.names(), ALL] if ctx.params.get("results") else _runs("pretrain", "import")(ctx)
)
RUNS = _completer(_runs("corpus", "pretrain", "import", "finetune", "features"))
