"""A column of a study row by row: what was measured beside what was published, and both minus the baseline."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from bertlab.report.evidence import Evidence
from bertlab.report.tables import EMPTY, ends, figure, label, measured, published_difference, signed


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of a study on one measurement, as text; what is not known is empty."""

    row: str
    measured: str
    """The mean or the median, in points or in the unit of what is read off the pre-training."""
    sd: str = EMPTY
    n: str = EMPTY
    """Pre-training seeds x fine-tuning seeds; fine-tuning seeds alone on a checkpoint from elsewhere."""
    published: str = EMPTY
    difference: str = EMPTY
    """Minus the baseline, paired by seed."""
    interval: str = EMPTY
    published_difference: str = EMPTY
    note: str = EMPTY
    """What is missing, and what collapsed."""
    best: bool = False
    """Whether nothing that was pre-trained and measured is better."""
    best_published: bool = False


@dataclass(frozen=True)
class Comparison:
    """A measurement of a study: a line a row, and one of the most frequent answer."""

    measurement: str
    unit: str
    lines: tuple[Line, ...]


def comparisons(evidence: Evidence) -> tuple[Comparison, ...]:
    """One a measurement, in the order of the study."""
    return tuple(_comparison(evidence, name) for name in evidence.measurements)


def _comparison(evidence: Evidence, name: str) -> Comparison:
    trained = [row for row in evidence.variants if not evidence.untrained(row)]
    summaries = {row: evidence.summary(row, name) for row in trained}
    means = {row: f"{evidence.centre(summary):.2f}" for row, summary in summaries.items() if summary is not None}
    papers = {row: figure(paper) for row in trained if (paper := evidence.published(row, name)) is not None}
    cell, less = evidence.column(name)[0], evidence.less_is_more(name)
    best, best_published = _best(means, less), _best(papers, less)
    lines = [
        _line(evidence, row, name, means.get(row, EMPTY) == best, papers.get(row, EMPTY) == best_published)
        for row in evidence.variants
    ]
    lines += [Line(row=floor, measured=f"{value:.2f}") for floor, value in evidence.floors(name).items()]
    unit = cell.metric if cell.method == "pretraining" else f"{cell.metric}, points"
    return Comparison(name, unit, tuple(lines))


def _line(evidence: Evidence, row: str, name: str, best: bool, best_published: bool) -> Line:
    summary = evidence.summary(row, name)
    other = None if row == evidence.baseline else evidence.difference(row, name)
    interval = other and other.interval
    if summary is None:
        found = {"measured": measured(evidence, row, name)}
    else:
        missing = Counter(sorted(cell.fate for cell in evidence.at(row, name) if cell.value is None))
        missing.update({"collapsed": len(evidence.collapsed(row, name))})
        fewest, most = summary.finetune_seeds
        finetune_seeds = str(most) if fewest == most else f"({fewest} to {most})"
        found = {
            "measured": f"{evidence.centre(summary):.2f}",
            "sd": EMPTY if summary.sd is None else f"{summary.sd:.2f}",
            "n": str(summary.seeds) if evidence.imported else f"{summary.seeds}x{finetune_seeds}",
            "note": ", ".join(f"{count} {what}" for what, count in missing.items() if count),
        }
    return Line(
        row=label(evidence, row),
        published=figure(evidence.published(row, name)),
        difference=EMPTY if other is None else signed(other.mean),
        interval=ends(interval) if interval else EMPTY,
        published_difference=EMPTY if row == evidence.baseline else published_difference(evidence, row, name),
        best=best,
        best_published=best_published,
        **found,
    )


def _best(shown: dict[str, str], less: bool) -> str | None:
    """The best figure as it is shown, so that what looks equal is equal; None where there is nothing to compare."""
    if len(set(shown.values())) < 2:
        return None
    return (min if less else max)(shown.values(), key=float)
