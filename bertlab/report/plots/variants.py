"""Figures with a panel for each measurement and a line for each variant: effects, and all points by seed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertlab.report.comparisons import Comparison
from bertlab.report.plots.figure import COLOURS, INK, LEVEL, PALE, SMALL, SPAN, Key, Picture, by_variant, legend, limit
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import signed
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "markersize": 6.5, "linewidth": 2.2}
_UNSURE: dict[str, Any] = {"color": PALE, "marker": "o", "markersize": 5.5, "linewidth": 1.4}
_HOLLOW: dict[str, Any] = {"color": INK, "linestyle": ""}
_SINGLE: dict[str, Any] = {**_UNSURE, **_HOLLOW, "markerfacecolor": "white", "markeredgewidth": 1.2}
_PUBLISHED: dict[str, Any] = {**_HOLLOW, "marker": "D", "markersize": 7.5, "markerfacecolor": "none"}
_KEYS = (
    (_SURE, "95 % interval without 0"),
    (_UNSURE, f"95 % interval around 0, or n < {VERDICT_MIN_SEEDS}"),
    (_SINGLE, "mean without an interval"),
    (_PUBLISHED, "published"),
)
_MEAN: dict[str, Any] = {"color": INK, "marker": "|", "linestyle": "", "markersize": 13, "markeredgewidth": 1.4}
_BASELINE: dict[str, Any] = {"color": PALE, "linewidth": 1, "linestyle": LEVEL}
_COLLAPSED: dict[str, Any] = {"color": INK, "marker": "x", "linestyle": ""}
_HEIGHT = 0.8
"""The seeds of a variant lie one above the other over this share of its height."""


def effects(study: StudyResults) -> Picture | None:
    """The forest plot: each trained variant minus the baseline, and what the paper has; None without such a difference.

    An axis includes 0, the published differences and all means of variants that learned something. It cuts off
    intervals that reach farther beyond these on either side than the range of these, with an arrowhead at the edge. A
    variant that learned nothing and lies beyond the axis is an arrowhead at the edge with its number.
    """
    variants = study.others
    panels: dict[tuple[str, int], dict[str, Effect]] = {}
    for name in study.measurements:
        for at in reversed(study.milestones(name, study.baseline)):
            pairs = {variant: Comparison((variant, study.baseline), name, at=(at, at)) for variant in variants}
            if measured := {variant: effect for variant, pair in pairs.items() if (effect := study.effect(pair))}:
                panels[name, at] = measured
                break
    if not panels:
        return None
    titles = {name: "" if at == 100 else f", at {at} % of the steps" for name, at in panels}
    figure, all_axes = by_variant(study, titles, variants)
    drawn: list[dict[str, Any]] = []
    for axes, (on, measured) in zip(all_axes, panels.items(), strict=True):
        drawn += _forest(axes, study, on, measured)
    seeds = [effect.n for measured in panels.values() for effect in measured.values()]
    few, most = min(seeds), max(seeds)
    n = pluralise(few, study.unit) if few == most else f"{few} to {most} {study.unit}s"
    keys = [(style, text) for style, text in _KEYS if style in drawn]
    legend(figure, keys, f"Each variant minus {study.baseline}, n = {n}; each interval by itself")
    compared = _PUBLISHED in drawn
    alt = "Measured and published differences" if compared else "Measured differences"
    alt += f" of {pluralise(len(variants), 'variant')} from the baseline on {pluralise(len(panels), 'measurement')}."
    return Picture(study, "effects", "Effects, measured and published" if compared else "Effects", alt, figure)


def _forest(
    axes: Axes, study: StudyResults, on: tuple[str, int], measured: Mapping[str, Effect]
) -> list[dict[str, Any]]:
    """A panel of the differences of variants and of the paper, by row, and the styles that it uses."""
    (name, at), rows = on, {variant: row for row, variant in enumerate(study.others)}
    theirs = {row: study.published_difference(variant, name, at=(at, at)) for variant, row in rows.items()}
    published = {row: float(difference) for row, difference in theirs.items() if difference is not None}
    unlearned = {variant for variant in measured if variant in study.unlearned or study.collapsed(variant, name, at)}
    # the axis is that of the variants that learned something
    shown = [effect for variant, effect in measured.items() if variant not in unlearned] or [*measured.values()]
    values = [0.0, *published.values(), *(effect.mean for effect in shown)]
    slack = max(SPAN, max(values) - min(values))
    low, high = min(values) - slack, max(values) + slack
    intervals = [effect.interval for effect in shown if effect.interval]
    values += [min(max(end, low), high) for interval in intervals for end in (interval.low, interval.high)]
    limit(axes, study, name, values)
    left, right = axes.get_xlim()
    axes.axvline(0, color=PALE, linewidth=1, zorder=1)
    drawn = []
    for variant, effect in measured.items():
        row, style = rows[variant], _style(effect)
        drawn.append(style)
        if not left <= effect.mean <= right:
            _beyond(axes, signed(effect.mean, study.digits(name)), effect.mean < left, row, style)
            continue
        if effect.interval:
            ends = [effect.interval.low, effect.interval.high]
            axes.plot(ends, [row] * 2, **{**style, "marker": ""}, zorder=3)
            for marker, edge, beyond in (("<", left, ends[0] < left), (">", right, ends[1] > right)):
                if beyond:
                    axes.plot(edge, row, **{**style, "marker": marker}, clip_on=False, zorder=3)
        axes.plot(effect.mean, row, **{**style, "linestyle": ""}, zorder=4)
    axes.plot(list(published.values()), list(published), **_PUBLISHED, zorder=5)
    return drawn + ([_PUBLISHED] if published else [])


def _beyond(axes: Axes, number: str, below: bool, row: int, style: Mapping[str, Any]) -> None:
    """An arrowhead at the edge of an axis, and the number that lies beyond it."""
    edge, marker, towards, side = (0, "<", 1, "left") if below else (1, ">", -1, "right")
    across = axes.get_yaxis_transform()  # x by the width of the panel
    arrow = {**style, "marker": marker, "markerfacecolor": style["color"]}
    axes.plot(edge, row, **arrow, transform=across, clip_on=False, zorder=4)
    number = number.replace("-", "\N{MINUS SIGN}")
    axes.text(edge + 0.05 * towards, row, number, transform=across, ha=side, va="center", fontsize=SMALL)


def _style(effect: Effect) -> dict[str, Any]:
    """Strong if the interval of enough seeds excludes 0, pale if it does not, hollow without an interval."""
    if effect.interval is None:
        return _SINGLE
    return _SURE if effect.n >= VERDICT_MIN_SEEDS and not effect.interval.covers(0) else _UNSURE


def points(study: StudyResults) -> Picture | None:
    """A panel for each measurement of the trained variants, a colour for each seed; None if nothing is measured."""
    variants = [name for name in study.variants if not study.untrained(name)]
    cells = [cell for name in variants for on in study.measurements for cell in study.at(name, on)]
    cells = [cell for cell in cells if cell.value is not None]
    if not cells:
        return None
    seeds = sorted({study.seed_of(cell) for cell in cells})
    names = [name for name in study.measurements if any(cell.measurement == name for cell in cells)]
    few = len(seeds) <= len(COLOURS)
    colours = {seed: COLOURS[number if few else 0] for number, seed in enumerate(seeds)}
    figure, panels = by_variant(study, dict.fromkeys(names, ""), variants)
    for name, axes in zip(names, panels, strict=True):
        for (number, seed), (row, variant) in itertools.product(enumerate(seeds), enumerate(variants)):
            y = row + _HEIGHT * ((number + 0.5) / len(seeds) - 0.5)
            values, runs = study.points(variant, name).get(seed, []), study.by_seed(variant, name).get(seed, [])
            axes.scatter(values, [y] * len(values), s=36, color=colours[seed], linewidth=0.8, edgecolor="white")
            crossed = [value for value, cell in zip(values, runs, strict=True) if cell.status == "collapsed"]
            axes.plot(crossed, [y] * len(crossed), **_COLLAPSED, zorder=6)
        for row, variant in enumerate(variants):
            if summary := study.summary(variant, name):
                axes.plot(summary.mean, row, **_MEAN, zorder=5)
                if variant == study.baseline:
                    axes.axvline(summary.mean, **_BASELINE, zorder=1)
        limit(axes, study, name, [cell.value for cell in cells if cell.measurement == name and cell.value is not None])
    keys: list[Key] = [({"color": colours[seed], "marker": "o", "linestyle": ""}, f"seed {seed}") for seed in seeds]
    if study.pretrained or not few:
        keys = [(keys[0][0], f"a {study.unit}")]
    if any(cell.status == "collapsed" for cell in cells):
        keys.append((_COLLAPSED, "collapsed"))
    legend(figure, [*keys, (_MEAN, "mean of the variant"), (_BASELINE, "mean of the baseline")])
    shown = f"{pluralise(len(variants), 'variant')} on {pluralise(len(names), 'measurement')}"
    alt = f"Points of {shown}, by seed, with means."
    return Picture(study, "points", "Points by seed", alt, figure)
