"""Fetches a local mirror of tasks from the Hub: `<dataset>/<split>.jsonl.gz`, which `--data` reads.

Each data set has a manifest.json: its name and commit on the Hub, and the rows, bytes and SHA-256 of each file. Files
that match their manifest are kept; missing ones are fetched at the same commit.
"""

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, writing
from bertlab.hub import datasets as hub
from bertlab.machine import Machine
from bertlab.store import files as store
from bertlab.tasks import files
from bertlab.tasks.data import from_hub
from bertlab.tasks.locate import public, reference_of, splits_of
from bertlab.tasks.task import Task

ADVICE = "fetch it on a machine that can"
"""The advice of errors without access to the Hub."""
FORM = {"hub": str, "commit": str, "files": {"*": {"sha256": str}}}
"""The form of a manifest."""


def write(tasks: Iterable[Task], directory: Path, machine: Machine) -> Iterator[str]:
    """Writes the splits of tasks, each data set once; yields a line per file once it is written.

    Raises `BadInput` if the Hub does not provide a data set, or `directory` contains another one of its name.
    """
    wanted: dict[str, list[Task]] = {}
    for task in tasks:
        wanted.setdefault(task.dataset, []).append(public(task))
    for dataset, of_dataset in wanted.items():
        yield from _write(directory / dataset, of_dataset, machine)


def _write(folder: Path, tasks: list[Task], machine: Machine) -> Iterator[str]:
    reference, label = reference_of(tasks[0]), tasks[0].label
    manifest = _manifest(folder, reference.name)
    missing = []
    for split in dict.fromkeys(split for task in tasks for split in splits_of(task)):
        path = files.existing(folder, split)
        if path is not None and _matches(path, manifest):
            yield f"{path} is kept"
        else:
            missing.append(split)
    if not missing:
        return
    if manifest["files"]:
        reference = hub.Reference(reference.repository, reference.configuration, manifest["commit"])
    found = hub.dataset(reference, machine.cache, f"data set '{reference.full_name}'", ADVICE)
    there = dict(found.splits)
    manifest |= {"hub": found.name, "commit": found.commit}
    for split in missing:
        if split not in there and all(split == task.test for task in tasks):
            continue  # the test split is optional
        rows, _ = from_hub(found, split, label, ADVICE)
        path = folder / f"{split}.jsonl.gz"
        packed = _packed(rows)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        store.write(path, packed)
        manifest["files"][path.name] = {"rows": len(rows), "bytes": len(packed), "sha256": store.digest(path)}
        store.write_json(folder / "manifest.json", manifest)
        yield f"{path}: {len(rows):,} rows of {found.name} at {found.commit[:12]}"


def _manifest(folder: Path, name: str) -> dict[str, Any]:
    """The manifest of the data set called `name` in a folder. Raises `BadInput` for that of another data set."""
    path = folder / "manifest.json"
    if not path.exists():
        return {"hub": name, "commit": "", "files": {}}
    manifest: dict[str, Any] = store.read_json(path, FORM)
    if manifest["hub"] != name:
        raise BadInput(f"{folder} holds {manifest['hub']}, not {name}: give another directory")
    return manifest


def _matches(path: Path, manifest: dict[str, Any]) -> bool:
    """Whether a file matches its entry in the manifest, or has none."""
    entry = manifest["files"].get(path.name)
    return entry is None or store.digest(path) == entry["sha256"]


def _packed(rows: Iterable[dict[str, Any]]) -> bytes:
    """Rows as gzipped JSON lines; equal rows give equal bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:
        for row in rows:
            file.write(f"{json.dumps(row, ensure_ascii=False, default=str)}\n".encode())
    return packed.getvalue()
