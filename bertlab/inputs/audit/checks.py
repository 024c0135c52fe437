"""A figure beside its expectation, and the test that decides between them.

What must hold always is compared exactly. A share of random draws fails where a true expectation would give a deviation
as large less than once in a million times: a clean audit of a hundred figures fails once in ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Shares = npt.NDArray[np.float64]

UNLIKELY = 1e-6
"""The two-sided p below which a share fails."""
_LEAST_VARIANCE = 25.0
"""Below it a sum of draws is not near enough to normal for tails of `UNLIKELY`."""


@dataclass(frozen=True)
class Check:
    """One figure of an audit."""

    figure: str
    """What was counted."""
    found: str
    expected: str
    test: str
    """How the two were compared, and over how many."""
    holds: bool | None
    """None where too little was drawn to say."""
    where: str = ""
    """Of a check that fails: the first place that shows it."""


def always(
    figure: str,
    expected: str,
    wrong: npt.ArrayLike,
    where: Callable[[int], str],
    found: str = "always",
    of: str = "sequences",
) -> Check:
    """What must hold for each of N things: `wrong` (N,) says where it does not, and `where` what number i is called."""
    wrong = np.asarray(wrong)
    count = int(wrong.sum())
    found = f"{found}, but not in {count:,}" if count else found
    first = where(int(wrong.argmax())) if count else ""
    return Check(figure, found, expected, f"exact, {len(wrong):,} {of}", not count, first)


def share(figure: str, hits: int, draws: int, expected: float, of: str = "tokens", at_most: bool = False) -> Check:
    """A share of independent `draws`: the exact binomial test, one-sided with `at_most`."""
    from scipy.stats import binomtest

    said = f"{'at most ' if at_most else ''}{expected:.2%}"
    if not draws:
        return untested(figure, said, "none drawn")
    p = binomtest(hits, draws, expected, alternative="greater" if at_most else "two-sided").pvalue
    return _likely(figure, f"{hits / draws:.2%}", said, float(p), f"{draws:,} {of}")


def total(
    figure: str, found: float, expected: float, variance: float, unit: float, draws: int, of: str = "tokens"
) -> Check:
    """A sum over `draws`, against its expectation and variance; shown in shares of `unit`."""
    if variance < _LEAST_VARIANCE:
        return untested(figure, f"{expected / unit:.2%}" if unit else "", f"too few, {draws:,} {of}")
    p = _two_sided((found - expected) / math.sqrt(variance))
    return _likely(figure, f"{found / unit:.2%}", f"{expected / unit:.2%}", p, f"{draws:,} {of}")


def evenly(figure: str, expected: str, counts: Numbers, rates: Shares) -> Check:
    """Whether `counts` (N,) come about at the `rates` (N,): chi-squared, by a gamma law of its mean and variance."""
    from scipy.stats import gamma

    draws, kinds = int(counts.sum()), len(counts)
    if draws < kinds:
        return untested(figure, expected, f"too few, {draws:,} tokens for {kinds:,}")
    wanted = rates * (draws / rates.sum())
    statistic = float(((counts - wanted) ** 2 / wanted).sum())
    mean = kinds - 1
    variance = 2 * mean + float((1 / wanted).sum()) - (kinds**2 + 2 * kinds - 2) / draws
    p = float(gamma.sf(statistic, mean**2 / variance, scale=variance / mean))
    return _likely(figure, f"chi-squared {statistic:,.0f} of {kinds:,}", expected, p, f"{draws:,} tokens")


def uncorrelated(figure: str, one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Check:
    """Whether two orders of the same N sequences have nothing to do with each other: Spearman's rank correlation."""
    draws = len(one)
    if draws < _LEAST_VARIANCE:
        return untested(figure, "correlation 0", f"too few, {draws:,} sequences")
    ranks = [np.argsort(np.argsort(each)) - (draws - 1) / 2 for each in (one, other)]
    correlation = float(ranks[0] @ ranks[1] / math.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    p = _two_sided(correlation * math.sqrt(draws - 1))
    return _likely(figure, f"correlation {correlation:.3f}", "correlation 0", p, f"{draws:,} sequences")


def alike(
    figure: str,
    values: npt.NDArray[Any],
    label: Flags,
    least: float,
    of: str = "sequences",
    names: tuple[str, str] = ("true pairs", "random ones"),
) -> Check:
    """Whether `values` (N,) are distributed alike under both labels: the Kolmogorov-Smirnov distance of the two.

    It may be `least` without a fault; beyond, it may be what N draws leave to chance. Of flags it is the difference of
    their shares. `names` are those of the two labels.
    """
    counts = int((~label).sum()), int(label.sum())
    expected = f"alike, to {least:.0%}"
    if min(counts) < _LEAST_VARIANCE:
        return untested(figure, expected, f"too few, {len(label):,} {of}")
    steps = np.unique(values)
    true, random = (
        np.searchsorted(np.sort(values[kind]), steps, side="right") / count
        for kind, count in zip((~label, label), counts, strict=True)
    )
    distance = float(np.abs(true - random).max())
    chance = math.sqrt(-math.log(UNLIKELY / 2) / 2 * sum(1 / count for count in counts))
    means = [f"{values[kind].mean():{'.2%' if values.dtype == np.bool_ else '.2f'}}" for kind in (~label, label)]
    found = f"{means[0]} of {names[0]}, {means[1]} of {names[1]}"
    test = f"distance {distance:.2%}, at most {least + chance:.2%}, {len(label):,} {of}"
    return Check(figure, found, expected, test, distance <= least + chance)


def untested(figure: str, expected: str, reason: str) -> Check:
    """A figure of which too little was drawn."""
    return Check(figure, "", expected, reason, None)


def _likely(figure: str, found: str, expected: str, p: float, draws: str) -> Check:
    return Check(figure, found, expected, f"p = {p:.2g}, {draws}", p >= UNLIKELY)


def _two_sided(deviations: float) -> float:
    """The chance of a normal variable to lie so many standard deviations or more from its mean."""
    return math.erfc(abs(deviations) / math.sqrt(2))
