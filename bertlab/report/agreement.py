"""How often a measured difference between two variants has the sign of the published one.

A small model that gets the signs right supports the same choices as the paper's. Magnusson et al. (2025, DataDecide)
count the same: the better of two variants at 150M parameters is the better at 1B in about 80 % of pairs.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, TypeVar

import numpy as np

from bertlab import keyed
from bertlab.arrays import Float, Int64
from bertlab.report.evidence import Evidence
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import LEVEL, VERDICT_MIN_SEEDS, Interval

METRIC = "metric"
ENDPOINTS = {METRIC: "paper's metric", LIKELIHOOD: "likelihood"}
"""The endpoints whose signs are compared, with their names on a page."""
SIZES = {0.5: "below 0.5 points", 1.0: "0.5 to 1 point", 2.0: "1 to 2 points"}
"""Published differences by size: the upper ends of the bins, each open."""
LARGEST, OTHER_UNIT = "2 points and more", "not in points"
ABOVE, BELOW, NO_FLOOR = "baseline above every floor", "baseline not above every floor", "no floor known"
_BESIDE = {True: ABOVE, False: BELOW, None: NO_FLOOR}
"""Measurements by the mean of the baseline beside the points that take no understanding (`FLOORS`)."""
MATCHED = f"{METRIC} with {LIKELIHOOD}"
"""The paper's metric on the pairs that have a likelihood too."""
LEARNED = f"{METRIC} above floors"
"""The paper's metric without the measurements on which the baseline is not above every floor."""
MOST_HALVED = 12
"""Seeds of a pair that are halved in all ways, 924 for twelve."""
RESAMPLES = 1000
_ROUNDING = 1e-9
"""A mean this close to zero is zero: means of equal predictions differ by some 1e-13."""
Key = TypeVar("Key")


@dataclass(frozen=True)
class _InSection:
    """A part of a section of the report."""

    study: str
    scale: str
    setting: str
    key: str
    place: str
    """`Evidence.place`, for readers."""

    @property
    def section(self) -> tuple[str, str, str, str]:
        """Study, scale, setting and key."""
        return self.study, self.scale, self.setting, self.key


