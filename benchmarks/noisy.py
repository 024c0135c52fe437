"""Verdicts where variants are not alike: some noisier than those that they could borrow from, tasks that hang together.

Studies without any effect, as the values of their seeds: what the examples add is drawn with its known variance. Each
is judged by the functions of a report. `verdicts.py` prints and writes the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.variance import Typical, VarianceComponents
from bertlab.report.verdicts import holm

EXAMPLES = 2000
ROW = 0.5
"""Points, squared: what a run's own chance on each example adds to the variance of its value."""
TASK = 0.05
"""The same of what a row finds easier or harder than others, on all its seeds."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A study: its rows, the baseline first, and its claims, each pair of rows on all tasks."""

    noise: tuple[float, ...]
    """By row what a seed adds, a standard deviation in points."""
    claims: tuple[tuple[int, int], ...]
    tasks: int = 5
    together: float = 0.9
    """The correlation of a run's noise on two tasks."""
    jump: float = 0.0
    """Points that a run gains on all tasks if it learns something that half of the runs learn."""

    def values(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """The value of each row on each task by seed, (rows, tasks, S)."""
        rows = len(self.noise)
        of_run, of_task = rng.standard_normal((rows, 1, n)), rng.standard_normal((rows, self.tasks, n))
        noise = np.sqrt(self.together) * of_run + np.sqrt(1 - self.together) * of_task
        learned = self.jump * (rng.random((rows, 1, n)) < 0.5)
        by_example = np.sqrt(ROW) * rng.standard_normal((rows, self.tasks, n))
        ease = np.sqrt(TASK) * rng.standard_normal((rows, self.tasks, 1))
        return noise * np.reshape(self.noise, (-1, 1, 1)) + learned + by_example + ease

    def effects(self, values: np.ndarray, *, borrow: bool = True) -> list[Effect]:
        """The effects that the claims are about, task by task."""
        rows = {(row, 0): _compared(values[row] - values[0]) for row in range(1, len(values))}
        typical = Typical.of([each.spread for each in tasks] for tasks in rows.values()) if borrow else None
        claimed = {pair: rows.get(pair) or _compared(values[pair[0]] - values[pair[1]]) for pair in self.claims}
        return [each.moderated(typical, tasks) for tasks in claimed.values() for each in tasks]


def _compared(differences: np.ndarray) -> list[Effect]:
    """The effects on all tasks of differences (tasks, S)."""
    n = differences.shape[1]
    effects = []
    for by_seed in differences:
        mean, variance = float(by_seed.mean()), float(by_seed.var(ddof=1))
        spread = VarianceComponents(
            n, EXAMPLES, variance, 2 * TASK, 2 * ROW, deviations=tuple((by_seed - mean).tolist())
        )
        effects.append(Effect(mean=mean, n=n, examples=EXAMPLES, spread=spread))
    return effects


def _one_noisy(times: float, lenders: int, together: float) -> Shape:
    """One variant so many times as noisy as the others, and claims on it alone."""
    return Shape(noise=(2.0,) * (lenders + 1) + (2 * times,), claims=((lenders + 1, 0),), together=together)


SHAPES = (
    {
        f"one variant {times} times as noisy as {lenders} others, tasks {word}": _one_noisy(times, lenders, together)
        for word, together in (("together", 0.9), ("apart", 0.0))
        for times in (5, 3, 2)
        for lenders in (7, 3)
    }
    | {
        f"the noisiest of six, {times} times, over another than the baseline": Shape(
            noise=(2.0,) * 6 + (2.0 * times,), claims=((6, 5),)
        )
        for times in (3, 5)
    }
    | {
        "two variants, both 3 times as noisy as the baseline": Shape(
            noise=(2.0, 6.0, 6.0), claims=((1, 0), (2, 0)), tasks=3
        ),
        "two of eight variants 5 times as noisy": Shape(noise=(2.0,) * 7 + (10.0,) * 2, claims=((7, 0), (8, 0))),
        "all claims on four variants, one 5 times as noisy": Shape(
            noise=(2.0,) * 4 + (10.0,), claims=tuple((row, 0) for row in range(1, 5)), tasks=3
        ),
        "one variant, tasks apart": Shape(noise=(2.0,) * 2, claims=((1, 0),), together=0.0),
        "one variant, tasks together": Shape(noise=(2.0,) * 2, claims=((1, 0),)),
        "four variants, tasks apart": Shape(
            noise=(2.0,) * 5, claims=tuple((row, 0) for row in range(1, 5)), tasks=3, together=0.0
        ),
        "four variants, tasks together": Shape(
            noise=(2.0,) * 5, claims=tuple((row, 0) for row in range(1, 5)), tasks=3
        ),
        "eight variants, tasks together": Shape(noise=(2.0,) * 9, claims=tuple((row, 0) for row in range(1, 9))),
        "half of the runs learn 5 points, four variants": Shape(
            noise=(0.3,) * 5, claims=tuple((row, 0) for row in range(1, 5)), tasks=3, jump=5.0
        ),
        "half of the runs learn 5 points, one variant": Shape(noise=(0.3,) * 2, claims=((1, 0),), jump=5.0),
        "half of the runs learn 5 points, one claim": Shape(noise=(0.3,) * 2, claims=((1, 0),), tasks=1, jump=5.0),
    }
)
"""Studies in which no claim is true."""

ALIKE = {
    "40 claims, 8 variants, tasks together": Shape(noise=(2.0,) * 9, claims=tuple((row, 0) for row in range(1, 9))),
    "12 claims, 4 variants, tasks apart": Shape(
        noise=(2.0,) * 5, claims=tuple((row, 0) for row in range(1, 5)), tasks=3, together=0.0
    ),
    "10 claims, 5 variants, tasks half together": Shape(
        noise=(2.0,) * 6, claims=tuple((row, 0) for row in range(1, 6)), tasks=2, together=0.5
    ),
    "5 claims, 1 variant, tasks apart": Shape(noise=(2.0,) * 2, claims=((1, 0),), together=0.0),
}
"""Studies whose variants are equally noisy, for power."""


def errors(shape: Shape, n: int, studies: int, key: int = 0) -> tuple[float, float]:
    """The share of studies in which any claim is decided, and the share of 95 % intervals that cover the truth."""
    wrong = covered = 0.0
    for values in _drawn(shape, n, studies, key):
        ps = [1.0 if each.p is None else each.p for each in shape.effects(values)]
        wrong += min(holm(ps)) <= 0.05
        covered += float(np.mean([p > 0.05 for p in ps]))  # the interval is that of the test
    return wrong / studies, covered / studies


def power(shape: Shape, n: int, gain: float, studies: int, key: int = 0) -> tuple[float, float]:
    """The share of studies that find an effect of so many points on the first claim: now, and without borrowing."""
    seen = np.zeros(2)
    claims = shape.tasks * len(shape.claims)
    for values in _drawn(shape, n, studies, key):
        values[1, 0] += gain
        first = [shape.effects(values, borrow=borrow)[0].p or 1.0 for borrow in (True, False)]
        seen += [p * claims <= 0.05 for p in first]
    return float(seen[0]) / studies, float(seen[1]) / studies


def _drawn(shape: Shape, n: int, studies: int, key: int) -> Iterator[np.ndarray]:
    return (shape.values(n, np.random.default_rng([key, n, number])) for number in range(studies))


def gain(shape: Shape, n: int, chance: float, key: int = 1) -> float:
    """The effect, in points, that the test of the claim sees with this chance where all variances are known."""
    from scipy.special import ndtri

    level = 0.05 / (shape.tasks * len(shape.claims))
    error = float(np.sqrt((2 * shape.noise[0] ** 2 + 2 * ROW) / n + 2 * TASK))
    return error * float(ndtri(1 - level / 2) + ndtri(chance))
