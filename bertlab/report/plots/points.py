"""Every measured point: what the means and the intervals are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertlab.report.evidence import Evidence
from bertlab.report.plots.layout import Drawing, Key, at_edge, by_variant, least, legend, limit, off_scale
from bertlab.report.plots.style import COLOURS, INK, LEVEL, PALE
from bertlab.wording import count

if TYPE_CHECKING:
    import pandas

_MEAN: dict[str, Any] = {"color": INK, "marker": "|", "linestyle": "", "markersize": 13, "markeredgewidth": 1.4}


def draw(evidence: Evidence) -> Drawing | None:
    """A panel a measurement, a line a variant, a colour a seed; None if nothing has been measured."""
    import seaborn
    from matplotlib.lines import Line2D

    points = _points(evidence)
    if points.empty:
        return None
    variants = evidence.variants
    names = [each for each in evidence.measurements if each in set(points["measurement"])]
    seeds = sorted(points["seed"].unique())
    several = len(seeds) <= len(COLOURS)
    palette = dict(zip(seeds, COLOURS if several else [COLOURS[0]] * len(seeds), strict=False))
    size = 6.5 if several else 4.5
    figure, panels = by_variant(evidence, names, variants)
    common: dict[str, Any] = {"x": "value", "y": "place", "hue": "seed", "hue_order": seeds, "palette": palette}
    common |= {"orient": "h", "dodge": len(seeds) > 1, "jitter": False, "legend": False, "native_scale": True}
    for name, axes in zip(names, panels, strict=True):
        each = points[points["measurement"] == name]
        means = {variant: found.mean for variant in variants if (found := evidence.summary(variant, name))}
        centre = means.get(evidence.baseline, sum(means.values()) / len(means))
        off = off_scale(evidence, name, {variant: mean - centre for variant, mean in means.items()})
        shown = each[~each["variant"].isin(off)]
        before = axes.get_xlabel(), axes.get_yticks(), axes.get_ylim()
        if shown.duplicated(["variant", "seed"]).any():
            seaborn.stripplot(shown, ax=axes, size=3, alpha=0.45, **common)
        means_of_seeds = shown.groupby(["variant", "place", "seed"], as_index=False)["value"].mean()
        seaborn.stripplot(means_of_seeds, ax=axes, size=size, linewidth=0.8, edgecolor="white", zorder=4, **common)
        axes.plot(shown["value"][shown["collapsed"]], shown["place"][shown["collapsed"]], "x", color=INK, zorder=6)
        for variant, mean in means.items():
            place = variants.index(variant)
            if variant in off:
                at_edge(axes, place, f"{mean:.1f}", left=mean < centre)
            else:
                axes.plot(mean, place, **_MEAN, zorder=5)
        if evidence.baseline in means:
            axes.axvline(centre, color=PALE, linewidth=1, linestyle=LEVEL, zorder=1)
        limit(axes, min(shown["value"].min(), centre), max(shown["value"].max(), centre), least(evidence, name))
        axes.set(xlabel=before[0], ylabel=None, yticks=before[1], ylim=before[2])
    keys: list[Key] = [
        (Line2D([], [], color=palette[each], marker="o", linestyle=""), f"seed {each}") for each in seeds
    ]
    if evidence.imported or not several:
        keys = [(keys[0][0], f"a {evidence.unit}")]
    if points.duplicated(["measurement", "variant", "seed"]).any():
        keys.append((Line2D([], [], color=PALE, marker="o", linestyle="", markersize=3), "one fine-tuning seed"))
    if points["collapsed"].any():
        keys.append((Line2D([], [], color=INK, marker="x", linestyle=""), "collapsed"))
    keys.append((Line2D([], [], **_MEAN), "mean of the variant"))
    keys.append((Line2D([], [], color=PALE, linewidth=1, linestyle=LEVEL), "mean of the baseline"))
    legend(figure, keys)
    alt = f"Points of {count(len(variants), 'variant')} on {count(len(names), 'measurement')}, by seed, with means."
    return Drawing("points", "Points by seed", alt, figure)


def _points(evidence: Evidence) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(
        {
            "measurement": name,
            "variant": variant,
            "place": place,
            "seed": evidence.seed_of(cell),
            "value": cell.value,
            "collapsed": cell.status == "collapsed",
        }
        for name in evidence.measurements
        for place, variant in enumerate(evidence.variants)
        for cell in evidence.at(variant, name)
        if cell.value is not None
    )
