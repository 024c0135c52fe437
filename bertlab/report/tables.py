"""The tables of a report, as data for pages and console, and as Markdown. `tidy.py` has the CSV files.

Points have one decimal, published values as many as the paper printed. Cells are raw text: pages escape them.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter
from statistics import fmean
from typing import Self

from bertlab.recipe import Recipe
from bertlab.report import escape
from bertlab.report.averages import AverageColumn
from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.statistics.effects import Effect, Summary, summarise
from bertlab.report.units import is_loss, is_share
from bertlab.wording import duration, listed, short


@dataclass(frozen=True)
class Table:
    """Lines of text under a header. The first column and those of words are flushed left, the others right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ()
    """Columns of words besides the first."""

    def markdown(self) -> str:
        """The table in GitHub's Markdown, names escaped."""
        from tabulate import tabulate

        return tabulate(
            [[escape.markdown(text) for text in row] for row in self.rows],
            headers=[escape.markdown(text) for text in self.columns],
            tablefmt="pipe",
            colalign=["left", *("left" if each in self.words else "right" for each in self.columns[1:])],
            disable_numparse=True,  # or "84.40" would become 84.4
        )


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A variant or a floor on one measurement, as text; what is not known is empty."""

    variant: str
    """The label of the variant, or the name of the floor."""
    value: str
    """The mean or the median, in points or the unit of the pre-training's metric; or why there is none."""
    sd: str = ""
    n: str = ""
    """Pre-training x fine-tuning seeds; fine-tuning seeds alone on a published checkpoint."""
    note: str = ""
    """The numbers of runs without a value, by status, and of collapsed runs; or why there is no average."""
    published: str = ""
    difference: str = ""
    """The variant minus the baseline, paired by seed."""
    interval: str = ""
    """The 95 % interval of the difference, or `n = 1`."""
    half: str = ""
    published_difference: str = ""

    @property
    def short(self) -> str:
        """The value with its sd as in a paper: `83.9 ±0.3`."""
        return f"{self.value} ±{self.sd}" if self.sd else self.value

    @property
    def bracketed(self) -> Self:
        """With the paper's values in brackets: they are of another data set."""
        both = {name: getattr(self, name) for name in ("published", "published_difference")}
        return replace(self, **{name: text and f"({text})" for name, text in both.items()})


@dataclass(frozen=True)
class Column:
    """A measurement or an average: an entry for each variant, then one for each floor."""

    measurement: str
    head: str
    """The measurement, with the data set that stands in for its own; the paper's values are then in brackets."""
    unit: str
    entries: tuple[Entry, ...]


def columns(evidence: Evidence) -> tuple[Column, ...]:
    """A column for each measurement, in the order of the study, then one for each average."""
    floors = {name: evidence.floors(name) for name in evidence.measurements}
    kinds = dict.fromkeys(["majority guess", *(kind for each in floors.values() for kind in each)])
    found = []
    for name in evidence.measurements:
        entries = [_entry(evidence, variant, name) for variant in evidence.variants]
        points = {kind: f"{value:.{digits(evidence, name)}f}" for kind, value in floors[name].items()}
        entries += [Entry(variant=kind, value=points.get(kind, "")) for kind in kinds]
        if evidence.stand_in(name):
            entries = [entry.bracketed for entry in entries]
        cell = evidence.column(name)[0]
        found.append(
            Column(name, evidence.head(name), cell.metric_name + ", nats" * (cell.unit == "nats"), tuple(entries))
        )
    for average in evidence.averages:
        entries = [_average(evidence, variant, average) for variant in evidence.variants]
        found.append(
            Column(
                average.name,
                average.name,
                f"mean of {len(average.of)}",
                (*entries, *(Entry(variant=kind, value="") for kind in kinds)),
            )
        )
    return tuple(found)


