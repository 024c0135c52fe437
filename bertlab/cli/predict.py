"""`bertlab predict`: what a fine-tuned model answers to the rows of a file."""

import json
import time
from pathlib import Path

from bertlab.cli.console import complain, writing
from bertlab.cli.options import RUNS, STUDY_FILE, argument, option
from bertlab.errors import BadInput, unknown
from bertlab.wording import duration, pluralise

ERRORS = ("stop", "skip")


def predict(
    run: str = argument(..., "RUN", "A finished measurement that keeps its model."),
    file: str = argument(..., "FILE", "JSON lines, or a .csv or .tsv table, perhaps gzipped; - for standard input."),
    errors: str = option("stop", "stop|skip", "At a row that cannot be read."),
    gpus: int = option(0, "N", "GPUs to use; 0: the CPU.", min=0, max=1),
    threads: int = option(0, "N", "CPU threads; 0: all cores.", min=0),
    study: str = STUDY_FILE,
    runs: Path = RUNS,
) -> None:
    """Print what a fine-tuned model answers to each row of a file, as JSON lines.

    RUN is one of `finetune --keep` or `ablate --keep`. The file has the columns that its task reads, and may have
    others; it may be of any size. Answers are in the order of the rows, each with the line of its row.

    Example: bertlab predict masking/80/10/10/0/MNLI pairs.jsonl
    """
    from rich.console import Console

    from bertlab.lab import finetuned, user_code
    from bertlab.machine import Machine
    from bertlab.store.runs import Store
    from bertlab.text import lines

    if errors not in ERRORS:
        raise unknown("value of --errors", errors, ERRORS)
    machine = Machine(runs=runs, gpus=gpus, threads=threads)
    model = finetuned.opened(Store(runs), run, study, user_code.OPTION, machine)
    source = "standard input" if file == lines.STANDARD_INPUT else file
    skipped: list[BadInput] = []

    def skip(error: BadInput) -> None:
        skipped.append(error)
        complain(f"skipped: {source} {error}")

    began, done = time.monotonic(), 0
    with lines.opened(file) as rows, Console(stderr=True).status("reading") as status:
        try:
            for line, output in model.outputs(rows, skip=skip if errors == "skip" else None):
                with writing():
                    print(json.dumps({"line": line, **output}))
                done += 1
                if done % 100 == 0:
                    status.update(f"{pluralise(done, 'row')}, {done / (time.monotonic() - began):,.0f} a second")
        except BadInput as error:
            raise BadInput(f"{source} {error}") from None
    without = f", {pluralise(len(skipped), 'row')} skipped" if skipped else ""
    complain(f"{pluralise(done, 'row')} in {duration(time.monotonic() - began)}{without}")
