"""Every point is on the line of its variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from matplotlib.colors import to_hex

from bertlab.report.plots.figure import COLOURS

from .conftest import LONG

Figures = Callable[..., dict[str, Any]]


def marks(axes: Any) -> list[tuple[float, float]]:
    """The points of seeds, which have an edge."""
    found = [each for each in axes.collections if len(each.get_offsets()) and each.get_linewidths()[0] > 0]
    return [(float(x), float(y)) for each in found for x, y in each.get_offsets()]


@pytest.mark.parametrize(("seeds", "colours"), [(3, 3), (10, 1)])
def test_seeds_have_colours_as_long_as_there_are_enough(
    builder: Any, figures: Figures, seeds: int, colours: int
) -> None:
    for seed in range(seeds):
        run_id = builder.pretrain(LONG, seed)
        builder.cell(LONG, "MNLI", 50.0 + seed, seed, pretrain_id=run_id)
    figure = figures(baseline=LONG)["points"]
    found = sorted(marks(figure.axes[0]))
    assert [x for x, _ in found] == [50.0 + seed for seed in range(seeds)]
    heights = [y for _, y in found]
    assert heights == sorted(set(heights)), "one above the other"
    used = {to_hex(each) for marked in figure.axes[0].collections for each in marked.get_facecolors()}
    assert used == set(COLOURS[:colours])
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("a pre-training seed" in keys) is (colours == 1)


def test_runs_that_collapsed_are_marked(builder: Any, figures: Figures) -> None:
    run_id = builder.pretrain("80/10/10")
    for restart, value in enumerate((50.0, 33.3, 51.0)):
        status = "collapsed" if value == 33.3 else "done"
        builder.cell("80/10/10", "MNLI", value, finetune_seed=restart, pretrain_id=run_id, status=status)
    figure = figures()["points"]
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [float(x) for line in crosses for x in line.get_xdata()] == [33.3]
    assert marks(figure.axes[0]) == [(50.0, 0), (33.3, 0), (51.0, 0)]
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"collapsed", "seed 0"} <= set(keys)


def test_restarts_on_a_checkpoint_are_what_is_counted(builder: Any, figures: Figures) -> None:
    builder.pretrain("80/10/10")
    for restart, value in enumerate((50.0, 52.0, 51.0)):
        builder.cell("80/10/10", "MNLI", value, finetune_seed=restart)
        builder.cell("100/0/0", "MNLI", value + 1, finetune_seed=restart)
    found = figures(pretrained="bert")
    assert sorted(x for x, _ in marks(found["points"].axes[0])) == [50, 51, 51, 52, 52, 53]
    assert "a fine-tuning seed" in [text.get_text() for text in found["points"].legends[0].get_texts()]
    assert (
        found["effects"].legends[0].get_title().get_text()
        == "Each variant minus 80/10/10, n = 3 fine-tuning seeds; each interval by itself"
    )
