"""The noise of a study's measurements out of a store: the table, the CSV and the sentences."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertlab.report import noise, page, tidy
from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store

LABEL = np.random.default_rng(0).integers(0, 3, 200)
CLAIM = {"text": "Random hurts", "better": "80/10/10", "worse": "0/0/100", "on": "MNLI"}


def fill(builder: Any, chances: dict[str, float], seeds: int = 4, restarts: int = 2) -> None:
    """A study whose runs are right with a chance, which varies by seed."""
    for place, (variant, chance) in enumerate(chances.items()):
        for seed in range(seeds):
            run_id = builder.pretrain(variant, seed)
            own = chance + 0.05 * np.random.default_rng([7, place, seed]).standard_normal()
            for restart in range(restarts):
                right = np.random.default_rng([place, seed, restart]).random(len(LABEL)) < own
                prediction = np.where(right, LABEL, (LABEL + 1) % 3)
                builder.cell(variant, "MNLI", 100 * right.mean(), seed, restart, run_id)
                path = builder.root / "finetune" / f"{builder.cells[-1]['run_id']}--a-label"
                likelihood = np.log(np.where(right, 0.9, 0.05), dtype=np.float32)
                np.savez(path / "predictions.npz", prediction=prediction, label=LABEL, log_likelihood=likelihood)
                recipe = json.loads((path / "recipe.json").read_text())
                recipe["science"] = {"task": {"kind": "classification", "labels": ()}}
                (path / "recipe.json").write_text(json.dumps(recipe))
                builder.seal(path)


def gathered(builder: Any) -> StudyResults:
    return gather(Store(builder.root), [builder.record(claims=[CLAIM])])[0]


def test_the_table_has_the_sources_of_both_endpoints(builder: Any) -> None:
    fill(builder, {"80/10/10": 0.8, "100/0/0": 0.8, "0/0/100": 0.3})
    study = gathered(builder)
    found = noise.spreads(study)
    table = noise.table(study, found)
    assert table.columns[2:6] == ("sd of one run", "pre-training seed", "fine-tuning seed", "examples")
    assert [row[:2] for row in table.rows] == [("MNLI", "accuracy"), ("MNLI", "likelihood")]
    # Right answers have .9, wrong ones .05: one endpoint is the other in other units.
    metric, likelihood = table.rows
    assert metric[3:] == likelihood[3:]
    assert found[1].noise.sd == pytest.approx(found[0].noise.sd * 0.85, rel=1e-5)
    assert metric[2].endswith(" points")
    shares = [int(each.removesuffix(" %")) for each in metric[3:6]]
    assert sum(shares) == pytest.approx(100, abs=1)
    # seeds add .05 squared, examples up to .25 / 200
    assert shares[0] > shares[2] > 5
    assert float(metric[6]) > 3
    assert not found[0].why_undecidable


def test_a_measurement_on_which_variants_are_alike_cannot_decide(builder: Any) -> None:
    fill(builder, {"80/10/10": 0.6, "100/0/0": 0.6, "0/0/100": 0.6})
    study = gathered(builder)
    texts = noise.sentences(study, noise.spreads(study))
    assert (
        sum("a typical pair of variants gets no verdict" in each and "MNLI (signal / noise" in each for each in texts)
        == 2
    )


def test_a_measurement_on_which_all_runs_are_equal_cannot_decide(builder: Any) -> None:
    for variant in ("80/10/10", "0/0/100"):
        for seed in range(2):
            builder.cell(variant, "MNLI", 33.3, seed, pretrain_id=builder.pretrain(variant, seed))
    study = gathered(builder)
    (text,) = noise.sentences(study, noise.spreads(study))
    assert text.endswith(": MNLI (all runs are equal).")


def test_without_predictions_the_share_of_examples_is_not_known(builder: Any) -> None:
    fill(builder, {"80/10/10": 0.6, "0/0/100": 0.6})
    for path in builder.root.glob("finetune/*/predictions.npz"):
        path.unlink()
    study = gathered(builder)
    shown = noise.spreads(study)
    assert [spread.metric for spread in shown] == ["accuracy"]
    assert noise.table(study, shown).rows[0][-3] == ""


def test_one_fine_tuning_seed_leaves_one_share_of_seeds(builder: Any) -> None:
    fill(builder, {"80/10/10": 0.6, "0/0/100": 0.6}, restarts=1)
    study = gathered(builder)
    table = noise.table(study, noise.spreads(study))
    assert table.columns[2:5] == ("sd of one run", "seeds", "examples")
    line = next(csv.DictReader(io.StringIO(tidy.csv(tidy.noise([(study, noise.spreads(study))])))))
    assert line["finetune_share"] == ""
    assert float(line["seed_share"]) + float(line["example_share"]) == pytest.approx(1)


def test_of_one_variant_there_is_no_signal(builder: Any) -> None:
    fill(builder, {"80/10/10": 0.6})
    study = gather(Store(builder.root), [builder.record()])[0]
    text = " ".join(notes("noise", study, noise.spreads(study)))
    assert "No two variants have a value of the same measurement" in text
    assert "fewer than 4" not in text


def test_pages_show_it_from_two_seeds_on(builder: Any, tmp_path: Path) -> None:
    fill(builder, {"80/10/10": 0.6, "0/0/100": 0.6}, seeds=1)
    builder.record()
    page.write([], builder.root, tmp_path / "one")
    assert len((tmp_path / "one" / "masking-noise.csv").read_text().splitlines()) == 1
    assert "<summary>Noise</summary>" not in (tmp_path / "one" / "masking.md").read_text()
    other = type(builder)(tmp_path / "more")
    fill(other, {"80/10/10": 0.6, "0/0/100": 0.6}, seeds=2)
    other.record()
    page.write([], other.root, tmp_path / "two")
    for name in ("masking.md", "index.html"):
        text = (tmp_path / "two" / name).read_text()
        assert "<summary>Noise</summary>" in text
        assert "No measurement decides with fewer than 4 pre-training seeds" in " ".join(text.split())
    assert len((tmp_path / "two" / "masking-noise.csv").read_text().splitlines()) == 3
