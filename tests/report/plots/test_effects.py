"""The forest plot has the effects, their intervals and the published differences where it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from bertlab.report.gather import gather
from bertlab.report.plots.figure import COLOURS, INK, PALE
from bertlab.report.plots.variants import effects
from bertlab.store.runs import Store

Figures = Callable[..., dict[str, Any]]

BASELINE = (50.0, 52.0, 51.0)
ROWS = {"80/10/10": BASELINE, "100/0/0": (55.0, 57.5, 56.0), "0/0/100": (50.5, 51.0, 50.0)}


def written(builder: Any, rows: dict[str, tuple[float, ...]]) -> None:
    for variant, values in rows.items():
        for seed, value in enumerate(values):
            run_id = builder.pretrain(variant, seed, steps=0 if variant == "no pre-training" else 1000)
            builder.cell(variant, "MNLI", value, seed, pretrain_id=run_id)


def marks(axes: Axes, marker: str) -> list[tuple[float, float]]:
    found = [line for line in axes.lines if line.get_marker() == marker]
    return [(float(x), float(y)) for line in found for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def intervals(axes: Axes) -> list[Line2D]:
    return [line for line in axes.lines if not line.get_marker() and line.get_ydata()[0] == line.get_ydata()[1]]


def test_effects_intervals_and_published_differences_stand_on_the_line_of_their_variant(
    builder: Any, figures: Figures
) -> None:
    written(builder, ROWS)
    figure = figures()["effects"]
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["100/0/0", "0/0/100"]
    assert marks(axes, "o") == [(pytest.approx(31 / 6), 0), (pytest.approx(-0.5), 1)]
    assert marks(axes, "D") == [(pytest.approx(0.1), 0), (pytest.approx(-0.6), 1)]
    # differences of 5, 5.5, 5 and 0.5, -1, -1; t of two degrees of freedom is 4.3027
    ends = [tuple(map(float, line.get_xdata())) for line in intervals(axes)]
    assert ends == [
        (pytest.approx(31 / 6 - 4.3027 / 6, abs=1e-3), pytest.approx(31 / 6 + 4.3027 / 6, abs=1e-3)),
        (pytest.approx(-0.5 - 4.3027 / 2, abs=1e-3), pytest.approx(-0.5 + 4.3027 / 2, abs=1e-3)),
    ]
    assert [line.get_color() for line in intervals(axes)] == [PALE, PALE], "three seeds are too few to be strong"
    (legend,) = figure.legends
    assert (
        legend.get_title().get_text()
        == "Each variant minus 80/10/10, n = 3 pre-training seeds; each interval by itself"
    )
    assert [text.get_text() for text in legend.get_texts()] == ["95 % interval around 0, or n < 4", "published"]
    assert axes.get_xlabel() == "accuracy (points)"


def test_an_interval_of_four_seeds_is_strong_if_it_excludes_0(builder: Any) -> None:
    written(builder, {row: (*values, values[0]) for row, values in ROWS.items()})
    drawing = effects(gather(Store(builder.root), [builder.record()])[0])
    assert drawing is not None
    (axes,) = drawing.figure.axes
    assert [line.get_color() for line in intervals(axes)] == [COLOURS[0], PALE]
    assert [text.get_text() for text in drawing.figure.legends[0].get_texts()] == [
        "95 % interval without 0", "95 % interval around 0, or n < 4", "published",
    ]  # fmt: skip
    assert drawing.alt == "Measured and published differences of 2 variants from the baseline on 1 measurement."


def test_they_are_those_of_the_evidence(builder: Any, figures: Figures) -> None:
    written(builder, ROWS)
    study = gather(Store(builder.root), [builder.record()])[0]
    (axes,) = figures(study)["effects"].axes
    for place, row in enumerate(("100/0/0", "0/0/100")):
        effect = study.difference(row, "MNLI")
        assert effect is not None
        assert effect.interval is not None
        assert marks(axes, "o")[place][0] == effect.mean
        assert list(intervals(axes)[place].get_xdata()) == [effect.interval.low, effect.interval.high]


def test_one_seed_is_a_hollow_point(builder: Any, figures: Figures) -> None:
    written(builder, {row: values[:1] for row, values in ROWS.items()})
    figure = figures()["effects"]
    (axes,) = figure.axes
    assert intervals(axes) == []
    hollow = [line for line in axes.lines if line.get_marker() == "o"]
    assert [(line.get_markerfacecolor(), line.get_markeredgecolor()) for line in hollow] == [("white", INK)] * 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["mean without an interval", "published"]


def test_an_interval_wider_than_the_axis_is_cut(builder: Any, figures: Figures) -> None:
    written(builder, {"80/10/10": (50.0, 50.0), "100/0/0": (58.0, 43.0), "0/0/100": (49.0, 49.5)})
    (axes,) = figures()["effects"].axes
    left, right = axes.get_xlim()
    assert right - left < 12, "the interval is -95 to 96"
    assert [marks(axes, each) for each in "<>"] == [[(left, 0), (left, 1)], [(right, 0)]]


def test_variants_without_pretraining_do_not_squeeze_the_others(builder: Any, figures: Figures) -> None:
    written(builder, {**ROWS, "no pre-training": (10.0, 10.0, 10.0)})
    found = figures()
    assert [text.get_text() for text in found["effects"].axes[0].get_yticklabels()] == ["100/0/0", "0/0/100"]
    assert [text.get_text() for text in found["points"].axes[0].get_yticklabels()] == list(ROWS)


def test_small_published_differences_stay_in_sight_of_large_measured_ones(builder: Any, figures: Figures) -> None:
    written(builder, {"80/10/10": (50.0,), "100/0/0": (30.0,), "0/0/100": (25.0,)})
    (axes,) = figures()["effects"].axes
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert all(line.get_markerfacecolor() == "none" and line.get_markeredgecolor() == INK for line in diamonds)
    assert min(line.get_zorder() for line in diamonds) > max(
        line.get_zorder() for line in axes.lines if line not in diamonds
    )


def test_a_variant_of_the_runs_of_the_baseline_has_no_effect(builder: Any, figures: Figures) -> None:
    written(builder, {"80/10/10": BASELINE, "100/0/0": BASELINE})
    (axes,) = figures()["effects"].axes
    assert marks(axes, "o") == [(0, 0)]
    assert intervals(axes) == []


def test_without_the_baseline_there_is_no_forest(builder: Any, figures: Figures) -> None:
    written(builder, {row: values for row, values in ROWS.items() if row != "80/10/10"})
    assert list(figures()) == ["points", "curves"]


def test_a_variant_that_learned_nothing_is_a_number_at_the_edge(builder: Any, figures: Figures) -> None:
    for variant, value, loss in (("80/10/10", 50.0, 4.4), ("100/0/0", 48.0, 4.4), ("0/0/100", 20.0, 5.9)):
        builder.cell(variant, "MNLI", value, pretrain_id=builder.pretrain(variant, loss=loss, own=loss))
    (axes,) = figures()["effects"].axes
    left, right = axes.get_xlim()
    assert -5 < left < right < 5, "the axis is that of -2, 0 and the published differences"
    (edge,) = (line for line in axes.lines if line.get_marker() == "<")
    assert (list(edge.get_xdata()), list(edge.get_ydata())) == ([0], [1]), "the left edge, in parts of the panel"
    assert [text.get_text() for text in axes.texts] == ["\N{MINUS SIGN}30.0"]


def test_a_collapsed_variant_within_the_axis_is_where_it_is(builder: Any, figures: Figures) -> None:
    written(builder, {"80/10/10": (50.0,), "100/0/0": (46.0,)})
    builder.cell("0/0/100", "MNLI", 47.0, pretrain_id=builder.pretrain("0/0/100"), status="collapsed")
    (axes,) = figures()["effects"].axes
    assert marks(axes, "o") == [(-4, 0), (-3, 1)]
    assert not axes.texts


def test_what_is_measured_at_one_milestone_alone_is_a_row_of_the_forest(builder: Any, figures: Figures) -> None:
    for variant, value in (("80/10/10", 50.0), ("100/0/0", 47.0)):
        run_id = builder.pretrain(variant)
        builder.cell(variant, "MNLI", value, pretrain_id=run_id, milestone=50)
        builder.cell(variant, "MNLI", None, pretrain_id=run_id)
    found = figures()
    (axes,) = found["effects"].axes
    assert marks(axes, "o") == [(-3, 0)]
    assert axes.get_title() == "MNLI, at 50 % of the steps"
    assert "convergence" not in found
