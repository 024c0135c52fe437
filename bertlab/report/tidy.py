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
from bertlab.report.pairs import SECTION
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.effects import Effect
from bertlab.report.study_results import StudyResults

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


def _table(lines: Iterable[dict[str, Any] | tuple[Any, ...]], columns: Sequence[str]) -> pandas.DataFrame:
    return pandas.DataFrame([*lines], columns=list(columns), dtype=object)


def values(studies: Sequence[StudyResults]) -> pandas.DataFrame:
    """A line for each planned value, in its unit; empty for pending and failed runs."""
    cells = ((study.columns, cell) for study in studies for cell in study.cells)
    lines = [{name: getattr(cell, name, None) for name in VALUES} | section for section, cell in cells]
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
            effect = None if variant == study.baseline else study.difference(variant, name)
            about = *study.columns.values(), variant, name
            cell, averaged = next(iter(study.column(name)), None), name in study.averages
            unit = (None, "average", "points") if averaged else _fields(cell, "dataset", "metric", "unit")
            numbers = _fields(study.summary(variant, name), "mean", "sd", "low", "high", "seeds")
            theirs = study.published_difference(variant, name) if effect else None
            examples = None if averaged or effect is None else effect.examples
            compared = *_effect(study, effect, theirs), examples
            lines.append((*about, *unit, *numbers, study.published(variant, name), *compared))
            if effect and study.of_answers(name) and not averaged:
                likely = study.difference(variant, name, LIKELIHOOD)
                endpoint = study.dataset(name), LIKELIHOOD, "points"
                compared = *_effect(study, likely), likely and likely.examples
                lines += [(*about, *endpoint, *[None] * 6, *compared)] if likely else []
    return _table(lines, SUMMARY)


def _effect(study: StudyResults, effect: Effect | None, theirs: Decimal | None = None) -> tuple[Any, ...]:
    """A difference to the baseline beside the published one; all is empty without it."""
    mean, interval, p, n = _fields(effect, "mean", "interval", "p", "n")
    return study.baseline if effect else None, mean, *_fields(interval, "low", "high"), p, theirs, n


def claims(studies: Sequence[StudyResults]) -> pandas.DataFrame:
    """A line for each claim: the pair of variants that decides, its effect with the 95 % interval, and the verdict.

    `effect` and `published` are the first side of `pair` minus the other, above 0 as claimed.

    The likelihood of the right answers is in points; `p`, `adjusted_p` and `seeds_alone_p` are
    as in `verdicts`.
    """
    lines = []
    for study, finding in ((one, finding) for one in studies for finding in findings(one)):
        test, claim, pair, likely = finding.test, finding.test.claim, finding.test.pair, finding.likely
        about = claim.text, claim.on, study.dataset(claim.on), claim.at, claim.since or None, claim.within
        sides = claim.or_better, pair.better, pair.worse, " over ".join(pair.than) or None, finding.pair
        mean, interval, n = _fields(pair.effect, "mean", "interval", "n")
        unit = study.column(claim.on)[0].unit if pair.effect else None
        published = None if pair.published is None else float(pair.published)
        effect = mean, *_fields(interval, "low", "high"), unit, published, n, test.p, test.adjusted, test.seeds_alone_p
        looks: tuple[Any, ...] = (None,) * 5
        by_likelihood = looks
        if history := test.history:
            ends = _fields(history.interval(pair.effect), "low", "high")
            looks = len(history.looks), history.maximum, history.p, *ends
        if seen := likely and likely.test.pair.effect:
            by_likelihood = seen.mean, *_fields(seen.interval, "low", "high"), likely.test.p, likely.test.adjusted
        verdict = finding.likely_outcome if seen else None, finding.outcome, finding.hint, finding.collapses
        marks = finding.marks, likely.marks if likely else ""
        line = *about, *sides, *effect, *looks, *by_likelihood, *verdict, *marks
        lines.append((*study.columns.values(), *line))
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
        lines.append((*study.columns.values(), spread.measurement, spread.metric, *numbers))
    return _table(lines, NOISE)


def agreement(agreement: Agreement) -> pandas.DataFrame:
    """A line for each pair of variants on each measurement, endpoint and milestone.

    Differences are `variant` minus `other`, published ones of the end of pre-training: see `agreement.COLUMNS`.
    """
    return agreement.comparisons.assign(seeds=agreement.comparisons["seeds"].map(len))[list(AGREEMENT)]


def _fields(of: object | None, *names: str) -> list[Any]:
    """Fields of an object, without one None for each."""
    return [getattr(of, name, None) for name in names]


def csv(table: pandas.DataFrame) -> str:
    """A table as CSV; text that a spreadsheet would take for a formula is escaped, absent values are empty."""
    escaped = {
        name: [escape.csv(value) if isinstance(value, str) else value for value in column]
        for name, column in table.items()
    }
    return pandas.DataFrame(escaped, dtype=object).to_csv(index=False, lineterminator="\n")
