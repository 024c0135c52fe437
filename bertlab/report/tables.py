"""The tables of a report, as data for the page and the console, and as Markdown. `tidy.py` has the CSV files.

Points have two decimals, published figures as many as the paper printed. A table is text already, raw: whoever draws
it escapes it for where it goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from bertlab.report import escape
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.effects import Effect
from bertlab.report.statistics.summary import Interval, Summary, mean

EMPTY = ""
"""A cell without anything to say."""


@dataclass(frozen=True)
class Table:
    """Rows of text under a header. The first column is flushed left, the others right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The table in GitHub's Markdown, names escaped."""
        from tabulate import tabulate

        return tabulate(
            [[escape.markdown(text) for text in row] for row in self.rows],
            headers=[escape.markdown(text) for text in self.columns],
            tablefmt="pipe",
            colalign=["left", *["right"] * (len(self.columns) - 1)],
            disable_numparse=True,  # or "84.40" would become 84.4
        )


def results(evidence: Evidence) -> Table:
    """One row a variant: for each measurement the mean (sd, n) beside the published figure."""
    shown = {
        name: any(evidence.published(row, name) is not None for row in evidence.variants)
        for name in evidence.measurements
    }
    columns = ["row"]
    for name in evidence.measurements:
        columns += [name, "published"] if shown[name] else [name]
    rows = []
    for variant in evidence.variants:
        row = [label(evidence, variant)]
        for name in evidence.measurements:
            row.append(measured(evidence, variant, name))
            if shown[name]:
                row.append(figure(evidence.published(variant, name)))
        rows.append(tuple(row))
    floors = {name: evidence.floors(name) for name in evidence.measurements}
    for floor in dict.fromkeys(["majority guess", *(each for found in floors.values() for each in found)]):
        row = [floor]
        for name in evidence.measurements:
            row.append(f"{floors[name][floor]:.2f}" if floor in floors[name] else EMPTY)
            row += [EMPTY] if shown[name] else []
        rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows))


def differences(evidence: Evidence) -> Table:
    """One row a variant but the baseline: for each measurement the difference measured, and the published one."""
    columns = ["row minus baseline"]
    shown = {name: evidence.published(evidence.baseline, name) is not None for name in evidence.measurements}
    for name in evidence.measurements:
        columns += [name, "published"] if shown[name] else [name]
    rows = []
    for variant in evidence.variants:
        if variant == evidence.baseline:
            continue
        row = [label(evidence, variant)]
        for name in evidence.measurements:
            row.append(_difference(evidence.difference(variant, name)))
            if shown[name]:
                row.append(published_difference(evidence, variant, name))
        rows.append(tuple(row))
    return Table(tuple(columns), tuple(rows))


def pretraining(evidence: Evidence) -> Table:
    """One row a variant: how its pre-training ended, means over seeds; `left to right` only where a row is that."""
    causal = ("left to right",) if any(each.causal for each in evidence.pretrainings) else ()
    losses = ("loss", "own masking", *causal)
    columns = ("row", *losses, "below plateau", "perplexity", "accuracy", "next sentence", "seeds")
    names = ("masked_lm_loss", "own_loss", "causal_loss")[: len(losses)]
    rows = []
    for variant in evidence.trained:
        runs = [each for each in evidence.of(variant) if not each.untrained and not each.imported]
        if not runs:
            states = {each.fate for each in evidence.pretrainings if each.variant == variant and not each.finished}
            if states:
                rows.append((label(evidence, variant), ", ".join(sorted(states)), *[EMPTY] * (len(columns) - 2)))
            continue
        below = [each.plateau - each.loss for each in runs if each.plateau is not None and each.loss is not None]
        rows.append(
            (
                label(evidence, variant),
                *(_average([each.heldout(name) for each in runs], "{:.3f}") for name in names),
                _average(below, "{:.2f}"),
                _average([each.heldout("perplexity") for each in runs], "{:.1f}"),
                _percent([each.heldout("accuracy") for each in runs]),
                _percent([each.heldout("next_sentence_accuracy") for each in runs]),
                str(len(runs)),
            )
        )
    return Table(columns, tuple(rows))


