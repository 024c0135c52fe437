"""How two things are compared on a noisy machine: as a ratio, in alternating blocks of one run.

Blocks go A B B A ...; the figure is the median over pairs of blocks of their ratio, with a 95 % bootstrap interval. A
matrix product is timed before and after each block, and a pair in which it moved by more than 15 % is dropped.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Block = Callable[[float], float]
"""Works for at least so many seconds and gives its speed, in units a second."""

MOVED = 1.15
"""How much slower the matrix product may become within a pair."""


def compare(one: Block, other: Block, *, pairs: int, seconds: float) -> dict[str, Any]:
    """How many times as fast as `other` is `one`: `ratio`, `interval`, `pairs`, `dropped` and the two `speeds`."""
    ratios, speeds, dropped = [], [], 0
    for number in range(pairs):
        order = (one, other) if number % 2 == 0 else (other, one)
        probes, measured = [probe()], {}
        for block in order:
            measured[block] = block(seconds)
            probes.append(probe())
        if max(probes) > MOVED * min(probes):
            dropped += 1
            continue
        ratios.append(measured[one] / measured[other])
        speeds.append((measured[one], measured[other]))
    if not ratios:
        raise SystemExit("every pair was dropped: the machine is too busy to measure on")
    draws = np.random.default_rng(0).choice(ratios, (10_000, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return {
        "ratio": float(np.median(ratios)),
        "interval": [float(low), float(high)],
        "pairs": len(ratios),
        "dropped": dropped,
        "speeds": [float(value) for value in np.median(speeds, axis=0)],
    }


def repeated(work: Callable[[], float]) -> Block:
    """A block that repeats `work`, which gives the units it did, for at least so many seconds and five times."""

    def block(seconds: float) -> float:
        begin, times, done = time.perf_counter(), 0, 0.0
        while times < 5 or time.perf_counter() - begin < seconds:
            done += work()
            times += 1
        return done / (time.perf_counter() - begin)

    return block


def parser(description: str, shape: tuple[int, int, int], pairs: int, seconds: float) -> argparse.ArgumentParser:
    """The options of a benchmark of a model, whose `shape` is layers, width and heads."""
    made = argparse.ArgumentParser(description=description)
    for name, value in zip(("layers", "hidden", "heads"), shape, strict=True):
        made.add_argument(f"--{name}", type=int, default=value)
    made.add_argument("--pairs", type=int, default=pairs, help="pairs of blocks")
    made.add_argument("--seconds", type=float, default=seconds, help="seconds a block, at least")
    made.add_argument("--threads", type=int, default=0, help="CPU threads; 0 for one a core")
    made.add_argument("--out", type=Path, help="write the result as JSON")
    return made


def probe() -> float:
    """Seconds of a matrix product now."""
    matrix = np.ones((512, 512), dtype=np.float32)
    times = []
    for _ in range(40):
        begin = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def described(name: str, found: dict[str, Any], unit: str) -> str:
    """A comparison in one line."""
    low, high = found["interval"]
    mine, theirs = found["speeds"]
    return (
        f"against {name}: {found['ratio']:.2f} times as fast, 95 % interval {low:.2f} to {high:.2f}; "
        f"{mine:,.0f} and {theirs:,.0f} {unit}/s; {found['pairs']} pairs, {found['dropped']} dropped"
    )


def machine(*modules: Any) -> dict[str, Any]:
    """What a reader of a result asks about where it was made."""
    return {
        "load_average": os.getloadavg()[0],
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        **{module.__name__: module.__version__ for module in modules},
    }
