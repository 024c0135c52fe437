"""The differences between all pairs of variants of a study, on each measurement, endpoint and milestone."""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bertlab.report.comparisons import Comparison
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import Effect
from bertlab.report.study_results import StudyResults

METRIC = "metric"
ENDPOINTS = {METRIC: "paper's metric", LIKELIHOOD: "likelihood"}
"""The endpoints whose signs are compared, with their names on a page."""
ROUNDING = 1e-9
"""A mean this close to zero is zero: means of equal predictions differ by some 1e-13."""
SECTION = ["study", "scale", "setting", "key"]
"""The columns of `Section.columns`, which no other section of the store shares: tables are read without its pages."""
PAIR = ["measurement", "variant", "other"]


class Pair(NamedTuple):
    """A variant minus another one, which stands before it in the study; the baseline is the first."""

    measurement: str
    variant: str
    other: str
    endpoint: str
    """A name of `ENDPOINTS`."""
    milestone: int
    flops: float | None
    """The operations of the baseline's pre-training until the milestone; None if it was not trained here."""
    effect: Effect
    runs: frozenset[str]
    """The ids of the runs that are compared."""


def measured_pairs(
    study: StudyResults, wanted: Callable[[str, str, str], object] = lambda variant, measurement, other: True
) -> Iterator[Pair]:
    """The measured pairs of pre-trained variants, of those that `wanted` is true of.

    Measurements that repeat another one are left out, and variants with the same runs.
    """
    whole = next((run.flops for run in study.of(study.baseline) if run.flops is not None), None)
    for name in study.distinct:
        milestones, originals = study.milestones(name), study.originals(name)
        for other, variant in itertools.combinations([study.baseline, *study.others], 2):
            if originals.get(variant) == originals.get(other) or not wanted(variant, name, other):
                continue
            for endpoint, milestone in itertools.product(ENDPOINTS, milestones):
                metric = LIKELIHOOD if endpoint == LIKELIHOOD else ""
                effect = study.effect(Comparison((variant, other), name, metric, (milestone, milestone)))
                if effect is None:
                    continue
                cells = [study.by_seed(side, name, milestone) for side in (variant, other)]
                runs = frozenset(cell.run_id for side in cells for seed in effect.by_seed for cell in side[seed])
                flops = None if whole is None else whole * milestone / 100
                yield Pair(name, variant, other, endpoint, milestone, flops, effect, runs)
