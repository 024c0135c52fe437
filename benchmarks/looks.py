"""What looking after every round costs and gains: simulated studies with claims like those of `masking`.

Prints, for studies without any effect, how many have a wrong verdict; and, for studies with
two effects, the power and the cost of rounds beside those of a fixed number of seeds. A pre-training costs 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bertlab.report.looks import LookHistory
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.report.statistics.variance import Typical, measured
from bertlab.report.verdicts import holm
from bertlab.sequential.power import chance, final_level
from bertlab.store.record import ClaimLook

ROWS, MEASURES = 6, (0.35, 0.2, 0.15)
"""Variants, the first one the baseline; and what a measurement costs on each task."""
CLAIMS = ((1, 2), (5, 0), (1, 1), (5, 1))
"""The variant that is compared with the baseline, and the task."""
EFFECTS = {(1, 2): 2.5, (5, 0): 1.3}
"""Points; a seed's difference has a standard deviation of one point."""
EXAMPLES = 600

Pair = tuple[int, int]


def study(rng: np.random.Generator, effects: Mapping[Pair, float], most: int) -> dict[Pair, np.ndarray]:
    """The differences to the baseline, (S, E) for each other variant and task."""
    found = {}
    for task in range(len(MEASURES)):
        rows = []
        for _ in range(ROWS):
            seeds, own = rng.standard_normal((most, 1)) / np.sqrt(2), 4 * rng.standard_normal((1, EXAMPLES))
            rows.append(seeds + own + 8 * rng.standard_normal((most, EXAMPLES)))
        found |= {(row, task): rows[row] - rows[0] + effects.get((row, task), 0.0) for row in range(1, ROWS)}
    return found


def evaluated(data: Mapping[Pair, np.ndarray], seeds: Mapping[Pair, int]) -> dict[Pair, Effect]:
    """The effects over the first seeds of each comparison, with the variance estimated over all of them."""
    found = {}
    for pair, n in seeds.items():
        part = data[pair][:n]
        found[pair] = Effect(mean=float(part.mean()), n=n, examples=EXAMPLES, spread=measured(part))
    rows = {row: [each for (other, _), each in found.items() if other == row] for row, _ in found}
    typical = Typical.from_spreads([each.spread for each in row] for row in rows.values())
    return {pair: each.moderated(typical, rows[pair[0]]) for pair, each in found.items()}


def fixed(data: Mapping[Pair, np.ndarray], n: int) -> list[bool]:
    """Which claims a fixed number of seeds decides."""
    effects = evaluated(data, dict.fromkeys(data, n))
    return [p <= 0.05 for p in holm([effects[claim].p or 1.0 for claim in CLAIMS])]


@dataclass(frozen=True)
class Outcome:
    """What rounds found, and at what cost."""

    decided: list[bool]
    cost: float


def in_rounds(data: Mapping[Pair, np.ndarray], most: int, *, futility: bool = True) -> Outcome:
    """A study in rounds of one seed, with a look after each: as `bertlab ablate --until-decided`."""
    seeds = dict.fromkeys(CLAIMS, VERDICT_MIN_SEEDS)
    looked = dict.fromkeys(CLAIMS, LookHistory(most))
    while True:
        undecided = sum(not each for each in _decided(looked))
        for claim, effect in evaluated(data, seeds).items():
            before = looked[claim].looks
            if not before or before[-1].n < effect.n:
                power = chance(effect, None, most, final_level(looked[claim], effect.n, 0.05 / max(1, undecided)))
                p = 1.0 if effect.p is None else effect.p
                looked[claim] = LookHistory(most, (*before, _look(effect.n, p, effect.mean > 0, power)))
        decided = _decided(looked)
        ended = [each.exhausted or (futility and each.futile) for each in looked.values()]
        left = [claim for claim, *why in zip(CLAIMS, decided, ended, strict=True) if not any(why)]
        if not left:
            return Outcome(decided, _cost(seeds))
        for claim in left:
            seeds[claim] += 1


def _look(n: int, p: float, as_claimed: bool, power: float) -> ClaimLook:
    return ClaimLook(claim="", hypothesis="", on="", metric="", n=n, p=p, as_claimed=as_claimed, power=power)


def _decided(looked: Mapping[Pair, LookHistory]) -> list[bool]:
    return [p <= 0.05 for p in holm([1.0 if each.p is None else each.p for each in looked.values()])]


def _cost(seeds: Mapping[Pair, int]) -> float:
    cells = {(row, task, seed) for (other, task), n in seeds.items() for row in (0, other) for seed in range(n)}
    return len({(row, seed) for row, _, seed in cells}) + sum(MEASURES[task] for _, task, _ in cells)


def errors(studies: int, most: int, *, futility: bool) -> float:
    """The share of studies without any effect in which a claim is decided."""
    streams = (np.random.default_rng([most, number]) for number in range(studies))
    return float(np.mean([any(in_rounds(study(rng, {}, most), most, futility=futility).decided) for rng in streams]))


def compared(studies: int, most: int, numbers: Sequence[int]) -> tuple[np.ndarray, float, dict[int, np.ndarray]]:
    """Power of rounds for each claim, their mean cost, and the power of each fixed number of seeds."""
    rounds, alone = [], {n: [] for n in numbers}
    for number in range(studies):
        data = study(np.random.default_rng([1, most, number]), EFFECTS, max(most, *numbers))
        rounds.append(in_rounds(data, most))
        for n in numbers:
            alone[n].append(fixed(data, n))
    power = np.mean([each.decided for each in rounds], axis=0)
    return (
        power,
        float(np.mean([each.cost for each in rounds])),
        {n: np.mean(each, axis=0) for n, each in alone.items()},
    )


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=2000, help="studies a figure; of power, a quarter")
    parser.add_argument("--most", type=int, nargs="+", default=[6, 12], help="the most seeds of a claim")
    options = parser.parse_args()
    for most in options.most:
        for futility in (True, False):
            wrong = errors(options.studies, most, futility=futility)
            print(f"{most} seeds at most, futility {futility}: a wrong verdict in {wrong:.4f} of studies", flush=True)
    for most in options.most:
        numbers = range(VERDICT_MIN_SEEDS, most + 1)
        power, cost, alone = compared(options.studies // 4, most, numbers)
        print(f"\n{most} seeds at most: power {power[:2].mean():.3f}, cost {cost:.1f}")
        print("| seeds, fixed | power | rounds / all variants | rounds / variants of the claims |\n|--|--|--|--|")
        for n, each in alone.items():
            whole, needed = n * ROWS * (1 + sum(MEASURES)), _cost(dict.fromkeys(CLAIMS, n))
            print(f"| {n} | {each[:2].mean():.3f} | {cost / whole:.2f} | {cost / needed:.2f} |", flush=True)


if __name__ == "__main__":
    main()
