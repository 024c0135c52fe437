"""The figures: drawn at all, at the right times, and never with the style of whoever runs them."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest

from bertlab.report import plots
from bertlab.report.gather import gather
from bertlab.store import Store


def test_nothing_measured_draws_nothing(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", None, pretrain_id=builder.pretrain("80/10/10", finished=False))
    evidence = gather(Store(builder.root), builder.record())
    assert plots.points(evidence) is None
    assert plots.curves(evidence) is None


def test_styles_of_the_user_change_nothing(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    evidence = gather(Store(builder.root), builder.record())
    before = plots.points(evidence), plots.curves(evidence)
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert (plots.points(evidence), plots.curves(evidence)) == before
        assert mpl.rcParams["font.size"] == 30


def test_rows_that_never_saw_mask_are_drawn_under_their_own_masking_only(builder: Any) -> None:
    for variant, own in (("80/10/10", None), ("0/0/100", 4.4)):
        builder.cell(
            variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant, loss=4.5 if own is None else 8, own=own)
        )
    figure = plots._curves(gather(Store(builder.root), builder.record()))
    fixed, own_masking = figure.axes
    # a line for each row, and the plateau
    assert len(fixed.lines) == 2
    assert len(own_masking.lines) == 3
    assert [float(line.get_ydata()[0]) for line in fixed.lines][-1] == 5.9
    assert fixed.get_xlabel() == "tokens trained on (millions)"
    assert "(nats)" in fixed.get_ylabel()


def test_left_to_right_has_an_axis_of_its_own(builder: Any) -> None:
    for variant, causal in (("80/10/10", False), ("left to right", True)):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant, causal=causal))
    *masked, causal_axes = plots._curves(gather(Store(builder.root), builder.record())).axes
    # a line for the only row, and the plateau; a row that masks as all are judged has no panel of its own masking
    assert [len(axes.lines) for axes in (*masked, causal_axes)] == [2, 2]
    assert causal_axes.get_title() == "left to right"
    assert "next-token" in causal_axes.get_ylabel()
    assert "masked" in masked[0].get_ylabel()


@pytest.mark.parametrize("scratch", [10.0, 49.0])
def test_a_row_far_off_does_not_squeeze_the_others(builder: Any, scratch: float) -> None:
    for variant, value in (("80/10/10", 50.0), ("100/0/0", 51.0)):
        builder.cell(variant, "MNLI", value, pretrain_id=builder.pretrain(variant))
    run_id = builder.pretrain("no pre-training", steps=0)
    builder.cell("no pre-training", "MNLI", scratch, pretrain_id=run_id)
    axes = plots._points(gather(Store(builder.root), builder.record())).axes[0]
    left, right = axes.get_xlim()
    assert right - left < 5
    assert ("◂ 10.0" in [text.get_text() for text in axes.texts]) is (scratch == 10.0)


def test_many_seeds_measurements_and_long_names(builder: Any) -> None:
    for seed in range(10):
        run_id = builder.pretrain("a row with a very long name indeed, longer than any panel", seed)
        for place in range(4):
            builder.cell(builder.rows[0]["variant"], "MNLI", 50.0 + seed, seed, pretrain_id=run_id)
            builder.cells[-1]["measurement"] = f"a measurement of a very long name {place}"
    evidence = gather(Store(builder.root), builder.record())
    svg = plots.points(evidence)
    assert svg is not None
    assert len(svg) < 1_000_000


def test_without_own_curves_every_row_is_drawn_under_the_fixed_masking(builder: Any) -> None:
    metrics = [{"step": step, "heldout_masked_lm_loss": 8.0 - step / 500} for step in (500, 1000)]
    builder.pretrain("80/10/10", metrics=metrics)
    builder.pretrain("0/0/100", own=4.4, metrics=metrics)
    figure = plots._curves(gather(Store(builder.root), builder.record()))
    assert [len(axes.lines) for axes in figure.axes] == [3]


def test_milestones_are_drawn_over_the_steps(builder: Any) -> None:
    for variant, values in (("80/10/10", (40.0, 50.0)), ("100/0/0", (38.0, 51.0))):
        run_id = builder.pretrain(variant)
        for milestone, value in zip((50, 100), values, strict=True):
            builder.cell(variant, "MNLI", value, pretrain_id=run_id, milestone=milestone)
    evidence = gather(Store(builder.root), builder.record())
    (axes,) = plots._milestones(evidence).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[40.0, 50.0], [38.0, 51.0]]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[50, 100]] * 2
    assert evidence.scores("80/10/10", "MNLI").by_seed == {0: [50.0]}, "a table shows the end"
    assert plots.milestones(evidence)


def test_without_milestones_there_is_no_picture_of_them(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    assert plots.milestones(gather(Store(builder.root), builder.record())) is None
