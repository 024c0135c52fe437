"""The tables of a report, as data for pages and console, and as Markdown. `tidy.py` has the CSV files.

Points have two decimals, published figures as many as the paper printed. Cells are raw text: pages escape them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter

from bertlab.recipe import Loss
from bertlab.recipe.ranges import arms
from bertlab.report import escape
from bertlab.report.evidence import Evidence
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


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A variant on one measurement, as text; what is not known is empty."""

    variant: str
    """Its label; of a floor its name."""
    value: str
    """The mean or the median, in points or in the unit of what is read off the pre-training; or why there is none."""
    half: str = EMPTY
    """Half of the 95 % interval of the difference."""
    sd: str = EMPTY
    n: str = EMPTY
    """Pre-training x fine-tuning seeds; fine-tuning seeds alone on a published checkpoint."""
    note: str = EMPTY
    """What is missing, and what collapsed."""
    published: str = EMPTY
    difference: str = EMPTY
    """Minus the baseline, paired by seed."""
    interval: str = EMPTY
    """Of the difference; `n = 1` without one."""
    published_difference: str = EMPTY
    best: bool = False
    """Whether no other pre-trained variant is better."""
    best_published: bool = False

    @property
    def measured(self) -> str:
        """Mean (sd, n) and notes."""
        spread = ", ".join(filter(None, [self.sd, self.n and f"n = {self.n}"]))
        return "; ".join(filter(None, [f"{self.value} ({spread})" if spread else self.value, self.note]))

    @property
    def brief(self) -> str:
        """Mean (sd) and collapses."""
        collapsed = self.note.rpartition("; ")[2] if self.note.endswith("collapsed") else EMPTY
        return "; ".join(filter(None, [f"{self.value} ({self.sd})" if self.sd else self.value, collapsed]))

    @property
    def effect(self) -> str:
        """The difference with its interval."""
        return f"{self.difference} ({self.interval})" if self.interval else self.difference

    @property
    def brief_effect(self) -> str:
        """The difference and half of its interval."""
        return f"{self.difference} ±{self.half}" if self.half else self.difference


@dataclass(frozen=True)
class Column:
    """A measurement: an entry a variant, then one a floor."""

    measurement: str
    unit: str
    entries: tuple[Entry, ...]

    def has(self, name: str) -> bool:
        """Whether any entry has a value of this name."""
        return any(getattr(each, name) for each in self.entries)


def columns(evidence: Evidence) -> tuple[Column, ...]:
    """One a measurement, in the order of the study."""
    floors = {name: evidence.floors(name) for name in evidence.measurements}
    kinds = list(dict.fromkeys(["majority guess", *(kind for each in floors.values() for kind in each)]))
    found = []
    for name in evidence.measurements:
        trained = [each for each in evidence.variants if not evidence.untrained(each)]
        best = _best(evidence, name, {each: _value(evidence, evidence.summary(each, name)) for each in trained})
        published = _best(evidence, name, {each: figure(evidence.published(each, name)) for each in trained})
        entries = [_entry(evidence, each, name, each in best, each in published) for each in evidence.variants]
        entries += [
            Entry(variant=kind, value=f"{floors[name][kind]:.2f}" if kind in floors[name] else EMPTY) for kind in kinds
        ]
        cell = evidence.column(name)[0]
        unit = cell.metric if cell.method == "pretraining" else f"{cell.metric}, points"
        found.append(Column(name, unit, tuple(entries)))
    return tuple(found)


def _entry(evidence: Evidence, variant: str, name: str, best: bool, best_published: bool) -> Entry:
    summary, difference = evidence.summary(variant, name), evidence.difference(variant, name)
    missing = Counter(sorted(cell.fate for cell in evidence.at(variant, name) if cell.value is None))
    notes = [f"{count} {status}" for status, count in missing.items()]
    if collapsed := len(evidence.collapsed(variant, name)):
        notes.append(f"{collapsed} collapsed")
    n = EMPTY
    if summary is not None:
        fewest, most = summary.finetune_seeds
        inner = str(most) if fewest == most else f"({fewest} to {most})"
        n = str(summary.seeds) if evidence.imported else f"{summary.seeds}x{inner}"
    entry = Entry(
        variant=label(evidence, variant),
        value=", ".join(missing) if summary is None else _value(evidence, summary),
        sd=f"{summary.sd:.2f}" if summary and summary.sd is not None else EMPTY,
        n=n,
        note="; ".join(notes) if summary else EMPTY,
        published=figure(evidence.published(variant, name)),
        best=best,
        best_published=best_published,
    )
    if variant == evidence.baseline:
        return entry
    interval = difference and difference.interval
    theirs = evidence.published_difference(variant, name)
    return replace(
        entry,
        difference=EMPTY if difference is None else signed(difference.mean),
        interval=ends(interval) if interval else EMPTY if difference is None else f"n = {difference.n}",
        half=f"{interval.half:.2f}" if interval else EMPTY,
        published_difference=EMPTY if theirs is None else signed(theirs),
    )


def _value(evidence: Evidence, summary: Summary | None) -> str:
    return EMPTY if summary is None else f"{evidence.centre(summary):.2f}"


