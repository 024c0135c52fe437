"""What a report derives from the results of a study: who shares whose pre-training, means, floors, and gains."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from bertlab.recipe.objective import Premise
from bertlab.report import numerics
from bertlab.report.cells import EXCHANGED, FLOORS
from bertlab.report.comparisons import Comparisons, originals
from bertlab.report.statistics.effects import LEVEL, Effect, Summary, summarise


@dataclass(frozen=True, kw_only=True)
class StudyResults(Comparisons):
    """A study at one scale on one corpus, with what its results say."""

    @property
    def error(self) -> float:
        """The largest chance of a wrong verdict on its claims together."""
        return 1 - LEVEL

    @cached_property
    def trained(self) -> dict[str, list[str]]:
        """Variants with a pre-training of their own, each with those that share it."""
        runs = {name: {run.seed: run.id for run in self.pretrainings if run.variant == name} for name in self.variants}
        owners = originals(runs)
        distinct = [name for name in self.variants if owners[name] == name]
        return {owner: [name for name in self.variants if owners[name] == owner != name] for owner in distinct}

    def premises(self, variant: str) -> Sequence[Premise]:
        """What has to hold of a variant before it is compared with another objective."""
        return next((run.defined.premises for run in self.of(variant) if not run.untrained), ())

    def before(self, day: str) -> bool:
        """Whether one of its runs began on a day such as `2026-11-29`, earlier, or on an unknown day."""
        runs = [*self.pretrainings, *self.cells]
        return any(str(run.environment.date) <= day for run in runs if run.status in ("done", "collapsed"))

    @property
    def started(self) -> bool:
        """Whether anything of it is finished."""
        return any(run.finished for run in self.pretrainings) or len(self.unfinished) < len(self.cells)

    @cached_property
    def numerics_mismatch(self) -> dict[str, str]:
        """Variants with other numerics than the baseline, with what differs (see `numerics.mismatch`)."""
        return numerics.mismatch(self)

    @cached_property
    def heldout_metrics(self) -> dict[str, str]:
        """The label of each metric of the held-out evaluations, by name."""
        labels = {name: label for run in self.pretrainings for name, label in run.defined.figures.items()}
        names = [name for run in self.pretrainings for name in run.result.heldout]
        names += [name for run in self.pretrainings for point in run.curve for name in point.losses]
        return {name: labels.get(name, name) for name in names if not name.endswith("_majority")}

    @cached_property
    def spread_of_seeds(self) -> bool:
        """Whether standard deviations are over several seeds.

        A variant with a single seed then has none, since that of its fine-tuning seeds is of another kind.
        """
        return len({self.seed_of(cell) for cell in self.cells if cell.value is not None}) > 1

    def summary(self, variant: str, measurement: str) -> Summary | None:
        """Mean, spread and n of a variant on a measurement or an average."""
        return summarise(self.points(variant, measurement), of_seeds=self.spread_of_seeds)

    def floors(self, measurement: str) -> dict[str, float]:
        """Points that take no understanding, by name; with an exchanged text, the baseline's."""
        points: dict[str, list[float]] = {}
        for cell in self.column(measurement):
            for name, value in cell.floors.items():
                if name != EXCHANGED or cell.variant == self.baseline:
                    points.setdefault(name, []).append(value)
        return {name: fmean(values) for name, values in points.items()}

    def above_floors(self, measurement: str) -> bool | None:
        """Whether the baseline's mean is above every floor of a measurement; None if no floor is known."""
        floors, baseline = self.floors(measurement), self.summary(self.baseline, measurement)
        return baseline.mean > max(floors.values()) if floors and baseline else None

    @property
    def below_floors(self) -> dict[str, float]:
        """The measurements on which the baseline is not above every floor, with its mean."""
        means = {name: summary.mean for name in self.distinct if (summary := self.summary(self.baseline, name))}
        return {name: mean for name, mean in means.items() if self.above_floors(name) is False}

    @property
    def unbeaten(self) -> list[str]:
        """The floors that the baseline is not above on some measurement, in the order of `FLOORS`."""
        below = self.below_floors.items()
        unbeaten = {floor for name, mean in below for floor, points in self.floors(name).items() if mean <= points}
        return [floor for floor in FLOORS if floor in unbeaten]

    @property
    def baseline_effects(self) -> list[Effect]:
        """The pre-trained variants minus the baseline, on each measurement."""
        pairs = itertools.product(self.others, self.measurements)
        return [effect for pair in pairs if (effect := self.difference(*pair))]

    def gain(self, scratch: str, measurement: str) -> float | None:
        """The baseline minus an untrained variant in points, paired by seed; None for a metric of the pre-training."""
        effect = self._untrained_effect(scratch, measurement)
        return None if effect is None else 0.0 - effect.mean  # no minus before a zero

    def unhelped(self, scratch: str, measurement: str, metric: str = "") -> str:
        """Why nothing shows that pre-training helps on a measurement, by the untrained variant; empty if it does."""
        if not self.of_answers(measurement):
            return ""
        if self.collapsed(scratch, measurement):
            return f"{scratch} predicts one answer for all examples, so the gain by pre-training is unknown"
        effect = self._untrained_effect(scratch, measurement, metric)
        if effect is None:
            return ""
        if effect.mean >= 0:
            return "pre-training does not help there"
        reaches = effect.interval is None or effect.interval.high >= 0  # one seed shows no gain
        return "the gain by pre-training cannot be distinguished from 0 there" if reaches else ""

    def _untrained_effect(self, scratch: str, measurement: str, metric: str = "") -> Effect | None:
        """An untrained variant minus the baseline; None for what is not of answers to a task."""
        return self.difference(scratch, measurement, metric) if self.of_answers(measurement) else None
