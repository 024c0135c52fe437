"""The training loss on a plane through the start and the end of a fine-tuning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.report.plots.figure import COLOURS, INK, WIDTH, Picture, blank, label, legend
from bertlab.report.study_results import StudyResults
from bertlab.wording import pluralise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bertlab.store.result import Surface

LEVELS = 7
"""Contours of a figure, about."""
_START: dict[str, Any] = {"color": COLOURS[0], "marker": "o", "linestyle": "", "markersize": 6}
_END: dict[str, Any] = {"color": COLOURS[3], "marker": "X", "linestyle": "", "markersize": 7}


def surfaces(study: StudyResults) -> Picture | None:
    """A line of panels for each task, one panel for each variant, of its first seed; None where none was measured."""
    measured: dict[str, dict[str, Surface]] = {}
    for cell in study.cells:
        surface = cell.result.surface
        if surface and study.of_answers(cell.measurement) and cell.variant not in study.duplicates:
            measured.setdefault(study.head(cell.measurement), {}).setdefault(cell.variant, surface)
    if not measured:
        return None
    variants = [name for name in study.variants if any(name in panels for panels in measured.values())]
    figure = blank(0.4 + 2.6 * len(measured))
    rows = figure.subplots(len(measured), len(variants), sharex=True, sharey=True, squeeze=False)
    for across, (name, panels) in zip(rows, measured.items(), strict=True):
        levels = _levels([*panels.values()])
        for axes, variant in zip(across, variants, strict=True):
            axes.set_title(label(f"{name}, {variant}", WIDTH / len(variants) - 0.3), loc="left")
            if variant in panels:
                _draw(axes, panels[variant], levels)
    rows[-1][0].set_xlabel("from the start (0) to the end (1) of training")
    rows[-1][0].set_ylabel(label("a random filter-normalised direction", 2.2, lines=2))
    legend(figure, [(_START, "before fine-tuning"), (_END, "after it")], "Contours: training loss (nats).")
    alt = f"Training loss of {pluralise(len(variants), 'variant')} on a plane through start and end of training."
    return Picture(study, "surface", "Loss surfaces", alt, figure)


def _levels(surfaces: list[Surface]) -> Any:
    """The contours that all panels of a task share, in equal ratios."""
    losses = np.concatenate([np.ravel(_losses(surface)) for surface in surfaces])
    low, high = np.nanmin(losses), np.nanmax(losses)
    return np.unique(np.geomspace(max(low, high / 100), max(high, 1e-9), LEVELS).round(3))


def _losses(surface: Surface) -> Any:
    return np.array([[np.nan if loss is None else loss for loss in row] for row in surface.losses], np.float64)


def _draw(axes: Axes, surface: Surface, levels: Any) -> None:
    losses = _losses(surface)
    inside = levels[(levels > np.nanmin(losses)) & (levels < np.nanmax(losses))]
    if len(inside):
        lines = axes.contour(surface.along, surface.sideways, losses, levels=inside, colors=INK, linewidths=0.8)
        axes.clabel(lines, fmt="%.2g", fontsize=7)
    axes.plot(0, 0, **_START, zorder=3)
    axes.plot(1, 0, **_END, zorder=3)
