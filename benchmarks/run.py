"""All benchmarks, one after the other, each in a process of its own.

    python benchmarks/run.py [--only pretraining ...] [--runs STORE] [--against results.json] [--to DIRECTORY]
    python benchmarks/run.py --table

Writes `results.json` (by script its rows, and the machine that they were measured on), `results.md` and `results.svg`.
What is not measured now is kept as it was. `--table` writes the last two anew from the first and measures nothing.

The exit status is 1 if a row misses its floor, or has fallen by more than 10 % against `--against`. A script
for which something is not there, as a store of finished runs, says so and is left out. `gpu.py` is run by itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import picture
import table
from script import LACKING
from table import Results

HERE = Path(__file__).parent
SCRIPTS = (
    "pretraining", "kernels", "arms", "finetuning", "predicting", "scoring", "collating", "mixing", "texts", "corpus",
    "memory", "sharing", "startup"
)  # fmt: skip
FALLEN = 0.9
"""Of what it was, a figure at least has to be."""


def fallen(results: Results, before: Results) -> list[str]:
    """What to say of each row that is worse by more than 10 % than it was."""
    earlier = {row.name: found["ratio"] for row, found in table.measured(before)}
    lines = []
    for row, found in table.measured(results):
        now, was = found["ratio"], earlier.get(row.name, found["ratio"])
        if (was / now if row.less else now / was) < FALLEN:
            beside = f" beside {row.peer}" if row.peer else ""
            lines.append(f"{row.quantity}{beside}: {row.shown(was)} before, {row.shown(now)} now")
    return lines


def measure(script: str, options: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Runs a script: its exit status, and its result by its name; nothing if it has left none."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [sys.executable, str(HERE / f"{script}.py"), "--out", str(out), *options]
        status = subprocess.run(command, check=False).returncode
        return status, {script: json.loads(out.read_text(encoding="utf-8"))} if out.exists() else {}


def main() -> int:
    """Measures, writes, and says by its status whether all is as good as it must be and as it was."""
    options = _options()
    kept = options.to / "results.json"
    before = json.loads(options.against.read_text(encoding="utf-8")) if options.against else {}
    results = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    status = 0
    for script in () if options.table else options.only or SCRIPTS:
        print(f"{script}.py", flush=True)
        given = [("--pairs", options.pairs), ("--seconds", options.seconds), ("--runs", options.runs)]
        ended, result = measure(script, [text for name, value in given if value for text in (name, str(value))])
        results |= result
        status |= ended not in (0, LACKING)
        kept.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (options.to / "results.md").write_text(table.written(results), encoding="utf-8")
    (options.to / "results.svg").write_bytes(picture.drawn(results))
    worse = fallen(results, before)
    for line in worse:
        print(line, file=sys.stderr)
    return int(bool(status or worse))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, metavar="SCRIPT", help=f"of {', '.join(SCRIPTS)}")
    parser.add_argument("--pairs", type=int, help="pairs of blocks; else what each script has")
    parser.add_argument("--seconds", type=float, help="seconds a block, at least; else what each script has")
    parser.add_argument("--runs", type=Path, help="the store of a finished `bertlab ablate all`")
    parser.add_argument("--against", type=Path, help="earlier results: nothing may have fallen by more than 10 %%")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--to", type=Path, default=HERE, help="where results are written", metavar="DIRECTORY")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
