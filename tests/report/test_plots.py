"""The figures: drawn at all, at the right times, and never with the style of whoever runs them."""

from __future__ import annotations

import itertools
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from bertlab.report import caveats, plots
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
    fixed, _, own_masking, _ = figure.axes
    # a line for each row, and the plateau
    assert len(fixed.lines) == 2
    assert len(own_masking.lines) == 3
    assert [float(line.get_ydata()[0]) for line in fixed.lines][-1] == 5.9
    assert "(nats)" in fixed.get_ylabel()


def test_left_to_right_has_an_axis_of_its_own(builder: Any) -> None:
    for variant, causal in (("80/10/10", False), ("left to right", True)):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant, causal=causal))
    masked, _, causal_axes, _ = plots._curves(gather(Store(builder.root), builder.record())).axes
    # a line for the only row, and the plateau; a row that masks as all are judged has no panel of its own masking
    assert [len(axes.lines) for axes in (masked, causal_axes)] == [2, 2]
    assert causal_axes.get_title("left") == "Held-out text, left to right"
    assert "next-token" in causal_axes.get_ylabel()
    assert "masked" in masked.get_ylabel()
    assert not masked.get_shared_y_axes().joined(masked, causal_axes), "losses of another kind"


def timed(*seconds: float, evaluation: float = 100.0) -> list[dict[str, Any]]:
    """What a run of 1,000 steps leaves: the time of its updates, of an evaluation, and an odd line of a checkpoint."""
    lines = [{"stage": "train", "step": 50, "seconds": 0.0}]
    for number, each in enumerate(seconds, start=1):
        lines.append({"stage": "train", "step": 100 * number, "seconds": each})
        lines.append({"stage": "evaluate", "step": 100 * number, "seconds": evaluation})
    return lines


def test_losses_are_drawn_over_steps_tokens_and_the_time_of_the_updates(builder: Any) -> None:
    for seed, seconds in enumerate((12.0, 24.0)):
        builder.pretrain("80/10/10", seed, timing=timed(*[seconds] * 10))
    figure = plots._curves(gather(Store(builder.root), builder.record()))
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "steps (thousands)", "tokens (millions)", "training time (minutes)",
    ]  # fmt: skip
    ends = [[float(line.get_xdata()[-1]) for line in axes.lines[:3]] for axes in figure.axes]
    # two seeds and their mean: 1,000 steps of 2,048 tokens; 120 and 240 seconds, evaluations not counted
    assert ends == [[1.0] * 3, [pytest.approx(2.048)] * 3, [2.0, 4.0, 3.0]]
    losses = [[line.get_ydata().tolist() for line in axes.lines[:3]] for axes in figure.axes]
    assert losses[0] == losses[1] == losses[2]


def test_times_on_machines_that_differ_are_marked(builder: Any) -> None:
    builder.pretrain("80/10/10", timing=timed(1.0))
    other = builder.pretrain("100/0/0", timing=timed(1.0))
    (path,) = (builder.root / "pretrain").glob(f"{other}--*/environment.json")
    path.write_text(path.read_text().replace('"threads": 2', '"threads": 8'))
    evidence = gather(Store(builder.root), builder.record())
    assert evidence.machines == {"threads 2": ["80/10/10"], "threads 8": ["100/0/0"]}
    assert "machines that differ" in plots._curves(evidence).axes[-1].get_xlabel()
    assert "threads 2 (80/10/10) and threads 8 (100/0/0)" in caveats.timed(evidence)[-1]


@pytest.mark.parametrize(
    ("most", "says"), [(59.0, (1.0, " (seconds)")), (90.0, (60.0, " (minutes)")), (7e5, (3600.0, " (hours)"))]
)
def test_an_axis_has_the_largest_unit_that_it_holds(most: float, says: tuple[float, str]) -> None:
    assert plots._unit(most, plots._TIMES) == says


@pytest.mark.parametrize("rows", [2, 9])
def test_no_label_lies_over_another_or_outside(builder: Any, rows: int) -> None:
    for place in range(rows):
        name = f"a row with a very long name, the {place}th"
        run_id = builder.pretrain(name, causal=place == 1, timing=timed(*[3000.0 + place] * 10))
        for milestone in range(10, 101, 10):
            builder.cell(name, "MNLI", 50.0 + milestone / 10, pretrain_id=run_id, milestone=milestone)
    evidence = gather(Store(builder.root), builder.record(baseline="a row with a very long name, the 0th"))
    for draw in (plots._curves, plots._milestones):
        figure = draw(evidence)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        axes = figure.axes
        texts = [text for each in axes for text in (each.xaxis.label, each.yaxis.label, each.title, each._left_title)]
        for each in axes:
            for axis, (low, high) in ((each.xaxis, each.get_xlim()), (each.yaxis, each.get_ylim())):
                texts += [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
        texts += [text for legend in figure.legends for text in legend.get_texts()]
        shown = [text for text in texts if text.get_visible() and text.get_text()]
        boxes = [text.get_window_extent(renderer) for text in shown]
        inside = figure.bbox
        for text, box in zip(shown, boxes, strict=True):
            assert inside.x0 <= box.x0, text
            assert box.x1 <= inside.x1, text
            assert inside.y0 <= box.y0, text
            assert box.y1 <= inside.y1, text
        for (one, first), (two, second) in itertools.combinations(zip(shown, boxes, strict=True), 2):
            assert not first.overlaps(second), (one, two)


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
    evidence = gather(Store(builder.root), builder.record())
    assert [len(axes.lines) for axes in plots._curves(evidence).axes] == [3, 3], "over steps and tokens"
    assert caveats.timed(evidence) == [], "no time was kept"


def test_milestones_are_drawn_over_the_steps(builder: Any) -> None:
    for variant, values in (("80/10/10", (40.0, 50.0)), ("100/0/0", (38.0, 51.0))):
        run_id = builder.pretrain(variant)
        for milestone, value in zip((50, 100), values, strict=True):
            builder.cell(variant, "MNLI", value, pretrain_id=run_id, milestone=milestone)
    evidence = gather(Store(builder.root), builder.record())
    (axes,) = plots._milestones(evidence).axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[40.0, 50.0], [38.0, 51.0]]
    assert [line.get_xdata().tolist() for line in axes.lines] == [[0.5, 1.0]] * 2
    assert axes.get_xlabel() == "steps of pre-training (thousands)"
    assert evidence.scores("80/10/10", "MNLI").by_seed == {0: [50.0]}, "a table shows the end"
    assert plots.milestones(evidence)


def test_without_milestones_there_is_no_picture_of_them(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    assert plots.milestones(gather(Store(builder.root), builder.record())) is None


def test_runs_that_collapsed_are_marked(builder: Any) -> None:
    run_id = builder.pretrain("80/10/10")
    for restart, value in enumerate((50.0, 33.3, 51.0)):
        status = "collapsed" if value == 33.3 else "done"
        builder.cell("80/10/10", "MNLI", value, restart=restart, pretrain_id=run_id, status=status)
    figure = plots._points(gather(Store(builder.root), builder.record()))
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [float(line.get_xdata()[0]) for line in crosses] == [33.3]
    assert "collapsed" in [text.get_text() for text in figure.legends[0].get_texts()]
