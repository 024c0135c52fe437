"""Lines over the pre-training: held-out losses, and measurements at milestones; bands over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots import style
from bertlab.report.plots.layout import WIDTH, Drawing, Key, axis_name, blank, label, legend
from bertlab.wording import count

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_COUNTS = ((1e9, " (billions)"), (1e6, " (millions)"), (1e3, " (thousands)"), (1.0, ""))
_TIMES = ((3600.0, " (hours)"), (60.0, " (minutes)"), (1.0, " (seconds)"))
_UNITS = {"step": ("steps", _COUNTS), "tokens": ("tokens", _COUNTS), "seconds": ("training time", _TIMES)}
"""The horizontal axes by column: their name and their units, the largest first."""


def losses(evidence: Evidence) -> Drawing | None:
    """Panels for each held-out loss, the unigram entropy dashed; None without curves."""
    runs = [run for variant in evidence.trained for run in evidence.of(variant) if run.curve]
    panels: dict[str, list[dict[str, Any]]] = {}
    for name, title in evidence.heldout_metrics.items():
        points = [
            {
                **{"variant": run.variant, "seed": run.seed, "step": point.step, "tokens": point.tokens},
                **{"seconds": point.seconds, "value": point.losses[name]},
            }
            for run in runs
            for point in run.curve
            # a loss of inputs unlike those of its training says nothing where there is a better one
            if name in point.losses and not (name in run.unseen and run.judged_by in point.losses)
        ]
        if points and points not in panels.values():
            panels[f"Held-out text, {title}"] = points
    if not panels:
        return None
    variants = list(dict.fromkeys(run.variant for run in runs))
    levels = sorted({run.plateau for run in runs if run.plateau is not None})
    alt = f"Held-out loss of {count(len(variants), 'variant')} during pre-training, the unigram entropy dashed."
    lines = ({"panel": name, "unit": "loss (nats)", **point} for name, points in panels.items() for point in points)
    return _draw(evidence, "curves", "Learning curves", alt, variants, lines, levels)


def convergence(evidence: Evidence) -> Drawing | None:
    """Panels for each measurement, over steps and time; None where only the end of pre-training was measured."""
    variants = [each for each in evidence.variants if each not in evidence.duplicates and not evidence.untrained(each)]
    runs = {(run.variant, run.seed): run for each in variants for run in evidence.of(each)}
    cells = [cell for cell in evidence.cells if cell.value is not None and (cell.variant, cell.pretrain_seed) in runs]
    early = {cell.measurement for cell in cells if cell.milestone < 100}
    names = [name for name in evidence.measurements if name in early]
    if not names:
        return None
    lines = (
        {
            "panel": label(cell.measurement, WIDTH / 2),
            "unit": axis_name(evidence, cell.measurement),
            "variant": cell.variant,
            "seed": cell.pretrain_seed,
            "step": (step := run.steps * cell.milestone / 100),
            "seconds": run.seconds_at(step),
            "value": cell.value,
        }
        for cell in cells
        for run in (runs[cell.variant, cell.pretrain_seed],)
        if cell.measurement in names
    )
    alt = f"{count(len(names), 'measurement')} of {count(len(variants), 'variant')} during pre-training."
    return _draw(evidence, "convergence", "Convergence", alt, variants, lines)


def _draw(
    evidence: Evidence,
    kind: str,
    title: str,
    alt: str,
    variants: Sequence[str],
    lines: Iterable[dict[str, Any]],
    levels: Sequence[float] = (),
) -> Drawing:
    """Draws `lines` (panel, unit, variant, seed, value, step, and tokens and seconds where known) over each axis."""
    import pandas
    from matplotlib.ticker import MaxNLocator

    points = pandas.DataFrame(lines)
    styles = style.lines(variants, evidence.baseline)
    level = {"color": style.INK, "linewidth": 1, "linestyle": style.LEVEL}
    keys: list[Key] = [(each, label(name, 2.6)) for name, each in styles.items()]
    keys += [(level, "unigram entropy")] if levels else []
    along = {}
    for column, (name, units) in _UNITS.items():
        if column in points and (known := points[column].dropna()).size:
            size, unit = next((each for each in units if known.max() >= each[0]), units[-1])
            along[column] = f"{name}{unit}"
            points[column] = points[column].astype(float) / size
    panels = list(points.groupby("panel", sort=False))
    figure = blank(0.55 + 2.1 * len(panels))
    grid = figure.subplots(len(panels), len(along), sharex="col", sharey="row", squeeze=False)
    for across, (panel, each) in zip(grid, panels, strict=True):
        across[0].set_title(panel, loc="left")
        across[0].set_ylabel(label(each["unit"].iloc[0], 2.0, lines=2))
        for axes, column in zip(across, along, strict=True):
            _lines(axes, each.assign(along=each[column]).dropna(subset=["along"]), styles)
            for value in levels:
                axes.axhline(value, **level, zorder=1)
    for axes, (column, name) in zip(grid[-1], along.items(), strict=True):
        differ = "\non machines that differ" if column == "seconds" and len(evidence.machines) > 1 else ""
        axes.set_xlabel(f"{name}{differ}")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=style.ROUND))
    several = points.groupby(["panel", "variant"])["seed"].nunique().max() > 1
    legend(figure, keys, "Line: mean over the seeds. Band: from the lowest to the highest seed." if several else "")
    return Drawing(kind, title, alt, figure)


def _lines(axes: Axes, points: pandas.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    """The mean of each variant over its seeds and a band, at the steps that all of its seeds have."""
    for name, line in styles.items():
        own = points[points["variant"] == name]
        seeds = own.pivot_table(index="step", columns="seed", values=["along", "value"]).dropna()
        if seeds.empty:
            continue
        along, values = seeds["along"].to_numpy(), seeds["value"].to_numpy()  # (steps, seeds)
        along = along.mean(1)  # seeds take different times to a step
        axes.plot(along, values.mean(1), **line)
        if own["seed"].nunique() > 1:
            axes.fill_between(along, values.min(1), values.max(1), color=line["color"], alpha=0.2, linewidth=0)
