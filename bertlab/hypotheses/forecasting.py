"""Forecasts of the signs that differences have at a larger scale, from all pairs of a store.

An empirical-Bayes model of pairs, not an extrapolation of single variants. The effects of a metric at a setting are
normal around zero with variance tau^2, estimated over all pairs of the store there. A pair with the measured difference
d, of variance s^2, has the reliability k = tau^2 / (tau^2 + s^2). The effects at the smaller and the larger scale
correlate by rho; then, if the larger scale is measured as reliably, the differences correlate by r = rho k, and the
measured sign there is positive with probability Phi(r z / sqrt(1 - r^2)), where z = d / sqrt(tau^2 + s^2).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab import __version__
from bertlab.errors import BadInput
from bertlab.hypotheses.ladder import SMALLER, climbs, differences, independent, named
from bertlab.lab.scales import SCALES, find
from bertlab.names import plain
from bertlab.report.pairs import PAIR, ROUNDING
from bertlab.report.study_results import StudyResults
from bertlab.store.forecasts import Forecast, ForecastSign

if TYPE_CHECKING:
    import pandas

PRIOR_PAIRS, PRIOR_RIGHT = 10, 0.8
"""The prior of rho is the likelihood of this many independent pairs, with DataDecide's share of right signs."""
GRID = np.linspace(-0.995, 0.995, 200)
"""The values of rho that are weighed."""
EFFECTS = ["scale", "setting", "milestone", "metric", "endpoint"]
"""What effects share a variance by."""
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The bounds of the parts of a calibration table."""


def standardised(table: pandas.DataFrame) -> pandas.DataFrame:
    """`ladder.COLUMNS` with the `reliability` k and the standardised difference `z` of each pair.

    The variance of a pair without one, such as that of a single seed, is the median of the others for as many seeds.
    Leaves out effects whose variance no pair knows.
    """
    import pandas

    of_seed = table["variance"] * table["n"]
    typical = of_seed.groupby([table[name] for name in EFFECTS]).transform("median")
    lines = table.assign(noise=of_seed.fillna(typical) / table["n"], weight=weights(table, [*EFFECTS, "study"]))
    lines = lines[lines["noise"].notna()]
    parts = [pandas.Series(_signal(group), group.index) for _, group in lines.groupby(EFFECTS)]
    signal = pandas.concat([pandas.Series(dtype=float), *parts]).reindex(lines.index)
    total = signal + lines["noise"]
    return lines.assign(reliability=signal / total, z=lines["effect"] / total**0.5)


def _signal(lines: pandas.DataFrame) -> float:
    """The variance tau^2 of effects with the largest likelihood, 0 to six digits of the largest effect's square."""
    squares, noise = lines["effect"].to_numpy() ** 2, lines["noise"].to_numpy()
    candidates = squares.max() * np.geomspace(1e-6, 1, 121)
    total = candidates[:, None] + noise  # a variance that is known is not zero
    fits = (np.log(total) + squares / total) @ lines["weight"].to_numpy()
    return float(candidates[fits.argmin()])


def weights(table: pandas.DataFrame, by: Sequence[str]) -> pandas.Series:
    """What each line counts, where V variants of a group count as V - 1 differences."""
    import pandas

    parts = [pandas.Series(independent(lines) / len(lines), lines.index) for _, lines in table.groupby([*by])]
    return pandas.concat(parts).reindex(table.index) if parts else pandas.Series(dtype=float)


def probability(z: Any, reliability: Any, correlation: Any) -> Any:
    """The probability that the larger scale's measured difference is positive."""
    from scipy.special import ndtr

    r = reliability * correlation
    return ndtr(r * z / np.sqrt(1 - r**2))


def correlation(climbed: pandas.DataFrame) -> float:
    """The posterior mean of rho, from differences at two scales (`ladder.climbs` of `standardised`).

    The likelihood is that of the signs at the larger scale, given the differences at the smaller one.
    """
    prior = 0.5 + np.arcsin(GRID) / np.pi  # the share of right signs without noise
    log = PRIOR_PAIRS * (PRIOR_RIGHT * np.log(prior) + (1 - PRIOR_RIGHT) * np.log(1 - prior))
    seen = climbed[climbed["effect_largest"].abs() > ROUNDING]
    if len(seen):
        turned = (seen["z"] * np.sign(seen["effect_largest"])).to_numpy()[:, None]
        chances = probability(turned, seen["reliability"].to_numpy()[:, None], GRID)
        log = log + weights(seen, ["study"]).to_numpy() @ np.log(chances)
    likelihood = np.exp(log - log.max())
    return float(likelihood @ GRID / likelihood.sum())


def correlations(climbed: pandas.DataFrame) -> dict[str, float]:
    """Rho by endpoint, from pairs at two settings: milestones of one run share its noise."""
    apart = climbed[climbed["step"] == SMALLER]
    return {str(name): correlation(lines) for name, lines in apart.groupby("endpoint")}


def left_out(climbed: pandas.DataFrame) -> pandas.DataFrame:
    """`compared` forecasts as they would have been, with the rho of all other studies; of pairs at two settings."""
    import pandas

    apart = climbed[climbed["step"] == SMALLER]
    parts = [apart.assign(probability=0.0)[:0]]
    for (study, endpoint), lines in apart.groupby(["study", "endpoint"]):
        others = apart[(apart["study"] != study) & (apart["endpoint"] == endpoint)]
        parts.append(lines.assign(probability=probability(lines["z"], lines["reliability"], correlation(others))))
    return compared(pandas.concat(parts))


