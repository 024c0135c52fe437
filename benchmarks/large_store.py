"""A store of many runs, and what commands cost on it: `python benchmarks/large_store.py --store RUNS --runs 10000`.

The runs are those of a small finished study, as `bertlab ablate masking --scale smoke` makes it, once for each seed,
with the same results. One line a command: seconds of CPU, and the most memory it took. `--keep DIR` keeps the store.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertlab.report import export
from bertlab.store import records
from bertlab.store.record import Record
from bertlab.store.runs import Store
from bertlab.store.schema import load, to_json
from bertlab.store.writes import folder

COMMANDS = {
    "runs": ("runs", "--runs", "{store}"),
    "runs --json": ("runs", "--json", "--runs", "{store}"),
    "report": ("report", "--out", "{out}/pages", "--runs", "{store}"),
    "merge": ("merge", "{store}", "--into", "{out}/merged"),
}


def other(run_id: str, seed: int) -> str:
    """The id of a run with another seed."""
    return f"{int(run_id, 16) ^ (seed << 20):016x}" if run_id and seed else run_id


def with_seed(data: Any, ids: Mapping[str, str], seed: int) -> Any:
    """JSON data with other ids and another pre-training seed."""
    if isinstance(data, dict):
        changed = {name: with_seed(value, ids, seed) for name, value in data.items()}
        return changed | ({"pretrain_seed": seed} if "pretrain_seed" in data else {})
    if isinstance(data, list):
        return [with_seed(value, ids, seed) for value in data]
    return ids.get(data, data) if isinstance(data, str) else data


def multiply(small: Store, root: Path, runs: int) -> int:
    """Writes a store with the runs of a small one for as many seeds as give `runs`; returns their number."""
    finished = [run for run in small.runs() if run.kind != "corpus"]
    record = to_json(*small.records().values())
    seeds = -(-runs // len(finished))
    rows, cells = [], []
    for seed in range(seeds):
        ids = {run.id: other(run.id, seed) for run in finished}
        rows += with_seed(record["rows"], ids, seed)
        cells += with_seed(record["cells"], ids, seed)
        for run in finished:
            target = folder(root, f"{run.kind}/{ids[run.id]}--{run.label}-{seed}")
            facts = run.read("manifest.json", dict)
            for name in facts:
                if name.endswith(".json"):
                    content = json.dumps(with_seed(json.loads(run.content(name)), ids, seed)).encode()
                    (target / name).write_bytes(content)
                    facts[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                else:
                    (target / name).write_bytes(run.content(name))
            (target / "manifest.json").write_text(json.dumps(facts))
    request = record["requests"][0] | {"seeds": [*range(seeds)]}
    records.write(root, "large", load(Record, {**record, "requests": [request], "rows": rows, "cells": cells}))
    return seeds * len(finished)


def cost(command: list[str]) -> tuple[float, float]:
    """Seconds of CPU of a command, and its most memory in MB."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def main() -> None:
    """Makes the store and measures each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="a store with one finished study")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--commands", default=",".join(COMMANDS), help="which of them, separated by commas")
    parser.add_argument("--keep", type=Path, default=None, help="a new folder for the large store")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bertlab-large-") as temporary:
        small, large = Path(temporary) / "small", options.keep or Path(temporary) / "large"
        small.mkdir()
        export.results(Store(options.store), "all", small)
        print(f"{multiply(Store(small), large, options.runs):,} runs")
        for name in options.commands.split(","):
            words = [part.format(out=temporary, store=large) for part in COMMANDS[name]]
            seconds, size = cost([sys.executable, "-m", "bertlab", *words])
            print(f"{name:<14} {seconds:8.1f} s {size:8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
