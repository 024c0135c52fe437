"""How long commands take that have nothing to do.

    python benchmarks/startup.py [--runs STORE] [--pairs 8] [--seconds 2] [--out FILE.json]

`bertlab --help` beside the help of a bare Typer program; and `bertlab ablate` of all that a store has finished, on a
copy of the store, or on one that is made at smoke scale first. All run as fresh processes of this interpreter.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import script
from blocks import Block, Found, Settings, compare, duration, known

from bertlab.lab.study import RANDOM_INIT
from bertlab.store.runs import Store

BARE = "import typer\napp = typer.Typer()\n@app.command()\ndef main(name: str = ''):\n    '''Nothing.'''\napp()\n"


def start(*command: str) -> None:
    """Runs this interpreter, silently."""
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def starting(*command: str) -> Block:
    """A block of starts of this interpreter: seconds each."""
    return duration(lambda: start(*command))


def bare_help(settings: Settings) -> Found:
    """Our help against that of the bare program."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        return compare(starting("-m", "bertlab", "--help"), starting(str(bare), "--help"), settings)


def second(settings: Settings) -> Found:
    """`bertlab ablate` with everything done, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        if settings.runs is not None:
            shutil.copytree(settings.runs, runs)  # a command keeps its plan there
        command = ("-m", "bertlab", "ablate", *_asked(Store(runs)), "--runs", str(runs))
        start(*command)  # what is not done yet
        return compare(starting(*command), known(1.0), settings)


def _asked(store: Store) -> list[str]:
    """What a store has finished, as a command line asks for it; of an empty one all studies, at the smallest scale."""
    records = [*store.records(needed=()).values()]
    if not records:
        return ["all", "--scale", "smoke"]
    seeds = max(row.pretrain_seed for record in records for row in record.rows) + 1
    random_init = any(row.variant == RANDOM_INIT for record in records for row in record.rows)
    asked = [record.study for record in records]
    return [*asked, "--scale", records[0].scale, "--seeds", str(seeds), *(["--random-init"] if random_init else [])]


MEASURED = {"help": bare_help, "second": second}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, seconds=2.0))
