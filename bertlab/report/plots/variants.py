"""Figures with a panel for each measurement and a line for each variant: effects, and all points by seed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertlab.report.plots.figure import COLOURS, INK, LEVEL, PALE, SMALL, SPAN, Key, Picture, by_variant, legend, limit
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import signed
from bertlab.wording import count

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
    found = {}
    for name in study.measurements:
        for at in reversed(study.milestones(name, study.baseline)):
            differences = {each: study.effect(each, study.baseline, name, at=(at, at)) for each in variants}
            if known := {each: effect for each, effect in differences.items() if effect}:
                found[name, at] = known
                break
    if not found:
        return None
    titles = {name: "" if at == 100 else f", at {at} % of the steps" for name, at in found}
    figure, panels = by_variant(study, titles, variants)
    drawn: list[dict[str, Any]] = []
    for axes, ((name, at), known) in zip(panels, found.items(), strict=True):
        theirs = [study.published_difference(each, name, at=(at, at)) for each in variants]
        published = {place: float(each) for place, each in enumerate(theirs) if each is not None}
        drawn += _forest(axes, study, (name, at), known, published)
    seeds = [effect.n for known in found.values() for effect in known.values()]
    few, most = min(seeds), max(seeds)
    n = count(few, study.unit) if few == most else f"{few} to {most} {study.unit}s"
    keys = [(style, text) for style, text in _KEYS if style in drawn]
    legend(figure, keys, f"Each variant minus {study.baseline}, n = {n}; each interval by itself")
    compared = _PUBLISHED in drawn
    alt = "Measured and published differences" if compared else "Measured differences"
    alt += f" of {count(len(variants), 'variant')} from the baseline on {count(len(found), 'measurement')}."
    return Picture(study, "effects", "Effects, measured and published" if compared else "Effects", alt, figure)


def _forest(
    axes: Axes, study: StudyResults, on: tuple[str, int], known: Mapping[str, Effect], published: Mapping[int, float]
) -> list[dict[str, Any]]:
    """A panel of the differences of variants and of the paper, by place, and the styles that it uses."""
    variants = study.others
    learned = {each: effect for each, effect in known.items() if not _learned_nothing(study, each, *on)}
    shown = learned or known  # the axis is theirs
    values = [0.0, *published.values(), *(effect.mean for effect in shown.values())]
    slack = max(SPAN, max(values) - min(values))
    low, high = min(values) - slack, max(values) + slack
    intervals = [effect.interval for effect in shown.values() if effect.interval]
    values += [min(max(end, low), high) for each in intervals for end in (each.low, each.high)]
    limit(axes, study, on[0], values)
    left, right = axes.get_xlim()
    axes.axvline(0, color=PALE, linewidth=1, zorder=1)
    drawn = []
    for variant, effect in known.items():
        place, style = variants.index(variant), _style(effect)
        drawn.append(style)
        if not left <= effect.mean <= right:
            _beyond(axes, study, on[0], effect.mean, place, style)
            continue
        if effect.interval:
            ends = [effect.interval.low, effect.interval.high]
            axes.plot(ends, [place] * 2, **{**style, "marker": ""}, zorder=3)
            cut = (("<", left, ends[0] < left), (">", right, ends[1] > right))
            for marker, edge, beyond in cut:
                if beyond:
                    axes.plot(edge, place, **{**style, "marker": marker}, clip_on=False, zorder=3)
        axes.plot(effect.mean, place, **{**style, "linestyle": ""}, zorder=4)
    axes.plot(list(published.values()), list(published), **_PUBLISHED, zorder=5)
    return drawn + ([_PUBLISHED] if published else [])


def _beyond(axes: Axes, study: StudyResults, on: str, mean: float, place: int, style: Mapping[str, Any]) -> None:
    """An arrowhead at the edge of an axis, and the mean that lies beyond it."""
    below = mean < axes.get_xlim()[0]
    edge, marker, towards, side = (0, "<", 1, "left") if below else (1, ">", -1, "right")
    across = axes.get_yaxis_transform()  # x by the width of the panel
    axes.plot(
        edge,
        place,
        **{**style, "marker": marker, "markerfacecolor": style["color"]},
        transform=across,
        clip_on=False,
        zorder=4,
    )
    number = signed(mean, study.digits(on)).replace("-", "\N{MINUS SIGN}")
    axes.text(edge + 0.05 * towards, place, number, transform=across, ha=side, va="center", fontsize=SMALL)


def _learned_nothing(study: StudyResults, variant: str, on: str, at: int) -> bool:
    """Whether a variant learned nothing in pre-training, or one of its runs collapsed on a measurement."""
    return variant in study.unlearned or bool(study.collapsed(variant, on, at))


def _style(effect: Effect) -> dict[str, Any]:
    """Strong if the interval of enough seeds excludes 0, pale if it does not, hollow without an interval."""
    if effect.interval is None:
        return _SINGLE
    return _SURE if effect.n >= VERDICT_MIN_SEEDS and not effect.interval.covers(0) else _UNSURE


def points(study: StudyResults) -> Picture | None:
    """A panel for each measurement of the trained variants, a colour for each seed; None if nothing is measured."""
    variants = [each for each in study.variants if not study.untrained(each)]
    measurable = [cell for cell in study.cells if cell.variant in variants and cell.milestone == 100]
    cells = [cell for cell in measurable if cell.value is not None]
    if not cells:
        return None
    seeds = sorted({study.seed_of(cell) for cell in cells})
    measured = {cell.measurement for cell in cells}
    names = [each for each in study.measurements if each in measured]
    few = len(seeds) <= len(COLOURS)
    colours = {seed: COLOURS[place if few else 0] for place, seed in enumerate(seeds)}
    height = {seed: _HEIGHT * ((place + 0.5) / len(seeds) - 0.5) for place, seed in enumerate(seeds)}
    figure, panels = by_variant(study, dict.fromkeys(names, ""), variants)
    for name, axes in zip(names, panels, strict=True):
        shown: list[float] = []
        for seed in seeds:
            for place, variant in enumerate(variants):
                y, values = place + height[seed], study.points(variant, name).get(seed, [])
                own = study.by_seed(variant, name).get(seed, [])
                axes.scatter(values, [y] * len(values), s=36, color=colours[seed], linewidth=0.8, edgecolor="white")
                crossed = [each for each, cell in zip(values, own, strict=True) if cell.status == "collapsed"]
                axes.plot(crossed, [y] * len(crossed), **_COLLAPSED, zorder=6)
                shown += values
        for place, variant in enumerate(variants):
            if found := study.summary(variant, name):
                axes.plot(found.mean, place, **_MEAN, zorder=5)
                if variant == study.baseline:
                    axes.axvline(found.mean, **_BASELINE, zorder=1)
        limit(axes, study, name, shown)
    keys: list[Key] = [({"color": colours[each], "marker": "o", "linestyle": ""}, f"seed {each}") for each in seeds]
    if study.pretrained or not few:
        keys = [(keys[0][0], f"a {study.unit}")]
    if any(cell.status == "collapsed" for cell in cells):
        keys.append((_COLLAPSED, "collapsed"))
    legend(figure, [*keys, (_MEAN, "mean of the variant"), (_BASELINE, "mean of the baseline")])
    alt = f"Points of {count(len(variants), 'variant')} on {count(len(names), 'measurement')}, by seed, with means."
    return Picture(study, "points", "Points by seed", alt, figure)
