"""How fast one GPU pre-trains, and how many small runs it carries side by side, in less than eight minutes.

    python benchmarks/gpu.py [--minutes 7.5] [--compile no] [--to DIRECTORY]
    python benchmarks/gpu.py --device cpu --smoke    # checks the script in seconds; its figures say nothing

Models are those of the scales tiny, mini and base, and BERT-large, with as many sequences a step as fill a card of
80 GB, compiled where `--compile auto` compiles the scale's own training. Peak is a bf16 matrix product of 8192 x 8192 x
8192. Side by side are trainings of the scale tiny as it is, each in a process of its own. A cell that takes too long,
or more memory than there is, says so, and the next one follows. Writes `gpu.json` and `gpu.md`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ids
import script

from bertlab.estimates import microbenchmark
from bertlab.lab import scales
from bertlab.machine import Machine
from bertlab.recipe import Recipe, cost

HERE = Path(__file__).parent
SEQUENCES = {"tiny": 1024, "mini": 512, "base": 256, "large": 128}
"""Of 128 tokens, in a step; at 512 tokens a quarter of them."""
LENGTHS = (128, 512)
SIDE_BY_SIDE = (1, 2, 4, 8, 16)
PRODUCT = (8192, 8192, 8192)
STARTING = 20.0
"""Seconds that have to be left for a cell to be begun."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measurement, as it is sent to a worker."""

    model: str
    """`peak` stands for the matrix product."""
    length: int = 0
    """0 for that of the scale, as are its sequences."""
    sequences: int = 0
    seconds: float = 4.0
    smoke: bool = False

    @property
    def recipe(self) -> Recipe:
        """What is trained."""
        found = scales.find("base" if self.model == "large" else self.model).recipe
        if self.model == "large":
            model = dataclasses.replace(found.model, layers=24, hidden=1024, heads=16)
            found = dataclasses.replace(found, model=model)
        if self.smoke:
            small = scales.find("smoke").recipe
            found = dataclasses.replace(found, model=small.model, tokenizer=small.tokenizer)
        inputs = dataclasses.replace(found.inputs, length=self.length or found.inputs.length, phase2_length=0)
        schedule = dataclasses.replace(found.schedule, batch_size=self.sequences or found.schedule.batch_size)
        return dataclasses.replace(found, inputs=inputs, schedule=schedule)


@dataclass(frozen=True)
class Endless:
    """A recipe with more steps than anybody measures, as `ours` takes it."""

    recipe: Recipe
    fewest: int = 5

    @property
    def vocabulary(self) -> int:
        """Entries of the vocabulary."""
        return self.recipe.tokenizer.vocabulary


