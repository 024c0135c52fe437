"""The CSV files of a report as tables: a line for each measured value, variant and measurement, or claim."""

import itertools
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pandas

from bertlab.report import escape
from bertlab.report.agreement import Agreement
from bertlab.report.findings import findings
from bertlab.report.noise import Spread
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.variance import Interval
from bertlab.report.study_results import StudyResults

SECTION = ("study", "scale", "setting", "key")
"""The columns of a section, which no other one of the store shares: a table is read without the pages beside it."""
VALUES = (
    *("study", "variant", "measurement", "task", "dataset", "split", "method", "metric", "unit", "milestone"),
    *("pretrain_seed", "finetune_seed", "status", "value", "published", "scale", "setting", "key"),
    *("pretrain_id", "run_id", "trained_parameters"),
)
CLAIMS = (
    *SECTION,
    *("claim", "measurement", "dataset", "at", "since", "within", "or_better", "better", "worse", "than", "pair"),
    *("effect", "low", "high", "unit", "published", "n", "p", "adjusted_p", "seeds_alone_p"),
    *("looks", "most_seeds", "sequential_p", "repeated_low", "repeated_high"),
    *("likelihood", "likelihood_low", "likelihood_high", "likelihood_p", "likelihood_adjusted_p"),
    *("likelihood_verdict", "verdict", "reason", "collapses", "marks", "likelihood_marks"),
)
AGREEMENT = (
    *SECTION,
    *("measurement", "endpoint", "variant", "other", "milestone", "published", "measured", "agrees", "seeds"),
)
SUMMARY = (
    *SECTION,
    *("variant", "measurement", "dataset", "metric", "unit", "mean", "sd", "min", "max", "seeds"),
    *("published", "against", "effect", "low", "high", "p"),
    *("published_effect", "paired_seeds", "examples"),
)
NOISE = (
    *SECTION,
    *("measurement", "metric", "sd", "seed_share", "finetune_share", "example_share"),
    *("seeds", "finetune_seeds", "examples", "signal", "noise", "needed_signal_to_noise"),
)
"""The columns of the tables: part of the interface. Tables are of objects: counts stay whole beside absent ones."""


def typed(table: pandas.DataFrame) -> pandas.DataFrame:
    """A table for computing: columns of numbers and empty ones are float64, those of whole numbers Int64."""
    types = {}
    for name, column in table.items():
        kinds = {type(value) for value in column.dropna()}
        if kinds <= {int, float, Decimal}:  # published values are decimals
            types[name] = "Int64" if kinds == {int} else "float64"
    return table.astype(types)


def _table(lines: Iterable[dict[str, Any]], columns: Sequence[str]) -> pandas.DataFrame:
    return pandas.DataFrame([*lines], columns=list(columns), dtype=object)


def values(studies: Sequence[StudyResults]) -> pandas.DataFrame:
    """A line for each planned value, in its unit; empty for pending and failed runs."""
    lines = [
        {name: getattr(cell, name, None) for name in VALUES} | study.columns
        for study in studies
        for cell in study.cells
    ]
    # the same cells planned twice, with more seeds the second time, are one value each
    return _table(lines, VALUES).drop_duplicates(ignore_index=True)


def summary(studies: Sequence[StudyResults]) -> pandas.DataFrame:
    """A line for each variant and measurement or average: its values, and its difference to the baseline.

    The spread is over pre-training seeds, or the fine-tuning seeds of one. `low` to `high` is the 95 % interval that
    verdicts use; `p` is two-sided, of no effect. A second line has the likelihood of the right answers.
    """
    lines = []
    for study in studies:
        pairs = (itertools.product(study.variants, names) for names in (study.measurements, study.averages))
        for variant, name in itertools.chain(*pairs):
            about = study.columns | {"variant": variant, "measurement": name}
            effect = None if variant == study.baseline else study.difference(variant, name)
            line = about | {"published": study.published(variant, name)} | _effect(study, effect)
            if cell := next(iter(study.column(name)), None):
                line |= {"dataset": cell.dataset, "metric": cell.metric, "unit": cell.unit}
            if numbers := study.summary(variant, name):
                line |= {"mean": numbers.mean, "sd": numbers.sd, "seeds": numbers.seeds}
                line |= {"min": numbers.low, "max": numbers.high}
            if effect:
                line["published_effect"] = study.published_difference(variant, name)
            lines.append(line)
            if name in study.averages:
                line |= {"metric": "average", "unit": "points", "examples": None}
            elif effect and study.of_answers(name) and (likely := study.difference(variant, name, LIKELIHOOD)):
                endpoint = {"dataset": study.dataset(name), "metric": LIKELIHOOD, "unit": "points"}
                lines.append(about | endpoint | _effect(study, likely))
    return _table(lines, SUMMARY)


