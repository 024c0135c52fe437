"""The CSV files of a report as tables: a line for each measured value, variant and measurement, or claim."""

import itertools
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pandas

from bertlab.report import escape
from bertlab.report.agreement import Agreement
from bertlab.report.averages import AverageColumn
from bertlab.report.evidence import Evidence
from bertlab.report.findings import findings
from bertlab.report.noise import Spread
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import Effect, Interval, Summary, summarise

PLACE = ("study", "scale", "setting", "key")
VALUES = (
    *("study", "variant", "measurement", "task", "dataset", "split", "method", "metric", "unit", "milestone"),
    *("pretrain_seed", "finetune_seed", "status", "value", "published", "scale", "setting", "key"),
    *("pretrain_id", "run_id"),
    "trained_parameters",
)
CLAIMS = (
    *PLACE,
    *("claim", "measurement", "dataset", "at", "since", "within", "or_better", "better", "worse", "than", "pair"),
    *("effect", "low", "high", "unit", "published", "n", "p", "adjusted_p", "seeds_alone_p"),
    *("looks", "most_seeds", "sequential_p", "repeated_low", "repeated_high"),
    *("likelihood", "likelihood_low", "likelihood_high", "likelihood_p", "likelihood_adjusted_p"),
    *("likelihood_verdict", "verdict", "reason", "collapses", "marks", "likelihood_marks"),
)
AGREEMENT = (
    *PLACE,
    *("measurement", "endpoint", "variant", "other", "milestone", "published", "measured", "agrees", "seeds"),
)
SUMMARY = (
    *PLACE,
    *("variant", "measurement", "dataset", "metric", "unit", "mean", "sd", "min", "max", "seeds"),
    *("published", "against", "effect", "low", "high", "p"),
    *("published_effect", "paired_seeds", "examples"),
)
NOISE = (
    *PLACE,
    *("measurement", "metric", "sd", "seed_share", "finetune_share", "example_share"),
    *("seeds", "finetune_seeds", "examples", "signal", "noise", "needed_signal_to_noise"),
)
"""The columns of the tables: part of the interface. Tables are of objects: counts stay whole beside absent ones."""


def typed(table: pandas.DataFrame) -> pandas.DataFrame:
    """A table for computing: columns of numbers are float64, those of whole numbers Int64; both may lack values."""
    types = {}
    for name, column in table.items():
        known = {type(value) for value in column.dropna()}
        if known and known <= {int, float, Decimal}:  # published values are decimals
            types[name] = "Int64" if known == {int} else "float64"
    return table.astype(types)


def _section(evidence: Evidence) -> dict[str, str]:
    """The columns `PLACE`, which no other section of the store shares: a table is read without the pages beside it."""
    setting = (evidence.study, evidence.scale, evidence.full_setting, evidence.key)
    return dict(zip(PLACE, setting, strict=True))


def values(evidences: Sequence[Evidence]) -> pandas.DataFrame:
    """A line for each planned value, in its unit; empty for pending and failed runs."""
    lines = (
        {name: section[name] if name in section else getattr(cell, name) for name in VALUES}
        for evidence in evidences
        for section in [_section(evidence)]
        for cell in evidence.cells
    )
    # the same cells planned twice, with more seeds the second time, are one value each
    return pandas.DataFrame(lines, columns=list(VALUES), dtype=object).drop_duplicates(ignore_index=True)


def summary(evidences: Sequence[Evidence]) -> pandas.DataFrame:
    """A line for each variant and measurement or average: its values, and its difference to the baseline.

    The spread is over pre-training seeds, or the fine-tuning seeds of one. `low` to `high` is the 95 % interval that
    verdicts use; `p` is two-sided, of no effect. A second line has the likelihood of the right answers.
    """
    lines: list[dict[str, Any]] = []
    for evidence in evidences:
        for variant, name in itertools.product(evidence.variants, evidence.measurements):
            place = {**_section(evidence), "variant": variant, "measurement": name, "dataset": evidence.dataset(name)}
            effect = None if variant == evidence.baseline else evidence.difference(variant, name)
            line = place | {
                "metric": evidence.column(name)[0].metric,
                "unit": evidence.column(name)[0].unit,
                "published": evidence.published(variant, name),
                "published_effect": effect and evidence.published_difference(variant, name),
            }
            lines.append(line | _summary(evidence.summary(variant, name)) | _effect(evidence, effect))
            if effect and (likely := evidence.difference(variant, name, LIKELIHOOD)):
                lines.append(place | {"metric": LIKELIHOOD, "unit": "points"} | _effect(evidence, likely))
        for variant, average in itertools.product(evidence.variants, evidence.averages):
            place = {**_section(evidence), "variant": variant}
            lines.append(place | _average(evidence, variant, average))
    return pandas.DataFrame(lines, columns=list(SUMMARY), dtype=object)


