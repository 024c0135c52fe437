"""Figures of the agreement of signs: measured against published differences, and the share over pre-training."""

from __future__ import annotations

import itertools
import operator
import re
from typing import TYPE_CHECKING, Any

from bertlab.report.agreement import Agreement
from bertlab.report.pairs import ENDPOINTS, METRIC, SECTION
from bertlab.report.plots.figure import COLOURS, INK, LEVEL, PALE, SPAN, WIDTH, Key, applied, blank, label, legend, svg
from bertlab.report.predictions import LIKELIHOOD
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

_AGREES: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "linestyle": "", "markersize": 5.5, "alpha": 0.8}
_DIFFERS: dict[str, Any] = {**_AGREES, "color": COLOURS[3], "marker": "X", "markersize": 6}
_REFERENCE: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": LEVEL}
_DATADECIDE = "80 %: DataDecide, 150M to 1B parameters"
_ENDPOINTS: dict[str, dict[str, Any]] = {
    METRIC: {"linestyle": "solid", "marker": "o", "markersize": 4},
    LIKELIHOOD: {"linestyle": (0, (5, 1.5)), "marker": "o", "markersize": 4, "markerfacecolor": "none"},
}
_LINEAR = 1.0
"""Points around zero that are drawn to scale; the axes are logarithmic beyond."""
_TICKS = (-50, -20, -10, -5, -2, -1, 0, 1, 2, 5, 10, 20, 50)


def figures(agreement: Agreement) -> dict[str, tuple[bytes, str]]:
    """Draws each kind of figure, `signs` and `curve`, that has values: an SVG, and a sentence on what it shows."""
    with applied():
        drawn = {"signs": _signs(agreement), "curve": _curve(agreement)}
    return {kind: (svg(picture[0], f"agreement {kind}"), picture[1]) for kind, picture in drawn.items() if picture}


def _signs(agreement: Agreement) -> tuple[Figure, str] | None:
    from matplotlib.scale import SymmetricalLogScale

    pairs = agreement.on(METRIC)
    pairs = pairs[pairs["in_points"].astype(bool)]
    if pairs.empty:
        return None
    figure = blank(5.4)
    axes, strip = figure.subplots(2, height_ratios=(5, 1))
    keys: list[Key] = []
    for style, agrees in ((_AGREES, True), (_DIFFERS, False)):
        group = pairs[pairs["agrees"] == agrees]
        axes.plot(group["published"], group["measured"], **style, zorder=3)
        keys.append((style, f"{'same sign' if agrees else 'another sign, or none'}: {pluralise(len(group), 'pair')}"))
    axes.axhline(0, color=PALE, linewidth=1.2, zorder=1)
    axes.axvline(0, color=PALE, linewidth=1.2, zorder=1)
    for side, column in (("x", "published"), ("y", "measured")):
        end = 1.25 * max(SPAN, pairs[column].abs().max())
        ticks = [tick for tick in _TICKS if abs(tick) <= end]
        names = [f"{tick:+}".replace("-", "\N{MINUS SIGN}") if tick else "0" for tick in ticks]
        axes.set(**{f"{side}scale": SymmetricalLogScale(None, linthresh=_LINEAR), f"{side}lim": (-end, end)})
        axes.set(**{f"{side}ticks": ticks, f"{side}ticklabels": names, f"{side}label": f"{column} difference (points)"})
    keys += _share(strip, agreement)
    legend(figure, keys)
    text = f"Measured against published differences of {pluralise(len(pairs), 'pair')} of variants, in points;"
    return figure, f"{text} below, the share of all pairs with the published sign beside the 80 % of DataDecide."


def _share(axes: Axes, agreement: Agreement) -> list[Key]:
    """The share of pairs with the published sign on each endpoint, with its interval, and what it is measured by."""
    names = [endpoint for endpoint in ENDPOINTS if agreement.overall[endpoint][0].pairs]
    for row, name in enumerate(names):
        share, ends, _ = agreement.overall[name]
        if ends:
            axes.plot([100 * ends.low, 100 * ends.high], [row] * 2, color=COLOURS[0], linewidth=2.2, zorder=2)
        axes.plot(100 * (share.value or 0.0), row, **_AGREES, zorder=3)
    axes.axvline(50, color=PALE, linewidth=1.2, zorder=1)
    axes.axvline(80, **_REFERENCE, zorder=1)
    axes.set(xlim=(0, 100), ylim=(len(names) - 0.4, -0.6), xlabel="signs that agree (%); a coin: 50")
    axes.set_yticks(range(len(names)), [ENDPOINTS[endpoint] for endpoint in names])
    return [(_REFERENCE, _DATADECIDE)]


def _curve(agreement: Agreement) -> tuple[Figure, str] | None:
    figure = blank(3.0)
    axes = figure.subplots()
    sections = [[*steps] for _, steps in itertools.groupby(agreement.curve, operator.itemgetter(*SECTION))]
    sections = [steps for steps in sections if sum(bool(step["flops"]) for step in steps) > 1]
    if not sections:
        return None  # one budget is no curve
    one_place = len({steps[0]["place"] for steps in sections}) == 1
    keys: list[Key] = []
    for number, steps in enumerate(sections):
        colour: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)]}
        drawn = False
        for endpoint, style in _ENDPOINTS.items():
            shares = [(step["flops"], step["shares"][endpoint].value) for step in steps]
            points = [(flops, 100 * share) for flops, share in shares if flops and share is not None]
            axes.plot([at for at, _ in points], [share for _, share in points], **style, **colour)
            drawn = drawn or bool(points)
        if drawn:
            name = steps[0]["study"] + ("" if one_place else f", {steps[0]['place']}")
            keys.append(({"linewidth": 2, **colour}, label(name, WIDTH / 2)))
    keys += [({**style, "color": INK}, ENDPOINTS[endpoint]) for endpoint, style in _ENDPOINTS.items()]
    axes.axhline(80, **_REFERENCE, zorder=1)
    keys.append((_REFERENCE, _DATADECIDE))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(_powers())
    axes.xaxis.set_minor_formatter(_powers())
    axes.set(ylim=(-4, 104), xlabel="FLOPs of the baseline's pre-training", ylabel="signs that agree (%)")
    legend(figure, keys)
    text = f"Share of signs that agree against compute, at each milestone of {pluralise(len(sections), 'setting')}."
    return figure, text


def _powers() -> Formatter:
    """Names the ticks of a logarithmic axis as matplotlib does, in plain text: `10¹²` where that writes a formula."""
    from matplotlib.ticker import LogFormatterSciNotation

    class Powers(LogFormatterSciNotation):
        def __call__(self, x: float, pos: int | None = None) -> str:
            formula = super().__call__(x, pos).replace(r"\times", "\N{MULTIPLICATION SIGN}")
            raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
            formula = re.sub(r"\^\{(.*?)\}", lambda match: match[1].translate(raised), formula)
            return re.sub(r"\$|\\mathdefault|[{}]", "", formula)

    return Powers()
