"""Averages over measurements, of a store whose numbers are known; and how far each level moved, by variant and task."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bertlab.errors import BadInput
from bertlab.lab import studies
from bertlab.lab.study import Average, Measurement, Study, Variant
from bertlab.report import tables, tidy
from bertlab.report.gather import gather, gather_all
from bertlab.report.movement import table
from bertlab.store.runs import Store

ROOT = Path(__file__).parents[2] / "ablations"
AVERAGE = {"name": "Avg", "of": [["MNLI"], ["NER", "f1", "recall"]], "published": {"80/10/10": 79.2, "100/0/0": 79.0}}
VALUES = {  # MNLI, and of NER F1 and recall, by seed
    "80/10/10": [(50.0, 60.0, 80.0), (54.0, 70.0, 90.0)],
    "100/0/0": [(50.0, 50.0, 70.0), (51.0, 70.0, 80.0)],
}


def filled(builder: Any, values: dict[str, list[tuple[float, ...]]]) -> Any:
    """The results of these values."""
    for variant, seeds in values.items():
        for seed, (mnli, f1, recall) in enumerate(seeds):
            run = builder.pretrain(variant, seed)
            builder.cell(variant, "MNLI", mnli, seed, pretrain_id=run)
            builder.cell(variant, "NER", f1, seed, pretrain_id=run, metrics={"recall": recall})
    return gather(Store(builder.root), [builder.record(averages=[AVERAGE])])[0]


def entries(study: Any) -> dict[str, tables.Entry]:
    """The entries of the last column, by variant."""
    column = tables.columns(study)[-1]
    assert (column.measurement, column.unit) == ("Avg", "mean of 2")
    return dict(zip(study.variants, column.entries, strict=False))


def test_an_average_is_that_of_each_seed_and_is_compared_by_seed(builder: Any) -> None:
    study = filled(builder, VALUES)
    base, other = entries(study).values()
    # (50 + 70) / 2 = 60 and (54 + 80) / 2 = 67; (50 + 60) / 2 = 55 and (51 + 75) / 2 = 63
    assert (base.value, base.sd, base.short, base.published) == ("63.5", "4.9", "63.5 ±4.9", "79.2")
    assert (other.value, other.sd, other.n) == ("59.0", "5.7", "2")
    assert (base.difference, base.published_difference) == ("", "")
    # -5 and -4: mean -4.5, sd .7071, t(.975; 1) = 12.706
    assert (other.difference, other.half, other.published_difference) == ("-4.5", "±6.4", "-0.2")
    lines = tidy.summary([study])
    line = lines[(lines.measurement == "Avg") & (lines.variant == "100/0/0")].iloc[0]
    assert (line["mean"], line.effect, float(line.published_effect), line.paired_seeds) == (59.0, -4.5, -0.2, 2)


def test_the_parts_with_values_are_counted(builder: Any) -> None:
    run = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run)
    builder.cell("80/10/10", "NER", None, pretrain_id=run)
    builder.cell("100/0/0", "MNLI", None, pretrain_id=builder.pretrain("100/0/0"))
    study = gather(Store(builder.root), [builder.record(averages=[AVERAGE])])[0]
    base, other = entries(study).values()
    assert (base.value, base.note, base.published, other.value) == ("–", "1 of 2 tasks", "79.2", "")
    assert [row[-2] for row in tables.results(study).rows[:2]] == ["– (1 of 2 tasks)", ""]


def test_a_seed_without_one_of_the_metrics_does_not_count(builder: Any) -> None:
    run = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run)
    builder.cell("80/10/10", "NER", 60.0, pretrain_id=run)
    study = gather(Store(builder.root), [builder.record(averages=[AVERAGE])])[0]
    assert entries(study)["80/10/10"].note == "no seed has all tasks"


@pytest.mark.parametrize(
    ("of", "message"),
    [
        (("MLNI",), "study 'own': average 'Avg': unknown measurement 'MLNI'.*MNLI"),
        (("perplexity",), "'perplexity' has no task: average measurements of tasks"),
        ((), "is of nothing: name measurements in of"),
        (((),), "is of nothing: name measurements in of"),
        ("MNLI", r"of is 'MNLI': give \(x,\) or \(x, y\), each of them a text"),
    ],
)
def test_an_average_is_of_measured_tasks(of: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Study(
            name="own",
            question="Which?",
            source="none",
            baseline="a",
            variants=[Variant("a")],
            measurements=[Measurement("MNLI", task="mnli"), Measurement("perplexity", metric="perplexity")],
            averages=[Average("Avg", of=of)],
        )


ALBERT = [each.name for each in studies.chosen(["all"]) if each.averages and each.source.startswith("Lan et al.")]


@pytest.mark.parametrize("study", ALBERT)
def test_the_printed_averages_of_albert_are_means_of_the_printed_columns(study: str) -> None:
    found, text = studies.find(study), (ROOT / f"{study.replace('-', '_')}.py").read_text()
    (average,) = found.averages
    rows = re.findall(r"^\|.*?((?: *[\d.]+/[\d.]+ \|){2}(?: +[\d.]+ \|){4})(?: +[\d.]+x? \|)?$", text, re.MULTILINE)
    assert len(rows) == len(found.variants)
    for row in rows:
        *parts, printed = ([float(number) for number in cell.split("/")] for cell in row.strip(" |").split("|"))
        assert len(parts) == len(average.of)
        assert sum(sum(part) / len(part) for part in parts) / len(parts) == pytest.approx(printed[0], abs=0.11)
    averages = [found.figure(variant.name, average.name) for variant in found.variants]
    assert sorted(averages) == sorted(float(row.strip(" |").split("|")[-1]) for row in rows)


@pytest.mark.parametrize("of", [[], [[]], [["MNLI"], []]])
def test_a_record_with_an_average_of_nothing_is_skipped(builder: Any, capsys: Any, of: list[list[str]]) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.record(averages=[AVERAGE | {"of": of}])
    assert gather_all(Store(builder.root)) == []
    assert "average 'Avg' is of nothing; the record is skipped" in capsys.readouterr().err


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
