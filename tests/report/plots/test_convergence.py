"""What was measured on the way, over the steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bertlab.report.gather import gather
from bertlab.store.runs import Store

Figures = Callable[..., dict[str, Any]]


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
