"""Size against perplexity, and perplexity against the tasks: whether a larger model is a better one, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.plots import style
from bertlab.report.plots.layout import WIDTH, Key, Picture, axis_name, blank, label, legend
from bertlab.report.statistics.summary import seed_means
from bertlab.wording import count

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_APART = 1.05
"""The figure needs a largest model that is this many times as large as the smallest."""
_ACROSS = 3


def draw(evidence: Evidence) -> Picture | None:
    """Perplexity over parameters, each task over perplexity; None where all variants have one size."""
    import pandas
    from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

    models = _models(evidence)
    smallest, largest = models["parameters"].min(), models["parameters"].max()
    if models.empty or largest <= _APART * smallest:
        return None
    variants = list(models.index.unique("variant"))
    marks = {
        each: {
            "color": style.INK if each == evidence.baseline else style.COLOURS[place % len(style.COLOURS)],
            "marker": style.MARKERS[place % len(style.MARKERS)],
        }
        for place, each in enumerate(variants)
    }
    tasks = {}
    for name in evidence.measurements:
        points = {each: seed_means(evidence.points(each, name)) for each in variants}
        scores = {(each, seed): score for each, seeds in points.items() for seed, score in seeds.items()}
        if scores and not evidence.column(name)[0].of_pretraining:
            tasks[name] = models.assign(score=pandas.Series(scores))
    across, down = min(_ACROSS, max(1, len(tasks))), -(-len(tasks) // _ACROSS)
    figure = blank(0.3 + 2.5 + 2.2 * down)
    grid = figure.add_gridspec(1 + down, across, height_ratios=[2.5, *[2.2] * down])
    top = figure.add_subplot(grid[0, :])
    _scatter(top, models, "parameters", "perplexity", marks)
    top.set(xlabel="parameters", ylabel="held-out perplexity", xscale="log")
    top.margins(x=0.08)
    wide = largest > 30 * smallest
    top.xaxis.set_major_locator(LogLocator(numticks=8) if wide else MaxNLocator(5, steps=style.ROUND))
    top.xaxis.set_minor_formatter(NullFormatter())
    top.xaxis.set_major_formatter(EngFormatter(sep=""))
    shared = None
    for place, (name, task) in enumerate(tasks.items()):
        axes = shared = figure.add_subplot(grid[1 + place // _ACROSS, place % _ACROSS], sharex=shared)
        _scatter(axes, task, "perplexity", "score", marks)
        axes.margins(0.12)
        axes.set_title(label(name, WIDTH / across - 0.9, lines=2))
        axes.set(xlabel="held-out perplexity", ylabel=label(axis_name(evidence, name), 1.6, lines=2))
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=style.ROUND))
        axes.yaxis.set_major_locator(MaxNLocator(5))
    keys: list[Key] = [({**marks[each], "linestyle": ""}, label(each, 2.6)) for each in variants]
    several = len(models) > len(variants)
    legend(figure, keys, "Large: mean of the variant. Small: one pre-training seed." if several else "")
    alt = f"Held-out perplexity of {count(len(variants), 'model')} over their parameters"
    alt += f", and {count(len(tasks), 'measurement')} over perplexity." if tasks else "."
    return Picture(evidence, "sizes", "Size, perplexity and tasks", alt, figure)


def _scatter(axes: Axes, models: pandas.DataFrame, x: str, y: str, marks: dict[str, dict[str, Any]]) -> None:
    """Draws seeds as small marks and their mean as a large one."""
    for variant, mark in marks.items():
        own = models.loc[[variant]].dropna(subset=[y])
        if len(own) > 1:
            axes.scatter(own[x], own[y], **mark, s=14, alpha=0.45, linewidth=0)
        if len(own):
            axes.scatter(own[x].mean(), own[y].mean(), **mark, s=55, linewidth=0.8, edgecolor="white", zorder=4)


def _models(evidence: Evidence) -> pandas.DataFrame:
    """Parameters and perplexity by variant and seed, in the order of size.

    Without the variants whose perplexity does not compare with the baseline's.
    """
    import pandas

    def kind(run: Pretraining) -> tuple[object, ...]:
        losses = [loss.kind for loss in run.recipe.objective] if run.recipe else None
        return losses, run.judged_by, run.result.get("vocabulary"), run.rotary

    reference = next(iter(evidence.of(evidence.baseline)), None)
    runs = [
        (run.variant, run.seed, run.result.get("parameters"), run.heldout("perplexity"))
        for variant in evidence.trained
        for run in evidence.of(variant)
        if reference and kind(run) == kind(reference) and "perplexity" not in run.unseen and not run.untrained
    ]
    models = pandas.DataFrame(runs, columns=["variant", "seed", "parameters", "perplexity"]).dropna()
    return models.set_index(["variant", "seed"]).astype(float).sort_values("parameters", kind="stable")