def _effect(study: StudyResults, effect: Effect | None) -> dict[str, Any]:
    if effect is None:
        return {}
    numbers = {"effect": effect.mean, "p": effect.p, "paired_seeds": effect.n, "examples": effect.examples}
    return {"against": study.baseline, **numbers, **_ends("", effect.interval)}


def claims(studies: Sequence[StudyResults]) -> pandas.DataFrame:
    """A line for each claim: the pair of variants that decides, its effect with the 95 % interval, and the verdict.

    `effect` and `published` are the first side of `pair` minus the other, above 0 as claimed.

    The likelihood of the right answers is in points; `p`, `adjusted_p` and `seeds_alone_p` are
    as in `verdicts`.
    """
    lines = []
    for study, finding in ((one, finding) for one in studies for finding in findings(one)):
        test, claim, pair = finding.test, finding.test.claim, finding.test.pair
        line = study.columns | {
            "claim": claim.text,
            "measurement": claim.on,
            "dataset": study.dataset(claim.on),
            "at": claim.at,
            "since": claim.since or None,
            "within": claim.within,
            "or_better": claim.or_better,
            "better": pair.better,
            "worse": pair.worse,
            "than": " over ".join(pair.than) or None,
            "pair": finding.pair,
            "published": None if pair.published is None else float(pair.published),
            "p": test.p,
            "adjusted_p": test.adjusted,
            "seeds_alone_p": test.seeds_alone_p,
            "verdict": finding.outcome,
            "reason": finding.hint,
            "collapses": finding.collapses,
            "marks": finding.marks,
            "likelihood_marks": finding.likely.marks if finding.likely else "",
        }
        if effect := pair.effect:
            line |= {"effect": effect.mean, "n": effect.n, "unit": study.column(claim.on)[0].unit}
            line |= _ends("", effect.interval)
        if finding.likely and (likely := finding.likely.test.pair.effect):
            line |= {"likelihood": likely.mean, **_ends("likelihood_", likely.interval)}
            line |= {"likelihood_p": finding.likely.test.p, "likelihood_adjusted_p": finding.likely.test.adjusted}
            line |= {"likelihood_verdict": finding.likely_outcome}
        if history := test.history:
            line |= {"looks": len(history.looks), "most_seeds": history.maximum, "sequential_p": history.p}
            line |= _ends("repeated_", history.interval(effect))
        lines.append(line)
    return _table(lines, CLAIMS)


def noise(studies: Iterable[tuple[StudyResults, Sequence[Spread]]]) -> pandas.DataFrame:
    """A line for each of the `noise.spreads` of studies: the spread of one run's value, its sources, signal and noise.

    `noise` is the spread between seeds; with one fine-tuning seed, `seed_share` is that of both kinds of seeds.
    """
    lines = []
    for study, spread in ((one, spread) for one, spreads in studies for spread in spreads):
        noise, run = spread.noise, spread.noise.run
        by_seed, by_restart, by_example = noise.shares or (None, None, None)
        shares = by_seed, by_restart if run.finetune_seeds > 1 else None, by_example if run.examples > 1 else None
        design = run.seeds, run.finetune_seeds, run.examples
        numbers = noise.sd, *shares, *design, noise.signal, noise.between, spread.needed
        columns = zip(NOISE[len(SECTION) :], (spread.measurement, spread.metric, *numbers), strict=True)
        lines.append(study.columns | dict(columns))
    return _table(lines, NOISE)


def agreement(agreement: Agreement) -> pandas.DataFrame:
    """A line for each pair of variants on each measurement, endpoint and milestone.

    Differences are `variant` minus `other`, published ones of the end of pre-training: see `agreement.COLUMNS`.
    """
    return agreement.comparisons.assign(seeds=agreement.comparisons["seeds"].map(len))[list(AGREEMENT)]


def _ends(prefix: str, interval: Interval | None) -> dict[str, float]:
    return {} if interval is None else {f"{prefix}low": interval.low, f"{prefix}high": interval.high}


def csv(table: pandas.DataFrame) -> str:
    """A table as CSV; text that a spreadsheet would take for a formula is escaped, absent values are empty."""
    escaped = {
        name: [escape.csv(value) if isinstance(value, str) else value for value in column]
        for name, column in table.items()
    }
    return pandas.DataFrame(escaped, dtype=object).to_csv(index=False, lineterminator="\n")