def seeds(evidence: Evidence) -> str:
    """The n of all values of a section: `n = 4 seeds; 1 where no sd is shown`. Empty without a value."""
    every = itertools.product(evidence.variants, evidence.measurements)
    known = [found for pair in every if (found := evidence.summary(*pair))]
    if not known:
        return ""
    few, most = min(each.seeds for each in known), max(each.seeds for each in known)
    single = {each.seeds for each in known if each.sd is None} == {1} != {most}
    many = {each.seeds for each in known if each.sd is not None} if single else {few, most}
    text = "n = " + " to ".join(dict.fromkeys(f"{each}" for each in (min(many), max(many))))
    text += f" {evidence.seeds if max(many) > 1 else evidence.seeds[:-1]}"
    restarts = {number for each in known for number in each.finetune_seeds}
    if not evidence.pretrained and max(restarts) > 1:
        text += f" x {' to '.join(map(str, sorted({min(restarts), max(restarts)})))} fine-tuning seeds"
    return f"{text}; 1 where no sd is shown" if single else text


def direction(evidence: Evidence) -> str:
    """`Less is better: LM perplexity.`; empty where more is better in all measurements."""
    names = ", ".join(filter(evidence.less_is_more, evidence.measurements))
    return f"Less is better: {names}." if names else ""


def _entry(evidence: Evidence, variant: str, name: str) -> Entry:
    missing = Counter(sorted(cell.fate for cell in evidence.at(variant, name) if cell.value is None))
    known = {"value": ", ".join(missing)}
    if not evidence.at(variant, name):  # claims compare it earlier only
        compared = evidence.milestones(variant, name)
        known["value"] = f"only at {listed(f'{at} %' for at in compared)}" if compared else ""
    known |= _published(evidence.published(variant, name))
    if variant != evidence.baseline:
        effect, published = evidence.difference(variant, name), evidence.published_difference(variant, name)
        known |= _compared(effect, published, digits(evidence, name))
    if summary := evidence.summary(variant, name):
        fewest, most = summary.finetune_seeds
        restarts = str(most) if fewest == most else f"({fewest} to {most})"
        counts = missing + Counter(collapsed=len(evidence.collapsed(variant, name)))
        known |= _centre(evidence, summary, digits(evidence, name))
        known["n"] = str(summary.seeds) if evidence.pretrained else f"{summary.seeds}x{restarts}"
        known["note"] = "; ".join(f"{number} {fate}" for fate, number in counts.items())
    return Entry(variant=label(evidence, variant), **known)


def _average(evidence: Evidence, variant: str, average: AverageColumn) -> Entry:
    ours, theirs = (evidence.measured(each, average.measurements) for each in (variant, evidence.baseline))
    measured = sum(bool(each) for each in ours.values())
    known = {"value": ""} | _published(average.published.get(variant))
    if variant != evidence.baseline:
        published = average.published_difference(variant, evidence.baseline)
        known |= _compared(average.difference(ours, theirs), published, 1)
    if summary := summarise(average.points(ours), of_seeds=evidence.spread_of_seeds):
        known |= _centre(evidence, summary, 1) | {"n": str(summary.seeds)}
    elif measured:
        why = f"{measured} of {len(ours)} tasks" if measured < len(ours) else "no seed has all tasks"
        known |= {"value": "–", "note": why}
    return Entry(variant=label(evidence, variant), **known)


def _published(value: float | None) -> dict[str, str]:
    return {} if value is None else {"published": str(Decimal(str(value)))}  # as many decimals as the paper printed


def _compared(effect: Effect | None, published: Decimal | None, digits: int) -> dict[str, str]:
    difference, interval, half = described(effect, digits)
    return {
        "difference": difference,
        "interval": interval or (f"n = {effect.n}" if effect else ""),
        "half": half,
        "published_difference": "" if published is None else signed(published),
    }


def _centre(evidence: Evidence, summary: Summary, digits: int) -> dict[str, str]:
    centre = summary.median if evidence.medians else summary.mean
    return {"value": f"{centre:.{digits}f}", "sd": "" if summary.sd is None else f"{summary.sd:.{digits}f}"}