@dataclass(frozen=True, kw_only=True)
class Comparison(_InSection):
    """Two variants on one measurement, with their published and their measured difference."""

    measurement: str
    endpoint: str
    """One of `ENDPOINTS`."""
    variant: str
    other: str
    """Differences are the variant minus this one."""
    milestone: int
    """Per cent of the pre-training's steps after which both are measured; the published values are those of the end."""
    flops: float | None
    """Operations of the baseline's pre-training until then; None if it was not trained here."""
    in_points: bool
    floors: str
    """Whether the baseline is above those of the measurement: `ABOVE`, `BELOW` or `NO_FLOOR`."""
    published: float
    """Never zero. On the likelihood, where higher is better, the sign is turned if lower is better in the paper's
    metric."""
    by_seed: Mapping[int, float]
    """The measured difference at each seed that both variants have."""
    runs: frozenset[str]
    """The ids of the runs that these differences are of."""

    @property
    def pair(self) -> tuple[object, ...]:
        """What two endpoints of the same pair have in common."""
        return self.section, self.measurement, self.variant, self.other, self.milestone

    def repeats(self, other: "Comparison") -> bool:
        """Whether `other`, the same pair in another section, has all its runs."""
        return self.runs < other.runs or (self.runs == other.runs and self.section > other.section)

    @property
    def measured(self) -> float:
        """The mean over the seeds."""
        return fmean(self.by_seed.values())

    @property
    def tied(self) -> bool:
        """Whether the measured difference is zero: it has no sign, and does not agree."""
        return abs(self.measured) < _ROUNDING

    @property
    def agrees(self) -> bool:
        """Whether both differences have the same sign."""
        return not self.tied and (self.measured > 0) == (self.published > 0)

    @cached_property
    def halves(self) -> tuple[float, float] | None:
        """Of all ways to halve the seeds, the share in which both halves have the same sign, and in which one has the
        published sign (the smaller, if they are odd). None with one seed; of more than `MOST_HALVED`, the first count.
        """
        values = np.array([self.by_seed[seed] for seed in sorted(self.by_seed)][:MOST_HALVED])
        if len(values) < 2:
            return None
        places = np.arange(len(values))
        chosen = np.array([np.isin(places, half) for half in itertools.combinations(places, len(values) // 2)])
        one, other = (half @ values for half in (chosen, ~chosen))
        signs = [np.sign(sums) * (np.abs(sums) > _ROUNDING) for sums in (one, other)]
        return float((signs[0] * signs[1] > 0).mean()), float((signs[0] * self.published > 0).mean())

    @property
    def size(self) -> str:
        """The bin of the published difference."""
        if not self.in_points:
            return OTHER_UNIT
        # published values are decimals: 84.3 - 83.3 in floats must not lie below 1
        return next((name for end, name in SIZES.items() if round(abs(self.published), 6) < end), LARGEST)


@dataclass(frozen=True)
class Share:
    """The pairs of a group, those of them whose signs agree, and those whose measured difference is zero."""

    agreed: int
    pairs: int
    tied: int

    @classmethod
    def of(cls, comparisons: Iterable[Comparison]) -> "Share":
        """Counts comparisons."""
        known = [(each.agrees, each.tied) for each in comparisons]
        return cls(sum(agrees for agrees, _ in known), len(known), sum(tied for _, tied in known))

    @property
    def value(self) -> float | None:
        """The share that agrees; None without pairs."""
        return self.agreed / self.pairs if self.pairs else None


@dataclass(frozen=True)
class Halves:
    """How often halves of the seeds agree: what noise leaves of any agreement at so few seeds."""

    pairs: int
    """Pairs with two seeds or more."""
    with_each_other: float
    """The share of them in which two halves of the seeds have the same sign, a mean over all ways to halve."""
    with_published: float
    """The share in which half of the seeds has the published sign, likewise."""

    @classmethod
    def of(cls, comparisons: Iterable[Comparison]) -> "Halves | None":
        """Averages over comparisons; None without one that has two seeds."""
        known = [each.halves for each in comparisons if each.halves]
        return cls(len(known), *map(fmean, zip(*known, strict=True))) if known else None


Shares = Mapping[str, Share]
"""Shares by endpoint."""


@dataclass(frozen=True)
class Step(_InSection):
    """A point of the curve over compute."""

    milestone: int
    """Per cent of the pre-training's steps."""
    flops: float | None
    """Operations of the baseline's pre-training until then."""
    shares: Shares


@dataclass(frozen=True)
class Agreement:
    """The comparisons of a report and the shares of them that agree."""

    comparisons: tuple[Comparison, ...] = field(repr=False)
    """At all milestones."""

    @cached_property
    def final(self) -> list[Comparison]:
        """The comparisons at the end of pre-training, each once if several sections have its runs."""
        ends = [each for each in self.comparisons if each.milestone == 100]
        alike = _grouped(ends, _of_study)
        return [each for each in ends if not any(map(each.repeats, alike[_of_study(each)]))]

    def of(self, evidence: Evidence) -> Share:
        """The pairs of a section, on the paper's metric."""
        section = (evidence.study, evidence.scale, evidence.full_setting, evidence.key)
        ends = (each for each in self.comparisons if (each.milestone, each.endpoint) == (100, METRIC))
        return Share.of(each for each in ends if each.section == section)

    def on(self, endpoint: str) -> list[Comparison]:
        """The final comparisons on an endpoint."""
        return [each for each in self.final if each.endpoint == endpoint]

    @cached_property
    def parts(self) -> Mapping[str, list[Comparison]]:
        """The final comparisons on each endpoint, `LEARNED` and `MATCHED`."""
        known = {each.pair for each in self.on(LIKELIHOOD)}
        pairs = {endpoint: self.on(endpoint) for endpoint in ENDPOINTS}
        pairs[LEARNED] = [each for each in self.on(METRIC) if each.floors != BELOW]
        pairs[MATCHED] = [each for each in self.on(METRIC) if each.pair in known]
        return pairs

    @cached_property
    def overall(self) -> Mapping[str, tuple[Share, Interval | None]]:
        """The share of each of the `parts`, with its 95 % interval."""
        return {name: (Share.of(own), interval(own)) for name, own in self.parts.items()}

    @cached_property
    def halves(self) -> Mapping[str, Halves | None]:
        """How often halves of the seeds agree, in each of the `parts`."""
        return {name: Halves.of(own) for name, own in self.parts.items()}

    @property
    def largest(self) -> tuple[str, Share]:
        """The study with the most pairs on the paper's metric, the first of equals, with its share; needs a pair."""
        by_study = _grouped(self.on(METRIC), lambda each: each.study)
        name = max(by_study, key=lambda each: len(by_study[each]))
        return name, Share.of(by_study[name])

    @property
    def studies(self) -> int:
        """The number of studies with pairs."""
        return len({each.study for each in self.final})

    @property
    def seeds(self) -> tuple[int, int]:
        """The numbers of seeds of the pairs with the fewest and the most; zeros without pairs."""
        numbers = [len(each.by_seed) for each in self.final]
        return (min(numbers), max(numbers)) if numbers else (0, 0)

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Shares]]:
        """Shares by study, by measurement, by scale, by floors, and by published size in the order of the sizes."""
        sizes, beside = [*SIZES.values(), LARGEST, OTHER_UNIT], list(_BESIDE.values())
        return {
            "study": _by(self.final, lambda each: each.study),
            "measurement": _by(self.final, lambda each: each.measurement),
            "scale": _by(self.final, lambda each: each.scale),
            "floors": _by(sorted(self.final, key=lambda each: beside.index(each.floors)), lambda each: each.floors),
            "published difference": _by(sorted(self.final, key=lambda e: sizes.index(e.size)), lambda each: each.size),
        }

    @cached_property
    def curve(self) -> list[Step]:
        """The shares after each milestone of each section.

        All points of a section are of the same pairs: those that are measured at each of its milestones.
        """
        found = []
        for section, own in _grouped(self.comparisons, lambda each: each.section).items():
            milestones = sorted({each.milestone for each in own})
            pairs = _grouped(own, lambda e: (e.measurement, e.endpoint, e.variant, e.other)).values()
            whole = [each for pair in pairs if len(pair) == len(milestones) for each in pair]
            for milestone, points in sorted(_grouped(whole, lambda each: each.milestone).items()):
                found.append(Step(*section, own[0].place, milestone, points[0].flops, _shares(points)))
        return found

    def figures(self) -> dict[str, Any]:
        """All numbers but those of single comparisons, as JSON."""

        def plain(shares: Shares) -> dict[str, Any]:
            return {name: {**asdict(each), "share": each.value} for name, each in shares.items()}

        overall = {
            name: {
                **asdict(each),
                "share": each.value,
                "interval": [found.low, found.high] if found else None,
                "halves": asdict(halves) if (halves := self.halves[name]) else None,
            }
            for name, (each, found) in self.overall.items()
        }
        groups = {name: {each: plain(shares) for each, shares in own.items()} for name, own in self.groups.items()}
        curve = [{**asdict(each), "shares": plain(each.shares)} for each in self.curve]
        return {"studies": self.studies, "seeds": self.seeds, "overall": overall, "by": groups, "curve": curve}


def _of_study(each: Comparison) -> tuple[object, ...]:
    return each.study, each.endpoint, each.measurement, each.variant, each.other


def agreement(evidences: Sequence[Evidence]) -> Agreement:
    """Compares every pair of pre-trained variants, on every measurement with published values of both that differ."""
    return Agreement(tuple(itertools.chain.from_iterable(map(_comparisons, evidences))))


def _comparisons(evidence: Evidence) -> Iterator[Comparison]:
    """Each pair in the order of the study, the later variant minus the earlier one; the baseline is the first.

    Measurements that repeat another one are left out: the paper's values may differ, ours are the same.
    """
    whole = _flops(evidence)
    for name in evidence.distinct:
        milestones = sorted({each.milestone for each in evidence.cells if each.measurement == name})
        originals = evidence.originals(name)
        for other, variant in itertools.combinations([evidence.baseline, *evidence.others], 2):
            published = evidence.published_difference(variant, name, other)
            if not published or originals[variant] == originals[other]:
                continue
            for endpoint, milestone in itertools.product(ENDPOINTS, milestones):
                metric = LIKELIHOOD if endpoint == LIKELIHOOD else ""
                effect = evidence.effect(variant, other, name, metric=metric, at=(milestone, milestone))
                if effect is None:
                    continue
                turned = endpoint == LIKELIHOOD and evidence.less_is_more(name)
                yield Comparison(
                    study=evidence.study,
                    scale=evidence.scale,
                    setting=evidence.full_setting,
                    key=evidence.key,
                    place=evidence.place,
                    measurement=name,
                    endpoint=endpoint,
                    variant=variant,
                    other=other,
                    milestone=milestone,
                    flops=None if whole is None else whole * milestone / 100,
                    in_points=evidence.column(name)[0].in_points,
                    floors=_BESIDE[evidence.above_floors(name)],
                    published=float(-published if turned else published),
                    by_seed=effect.by_seed,
                    runs=_runs(evidence, (variant, other), name, milestone, effect.by_seed),
                )


def _runs(
    evidence: Evidence, variants: Iterable[str], measurement: str, milestone: int, seeds: Collection[int]
) -> frozenset[str]:
    """The ids of the runs of these variants and seeds."""
    by_seed = (evidence.by_seed(variant, measurement, milestone) for variant in variants)
    return frozenset(cell.run_id for found in by_seed for seed in seeds for cell in found[seed])


def _flops(evidence: Evidence) -> float | None:
    """Operations of a pre-training of the baseline; None if it was not trained here."""
    return next((run.flops for run in evidence.of(evidence.baseline) if run.flops is not None), None)


def interval(comparisons: Sequence[Comparison], resamples: int = RESAMPLES) -> Interval | None:
    """The 95 % interval of a share over studies and seeds; None for one study with few seeds, and without pairs.

    With four seeds of one study it covers about 85 %, with two 60 %: it would mislead where a pair has fewer than
    `VERDICT_MIN_SEEDS`.

    A cluster bootstrap: each resample draws as many studies as there are, and within each drawn study as many seeds as
    its pairs have; pairs of a section with the same seeds share the draw. Signs are those of the means over the drawn
    seeds.
    """
    studies = _grouped(comparisons, lambda each: each.study)
    if not studies or (len(studies) == 1 and min(len(each.by_seed) for each in comparisons) < VERDICT_MIN_SEEDS):
        return None
    numbers = np.arange(len(studies))
    key = keyed.key("agreement", "studies")
    which = keyed.integers(len(studies), key, np.arange(resamples)[:, None], numbers[None])  # (B, studies)
    agreed, counted = np.zeros(resamples), np.zeros(resamples)
    for draw, (number, own) in itertools.product(numbers, enumerate(studies.values())):
        drawn = which[:, draw] == number
        for (section, seeds), pairs in _grouped(own, lambda each: (each.section, tuple(sorted(each.by_seed)))).items():
            # a study that is drawn twice draws its seeds twice
            key = keyed.key("agreement", int(draw), *section, *seeds)
            agreed[drawn] += _agreeing(pairs, np.flatnonzero(drawn), key)
            counted[drawn] += len(pairs)
    low, high = np.quantile(agreed / counted, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Interval(float(low), float(high))


def _agreeing(pairs: Sequence[Comparison], resamples: Int64, key: int) -> Float:
    """How many pairs with the same seeds agree in each of these resamples: (B,)."""
    seeds = sorted(pairs[0].by_seed)
    differences = np.array([[each.by_seed[seed] for seed in seeds] for each in pairs])  # (P, S)
    draws = keyed.integers(len(seeds), key, resamples[:, None], np.arange(len(seeds))[None])  # (B, S)
    weights = (draws[:, :, None] == np.arange(len(seeds))).sum(1).astype(np.float64)  # (B, S)
    signs = np.sign([each.published for each in pairs])
    found: Float = ((weights @ differences.T) * signs > _ROUNDING).sum(1)
    return found


def _grouped(comparisons: Iterable[Comparison], key: Callable[[Comparison], Key]) -> dict[Key, list[Comparison]]:
    found: dict[Key, list[Comparison]] = {}
    for each in comparisons:
        found.setdefault(key(each), []).append(each)
    return found


def _shares(comparisons: Iterable[Comparison]) -> dict[str, Share]:
    by_endpoint = _grouped(comparisons, lambda each: each.endpoint)
    return {endpoint: Share.of(by_endpoint.get(endpoint, ())) for endpoint in ENDPOINTS}


def _by(comparisons: Iterable[Comparison], group: Callable[[Comparison], str]) -> dict[str, Shares]:
    return {name: _shares(own) for name, own in _grouped(comparisons, group).items()}
