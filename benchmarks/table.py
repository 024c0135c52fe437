"""The results as a table in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rows import ROWS, Row

from bertlab.wording import pluralise

Results = Mapping[str, Mapping[str, Any]]
"""By script what it wrote: its `rows` and their `environment`."""

HEAD = ("quantity", "beside", "measured", "95 % interval", "floor", "aim", "reached")


def measured(results: Results) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    """The rows that have a result, in the order of the table."""
    found = {name: row for each in results.values() for name, row in each["rows"].items()}
    return ((row, found[row.name]) for row in ROWS if row.name in found)


def written(results: Results) -> str:
    """The table, and below it what it was measured on."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---|---|---:|---:|---:|---:|---|"]
    lines += ["| " + " | ".join(_cells(row, found)) + " |" for row, found in measured(results)]
    machines: dict[str, list[str]] = {}
    for script, each in results.items():
        machines.setdefault(_machine(each["environment"]), []).append(script)
    machine_lines = [f"{', '.join(scripts)}: {machine}." for machine, scripts in machines.items()]
    return "\n\n".join(["\n".join(lines), *machine_lines]) + "\n"


def _cells(row: Row, found: Mapping[str, Any]) -> list[str]:
    low, high = map(row.shown, found["interval"])
    bounds = ["" if bound is None else row.shown(bound) for bound in (row.floor, row.aim)]
    between = f"{low} to {high}" if found["pairs"] > 1 else ""
    return [row.quantity, row.peer, row.shown(found["ratio"]), between, *bounds, _reached(row, found["interval"])]


def _reached(row: Row, interval: tuple[float, float]) -> str:
    if row.floor is None:
        return ""
    if row.aim is not None and row.reaches(row.aim, interval):
        return "aim"
    return "floor" if row.reaches(row.floor, interval) else "no"


def _machine(environment: Mapping[str, Any]) -> str:
    numerics, versions = environment["numerics"], environment["versions"]
    device = environment["processor"] if numerics["device"] == "cpu" else numerics["device"]
    peers = ", ".join(f"{name} {versions[name]}" for name in ("torch", "lightning", "transformers", "datasets"))
    return f"{device}, {pluralise(numerics['threads'], 'thread')}, {numerics['precision']}; {peers}"
