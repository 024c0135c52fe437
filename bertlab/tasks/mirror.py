"""Fetches a local mirror of tasks from the Hub: `<dataset>/<split>.jsonl.gz`, which `--data` reads.

The manifest.json of each data set has its name and commit on the Hub; missing files are fetched at the same commit.
"""

import dataclasses
import gzip
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from bertlab import hub
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.store import writes
from bertlab.store.files import read_json
from bertlab.tasks.data import from_hub
from bertlab.tasks.locate import existing, public, reference_of, splits_of
from bertlab.tasks.task import Task


@dataclasses.dataclass(frozen=True)
class Mirrored:
    """The name of a data set on the Hub, and its commit."""

    hub: str
    commit: str


ADVICE = "fetch it on a machine that can"
"""The advice of errors without access to the Hub."""


def write(tasks: Iterable[Task], directory: Path, machine: Machine) -> Iterator[str]:
    """Writes the splits of tasks and keeps those that are there; yields a line for each.

    Raises `BadInput` if the Hub does not provide a data set.
    """
    for task in map(public, tasks):
        folder, reference, dataset = directory / task.dataset, reference_of(task), None
        if (folder / "manifest.json").exists():
            manifest = read_json(folder / "manifest.json", Mirrored)
            if manifest.hub != reference.name:
                raise BadInput(f"{folder} holds {manifest.hub}, not {reference.name}: give another directory")
            reference = dataclasses.replace(reference, revision=manifest.commit)
        for split in splits_of(task):
            there = existing(folder, split)
            if there is not None:
                yield f"{there} is kept"
                continue
            if dataset is None:
                dataset = hub.dataset(reference, machine.cache, f"data set '{reference.full_name}'", ADVICE)
            if split == task.test and split not in dict(dataset.splits):
                continue
            rows, _ = from_hub(dataset, split, task, ADVICE)
            if task.only and not rows:
                raise BadInput(f"'{dataset.name}' {split} has no row of task '{task.name}': correct its field only")
            writes.folder(directory, task.dataset)
            writes.write_json(folder, "manifest.json", vars(Mirrored(dataset.name, dataset.commit)))
            packed = io.BytesIO()
            with gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as file:  # equal rows give equal bytes
                for row in rows:
                    file.write(f"{json.dumps(row, ensure_ascii=False, default=str)}\n".encode())
            writes.write(directory, f"{task.dataset}/{split}.jsonl.gz", packed.getvalue())
            yield f"{folder / split}.jsonl.gz: {len(rows):,} rows of {dataset.name} at {dataset.commit[:12]}"
