"""The predictions of a run on disk, with the right answers, which exported results keep once for all runs of a task."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from bertlab.arrays import Array
from bertlab.errors import BadInput
from bertlab.store.run import ANSWERS, Run

RIGHT = ("label", "sentence", "group")
"""Arrays of the right answers and of the group of each example; those of a test split begin with `test_`."""
PREDICTIONS = "predictions.npz"
"""All arrays of a run; in exported results, those that are not in `RIGHT`."""


def packed(arrays: Mapping[str, Array], compression: int = zipfile.ZIP_LZMA) -> bytes:
    """Arrays as .npz without times, so that equal arrays give equal bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, values in sorted(arrays.items()):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(values), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), buffer.getvalue(), compression)
    return file.getvalue()


def read(run: Run) -> dict[str, Array]:
    """All arrays of a run; none if it has no predictions. Raises `BadInput` for an unreadable file."""
    arrays: dict[str, Array] = {}
    for file in (*[PREDICTIONS] * run.has(PREDICTIONS), *[ANSWERS] * (ANSWERS in run.manifest())):
        data = io.BytesIO(run.content(file))
        try:
            with np.load(data, allow_pickle=False) as archive:
                arrays |= {name: archive[name] for name in archive.files}
        except Exception as error:  # numpy, zipfile and lzma raise errors of many classes
            why = f"is not a file of predictions ({type(error).__name__})"
            raise BadInput(f"'{run.file(file)}' {why}: remove it") from error
    return arrays


def equal(one: Run, other: Run) -> bool:
    """Whether two runs have the same arrays, in whichever files."""

    def content(run: Run) -> dict[str, tuple[Any, ...]]:
        return {name: (array.dtype, array.shape, array.tobytes()) for name, array in read(run).items()}

    return content(one) == content(other)


def divided(run: Run) -> dict[str, bytes]:
    """The files of the arrays of a run, those in `RIGHT` apart; not compressed, as an archive compresses them."""
    parts: dict[str, dict[str, Array]] = {PREDICTIONS: {}, ANSWERS: {}}
    for name, values in read(run).items():
        parts[ANSWERS if name.removeprefix("test_") in RIGHT else PREDICTIONS][name] = values
    return {name: packed(part, zipfile.ZIP_STORED) for name, part in parts.items() if part}