def common_n(evidence: Evidence) -> tuple[str, str]:
    """The n that most means with an sd have, and that of most without, as `Entry.n`; empty if there are none."""
    known: tuple[Counter[str], Counter[str]] = Counter(), Counter()
    for entry in (each for column in columns(evidence) for each in column.entries if each.n):
        known[not entry.sd][entry.n] += 1
    with_sd, without = (max(found, key=found.__getitem__, default="") for found in known)
    return with_sd, without


def results(evidence: Evidence, *, short: bool = False, n: tuple[str, str] = ("", "")) -> Table:
    """A line for each variant: on each measurement the mean (sd, n) next to the published value.

    If `short`, without n and without floors. Those of `common_n` can be left out of the cells that have them.
    """

    def measured(entry: Entry) -> str:
        usual = n[not entry.sd]
        said = short or entry.n in (usual, usual.partition("x")[0])  # averages count pre-training seeds alone
        text = with_details(entry.value, entry.sd, f"n = {entry.n}" if entry.n and not said else "")
        if not entry.n:
            return with_details(text, entry.note)
        return f"{text}; {entry.note}" if entry.note else text

    table = _across("variant", columns(evidence), measured, lambda entry: entry.published, short=short)
    return replace(table, rows=table.rows[: len(evidence.variants)]) if short else table


def differences(evidence: Evidence, *, short: bool = False, n: bool = True) -> Table:
    """A line for each variant but the baseline: on each measurement the difference measured, and the published one.

    With the 95 % interval of the difference; if `short`, with half the width of it. Where there is none, n can stand in
    its place.
    """

    def difference(entry: Entry) -> str:
        if short:
            return f"{entry.difference} {entry.half}".strip()
        return with_details(entry.difference, entry.interval if n or entry.half else "")

    published = attrgetter("published_difference")
    table = _across("variant minus baseline", columns(evidence), difference, published, short=short)
    return replace(table, rows=tuple(row for row in table.rows if any(row[1:])))


def _across(
    first: str,
    found: Sequence[Column],
    ours: Callable[[Entry], str],
    theirs: Callable[[Entry], str],
    *,
    short: bool,
) -> Table:
    """A line for each entry of the columns; published values have columns where there are any."""
    heads, parts = [first], [[each.variant for each in found[0].entries] if found else []]
    for column in found:
        heads.append(column.head)
        parts.append([ours(each) for each in column.entries])
        if any(map(theirs, column.entries)):
            heads.append("paper" if short else "published")
            parts.append([theirs(each) for each in column.entries])
    return Table(tuple(heads), tuple(zip(*parts, strict=True)))


def pretraining(evidence: Evidence) -> Table:
    """A line for each variant: the metrics of its final held-out evaluation, means over seeds."""
    trained = [each for each in evidence.pretrainings if not each.untrained]
    labels = evidence.heldout_metrics.items()
    metrics = {name: text for name, text in labels if any(each.heldout(name) is not None for each in trained)}
    units = [f"{text} (nats)" if is_loss(name) else text for name, text in metrics.items()]
    rows = []
    for variant in evidence.trained:
        runs = [each for each in evidence.of(variant) if not each.untrained and not each.imported]
        if runs:
            below = [each.plateau - each.loss for each in runs if each.plateau is not None and each.loss is not None]
            means = []
            for name in metrics:
                known = [value for each in runs if (value := each.heldout(name)) is not None]
                if is_loss(name):
                    means.append(f"{fmean(known):.3f}" if known else "")
                else:
                    scale, unit = (100, " %") if is_share(name) else (1, "")
                    means.append(f"{scale * fmean(known):.1f}{unit}" if known else "")
            rows.append((label(evidence, variant), *means, f"{fmean(below):.2f}" if below else "", str(len(runs))))
        elif states := {each.fate for each in trained if each.variant == variant and not each.finished}:
            rows.append((label(evidence, variant), ", ".join(sorted(states)), *[""] * (len(units) + 1)))
    return Table(("variant", *units, "below plateau", "seeds"), tuple(rows))


