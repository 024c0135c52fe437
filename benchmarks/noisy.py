"""How often verdicts are wrong where variants are not alike: some noisier than others, or tasks that hang together.

`python benchmarks/noisy.py [--studies 2000] [--to FILE]` prints the tables as Markdown: studies without any effect,
judged at a fixed number of seeds and in rounds of 4 to 12, and the power where variants are alike. Thousands of studies
are judged at once, by the rule of `bertlab.report.statistics.variance` in arrays; `package` judges one by the functions
of a report, and a test compares the two.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import digamma, ndtr, ndtri, polygamma

from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.sequential import fraction, nominal
from bertlab.report.statistics.variance import LIGHTER, NOISY, SHARED, Typical, VarianceComponents, _scales

ROW, EASE = 0.5, 0.05
"""Points, squared: what the examples add to the variance of a run's value, and of a row's on all its seeds."""
NOISE = 2.0
"""Points: what a seed adds to a quiet row, a standard deviation."""
ROUNDS = range(4, 13)
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A study: its rows, the baseline first, and the pairs of rows that a claim on each task is about."""

    times: tuple[float, ...]
    """By row how many times as noisy as a quiet one it is."""
    pairs: Pairs
    tasks: int = 5
    together: float = 0.9
    """The correlation of a run's noise on two tasks."""
    jump: float = 0.0
    """Points on all tasks that half of the runs gain."""

    @property
    def claims(self) -> int:
        """Their number."""
        return self.tasks * len(self.pairs)

    def values(self, studies: int, n: int, key: int = 0) -> np.ndarray:
        """What each row has on each task by seed, (studies, rows, tasks, S)."""
        rng, rows = np.random.default_rng([key, n]), len(self.times)
        of_run = rng.standard_normal((studies, rows, 1, n))
        of_task = rng.standard_normal((studies, rows, self.tasks, n))
        noise = np.sqrt(self.together) * of_run + np.sqrt(1 - self.together) * of_task
        values = noise * NOISE * np.reshape(self.times, (-1, 1, 1))
        if self.jump:
            values += self.jump * (rng.random((studies, rows, 1, n)) < 0.5)
        values += np.sqrt(ROW) * rng.standard_normal(values.shape)
        return np.asarray(values + np.sqrt(EASE) * rng.standard_normal((studies, rows, self.tasks, 1)))


def judged(values: np.ndarray, pairs: Pairs, *, borrow: bool = True) -> np.ndarray:
    """The p-value of each claim of studies at once, (studies, claims): as `package`, to the first digits."""
    n = values.shape[-1]
    differences = values[:, 1:] - values[:, :1]
    ratios = differences.var(-1, ddof=1) / (2 * ROW)  # (studies, variants, tasks)
    weight, within = _weight(ratios, n), _within(differences)
    found = []
    for one, other in pairs:
        by_seed = values[:, one] - values[:, other]
        own = by_seed.var(-1, ddof=1) / (2 * ROW)
        with_baseline = other == 0
        for task in range(own.shape[1]):
            alike = ratios[:, one - 1] if with_baseline else np.zeros((len(own), 0))
            ratio, freedom = own[:, task], np.full(len(own), n - 1.0)
            lenders = ratios[0].size - with_baseline
            if borrow and lenders:
                total = ratios.sum((1, 2))
                mean = (total - with_baseline * ratio) / lenders
                others = lenders + with_baseline - alike.shape[1]
                of_others = (total - alike.sum(1)) / others if others else mean
                quiet = own.mean(1) <= NOISY * of_others
                lent = np.minimum(weight / (n - 1), lenders)
                same = own.shape[1] - 1 if with_baseline else 0
                gained = _gained(lent, lenders, same, own.shape[1], within)
                ratio = np.where(quiet, np.maximum(ratio, (ratio + lent * mean) / (1 + lent)), ratio)
                freedom = np.where(quiet, (n - 1) * (1 + LIGHTER * np.maximum(0, gained)), freedom)
            found.append(_p(by_seed[:, task].mean(-1), ratio * 2 * ROW / n, freedom))
    return np.stack(found, 1)


def _weight(ratios: np.ndarray, n: int) -> np.ndarray:
    """As `Typical.freedom`, by study; Newton's method inverts the trigamma function."""
    flat, half = ratios.reshape(len(ratios), -1), (n - 1) / 2
    found = np.full(len(flat), np.inf)
    if flat.shape[1] < 2:
        return found
    logs = np.log(np.maximum(flat, 1e-5 * np.median(flat, 1, keepdims=True))) - digamma(half) + np.log(half)
    excess = logs.var(1, ddof=1) - (1 - SHARED) * polygamma(1, half)
    aim = excess[excess > 1e-9]
    inverse = 0.5 + 1 / aim
    for _ in range(50):
        value = polygamma(1, inverse)
        inverse += value * (1 - value / aim) / polygamma(2, inverse)
    found[excess > 1e-9] = 2 * inverse
    return found