def _best(evidence: Evidence, name: str, shown: dict[str, str]) -> set[str]:
    """The variants of the best figure as it is shown, so that what looks equal is equal; none without a contest."""
    known = {variant: text for variant, text in shown.items() if text}
    if len(set(known.values())) < 2:
        return set()
    best = (min if evidence.less_is_more(name) else max)(known.values(), key=float)
    return {variant for variant, text in known.items() if text == best}


def results(evidence: Evidence) -> Table:
    """One row a variant: for each measurement the mean (sd, n) next to the published figure."""
    return _across("variant", columns(evidence), attrgetter("measured"), attrgetter("published"))


def differences(evidence: Evidence) -> Table:
    """One row a variant but the baseline: for each measurement the difference measured, and the published one."""
    theirs = attrgetter("published_difference")
    table = _across("variant minus baseline", columns(evidence), attrgetter("effect"), theirs)
    return Table(table.columns, tuple(row for row in table.rows if any(row[1:])))


def _across(first: str, found: Sequence[Column], ours: Callable[[Entry], str], theirs: Callable[[Entry], str]) -> Table:
    heads, parts = [first], [[each.variant for each in found[0].entries] if found else []]
    for column in found:
        heads.append(column.measurement)
        parts.append([ours(each) for each in column.entries])
        if any(map(theirs, column.entries)):
            heads.append("published")
            parts.append([theirs(each) for each in column.entries])
    return Table(tuple(heads), tuple(zip(*parts, strict=True)))


def brief(evidence: Evidence) -> tuple[Table, Table]:
    """The results and the differences, short enough for a console of 80 columns.

    Results are mean (sd), differences mean and half the width of their 95 % interval.
    """
    found = [replace(each, entries=each.entries[: len(evidence.variants)]) for each in columns(evidence)]
    both = (
        _across("variant", found, attrgetter("brief"), attrgetter("published")),
        _across("", found, attrgetter("brief_effect"), attrgetter("published_difference")),
    )
    results_, minus = (
        Table(
            tuple("paper" if name == "published" else name for name in each.columns),
            tuple((variant, *row[1:]) for variant, row in zip(evidence.variants, each.rows, strict=True)),
        )
        for each in both
    )
    rows = tuple(row for row in minus.rows if row[0] != evidence.baseline)
    return results_, Table((f"minus {evidence.baseline}", *minus.columns[1:]), rows)


def pretraining(evidence: Evidence) -> Table:
    """One row a variant: how its pre-training ended, means over seeds; `left to right` only where a variant is that."""
    causal = any(each.heldout("causal_lm_loss") is not None for each in evidence.pretrainings)
    losses = ("loss", "own masking", *(["left to right"] if causal else []))
    figures = {name: title for loss in arms(Loss).values() for name, title in loss.figures.items()}
    shares = {name: title for name, title in figures.items() if name.endswith("accuracy")}
    heads = ("variant", *losses, "below plateau", "perplexity", *shares.values(), "seeds")
    names = ("masked_lm_loss", "own_loss", "causal_lm_loss")[: len(losses)]
    rows = []
    for variant in evidence.trained:
        runs = [each for each in evidence.of(variant) if not each.untrained and not each.imported]
        if not runs:
            states = {each.fate for each in evidence.pretrainings if each.variant == variant and not each.finished}
            if states:
                rows.append((label(evidence, variant), ", ".join(sorted(states)), *[EMPTY] * (len(heads) - 2)))
            continue
        below = [each.plateau - each.loss for each in runs if each.plateau is not None and each.loss is not None]
        rows.append(
            (
                label(evidence, variant),
                *(_average([each.heldout(name) for each in runs], "{:.3f}") for name in names),
                _average(below, "{:.2f}"),
                _average([each.heldout("perplexity") for each in runs], "{:.1f}"),
                *(_percent([each.heldout(name) for each in runs]) for name in shares),
                str(len(runs)),
            )
        )
    return Table(heads, tuple(rows))


def label(evidence: Evidence, variant: str) -> str:
    """The name of a variant, with what it is: the baseline, equal to another, other numerics."""
    notes = []
    if variant == evidence.baseline:
        notes.append("baseline")
    if variant in evidence.duplicates:
        notes.append(f"same runs as {evidence.duplicates[variant]}")
    name = f"{variant} ({', '.join(notes)})" if notes else variant
    return f"{name} †" if variant in evidence.numerics_mismatch else name


def ends(interval: Interval, digits: int = 2) -> str:
    """From where to where an effect may lie. An end keeps its sign, which shows the side of 0."""
    return f"{interval.low:+.{digits}f} to {interval.high:+.{digits}f}"


def signed(value: float | Decimal, digits: int = 2) -> str:
    """A difference with its sign; a decimal with its own digits. What rounds to nothing has no minus."""
    if isinstance(value, Decimal):
        return f"{value:+}" if value else str(abs(value))
    return f"{round(value, digits) or 0.0:+.{digits}f}"


def figure(value: float | None) -> str:
    """A published figure, with as many decimals as were printed."""
    return EMPTY if value is None else str(Decimal(str(value)))


def _average(values: Sequence[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return form.format(mean(known)) if known else EMPTY


def _percent(shares: Sequence[float | None]) -> str:
    return _average([None if share is None else 100 * share for share in shares], "{:.1f} %")