def _average(evidence: Evidence, variant: str, average: AverageColumn) -> dict[str, Any]:
    ours, theirs = (evidence.measured(each, average.measurements) for each in (variant, evidence.baseline))
    effect = None if variant == evidence.baseline else average.difference(ours, theirs)
    line: dict[str, Any] = {"measurement": average.name, "metric": "average", "unit": "points"}
    line["published"] = average.published.get(variant)
    line["published_effect"] = effect and average.published_difference(variant, evidence.baseline)
    summary = summarise(average.points(ours), of_seeds=evidence.spread_of_seeds)
    return line | _summary(summary) | _effect(evidence, effect) | {"examples": None}


def _summary(found: Summary | None) -> dict[str, Any]:
    if found is None:
        return {}
    return {"mean": found.mean, "sd": found.sd, "min": found.low, "max": found.high, "seeds": found.seeds}


def _effect(evidence: Evidence, found: Effect | None) -> dict[str, Any]:
    if found is None:
        return {}
    known = {"effect": found.mean, "p": found.p, "paired_seeds": found.n, "examples": found.examples}
    return {"against": evidence.baseline, **known, **_ends("", found.interval)}


def claims(evidences: Sequence[Evidence]) -> pandas.DataFrame:
    """A line for each claim: the pair of variants that decides, its effect with the 95 % interval, and the verdict.

    `effect` and `published` are the first side of `pair` minus the other, above 0 as claimed.

    The likelihood of the right answers is in points; `p`, `adjusted_p` and `seeds_alone_p` are
    as in `verdicts`.
    """
    lines = []
    for evidence, each in ((about, finding) for about in evidences for finding in findings(about)):
        claim, pair, effect = each.trial.claim, each.trial.pair, each.trial.pair.effect
        line = {
            **_section(evidence),
            **{
                "claim": claim.text,
                "measurement": claim.on,
                "dataset": evidence.dataset(claim.on),
                "at": claim.at,
                "since": claim.since or None,
            },
            **{"within": claim.within, "or_better": claim.or_better, "better": pair.better, "worse": pair.worse},
            **{"than": " over ".join(pair.than) or None, "pair": each.pair},
            **{"published": None if pair.published is None else float(pair.published)},
            **{"p": each.trial.p, "adjusted_p": each.trial.adjusted},
            "seeds_alone_p": each.trial.seeds_alone_p,
            **{"verdict": each.outcome, "reason": each.hint, "collapses": each.collapses},
            **{"marks": each.marks, "likelihood_marks": each.likely_marks},
        }
        if effect:
            line |= {"effect": effect.mean, "n": effect.n, "unit": evidence.column(claim.on)[0].unit}
            line |= _ends("", effect.interval)
        if each.likely and (likely := each.likely.pair.effect):
            line |= {"likelihood": likely.mean, **_ends("likelihood_", likely.interval)}
            line |= {"likelihood_p": each.likely.p, "likelihood_adjusted_p": each.likely.adjusted}
            line |= {"likelihood_verdict": each.likely_outcome}
        if looked := each.trial.looked:
            line |= {"looks": len(looked.looks), "most_seeds": looked.maximum, "sequential_p": looked.p}
            line |= _ends("repeated_", looked.interval(effect))
        lines.append(line)
    return pandas.DataFrame(lines, columns=list(CLAIMS), dtype=object)


def noise(known: Iterable[tuple[Evidence, Sequence[Spread]]]) -> pandas.DataFrame:
    """A line for each of the `noise.spreads` of studies: the spread of one run's value, its sources, signal and noise.

    `noise` is the spread between seeds; with one fine-tuning seed, `seed_share` is that of both kinds of seeds.
    """
    rows = []
    for evidence, each in ((about, spread) for about, spreads in known for spread in spreads):
        run, found = each.noise.run, each.noise
        row = {
            **_section(evidence),
            **{"measurement": each.measurement, "metric": each.metric, "sd": found.sd, "signal": found.signal},
            **{"seeds": run.seeds, "finetune_seeds": run.finetune_seeds, "examples": run.examples},
            **{"noise": found.between, "needed_signal_to_noise": each.needed},
        }
        if found.shares:
            names = ("seed_share", "finetune_share", "example_share")
            apart = (True, run.finetune_seeds > 1, run.examples > 1)
            row |= {name: share for name, share, kept in zip(names, found.shares, apart, strict=True) if kept}
        rows.append(row)
    return pandas.DataFrame(rows, columns=list(NOISE), dtype=object)


def agreement(found: Agreement) -> pandas.DataFrame:
    """A line for each pair of variants on each measurement, endpoint and milestone.

    Differences are `variant` minus `other`, published ones of the end of pre-training: see `agreement.COLUMNS`.
    """
    return found.comparisons.assign(seeds=found.comparisons["seeds"].map(len))[list(AGREEMENT)]


def _ends(prefix: str, found: Interval | None) -> dict[str, float]:
    return {} if found is None else {f"{prefix}low": found.low, f"{prefix}high": found.high}


def csv(table: pandas.DataFrame) -> str:
    """A table as CSV; text that a spreadsheet would take for a formula is escaped, absent values are empty."""
    escaped = {
        name: [escape.csv(value) if isinstance(value, str) else value for value in column]
        for name, column in table.items()
    }
    return pandas.DataFrame(escaped, dtype=object).to_csv(index=False, lineterminator="\n")
