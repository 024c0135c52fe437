"""The commands of a record as files for `bertlab ablate --config`, beside the record."""

import glob
import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertlab.store.files import write

LISTS = ("study", "corpus", "set", "substitute", "intermediate-task", "only")
"""Options with several values."""
NUMBERS = ("finetune-seeds",)
FLAGS = ("search", "until-decided", "random-init")
HEAD = "# `bertlab ablate --config FILE` requests these runs again. Devices and the store are not part of it."


def write_configs(folder: Path, stem: str, commands: Sequence[str]) -> None:
    """Writes each command to a file, `STEM.toml`, `STEM-2.toml`, ..., whole or not at all, and removes other ones.

    A command with bytes that are no text, as a file name may have, has no file.
    """
    kept = set()
    for number, command in enumerate(commands, start=1):
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}.toml"
        try:
            content = config(command).encode()
        except UnicodeEncodeError:
            continue
        kept.add(path)
        if not path.is_file() or path.read_bytes() != content:
            write(path, content)
    for path in {*folder.glob(f"{glob.escape(stem)}.toml"), *folder.glob(f"{glob.escape(stem)}-*.toml")} - kept:
        path.unlink(missing_ok=True)


def config(command: str) -> str:
    """The options of a `bertlab ablate STUDY ...` as TOML, by their long names."""
    _, _, study, *rest = shlex.split(command)
    words, values = iter(rest), {"study": [study]}
    for word in words:
        name = word.removeprefix("--")
        values.setdefault(name, []).extend([] if name in FLAGS else [next(words)])
    return "\n".join([HEAD, *(f"{name} = {toml(_typed(name, each))}" for name, each in values.items()), ""])


def _typed(name: str, given: list[str]) -> Any:
    if name in LISTS:
        return given
    return name in FLAGS or (int(given[-1]) if name in NUMBERS else given[-1])


def toml(value: Any) -> str:
    """A text, number, truth value or list of texts in TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
