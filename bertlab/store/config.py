"""Commands as files for `--config`: those of a record beside it, that of a single run in its directory."""

import glob
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertlab.errors import unknown
from bertlab.store import archive, records
from bertlab.store.commands import options
from bertlab.store.files import content
from bertlab.store.record import Record, short_hash
from bertlab.store.schema import is_name
from bertlab.store.writes import below, folder, remove, write

HEAD = "# `bertlab ablate --config FILE` requests these runs again. Devices and the store are not part of it."


def write_configs(root: Path, stem: str, record: Record) -> None:
    """Writes the command of each request of a record to a file of the folder `studies` of the store `root`.

    The files are those of `configs`, each whole or not there; removes other ones. Each has the sources of its study
    file, as it was then, in a directory of its name (see `saved_copy`).
    """
    studies, written = root / "studies", configs(stem, record)
    for name, (file, sources) in written.items():
        path = studies / f"{name}.toml"
        if not path.is_file() or path.read_bytes() != file:
            write(root, f"studies/{path.name}", file)
        write_sources(root, f"studies/{name}", sources)
    for path in (*studies.glob(f"{glob.escape(stem)}.toml"), *studies.glob(f"{glob.escape(stem)}-*.toml")):
        if path.stem not in written:
            remove(root, f"studies/{path.name}")
            remove(root, f"studies/{path.stem}")


def configs(stem: str, record: Record) -> dict[str, tuple[bytes, Mapping[str, str]]]:
    """The commands of a record as files, with the sources of their study file, by the names `STEM`, `STEM-2`, ...

    A command that is none, as a record from elsewhere may have, and one with bytes that are no text, as a file name may
    have, have no file.
    """
    by_hash = {short_hash(files): files for files in record.sources}
    newest = {path: text for files in record.sources for path, text in files.items()}  # older requests name no file
    named = {}
    for number, request in enumerate(record.requests, start=1):
        with suppress(StopIteration, ValueError):
            file = _toml_file(HEAD, options(request, record.name))
            named[f"{stem}-{number}" if number > 1 else stem] = file, by_hash.get(request.file, newest)
    return named


def read(path: Path) -> bytes:
    """The bytes of a file for `--config`. Of exported results, `studies/STEM.toml` is made from the record in their
    archive. Raises `BadInput`, with the names that there are."""
    root = path.parent.parent
    if path.exists() or path.parent.name != "studies" or not (root / archive.FILE).is_file():
        return content(path, "--config")
    commands: dict[str, tuple[bytes, Mapping[str, str]]] = {}
    for stem, record in records.read(root).items():
        commands |= configs(stem, record)
    if path.stem not in commands:
        raise unknown(f"file in '{path.parent}':", path.name, [f"{name}.toml" for name in commands])
    return commands[path.stem][0]


def write_sources(root: Path, stem: str, sources: Mapping[str, str]) -> None:
    """Writes the source of a user's study file, and of the modules beside it.

    Records may come from elsewhere: names that lead out of the directory or are no names of files, and sources that are
    no text, have no copy.
    """
    for name, source in sources.items():
        if not is_name(name) or not name.endswith(".py"):
            continue
        try:
            path, data = below(root, f"{stem}/{name}"), source.encode()
        except ValueError:
            continue
        with suppress(FileExistsError, IsADirectoryError, NotADirectoryError):  # `a.py` beside `a.py/b.py`
            if not path.is_file() or path.read_bytes() != data:
                folder(root, path.parent.relative_to(root).as_posix())
                write(root, f"{stem}/{name}", data)


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