def brief(evidence: Evidence) -> tuple[Table, Table]:
    """The results and the differences, short enough for a console of 80 columns.

    Results are mean (sd), differences mean and half the width of their 95 % interval.
    """
    columns = ["row"]
    for name in evidence.measurements:
        columns += [name, "paper"]
    results_, differences_ = [], []
    for variant in evidence.variants:
        result, against = [variant], [variant]
        for name in evidence.measurements:
            summary, difference = evidence.summary(variant, name), evidence.difference(variant, name)
            if summary is None:
                result.append(measured(evidence, variant, name))
            else:
                points = f"{evidence.centre(summary):.2f}" + ("" if summary.sd is None else f" ({summary.sd:.2f})")
                result.append("; ".join([points, *_collapsed(evidence, variant, name)]))
            result.append(figure(evidence.published(variant, name)))
            half = "" if difference is None or not difference.interval else f" ±{difference.interval.half:.2f}"
            against.append("" if difference is None else f"{signed(difference.mean)}{half}")
            against.append(published_difference(evidence, variant, name))
        results_.append(tuple(result))
        if variant != evidence.baseline:
            differences_.append(tuple(against))
    return (
        Table(tuple(columns), tuple(results_)),
        Table((f"minus {evidence.baseline}", *columns[1:]), tuple(differences_)),
    )


def measured(evidence: Evidence, variant: str, measurement: str) -> str:
    """A cell of the results: mean (sd, n), n as seeds x fine-tuning seeds, and what is missing of it."""
    cells = evidence.at(variant, measurement)
    missing = Counter(sorted(cell.fate for cell in cells if cell.value is None))
    summary = evidence.summary(variant, measurement)
    if summary is None:
        return ", ".join(missing) or EMPTY
    notes = [f"{count} {status}" for status, count in missing.items()]
    return "; ".join([_summary(evidence, summary), *notes, *_collapsed(evidence, variant, measurement)])


def label(evidence: Evidence, variant: str) -> str:
    """The name of a row, with what it is: the baseline, equal to another, other numerics."""
    notes = []
    if variant == evidence.baseline:
        notes.append("baseline")
    if variant in evidence.duplicates:
        notes.append(f"same runs as {evidence.duplicates[variant]}")
    name = f"{variant} ({', '.join(notes)})" if notes else variant
    return f"{name} †" if variant in evidence.numerics_mismatch else name


def ends(interval: Interval, digits: int = 2) -> str:
    """From where to where an effect may lie. An end keeps its sign, so that it shows on which side of 0 it is."""
    return f"{interval.low:+.{digits}f} to {interval.high:+.{digits}f}"


def signed(value: float | Decimal, digits: int = 2) -> str:
    """A difference with its sign; a decimal with the digits that it has. What rounds to nothing has no minus."""
    if isinstance(value, Decimal):
        return f"{value:+}" if value else str(abs(value))
    return f"{round(value, digits) or 0.0:+.{digits}f}"


def _collapsed(evidence: Evidence, variant: str, measurement: str) -> list[str]:
    count = len(evidence.collapsed(variant, measurement))
    return [f"{count} collapsed"] if count else []


def _summary(evidence: Evidence, summary: Summary) -> str:
    fewest, most = summary.finetune_seeds
    finetune_seeds = str(most) if fewest == most else f"({fewest} to {most})"
    inner = f"n = {summary.seeds}" if evidence.imported else f"n = {summary.seeds}x{finetune_seeds}"
    return f"{evidence.centre(summary):.2f} ({inner if summary.sd is None else f'{summary.sd:.2f}, {inner}'})"


def _difference(value: Effect | None) -> str:
    if value is None:
        return EMPTY
    if value.interval is None:
        return f"{signed(value.mean)} (n = {value.n})"
    return f"{signed(value.mean)} ({ends(value.interval)})"


def published_difference(evidence: Evidence, variant: str, measurement: str) -> str:
    """A row minus the baseline in the paper, with as many decimals as it printed."""
    difference = evidence.published_difference(variant, measurement)
    return EMPTY if difference is None else signed(difference)


def figure(value: float | None) -> str:
    """A published figure, with as many decimals as were printed."""
    return EMPTY if value is None else str(Decimal(str(value)))


def _average(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return form.format(mean(known)) if known else EMPTY


def _percent(shares: Sequence[float | None]) -> str:
    return _average([None if share is None else 100 * share for share in shares], "{:.1f} %")
