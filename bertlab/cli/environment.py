"""The environment of a command, checked before anything else is done: directories, variables, descriptors, limits."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping

from bertlab.errors import BadInput

LEAST_MEMORY = 2 * 2**30
"""Bytes of addresses that a command which trains needs: below, importing torch fails or hangs."""
SECONDS = {"BERTLAB_COLLECTIVE_SECONDS": "45"}
"""Variables that hold whole seconds, with their defaults."""


def open_descriptors() -> None:
    """Opens standard input, output and error where they are closed, so that no file of a store takes their place.

    What is written to a closed output fails then, as on a full disk.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def check() -> None:
    """Raises `BadInput` for an environment in which no command can work, and completes one that lacks a name."""
    try:
        os.getcwd()
    except OSError:
        raise BadInput("the current directory is gone: change to one that is there") from None
    try:
        folder = tempfile.gettempdir()
    except OSError:
        raise BadInput("no temporary folder can be written: make room in /tmp, or name one with TMPDIR") from None
    for name in SECONDS:
        seconds(name)
    fault = os.environ.get("BERTLAB_FAULT")
    if fault:
        from bertlab.store.faults import Faults

        try:
            Faults(fault)
        except ValueError as error:
            raise BadInput(f"{error}: leave it out, or write as bertlab/store/faults.py says") from None
    if os.path.expanduser("~") == "~":  # a user without a name, as containers have
        os.environ["HOME"] = folder
    os.environ.setdefault("USER", f"user{os.getuid()}")
    os.environ["MPLBACKEND"] = "agg"  # figures are drawn into files, whatever a user draws on otherwise


def seconds(name: str, environment: Mapping[str, str] = os.environ) -> int:
    """The whole seconds that a variable holds, or its default. Raises `BadInput` for anything else."""
    text = environment.get(name) or SECONDS[name]
    if not (text.isascii() and text.isdecimal() and int(text[:9]) >= 1 and len(text) < 9):
        raise BadInput(f"{name} is '{text}': give whole seconds, at least 1")
    return int(text)


def require_memory() -> None:
    """Raises `BadInput` where a limit on the process (`ulimit -v`) leaves too little for training."""
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_MEMORY:
        raise BadInput(
            f"a limit leaves this process {limit / 1e6:,.0f} MB of addresses (`ulimit -v`): raise it to "
            f"{LEAST_MEMORY / 1e6:,.0f} MB at least"
        )
