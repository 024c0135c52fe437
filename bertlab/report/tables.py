"""The tables of a report, as data for pages and console, and as Markdown. `tidy.py` has the CSV files.

Points have two decimals, published values as many as the paper printed. Cells are raw text: pages escape them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter
from statistics import fmean as mean

from bertlab.report import escape
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.summary import Interval

EMPTY = ""
"""A cell without content."""


@dataclass(frozen=True)
class Table:
    """Lines of text under a header. The first column is flushed left, the others right."""

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


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A variant on one measurement, as text; what is not known is empty."""

    variant: str
    """Its label; of a floor its name."""
    value: str
    """The mean or the median, in points or the unit of the pre-training's metric; or why there is none."""
    sd: str = EMPTY
    n: str = EMPTY
    """Pre-training x fine-tuning seeds; fine-tuning seeds alone on a published checkpoint."""
    missing: str = EMPTY
    """How many runs have no value, by status."""
    collapsed: str = EMPTY
    published: str = EMPTY
    difference: str = EMPTY
    """Minus the baseline, paired by seed."""
    interval: str = EMPTY
    """The 95 % interval of the difference; `n = 1` without one."""
    half: str = EMPTY
    """Half of that."""
    published_difference: str = EMPTY
    best: bool = False
    """Whether no other pre-trained variant is better."""
    best_published: bool = False

    @property
    def note(self) -> str:
        """Missing and collapsed runs."""
        return "; ".join(filter(None, [self.missing, self.collapsed]))


@dataclass(frozen=True)
class Column:
    """A measurement: an entry for each variant, then one for each floor."""

    measurement: str
    unit: str
    entries: tuple[Entry, ...]


def columns(evidence: Evidence) -> tuple[Column, ...]:
    """One for each measurement, in the order of the study."""
    floors = {name: evidence.floors(name) for name in evidence.measurements}
    kinds = dict.fromkeys(["majority guess", *(kind for each in floors.values() for kind in each)])
    found = []
    for name in evidence.measurements:
        entries = {variant: _entry(evidence, variant, name) for variant in evidence.variants}
        best = _best(evidence, name, {variant: each.value for variant, each in entries.items() if each.n})
        best_published = _best(evidence, name, {variant: each.published for variant, each in entries.items()})
        lines = [
            replace(each, best=variant in best, best_published=variant in best_published)
            for variant, each in entries.items()
        ]
        points = {kind: f"{floors[name][kind]:.2f}" if kind in floors[name] else EMPTY for kind in kinds}
        lines += [Entry(variant=kind, value=value) for kind, value in points.items()]
        cell = evidence.column(name)[0]
        found.append(Column(name, f"{cell.metric}, points" if cell.in_points else cell.metric, tuple(lines)))
    return tuple(found)


def _entry(evidence: Evidence, variant: str, name: str) -> Entry:
    baseline, summary = variant == evidence.baseline, evidence.summary(variant, name)
    missing = Counter(sorted(cell.fate for cell in evidence.at(variant, name) if cell.value is None))
    effect = None if baseline else evidence.difference(variant, name)
    interval = effect.interval if effect else None
    published_difference = None if baseline else evidence.published_difference(variant, name)
    collapsed = len(evidence.collapsed(variant, name))
    entry = Entry(
        variant=label(evidence, variant),
        value=", ".join(missing),
        published=printed(evidence.published(variant, name)),
        difference=signed(effect.mean) if effect else EMPTY,
        interval=ends(interval) if interval else f"n = {effect.n}" if effect else EMPTY,
        half=f"±{interval.half:.2f}" if interval else EMPTY,
        published_difference=EMPTY if published_difference is None else signed(published_difference),
    )
    if summary is None:
        return entry
    fewest, most = summary.finetune_seeds
    within = str(most) if fewest == most else f"({fewest} to {most})"
    return replace(
        entry,
        value=f"{summary.median if evidence.medians else summary.mean:.2f}",
        sd=EMPTY if summary.sd is None else f"{summary.sd:.2f}",
        n=str(summary.seeds) if evidence.imported else f"{summary.seeds}x{within}",
        missing="; ".join(f"{count} {fate}" for fate, count in missing.items()),
        collapsed=f"{collapsed} collapsed" if collapsed else EMPTY,
    )


def _best(evidence: Evidence, name: str, shown: dict[str, str]) -> set[str]:
    """The pre-trained variants with the best value as it is shown, so that equal texts are equally good.

    None where all are equal.
    """
    known = {variant: text for variant, text in shown.items() if text and not evidence.untrained(variant)}
    if len(set(known.values())) < 2:
        return set()
    best = (min if evidence.less_is_more(name) else max)(known.values(), key=float)
    return {variant for variant, text in known.items() if text == best}


def results(evidence: Evidence) -> Table:
    """A line for each variant: on each measurement the mean (sd, n) next to the published value."""
    return _across("variant", columns(evidence), _measured, attrgetter("published"))