class Worker:
    """A process that measures cells, one after the other. It keeps the model of the last one."""

    def __init__(self, options: argparse.Namespace, corpora: Path) -> None:
        own = ["--device", options.device, "--compile", options.compile, "--worker", str(corpora)]
        self.failed: dict[str, Any] = {}
        # Compiling has its own processes; many workers with many of them each only get in each other's way.
        environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": str(min(8, os.cpu_count() or 1))}
        self.process = subprocess.Popen(
            [sys.executable, __file__, *own], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def send(self, cell: Cell) -> None:
        """Begins a cell, unless the process has ended."""
        assert self.process.stdin is not None
        if self.failed:
            return
        try:
            self.process.stdin.write(json.dumps(dataclasses.asdict(cell)) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def receive(self, seconds: float) -> dict[str, Any]:
        """The result of the cell, or why there is none; the process ends after the given seconds."""
        assert self.process.stdout is not None
        if self.failed:
            return self.failed
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, seconds))
        if not ready:
            self.failed = {"failed": f"took more than {seconds:.0f} s"}
            self.process.kill()
            return self.failed
        reply = self.process.stdout.readline()
        if not reply:
            self.failed = {"failed": f"its process ended with status {self.process.wait()}"}
            return self.failed
        found: dict[str, Any] = json.loads(reply)
        return found

    def end(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()


def work(options: argparse.Namespace) -> None:
    """What a worker does: reads cells, writes results, a line each."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever else is printed
    gpus = int(options.device == "cuda")
    plain = Machine(gpus=gpus, threads=1)
    kept: dict[Recipe, Any] = {}
    for line in sys.stdin:
        cell = Cell(**json.loads(line))
        try:
            if cell.model == "peak":
                product = (256, 256, 256) if cell.smoke else PRODUCT
                found = {"peak": microbenchmark.peak(plain, product)}
            else:
                found = trained(cell, plain, options, kept)
        except Exception as error:  # the next cell is measured by another process
            name = type(error).__name__
            found = {"failed": "out of memory" if name == "OutOfMemoryError" else f"{name}: {error}".split("\n")[0]}
        replies.write(json.dumps(found) + "\n")


def trained(cell: Cell, machine: Machine, options: argparse.Namespace, kept: dict[Recipe, Any]) -> dict[str, Any]:
    """Trains as jobs do, after a few steps that do not count. `kept` is the block of the last cell."""
    import torch
    from ours import through_lightning

    from bertlab.inputs.batches import Batches

    recipe = cell.recipe
    way = options.compile
    if way == "auto":
        way = "yes" if machine.compiles(recipe) else "no"
    machine = dataclasses.replace(machine, compile=way)
    if recipe not in kept:
        kept.clear()
        if machine.gpus:
            torch.cuda.empty_cache()
        schedule = dataclasses.replace(recipe.schedule, steps=1_000_000)
        vocabulary = recipe.tokenizer.vocabulary
        text = ids.read(options.worker / str(vocabulary), vocabulary)
        endless = dataclasses.replace(recipe, schedule=schedule)
        kept[recipe] = through_lightning(Endless(endless), machine, Batches(endless, text))
        kept[recipe](0.0)
    if machine.gpus:
        torch.cuda.reset_peak_memory_stats()
    rate = kept[recipe](cell.seconds)
    return {
        "sequences": recipe.schedule.batch_size,
        "compiled": machine.compiles(recipe),
        "tokens_per_second": rate,
        "flops_per_second": rate * cost.flops_per_token(recipe),
        "peak_memory_bytes": microbenchmark.peak_memory(machine),
    }


def cells(options: argparse.Namespace, names: Iterable[str]) -> Iterator[tuple[str, Cell]]:
    """The cells of some models by name."""
    for model in names:
        for length in LENGTHS:
            sequences = 2 if options.smoke else SEQUENCES[model] * LENGTHS[0] // length
            yield f"{model}-{length}", Cell(model=model, length=length, sequences=sequences, **common(options))


def common(options: argparse.Namespace) -> dict[str, Any]:
    """What the cells of a run have in common."""
    return {"seconds": 0.1 if options.smoke else 4.0, "smoke": options.smoke}


class Run:
    """One run of this script: its results so far, and the time that is left."""

    def __init__(self, options: argparse.Namespace, corpora: Path) -> None:
        self.options, self.corpora = options, corpora
        self.ends = time.monotonic() + 60 * options.minutes
        self.worker: Worker | None = None
        self.peak = 0.0
        self.rows: dict[str, dict[str, Any]] = {}
        self.side_by_side: dict[int, dict[str, Any]] = {}

    def left(self) -> float:
        """Seconds."""
        return self.ends - time.monotonic()

    def ask(self, cell: Cell) -> dict[str, Any]:
        """The result of a cell; after one that failed by a process of its own."""
        if self.left() < STARTING:
            return {"failed": "no time was left"}
        self.worker = self.worker or Worker(self.options, self.corpora)
        self.worker.send(cell)
        found = self.worker.receive(min(self.options.cell_seconds, self.left()))
        if "failed" in found:
            self.worker.end()
            self.worker = None
        return found

    def measure(self, names: list[str]) -> None:
        """All cells of some models."""
        for name, cell in cells(self.options, names):
            found = self.ask(cell)
            if "failed" not in found and self.peak:
                found["share_of_peak"] = found["flops_per_second"] / self.peak
            self.rows[name] = found
            print(f"{name}: {in_words(found)}", flush=True)

    def together(self, counts: tuple[int, ...]) -> None:
        """Scale tiny in `counts` processes at once. All start first; then ever more of them train."""
        if self.worker is not None:
            self.worker.end()
            self.worker = None
        if self.left() < STARTING:
            for count in counts:
                self._note(count, {"failed": "no time was left"})
            return
        cell = Cell(model="tiny", **common(self.options))
        workers = [Worker(self.options, self.corpora) for _ in range(max(counts))]
        try:
            self._answers(workers, cell)  # the first steps are slower
            for count in counts:
                found = self._answers(workers[:count], cell)
                failed = [each["failed"] for each in found if "failed" in each]
                rates = [each["tokens_per_second"] for each in found if "failed" not in each]
                result = {"tokens_per_second": sum(rates), "processes": len(rates)}
                self._note(count, {"failed": failed[0]} if failed else result)
        finally:
            for worker in workers:
                worker.end()

    def _note(self, count: int, found: dict[str, Any]) -> None:
        self.side_by_side[count] = found
        print(f"tiny, {count} side by side: {in_words(found)}", flush=True)

    def _answers(self, workers: list[Worker], cell: Cell) -> list[dict[str, Any]]:
        """Those of all workers to the same cell, which they measure at the same time."""
        ends = time.monotonic() + min(self.options.cell_seconds, self.left())
        for worker in workers:
            worker.send(cell)
        return [worker.receive(ends - time.monotonic()) for worker in workers]


def in_words(found: dict[str, Any]) -> str:
    """A result in a line."""
    if "failed" in found:
        return f"not measured: {found['failed']}"
    text = f"{found['tokens_per_second']:,.0f} tokens/s"
    if "share_of_peak" in found:
        text += f", {found['share_of_peak']:.1%} of the peak, {found['peak_memory_bytes'] / 1e9:.1f} GB"
    return text + (", compiled" if found.get("compiled") else "")


def written(result: dict[str, Any]) -> str:
    """The tables in Markdown."""
    numerics = result["environment"]["numerics"]
    peak = f"{result['peak'] / 1e12:,.1f} TFLOP/s" if result["peak"] else "not measured"
    lines = [
        f"{numerics['device']}, {numerics['precision']}, torch {numerics['torch']}; matrix products: {peak}.",
        "",
        "| model | tokens a sequence | sequences a step | tokens/s | share of the peak | peak memory | compiled |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for name, row in result["rows"].items():
        model, length = name.rsplit("-", 1)
        if "failed" in row:
            lines.append(f"| {model} | {length} | | {row['failed']} | | | |")
            continue
        share = f"{row['share_of_peak']:.1%}" if "share_of_peak" in row else ""
        lines.append(
            f"| {model} | {length} | {row['sequences']} | {row['tokens_per_second']:,.0f} | {share} | "
            f"{row['peak_memory_bytes'] / 1e9:.1f} GB | {'yes' if row['compiled'] else 'no'} |"
        )
    lines += ["", "| tiny, processes side by side | tokens/s of all | beside one |", "|---:|---:|---:|"]
    one = result["side_by_side"].get("1", {}).get("tokens_per_second")
    for count, row in result["side_by_side"].items():
        if "failed" in row:
            lines.append(f"| {count} | {row['failed']} | |")
        else:
            beside = f"{row['tokens_per_second'] / one:.2f}x" if one else ""
            lines.append(f"| {count} | {row['tokens_per_second']:,.0f} | {beside} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measures, prints and writes; 2 where there is no GPU."""
    options = _options()
    if options.worker:
        work(options)
        return 0
    import torch

    if options.device == "cuda" and not torch.cuda.is_available():
        print("gpu: torch finds no GPU on this machine", file=sys.stderr)
        return script.LACKING
    began = time.monotonic()
    counts = (1, 2) if options.smoke else SIDE_BY_SIDE
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, Path(folder))
        for vocabulary in {cell.recipe.tokenizer.vocabulary for _, cell in cells(options, SEQUENCES)}:
            ids.write(Path(folder) / str(vocabulary), vocabulary, 200 if options.smoke else 20_000)
        found = run.ask(Cell(model="peak", **common(options)))
        run.peak = found.get("peak", 0.0)
        print(f"matrix products: {run.peak / 1e12:.2f} TFLOP/s" if run.peak else in_words(found), flush=True)
        run.measure(["tiny", "mini", "base"])
        run.together(counts)
        run.measure(["large"])  # compiles for longest: if the time is up, it is at its cost
        if run.worker is not None:
            run.worker.end()
    machine = Machine(gpus=int(options.device == "cuda"), threads=1)
    result = {
        "environment": script.environment(machine),
        "seconds": round(time.monotonic() - began, 1),
        "peak": run.peak,
        "rows": run.rows,
        "side_by_side": {str(count): row for count, row in run.side_by_side.items()},
    }
    (options.to / "gpu.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (options.to / "gpu.md").write_text(written(result), encoding="utf-8")
    print(f"{result['seconds']:.0f} s in all; written to {options.to / 'gpu.md'}")
    failed = [row for row in (*run.rows.values(), *run.side_by_side.values()) if "failed" in row]
    return script.MISSED if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--compile", choices=("auto", "yes", "no", "graphs"), default="auto")
    parser.add_argument("--minutes", type=float, default=7.5, help="for everything; what is left by then is left out")
    parser.add_argument("--cell-seconds", type=float, default=100.0, help="for one cell, at most, compiling included")
    parser.add_argument("--smoke", action="store_true", help="tiny shapes, to check this script")
    parser.add_argument("--to", type=Path, default=HERE, help="where results are written", metavar="DIRECTORY")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
