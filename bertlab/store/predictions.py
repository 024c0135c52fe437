"""The predictions of a run on disk, with the right answers, which exported results keep once for all runs of a task."""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.store.run import ANSWERS, Run
from bertlab.store.writes import folder, write

RIGHT = ("label", "sentence", "group")
"""Arrays of the right answers and of the group of each example; those of a test split begin with `test_`."""
PREDICTIONS = "predictions.npz"
"""All arrays of a run; in exported results, those that are not in `RIGHT`."""


def packed(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Arrays as .npz without times, so that equal arrays give equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        for name, values in sorted(arrays.items()):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue(), zipfile.ZIP_LZMA)
    return file.getvalue()


def read(run: Run) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a run; none if it has no predictions. Raises `BadInput` for an unreadable file."""
    arrays: dict[str, npt.NDArray[Any]] = {}
    for path in (run.path / PREDICTIONS, *([run.file(ANSWERS)] if ANSWERS in run.manifest() else [])):
        if path.exists():
            try:
                with np.load(path, allow_pickle=False) as archive:
                    arrays |= {name: archive[name] for name in archive.files}
            except Exception as error:  # numpy, zipfile and lzma raise errors of many classes
                raise BadInput(f"'{path}' is not a file of predictions ({type(error).__name__}): remove it") from error
    return arrays


def equal(one: Run, other: Run) -> bool:
    """Whether two runs have the same arrays, in whichever files."""

    def content(run: Run) -> dict[str, tuple[Any, ...]]:
        return {name: (each.dtype, each.shape, each.tobytes()) for name, each in read(run).items()}

    return content(one) == content(other)


def divide(run: Run, directory: Path, root: Path) -> dict[str, dict[str, Any]]:
    """Writes the arrays of a run into `directory`, those in `RIGHT` into `answers` of `root`, equal ones as one file.

    Returns what the manifest of the run in `directory` says of them.
    """
    parts: dict[str, dict[str, npt.NDArray[Any]]] = {PREDICTIONS: {}, ANSWERS: {}}
    for name, values in read(run).items():
        parts[ANSWERS if name.removeprefix("test_") in RIGHT else PREDICTIONS][name] = values
    facts = {}
    for name, content in ((name, packed(part)) for name, part in parts.items() if part):
        facts[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        if name == PREDICTIONS:
            write(directory, name, content)
        elif not (folder(root, "answers") / (shared := f"{facts[name]['sha256']}.npz")).exists():
            write(root, f"answers/{shared}", content)
    return facts
