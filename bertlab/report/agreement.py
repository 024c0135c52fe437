"""How often a measured difference between two variants has the sign of the published one.

A small model that gets the signs right supports the same choices as the paper's. Magnusson et al. (2025, DataDecide)
count the same: the better of two variants at 150M parameters is the better at 1B in about 80 % of pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab import keyed
from bertlab.arrays import Float, Int64
from bertlab.report.pairs import ENDPOINTS, METRIC, PAIR, ROUNDING, SECTION, measured_pairs
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS
from bertlab.report.statistics.variance import Interval
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table
from bertlab.wording import flops

if TYPE_CHECKING:
    import pandas

MATCHED = f"{METRIC} with {LIKELIHOOD}"
"""The paper's metric on the pairs that have a likelihood too."""
LEARNED = f"{METRIC} above floors"
"""The paper's metric without the measurements on which the baseline is not above every floor."""
MOST_HALVED = 12
"""Seeds of a pair that are halved in all ways, 924 for twelve."""
RESAMPLES = 1000

COLUMNS = [*SECTION, "place", *PAIR, "endpoint", "milestone", "flops", "in_points", "learned", "published"]
COLUMNS += ["by_seed", "runs"]
"""The facts of a comparison: two variants on one measurement and endpoint.

`place` is `Section.heading`. Differences are `variant` minus `other`: `published`, never zero, of the end of the
pre-training, and `by_seed`, measured after `milestone` per cent of its steps at each seed that both variants have, of
the runs with the ids `runs`. On the likelihood, where higher is better, the sign of the published difference is turned
if lower is better in the paper's metric. `flops` are the operations of the baseline's pre-training until then, None if
it was not trained here. `learned` is False where the baseline is not above every floor of the measurement.
"""


def compared(lines: Iterable[Mapping[str, Any] | tuple[Any, ...]]) -> pandas.DataFrame:
    """Comparisons (`COLUMNS`) with what follows: the `measured` mean over the `seeds`, and whether the signs agree.

    A measured difference of zero is `tied`: it has no sign, and does not agree.
    """
    import pandas

    table = pandas.DataFrame([*lines], columns=COLUMNS).astype({"published": float})
    measured = table["by_seed"].map(lambda by_seed: fmean(by_seed.values())).astype(float)
    tied = measured.abs() < ROUNDING
    return table.assign(
        seeds=table["by_seed"].map(lambda by_seed: tuple(sorted(by_seed))),
        measured=measured,
        tied=tied,
        agrees=~tied & ((measured > 0) == (table["published"] > 0)),
    )


@dataclass(frozen=True)
class Share:
    """The pairs of a group, those of them whose signs agree, and those whose measured difference is zero."""

    agreed: int
    pairs: int
    tied: int

    @classmethod
    def from_comparisons(cls, comparisons: pandas.DataFrame) -> Share:
        """Counts comparisons."""
        return cls(int(comparisons["agrees"].sum()), len(comparisons), int(comparisons["tied"].sum()))

    @property
    def value(self) -> float | None:
        """The share that agrees; None without pairs."""
        return self.agreed / self.pairs if self.pairs else None

    @property
    def percent(self) -> str:
        """The share as text: `67 %`; empty without pairs."""
        return "" if self.value is None else f"{100 * self.value:.0f} %"

    @property
    def figures(self) -> dict[str, Any]:
        """The share as JSON."""
        return {**asdict(self), "share": self.value}


@dataclass(frozen=True)
class Halves:
    """How often halves of the seeds agree: what noise leaves of any agreement at so few seeds."""

    pairs: int
    """Pairs with two seeds or more."""
    with_each_other: float
    """The share of them in which two halves of the seeds have the same sign, a mean over all ways to halve."""
    with_published: float
    """The share in which half of the seeds (the smaller, if they are odd) has the published sign, likewise."""

    @classmethod
    def from_comparisons(cls, comparisons: pandas.DataFrame) -> Halves | None:
        """Averages over comparisons; None without one that has two seeds."""
        pairs = zip(comparisons["by_seed"], comparisons["published"], strict=True)
        shares = [_halved(by_seed, published) for by_seed, published in pairs if len(by_seed) > 1]
        return cls(len(shares), *map(fmean, zip(*shares, strict=True))) if shares else None


