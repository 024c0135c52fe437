"""The loss on a plane through the start and the end of a fine-tuning."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

Figures = Callable[..., dict[str, Any]]
ALONG, SIDEWAYS = (-0.5, 0.0, 0.5, 1.0, 1.5), (-1.0, 0.0, 1.0)


def surface(builder: Any, variant: str, steepness: float) -> None:
    """A fine-tuning whose loss grows from the end of training."""
    builder.cell(variant, "MNLI", 60.0, pretrain_id=builder.pretrain(variant))
    (path,) = builder.root.glob(f"finetune/{builder.cells[-1]['run_id']}--*/result.json")
    losses = [[0.1 + steepness * ((x - 1) ** 2 + y**2) for x in ALONG] for y in SIDEWAYS]
    data = {"along": ALONG, "sideways": SIDEWAYS, "losses": losses}
    path.write_text(json.dumps({**json.loads(path.read_text()), "surface": data}))
    builder.seal(path.parent)


def test_a_panel_for_each_variant_with_the_same_axes_and_contours(builder: Any, figures: Figures) -> None:
    surface(builder, "80/10/10", 1.0)
    surface(builder, "100/0/0", 4.0)
    wide, narrow = figures()["surface"].axes
    assert (wide.get_title("left"), narrow.get_title("left")) == ("MNLI, 80/10/10", "MNLI, 100/0/0")
    assert wide.get_xlim() == narrow.get_xlim()
    assert [line.get_xdata().tolist() for line in wide.lines] == [[0], [1]], "the start and the end"
    assert wide.get_xlabel() == "from the start (0) to the end (1) of training"
    contours = [set(axes.collections[0].levels) for axes in (wide, narrow)]
    assert contours[0] < contours[1]
    area = [np.ptp(axes.collections[0].get_paths()[0].vertices[:, 1]) for axes in (wide, narrow)]
    assert area[0] > area[1], "the lowest contour of both is wider where the loss grows less"


def test_a_loss_that_is_not_finite_is_left_out_and_no_surface_is_no_figure(builder: Any, figures: Figures) -> None:
    builder.cell("80/10/10", "MNLI", 60.0, pretrain_id=builder.pretrain("80/10/10"))
    assert "surface" not in figures()
    (path,) = builder.root.glob("finetune/*/result.json")
    data = {"along": [0.0, 1.0], "sideways": [-1.0, 1.0], "losses": [[1.0, None], [2.0, 0.5]]}
    path.write_text(json.dumps({**json.loads(path.read_text()), "surface": data}))
    builder.seal(path.parent)
    assert "surface" in figures()