def _within(differences: np.ndarray) -> np.ndarray:
    """As `Typical.within`, by study."""
    studies, variants, tasks, n = differences.shape
    if tasks < 2:
        return np.full(studies, SHARED)
    unit = differences - differences.mean(-1, keepdims=True)
    unit /= np.sqrt((unit**2).sum(-1, keepdims=True))
    squares = np.einsum("avtn,avun->avtu", unit, unit) ** 2
    mean = (squares.sum((1, 2, 3)) - variants * tasks) / (variants * tasks * (tasks - 1))
    return np.clip((mean - 1 / (n - 1)) / (1 - 1 / (n - 1)), SHARED, 1)


def _gained(lent: np.ndarray, lenders: int, same: int, tasks: int, within: np.ndarray) -> np.ndarray:
    """Degrees of freedom gained for each own one, from lenders of which so many are of the same variant."""
    own, rest = 1 / (1 + lent), lent / (1 + lent)
    with_lenders = (same * within + (lenders - same) * SHARED) / lenders
    together = (lenders - same) * (tasks - 1) + same * (same - 1)
    share = together / (lenders * (lenders - 1)) if lenders > 1 else 0.0
    of_mean = (1 + (lenders - 1) * (share * within + (1 - share) * SHARED)) / lenders
    return np.asarray(1 / (own**2 + 2 * own * rest * with_lenders + rest**2 * of_mean) - 1)


def _p(means: np.ndarray, by_seeds: np.ndarray, freedoms: np.ndarray) -> np.ndarray:
    """Two-sided p-values of Behrens and Fisher, degrees of freedom to one decimal."""
    found = np.empty(len(means))
    for freedom in np.unique(rounded := np.round(freedoms, 1)):
        here = rounded == freedom
        scales, shares = _scales(float(freedom))
        deviations = np.sqrt(by_seeds[here, None] * scales + 2 * EASE)
        found[here] = 2 * (ndtr(-np.abs(means[here, None]) / deviations) @ shares)
    return found


def package(values: np.ndarray, pairs: Pairs) -> list[float]:
    """The p-values of the claims of one study, (rows, tasks, S), by the functions of a report."""
    rows = {(row, 0): _compared(values[row] - values[0]) for row in range(1, len(values))}
    typical = Typical.from_spreads([each.spread for each in tasks] for tasks in rows.values())
    claimed = [rows.get(pair) or _compared(values[pair[0]] - values[pair[1]]) for pair in pairs]
    ps = [each.moderated(typical, tasks).p for tasks in claimed for each in tasks]
    return [1.0 if p is None else p for p in ps]


def _compared(differences: np.ndarray) -> list[Effect]:
    """The effects on all tasks, from differences (tasks, S) over so many examples that their variance is known."""
    n, many, effects = differences.shape[1], 10**6, []
    for by_seed in differences:
        mean = float(by_seed.mean())
        spread = VarianceComponents(n, many, float(by_seed.var(ddof=1)), 2 * EASE, 2 * ROW)
        spread = replace(spread, by_seed=tuple((by_seed - mean).tolist()))
        effects.append(Effect(mean=mean, n=n, examples=many, spread=spread))
    return effects


def errors(shape: Shape, n: int, studies: int) -> tuple[float, float]:
    """The share of studies in which any claim is decided, and of 95 % intervals that cover the truth."""
    ps = judged(shape.values(studies, n), shape.pairs)
    return float((ps.min(1) * shape.claims <= 0.05).mean()), float((ps > 0.05).mean())


def errors_in_rounds(shape: Shape, studies: int) -> float:
    """The same share where all claims are looked at after each round, and none is given up."""
    values, ns = shape.values(studies, ROUNDS[-1]), list(ROUNDS)
    levels = nominal([fraction(n, ns[-1]) for n in ns], 0.05 / shape.claims)
    wrong = [(judged(values[..., :n], shape.pairs) <= level).any(1) for n, level in zip(ns, levels, strict=True)]
    return float(np.any(wrong, axis=0).mean())


def power(shape: Shape, n: int, chance: float, studies: int) -> tuple[float, float]:
    """The chance to find an effect on the first claim, at Bonferroni's level: now, and if nothing is borrowed.

    The effect is the one that has this chance if the variance is known.
    """
    level = 0.05 / shape.claims
    error = np.sqrt((2 * NOISE**2 + 2 * ROW) / n + 2 * EASE)
    values = shape.values(studies, n, 9)
    values[:, 1, 0] += error * (ndtri(1 - level / 2) + ndtri(chance))
    now, alone = (float((judged(values, shape.pairs[:1], borrow=each)[:, 0] <= level).mean()) for each in (True, False))
    return now, alone


