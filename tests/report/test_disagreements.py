"""The examples on which two variants disagree, from predictions that are known."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertlab.report import disagreements
from bertlab.report.gather import gather
from bertlab.store.runs import Store


def predicted(builder: Any, variant: str, seed: int, likelihood: list[float]) -> None:
    run_id = builder.pretrain(variant, seed)
    builder.cell(variant, "MNLI", 50.0, seed, pretrain_id=run_id)
    (path,) = builder.root.glob(f"finetune/{builder.cells[-1]['run_id']}--*")
    labels = np.zeros(len(likelihood), np.int32)
    arrays = {"label": labels, "prediction": labels, "log_likelihood": np.array(likelihood, np.float32)}
    np.savez(path / "predictions.npz", **arrays)
    recipe = (path / "recipe.json").read_text()
    task = '"science": {"task": {"kind": "classification", "labels": ["a", "b"]}}'
    (path / "recipe.json").write_text(recipe.replace('"science": {}', task))
    builder.seal(path)


def test_the_examples_that_differ_most_are_shown(builder: Any) -> None:
    for seed in (0, 1):
        predicted(builder, "80/10/10", seed, [-1.0, -1.0, -1.0, -1.0])
        predicted(builder, "100/0/0", seed, [-1.0, -1.1, -1.0, -1.0])
        predicted(builder, "0/0/100", seed, [-1.0, -3.0 - seed, -1.0, -0.5])
    predicted(builder, "0/0/100", 7, [-9.0, -9.0, -9.0, -9.0])  # not a seed of the baseline
    found = disagreements.table(gather(Store(builder.root), [builder.record()])[0])
    assert found.columns == ("on", "variant", "example", "baseline", "variant's", "difference")
    assert found.rows == (
        ("MNLI", "0/0/100", "1", "-1.00", "-3.50", "-2.50"),
        ("MNLI", "0/0/100", "3", "-1.00", "-0.50", "+0.50"),
    )


def test_without_predictions_there_are_none(builder: Any) -> None:
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "MNLI", 50.0, pretrain_id=builder.pretrain(variant))
    assert disagreements.table(gather(Store(builder.root), [builder.record()])[0]).rows == ()
