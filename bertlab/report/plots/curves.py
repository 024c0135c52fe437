"""Curves over pre-training: held-out losses, and measurements at milestones, with bands over the seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.report.cells import Pretraining
from bertlab.report.plots.figure import COLOURS, INK, LEVEL, ROUND, WIDTH, Key, Picture, axis_name, blank, label, legend
from bertlab.report.study_results import StudyResults
from bertlab.wording import pluralise

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES = {"step": "steps", "tokens": "tokens", "words": "words", "flops": "FLOPs"}
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
POINTS = 20
"""Points of a fine-tuning curve, about."""
APART = 1.02
"""The ratio of FLOPs a step, or of words a token, from which on curves over FLOPs or words are others."""
MARKED = 8
"""Points of a line up to which they have markers."""
_LEVEL: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": LEVEL}
_NO_MORE = (None,) * (len(_AXES) - 1)
_COLUMNS = ("panel", "unit", "variant", "seed", "value", *_AXES)
Lines = Sequence[tuple[Any, ...]]
"""Points of curves, `_COLUMNS` each."""
Levels = Mapping[str, Sequence[float]]
"""Values that are marked in a panel, by its name."""
Styles = Mapping[str, dict[str, Any]]
"""The style of each variant's line."""


def losses(study: StudyResults) -> Picture | None:
    """A panel for each held-out loss, the unigram entropy dashed in those over the vocabulary; None without curves,
    and where all variants share one pre-training."""
    runs = [run for variant in study.trained for run in study.of(variant) if run.curve]
    panels: dict[tuple[tuple[Any, ...], ...], str] = {}
    levels: dict[str, list[float]] = {}
    for name, title in study.heldout_metrics.items():
        points = tuple(
            (run.variant, run.seed, point.losses[name], *_along(run, point.step))
            for run in runs
            for point in run.curve
            # leaves out a loss on inputs unlike those of training where the variant has a better one
            if name in point.losses and not (name in run.defined.unseen and run.result.judged_by in point.losses)
        )
        if points:
            panel = panels.setdefault(points, f"Held-out text, {title}")  # equal losses share a panel
            measured = [run for run in runs if any(name in point.losses for point in run.curve)]
            levels[panel] = sorted({level for run in measured if (level := run.plateau_of(name)) is not None})
    if not panels or (len({run.variant for run in runs}) == 1 and study.trained[runs[0].variant]):
        return None
    dashed = ", the unigram entropy dashed" if any(levels.values()) else ""
    lines = [(name, "loss (nats)", *point) for points, name in panels.items() for point in points]
    alt = f"Held-out loss of {{}} during pre-training{dashed}."
    return _picture(study, "curves", "Learning curves", alt, lines, levels)


