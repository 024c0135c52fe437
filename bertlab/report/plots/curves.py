"""Lines over the pre-training: held-out losses, and measurements at milestones; bands over the seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.recipe import Loss
from bertlab.recipe.ranges import arms
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
"""What is drawn over, by column: the name of the axis and its units, the largest first."""


@dataclass(frozen=True)
class _Panel:
    title: str
    unit: str
    lines: pandas.DataFrame
    """Columns variant, seed, step, tokens, seconds, value."""


def losses(evidence: Evidence) -> Drawing | None:
    """A line of panels for each kind of loss, the unigram entropy dashed; None without curves."""
    import pandas

    drawn = [each for each in evidence.trained if any(run.curve for run in evidence.of(each))]
    if not drawn:
        return None
    points = pandas.DataFrame(
        {"variant": each, "seed": run.seed, **vars(point), **point.losses}
        for each in drawn
        for run in evidence.of(each)
        for point in run.curve
    )
    named = {name: title for loss in arms(Loss).values() for name, title in loss.figures.items()}
    measured = dict.fromkeys(name for each in evidence.pretrainings for point in each.curve for name in point.losses)
    shown = {name: points[points[name].notna()] for name in measured}
    if "own_loss" in shown:
        if (shown["own_loss"]["own_loss"] == shown["own_loss"]["masked_lm_loss"]).all():
            del shown["own_loss"]
        else:  # a variant that never saw [MASK] is not judged by it, where there is another curve to judge it by
            judged = {each.variant for each in evidence.pretrainings if each.judged_by == "masked_lm_loss"}
            fixed = shown["masked_lm_loss"]
            shown["masked_lm_loss"] = fixed[fixed["variant"].isin(judged)]
    panels = [
        _Panel(f"Held-out text, {named.get(name, name)}", "loss (nats)", lines.assign(value=lines[name]))
        for name, lines in shown.items()
        if len(lines)
    ]
    plateaus = sorted({each.plateau for each in evidence.pretrainings if each.plateau is not None and each.curve})
    alt = f"Held-out loss of {count(len(drawn), 'variant')} during pre-training, the unigram entropy dashed."
    return _draw(evidence, "curves", "Learning curves", alt, drawn, panels, plateaus)


def convergence(evidence: Evidence) -> Drawing | None:
    """A line of panels a measurement, over steps and time; None where only the end of pre-training was measured."""
    import pandas

    drawn = [each for each in evidence.variants if each not in evidence.duplicates and not evidence.untrained(each)]
    runs = {(run.variant, run.seed): run for each in drawn for run in evidence.of(each)}
    points = pandas.DataFrame(
        {
            "measurement": cell.measurement,
            "variant": cell.variant,
            "seed": cell.pretrain_seed,
            "step": (step := run.steps * cell.milestone / 100),
            "tokens": None,
            "seconds": run.seconds_at(step),
            "value": cell.value,
        }
        for cell in evidence.cells
        if cell.value is not None and (run := runs.get((cell.variant, cell.pretrain_seed)))
    )
    if points.empty:
        return None
    steps = points.groupby(["measurement", "variant"])["step"].nunique()
    several = set(steps[steps > 1].index.get_level_values("measurement"))
    names = [each for each in evidence.measurements if each in several]
    panels = [
        _Panel(label(each, WIDTH / 2), axis_name(evidence, each), points[points["measurement"] == each])
        for each in names
    ]
    alt = f"{count(len(names), 'measurement')} of {count(len(drawn), 'variant')} during pre-training."
    return _draw(evidence, "convergence", "Convergence", alt, drawn, panels) if panels else None


def _draw(
    evidence: Evidence,
    kind: str,
    title: str,
    alt: str,
    variants: Sequence[str],
    panels: Sequence[_Panel],
    levels: Sequence[float] = (),
) -> Drawing:
    """A line of panels for each of `panels`, over each of steps, tokens and time that is known."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator

    styles = style.lines(variants, evidence.baseline)
    keys: list[Key] = [(Line2D([], [], **each), label(name, 2.6)) for name, each in styles.items()]
    if levels:
        keys.append((Line2D([], [], color=style.INK, linewidth=1, linestyle=style.LEVEL), "unigram entropy"))
    along = {}
    for column, (_, units) in _UNITS.items():
        known = [most for panel in panels if (most := panel.lines[column].max()) == most and most is not None]
        if known:
            along[column] = next((each for each in units if max(known) >= each[0]), units[-1])
    figure = blank(0.55 + 2.1 * len(panels))
    grid = figure.subplots(len(panels), len(along), sharex="col", sharey="row", squeeze=False)
    for across, panel in zip(grid, panels, strict=True):
        across[0].set_title(panel.title, loc="left")
        across[0].set_ylabel(label(panel.unit, 2.0, lines=2))
        for axes, (column, (size, _)) in zip(across, along.items(), strict=True):
            points = panel.lines.dropna(subset=[column, "value"])
            _lines(axes, points.assign(along=points[column].astype(float) / size), styles)
            for level in levels:
                axes.axhline(level, color=style.INK, linewidth=1, linestyle=style.LEVEL, zorder=1)
    for axes, (column, (_, unit)) in zip(grid[-1], along.items(), strict=True):
        differ = "\non machines that differ" if column == "seconds" and len(evidence.machines) > 1 else ""
        axes.set_xlabel(f"{_UNITS[column][0]}{unit}{differ}")
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=style.ROUND))
    several = any(panel.lines.groupby("variant")["seed"].nunique().max() > 1 for panel in panels)
    legend(figure, keys, "Line: mean over the seeds. Band: from the lowest to the highest seed." if several else "")
    return Drawing(kind, title, alt, figure)


def _lines(axes: Axes, points: pandas.DataFrame, styles: Mapping[str, dict[str, object]]) -> None:
    """The mean of each variant over its seeds and a band, at the steps that all of its seeds have."""
    import seaborn

    runs = points.groupby(["variant", "seed", "step"], as_index=False)[
        ["along", "value"]
    ].mean()  # over fine-tuning seeds
    common = runs.groupby(["variant", "step"])["seed"].transform("count")
    runs = runs[common == runs.groupby("variant")["seed"].transform("nunique")]
    # seeds take different times to a step: a point stands at their mean
    runs["along"] = runs.groupby(["variant", "step"])["along"].transform("mean")
    for name, line in styles.items():
        each = runs[runs["variant"] == name]
        if each.empty:
            continue
        band = ("pi", 100) if each["seed"].nunique() > 1 else None
        drawn = seaborn.lineplot(each, x="along", y="value", errorbar=band, ax=axes, **line)
        drawn.set(xlabel=None, ylabel=axes.get_ylabel())
    style.bare(axes)
