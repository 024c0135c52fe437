"""The records of studies as files of a store."""

from collections.abc import Collection
from pathlib import Path

from bertlab.errors import BadInput, warn
from bertlab.store import archive, schema
from bertlab.store.files import read_sealed
from bertlab.store.record import Record
from bertlab.store.writes import folder, write_sealed


def read(root: Path, needed: Collection[str] | None = None) -> dict[str, Record]:
    """The records of the store `root`, by the stem of their file.

    Raises `BadInput` for a damaged file and for a record of another form. With `needed`, it raises only for records of
    these studies, by name, and warns of all others.
    """
    records = {}
    archived = archive.opened(root)
    inside = {name: archived.path / "studies" / name for name in archived.folders.get("studies", ())}
    beside = {path.name: path for path in (root / "studies").glob("*.json")}
    for name, path in sorted((inside | beside).items()):
        try:
            data = read_sealed(path, data=None if name in beside else archived.read("studies", name))
        except BadInput as error:
            if needed is None:
                raise
            warn(f"{error}; the record is skipped")
            continue
        try:
            records[path.stem] = schema.load(Record, data)
            continue
        except schema.Mismatch as mismatch:
            what = f"its {mismatch.where} is missing, of another type or out of range"
        problem = f"'{path}' is not a record as this version writes it ({what})"
        study = data.get("study")
        if needed is None or study in needed or (needed and not isinstance(study, str)):
            raise BadInput(f"{problem}: move it away and repeat its commands; finished runs are kept")
        warn(f"{problem}; the record is skipped")
    return records


def write(root: Path, stem: str, record: Record) -> None:
    """Writes a record to the file of the store `root` with that stem."""
    folder(root, "studies")
    write_sealed(root, f"studies/{stem}.json", schema.to_json(record))
