"""Fine-tunings of one model that differ in their seed alone, its random restarts: how many fail, how far their scores
lie apart, and the best of several."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from bertlab.grouping import grouped
from bertlab.report.cells import Cell
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table, center, label

ACCURACY = "accuracy"
"""The metric by which a run has failed where its task has it, whatever the measurement reports."""
DIVERGED = "diverged"


@dataclass(frozen=True)
class Restarts:
    """The fine-tunings of a variant on a measurement, of one model or several."""

    models: Sequence[Sequence[Cell]]
    """The fine-tunings of each model, at least one, finished or diverged."""

    @property
    def points(self) -> list[list[float]]:
        """The scores of each model; a diverged run has none."""
        return [[cell.value for cell in cells if cell.value is not None] for cells in self.models]

    @property
    def fewest(self) -> int:
        """The least number of scores of a model."""
        return min(map(len, self.points))

    @property
    def failed(self) -> tuple[int, int] | None:
        """How many runs failed, and of how many this is known; None if of none."""
        failures = [failure for failure in map(has_failed, itertools.chain(*self.models)) if failure is not None]
        return (sum(failures), len(failures)) if failures else None

    @property
    def sd(self) -> float | None:
        """The standard deviation of the restarts of a model, pooled over the models; None without several restarts."""
        several = [points for points in self.points if len(points) > 1]
        freedom = sum(len(points) - 1 for points in several)
        squares = math.fsum(variance(points) * (len(points) - 1) for points in several)
        return math.sqrt(squares / freedom) if freedom else None

    @property
    def worst(self) -> float | None:
        """The lowest score of all."""
        return min(itertools.chain(*self.points), default=None)

    def best_of(self, k: int) -> float | None:
        """The score to expect of the best of `k` restarts of a model, a mean over the models; None with fewer."""
        return fmean(expected_best(points, k) for points in self.points) if self.fewest >= k else None


def expected_best(points: Sequence[float], k: int) -> float:
    """The mean of the largest of `k` of these points, over all ways to choose `k` of them."""
    ways = math.comb(len(points), k)
    return math.fsum(point * math.comb(rank, k - 1) / ways for rank, point in enumerate(sorted(points)))


def has_failed(cell: Cell) -> bool | None:
    """Whether a fine-tuning diverged or is not above the majority guess (a failed run in Mosbach et al. 2021, section
    3.2), in accuracy where its task has it; None if the guess is not known."""
    if cell.status == DIVERGED:
        return True
    metric = ACCURACY if ACCURACY in cell.guesses else cell.metric
    guess, score = cell.guesses.get(metric), cell.metrics.get(metric)
    return None if guess is None or score is None else score <= guess


def restarts(study: StudyResults, variant: str, measurement: str) -> Restarts | None:
    """The restarts of a variant on a task; None without a finished run."""
    ended = (cell for cell in study.at(variant, measurement) if cell.value is not None or cell.status == DIVERGED)
    models = grouped((cell.pretrain_id, cell) for cell in ended if cell.of_answers)
    return Restarts([*models.values()]) if models else None


def table(study: StudyResults) -> Table:
    """A line for each measurement and variant: failed runs, and spread and extremes over restarts. It has no lines
    where no model has several."""
    pairs = itertools.product(study.distinct, study.variants)
    measured = {pair: restart for pair in pairs if (restart := restarts(study, pair[1], pair[0]))}
    k = min((restart.fewest for restart in measured.values() if restart.fewest > 1), default=0)
    rows = []
    for (name, variant), restart in measured.items() if k else ():
        failed = "{} of {}".format(*restart.failed) if restart.failed else ""
        about = study.head(name), label(study, variant), failed, center(study, variant, name)[0]
        numbers = restart.sd, restart.worst, restart.best_of(k)
        rows.append((*about, *("" if number is None else f"{number:.{study.digits(name)}f}" for number in numbers)))
    columns = ("on", "variant", "failed runs", study.center, "sd of restarts", "worst", f"best of {k}")
    return Table(columns, tuple(rows), ("variant",))
