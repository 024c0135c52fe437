"""`--config FILE.toml` and `--print-config`: the options of a command as a file, by their long names."""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from bertlab.cli.help import OPTIONS
from bertlab.errors import BadInput, unknown, warn

Parameters = Sequence[inspect.Parameter]
COMMANDS: dict[str, dict[str, inspect.Parameter]] = {}
"""The options of each command, by their keys in a file."""
ADVICE = {
    bool: "write true or false",
    int: "write a whole number",
    float: "write a number",
    list: 'write a list of texts, such as ["a", "b"]',
    str: "write a text in quotes",
    Path: "write a text in quotes",
}


def long_name(parameter: str) -> str:
    """The name of an option on the command line and in files: `from` of the parameter `from_`."""
    return parameter.strip("_").replace("_", "-")


def added(command: str, parameters: Parameters) -> list[inspect.Parameter]:
    """The options `--config` and `--print-config` of a command with these parameters, and its context."""
    COMMANDS[command] = {long_name(parameter.name): parameter for parameter in parameters}

    def load(context: typer.Context, path: Path | None) -> Path | None:
        if path is not None:
            context.default_map = read(path, command)
        return path

    keyword = inspect.Parameter.KEYWORD_ONLY
    file = typer.Option(
        None,
        "--config",
        metavar="FILE.toml",
        help="Options by their long names; those of the command line win, and --set adds to the file's.",
        callback=load,
        is_eager=True,
    )
    shown = typer.Option(False, "--print-config", help="Print the options as a file for --config, and exit.")
    return [
        inspect.Parameter("config", keyword, default=file, annotation=Path | None),
        inspect.Parameter("print_config", keyword, default=shown, annotation=bool),
        inspect.Parameter("context", keyword, annotation=typer.Context),
    ]


def read(path: Path, command: str) -> dict[str, Any]:
    """The values in a file by the names of a command's parameters.

    Commands on studies read the files of one another, and each takes the options that it has. For a study file that is
    not at hand, takes the copy that results keep. Raises `BadInput` for unknown keys and wrong types.
    """
    from bertlab.store import config

    try:
        written = tomllib.loads(config.read(path).decode())
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"--config '{path}' is not TOML ({why}): write lines such as scale = \"tiny\"") from None
    parameters, values = COMMANDS[command], {}
    for key, value in written.items():
        if key in parameters:
            checked = _checked(parameters[key].annotation, value, f"--config '{path}': {key}")
            if key == "study" and isinstance(checked, list):
                checked = [_study(path, study) for study in checked]
            values[parameters[key].name] = checked
            continue
        others = [name for name, keys in COMMANDS.items() if key in keys]
        if "study" in parameters and any("study" in COMMANDS[name] for name in others):
            continue
        if others:
            theirs = ", ".join(f"`bertlab {name}`" for name in others)
            raise BadInput(f"--config '{path}': {key} is an option of {theirs}, not of this command: leave it out")
        raise unknown(f"option in --config '{path}':", key, parameters)
    return values


def _study(config: Path, study: str) -> str:
    """A study of a file of options: for a study file that is not at hand, the copy that results keep of it."""
    from bertlab.store.config import saved_copy

    copy = saved_copy(config, study) if study.endswith(".py") else None
    if copy is not None and not os.path.exists(study):
        return str(copy)
    if copy is not None and os.path.isfile(study) and Path(study).read_bytes() != copy.read_bytes():
        warn(f"'{study}' is not as it was for --config '{config}': '{copy}' is the file of those results")
    return study


def _kind(annotation: Any) -> type:
    """The type of an option: a key of `ADVICE`."""
    kinds = (annotation, *get_args(annotation))
    if any(get_origin(kind) is list for kind in kinds):
        return list
    return next((kind for kind in (bool, int, float, Path) if kind in kinds), str)


def _example(parameter: inspect.Parameter) -> str:
    """The value of an option that has none, as a file has it: its type is right, and its text the one of `--help`."""
    from bertlab.store.config import toml

    about = parameter.default
    examples = {int: about.min or 0, float: about.min or 0, list: [about.metavar]}
    return toml(examples.get(_kind(parameter.annotation), about.metavar))


def _checked(annotation: Any, value: Any, where: str) -> Any:
    """A value as the command line would give it. Raises `BadInput` for another type."""
    kind = _kind(annotation)
    values = [value] if kind is list and isinstance(value, str) else value
    # a number of seeds may be a text, such as 0-3
    allowed = {float: (int, float), str: (str, int), Path: (str,)}.get(kind, (kind,))
    if type(values) not in allowed or (kind is list and not all(isinstance(item, str) for item in values)):
        raise BadInput(f"{where} is {value!r}: {ADVICE[kind]}")
    return str(values) if kind is str else values


def joined_fields(context: typer.Context, values: list[str] | None) -> list[str] | None:
    """The fields that `--set` sets: those of the file, and after them those of the command line."""
    filed = (context.default_map or {}).get("set_") or []
    return values if values is None or list(values) == filed else [*filed, *values]


def text(command: str, values: Mapping[str, Any]) -> str:
    """The options of a command as a file, under their headings; those without a value as comments.

    Headings have two signs, so that the file without one sign a line is a file too.
    """
    from bertlab.store.config import toml

    panels: dict[str, list[str]] = {}
    for key, parameter in COMMANDS[command].items():
        about, value = parameter.default, values.get(parameter.name)
        line = f"# {key} = {_example(parameter)}" if value in (None, (), []) else f"{key} = {toml(value)}"
        panels.setdefault(getattr(about, "rich_help_panel", None) or OPTIONS, []).append(line)
    texts = ["\n".join((f"## {panel}", *lines)) for panel, lines in panels.items()]
    return "\n\n".join((f"## Options of `bertlab {command} --config FILE`.", *texts))
