"""How often verdicts are wrong: simulated studies whose truth is known, judged as a report judges them.

`python benchmarks/verdicts.py` prints tables in Markdown: wrong verdicts on families of claims without an effect,
coverage of the 95 % intervals, verdicts on rows that collapse now and then, and power. Beside each figure stands, as
`t`, that of one Student's t with Satterthwaite's degrees of freedom, each comparison alone, examples as independent.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from bertlab.lab.study import Claim
from bertlab.report.statistics.effects import Effect, effect
from bertlab.report.statistics.variance import Typical
from bertlab.report.verdicts import ClaimTest, Pair, holm, verdicts
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.metrics import Grouped, Mean, Metric

CLAIMS = 12
SEEDS = (4, 6, 10)
EASE = 2.5
"""Standard deviation of how easy examples are, where a run's own chance on an example has 1."""
OWN = 0.5
"""Of what a row finds easier or harder than other rows."""
RIGHT = 0.84 * math.sqrt(1 + EASE**2 + OWN**2)
"""The mean: 80 % of the answers are right."""
POINT = 0.01 / 0.28 * math.sqrt(1 + EASE**2 + OWN**2)
"""What raises the accuracy by a point."""


@dataclass(frozen=True, kw_only=True)
class World:
    """What simulated answers are drawn from; two rows of it have the same accuracy but for `gain`."""

    n: int = 4
    """Seeds."""
    examples: int = 1000
    noise: float = 0.0
    """Points: what a seed adds to a row, a standard deviation."""
    heavy: bool = False
    """Whether that is t of three degrees of freedom, in place of a normal."""
    finetune_seeds: int = 1
    wobble: float = 0.0
    """Points: what a fine-tuning seed adds."""
    group: int = 1
    """Examples that hang together."""
    shared: float = 0.0
    """Of what a row finds easier or harder (`OWN`), the share of the variance that a group has in common."""
    gain: float = 0.0
    """Points by which the first row is better."""
    metric: str = "accuracy"

    def row(self, ease: np.ndarray, gain: float, rng: np.random.Generator) -> np.ndarray:
        """Which answers of a row are right: (S, fine-tuning seeds, E)."""
        groups = -(-self.examples // self.group)
        common = np.repeat(rng.standard_normal(groups), self.group)[: self.examples]
        own = OWN * (math.sqrt(self.shared) * common + math.sqrt(1 - self.shared) * rng.standard_normal(self.examples))
        seeds = rng.standard_t(3, self.n) if self.heavy else rng.standard_normal(self.n)
        runs = gain + self.noise * seeds[:, None] + self.wobble * rng.standard_normal((self.n, self.finetune_seeds))
        chance = rng.standard_normal((self.n, self.finetune_seeds, self.examples), dtype=np.float32)
        return chance + (RIGHT + ease + own).astype(np.float32) + (POINT * runs[..., None]).astype(np.float32) > 0

    def measures(self, right: np.ndarray, label: np.ndarray) -> dict[int, list[Metric]]:
        """The measures of a row, by seed."""
        return {seed: [self.measure(each, label) for each in runs] for seed, runs in enumerate(right)}

    def measure(self, right: np.ndarray, label: np.ndarray) -> Metric:
        """The metric of a run."""
        arrays = {"prediction": np.where(right, label, 1 - label), "label": label}
        return KINDS["classification"].score(self.metric, arrays, ("no", "yes"))

    def effects(self, rng: np.random.Generator, rows: int = 1) -> list[tuple[Effect, Effect]]:
        """Rows minus one other: each as it is measured, and with examples as if each stood alone."""
        ease = EASE * rng.standard_normal(self.examples)
        label = (rng.random(self.examples) < 0.4).astype(int)
        baseline = self.measures(self.row(ease, 0.0, rng), label)
        found = []
        for _ in range(rows):
            one = self.measures(self.row(ease, self.gain, rng), label)
            plain = _found(one, baseline)
            found.append((plain if self.group == 1 else _found(self.grouped(one), self.grouped(baseline)), plain))
        return found

    def grouped(self, row: dict[int, list[Metric]]) -> dict[int, list[Metric]]:
        """The same with groups for examples."""
        number = np.arange(self.examples) // self.group
        return {seed: [Grouped(each, number) for each in runs] for seed, runs in row.items()}


def _found(one: dict[int, list[Metric]], two: dict[int, list[Metric]]) -> Effect:
    found = effect(one, two)
    assert found is not None
    return found


def study(worlds: Iterable[World], rng: np.random.Generator, rows: int = 1) -> tuple[list[Effect], list[Effect]]:
    """The comparisons of a study, evaluated together, and the same each alone with independent examples.

    The worlds are its tasks; on each, so many rows are compared with one baseline.
    """
    effects = [world.effects(rng, rows) for world in worlds]
    by_row = [[each for each, _ in row] for row in zip(*effects, strict=True)]
    typical = Typical.from_spreads([each.spread for each in row] for row in by_row)
    evaluated = [each.moderated(typical, by_row[row]) for task in effects for row, (each, _) in enumerate(task)]
    return evaluated, [plain for task in effects for _, plain in task]


def student(found: Effect) -> tuple[float, float, float]:
    """By one Student's t: the two-sided p-value of no effect, and the ends of the 95 % interval."""
    if found.spread is None:
        return 1.0, -math.inf, math.inf
    error, freedom = math.sqrt(found.spread.variance(found.n)), found.spread.freedom(found.n)
    half = error * float(stdtrit(freedom, 0.975))
    return 2 * float(stdtr(freedom, -abs(found.mean) / error)), found.mean - half, found.mean + half


def family(tasks: Sequence[World], studies: int, key: int = 0) -> tuple[float, float]:
    """The share of studies without any effect in which one of `CLAIMS` claims has a verdict: now, and by the t."""
    wrong = np.zeros(2)
    for rng in _streams(key, studies):
        evaluated, plain = study(tasks, rng, CLAIMS // len(tasks))
        ps = [1.0 if each.p is None else each.p for each in evaluated], [student(each)[0] for each in plain]
        wrong += [min(holm(each)) <= 0.05 for each in ps]
    return tuple(wrong / studies)


def seen(world: World, studies: int, key: int = 0, claims: int = CLAIMS) -> tuple[float, float]:
    """The share of studies in which the one claim of several that has an effect gets its verdict: now, and by the t."""
    right = np.zeros(2)
    for rng in _streams(key, studies):
        evaluated, plain = study([world, *[replace(world, gain=0.0)] * (claims - 1)], rng)
        ps = [1.0 if each.p is None else each.p for each in evaluated], [student(each)[0] for each in plain]
        right += [holm(each)[0] <= 0.05 and evaluated[0].mean > 0 for each in ps]
    return tuple(right / studies)


def coverage(world: World, studies: int, key: int = 0, together: int = 1) -> tuple[float, float]:
    """The share of 95 % intervals that cover the truth, in studies of so many comparisons: now, and by the t."""
    covered = np.zeros(2)
    for rng in _streams(key, studies):
        evaluated, plain = study([world] * together, rng)
        covered[0] += sum(each.interval is not None and each.interval.covers(0.0) for each in evaluated)
        covered[1] += sum(low <= 0 <= high for _, low, high in map(student, plain))
    return tuple(covered / studies / together)


@dataclass(frozen=True)
class Collapsing:
    """Verdicts on a row that collapses in some of its seeds."""

    better: float
    """Share of studies that find either row better."""
    student: float
    """The same by the t."""
    after: float
    """Of the studies in which it was seen to collapse."""
    unseen: float
    """Share of studies in which it did not."""


def collapsing(chance: float, gain: float, n: int, studies: int, key: int = 0) -> Collapsing:
    """A row that loses 20 points in a share of its seeds, and is `gain` points better in all others.

    One claim, two thousand examples, seeds that differ by half a point.
    """
    counts = np.zeros(4)
    claim = Claim("one lies above the other", better="one", worse="other", on="a task")
    for rng in _streams(key, studies):
        lost = rng.random(n) < chance
        noise = 0.5 * rng.standard_normal((2, n))
        ease = rng.normal(0, 15, (1, 2000)) + rng.normal(0, 40, (n, 2000))
        differences = (gain + noise[0] - noise[1] - 20 * lost)[:, None] + ease
        whole, rest = _over(differences), _over(differences[~lost])
        pair = Pair("one", "other", whole, None, collapses=bool(lost.any()), without=rest if lost.any() else None)
        decided = verdicts([ClaimTest(claim, (pair,))])[0].outcome != "undecided"
        assert whole is not None
        counts += [decided, student(whole)[0] <= 0.05, decided and lost.any(), not lost.any()]
    decided, before, after, unseen = counts / studies
    return Collapsing(decided, before, after / max(1e-9, 1 - unseen), unseen)


def _over(differences: np.ndarray) -> Effect | None:
    row = {seed: [Mean(each)] for seed, each in enumerate(differences)}
    return effect(row, {seed: [Mean(np.zeros(len(each)))] for seed, each in enumerate(differences)})


def _streams(key: int, studies: int) -> Iterator[np.random.Generator]:
    return (np.random.default_rng([key, number]) for number in range(studies))


FAMILIES = {
    f"{examples:,} examples, {'seeds differ by 1 point' if noise else 'no seed noise'}": [
        World(examples=examples, noise=noise)
    ]
    * CLAIMS
    for examples in (1000, 2000)
    for noise in (0.0, 1.0)
} | {
    "four rows against one baseline on three tasks": [World(noise=0.5)] * 3,
    "seeds differ by 0 and 3 points in turn": [World(), World(noise=3.0)] * (CLAIMS // 2),
}
"""Tasks of studies that have twelve claims."""
COVERED = {
    "accuracy": World(noise=0.5),
    "F1": World(noise=0.5, metric="f1"),
    "five fine-tuning seeds": World(noise=0.5, finetune_seeds=5, wobble=0.5),
    "5 examples a group": World(noise=0.5, group=5, shared=0.5),
    "200 examples a group": World(noise=0.5, group=200, examples=9600, shared=0.2),
    "seeds of t3": World(noise=1.0, heavy=True),
}
"""Cases in which an interval has to cover what it promises."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    for cells in itertools.chain((head, ["---"] * len(head)), rows):
        print("|", " | ".join(cells), "|", flush=True)
    print()


def _row(name: str, found: Callable[[int], tuple[float, float]]) -> list[str]:
    return [name, *(f"{now:.3f} ({before:.3f})" for now, before in map(found, SEEDS))]


def _of(tasks: Sequence[World], n: int) -> list[World]:
    return [replace(each, n=n) for each in tasks]


def _collapsing(chance: float, gain: float, n: int, studies: int) -> list[str]:
    found = collapsing(chance, gain, n, studies, n)
    shares = (found.better, found.student, found.after, found.unseen)
    return [f"{chance:.0%} of seeds", f"{gain:g}", str(n), *(f"{share:.3f}" for share in shares)]


def main() -> None:
    """Prints the tables, and those of variants that are not alike."""
    import noisy

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="studies a figure; of power, a quarter")
    studies = parser.parse_args().studies
    seeds = [f"{n} seeds" for n in SEEDS]
    print(f"{studies:,} studies a figure; in brackets by the t of each comparison alone.\n")
    _table(
        [f"any verdict on {CLAIMS} claims without an effect", *seeds],
        (_row(name, lambda n, w=tasks: family(_of(w, n), studies, n)) for name, tasks in FAMILIES.items()),  # type: ignore[misc]
    )
    for together in (1, 6):
        few = studies // together
        _table(
            [f"coverage of 95 % intervals, {together} in a study", *seeds],
            (
                _row(name, lambda n, w=world: coverage(replace(w, n=n), few, n, together))  # type: ignore[misc]  # noqa: B023
                for name, world in COVERED.items()
            ),
        )
    _table(
        ["a row fails by 20 points in", "is better in others by", "seeds", "verdict", "by t", "if seen", "never seen"],
        (
            _collapsing(chance, gain, n, studies)
            for chance, gain in ((0.05, 0.0), (0.1, 0.0), (0.05, 1.0), (0.1, 2.0))
            for n in SEEDS
        ),
    )
    large = World(examples=10_000, gain=1.0)
    _table(
        [f"an effect of 1 point found among {CLAIMS} claims, 10,000 examples; seeds differ by", *seeds],
        (
            _row(f"{noise:g} points", lambda n, s=noise: seen(replace(large, n=n, noise=s), studies // 4, n))  # type: ignore[misc]
            for noise in (0.0, 0.3, 0.5)
        ),
    )
    print(noisy.tables(studies))


if __name__ == "__main__":
    main()
