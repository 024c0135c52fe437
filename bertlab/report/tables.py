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

from bertlab.grouping import grouped
from bertlab.lab.claim import GUESS
from bertlab.recipe import Recipe
from bertlab.recipe.identity import flatten_json, to_canonical
from bertlab.report import escape
from bertlab.report.cells import Pretraining
from bertlab.report.statistics.effects import Effect
from bertlab.report.study_results import StudyResults
from bertlab.report.units import is_loss, is_share
from bertlab.store.record import Speeds
from bertlab.wording import duration, format_count, join_words, lowest_to_highest, megabytes


@dataclass(frozen=True)
class Table:
    """Lines of text under a header. The first column and those of words are flushed left, the others right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ()
    """Columns of words besides the first."""

    @property
    def trimmed(self) -> "Table":
        """The table without its last column where that is empty in every line."""
        if any(row[-1] for row in self.rows):
            return self
        return Table(self.columns[:-1], tuple(row[:-1] for row in self.rows), self.words)

    def markdown(self) -> str:
        """The table in GitHub's Markdown, names escaped."""
        from tabulate import tabulate

        return tabulate(
            [[escape.markdown(text) for text in row] for row in self.rows],
            headers=[escape.markdown(text) for text in self.columns],
            tablefmt="pipe",
            colalign=["left", *("left" if name in self.words else "right" for name in self.columns[1:])],
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


@dataclass(frozen=True)
class Column:
    """A measurement or an average: an entry for each variant, then one for each floor."""

    measurement: str
    head: str
    """The measurement, with the data set that stands in for its own; the paper's values are then in brackets."""
    unit: str
    entries: tuple[Entry, ...]


def columns(study: StudyResults) -> tuple[Column, ...]:
    """A column for each measurement, in the order of the study, then one for each average."""
    floors = {name: study.floors(name) for name in study.measurements}
    kinds = dict.fromkeys([GUESS, *itertools.chain(*floors.values())])
    columns = []
    for name in (*study.measurements, *study.averages):
        points = {kind: f"{value:.{study.digits(name)}f}" for kind, value in floors.get(name, {}).items()}
        entries = [_entry(study, variant, name) for variant in study.variants]
        entries += [Entry(variant=kind, value=points.get(kind, "")) for kind in kinds]
        if name in study.averages:
            unit = f"mean of {len(study.averages[name].of)}"
        else:
            cell = study.column(name)[0]
            unit = cell.metric_name + ", nats" * (cell.unit == "nats")
        columns.append(Column(name, study.head(name), unit, tuple(entries)))
    return tuple(columns)


def _entry(study: StudyResults, variant: str, name: str) -> Entry:
    cells, average = study.at(variant, name), study.averages.get(name)
    missing = Counter(sorted(cell.status_text for cell in cells if cell.value is None))
    texts = {"value": ", ".join(missing)}
    if summary := study.summary(variant, name):
        fewest, most = summary.finetune_seeds
        restarts = "" if study.pretrained or average else f"x{most}" if fewest == most else f"x({fewest} to {most})"
        counts = missing + Counter(collapsed=len(study.collapsed(variant, name)))
        texts["value"], texts["sd"] = center(study, variant, name)
        texts |= {"n": f"{summary.seeds}{restarts}", "note": "; ".join(f"{n} {status}" for status, n in counts.items())}
    elif average and (measured := sum(bool(study.by_seed(variant, part)) for part, *_ in average.of)):
        all_tasks = measured == len(average.of)
        why = "no seed has all tasks" if all_tasks else f"{measured} of {len(average.of)} tasks"
        texts |= {"value": "–", "note": why}
    elif not cells and (compared := study.milestones(name, variant)):  # claims compare it earlier only
        texts["value"] = f"only at {join_words(f'{at} %' for at in compared)}"
    return Entry(variant=label(study, variant), **texts, **_compared(study, variant, name))


def center(study: StudyResults, variant: str, name: str) -> tuple[str, str]:
    """The mean or the median of a variant on a measurement, and the sd; what is not known is empty."""
    summary, digits = study.summary(variant, name), study.digits(name)
    if summary is None:
        return "", ""
    return f"{getattr(summary, study.center):.{digits}f}", "" if summary.sd is None else f"{summary.sd:.{digits}f}"


def _compared(study: StudyResults, variant: str, name: str) -> dict[str, str]:
    """The paper's value, in brackets where another data set stands in for its own, and differences to the baseline."""
    published, brackets = study.published(variant, name), "({})" if study.stand_in(name) else "{}"
    # as many decimals as the paper printed
    texts = {} if published is None else {"published": brackets.format(Decimal(str(published)))}
    if variant == study.baseline:
        return texts
    effect, theirs = study.difference(variant, name), study.published_difference(variant, name)
    difference, interval, half = described(effect, study.digits(name))
    texts |= {"difference": difference, "interval": interval or (f"n = {effect.n}" if effect else ""), "half": half}
    return texts | ({} if theirs is None else {"published_difference": brackets.format(signed(theirs))})


def seeds(study: StudyResults) -> str:
    """The n of all values of a section: `n = 4 seeds; 1 where no sd is shown`. Empty without a value."""
    pairs = itertools.product(study.variants, study.measurements)
    summaries = [summary for pair in pairs if (summary := study.summary(*pair))]
    if not summaries:
        return ""
    most = max(summary.seeds for summary in summaries)
    single = {summary.seeds for summary in summaries if summary.sd is None} == {1} != {most}
    numbers = [summary.seeds for summary in summaries if summary.sd is not None or not single]
    text = f"n = {lowest_to_highest(numbers)} {study.seeds if max(numbers) > 1 else study.seeds[:-1]}"
    restarts = [number for summary in summaries for number in summary.finetune_seeds]
    if not study.pretrained and max(restarts) > 1:
        text += f" x {lowest_to_highest(restarts)} fine-tuning seeds"
    return f"{text}; 1 where no sd is shown" if single else text


def direction(study: StudyResults) -> str:
    """`Less is better: LM perplexity.`; empty where more is better in all measurements."""
    names = ", ".join(filter(study.less_is_more, study.measurements))
    return f"Less is better: {names}." if names else ""


def common_n(study: StudyResults) -> tuple[str, str]:
    """The n that most means with an sd have, and that of most without, as `Entry.n`; empty if there are none."""
    entries = [entry for column in columns(study) for entry in column.entries if entry.n]
    counts = [Counter(entry.n for entry in entries if bool(entry.sd) == with_sd) for with_sd in (True, False)]
    with_sd, without = (max(count, key=count.__getitem__, default="") for count in counts)
    return with_sd, without


def results(study: StudyResults, *, short: bool = False, n: tuple[str, str] = ("", "")) -> Table:
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

    table = _across("variant", study, measured, attrgetter("published"), short=short)
    return replace(table, rows=table.rows[: len(study.variants)]) if short else table


def differences(study: StudyResults, *, short: bool = False, n: bool = True) -> Table:
    """A line for each variant but the baseline: on each measurement the difference measured, and the published one.

    With the 95 % interval of the difference; if `short`, with half the width of it. Where there is none, n can stand in
    its place.
    """

    def difference(entry: Entry) -> str:
        if short:
            return f"{entry.difference} {entry.half}".strip()
        return with_details(entry.difference, entry.interval if n or entry.half else "")

    table = _across("variant minus baseline", study, difference, attrgetter("published_difference"), short=short)
    return replace(table, rows=tuple(row for row in table.rows if any(row[1:])))


def _across(
    first: str, study: StudyResults, ours: Callable[[Entry], str], theirs: Callable[[Entry], str], *, short: bool
) -> Table:
    """A line for each entry of the columns; published values have columns where there are any."""
    shown = columns(study)
    heads, parts = [first], [[entry.variant for column in shown[:1] for entry in column.entries]]
    for column in shown:
        heads.append(column.head)
        parts.append([*map(ours, column.entries)])
        if any(map(theirs, column.entries)):
            heads.append("paper" if short else "published")
            parts.append([*map(theirs, column.entries)])
    return Table(tuple(heads), tuple(zip(*parts, strict=True)))


def pretraining(study: StudyResults) -> Table:
    """A line for each variant: the metrics of its final held-out evaluation, means over seeds."""
    trained = [run for run in study.pretrainings if not run.untrained]
    labels = study.heldout_metrics.items()
    metrics = {name: text for name, text in labels if any(run.heldout(name) is not None for run in trained)}
    heads = [f"{text} (nats)" if is_loss(name) else text for name, text in metrics.items()]
    rows = []
    for variant in study.trained:
        runs = [run for run in study.of(variant) if run.trained]
        if runs:
            below = [run.plateau - run.loss for run in runs if run.plateau is not None and run.loss is not None]
            means = (_heldout(name, runs) for name in metrics)
            rows.append((label(study, variant), *means, f"{fmean(below):.2f}" if below else "", str(len(runs))))
        elif states := {run.status_text for run in trained if run.variant == variant and not run.finished}:
            rows.append((label(study, variant), ", ".join(sorted(states)), *[""] * (len(heads) + 1)))
    return Table(("variant", *heads, "below plateau", "seeds"), tuple(rows))


def _heldout(name: str, runs: Iterable[Pretraining]) -> str:
    """The mean of a held-out metric; empty without a value."""
    values = [value for run in runs if (value := run.heldout(name)) is not None]
    if not values:
        return ""
    if is_loss(name):
        return f"{fmean(values):.3f}"
    return f"{100 * fmean(values):.1f} %" if is_share(name) else f"{fmean(values):.1f}"


def by_seed(study: StudyResults) -> Table:
    """A line for each measurement and variant: the mean over the fine-tuning seeds of each seed.

    After all steps of the pre-training, and after the parts of them that a claim compares.
    """
    lines: dict[tuple[str, str], dict[int, str]] = {}
    for name in study.measurements:
        compared = {at for claim in study.claims if claim.on == name for at in (claim.at, claim.before)}
        for at, variant in itertools.product(sorted({100, *compared}), study.variants):
            collapsed = {study.seed_of(cell) for cell in study.collapsed(variant, name, at)}
            points = {
                seed: f"{fmean(values):.{study.digits(name)}f}" + " (collapsed)" * (seed in collapsed)
                for seed, values in study.points(variant, name, at).items()
            }
            if points:
                lines[study.head(name) + ("" if at == 100 else f" at {at} %"), variant] = points
    seeds = sorted({seed for points in lines.values() for seed in points})
    rows = [(*line, *(points.get(seed, "") for seed in seeds)) for line, points in lines.items()]
    return Table(("on", "variant", *(f"seed {seed}" for seed in seeds)), tuple(rows), ("variant",))


def recipes(study: StudyResults) -> Table:
    """A line for each variant: the fields of recipe and adaptation in which the variants differ."""
    fields: dict[tuple[str, str], dict[str, str]] = {}  # by field and measurement or the pre-training, by variant
    variants = [name for name in study.variants if not study.untrained(name)]
    for variant in variants:
        recipe = next((flatten_json(run.defined.recipe) for run in study.of(variant)), {})
        leaves = [("", name, leaf) for name, leaf in recipe.items()]
        for cell in (cell for cell in study.cells if cell.variant == variant and cell.value is not None):
            leaves.append((cell.measurement, "method", cell.method))
            adaptation = to_canonical(cell.adaptation, whole=True) if cell.adaptation else cell.result.defined.settings
            fields_of = flatten_json(adaptation).items()
            leaves += [(cell.measurement, f"{cell.method}.{name}", leaf) for name, leaf in fields_of]
        for on, name, leaf in leaves:
            fields.setdefault((name, on), {})[variant] = _plain(leaf)
    differing: dict[str, dict[str, str]] = {}
    for (name, _), values in fields.items():
        if len(set(values.values())) > 1:  # a variant without the field differs in its objective or method
            differing[name] = values | differing.get(name, {})
    differing = {name: differing[name] for name, _ in fields if name in differing}
    rows = [(label(study, name), *(values.get(name, "") for values in differing.values())) for name in variants]
    return Table(("variant", *differing), tuple(rows) if differing else (), tuple(differing))


def _plain(leaf: object) -> str:
    if isinstance(leaf, bool):
        return "yes" if leaf else "no"
    if isinstance(leaf, tuple | list):
        return ", ".join(map(_plain, leaf))
    return f"{leaf:g}" if isinstance(leaf, float) else f"{leaf:,}" if isinstance(leaf, int) else str(leaf)


def deviations(study: StudyResults) -> Table:
    """A line for each deviation from the paper's setting: the field, here and in the paper, and its measurements."""
    on = grouped((_parted(deviation.what), study.head(deviation.on)) for deviation in study.record.differences)
    rows = [(*parts, ", ".join(filter(None, names))) for parts, names in on.items()]
    return Table(("field", "here", "paper", "on"), tuple(rows), ("here", "paper", "on")).trimmed


def related(study: StudyResults) -> list[tuple[str, Table]]:
    """The published tables of other models, each with its title and source."""
    tables = []
    for stated in study.record.related:
        rows = tuple((name, *map(str, row)) for name, row in stated.rows.items())
        tables.append((f"{stated.title} ({stated.source})", Table(("model", *stated.columns), rows)))
    return tables


def _parted(deviation: str) -> tuple[str, str, str]:
    """A deviation as a record words it: its field, which is empty for other words, here and in the paper."""
    words, _, theirs = deviation.removesuffix(")").partition(" (paper: ")
    field, _, here = words.partition(" ")
    if theirs:
        return (field, here, theirs) if "." in field or field in vars(Recipe()) else ("", words, theirs)
    if field in ("text:", "task:"):
        here, _, theirs = here.replace(" in place of ", ", not ").partition(", not ")
        return field.removesuffix(":"), here, theirs
    return "", deviation, ""


def costs(study: StudyResults) -> Table:
    """A line for each variant: parameters, tokens and recorded time, means over the seeds.

    Tokens a second are those of the updates, without evaluations, and with padding. Where variants train different
    parts of a model on a task, also what they train, and the space of that in fp32: all that a task adds to a model.
    """
    rows, trained_on = [], _trained(study)
    for variant in study.variants:
        runs = [run for run in study.of(variant) if run.trained]
        measured = {cell.run_id: cell.seconds for cell in study.cells if cell.variant == variant and cell.seconds}
        if not runs and not measured:
            continue
        trained = [run.seconds for run in runs]
        ends = [run.curve[-1] for run in runs if run.curve]
        # runs of several variants are spent once
        spent = math.fsum({run.id: run.seconds for run in runs}.values()) + math.fsum(measured.values())
        tokens = [run.result.tokens for run in runs if run.result.tokens]
        real_tokens = [run.result.real_tokens for run in runs if run.result.real_tokens]
        means = map(_mean, (tokens, real_tokens, [end.tokens / end.seconds for end in ends if end.seconds]))
        times = (duration(fmean(seconds)) if seconds else "" for seconds in (trained, measured.values()))
        row: tuple[str, ...] = (label(study, variant), _parameters(runs), *means, *times, duration(spent))
        if trained_on:
            counts = trained_on[variant]
            row += lowest_to_highest(counts, format_count), lowest_to_highest([4 * n for n in counts], megabytes)
        rows.append(row)
    columns = ("variant", "parameters", "tokens a run", "without padding", "tokens a second", "a pre-training")
    by_task = ("trained a task", "stored a task") if trained_on else ()
    return Table((*columns, "a measurement", "in all", *by_task), tuple(rows))


def _trained(study: StudyResults) -> dict[str, set[int]]:
    """The numbers of parameters that a variant trains on a task; empty unless variants differ in one."""
    cells = [cell for name in study.measurements for cell in study.column(name)]
    counts = {(cell.measurement, cell.variant, n) for cell in cells if (n := cell.trained_parameters) is not None}
    by_task = ({n for task, _, n in counts if task == name} for name in study.measurements)
    if all(len(numbers) < 2 for numbers in by_task):
        return {}
    return {name: {n for _, variant, n in counts if variant == name} for name in study.variants}


def _mean(values: Sequence[float]) -> str:
    return f"{fmean(values):,.0f}" if values else ""


def speeds(study: StudyResults) -> Table:
    """Parameters and training speed of each variant, as a multiple of one of them; empty if nothing was timed."""
    speeds = study.record.speeds or Speeds(published={}, measured={})
    printed = speeds.published if len(speeds.published) > 1 else {}
    digits = 1 if printed else 2
    rows = []
    for variant, speed in speeds.measured.items():
        parameters = _parameters(run for run in study.of(variant) if not run.untrained)
        published = f"{printed[variant]:.1f}x" if variant in printed else ""
        rows.append((label(study, variant), parameters, f"{speed:.{digits}f}x", published))
    return Table(("variant", "parameters", "speed", "published speed"), tuple(rows)).trimmed


def _parameters(runs: Iterable[Pretraining]) -> str:
    """How many parameters the models of runs have."""
    return lowest_to_highest([run.result.parameters for run in runs if run.result.parameters], format_count)


def label(study: StudyResults, variant: str) -> str:
    """The name of a variant with notes: the baseline, equal to another, other numerics."""
    again = f"same runs as {study.duplicates[variant]}" if variant in study.duplicates else ""
    name = with_details(variant, "baseline" if variant == study.baseline else "", again)
    return f"{name} †" if variant in study.numerics_mismatch else name


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
    joined = ", ".join(filter(None, details))
    return f"{text} ({joined})" if joined else text


def signed(value: float | Decimal, digits: int = 1) -> str:
    """A difference with its sign; a decimal with its own digits. 0 after rounding has no minus."""
    if isinstance(value, Decimal):
        return f"{value:+}" if value else str(abs(value))
    return f"{round(value, digits) or 0.0:+.{digits}f}"
