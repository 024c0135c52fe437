"""Checks the environment of a command: directories, variables, file descriptors."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from bertlab.errors import BadInput

NUMBERS = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")
"""The variables by which torchrun, SLURM and LSF number the processes of a job; Lightning reads them on import."""


def set_up() -> None:
    """Opens closed standard streams and sets variables of libraries. Raises `BadInput` if no command can work."""
    # Closed streams are opened for reading: no file of a store gets their numbers, and writing to them fails.
    while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:  # uses the lowest free number
        pass
    os.close(descriptor)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
    try:
        os.getcwd()
    except OSError:
        raise BadInput("the current directory no longer exists: change to another") from None
    try:
        folder = tempfile.gettempdir()
    except OSError:
        raise BadInput("no temporary folder is writable: free space in /tmp, or set TMPDIR") from None
    collective_seconds()
    if os.path.expanduser("~") == "~":  # a user without a name, as in containers
        os.environ["HOME"] = folder
    os.environ.setdefault("USER", f"user{os.getuid()}")
    for name in NUMBERS:  # each command is a process by itself
        os.environ.pop(name, None)
    os.environ["MPLBACKEND"] = "agg"  # figures go to files


@contextmanager
def alone() -> Iterator[None]:
    """Hides `NUMBERS`, so that a function that is called in a job of a cluster is a process by itself too."""
    hidden = {name: os.environ.pop(name) for name in NUMBERS if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(hidden)


def collective_seconds() -> int:
    """How long a process of a group waits for the others (`BERTLAB_COLLECTIVE_SECONDS`). Raises `BadInput`."""
    text = os.environ.get("BERTLAB_COLLECTIVE_SECONDS") or "45"
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and int(text) >= 1):
        raise BadInput(f"BERTLAB_COLLECTIVE_SECONDS is '{text}': set whole seconds, at least 1")
    return int(text)