def _one(times: float, lenders: int, together: float) -> Shape:
    return Shape(times=(1.0,) * (lenders + 1) + (times,), pairs=((lenders + 1, 0),), together=together)


def _all(variants: int, *, tasks: int = 3, together: float = 0.9) -> Shape:
    """Claims on all variants, which are alike."""
    pairs = tuple((row, 0) for row in range(1, variants + 1))
    return Shape(times=(1.0,) * (variants + 1), pairs=pairs, tasks=tasks, together=together)


LEARNED = 0.15
"""Of `NOISE`, where half of the runs learn what the others do not."""
SHAPES = {
    f"one variant {times} times as noisy, {lenders} quiet ones, tasks {word}": _one(times, lenders, together)
    for word, together in (("together", 0.9), ("apart", 0.0))
    for times in (5, 3, 2)
    for lenders in (7, 3)
} | {
    "one of six 3 times as noisy, over another variant": Shape(times=(1.0,) * 6 + (3.0,), pairs=((6, 5),)),
    "one of six 5 times as noisy, over another variant": Shape(times=(1.0,) * 6 + (5.0,), pairs=((6, 5),)),
    "two variants, both 3 times as noisy": Shape(times=(1.0, 3.0, 3.0), pairs=((1, 0), (2, 0)), tasks=3),
    "two of eight 5 times as noisy": Shape(times=(1.0,) * 7 + (5.0,) * 2, pairs=((7, 0), (8, 0))),
    "claims on four variants, one 5 times as noisy": replace(_all(4), times=(1.0,) * 4 + (5.0,)),
    "one variant, tasks apart": _all(1, tasks=5, together=0.0),
    "one variant, tasks together": _all(1, tasks=5),
    "four variants, tasks apart": _all(4, together=0.0),
    "four variants, tasks together": _all(4),
    "eight variants, tasks together": _all(8, tasks=5),
    "half of the runs gain 5 points, four variants": replace(_all(4), times=(LEARNED,) * 5, jump=5.0),
    "half of the runs gain 5 points, one variant": replace(_all(1, tasks=5), times=(LEARNED,) * 2, jump=5.0),
    "half of the runs gain 5 points, one claim": replace(_all(1, tasks=1), times=(LEARNED,) * 2, jump=5.0),
}
"""Studies without any effect."""
LOOKED_AT = tuple(name for name in SHAPES if "7 quiet ones, tasks together" in name or "gain 5 points, one v" in name)
ALIKE = {
    "8 variants, 5 tasks together": _all(8, tasks=5),
    "4 variants, 3 tasks apart": _all(4, together=0.0),
    "5 variants, 2 tasks half together": _all(5, tasks=2, together=0.5),
    "1 variant, 5 tasks apart": _all(1, tasks=5, together=0.0),
}


def tables(studies: int) -> str:
    """The tables, in Markdown."""
    lines = [
        f"{studies:,} studies a figure.",
        "",
        "| without an effect | wrong, n = 4 | n = 6 | coverage, n = 4 | n = 6 |",
    ]
    lines += ["|---|---:|---:|---:|---:|"]
    for name, shape in SHAPES.items():
        (wrong, covered), (later, more) = (errors(shape, n, studies) for n in (4, 6))
        lines.append(f"| {name} | {wrong:.3f} | {later:.3f} | {covered:.3f} | {more:.3f} |")
    lines += ["", "| in rounds of 4 to 12 seeds | wrong |", "|---|---:|"]
    lines += [f"| {name} | {errors_in_rounds(SHAPES[name], studies):.3f} |" for name in LOOKED_AT]
    lines += [
        "",
        "| power, variants alike (nothing borrowed) | 50 %, n = 4 | 80 %, n = 4 | 50 %, n = 6 | 80 %, n = 6 |",
    ]
    lines += ["|---|---:|---:|---:|---:|"]
    for name, shape in ALIKE.items():
        found = [power(shape, n, chance, studies) for n in (4, 6) for chance in (0.5, 0.8)]
        lines.append(f"| {name} | " + " | ".join(f"{now:.2f} ({alone:.2f})" for now, alone in found) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Prints the tables, or writes them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="studies a figure")
    parser.add_argument("--to", type=Path, help="the file to write", metavar="FILE")
    options = parser.parse_args()
    found = tables(options.studies)
    print(found)
    if options.to:
        options.to.write_text(found, encoding="utf-8")


if __name__ == "__main__":
    main()
