"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Runs = Annotated[
    Path, typer.Option("--runs", envvar="BERTLAB_RUNS", help="The store of runs.", show_envvar=True, metavar="DIR")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
