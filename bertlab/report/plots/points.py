"""All measured points by seed, with their means."""

from typing import Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots.figure import COLOURS, INK, LEVEL, PALE, Key, Picture, by_variant, legend, limit
from bertlab.wording import count

_MEAN: dict[str, Any] = {"color": INK, "marker": "|", "linestyle": "", "markersize": 13, "markeredgewidth": 1.4}
_BASELINE: dict[str, Any] = {"color": PALE, "linewidth": 1, "linestyle": LEVEL}
_COLLAPSED: dict[str, Any] = {"color": INK, "marker": "x", "linestyle": ""}
_HEIGHT = 0.8
"""The seeds of a variant lie one above the other over this share of its height."""


def draw(evidence: Evidence) -> Picture | None:
    """A panel for each measurement of the trained variants, a colour for each seed; None if nothing is measured."""
    variants = [each for each in evidence.variants if not evidence.untrained(each)]
    measurable = [cell for cell in evidence.cells if cell.variant in variants and cell.milestone == 100]
    cells = [cell for cell in measurable if cell.value is not None]
    if not cells:
        return None
    seeds = sorted({evidence.seed_of(cell) for cell in cells})
    measured = {cell.measurement for cell in cells}
    names = [each for each in evidence.measurements if each in measured]
    few = len(seeds) <= len(COLOURS)
    colours = {seed: COLOURS[place if few else 0] for place, seed in enumerate(seeds)}
    height = {seed: _HEIGHT * ((place + 0.5) / len(seeds) - 0.5) for place, seed in enumerate(seeds)}
    figure, panels = by_variant(evidence, names, variants)
    for name, axes in zip(names, panels, strict=True):
        shown: list[float] = []
        for place, variant in enumerate(variants):
            for seed, own in evidence.by_seed(variant, name).items():
                y, values = place + height[seed], evidence.points(variant, name)[seed]
                axes.scatter(values, [y] * len(values), s=36, color=colours[seed], linewidth=0.8, edgecolor="white")
                crossed = [each for each, cell in zip(values, own, strict=True) if cell.status == "collapsed"]
                axes.plot(crossed, [y] * len(crossed), **_COLLAPSED, zorder=6)
                shown += values
            if found := evidence.summary(variant, name):
                axes.plot(found.mean, place, **_MEAN, zorder=5)
                if variant == evidence.baseline:
                    axes.axvline(found.mean, **_BASELINE, zorder=1)
        limit(axes, evidence, name, shown)
    keys: list[Key] = [({"color": colours[each], "marker": "o", "linestyle": ""}, f"seed {each}") for each in seeds]
    if evidence.imported or not few:
        keys = [(keys[0][0], f"a {evidence.unit}")]
    if any(cell.status == "collapsed" for cell in cells):
        keys.append((_COLLAPSED, "collapsed"))
    legend(figure, [*keys, (_MEAN, "mean of the variant"), (_BASELINE, "mean of the baseline")])
    alt = f"Points of {count(len(variants), 'variant')} on {count(len(names), 'measurement')}, by seed, with means."
    return Picture(evidence, "points", "Points by seed", alt, figure)