def make(studies: Sequence[StudyResults], study: str, scale: str) -> Forecast:
    """The forecast of a study of the store at a larger scale, from the largest smaller one of each of its pairs.

    Raises `BadInput` for an unknown scale, for what no setting is named, for one with results, and without a smaller
    one where variances are known.
    """
    ranks, scale = [*SCALES], plain(scale)
    name, _, setting = scale.partition(" ")
    rank = ranks.index(find(name).name)
    if setting and not setting.startswith("on "):
        raise BadInput(f"no setting is named '{scale}': give --forecast {name}, or '{name} on' and the text")
    for section in studies:
        if section.name == study and section.started and named(section.heading, scale):
            raise BadInput(f"study '{study}' has results at scale {section.heading}: a forecast is made before them")
    table = differences(studies)
    usable = standardised(table)
    rho = correlations(climbs(usable))
    smaller = usable["scale"].map(lambda name: name not in ranks or ranks.index(name) <= rank).astype(bool)
    lines = usable[(usable["study"] == study) & smaller].sort_values("cost", kind="stable")
    lines = lines.drop_duplicates([*PAIR, "endpoint"], keep="last").sort_index()
    if lines.empty:
        raise BadInput(
            f"study '{study}' has no difference at a scale up to {ranks[rank]}: run two seeds of it there first"
        )
    signs = []
    for line in lines.to_dict("records"):
        rho.setdefault(line["endpoint"], correlation(climbs(usable[:0])))
        chance = float(probability(line["z"], line["reliability"], rho[line["endpoint"]]))
        facts = {name: line[name] for name in (*PAIR, "endpoint", "heading", "milestone", "effect")}
        signs.append(ForecastSign(**facts, error=float(line["noise"]) ** 0.5, probability=chance))
    return Forecast(
        study=study,
        scale=scale,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        correlations=rho,
        runs=tuple(sorted(frozenset().union(*table["runs"]))),
        signs=tuple(signs),
    )


def scored(forecast: Forecast, table: pandas.DataFrame) -> pandas.DataFrame:
    """The signs of a forecast that are measured now, `compared` with the difference of the most seeds."""
    import pandas

    signs = pandas.DataFrame(map(vars, forecast.signs))
    there = table[(table["study"] == forecast.study) & (table["milestone"] == 100)]
    there = there[[named(heading, forecast.scale) for heading in there["heading"]]]
    there = there.sort_values("n").drop_duplicates([*PAIR, "endpoint"], keep="last")
    measured = there.assign(effect_largest=there["effect"])[["study", *PAIR, "endpoint", "effect_largest"]]
    return compared(signs.merge(measured, on=[*PAIR, "endpoint"]))


def compared(lines: pandas.DataFrame) -> pandas.DataFrame:
    """Forecasts with their `outcome`: 1 for a positive difference, 0 for a negative one, 0.5 for none."""
    signs = np.sign(lines["effect_largest"]) * (lines["effect_largest"].abs() > ROUNDING)
    return lines.assign(outcome=(1 + signs) / 2, loss=(lines["probability"] - (1 + signs) / 2) ** 2)


def brier(lines: pandas.DataFrame) -> dict[str, Any]:
    """The Brier score of `compared` forecasts, a coin having 0.25, with the ends of its 95 % interval.

    A jackknife that leaves out a study at a time, or a variant of a single study; None where nothing is left.
    """
    from scipy.special import stdtrit

    several = lines["study"].nunique() > 1
    names = ["study"] if several else ["variant", "other"]
    units = sorted({*lines[names].to_numpy().ravel()})
    means = np.array([lines["loss"][~(lines[names] == unit).any(axis=1)].mean() for unit in units])
    score, n = float(lines["loss"].mean()), len(units)
    figures: dict[str, Any] = {"signs": len(lines), "brier": score, "low": None, "high": None}
    if n > 1 and np.isfinite(means).all():
        half = float(stdtrit(n - 1, 0.975) * np.sqrt((n - 1) / n * ((means - means.mean()) ** 2).sum()))
        figures |= {"low": max(0.0, score - half), "high": min(1.0, score + half)}
    return figures


def calibration(lines: pandas.DataFrame) -> list[dict[str, Any]]:
    """By the probability of the sign that is forecast, in parts of `BINS`: its mean, and the share that is right."""
    certain = np.maximum(lines["probability"], 1 - lines["probability"])
    right = np.where(lines["probability"] >= 0.5, lines["outcome"], 1 - lines["outcome"])
    parts = []
    for low, high in itertools.pairwise(BINS):
        inside = (certain >= low) & ((certain < high) | (high == BINS[-1]))
        if inside.any():
            means = {"forecast": float(certain[inside].mean()), "right": float(right[inside].mean())}
            parts.append({"from": low, "to": high, "signs": int(inside.sum()), **means})
    return parts


def scores(lines: pandas.DataFrame) -> list[dict[str, Any]]:
    """`brier` and `calibration` of `compared` forecasts by endpoint."""
    groups = lines.groupby("endpoint", sort=False)
    return [{"endpoint": name, **brier(group), "calibration": calibration(group)} for name, group in groups]
