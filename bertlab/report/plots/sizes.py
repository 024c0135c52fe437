"""Size against perplexity, and perplexity against the tasks: whether a larger model is a better one, and for what."""

from __future__ import annotations

from statistics import fmean as mean
from typing import TYPE_CHECKING, Any

from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.plots import style
from bertlab.report.plots.layout import WIDTH, Drawing, Key, axis_name, blank, label, legend
from bertlab.report.statistics.summary import seed_means
from bertlab.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 1.05
"""How many times as large as the smallest the largest model is at least."""
_ACROSS = 3

Points = dict[str, dict[int, float]]
"""A number for each variant and seed."""


def draw(evidence: Evidence) -> Drawing | None:
    """Perplexity over parameters, each task over perplexity; None where all variants have one size."""
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

    parameters, perplexity = sizes(evidence)
    known = [size for seeds in parameters.values() for size in seeds.values()]
    if not known or max(known) <= _APART * min(known):
        return None
    variants = sorted(parameters, key=lambda each: min(parameters[each].values()))
    marks = {
        each: {
            "color": style.INK if each == evidence.baseline else style.COLOURS[place % len(style.COLOURS)],
            "marker": style.MARKERS[place % len(style.MARKERS)],
        }
        for place, each in enumerate(variants)
    }
    scores = {
        name: {each: seed_means(evidence.points(each, name)) for each in variants}
        for name in evidence.measurements
        if not evidence.column(name)[0].of_pretraining
    }
    tasks = [name for name, points in scores.items() if any(points.values())]
    across, down = min(_ACROSS, max(1, len(tasks))), -(-len(tasks) // _ACROSS)
    figure = blank(0.3 + 2.5 + 2.2 * down)
    grid = figure.add_gridspec(1 + down, across, height_ratios=[2.5, *[2.2] * down])
    top = figure.add_subplot(grid[0, :])
    _scatter(top, parameters, perplexity, marks)
    top.set(xlabel="parameters", ylabel="held-out perplexity", xscale="log")
    top.margins(x=0.08)
    wide = max(known) > 30 * min(known)
    top.xaxis.set_major_locator(LogLocator(numticks=8) if wide else MaxNLocator(5, steps=style.ROUND))
    top.xaxis.set_minor_formatter(NullFormatter())
    top.xaxis.set_major_formatter(EngFormatter(sep=""))
    shared = None
    for place, name in enumerate(tasks):
        axes = figure.add_subplot(grid[1 + place // _ACROSS, place % _ACROSS], sharex=shared)
        shared = shared or axes
        _scatter(axes, perplexity, scores[name], marks)
        axes.margins(0.12)
        axes.set_title(label(name, WIDTH / across - 0.9, lines=2))
        axes.set(xlabel="held-out perplexity", ylabel=label(axis_name(evidence, name), 1.6, lines=2))
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=style.ROUND))
        axes.yaxis.set_major_locator(MaxNLocator(5))
    keys: list[Key] = [({**marks[each], "linestyle": ""}, label(each, 2.6)) for each in variants]
    several = any(len(seeds) > 1 for seeds in parameters.values())
    legend(figure, keys, "Large: mean of the variant. Small: one pre-training seed." if several else "")
    alt = f"Held-out perplexity of {count(len(variants), 'model')} over their parameters"
    alt += f", and {count(len(tasks), 'measurement')} over perplexity." if tasks else "."
    return Drawing("sizes", "Size, perplexity and tasks", alt, figure)


def _scatter(axes: Axes, x: Points, y: Points, marks: dict[str, dict[str, Any]]) -> None:
    """Draws the seeds small, and their mean large."""
    for variant, mark in marks.items():
        seeds = [seed for seed in x[variant] if seed in y[variant]]
        if not seeds:
            continue
        places, values = [x[variant][seed] for seed in seeds], [y[variant][seed] for seed in seeds]
        if len(seeds) > 1:
            axes.scatter(places, values, **mark, s=14, alpha=0.45, linewidth=0)
        axes.scatter(mean(places), mean(values), **mark, s=55, linewidth=0.8, edgecolor="white", zorder=4)


def sizes(evidence: Evidence) -> tuple[Points, Points]:
    """Parameters and perplexity of the variants whose perplexities compare with the baseline's."""

    def kind(run: Pretraining) -> tuple[object, ...]:
        losses = [loss.kind for loss in run.recipe.objective] if run.recipe else None
        return losses, run.judged_by, run.result.get("vocabulary"), run.rotary

    parameters: Points = {}
    perplexity: Points = {}
    reference = next(iter(evidence.of(evidence.baseline)), None)
    for run in (run for variant in evidence.trained for run in evidence.of(variant)):
        size, value = run.result.get("parameters"), run.heldout("perplexity")
        comparable = reference and kind(run) == kind(reference) and "perplexity" not in run.unseen
        if comparable and size and value is not None and not run.untrained:
            parameters.setdefault(run.variant, {})[run.seed] = float(size)
            perplexity.setdefault(run.variant, {})[run.seed] = value
    return parameters, perplexity
