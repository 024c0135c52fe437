"""How the cost of planning grows with the number of seeds.

    python benchmarks/large_plan.py [--seeds 10,100,1000] [--scale NAME]

`bertlab ablate all --seeds N --dry-run` in an empty store, and `bertlab plan all --seeds N --gpus 1 --peak-tflops 989`,
which trains nothing to time this machine. Each runs as a fresh process; its CPU seconds are those of all of its
threads, and its memory is the largest at any time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "ablate --dry-run": ("ablate", "all", "--dry-run"),
    "plan": ("plan", "all", "--gpus", "1", "--peak-tflops", "989"),
}


def cost(*arguments: str) -> tuple[float, float]:
    """The CPU seconds and the largest memory (MB) of a command of bertlab that has to succeed."""
    process = subprocess.Popen([sys.executable, "-m", "bertlab", *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"bertlab {' '.join(arguments)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Prints a line for each command and number of seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="10,100,1000", help="the numbers of seeds")
    parser.add_argument("--scale", default="", help="the scale; the default one if not given")
    options = parser.parse_args()
    scale = ["--scale", options.scale] if options.scale else []
    print(f"{'command':<18}{'seeds':>7}{'CPU s':>8}{'MB':>8}")
    for name, command in COMMANDS.items():
        for seeds in options.seeds.split(","):
            with tempfile.TemporaryDirectory() as folder:
                store = str(Path(folder) / "runs")
                seconds, megabytes = cost(*command, "--seeds", seeds, "--runs", store, *scale)
            print(f"{name:<18}{seeds:>7}{seconds:>8.1f}{megabytes:>8,.0f}", flush=True)


if __name__ == "__main__":
    main()
