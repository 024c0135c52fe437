"""How far each level moved, by variant and task."""

from __future__ import annotations

from typing import Any

from bertlab.report.gather import gather
from bertlab.report.movement import table
from bertlab.store.runs import Store


def moved(*shares: float) -> dict[str, float]:
    embeddings, *layers = shares
    return {"embeddings_movement": embeddings} | {f"layer_{at}_movement": share for at, share in enumerate(layers, 1)}


def test_a_line_has_the_mean_share_of_each_level_and_a_smaller_model_has_fewer(builder: Any) -> None:
    for seed, shares in enumerate(((0.1, 0.2, 0.4), (0.3, 0.2, 0.6))):
        run_id = builder.pretrain("80/10/10", seed)
        builder.cell("80/10/10", "MNLI", 60.0, seed, pretrain_id=run_id, metrics=moved(*shares))
    builder.cell("100/0/0", "MNLI", 60.0, pretrain_id=builder.pretrain("100/0/0"), metrics=moved(0.5, 0.25))
    builder.cell("100/0/0", "NER", 60.0, pretrain_id="0003")
    shown = table(gather(Store(builder.root), [builder.record()])[0])
    assert shown.columns == ("on", "variant", "embeddings", "layer 1", "layer 2")
    assert shown.rows == (
        ("MNLI", "80/10/10 (baseline)", "0.200", "0.200", "0.500"),
        ("MNLI", "100/0/0", "0.500", "0.250", ""),
    )


def test_without_it_there_are_no_lines(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 60.0, pretrain_id=builder.pretrain("80/10/10"))
    assert not table(gather(Store(builder.root), [builder.record()])[0]).rows
