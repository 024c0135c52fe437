"""The CSV files of a report: a line a measured value, and a line for each row and column."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bertlab.names import plain
from bertlab.report import escape
from bertlab.report.claims import findings
from bertlab.report.evidence import Evidence
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.statistics.confidence import interval
from bertlab.report.statistics.effects import Effect

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "study",
    "variant",
    "measurement",
    "task",
    "dataset",
    "split",
    "method",
    "metric",
    "milestone",
    "pretrain_seed",
    "restart",
    "status",
    "value",
    "published",
    "scale",
    "pretrain_id",
    "run_id",
)
"""The columns of the tidy table: part of the interface."""

CLAIMS = (
    "study",
    "scale",
    "text",
    "setting",
    "claim",
    "measurement",
    "at",
    "since",
    "within",
    "better",
    "worse",
    "effect",
    "low",
    "high",
    "published",
    "n",
    "p",
    "adjusted_p",
    "log_likelihood",
    "log_likelihood_low",
    "log_likelihood_high",
    "verdict",
    "reason",
    "collapses",
)
"""The columns of the claims: part of the interface."""
SUMMARY = (
    "study",
    "scale",
    "text",
    "setting",
    "variant",
    "measurement",
    "metric",
    "mean",
    "sd",
    "min",
    "max",
    "seeds",
    "published",
    "against",
    "effect",
    "low",
    "high",
    "p",
    "bootstrap_low",
    "bootstrap_high",
    "published_effect",
    "paired_seeds",
    "examples",
)
"""The columns of the summary: part of the interface."""


def frame(evidences: Sequence[Evidence]) -> pandas.DataFrame:
    """The tidy table: a line a measured value, with the columns of `COLUMNS`; values in points, names as pages have."""
    import pandas

    lines = [
        {name: _shown(getattr(each if name in ("study", "scale") else cell, name)) for name in COLUMNS}
        for each in evidences
        for cell in each.cells
    ]
    # the same cells planned twice, with more seeds the second time, are one value each
    return pandas.DataFrame(lines, columns=list(COLUMNS)).drop_duplicates(ignore_index=True)


def values(evidences: Sequence[Evidence]) -> str:
    """The tidy table as CSV; text that a spreadsheet would take for a formula is escaped, absent values are empty."""
    return _csv(COLUMNS, frame(evidences).astype(object).itertuples(index=False))


def summary(evidences: Sequence[Evidence]) -> str:
    """A line for each row and column as CSV: what was measured, and its difference to the baseline.

    The spread is over the seeds, or over the restarts of one. `low` to `high` is the 95 % interval that judges, the
    other that of the multi-bootstrap beside it; `p` is two-sided, of no effect; `paired_seeds` are those that both rows
    have. A second line has the difference of the log-likelihoods of the right answers, in nats.
    """
    return _csv(SUMMARY, (line for each in evidences for line in _summary(each)))


def _summary(evidence: Evidence) -> Iterable[Sequence[object]]:
    for variant in evidence.variants:
        for name in evidence.measurements:
            metric = evidence.column(name)[0].metric
            found = evidence.summary(variant, name)
            spread = (found.mean, found.sd, found.low, found.high, found.seeds) if found else (None,) * 5
            published = evidence.published(variant, name), evidence.published_difference(variant, name)
            for measure, row, theirs in ((metric, spread, published), (LIKELIHOOD, (None,) * 5, (None, None))):
                effect = None if variant == evidence.baseline else evidence.difference(variant, name, measure)
                if effect is None and measure == LIKELIHOOD:
                    continue
                names = map(plain, (variant, name, measure))
                yield (*_setting(evidence), *names, *row, theirs[0], *_effect(evidence, effect, theirs[1]))


def claims(evidences: Sequence[Evidence]) -> str:
    """A line a claim as CSV: the pair of rows that decides, its effect with the 95 % interval, and the verdict.

    The log-likelihood is that of the right answers, in nats; `p` and `adjusted_p` as `Verdict` has them.
    """
    return _csv(CLAIMS, (line for each in evidences for line in _claims(each)))


def _claims(evidence: Evidence) -> Iterable[Sequence[object]]:
    for each in findings(evidence):
        claim, pair = each.judged.claim, each.judged.pair
        yield (
            *_setting(evidence),
            *map(plain, (claim.text, claim.on)),
            claim.at,
            claim.since or None,
            claim.within,
            *map(plain, (pair.better, pair.worse)),
            *_interval(each.judged.effect),
            each.judged.published,
            None if each.judged.effect is None else each.judged.effect.n,
            each.judged.p,
            each.judged.adjusted,
            *_interval(each.likely),
            each.verdict,
            plain(each.hint),
            plain(each.collapses),
        )


def _setting(evidence: Evidence) -> tuple[str, ...]:
    return plain(evidence.study), plain(evidence.scale), plain(evidence.ground), evidence.key


def _interval(found: Effect | None) -> tuple[float | None, ...]:
    if found is None or found.interval is None:
        return None if found is None else found.mean, None, None
    return found.mean, found.interval.low, found.interval.high


def _effect(evidence: Evidence, found: Effect | None, published: object) -> Iterable[object]:
    if found is None:
        return (None,) * 10
    ends = [(each.low, each.high) if each else (None, None) for each in (found.interval, interval(found.bootstrap))]
    return plain(evidence.baseline), found.mean, *ends[0], found.p, *ends[1], published, found.n, found.examples


def _csv(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_field(value) for value in line] for line in lines)
    return text.getvalue()


def _shown(value: object) -> object:
    return plain(value) if isinstance(value, str) else value


def _field(value: object) -> object:
    if isinstance(value, str):
        return escape.csv(value)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
