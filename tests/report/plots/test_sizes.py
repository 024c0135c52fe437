"""Sizes against perplexity, where variants differ in size and their perplexities compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.axes import Axes

Figures = Callable[..., dict[str, Any]]


def marks(axes: Axes) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for each in axes.collections for x, y in each.get_offsets()]


def test_perplexity_over_parameters_and_a_task_over_perplexity(builder: Any, figures: Figures) -> None:
    for variant, size, perplexity, value in (("80/10/10", 2_000_000, 40.0, 70.0), ("small", 1_000_000, 60.0, 65.0)):
        for seed in range(2):
            run_id = builder.pretrain(variant, seed, parameters=size, perplexity=perplexity + 2 * seed)
            builder.cell(variant, "MNLI", value + 4 * seed, seed, pretrain_id=run_id)
    figure = figures()["sizes"]
    sizes, task = figure.axes
    seeds, means = [(1e6, 60), (1e6, 62), (2e6, 40), (2e6, 42)], [(1e6, 61), (2e6, 41)]
    assert sorted(marks(sizes)) == sorted(seeds + means)
    assert sorted(marks(task)) == [(40, 70), (41, 72), (42, 74), (60, 65), (61, 67), (62, 69)]
    assert (sizes.get_xlabel(), sizes.get_xscale()) == ("parameters", "log")
    assert (sizes.get_ylabel(), task.get_xlabel()) == ("held-out perplexity",) * 2
    assert (task.get_title(), task.get_ylabel()) == ("MNLI", "accuracy (points)")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["small", "80/10/10"], "by size"
    shapes = {path.vertices.tobytes() for each in sizes.collections for path in each.get_paths()}
    assert len(shapes) == 2, "distinct without colours"


def test_variants_of_another_objective_or_without_mask_are_left_out(builder: Any, figures: Figures) -> None:
    builder.pretrain("80/10/10", parameters=1000)
    builder.pretrain("100/0/0", parameters=2000)
    builder.pretrain("left to right", parameters=4000, causal=True)
    builder.pretrain("0/0/100", parameters=5000)
    builder.pretrain("no pre-training", parameters=6000, steps=0)
    (axes,) = figures()["sizes"].axes
    assert sorted(x for x, _ in marks(axes)) == [1000, 2000]


@pytest.mark.parametrize(("other", "drawn"), [(1_020_000, False), (1_300_000, True)])
def test_variants_of_a_size_have_no_such_figure(builder: Any, figures: Figures, other: int, drawn: bool) -> None:
    builder.pretrain("80/10/10", parameters=1_000_000)
    builder.pretrain("100/0/0", parameters=other)
    assert ("sizes" in figures()) is drawn


@pytest.mark.parametrize("ratio", [1.1, 2.0, 8.0, 300.0, 1e6])
def test_there_are_a_few_round_numbers_along_the_parameters(builder: Any, figures: Figures, ratio: float) -> None:
    builder.pretrain("80/10/10", parameters=7_300_000)
    builder.pretrain("100/0/0", parameters=int(ratio * 7_300_000))
    (axes,) = figures()["sizes"].axes
    low, high = axes.get_xlim()
    assert 2 <= sum(low <= each <= high for each in axes.get_xticks()) <= 8
