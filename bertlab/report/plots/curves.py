"""Held-out losses during pre-training, over steps, tokens and training time."""

from __future__ import annotations

from collections.abc import Sequence

from bertlab.report.cells import Pretraining
from bertlab.report.evidence import Evidence
from bertlab.report.plots import bands, style
from bertlab.report.plots.bands import Line
from bertlab.report.plots.layout import Drawing, blank, legend
from bertlab.report.plots.units import COUNTS, TIMES, unit
from bertlab.wording import count

_ALONG = (("step", "steps", COUNTS), ("tokens", "tokens", COUNTS), ("seconds", bands.TIME, TIMES))
"""What losses are drawn over: a field of a point, its name on the axis, its units."""

_Panel = tuple[str, list[str], str]
"""Title, rows, and the loss that is drawn."""


def draw(evidence: Evidence) -> Drawing | None:
    """A line of panels for each kind of loss, the unigram entropy dashed; None without curves."""
    from matplotlib.lines import Line2D

    drawn = [row for row in evidence.trained if any(each.curve for each in evidence.of(row))]
    if not drawn:
        return None
    panels = _panels(evidence, drawn)
    along = [(*each, most) for each in _ALONG if (most := max(_values(evidence, each[0]), default=None)) is not None]
    lines = {row: style.line(row, drawn, evidence.baseline) for row in drawn}
    keys = bands.keys(lines)
    plateaus = sorted({each.plateau for each in evidence.pretrainings if each.plateau is not None and each.curve})
    if plateaus:
        keys.append((Line2D([], [], color=style.INK, linewidth=1, linestyle=style.LEVEL), "unigram entropy"))
    reading = bands.told(max(len(evidence.of(row)) for row in drawn))
    figure = blank(0.55 + 2.05 * len(panels))
    grid = figure.subplots(len(panels), len(along), sharex="col", sharey="row", squeeze=False)
    for across, (title, shown, name) in zip(grid, panels, strict=True):
        across[0].set_title(f"Held-out text, {title}", loc="left")
        across[0].set_ylabel("next-token loss (nats)" if name == "causal_loss" else "masked-LM loss (nats)")
        for axes, (what, _, sizes, most) in zip(across, along, strict=True):
            for row in shown:
                seeds = _seeds(evidence.of(row), what, unit(most, sizes)[0], name)
                if seeds:
                    bands.draw(axes, bands.band(seeds), lines[row])
            for plateau in plateaus:
                axes.axhline(plateau, color=style.INK, linewidth=1, linestyle=style.LEVEL, zorder=1)
            style.bare(axes)
    bands.along(grid[-1], [called + unit(most, sizes)[1] for _, called, sizes, most in along], evidence)
    legend(figure, keys, reading)
    alt = f"Held-out loss of {count(len(drawn), 'row')} over "
    alt += f"{', '.join(called for _, called, _, _ in along)}, the unigram entropy dashed."
    return Drawing("curves", "Learning curves", alt, figure)


def _panels(evidence: Evidence, drawn: Sequence[str]) -> list[_Panel]:
    causal = [row for row in drawn if any(each.causal for each in evidence.of(row))]
    rows = [row for row in drawn if row not in causal]
    own = any(point.own_loss not in (None, point.loss) for each in evidence.pretrainings for point in each.curve)
    # a row that never saw [MASK] is not judged by it, where there is another curve to judge it by
    judged = [row for row in rows if not own or any(each.sees_mask for each in evidence.of(row))]
    panels: list[_Panel] = [("15 % masked as 80/10/10", judged, "loss")] if judged else []
    if own:
        panels.append(("15 % masked as in its own training", rows, "own_loss"))
    if causal:  # a loss of another kind, on axes of its own
        panels.append(("left to right", causal, "causal_loss"))
    return panels


def _values(evidence: Evidence, name: str) -> list[float]:
    """The field `name` of all points of all curves, where it is known."""
    found = [getattr(point, name) for each in evidence.pretrainings for point in each.curve]
    return [value for value in found if value is not None]


def _seeds(runs: Sequence[Pretraining], along: str, scale: float, name: str) -> list[Line]:
    """The losses `name` of each run that has any."""
    lines: list[Line] = []
    for run in runs:
        known = [(point.step, getattr(point, along), getattr(point, name)) for point in run.curve]
        line = {step: (at / scale, loss) for step, at, loss in known if at is not None and loss is not None}
        if line:
            lines.append(line)
    return lines
