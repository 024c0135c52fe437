"""`bertlab --help` beside the help of a bare Typer program: `python benchmarks/startup.py [--pairs 8]`.

Both run as fresh processes of this interpreter. `blocks.py` says how the two are compared.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from blocks import Block, compare, described, machine, repeated

BARE = "import typer\napp = typer.Typer()\n@app.command()\ndef main(name: str = ''):\n    '''Nothing.'''\napp()\n"


def starting(*command: str) -> Block:
    """A block of so many starts of a command, in starts a second."""

    def start() -> float:
        subprocess.run([sys.executable, *command, "--help"], check=True, stdout=subprocess.DEVNULL)
        return 1.0

    return repeated(start)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description="bertlab --help, beside a bare Typer program.")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of blocks")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds a block, at least")
    parser.add_argument("--out", type=Path, help="write the result as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        mine, other = starting("-m", "bertlab"), starting(str(bare))
        found = compare(mine, other, pairs=arguments.pairs, seconds=arguments.seconds)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "bertlab", "--help"], check=True, stdout=subprocess.DEVNULL)
    found["seconds"] = time.perf_counter() - begin
    print(described("a bare Typer program", found, "starts"))
    print(f"bertlab --help takes {found['seconds']:.2f} s")
    if arguments.out:
        arguments.out.write_text(json.dumps(found | machine(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
