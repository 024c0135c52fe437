"""Checks: a figure, its expected value, and the test that compares them.

A property of every sequence is compared exactly. A random share fails if the expected share would deviate as much less
than once in a million times: a clean audit of a hundred figures fails once in ten thousand.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertlab.arrays import Array

UNLIKELY = 1e-6
"""The p-value below which a share fails."""
_LEAST_VARIANCE = 25.0
"""The variance below which a sum of draws is not close enough to normal for tails of `UNLIKELY`."""


@dataclass(frozen=True)
class Check:
    """One figure of an audit."""

    figure: str
    found: str
    expected: str
    test: str
    """How the two were compared, and the size of the sample."""
    holds: bool | None
    """None if the sample is too small to decide."""
    where: str = ""
    """The first deviation, if the check fails."""


def always(
    figure: str, expected: str, wrong: Any, where: Callable[[int], str], result: str = "always", of: str = "sequences"
) -> Check:
    """A property of each of N things: `wrong` (N,) flags those without it, and `where` names one by its number."""
    count = int(wrong.sum())
    if count:
        result = f"wrong in {count:,}" if result in ("always", "never") else f"{result}, wrong in {count:,}"
    first = where(int(wrong.argmax())) if count else ""
    return Check(figure, result, expected, f"exact, {len(wrong):,} {of}", not count, first)


def share(figure: str, hits: int, draws: int, expected: float, of: str = "tokens") -> Check:
    """A share of independent `draws`: the exact binomial test."""
    from scipy.stats import binomtest

    if not draws:
        return Check(figure, "", f"{expected:.2%}", "none drawn", None)
    p = float(binomtest(hits, draws, expected).pvalue)
    return Check(figure, f"{hits / draws:.2%}", f"{expected:.2%}", f"p = {p:.2g}, {draws:,} {of}", p >= UNLIKELY)


def total(
    figure: str, observed: float, expected: float, variance: float, unit: float, draws: int, of: str = "tokens"
) -> Check:
    """A sum over `draws`, against its expectation and variance; shown as shares of `unit`."""
    shown, of = f"{expected / unit:.2%}" if unit else "", f"{draws:,} {of}"
    if variance < _LEAST_VARIANCE:
        return Check(figure, "", shown, f"too few, {of}", None)
    p = math.erfc(abs(observed - expected) / math.sqrt(2 * variance))
    return Check(figure, f"{observed / unit:.2%}", shown, f"p = {p:.2g}, {of}", p >= UNLIKELY)


def alike(figure: str, one: Array, other: Array, least: float, names: tuple[str, str]) -> Check:
    """Whether two samples have one distribution: their Kolmogorov-Smirnov distance. Of flags it compares the shares.

    The distance may be `least`, and beyond it what is left to chance in samples of these sizes.
    """
    from scipy.stats import ks_2samp

    expected, draws = f"alike, to {least:.0%}", f"{len(one) + len(other):,} sequences"
    if min(len(one), len(other)) < _LEAST_VARIANCE:
        return Check(figure, "", expected, f"too few, {draws}", None)
    distance = float(ks_2samp(one.astype(np.float64), other.astype(np.float64), method="asymp").statistic)
    most = least + math.sqrt(-math.log(UNLIKELY / 2) / 2 * (1 / len(one) + 1 / len(other)))
    digits = ".2%" if one.dtype == np.bool_ else ".2f"
    means_text = f"{one.mean():{digits}} of {names[0]}, {other.mean():{digits}} of {names[1]}"
    test = f"distance {distance:.2%}, at most {most:.2%}, {draws}"
    return Check(figure, means_text, expected, test, distance <= most)