def _halved(by_seed: Mapping[int, float], published: float) -> tuple[float, float]:
    """The shares of `Halves` in one pair; of more than `MOST_HALVED` seeds, the first count."""
    differences = np.array([by_seed[seed] for seed in sorted(by_seed)][:MOST_HALVED])
    ways = itertools.combinations(range(len(differences)), len(differences) // 2)
    chosen = np.array([np.isin(np.arange(len(differences)), half) for half in ways])
    sums = chosen @ differences, ~chosen @ differences
    one, other = (np.sign(total) * (np.abs(total) > ROUNDING) for total in sums)
    return float((one * other > 0).mean()), float((one * published > 0).mean())


@dataclass(frozen=True)
class Agreement:
    """The comparisons of a report and the shares of them that agree."""

    comparisons: pandas.DataFrame = field(repr=False)
    """The comparisons at all milestones (`compared`)."""

    @cached_property
    def final(self) -> pandas.DataFrame:
        """The comparisons at the end of pre-training, each once if several sections have its runs."""
        ends = self.comparisons[self.comparisons["milestone"] == 100]
        once: list[int] = []
        for _, group in ends.groupby(["study", "endpoint", *PAIR], sort=False):
            sections = map(tuple, group[SECTION].to_numpy())
            candidates: list[Any] = [*zip(group.index, group["runs"], sections, strict=True)]
            for index, runs, section in candidates:
                repeated = (runs < other or (runs == other and section > earlier) for _, other, earlier in candidates)
                once += [] if any(repeated) else [index]
        return ends.loc[sorted(once)]

    def of(self, study: StudyResults) -> Share:
        """The pairs of a section, on the paper's metric."""
        pairs = self.comparisons[self.comparisons["key"] == study.key]
        return Share.from_comparisons(pairs[(pairs["milestone"] == 100) & (pairs["endpoint"] == METRIC)])

    def on(self, endpoint: str) -> pandas.DataFrame:
        """The final comparisons on an endpoint."""
        return self.final[self.final["endpoint"] == endpoint]

    @cached_property
    def overall(self) -> Mapping[str, tuple[Share, Interval | None, Halves | None]]:
        """The share of each part of the final comparisons with its 95 % interval, and how often halves of seeds agree.

        The parts are those on each endpoint, `LEARNED` and `MATCHED`.
        """
        metric, likely, pair = self.on(METRIC), self.on(LIKELIHOOD), [*SECTION, *PAIR]
        matched = metric[metric.set_index(pair).index.isin(likely.set_index(pair).index)]
        learned = metric[metric["learned"].astype(bool)]
        parts = {METRIC: metric, LIKELIHOOD: likely, LEARNED: learned, MATCHED: matched}
        halves = Halves.from_comparisons
        return {name: (Share.from_comparisons(part), interval(part), halves(part)) for name, part in parts.items()}

    @property
    def largest(self) -> tuple[str, Share, Share]:
        """The study with the most pairs on the paper's metric, the first of equals, its share, and that of all others.

        Needs a pair.
        """
        metric = self.on(METRIC)
        study = metric.groupby("study", sort=False).size().idxmax()
        of_study = metric["study"] == study
        return str(study), Share.from_comparisons(metric[of_study]), Share.from_comparisons(metric[~of_study])

    @property
    def studies(self) -> int:
        """The number of studies with pairs."""
        return int(self.final["study"].nunique())

    @property
    def seeds(self) -> tuple[int, int]:
        """The numbers of seeds of the pairs with the fewest and the most; zeros without pairs."""
        numbers = [*map(len, self.final["seeds"])] or [0]
        return min(numbers), max(numbers)

    @cached_property
    def curve(self) -> list[dict[str, Any]]:
        """The shares after each milestone of each section, with its columns and the `flops` until then.

        All points of a section are of the same pairs: those that are measured at each of its milestones.
        """
        steps: list[dict[str, Any]] = []
        for _, lines in self.comparisons.groupby(SECTION, sort=False):
            milestones = lines["milestone"].nunique()
            whole = lines.groupby([*PAIR, "endpoint"])["milestone"].transform("size") == milestones
            by_milestone: Any = lines[whole].groupby("milestone")
            for milestone, points in by_milestone:
                facts = {name: points[name].iloc[0] for name in (*SECTION, "place")}
                flops = next(iter(points["flops"].dropna()), None)
                of_endpoint = {name: points[points["endpoint"] == name] for name in ENDPOINTS}
                shares = {name: Share.from_comparisons(part) for name, part in of_endpoint.items()}
                steps.append(facts | {"milestone": int(milestone), "flops": flops, "shares": shares})
        return steps

    def figures(self) -> dict[str, Any]:
        """All numbers but those of single comparisons, as JSON."""
        overall = {}
        for name, (share, ends, halves) in self.overall.items():
            beside = {"interval": ends and [ends.low, ends.high], "halves": halves and asdict(halves)}
            overall[name] = share.figures | beside
        shares = [{name: share.figures for name, share in step["shares"].items()} for step in self.curve]
        curve = [step | {"shares": figures} for step, figures in zip(self.curve, shares, strict=True)]
        return {"studies": self.studies, "seeds": self.seeds, "overall": overall, "curve": curve}


def agreement(studies: Sequence[StudyResults]) -> Agreement:
    """Compares every pair of pre-trained variants, on every measurement with published values of both that differ."""
    return Agreement(compared(itertools.chain.from_iterable(map(_comparisons, studies))))


def _comparisons(study: StudyResults) -> Iterator[tuple[Any, ...]]:
    """`COLUMNS` of each pair with published values that differ."""
    in_points = {name: study.column(name)[0].in_points for name in study.distinct}
    learned = {name: study.above_floors(name) is not False for name in study.distinct}
    for pair in measured_pairs(study, study.published_difference):
        name, published = pair.measurement, study.published_difference(pair.variant, pair.measurement, pair.other)
        turned = pair.endpoint == LIKELIHOOD and study.less_is_more(name)
        theirs = float(-(published or 0) if turned else published or 0)
        facts = study.heading, *pair[:6], in_points[name], learned[name], theirs, pair.effect.by_seed, pair.runs
        yield (*study.columns.values(), *facts)


def interval(comparisons: pandas.DataFrame) -> Interval | None:
    """The 95 % interval of a share over studies and seeds; None for one study with few seeds, and without pairs.

    With four seeds of one study it covers about 85 %, with two 60 %: it would mislead where a pair has fewer than
    `VERDICT_MIN_SEEDS`.

    A cluster bootstrap: each resample draws as many studies as there are, and within each drawn study as many seeds as
    its pairs have; pairs of a section with the same seeds share the draw. Signs are those of the means over the drawn
    seeds.
    """
    studies = [[*_drawn_together(lines)] for _, lines in comparisons.groupby("study", sort=False)]
    if not studies or (len(studies) == 1 and min(map(len, comparisons["seeds"])) < VERDICT_MIN_SEEDS):
        return None
    numbers = np.arange(len(studies))
    key = keyed.key("agreement", "studies")
    which = keyed.integers(len(studies), key, np.arange(RESAMPLES)[:, None], numbers[None])  # (B, studies)
    agreed, counted = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for draw, (number, sections) in itertools.product(numbers, enumerate(studies)):
        drawn = which[:, draw] == number
        for section, differences, signs in sections:
            # a study that is drawn twice draws its seeds twice
            key = keyed.key("agreement", int(draw), *section)
            agreed[drawn] += _agreeing(differences, signs, np.flatnonzero(drawn), key)
            counted[drawn] += len(signs)
    low, high = np.quantile(agreed / counted, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Interval(float(low), float(high))


def _drawn_together(comparisons: pandas.DataFrame) -> Iterator[tuple[tuple[Any, ...], Float, Float]]:
    """The pairs of a study by section and seeds: these, their differences (P, S), and their published signs (P,)."""
    sections: Any = comparisons.groupby([*SECTION, "seeds"], sort=False)
    for (*section, seeds), pairs in sections:
        differences = np.array([[by_seed[seed] for seed in seeds] for by_seed in pairs["by_seed"]])
        yield (*section, *seeds), differences, np.sign(pairs["published"].to_numpy())


def _agreeing(differences: Float, signs: Float, resamples: Int64, key: int) -> Float:
    """How many pairs with these differences by seed (P, S) have their signs (P,) in each of these resamples: (B,)."""
    seeds = differences.shape[1]
    draws = keyed.integers(seeds, key, resamples[:, None], np.arange(seeds)[None])  # (B, S)
    weights = (draws[:, :, None] == np.arange(seeds)).sum(1).astype(np.float64)  # (B, S)
    agreeing: Float = ((weights @ differences.T) * signs > ROUNDING).sum(1)
    return agreeing


def table(agreement: Agreement) -> Table:
    """A line for each endpoint, and for the paper's metric on those parts of the pairs that are not all."""
    names = {METRIC: ENDPOINTS[METRIC], LEARNED: f"{ENDPOINTS[METRIC]}, baseline above every floor or none known"}
    names[MATCHED] = f"{ENDPOINTS[METRIC]}, pairs with a likelihood"
    names |= {LIKELIHOOD: f"{ENDPOINTS[LIKELIHOOD]} of the right answers"}
    rows = []
    for name, text in names.items():
        share, ends, halves = agreement.overall[name]
        if share.pairs and (name in ENDPOINTS or share.pairs != agreement.overall[METRIC][0].pairs):
            counts = (f"{number:,}" for number in (share.pairs, share.agreed, share.tied))
            noise = (halves.with_each_other, halves.with_published) if halves else ()
            percentages = [f"{100 * value:.0f} %" for value in noise] or ["", ""]
            rows.append((text, *counts, share.percent, percent(ends) or "none", *percentages))
    columns = ("endpoint", "pairs", "agree", "measured as zero", "share", "95 % interval")
    return Table((*columns, "halves agree", "half agrees with the paper"), tuple(rows))


def curve_table(agreement: Agreement) -> Table:
    """A line for each milestone of each section."""
    rows = []
    for step in agreement.curve:
        operations = "" if step["flops"] is None else flops(step["flops"])
        names = (f"{step['study']}, {step['place']}", f"{step['milestone']} %", operations)
        shares = step["shares"].values()
        counts = (f"{share.percent} ({share.agreed} of {share.pairs})" if share.pairs else "" for share in shares)
        rows.append((*names, *counts))
    return Table(("study", "steps", "FLOPs of the baseline", *ENDPOINTS.values()), tuple(rows))


def percent(ends: Interval | None) -> str:
    """An interval of a share as text: `57 to 78 %`; empty for none."""
    return f"{100 * ends.low:.0f} to {100 * ends.high:.0f} %" if ends else ""
