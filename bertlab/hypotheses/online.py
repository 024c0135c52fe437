"""The level of each hypothesis of a sequence, so that few of those that are kept are false: LOND.

LOND (significance levels based on the number of discoveries; Javanmard and Montanari 2015) needs to know only how many
hypotheses were kept before. With the larger of that number and 1, where they have the number plus 1, the expected share
of false ones among those kept is at most the rate if p-values are independent or depend on each other positively
(Zrnic, Ramdas and Jordan 2021), as those of ideas do that are compared with the same runs of a baseline.
"""

from bertlab.report.statistics.effects import LEVEL

RATE = round(1 - LEVEL, 9)
"""The expected share of false ones among the hypotheses that are kept, at most."""
FIRST = 50
"""Hypotheses that half of the rate is for. Of 100 ideas, of which 10 are better by 1.5 standard deviations of a seed's
difference, 12 seeds each find 78 % so; with the sequence of Javanmard and Montanari (2018), which falls faster, 49."""


def share(number: int) -> float:
    """The share of the rate that the hypothesis with this number, from 1 on, may spend; all shares add up to 1."""
    return FIRST / ((number + FIRST - 1) * (number + FIRST))


def level(number: int, discoveries: int) -> float:
    """The level of the hypothesis with this number, from 1 on, when so many of those before are kept."""
    return RATE * share(number) * max(discoveries, 1)
