"""A figure beside its expectation, and the test that decides between them.

What must hold always is compared exactly. A share of random draws fails where a true expectation would give a deviation
as large less than once in a million times: a clean audit of a hundred figures fails once in ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

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


def always(figure: str, expected: str, wrong: Flags, where: Callable[[int], str], found: str = "") -> Check:
    """What must hold for each of N things: `wrong` (N,) says where it does not, and `where` what number i is called."""
    count = int(wrong.sum())
    found = found if not count else f"{found}, not so in {count:,}" if found else f"not so in {count:,}"
    first = where(int(wrong.argmax())) if count else ""
    return Check(figure, found or "always", expected, f"exact, {len(wrong):,}", not count, first)


def share(figure: str, hits: int, total: int, expected: float, at_most: bool = False) -> Check:
    """A share of `total` independent draws: the exact binomial test, one-sided with `at_most`."""
    from scipy.stats import binomtest

    said = f"{'at most ' if at_most else ''}{expected:.2%}"
    if not total:
        return untested(figure, said, "none drawn")
    p = binomtest(hits, total, min(expected, 1.0), alternative="greater" if at_most else "two-sided").pvalue
    return Check(figure, f"{hits / total:.2%}", said, f"p = {p:.2g}, {total:,}", bool(p >= UNLIKELY))


def total(figure: str, found: float, expected: float, variance: float, unit: float, count: int) -> Check:
    """A sum over draws, against its expectation and variance; shown as shares of `unit`."""
    from scipy.stats import norm

    if not unit or variance < _LEAST_VARIANCE:
        return untested(figure, f"{expected / unit:.2%}" if unit else "", f"too few, {count:,}")
    p = 2 * float(norm.sf(abs(found - expected) / math.sqrt(variance)))
    shown = f"{found / unit:.2%}", f"{expected / unit:.2%}"
    return Check(figure, *shown, f"p = {p:.2g}, {count:,}", p >= UNLIKELY)


def uncorrelated(figure: str, one: Numbers, other: Numbers) -> Check:
    """Whether two orders of the same N things have nothing to do with each other: Spearman's rank correlation."""
    from scipy.stats import norm

    count = len(one)
    if count < _LEAST_VARIANCE:
        return untested(figure, "correlation 0", f"too few, {count:,}")
    ranks = [np.argsort(np.argsort(each)) - (count - 1) / 2 for each in (one, other)]
    correlation = float(ranks[0] @ ranks[1] / math.sqrt((ranks[0] @ ranks[0]) * (ranks[1] @ ranks[1])))
    p = 2 * float(norm.sf(abs(correlation) * math.sqrt(count - 1)))
    return Check(figure, f"correlation {correlation:.3f}", "correlation 0", f"p = {p:.2g}, {count:,}", p >= UNLIKELY)


def untested(figure: str, expected: str, reason: str) -> Check:
    """A figure of which too little was drawn."""
    return Check(figure, "", expected, reason, None)