def by_seed(evidence: Evidence) -> Table:
    """A line for each measurement and variant: the mean over the fine-tuning seeds of each seed.

    After all steps of the pre-training, and after the parts of them that a claim compares.
    """
    found: dict[tuple[str, str], dict[int, str]] = {}
    for name in evidence.measurements:
        compared = {at for claim in evidence.claims if claim.on == name for at in (claim.at, claim.before)}
        for at, variant in itertools.product(sorted({100, *compared}), evidence.variants):
            decimals = digits(evidence, name)
            values = evidence.points(variant, name, at).items()
            points = {seed: f"{fmean(each):.{decimals}f}" for seed, each in values}
            for seed in {evidence.seed_of(cell) for cell in evidence.collapsed(variant, name, at)}:
                points[seed] += " (collapsed)"
            if points:
                head = evidence.head(name)
                found[head if at == 100 else f"{head} at {at} %", variant] = points
    seeds = sorted({seed for points in found.values() for seed in points})
    rows = [(*place, *(points.get(seed, "") for seed in seeds)) for place, points in found.items()]
    return Table(("on", "variant", *(f"seed {seed}" for seed in seeds)), tuple(rows), ("variant",))


def recipes(evidence: Evidence) -> Table:
    """A line for each variant: the fields of recipe and adaptation in which the variants differ."""
    fields: dict[str, dict[str, dict[str, str]]] = {}  # by field, by measurement or the pre-training, by variant
    variants = [each for each in evidence.variants if not evidence.untrained(each)]
    for variant in variants:
        recipe = next((each.fields for each in evidence.of(variant)), {})
        known = [("", name, leaf) for name, leaf in recipe.items()]
        for cell in (each for each in evidence.cells if each.variant == variant and each.value is not None):
            known.append((cell.measurement, "method", cell.method))
            known += [(cell.measurement, f"{cell.method}.{name}", leaf) for name, leaf in cell.fields.items()]
        for on, name, leaf in known:
            fields.setdefault(name, {}).setdefault(on, {})[variant] = _plain(leaf)
    differing: dict[str, dict[str, str]] = {}
    for name, places in fields.items():
        for values in places.values():
            if len(set(values.values())) > 1:  # a variant without the field differs in its objective or method
                differing[name] = values | differing.get(name, {})
    rows = [(label(evidence, each), *(values.get(each, "") for values in differing.values())) for each in variants]
    return Table(("variant", *differing), tuple(rows) if differing else (), tuple(differing))


def _plain(leaf: object) -> str:
    if isinstance(leaf, bool):
        return "yes" if leaf else "no"
    if isinstance(leaf, tuple | list):
        return ", ".join(map(_plain, leaf))
    return f"{leaf:g}" if isinstance(leaf, float) else f"{leaf:,}" if isinstance(leaf, int) else str(leaf)


