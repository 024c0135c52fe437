"""Where the spread of each measurement of a study comes from, and which measurements cannot decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bertlab.report.cells import Cell
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS
from bertlab.report.statistics.noise import Noise, noise
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table
from bertlab.report.units import is_loss
from bertlab.report.validity import likely_claims, untestable


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The noise of a measurement on one endpoint."""

    measurement: str
    metric: str
    """The measurement's own, or `LIKELIHOOD`."""
    unit: str
    """`points`, `nats`, or empty for another unit of a pre-training's metric."""
    noise: Noise
    needed: float | None
    """The signal to noise from which on a typical pair of variants has an even chance of a verdict; None below
    `VERDICT_MIN_SEEDS` seeds.

    Two variants differ by sqrt 2 times the signal (root mean square). That has to exceed the half width of the interval
    at the hardest level of Holm's correction, the median over the comparisons with the baseline.
    """

    @property
    def why_undecidable(self) -> str:
        """Why a typical pair of variants gets no verdict with these seeds and examples; empty if it may get one."""
        ratio = self.noise.ratio
        if ratio is None:
            return "" if self.noise.signal or self.noise.between else "all runs are equal"
        if self.needed is None or ratio >= self.needed:
            return ""
        return f"signal / noise {ratio:.2f}, a verdict needs {self.needed:.2f}"


def spreads(study: StudyResults) -> list[Spread]:
    """A line for each measurement and endpoint with two pre-training seeds or more of a pre-trained variant."""
    lines = []
    for name in study.measurements:
        cell, variants = study.column(name)[0], _variants(study, name)
        endpoints = {cell.metric: cell.unit if cell.in_points or is_loss(cell.metric) else ""}
        endpoints |= {LIKELIHOOD: "points"} if cell.of_answers else {}
        for metric, unit in endpoints.items():
            contributions = study.predictions.contributions(variants, "" if metric == cell.metric else metric)
            if contributions is not None and (components := noise(contributions)):
                needed = _needed(study, name, metric, components)
                lines.append(Spread(measurement=name, metric=metric, unit=unit, noise=components, needed=needed))
    return lines


def _variants(study: StudyResults, name: str) -> list[Mapping[int, Sequence[Cell]]]:
    """The cells of each pre-trained variant by seed; variants with the same runs count once."""
    originals = study.originals(name)
    variants = [variant for variant in study.variants if originals[variant] == variant and not study.untrained(variant)]
    return [cells for variant in variants if (cells := study.by_seed(variant, name))]


def _needed(study: StudyResults, name: str, metric: str, noise: Noise) -> float | None:
    claims = [claim for claim in study.claims if not untestable(study, claim)]
    family = likely_claims(study) if metric == LIKELIHOOD else claims
    effects = [study.difference(other, name, metric) for other in study.others if other not in study.duplicates]
    halves = [
        effect.spread.confidence(0.0, effect.n).quantile(1 - (1 - LEVEL) / max(1, len(family)) / 2)
        for effect in effects
        if effect and effect.spread and effect.n >= VERDICT_MIN_SEEDS
    ]
    return median(halves) / math.sqrt(2) / noise.between if halves and noise.between else None


def table(study: StudyResults, shown: Sequence[Spread]) -> Table:
    """A line for each of `spreads`: the standard deviation of one run's value, its sources, and signal to noise.

    Where there is one fine-tuning seed, the share of the seeds is that of both kinds.
    """
    apart = any(spread.noise.run.finetune_seeds > 1 for spread in shown)
    seeds = ("pre-training seed", "fine-tuning seed") if apart else (study.seeds,)
    rows = []
    for spread in shown:
        run, cell = spread.noise.run, study.column(spread.measurement)[0]
        by_seed, by_restart, by_examples = [f"{100 * share:.0f} %" for share in spread.noise.shares or ()] or [""] * 3
        if apart and run.finetune_seeds == 1:
            by_seed, by_restart = by_seed and f"{by_seed} (both)", ""
        decimals = {"nats": 3, "points": 1}.get(spread.unit, 2)
        endpoint = cell.metric_name if spread.metric == cell.metric else spread.metric
        about = study.head(spread.measurement), endpoint, f"{spread.noise.sd:.{decimals}f} {spread.unit}".strip()
        shares = *(by_seed, by_restart)[: len(seeds)], by_examples if run.examples > 1 else ""
        ratios = ("" if ratio is None else f"{ratio:.2f}" for ratio in (spread.noise.ratio, spread.needed))
        rows.append((*about, *shares, *ratios))
    columns = ("measurement", "endpoint", "sd of one run", *seeds, "examples", "signal / noise", "needed for a verdict")
    return Table(columns, tuple(rows), ("endpoint",))


def sentences(study: StudyResults, shown: Sequence[Spread]) -> list[str]:
    """The measurements that cannot decide, on each endpoint."""
    texts = []
    for metric in ("the metric", LIKELIHOOD):
        group = (spread for spread in shown if (spread.metric == LIKELIHOOD) == (metric == LIKELIHOOD))
        if weak := [f"{spread.measurement} ({why})" for spread in group if (why := spread.why_undecidable)]:
            where = f"at this scale, with these {study.seeds} and examples"
            texts.append(f"By {metric}, a typical pair of variants gets no verdict {where}: {'; '.join(weak)}.")
    return texts
