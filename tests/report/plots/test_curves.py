"""Losses over steps, tokens and operations, and what was measured on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.axes import Axes

from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store

Figures = Callable[..., dict[str, Any]]


def edges(axes: Axes) -> list[list[tuple[float, float]]]:
    """The corners of each band."""
    return [[(float(x), float(y)) for x, y in each.get_paths()[0].vertices] for each in axes.collections]


def evidence_of(builder: Any) -> StudyResults:
    return gather(Store(builder.root), [builder.record()])[0]


def test_seeds_are_drawn_as_their_mean_and_a_band(builder: Any, figures: Figures) -> None:
    for seed, loss in enumerate((4.0, 4.6, 4.9)):
        builder.pretrain("80/10/10", seed, loss=loss)
    figure = figures()["curves"]
    axes = figure.axes[0]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(4.5)
    (corners,) = edges(axes)
    assert {round(y, 6) for x, y in corners if x == 1000} == {4.0, 4.9}
    assert {round(y, 6) for x, y in corners if x == 500} == {5.0, 5.9}
    assert "lowest to the highest seed" in figure.legends[0].get_title().get_text()


def test_one_seed_has_no_band(builder: Any, figures: Figures) -> None:
    builder.pretrain("80/10/10")
    figure = figures()["curves"]
    assert edges(figure.axes[0]) == []
    assert figure.legends[0].get_title().get_text() == ""


def test_variants_that_never_saw_mask_are_drawn_under_their_own_masking_only(builder: Any, figures: Figures) -> None:
    for variant, own in (("80/10/10", None), ("0/0/100", 4.4)):
        builder.pretrain(variant, loss=4.5 if own is None else 8, own=own)
    fixed, own_masking = figures()["curves"].axes
    # a line for each variant, and the plateau
    assert len(fixed.lines) == 2
    assert len(own_masking.lines) == 3
    assert [float(line.get_ydata()[0]) for line in fixed.lines][-1] == 5.9
    assert "(nats)" in fixed.get_ylabel()


def test_only_losses_over_the_vocabulary_are_drawn_with_the_unigram_entropy(builder: Any, figures: Figures) -> None:
    builder.pretrain("0/0/100", loss=8, own=4.4, over_vocabulary=["masked_lm_loss"])
    builder.pretrain("80/10/10", loss=7, own=4.2, over_vocabulary=["masked_lm_loss"])
    fixed, own = figures()["curves"].axes
    assert [float(line.get_ydata()[0]) for line in fixed.lines][-1] == 5.9
    assert len(own.lines) == 2, "one for each variant"


def test_left_to_right_has_an_axis_of_its_own(builder: Any, figures: Figures) -> None:
    for variant, causal in (("80/10/10", False), ("left to right", True)):
        builder.pretrain(variant, causal=causal)
    masked, _, causal_axes, _ = figures()["curves"].axes
    # a line for the only variant, and the plateau; equal losses have one panel
    assert [len(axes.lines) for axes in (masked, causal_axes)] == [2, 2]
    assert causal_axes.get_title("left") == "Held-out text, left to right"
    assert not masked.get_shared_y_axes().joined(masked, causal_axes), "losses of another kind"


def test_losses_are_drawn_over_steps_and_tokens(builder: Any, figures: Figures) -> None:
    builder.pretrain("80/10/10")
    assert [each.get_xlabel() for each in figures()["curves"].axes] == ["steps of 2,048 tokens"]
    builder.pretrain("100/0/0", batch=4096)
    axes = figures()["curves"].axes
    assert [each.get_xlabel() for each in axes] == ["steps", "tokens"]
    assert [float(each.lines[0].get_xdata()[-1]) for each in axes] == [1000, 2_048_000]
    losses = [list(each.lines[0].get_ydata()) for each in axes]
    assert losses[0] == losses[1]


def test_losses_are_drawn_over_operations_where_steps_differ_in_them(builder: Any, figures: Figures) -> None:
    for variant, causal in (("80/10/10", False), ("left to right", True)):
        builder.pretrain(variant, causal=causal)
    study = evidence_of(builder)
    masked = figures(study)["curves"].axes[:2]
    operations = [run.flops for run in study.pretrainings]
    assert operations[1] > 1.02 * operations[0], "each token has a loss"
    assert [float(each.lines[0].get_xdata()[-1]) for each in masked] == [1000, operations[0]]


def test_a_pretraining_that_all_variants_share_has_no_curves(builder: Any, figures: Figures) -> None:
    run_id = builder.pretrain("80/10/10")
    assert "curves" in figures()
    builder.pretrain("100/0/0", run_id=run_id, finished=False)
    assert "curves" not in figures()


def test_a_line_over_the_baseline_leaves_it_in_sight(builder: Any, figures: Figures) -> None:
    for variant in ("80/10/10", "100/0/0"):
        builder.pretrain(variant)
    baseline, other = figures()["curves"].axes[0].lines[:2]
    assert list(baseline.get_ydata()) == list(other.get_ydata())
    assert baseline.get_zorder() < other.get_zorder()
    assert baseline.get_linewidth() > 1.5 * other.get_linewidth()


def test_without_own_curves_every_variant_is_drawn_under_the_fixed_masking(builder: Any, figures: Figures) -> None:
    metrics = [{"step": step, "heldout_masked_lm_loss": 8.0 - step / 500} for step in (500, 1000)]
    builder.pretrain("80/10/10", metrics=metrics)
    builder.pretrain("0/0/100", own=4.4, metrics=metrics)
    study = evidence_of(builder)
    assert [len(axes.lines) for axes in figures(study)["curves"].axes] == [3], "over steps"
    assert notes("times", study) == [], "no time was kept"


def test_fine_tuning_is_drawn_as_means_over_parts_of_its_steps(builder: Any, figures: Figures) -> None:
    for seed in (0, 1):
        builder.cell("80/10/10", "MNLI", 60.0, seed, pretrain_id=builder.pretrain("80/10/10", seed))
        (path,) = builder.root.glob(f"finetune/{builder.cells[-1]['run_id']}--*/result.json")
        curve = [{"step": 10 * step, "loss": 2.0 + seed - step / 100} for step in range(1, 101)]
        path.write_text(json.dumps({**json.loads(path.read_text()), "curve": curve}))
        builder.seal(path.parent)
    axes = figures()["finetuning"].axes[0]
    steps, losses = axes.lines[0].get_xdata(), axes.lines[0].get_ydata()
    assert steps.tolist() == [50.0 * (part + 1) for part in range(20)]
    assert losses[0] == pytest.approx(2.5 - 0.03)
    assert losses[-1] == pytest.approx(2.5 - 0.98)


def test_held_out_losses_have_a_panel_of_their_own_behind_those_of_training(builder: Any, figures: Figures) -> None:
    builder.cell("80/10/10", "MNLI", 60.0, pretrain_id=builder.pretrain("80/10/10"))
    (path,) = builder.root.glob("finetune/*/result.json")
    curve = [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0, "heldout_loss": 1.5}, {"step": 3, "loss": 0.5}]
    path.write_text(json.dumps({**json.loads(path.read_text()), "curve": curve}))
    builder.seal(path.parent)
    training, heldout = figures()["finetuning"].axes
    assert training.lines[0].get_ydata().tolist() == [2.0, 1.0, 0.5]
    assert heldout.get_title("left") == "MNLI, held-out examples"
    assert (heldout.lines[0].get_xdata().tolist(), heldout.lines[0].get_ydata().tolist()) == ([2.0], [1.5])


def test_two_splits_of_the_same_fine_tunings_share_a_panel(builder: Any, figures: Figures) -> None:
    run = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 50.0, test=40.0, pretrain_id=run)
    (path,) = builder.root.glob("finetune/*/result.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "curve": [{"step": 1, "loss": 2.0}]}))
    builder.seal(path.parent)
    (axes,) = figures()["finetuning"].axes
    assert axes.get_title("left") == "MNLI, MNLI test"


def test_without_fine_tuning_curves_there_is_no_figure(builder: Any, figures: Figures) -> None:
    builder.cell("80/10/10", "MNLI", 60.0, pretrain_id=builder.pretrain("80/10/10"))
    assert "finetuning" not in figures()


def test_milestones_are_drawn_over_the_steps(builder: Any, figures: Figures) -> None:
    for variant, values in (("80/10/10", (40.0, 50.0)), ("100/0/0", (38.0, 51.0))):
        run_id = builder.pretrain(variant)
        for milestone, value in zip((50, 100), values, strict=True):
            builder.cell(variant, "MNLI", value, pretrain_id=run_id, milestone=milestone)
    study = gather(Store(builder.root), [builder.record()])[0]
    (axes,) = figures(study)["convergence"].axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[40.0, 50.0], [38.0, 51.0]]
    assert [list(line.get_xdata()) for line in axes.lines] == [[500, 1000]] * 2
    assert axes.get_xlabel() == "steps of 2,048 tokens"
    assert axes.get_ylabel() == "accuracy (points)"
    assert study.points("80/10/10", "MNLI") == {0: [50.0]}, "a table shows the end"


def test_words_are_an_axis_of_their_own_only_where_tokens_have_more_or_fewer(builder: Any, figures: Figures) -> None:
    """Over words, variants with another format or tokenizer do not lie as over tokens."""

    def axes(*runs: tuple[str, int, int]) -> list[tuple[str, list[float]]]:
        for variant, batch, words in runs:
            run_id = builder.pretrain(variant, batch=batch, words=words)
            for milestone in (50, 100):
                builder.cell(variant, "MNLI", 40.0, pretrain_id=run_id, milestone=milestone)
        drawn = figures()["convergence"].axes
        return [(axis.get_xlabel(), [float(line.get_xdata()[0]) for line in axis.lines]) for axis in drawn]

    alike = ("80/10/10", 2048, 1_500_000), ("100/0/0", 2048, 1_510_000)
    assert axes(*alike) == [("steps of 2,048 tokens (1,505 words)", [500.0, 500.0])]
    larger = ("0/0/100", 4096, 3_000_000)
    (steps, _), (tokens, at) = axes(larger)
    assert (steps, tokens) == ("steps", "tokens (0.73 words each)")
    assert at == [1_024_000.0, 1_024_000.0, 2_048_000.0]
    names, places = zip(*axes(("other words", 2048, 1_200_000)), strict=True)
    assert names == ("steps", "tokens", "words")
    assert places[2] == [750_000.0, 755_000.0, 1_500_000.0, 600_000.0]


def test_seeds_make_a_band(builder: Any, figures: Figures) -> None:
    for seed, values in enumerate(((40.0, 50.0), (44.0, 56.0))):
        run_id = builder.pretrain("80/10/10", seed)
        for milestone, value in zip((25, 100), values, strict=True):
            for finetune_seed, off in enumerate((-1.0, 1.0)):
                builder.cell("80/10/10", "MNLI", value + off, seed, finetune_seed, run_id, milestone=milestone)
    (axes,) = figures()["convergence"].axes
    (line,) = axes.lines
    assert list(line.get_xdata()) == [250, 1000]
    assert list(line.get_ydata()) == [42.0, 53.0]
    (path,) = axes.collections[0].get_paths()
    corners = {(round(float(x), 6), float(y)) for x, y in path.vertices}
    assert corners == {(250, 40.0), (250, 44.0), (1000, 50.0), (1000, 56.0)}


def test_one_milestone_is_no_curve(builder: Any, figures: Figures) -> None:
    for seed, value in enumerate((40.0, 44.0)):
        builder.cell("100/0/0", "MNLI", value, seed, 0, builder.pretrain("100/0/0", seed), milestone=50)
    builder.cell("100/0/0", "MNLI", 41.0, pretrain_id="2")
    builder.cell("80/10/10", "MNLI", None)
    assert "convergence" not in figures(), "one of two seeds has the end"


def test_a_variant_at_one_milestone_has_a_bar_in_place_of_a_band(builder: Any, figures: Figures) -> None:
    for seed, value in enumerate((40.0, 44.0)):
        run_id = builder.pretrain("80/10/10", seed)
        for milestone in (50, 100):
            builder.cell("80/10/10", "MNLI", value, seed, 0, run_id, milestone=milestone)
        builder.cell("100/0/0", "MNLI", value, seed, 0, builder.pretrain("100/0/0", seed), milestone=50)
    (axes,) = figures()["convergence"].axes
    (bar,) = axes.collections[-1].get_segments()
    assert bar.tolist() == [[500, 40], [500, 44]]


def test_seeds_of_later_rounds_take_no_milestones_away(builder: Any, figures: Figures) -> None:
    for seed in range(4):
        run_id = builder.pretrain("80/10/10", seed)
        for milestone in ((25, 100), (25, 50, 75, 100), (25, 75, 100), (25,))[seed]:
            builder.cell("80/10/10", "MNLI", milestone + seed, seed, pretrain_id=run_id, milestone=milestone)
    (axes,) = figures()["convergence"].axes
    (line,) = axes.lines
    assert list(line.get_xdata()) == [250, 750, 1000], "half of the four seeds have each, one has 50 %"
    assert list(line.get_ydata()) == [26.5, 76.5, 101.5], "of the second and the third seed, which have all three"


def test_the_legend_has_the_variants_that_are_measured(builder: Any, figures: Figures) -> None:
    for variant, values in (("80/10/10", (40.0, 50.0)), ("100/0/0", (None, None))):
        run_id = builder.pretrain(variant)
        for milestone, value in zip((50, 100), values, strict=True):
            builder.cell(variant, "MNLI", value, pretrain_id=run_id, milestone=milestone)
    (legend,) = figures()["convergence"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["80/10/10"]


def test_without_milestones_there_is_no_picture_of_them(builder: Any, figures: Figures) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    assert "convergence" not in figures()


def test_seeds_without_a_milestone_in_common_have_no_curve(builder: Any, figures: Figures) -> None:
    for seed, milestones in enumerate(((25, 50), (75, 100))):
        run_id = builder.pretrain("80/10/10", seed)
        for milestone in milestones:
            builder.cell("80/10/10", "MNLI", 50.0, seed, pretrain_id=run_id, milestone=milestone)
    assert "convergence" not in figures()


def test_measurements_whose_pretraining_is_lost_have_no_place(builder: Any, figures: Figures) -> None:
    run_id = builder.pretrain("80/10/10", finished=False)
    for milestone in (50, 100):
        builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run_id, milestone=milestone)
    assert list(figures()) == ["points"]