def finetuning(study: StudyResults) -> Picture | None:
    """A panel for each measurement: the training loss of its fine-tunings, averaged over parts of the steps; and one
    for the loss on held-out examples where it was measured."""
    runs = {name: {cell.run_id for cell in study.column(name)} for name in study.measurements}
    shared = {name: [other for other in runs if runs[other] == runs[name]] for name in runs}  # on several splits
    lines, heldout = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for cell in study.cells:
        names = shared[cell.measurement]
        if cell.milestone < 100 or cell.variant in study.duplicates or cell.measurement != names[0]:
            continue
        titles = [name for name in names if study.of_answers(name)] or names
        name, seed = label(", ".join(titles), WIDTH / 2), cell.pretrain_seed * 1000 + cell.finetune_seed
        # parts of equal length: what is left over at the end is not drawn
        curve = [(point.step, point.loss) for point in cell.result.curve if point.loss is not None]
        size = max(1, len(curve) // POINTS)
        for end in range(size, len(curve) + 1, size):
            loss = float(np.mean([loss for _, loss in curve[end - size : end]]))
            lines.append((name, "training loss", cell.variant, seed, loss, curve[end - 1][0], *_NO_MORE))
        for point in cell.result.curve:
            if point.heldout_loss is not None:
                beside = (cell.variant, seed, point.heldout_loss, point.step, *_NO_MORE)
                heldout.append((f"{name}, held-out examples", "loss", *beside))
    lines += heldout
    alt = f"Training loss{' and held-out loss' if heldout else ''} of {{}} during fine-tuning."
    return _picture(study, "finetuning", "Fine-tuning curves", alt, lines, {}) if lines else None


def convergence(study: StudyResults) -> Picture | None:
    """A panel for each measurement of which a variant has two milestones or more to draw; None where there is none."""
    variants = [name for name in study.variants if name not in study.duplicates and not study.untrained(name)]
    runs = {(run.variant, run.seed): run for variant in variants for run in study.of(variant)}
    cells = [cell for cell in study.cells if cell.value is not None and (cell.variant, cell.pretrain_seed) in runs]
    seeds: dict[tuple[str, str], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for cell in cells:
        seeds[cell.measurement, cell.variant][cell.milestone].add(cell.pretrain_seed)
    curved = set()
    for (name, _), at in seeds.items():
        fewest = _fewest(len(set[int]().union(*at.values())))
        curved |= {name} if sum(len(measured) >= fewest for measured in at.values()) > 1 else set()
    lines = []
    for cell in cells:
        if cell.measurement in curved:
            name, unit = label(study.head(cell.measurement), WIDTH / 2), axis_name(study, cell.measurement)
            run = runs[cell.variant, cell.pretrain_seed]
            along = _along(run, run.steps * cell.milestone / 100)
            lines.append((name, unit, cell.variant, cell.pretrain_seed, cell.value, *along))
    alt = f"{pluralise(len(curved), 'measurement')} of {{}} during pre-training."
    return _picture(study, "convergence", "Convergence", alt, lines, {}) if lines else None


def _fewest(seeds: int) -> float:
    """How many of the seeds of a variant a point of its line has at least."""
    return max(min(2, seeds), seeds / 2)


def _along(run: Pretraining, step: float) -> tuple[float | None, ...]:
    """Where a step is on each of `_AXES`: all steps have as many tokens, words and operations."""
    totals = run.result.tokens, run.result.words, run.flops
    return step, *(None if total is None or not run.steps else total * step / run.steps for total in totals)


def _picture(study: StudyResults, kind: str, title: str, alt: str, lines: Lines, levels: Levels) -> Picture:
    """Draws `lines` (`_COLUMNS`) over each axis that has values, and dashed `levels`, by panel."""
    import pandas

    points = pandas.DataFrame(lines, columns=list(_COLUMNS))
    drawn = set(points["variant"])
    variants = [name for name in study.variants if name in drawn]
    few = points.groupby(["panel", "variant"])["step"].nunique().max() <= MARKED
    styles = _styles(variants, study.baseline, {"marker": "o", "markersize": 2.5} if few else {})
    figure = _draw(points, styles, levels)
    keys: list[Key] = [(style, label(name, 2.6)) for name, style in styles.items()]
    keys += [(_LEVEL, "unigram entropy")] if any(levels.values()) else []
    several = points.groupby(["panel", "variant"])["seed"].nunique().max() > 1
    meaning = "Line: mean over the seeds. Band or bar: from the lowest to the highest seed."
    legend(figure, keys, meaning if several else "")
    return Picture(study, kind, title, alt.format(pluralise(len(variants), "variant")), figure)


def _styles(variants: Sequence[str], baseline: str, marker: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The baseline in ink and bold, the others in colours and dashes that differ."""
    styles: dict[str, dict[str, Any]] = {}
    for variant in variants:
        number = len(styles.keys() - {baseline})
        colour, dashes = COLOURS[number % len(COLOURS)], _DASHES[(number + number // len(COLOURS)) % len(_DASHES)]
        styles[variant] = {"color": colour, "linestyle": dashes, "linewidth": 1.5, **marker}
        if variant == baseline:
            # below the others, which are thinner: equal lines are seen
            styles[variant] |= {"color": INK, "linestyle": "solid", "linewidth": 3, "zorder": 1.9}
    return styles


def _axes(points: pandas.DataFrame) -> dict[str, str]:
    """The columns that differ enough to be axes of their own, with their names."""
    names = {column: name for column, name in _AXES.items() if points[column].notna().any()}
    # over tokens, curves of the same batch size would be those over steps
    batches = {round(tokens) for tokens in (points["tokens"] / points["step"]).dropna()}
    words = (points["words"] / points["tokens"]).dropna()
    if len(batches) == 1:
        del names["tokens"]
        names["step"] += f" of {(batch := batches.pop()):,} tokens"
    if "words" in names and words.max() < APART * words.min():
        del names["words"]
        if "tokens" in names:
            names["tokens"] += f" ({words.mean():.2f} words each)"
        else:
            names["step"] += f" ({batch * words.mean():,.0f} words)"
    operations = (points["flops"] / points["step"]).dropna()
    if "flops" in names and operations.max() < APART * operations.min():
        del names["flops"]
    return names


def _draw(points: pandas.DataFrame, styles: Styles, levels: Levels) -> Figure:
    """The panels, of several axes below each other, of one axis in pairs, each with an axis of its own."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    names, panels = _axes(points), list(points.groupby("panel", sort=False))
    beside = 2 if len(names) == 1 < len(panels) else 1
    down = math.ceil(len(panels) / beside)
    figure = blank(0.55 + (2.1 if beside == 1 else 2.3) * down)
    shared: dict[str, Any] = {"sharex": "col", "sharey": "row"} if beside == 1 else {}
    rows = figure.subplots(down, beside * len(names), **shared, squeeze=False).reshape(-1, len(names))
    for axes in rows[len(panels) :].ravel():
        axes.set_visible(False)
    for across, (panel, lines) in zip(rows, panels, strict=False):
        across[0].set_title(panel, loc="left")
        across[0].set_ylabel(label(lines["unit"].iloc[0], 2.0, lines=2))
        for axes, column in zip(across, names, strict=True):
            _lines(axes, lines.assign(along=lines[column]).dropna(subset=["along"]), styles)
            for value in levels.get(str(panel), ()):
                axes.axhline(value, **_LEVEL, zorder=1)
    for axes, column in zip(rows[-1] if beside == 1 else rows.ravel(), [*names] * len(rows), strict=False):
        axes.set(xlabel=names[column], xlim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=ROUND))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    return figure


def _lines(axes: Axes, points: pandas.DataFrame, styles: Styles) -> None:
    """Draws the mean of each variant over its seeds, and a band.

    At the steps that half of its seeds have, two at least, and over the seeds that have all of these; without such a
    seed, at the steps that all seeds have.
    """
    for name, line in styles.items():
        runs = points[points["variant"] == name]
        if runs.empty:
            continue
        by_seed = runs.pivot_table(index="step", columns="seed", values=["along", "value"])
        having = by_seed["value"].notna().to_numpy().sum(-1)
        seeds = by_seed[having >= _fewest(runs["seed"].nunique())].dropna(axis=1)
        seeds = by_seed.dropna() if seeds.empty else seeds
        if seeds.empty:
            continue
        along, values = seeds["along"].to_numpy().mean(1), seeds["value"].to_numpy()  # (steps,), (steps, seeds)
        axes.plot(along, values.mean(1), **line)
        if np.size(values, 1) > 1 and len(along) == 1:  # no band has a single step
            axes.vlines(along, values.min(1), values.max(1), color=line["color"], linewidth=1.2)
        elif np.size(values, 1) > 1:
            axes.fill_between(along, values.min(1), values.max(1), color=line["color"], alpha=0.2, linewidth=0)