def _measured(entry: Entry) -> str:
    return _noted(_with(entry.value, entry.sd, entry.n and f"n = {entry.n}"), entry.note)


def differences(evidence: Evidence) -> Table:
    """A line for each variant but the baseline: on each measurement the difference measured, and the published one."""

    def ours(entry: Entry) -> str:
        return _with(entry.difference, entry.interval)

    table = _across("variant minus baseline", columns(evidence), ours, attrgetter("published_difference"))
    return Table(table.columns, tuple(row for row in table.rows if any(row[1:])))


def brief(evidence: Evidence) -> tuple[Table, Table]:
    """The results and the differences, short enough for a console of 80 columns.

    Results are mean (sd), differences mean and half the width of their 95 % interval.
    """

    def mean(entry: Entry) -> str:
        return _noted(_with(entry.value, entry.sd), entry.collapsed)

    def difference(entry: Entry) -> str:
        return f"{entry.difference} {entry.half}".strip()

    found, minus = columns(evidence), f"minus {evidence.baseline}"
    tables = []
    for first, ours, theirs in (("variant", mean, "published"), (minus, difference, "published_difference")):
        table = _across(first, found, ours, attrgetter(theirs), "paper")
        lines = [(variant, *row[1:]) for variant, row in zip(evidence.variants, table.rows, strict=False)]
        shown = [line for line in lines if first == "variant" or line[0] != evidence.baseline]
        tables.append(Table(table.columns, tuple(shown)))
    return tables[0], tables[1]


def _across(
    first: str,
    found: Sequence[Column],
    ours: Callable[[Entry], str],
    theirs: Callable[[Entry], str],
    published: str = "published",
) -> Table:
    heads, parts = [first], [[each.variant for each in found[0].entries] if found else []]
    for column in found:
        heads.append(column.measurement)
        parts.append([ours(each) for each in column.entries])
        if any(map(theirs, column.entries)):
            heads.append(published)
            parts.append([theirs(each) for each in column.entries])
    return Table(tuple(heads), tuple(zip(*parts, strict=True)))


def _with(text: str, *details: str) -> str:
    known = ", ".join(filter(None, details))
    return f"{text} ({known})" if known else text


def _noted(text: str, note: str) -> str:
    return f"{text}; {note}" if note else text


def pretraining(evidence: Evidence) -> Table:
    """A line for each variant: the metrics of its final held-out evaluation, means over seeds."""
    metrics = {
        name: label
        for name, label in evidence.heldout_metrics.items()
        if any(each.heldout(name) is not None for each in evidence.pretrainings if not each.untrained)
    }
    units = {name: f"{text} (nats)" if name.endswith("_loss") else text for name, text in metrics.items()}
    heads = ("variant", *units.values(), "below plateau", "seeds")
    rows = []
    for variant in evidence.trained:
        runs = [each for each in evidence.of(variant) if not each.untrained and not each.imported]
        if not runs:
            states = {each.fate for each in evidence.pretrainings if each.variant == variant and not each.finished}
            if states:
                rows.append((label(evidence, variant), ", ".join(sorted(states)), *[EMPTY] * (len(heads) - 2)))
            continue
        below = [each.plateau - each.loss for each in runs if each.plateau is not None and each.loss is not None]
        means = [_mean([each.heldout(name) for each in runs]) for name in metrics]
        rows.append(
            (
                label(evidence, variant),
                *(_metric(name, value) for name, value in zip(metrics, means, strict=True)),
                f"{mean(below):.2f}" if below else EMPTY,
                str(len(runs)),
            )
        )
    return Table(heads, tuple(rows))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def _metric(name: str, value: float | None) -> str:
    """A held-out metric in the unit that its name gives, see `Loss.figures`."""
    if value is None:
        return EMPTY
    if name.endswith("_loss"):
        return f"{value:.3f}"
    return f"{100 * value:.1f} %" if name.endswith("accuracy") else f"{value:.1f}"


def label(evidence: Evidence, variant: str) -> str:
    """The name of a variant with notes: the baseline, equal to another, other numerics."""
    notes = []
    if variant == evidence.baseline:
        notes.append("baseline")
    if variant in evidence.duplicates:
        notes.append(f"same runs as {evidence.duplicates[variant]}")
    name = f"{variant} ({', '.join(notes)})" if notes else variant
    return f"{name} †" if variant in evidence.numerics_mismatch else name


def ends(interval: Interval, digits: int = 2) -> str:
    """The ends of an interval. Each keeps its sign, which shows the side of 0."""
    return f"{interval.low:+.{digits}f} to {interval.high:+.{digits}f}"


def signed(value: float | Decimal, digits: int = 2) -> str:
    """A difference with its sign; a decimal with its own digits. 0 after rounding has no minus."""
    if isinstance(value, Decimal):
        return f"{value:+}" if value else str(abs(value))
    return f"{round(value, digits) or 0.0:+.{digits}f}"


def printed(value: float | None) -> str:
    """A published value, with as many decimals as the paper printed."""
    return EMPTY if value is None else str(Decimal(str(value)))
