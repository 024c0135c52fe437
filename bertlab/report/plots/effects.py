"""The forest plot: what each variant changes, with its interval, and what it changed in the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots.figure import COLOURS, INK, PALE, SPAN, Picture, by_variant, legend, limit
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect
from bertlab.wording import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SURE: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "markersize": 6.5, "linewidth": 2.2}
_UNSURE: dict[str, Any] = {"color": PALE, "marker": "o", "markersize": 5.5, "linewidth": 1.4}
_HOLLOW: dict[str, Any] = {"color": INK, "linestyle": ""}
_SINGLE: dict[str, Any] = {**_UNSURE, **_HOLLOW, "markerfacecolor": "white", "markeredgewidth": 1.2}
_PUBLISHED: dict[str, Any] = {**_HOLLOW, "marker": "D", "markersize": 7.5, "markerfacecolor": "none"}
_KEYS = (
    (_SURE, "mean, 95 % interval without 0 (each by itself)"),
    (_UNSURE, f"mean, 95 % interval around 0, or n < {VERDICT_MIN_SEEDS}"),
    (_SINGLE, "mean without an interval"),
    (_PUBLISHED, "published"),
)


def draw(evidence: Evidence) -> Picture | None:
    """A panel for each measurement, with the trained variants minus the baseline; None without such a difference."""
    variants = [each for each in evidence.variants if each != evidence.baseline and not evidence.untrained(each)]
    found = {}
    for name in evidence.measurements:
        differences = {each: evidence.difference(each, name) for each in variants}
        if effects := {each: effect for each, effect in differences.items() if effect}:
            found[name] = effects
    if not found:
        return None
    figure, panels = by_variant(evidence, list(found), variants)
    drawn: list[dict[str, Any]] = []
    for axes, (name, effects) in zip(panels, found.items(), strict=True):
        drawn += _panel(axes, evidence, name, variants, effects)
    every = [effect for effects in found.values() for effect in effects.values()]
    low, high = min(effect.n for effect in every), max(effect.n for effect in every)
    n = count(low, evidence.unit) if low == high else f"{low} to {high} {evidence.unit}s"
    keys = [(style, text) for style, text in _KEYS if style in drawn]
    legend(figure, keys, f"Each variant minus {evidence.baseline}, n = {n}")
    published = _PUBLISHED in drawn
    alt = "Measured and published differences" if published else "Measured differences"
    alt += f" of {count(len(variants), 'variant')} from the baseline on {count(len(found), 'measurement')}."
    return Picture(evidence, "effects", "Effects and the paper's" if published else "Effects", alt, figure)


def _style(effect: Effect) -> dict[str, Any]:
    """Strong if the interval of enough seeds excludes 0, pale if it does not, hollow without an interval."""
    if effect.interval is None:
        return _SINGLE
    return _SURE if effect.n >= VERDICT_MIN_SEEDS and not effect.interval.covers(0) else _UNSURE


def _panel(
    axes: Axes, evidence: Evidence, name: str, variants: list[str], effects: dict[str, Effect]
) -> list[dict[str, Any]]:
    """Draws a measurement to scale; returns the styles of what is drawn.

    The axis includes 0, the published differences and all means. It cuts off intervals that reach farther beyond these
    on either side than the range of these.
    """
    differences = [evidence.published_difference(each, name) for each in variants]
    published = {place: float(theirs) for place, theirs in enumerate(differences) if theirs is not None}
    values = [0.0, *published.values(), *(effect.mean for effect in effects.values())]
    low, high = min(values), max(values)
    slack = max(SPAN, high - low)
    ends = [
        end for effect in effects.values() if effect.interval for end in (effect.interval.low, effect.interval.high)
    ]
    limit(axes, evidence, name, [*values, *(min(max(end, low - slack), high + slack) for end in ends)])
    axes.axvline(0, color=PALE, linewidth=1, zorder=1)
    for variant, effect in effects.items():
        place, style = variants.index(variant), _style(effect)
        if effect.interval:
            axes.plot([effect.interval.low, effect.interval.high], [place] * 2, **{**style, "marker": ""}, zorder=3)
        axes.plot(effect.mean, place, **{**style, "linestyle": ""}, zorder=4)
    axes.plot(list(published.values()), list(published), **_PUBLISHED, zorder=5)
    return [*map(_style, effects.values()), *([_PUBLISHED] if published else [])]
