"""Size against perplexity, and perplexity against the tasks: whether a larger model is a better one, and for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.plots import style
from bertlab.report.plots.layout import Drawing, Key, axis_name, blank, label, legend
from bertlab.wording import count

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_APART = 1.05
"""How many times as large as the smallest the largest model is at least."""
_ACROSS = 3


def draw(evidence: Evidence) -> Drawing | None:
    """Perplexity over parameters, each task over perplexity; None where all variants are of a size."""
    import seaborn
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    found = sizes(evidence)
    if found.empty or found["parameters"].max() <= _APART * found["parameters"].min():
        return None
    variants = list(found.sort_values("parameters", kind="stable")["variant"].unique())
    colours = [style.INK if each == evidence.baseline else style.COLOURS[i % 7] for i, each in enumerate(variants)]
    palette, markers = dict(zip(variants, colours, strict=True)), dict(zip(variants, style.MARKERS * 9, strict=False))
    tasks = [
        name
        for name in evidence.measurements
        if evidence.column(name)[0].method != "pretraining"
        and any(evidence.scores(each, name).by_seed for each in variants)
    ]
    across, down = min(_ACROSS, max(1, len(tasks))), -(-len(tasks) // _ACROSS)
    figure = blank(0.3 + 2.5 + 2.2 * down)
    grid = figure.add_gridspec(1 + down, across, height_ratios=[2.5, *[2.2] * down])
    marks: dict[str, Any] = {"hue": "variant", "style": "variant", "palette": palette, "markers": markers}

    def scatter(axes: Axes, points: pandas.DataFrame, x: str, y: str) -> None:
        """Seeds small, their mean large."""
        if points.duplicated("variant").any():
            seaborn.scatterplot(points, x=x, y=y, **marks, s=14, alpha=0.45, linewidth=0, legend=False, ax=axes)
        means = points.groupby("variant", as_index=False, sort=False)[[x, y]].mean()
        seaborn.scatterplot(means, x=x, y=y, **marks, s=55, edgecolor="white", legend=False, ax=axes, zorder=4)
        style.bare(axes)

    top = figure.add_subplot(grid[0, :])
    scatter(top, found, "parameters", "perplexity")
    _parameters(top)
    top.set(xlabel="parameters", ylabel="held-out perplexity")
    shared = None
    for place, name in enumerate(tasks):
        axes = figure.add_subplot(grid[1 + place // _ACROSS, place % _ACROSS], sharex=shared)
        shared = shared or axes
        scores = {each: evidence.scores(each, name).seed_means() for each in variants}
        values = [
            scores[each].get(seed, float("nan")) for each, seed in zip(found["variant"], found["seed"], strict=True)
        ]
        scatter(axes, found.assign(value=values).dropna(subset="value"), "perplexity", "value")
        axes.margins(0.12)
        axes.set_title(label(name, 7.2 / across - 0.9, lines=2))
        axes.set(xlabel="held-out perplexity", ylabel=label(axis_name(evidence, name), 1.6, lines=2))
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=style.ROUND))
        axes.yaxis.set_major_locator(MaxNLocator(5))
    keys: list[Key] = [
        (Line2D([], [], color=palette[each], marker=markers[each], linestyle=""), label(each, 2.6)) for each in variants
    ]
    several = found.duplicated("variant").any()
    legend(figure, keys, "Large: mean of the variant. Small: one pre-training seed." if several else "")
    alt = f"Held-out perplexity of {count(len(variants), 'model')} over their parameters"
    alt += f", and {count(len(tasks), 'measurement')} over perplexity." if tasks else "."
    return Drawing("sizes", "Size, perplexity and tasks", alt, figure)


def sizes(evidence: Evidence) -> pandas.DataFrame:
    """Variant, seed, parameters and perplexity of masked LMs of the baseline's kind: others do not compare."""
    import pandas

    def judged(run: Pretraining) -> bool:
        known = run.result.get("parameters") and run.heldout("perplexity") is not None
        return bool(known) and not run.untrained and run.judged_by == "masked_lm_loss"

    def kind(run: Pretraining) -> tuple[object, ...]:
        return run.objective, run.result.get("vocabulary"), run.rotary

    reference = next((run for run in evidence.of(evidence.baseline) if judged(run)), None)
    return pandas.DataFrame(
        (
            (each, run.seed, float(run.result["parameters"]), run.heldout("perplexity"))
            for each in evidence.trained
            for run in evidence.of(each)
            if judged(run) and reference and kind(run) == kind(reference)
        ),
        columns=["variant", "seed", "parameters", "perplexity"],
    )


def _parameters(axes: Axes) -> None:
    """A logarithmic axis with a few round numbers."""
    from matplotlib.ticker import EngFormatter, FixedLocator, LogLocator, MaxNLocator, NullLocator

    axes.set_xscale("log")
    axes.margins(x=0.08)
    low, high = axes.get_xlim()
    for ticks in (*(LogLocator(subs=subs) for subs in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))), MaxNLocator(4)):
        rounded = [each for each in ticks.tick_values(low, high) if low <= each <= high]
        if 3 <= len(rounded) <= 8:
            break
    axes.xaxis.set_major_locator(FixedLocator(rounded))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
