"""Help in plain text: options and commands under headings, and an example that can be copied."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand, TyperGroup

MARK = "Example: "
"""The beginning of the last paragraph of a command's docstring."""
OPTIONS = "Options"
"""The heading of options without one, which are the last."""
_IN_WORDS = re.compile(r"default: \(([^()]*)\)")
"""A default that is described rather than a value, which Click puts in parentheses."""


class Command(TyperCommand):
    """A command with its options under the headings of their `rich_help_panel`, and the example of its docstring."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        text, _, example = (settings.get("help") or "").partition(MARK)
        self.example = " ".join(example.split())
        super().__init__(*arguments, **settings | {"help": text.rstrip()})

    def panels(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """The names and texts of arguments and options by heading; options without a heading are the last."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            text = _IN_WORDS.sub(r"default: \1", text)
            if param.param_type_name == "argument":
                panels["Arguments"].append((name.partition(" <")[0], text))  # without the Python type
            else:
                panels.setdefault(getattr(param, "rich_help_panel", None) or OPTIONS, []).append((name, text))
        return panels | {OPTIONS: panels.pop(OPTIONS)}

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options under their headings."""
        _write(self.panels(ctx), formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes the example, in one line."""
        if self.example:
            with formatter.section("Example"):
                formatter.write(f"{'':{formatter.current_indent}}{self.example}\n")


class Group(TyperGroup):
    """All commands, under the headings of their `rich_help_panel`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a line for each command."""
        width = formatter.width - 6 - max(map(len, self.commands))
        panels: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            panel = getattr(command, "rich_help_panel", None) or "Commands"
            panels.setdefault(panel, []).append((name, command.get_short_help_str(width)))
        _write(panels, formatter)


def _write(panels: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for heading, lines in panels.items():
        if lines:
            with formatter.section(heading):
                formatter.write_dl(lines)
