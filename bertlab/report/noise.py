"""Where the spread of each measurement of a study comes from, what reduces it, and which measurements cannot decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from bertlab.report.cells import Cell
from bertlab.report.evidence import Evidence
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS
from bertlab.report.statistics.noise import Costs, Design, Noise, cheapest, most_per_second, noise
from bertlab.report.tables import Table
from bertlab.report.units import is_loss
from bertlab.report.validity import likely_claims, untestable
from bertlab.wording import duration

BACKWARD = 2.0
"""The time of a backward pass in units of a forward pass, which is all that the evaluation of an example takes."""


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


def spreads(evidence: Evidence) -> list[Spread]:
    """A line for each measurement and endpoint with two pre-training seeds or more of a pre-trained variant."""
    found = []
    for name in evidence.measurements:
        own = evidence.column(name)[0]
        endpoints = {own.metric: own.unit if own.in_points or is_loss(own.metric) else ""}
        for metric, unit in (endpoints | {LIKELIHOOD: "points"}).items():
            if each := _noise(evidence, name, metric):
                needed = _needed(evidence, name, metric, each)
                found.append(Spread(measurement=name, metric=metric, unit=unit, noise=each, needed=needed))
    return found


def _variants(evidence: Evidence, name: str) -> list[Mapping[int, Sequence[Cell]]]:
    """The cells of each pre-trained variant by seed; variants with the same runs count once."""
    originals = evidence.originals(name)
    own = [each for each in evidence.variants if originals[each] == each and not evidence.untrained(each)]
    return [cells for each in own if (cells := evidence.by_seed(each, name))]


def _noise(evidence: Evidence, name: str, metric: str) -> Noise | None:
    own = "" if metric == evidence.column(name)[0].metric else metric
    known = evidence.predictions.contributions(_variants(evidence, name), own)
    return None if known is None else noise(known)


def _needed(evidence: Evidence, name: str, metric: str, found: Noise) -> float | None:
    likely = metric == LIKELIHOOD
    family = likely_claims(evidence) if likely else [each for each in evidence.claims if not untestable(evidence, each)]
    level = 1 - (1 - LEVEL) / max(1, len(family))
    halves = []
    for variant in evidence.others:
        each = None if variant in evidence.duplicates else evidence.difference(variant, name, metric)
        if each and each.spread and each.n >= VERDICT_MIN_SEEDS:
            halves.append(each.spread.confidence(0.0, each.n).quantile(0.5 + level / 2))
    return median(halves) / math.sqrt(2) / found.between if halves and found.between else None


def table(evidence: Evidence, found: Sequence[Spread]) -> Table:
    """A line for each of `spreads`: the standard deviation of one run's value, its sources, and signal to noise.

    Where there is one fine-tuning seed, the share of the seeds is that of both kinds.
    """
    apart = any(each.noise.run.finetune_seeds > 1 for each in found)
    seeds = ("pre-training seed", "fine-tuning seed") if apart else (evidence.seeds,)
    rows = []
    for each in found:
        shares, run = each.noise.shares, each.noise.run
        by_seed, by_restart, by_examples = [f"{100 * share:.0f} %" for share in shares] if shares else [""] * 3
        if apart and run.finetune_seeds == 1:
            by_seed, by_restart = f"{by_seed} (both)" if by_seed else "", ""
        sources = [by_seed, *([by_restart] if apart else []), by_examples if run.examples > 1 else ""]
        decimals = 3 if each.unit == "nats" else 1 if each.unit == "points" else 2
        sd = f"{each.noise.sd:.{decimals}f} {each.unit}".strip()
        ratios = ("" if ratio is None else f"{ratio:.2f}" for ratio in (each.noise.ratio, each.needed))
        own = evidence.column(each.measurement)[0]
        endpoint = own.metric_name if each.metric == own.metric else each.metric
        rows.append((evidence.head(each.measurement), endpoint, sd, *sources, *ratios))
    columns = ("measurement", "endpoint", "sd of one run", *seeds, "examples", "signal / noise", "needed for a verdict")
    return Table(columns, tuple(rows), ("endpoint",))


def sentences(evidence: Evidence, found: Sequence[Spread]) -> list[str]:
    """What reduces the noise of each measurement most, and the measurements that cannot decide."""
    own = [each for each in found if each.metric != LIKELIHOOD]
    texts = [f"{each.measurement}: {text}" for each in own if (text := _advice(evidence, each))]
    for metric, group in (("the metric", own), ("likelihood", [each for each in found if each not in own])):
        weak = [f"{each.measurement} ({why})" for each in group if (why := each.why_undecidable)]
        if weak:
            where = f"at this scale, with these {evidence.seeds} and examples"
            texts.append(f"By {metric}, a typical pair of variants gets no verdict {where}: {'; '.join(weak)}.")
    return texts


def _advice(evidence: Evidence, spread: Spread) -> str:
    """The step that reduces the variance of a difference most per minute, and the cheapest mix that halves it."""
    found, costs = spread.noise.difference, _costs(evidence, spread)
    if found is None or costs is None:
        return ""
    by_seed = [each.keys() for each in _variants(evidence, spread.measurement)]
    most = max(len(one & other) for one, other in itertools.combinations(by_seed, 2))
    now = Design(most, round(found.finetune_seeds), found.examples)
    step, half = most_per_second(found, now, costs), cheapest(found, now, costs)
    if step is None or half is None:
        return ""
    if step.seeds > now.seeds:
        best = f"another {evidence.unit}"
    elif step.finetune_seeds > now.finetune_seeds:
        best = f"{'a second' if now.finetune_seeds == 1 else 'another'} fine-tuning seed"
    else:
        best = "twice the evaluation examples"
    parts = [f"{half.seeds} {evidence.seeds} ({now.seeds} now)"] * (half.seeds > now.seeds)
    if half.finetune_seeds > now.finetune_seeds:
        parts.append(f"{half.finetune_seeds} fine-tuning seeds each ({now.finetune_seeds} now)")
    if half.examples > now.examples:
        parts.append(f"{half.examples / now.examples:.1f} times the evaluation examples")
    mix = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
    more = 2 * (costs.seconds(half) - costs.seconds(now))
    cheapest_mix = f"the cheapest way to halve the variance of a difference: {mix}, about {duration(more)} more"
    return f"most variance removed per minute: {best}; {cheapest_mix}."


def _costs(evidence: Evidence, spread: Spread) -> Costs | None:
    """Recorded times, means over the pre-trained variants; a pre-training is divided among its measurements."""
    cells = [cell for each in _variants(evidence, spread.measurement) for cells in each.values() for cell in cells]
    runs = [run for variant in evidence.variants if not evidence.untrained(variant) for run in evidence.of(variant)]
    trained = {run.id: run.seconds for run in runs if not evidence.pretrained}
    pretraining = math.fsum(trained.values()) / max(1, len(runs)) / len(evidence.measurements)
    measured = fmean(cell.seconds for cell in cells)
    if not pretraining + measured:
        return None
    evaluated = fmean(cell.eval_examples for cell in cells)
    trained_on = [
        (1 + BACKWARD) * each.steps(cell.train_examples) * each.batch_size
        for cell in cells
        if (each := cell.adaptation) is not None and cell.train_examples
    ]
    share = evaluated / (evaluated + fmean(trained_on)) if evaluated and trained_on else 0.0
    examples = spread.noise.run.examples
    return Costs(pretraining, (1 - share) * measured, share * measured / examples)
