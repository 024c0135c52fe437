"""What `bertlab judge --ledger` keeps of sequences of ideas, of which all or most are no better than the baseline.

`python benchmarks/ideas.py [--sequences 1000]` prints a table: the mean share of false ones among what is kept in a
sequence (0 where nothing is), how many sequences keep a false one, how many ideas are kept, the share of the better
ideas that are, and seeds an idea. An idea has 4 to 12 seeds, a look after each, and the rules of `bertlab.hypotheses`,
for all sequences at once; a test compares them with the package. Beside them: the same looks with a one-sided p < .05
at any, and one seed an idea, kept if it is better than the best so far.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from bertlab.hypotheses import online
from bertlab.report.looks import FUTILE
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS
from bertlab.report.statistics.sequential import fraction, nominal

MOST, IDEAS = 12, 100
SEEDS = range(VERDICT_MIN_SEEDS, MOST + 1)
Levels = Callable[[float], tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Sequences of ideas."""

    name: str
    better: int = 0
    """How many of the ideas are better, anywhere in the sequence."""
    by: float = 1.5
    """How much, in standard deviations of a seed's difference."""
    shared: bool = True
    """Whether all ideas are compared with the same runs of the baseline."""

    def values(self, sequences: int) -> tuple[np.ndarray, np.ndarray]:
        """What each idea has at each seed more than the baseline, (sequences, ideas, S), and which are better."""
        rng = np.random.default_rng([sequences, self.better, self.shared])
        runs = rng.standard_normal((sequences, IDEAS, MOST)) / np.sqrt(2)
        runs -= rng.standard_normal((sequences, 1 if self.shared else IDEAS, MOST)) / np.sqrt(2)
        better = rng.permuted(np.broadcast_to(np.arange(IDEAS) < self.better, (sequences, IDEAS)), axis=1)
        return runs + self.by * better[..., None], better


def spending(level: float) -> tuple[float, ...]:
    """The two-sided level of each look in a test of one direction at this level."""
    return tuple(nominal([fraction(n, MOST) for n in SEEDS], 2 * level))


def repeated(level: float) -> tuple[float, ...]:
    """The same level at each look."""
    return (2 * level,) * len(SEEDS)


def judged(differences: np.ndarray, levels: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Which ideas are kept, (ideas,), and the seeds of each, by their differences (ideas, S) and the level of looks."""
    kept, seeds, is_open = (
        np.zeros(len(differences), bool),
        np.zeros(len(differences), int),
        np.ones(len(differences), bool),
    )
    for n, level in zip(SEEDS, levels, strict=True):
        seen = differences[:, :n]
        mean, sd = seen.mean(1), seen.std(1, ddof=1)
        p = 2 * stdtr(n - 1, -np.abs(mean) / (sd / np.sqrt(n)))
        seeds[is_open] = n
        kept |= is_open & (p <= level) & (mean > 0)
        needed = stdtrit(MOST - 1, 1 - levels[-1] / 2) * sd / np.sqrt(MOST)
        chance = ndtr((mean - needed) / np.maximum(1e-12, sd * np.sqrt(MOST - n) / MOST))
        is_open &= ~kept & (mean > 0) & (chance >= FUTILE)
    return kept, seeds


def in_sequence(values: np.ndarray, looks: Levels, *, online_levels: bool) -> tuple[np.ndarray, np.ndarray]:
    """What is kept of each sequence, (sequences, ideas), and the seeds."""
    kept, seeds = np.zeros(values.shape[:2], bool), np.zeros(values.shape[:2], int)
    for idea in range(values.shape[1]):
        discoveries = kept.sum(1)
        for before in np.unique(discoveries):
            here = discoveries == before
            level = online.level(idea + 1, int(before)) if online_levels else online.RATE
            kept[here, idea], seeds[here, idea] = judged(values[here, idea], looks(level))
    return kept, seeds


def greedy(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for one seed an idea, where each that is better than all before is kept."""
    first = values[..., 0]
    best = np.maximum.accumulate(np.concatenate([np.zeros((len(first), 1)), first], axis=1), axis=1)[:, :-1]
    return first > best, np.ones(first.shape, int)


def row(name: str, kept: np.ndarray, seeds: np.ndarray, better: np.ndarray) -> str:
    """A line of the table."""
    false, total = (kept & ~better).sum(1), kept.sum(1)
    share, wrong = (false / np.maximum(1, total)).mean(), 100 * (false > 0).mean()
    power = f"{100 * (kept & better).sum() / better.sum():.0f} %" if better.any() else ""
    return f"| {name} | {share:.3f} | {wrong:.1f} % | {total.mean():.2f} | {power} | {seeds.mean():.1f} |"


SCENARIOS = (
    Scenario(name="100 null ideas"),
    Scenario(name="100 null ideas, a baseline each", shared=False),
    Scenario(name="10 of 100 better", better=10),
    Scenario(name="50 of 100 better", better=50),
)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=1000)
    sequences = parser.parse_args().sequences
    print("| ideas, rule | false share | a false one in | kept | of the better | seeds |\n|:--|--:|--:|--:|--:|--:|")
    for scenario in SCENARIOS:
        values, better = scenario.values(sequences)
        rules = {
            "ledger": in_sequence(values, spending, online_levels=True),
            "p < .05 at any look": in_sequence(values, repeated, online_levels=False),
            "better than the best so far": greedy(values),
        }
        for name, (kept, seeds) in rules.items():
            print(row(f"{scenario.name}: {name}", kept, seeds, better), flush=True)


if __name__ == "__main__":
    main()