def deviations(evidence: Evidence) -> Table:
    """A line for each difference from the paper's setting: the field, here and in the paper, and its measurements."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for on, what in evidence.deviations:
        places.setdefault(_parted(what), []).append(evidence.head(on) if on else "")
    rows = [(*parts, ", ".join(filter(None, on))) for parts, on in places.items()]
    columns = ("field", "here", "paper", "on")
    width = len(columns) if any(row[-1] for row in rows) else -1
    return Table(columns[:width], tuple(row[:width] for row in rows), columns[1:])


def _parted(difference: str) -> tuple[str, str, str]:
    """A difference as a record words it: its field, which is empty for other words, here and in the paper."""
    words, _, theirs = difference.removesuffix(")").partition(" (paper: ")
    field, _, here = words.partition(" ")
    if theirs:
        return (field, here, theirs) if "." in field or field in vars(Recipe()) else ("", words, theirs)
    if field in ("text:", "task:"):
        here, _, theirs = here.replace(" in place of ", ", not ").partition(", not ")
        return field.removesuffix(":"), here, theirs
    return "", difference, ""


def costs(evidence: Evidence) -> Table:
    """A line for each variant: parameters, tokens and recorded time, means over the seeds.

    Tokens a second are those of the updates, without evaluations, and with padding.
    """
    rows = []
    for variant in evidence.variants:
        runs = [each for each in evidence.of(variant) if not each.untrained and not each.imported]
        cells = [each for each in evidence.cells if each.variant == variant and each.seconds]
        counts = [[run.result.tokens for run in runs], [run.result.real_tokens for run in runs]]
        tokens = [f"{fmean(known):,.0f}" if (known := [*filter(None, numbers)]) else "" for numbers in counts]
        ends = [each.curve[-1] for each in runs if each.curve]
        speeds = [end.tokens / end.seconds for end in ends if end.seconds]
        speed = f"{fmean(speeds):,.0f}" if speeds else ""
        trained = duration(fmean(each.seconds for each in runs)) if runs else ""
        measured = {each.run_id: each.seconds for each in cells}
        tuned = duration(fmean(measured.values())) if measured else ""
        spent = math.fsum({each.id: each.seconds for each in runs}.values()) + math.fsum(measured.values())
        if runs or measured:
            rows.append((label(evidence, variant), _parameters(runs), *tokens, speed, trained, tuned, duration(spent)))
    sizes_and_tokens = ("parameters", "tokens a run", "without padding", "tokens a second")
    times = ("a pre-training", "a measurement", "in all")
    return Table(("variant", *sizes_and_tokens, *times), tuple(rows))


def speeds(evidence: Evidence) -> Table:
    """Parameters and training speed of each variant, as a multiple of one of them; empty if nothing was timed."""
    measured, published = evidence.speeds.measured, evidence.speeds.published
    rows = [
        (
            label(evidence, variant),
            _parameters(each for each in evidence.of(variant) if not each.untrained),
            *(f"{known[variant]:.1f}x" if variant in known else "" for known in (measured, published)),
        )
        for variant in measured
    ]
    return Table(("variant", "parameters", "speed", "published speed"), tuple(rows))


def _parameters(runs: Iterable[Pretraining]) -> str:
    """How many parameters the models of runs have."""
    return " to ".join(map(short, sorted({run.result.parameters for run in runs if run.result.parameters})))


def label(evidence: Evidence, variant: str) -> str:
    """The name of a variant with notes: the baseline, equal to another, other numerics."""
    notes = ["baseline"] if variant == evidence.baseline else []
    if variant in evidence.duplicates:
        notes.append(f"same runs as {evidence.duplicates[variant]}")
    name = with_details(variant, *notes)
    return f"{name} †" if variant in evidence.numerics_mismatch else name


def digits(evidence: Evidence, measurement: str) -> int:
    """Decimals of the values of a measurement."""
    return next((cell.digits for cell in evidence.column(measurement)), 1)


def described(effect: Effect | None, digits: int) -> tuple[str, str, str]:
    """The mean of an effect, its 95 % interval, and half the width of that; what is not known is empty."""
    if effect is None:
        return "", "", ""
    if (interval := effect.interval) is None:
        return signed(effect.mean, digits), "", ""
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"  # a minus before 0 shows the side
    return signed(effect.mean, digits), ends, f"±{interval.half:.{digits}f}"


def with_details(text: str, *details: str) -> str:
    """`text` with what is known of the details in parentheses."""
    known = ", ".join(filter(None, details))
    return f"{text} ({known})" if known else text


def signed(value: float | Decimal, digits: int = 1) -> str:
    """A difference with its sign; a decimal with its own digits. 0 after rounding has no minus."""
    if isinstance(value, Decimal):
        return f"{value:+}" if value else str(abs(value))
    return f"{round(value, digits) or 0.0:+.{digits}f}"
