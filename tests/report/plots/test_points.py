"""Every point is on its row, and none squeezes the others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bertlab.report.plots.style import COLOURS

from .conftest import LONG

Figures = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("scratch", [10.0, 49.0])
def test_a_row_far_off_does_not_squeeze_the_others(builder: Any, figures: Figures, scratch: float) -> None:
    for variant, value in (("80/10/10", 50.0), ("100/0/0", 51.0)):
        builder.cell(variant, "MNLI", value, pretrain_id=builder.pretrain(variant))
    run_id = builder.pretrain("no pre-training", steps=0)
    builder.cell("no pre-training", "MNLI", scratch, pretrain_id=run_id)
    axes = figures()["points"].axes[0]
    left, right = axes.get_xlim()
    assert right - left < 5
    assert ("◂ 10.0" in [text.get_text() for text in axes.texts]) is (scratch == 10.0)


@pytest.mark.parametrize(("seeds", "colours"), [(3, 3), (10, 1)])
def test_seeds_have_colours_as_long_as_there_are_enough(
    builder: Any, figures: Figures, seeds: int, colours: int
) -> None:
    for seed in range(seeds):
        run_id = builder.pretrain(LONG, seed)
        builder.cell(LONG, "MNLI", 50.0 + seed, seed, pretrain_id=run_id)
    figure = figures(baseline=LONG)["points"]
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in marks] == [50.0 + seed for seed in range(seeds)]
    assert {line.get_color() for line in marks} == set(COLOURS[:colours])
    heights = [float(line.get_ydata()[0]) for line in marks]
    assert heights == sorted(set(heights)), "one above the other"
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ("a pre-training seed" in keys) is (colours == 1)


def test_runs_that_collapsed_are_marked(builder: Any, figures: Figures) -> None:
    run_id = builder.pretrain("80/10/10")
    for finetune_seed, value in enumerate((50.0, 33.3, 51.0)):
        status = "collapsed" if value == 33.3 else "done"
        builder.cell("80/10/10", "MNLI", value, finetune_seed=finetune_seed, pretrain_id=run_id, status=status)
    figure = figures()["points"]
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert [float(line.get_xdata()[0]) for line in crosses] == [33.3]
    assert [line.get_marker() for line in figure.legends[0].get_lines()].count("x") == 1
    assert "collapsed" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_finetune_seeds_on_a_checkpoint_are_what_is_counted(builder: Any, figures: Figures) -> None:
    builder.pretrain("80/10/10")
    (path,) = builder.root.glob("pretrain/*/result.json")
    path.write_text(json.dumps({"status": "done", "checkpoint": "bert", "fresh": False}))
    builder.seal(path.parent)
    for finetune_seed, value in enumerate((50.0, 52.0, 51.0)):
        builder.cell("80/10/10", "MNLI", value, finetune_seed=finetune_seed)
        builder.cell("100/0/0", "MNLI", value + 1, finetune_seed=finetune_seed)
    found = figures(pretrained="bert")
    marks = [line for line in found["points"].axes[0].lines if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in marks] == [50, 52, 51, 51, 53, 52]
    assert "a fine-tuning seed" in [text.get_text() for text in found["points"].legends[0].get_texts()]
    assert found["effects"].legends[0].get_title().get_text() == "Each row minus 80/10/10, n = 3 fine-tuning seeds"
