"""How two things are compared on a noisy machine: as a ratio, in alternating blocks of one run.

Blocks go A B B A ...; the figure is the median over pairs of blocks of their ratio, with a 95 % bootstrap interval.
Before and after each block the machine's matrix products are measured for half a second, in the same process with the
same threads. A pair in which they moved by more than 15 % is dropped and another one is measured in its place, up to
twice as many in all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bertlab.estimates.microbenchmark import peak
from bertlab.machine import Machine

Block = Callable[[float], float]
"""Works for at least the given seconds and returns what it measured, usually a speed."""

MOVED = 1.15
"""How much faster the machine may be at one time than at another within a pair."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How much is measured, and on what."""

    pairs: int
    seconds: float
    """Of a block, at least."""
    machine: Machine = field(default_factory=Machine)
    runs: Path | None = None
    """A store of finished runs."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a row of the table was measured to be."""

    ratio: float
    """Ours over the peer's: the median of the pairs."""
    interval: tuple[float, float]
    """95 % of what the median is in pairs drawn anew from these. As wide as nothing where there is one pair."""
    pairs: int
    dropped: int
    speeds: tuple[float, float]
    """Medians of ours and the peer's, in the unit of the row."""
    peaks: tuple[float, ...]
    """Operations a second of matrix products, in the order of time: three a pair, those that were dropped too."""


class TooBusy(Exception):
    """Every pair was dropped."""


def found(measured: Sequence[tuple[float, float]], dropped: int = 0, peaks: Sequence[float] = ()) -> Found:
    """What pairs of (ours, the peer's) come to. Raises `TooBusy` if there are none."""
    if not measured:
        raise TooBusy("every pair was dropped: the machine is too busy to measure on")
    ratios = [one / other for one, other in measured]
    draws = np.random.default_rng(0).choice(ratios, (10_000, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    mine, theirs = np.median(measured, axis=0)
    return Found(
        ratio=float(np.median(ratios)),
        interval=(float(low), float(high)),
        pairs=len(ratios),
        dropped=dropped,
        speeds=(float(mine), float(theirs)),
        peaks=tuple(peaks),
    )


def compare(one: Block, other: Block, settings: Settings, probe: Callable[[], float] | None = None) -> Found:
    """How many times the other's figure is one's. `probe` gives the speed of the machine now."""
    here = settings.machine
    probe = probe or (lambda: peak(here))
    measured: list[tuple[float, float]] = []
    peaks: list[float] = []
    dropped = 0
    for number in range(2 * settings.pairs):
        probes, figures = [probe()], {}
        for block in (one, other) if number % 2 == 0 else (other, one):
            figures[block] = block(settings.seconds)
            probes.append(probe())
        peaks += probes
        if max(probes) > MOVED * min(probes):
            dropped += 1
            continue
        measured.append((figures[one], figures[other]))
        if len(measured) == settings.pairs:
            break
    return found(measured, dropped, peaks)


def repeated(work: Callable[[], float], fewest: int = 5, clock: Callable[[], float] | None = None) -> Block:
    """A block that repeats `work`, which returns its units, at least `fewest` times: units a second of `clock`."""
    clock = clock or time.perf_counter

    def block(seconds: float) -> float:
        begin, times, done = clock(), 0, 0.0
        while times < fewest or clock() - begin < seconds:
            done += work()
            times += 1
        return done / (clock() - begin)

    return block


def duration(work: Callable[[], object], fewest: int = 5) -> Block:
    """A block that repeats `work` at least `fewest` times: seconds each time."""

    def once() -> float:
        work()
        return 1.0

    rate = repeated(once, fewest)
    return lambda seconds: 1 / rate(seconds)


def known(figure: float) -> Block:
    """A block that takes no time, as its figure is known."""
    return lambda _: figure
