"""What the scripts have in common: their options, the line they print of a row, their JSON and their exit status.

The status is 1 where the worse end of an interval misses the floor of the row, or a row could not be measured, and 2
where this machine has not what the script measures.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from blocks import Found, Settings, TooBusy
from rows import BY_NAME, Row

from bertlab.machine import Machine

Measured = Mapping[str, Callable[[Settings], Found]]
"""How each row of a script is measured, by its name."""

MISSED, LACKING = 1, 2
PEERS = ("accelerate", "datasets", "transformers", "typer")


class Lacking(Exception):
    """What is to be measured is missing on this machine, or its place was not given."""


def main(description: str, measured: Measured, *, pairs: int = 8, seconds: float = 4.0, threads: int = 0) -> int:
    """Measures the rows, prints each at once, and gives the exit status.

    Of the `description` the first line is shown by `--help`. The numbers are what the options default to.
    """
    options = _options(description.partition("\n")[0], measured, pairs, seconds, threads)
    machine = Machine(threads=options.threads)
    settings = Settings(pairs=options.pairs, seconds=options.seconds, machine=machine, runs=options.runs)
    rows: dict[str, Any] = {}
    missed = False
    for name in options.only or measured:
        try:
            found = measured[name](settings)
        except Lacking as error:
            print(error, file=sys.stderr)
            return LACKING
        except TooBusy as error:
            print(f"{name}: {error}", file=sys.stderr)
            missed = True
            continue
        row = BY_NAME[name]
        rows[name] = dataclasses.asdict(found)
        missed |= not row.reaches(row.floor, found.interval)
        print(line(row, found), flush=True)
    if options.out:
        result = {"rows": rows, "environment": environment(machine)}
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return MISSED if missed else 0


def line(row: Row, found: Found) -> str:
    """A row as it was measured, in one line."""
    low, high = map(row.shown, found.interval)
    mine, theirs = (f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in found.speeds)
    beside = f", {mine} beside {theirs} {row.unit}" if row.peer else ""
    against = f" against {row.peer}" if row.peer else ""
    return (
        f"{row.quantity}{against}: {row.shown(found.ratio)}, 95 % interval {low} to {high}{beside}; "
        f"{found.pairs} pairs, {found.dropped} dropped"
    )


def environment(machine: Machine) -> dict[str, Any]:
    """The machine and the versions behind a result."""
    found = machine.environment()
    return found | {
        "versions": found["versions"] | {name: _version(name) for name in PEERS},
        "kernel": platform.release(),
        "load_average": os.getloadavg()[0],
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _options(found: str, measured: Measured, pairs: int, seconds: float, threads: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=found)
    parser.add_argument("--only", nargs="+", choices=measured, metavar="ROW", help=f"of {', '.join(measured)}")
    parser.add_argument("--pairs", type=int, default=pairs, help="pairs of blocks")
    parser.add_argument("--seconds", type=float, default=seconds, help="seconds a block, at least")
    parser.add_argument("--threads", type=int, default=threads, help="CPU threads; 0 for one a core")
    parser.add_argument("--runs", type=Path, help="a store of finished runs")
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    return parser.parse_args()
