"""Commands as files for `--config`: those of a record beside it, that of a single run in its directory."""

import glob
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertlab.store.commands import options
from bertlab.store.record import Record, short_hash
from bertlab.store.schema import is_name
from bertlab.store.writes import below, folder, remove, write

HEAD = "# `bertlab ablate --config FILE` requests these runs again. Devices and the store are not part of it."


def write_configs(root: Path, stem: str, record: Record) -> None:
    """Writes the command of each request of a record to a file of the folder `studies` of the store `root`.

    The files are `STEM.toml`, `STEM-2.toml`, ..., each whole or not there; removes other ones. Each has the sources of
    its study file, as it was then, in a directory of its name (see `saved_copy`). A command that is none, as a record
    from elsewhere may have, and one with bytes that are no text, as a file name may have, have no file.
    """
    by_hash = {short_hash(files): files for files in record.sources}
    newest = {path: text for files in record.sources for path, text in files.items()}  # older requests name no file
    studies, written = root / "studies", set()
    for number, request in enumerate(record.requests, start=1):
        path = studies / f"{stem}{f'-{number}' if number > 1 else ''}.toml"
        try:
            content = _toml_file(HEAD, options(request, record.name))
        except (StopIteration, ValueError):
            continue
        written.add(path)
        if not path.is_file() or path.read_bytes() != content:
            write(root, f"studies/{path.name}", content)
        _write_sources(root, f"studies/{path.stem}", by_hash.get(request.file, newest))
    for path in {*studies.glob(f"{glob.escape(stem)}.toml"), *studies.glob(f"{glob.escape(stem)}-*.toml")} - written:
        remove(root, f"studies/{path.name}")
        remove(root, f"studies/{path.stem}")


def _write_sources(root: Path, stem: str, sources: Mapping[str, str]) -> None:
    """Writes the source of a user's study file, and of the modules beside it.

    Records may come from elsewhere: names that lead out of the directory or are no names of files, and sources that are
    no text, have no copy.
    """
    for name, source in sources.items():
        if not is_name(name) or not name.endswith(".py"):
            continue
        try:
            path, content = below(root, f"{stem}/{name}"), source.encode()
        except ValueError:
            continue
        with suppress(FileExistsError, IsADirectoryError, NotADirectoryError):  # `a.py` beside `a.py/b.py`
            if not path.is_file() or path.read_bytes() != content:
                folder(root, path.parent.relative_to(root).as_posix())
                write(root, f"{stem}/{name}", content)


def saved_copy(config: Path, study: str) -> Path | None:
    """The copy of a study file beside the file of a command that names it; None if there is none."""
    stems = (config.stem, re.sub(r"-\d+$", "", config.stem))
    return next((path for stem in stems if (path := config.parent / stem / Path(study).name).is_file()), None)


def write_run_config(directory: Path, command: str, options: Mapping[str, Any]) -> None:
    """Writes the options that define a run of `pretrain` or `finetune` to `config.toml` in its directory.

    Leaves out options without a value, keeps a file of an earlier command, and writes none for bytes that are no text.
    """
    set_options = {name: value for name, value in options.items() if value not in (None, "", [])}
    head = f"# `bertlab {command} --config FILE` requests this run again. Devices and the store are not part of it."
    if not (directory / "config.toml").is_file():
        with suppress(UnicodeEncodeError):
            write(directory, "config.toml", _toml_file(head, set_options))


def _toml_file(head: str, values: Mapping[str, Any]) -> bytes:
    return "\n".join([head, *(f"{name} = {toml(value)}" for name, value in values.items()), ""]).encode()


def toml(value: Any) -> str:
    """A text, number, truth value or list of texts in TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, (bool, int, float)):
        return str(value).lower()
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
