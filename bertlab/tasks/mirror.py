"""Fetches a local mirror of tasks from the Hub: `<dataset>/<split>.jsonl.gz`, which `--data` reads.

Each data set has a manifest.json: its name and commit on the Hub, and the rows, bytes and SHA-256 of each file. Files
that match their manifest are kept; missing ones are fetched at the same commit.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput, writing
from bertlab.hub import datasets as hub
from bertlab.machine import Machine
from bertlab.store.files import digest, write_json
from bertlab.tasks import data, files, kinds
from bertlab.tasks.task import Task

ADVICE = "fetch it on a machine that can"
"""The advice of errors without access to the Hub."""


def write(tasks: Iterable[Task], directory: Path, machine: Machine) -> Iterator[str]:
    """Writes the splits of tasks, each data set once; yields a line per file once it is written.

    Raises `BadInput` if the Hub does not provide a data set, or `directory` contains another one of its name.
    """
    wanted: dict[str, list[Task]] = {}
    for task in tasks:
        located = data.locate(task, machine=machine, world=False)
        wanted.setdefault(task.dataset, []).append(located.task)
    for dataset, those in wanted.items():
        yield from _write(directory / dataset, those, machine)


def _write(folder: Path, tasks: list[Task], machine: Machine) -> Iterator[str]:
    task = tasks[0]
    reference = data.reference_of(task)
    manifest = _manifest(folder, reference)
    wanted = list(dict.fromkeys(split for each in tasks for split in data.splits_of(each)))
    missing = []
    for split in wanted:
        if _kept(folder, split, manifest):
            yield f"{files.find(folder, split)} is kept"
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
        if split not in there and all(split == each.test for each in tasks):
            continue  # the test split is optional
        columns, names = data.from_hub(found, split, ADVICE)
        if task.label in columns:
            kind = kinds.find(task.kind)
            columns[task.label] = kind.named_labels(columns[task.label], names.get(task.label, ()))
        path = folder / f"{split}.jsonl.gz"
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            rows = _save(path, columns)
        manifest["files"][path.name] = {"rows": rows, "bytes": path.stat().st_size, "sha256": digest(path)}
        write_json(folder / "manifest.json", manifest)
        yield f"{path}: {rows:,} rows of {found.name} at {found.commit[:12]}"


def _manifest(folder: Path, reference: hub.Reference) -> dict[str, Any]:
    """The manifest of a folder of the mirror. Raises `BadInput` for another data set or another revision."""
    empty = {"hub": reference.name, "commit": "", "files": {}}
    path = folder / "manifest.json"
    if not path.exists():
        return empty
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        files_, name, commit = found["files"], found["hub"], str(found["commit"])
        known = all(isinstance(each["sha256"], str) for each in files_.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{path} cannot be read as a manifest: remove {folder} to fetch it again") from None
    if not known or name != reference.name:
        raise BadInput(f"{folder} holds {name}, not {reference.name}: give another directory")
    return {"hub": name, "commit": commit, "files": dict(files_)}


def _kept(folder: Path, split: str, manifest: dict[str, Any]) -> bool:
    """Whether a split exists and matches the manifest, or has no entry in it."""
    if not files.has(folder, split):
        return False
    path = files.find(folder, split)
    entry = manifest["files"].get(path.name)
    return entry is None or digest(path) == entry["sha256"]


def _save(path: Path, columns: dict[str, list[Any]]) -> int:
    """Writes rows atomically and returns their number; equal rows give equal bytes."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    count = 0
    try:
        with beside.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            for row in zip(*columns.values(), strict=True):
                line = json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=str)
                packed.write(f"{line}\n".encode())
                count += 1
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return count
