"""Tables, the tidy CSV and the exported tables of a store whose numbers are known."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import pytest
from pyarrow import parquet

from bertlab.report import facts, tables, tidy
from bertlab.report.cells import Point
from bertlab.report.export import write_parquet
from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.study_results import StudyResults
from bertlab.store.result import Failure
from bertlab.store.runs import Store


def gathered(builder: Any, **changes: Any) -> StudyResults:
    return gather(Store(builder.root), [builder.record(**changes)])[0]


def row(table: tables.Table, name: str) -> tuple[str, ...]:
    return next(each for each in table.rows if each[0].startswith(name))


def two_variants(builder: Any) -> None:
    first, second = builder.pretrain("80/10/10", 0), builder.pretrain("80/10/10", 1)
    third, fourth = builder.pretrain("100/0/0", 0), builder.pretrain("100/0/0", 1)
    for run_id, seed, values in ((first, 0, (50.0, 52.0)), (second, 1, (54.0, 56.0))):
        for finetune_seed, value in enumerate(values):
            builder.cell("80/10/10", "MNLI", value, seed, finetune_seed, run_id)
    for run_id, seed, values in ((third, 0, (50.0, 50.0)), (fourth, 1, (55.0, 57.0))):
        for finetune_seed, value in enumerate(values):
            builder.cell("100/0/0", "MNLI", value, seed, finetune_seed, run_id)


def test_results_show_mean_spread_n_and_the_published_value(builder: Any) -> None:
    two_variants(builder)
    table = tables.results(gathered(builder))
    assert table.columns == ("variant", "MNLI", "published")
    assert row(table, "80/10/10") == ("80/10/10 (baseline)", "53.0 (2.8, n = 2x2)", "84.2")
    assert row(table, "100/0/0") == ("100/0/0", "53.0 (4.2, n = 2x2)", "84.3")
    assert row(table, "majority")[1] == "33.3"


def test_differences_are_paired_and_beside_the_published_ones(builder: Any) -> None:
    two_variants(builder)
    table = tables.differences(gathered(builder))
    # seeds: -1 and +1; sd sqrt 2, t(.975; 1) = 12.706
    assert table.rows == (("100/0/0", "+0.0 (-12.7 to 12.7)", "+0.1"),)


def test_one_seed_has_no_interval(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.cell("100/0/0", "MNLI", 51.5, pretrain_id=builder.pretrain("100/0/0"))
    study = gathered(builder)
    assert row(tables.differences(study), "100/0/0")[1] == "+1.5 (n = 1)"
    assert row(tables.results(study), "80/10/10")[1] == "50.0 (n = 1x1)"


def test_what_is_missing_is_said(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.cell("80/10/10", "MNLI", None, finetune_seed=1)
    builder.cell("80/10/10", "MNLI", 33.3, finetune_seed=2, status="collapsed")
    lost = builder.pretrain("100/0/0", finished=False)
    builder.cell("100/0/0", "MNLI", None, pretrain_id=lost)
    later = builder.pretrain("0/0/100", finished=False)
    builder.cell("0/0/100", "MNLI", None, pretrain_id=later)
    Store(builder.root).create_directories()
    Store(builder.root).fail(Failure(id=lost, status="diverged", reason="loss is not finite at step 7"))
    study = gathered(builder)
    table = tables.results(study)
    assert row(table, "80/10/10")[1].endswith("n = 1x2); 1 pending; 1 collapsed")
    assert row(tables.results(study, short=True), "80/10/10")[1] == "41.6 (11.8); 1 pending; 1 collapsed"
    assert row(table, "100/0/0")[1] == "diverged"
    assert row(table, "0/0/100")[1] == "pending"
    assert row(tables.differences(study), "0/0/100")[1] == ""
    lines = list(csv.DictReader(io.StringIO(tidy.csv(tidy.values([study])))))
    assert [line["status"] for line in lines] == ["done", "pending", "collapsed", "diverged", "pending"]
    assert [line["value"] for line in lines] == ["50.0", "", "33.3", "", ""]


@pytest.mark.parametrize(("value", "status"), [(1e60, "failed"), (float("nan"), "damaged")])
def test_a_result_that_is_not_finite_or_immense_is_no_value(builder: Any, value: float, status: str) -> None:
    """JSON has no NaN: bertlab writes null for one."""
    builder.cell("80/10/10", "MNLI", value, pretrain_id=builder.pretrain("80/10/10"))
    study = gathered(builder)
    assert row(tables.results(study), "80/10/10")[1] == status


def test_tidy_has_the_columns_of_the_interface(builder: Any, fill: Callable[..., None]) -> None:
    fill(builder)
    study = gathered(builder)
    reader = csv.DictReader(io.StringIO(tidy.csv(tidy.values([study]))))
    lines = list(reader)
    assert reader.fieldnames == [
        "study", "variant", "measurement", "task", "dataset", "split", "method", "metric", "unit", "milestone",
        "pretrain_seed", "finetune_seed", "status", "value", "published", "scale", "setting", "key",
        "pretrain_id", "run_id", "trained_parameters",
    ]  # fmt: skip
    assert len(lines) == 3 * 2 * 3 * 2
    first = lines[0]
    assert float(first["value"]) == study.cells[0].value
    assert (first["pretrain_seed"], first["finetune_seed"], first["milestone"]) == ("0", "0", "100")
    assert (first["dataset"], lines[2]["task"], lines[2]["dataset"]) == ("mnli", "conll2003", "bc5cdr")


def test_both_splits_of_one_run_are_columns_with_their_own_figures(builder: Any) -> None:
    builder.cell("80/10/10", "NER", 95.0, pretrain_id=builder.pretrain("80/10/10"), test=91.0)
    study = gathered(builder)
    table = tables.results(study)
    shown = dict(zip(table.columns, row(table, "80/10/10"), strict=False))
    assert (shown["NER (BC5CDR)"], shown["NER test (BC5CDR)"]) == ("95.0 (n = 1x1)", "91.0 (n = 1x1)")
    assert [study.floors(name)["majority guess"] for name in study.measurements] == [0.0, 1.0]
    lines = list(csv.DictReader(io.StringIO(tidy.csv(tidy.values([study])))))
    assert [(line["split"], line["value"]) for line in lines] == [("validation", "95.0"), ("test", "91.0")]
    assert len({line["run_id"] for line in lines}) == 1
    assert [cell.rows.evaluation for cell in study.cells] == [500, 70]


def test_a_result_from_before_there_were_test_splits_has_none(builder: Any) -> None:
    builder.cell("80/10/10", "NER", 95.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.cells.append({**builder.cells[-1], "measurement": "NER test", "split": "test"})
    study = gathered(builder)
    assert [cell.value for cell in study.cells] == [95.0, None]


def test_a_cell_of_two_records_is_one_line(builder: Any, fill: Callable[..., None]) -> None:
    fill(builder, seeds=(0,))
    study = gathered(builder)
    assert tidy.values([study, study]).equals(tidy.values([study]))


def test_only_the_last_milestone_enters_the_table(builder: Any) -> None:
    run_id = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 40.0, pretrain_id=run_id)
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run_id)
    builder.cells[0]["milestone"] = 10
    study = gathered(builder)
    assert row(tables.results(study), "80/10/10")[1] == "50.0 (n = 1x1)"
    assert len(tidy.values([study])) == 2


def test_variants_that_are_the_same_runs_are_shown_as_equal(builder: Any) -> None:
    run_id = builder.pretrain("80/10/10")
    builder.pretrain("100/0/0", run_id=run_id, finished=False)
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=run_id, run_id="ab")
    builder.cell("100/0/0", "MNLI", None, pretrain_id=run_id, run_id="ab")
    study = gathered(builder)
    assert row(tables.results(study), "100/0/0")[:2] == ("100/0/0 (same runs as 80/10/10)", "50.0 (n = 1x1)")


def test_markdown_keeps_its_columns_whatever_the_names() -> None:
    table = tables.Table(("row", "a|b"), (("x\ny|z", "84.40"), ("<b>", "`")))
    lines = table.markdown().splitlines()
    assert len(lines) == 4
    assert {line.count("|") for line in lines} == {3}
    assert "84.40" in lines[2]


def test_columns_of_words_are_flushed_left() -> None:
    table = tables.Table(("claim", "value", "verdict"), (("one", "1.0", "undecided"),), ("verdict",))
    rule = table.markdown().splitlines()[1].strip("|").split("|")
    assert [each[0] == ":" for each in rule] == [True, False, True]
    assert [each[-1] == ":" for each in rule] == [False, True, False]


def test_the_caption_names_a_spread_where_there_is_one(builder: Any) -> None:
    builder.cell("80/10/10", "MNLI", 50.0, 0, 0, builder.pretrain("80/10/10", 0))
    assert notes("caption", gathered(builder), "n = 1 seed", {})[0].startswith("Value, in points")
    builder.cell("80/10/10", "MNLI", 51.0, 1, 0, builder.pretrain("80/10/10", 1))
    assert notes("caption", gathered(builder), "n = 2 seeds", {})[0].startswith("Mean ±sd over seeds, in points")


def test_the_summary_has_what_was_measured_and_what_differs(builder: Any) -> None:
    for seed, (ours, theirs) in enumerate([(52.0, 50.0), (54.0, 51.0), (53.0, 52.0)]):
        builder.cell("80/10/10", "MNLI", theirs, seed, 0, builder.pretrain("80/10/10", seed))
        builder.cell("0/0/100", "MNLI", ours, seed, 0, builder.pretrain("0/0/100", seed))
    baseline, other = csv.DictReader(io.StringIO(tidy.csv(tidy.summary([gathered(builder)]))))
    assert list(baseline) == list(tidy.SUMMARY)
    assert [float(baseline[name]) for name in ("mean", "sd", "min", "max", "seeds")] == [51.0, 1.0, 50.0, 52.0, 3.0]
    assert (baseline["against"], baseline["effect"], baseline["p"]) == ("", "", "")
    assert baseline["unit"] == other["unit"] == "points"
    assert (other["against"], other["paired_seeds"], other["published"], other["published_effect"]) == (
        "80/10/10", "3", "83.6", "-0.6",
    )  # fmt: skip
    # differences 2, 3 and 1: a mean of 2, a standard deviation of 1
    assert float(other["effect"]) == pytest.approx(2.0)
    assert float(other["high"]) == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-4)  # t(.975; 2)


def test_n_is_stated_once(builder: Any) -> None:
    two_variants(builder)
    assert tables.seeds(gathered(builder)) == "n = 2 seeds x 2 fine-tuning seeds"
    single = builder.pretrain("0/0/100")
    builder.cell("0/0/100", "MNLI", 40.0, pretrain_id=single)
    assert tables.seeds(gathered(builder)) == "n = 2 seeds x 1 to 2 fine-tuning seeds; 1 where no sd is shown"
    # the sd of the fine-tuning seeds of one model is not shown beside that of several models
    builder.cell("0/0/100", "MNLI", 40.0, finetune_seed=1, pretrain_id=single)
    assert tables.seeds(gathered(builder)) == "n = 2 seeds x 2 fine-tuning seeds; 1 where no sd is shown"
    assert [each.short for each in tables.columns(gathered(builder))[0].entries[:3]] == [
        "53.0 ±2.8",
        "53.0 ±4.2",
        "40.0",
    ]


def test_the_sd_of_one_model_is_over_its_fine_tuning_seeds(builder: Any) -> None:
    run = builder.pretrain("80/10/10", loss=5.8)
    builder.pretrain("100/0/0", loss=5.8, run_id=run, finished=False)
    for restart in range(3):
        builder.cell("80/10/10", "MNLI", 50.0 + restart, finetune_seed=restart, pretrain_id=run)
    builder.cell("100/0/0", "NER", 50.0, pretrain_id=run)
    study = gathered(builder)
    assert notes("caption", study, "n", {})[0].startswith("Mean ±sd over fine-tuning seeds, in points")
    assert "1 to 3 fine-tuning seeds of each measurement" in dict(facts.facts(study))["Seeds"]
    assert notes("alarm", study)[0].startswith("1 of 1 model learned next to nothing in pre-training: its scores")
    warning = notes("warnings", study)[0]
    assert warning.endswith("80/10/10 and 100/0/0, seed 0 (5.800, entropy 5.900).")


def test_a_baseline_that_is_not_above_a_floor_is_a_warning(builder: Any) -> None:
    run = builder.pretrain("80/10/10")
    builder.cell("80/10/10", "MNLI", 41.0, pretrain_id=run, floors={"lexical": 43.6})
    builder.cell("80/10/10", "NER", 60.0, pretrain_id=run, floors={"lexical": 43.6})
    study = gathered(builder)
    assert study.below_floors == {"MNLI": 41.0}
    assert notes("alarm", study) == [
        "On MNLI the baseline does not beat a trivial model (lexical baseline): "
        "even the direction of a difference is close to a guess."
    ]
    assert notes("warnings", study) == ["MNLI: 80/10/10 41.0, lexical baseline 43.6."]
    (limited,) = builder.root.glob(f"finetune/{builder.cells[0]['run_id']}--*/result.json")
    settings = {"max_train_examples": 1000}
    limited.write_text(json.dumps({**json.loads(limited.read_text()), "settings": settings}))
    builder.seal(limited.parent)
    assert "It is trained on 1,000 of the task's examples" in notes("warnings", gathered(builder))[0]


def test_a_value_that_a_claim_compares_on_the_way_is_shown(builder: Any) -> None:
    for variant, values in {"80/10/10": (40.0, 50.0), "100/0/0": (42.0, None)}.items():
        run = builder.pretrain(variant)
        for at, value in zip((50, 100), values, strict=True):
            builder.cell(variant, "MNLI", value, pretrain_id=run, milestone=at)
    builder.cell("80/10/10", "NER", 60.0)
    assert [row[0] for row in tables.by_seed(gathered(builder)).rows] == ["MNLI", "NER (BC5CDR)"]
    assert [each.value for each in tables.columns(gathered(builder))[0].entries[:2]] == ["50.0", "pending"]
    builder.cells = [cell for cell in builder.cells if (cell["variant"], cell["milestone"]) != ("100/0/0", 100)]
    assert [each.value for each in tables.columns(gathered(builder))[0].entries[:2]] == ["50.0", "only at 50 %"]
    claim = {"text": "ahead", "better": "100/0/0", "worse": "80/10/10", "on": "MNLI", "at": 50}
    rows = tables.by_seed(gathered(builder, claims=[claim])).rows
    assert rows[:3] == (
        ("MNLI at 50 %", "80/10/10", "40.0"),
        ("MNLI at 50 %", "100/0/0", "42.0"),
        ("MNLI", "80/10/10", "50.0"),
    )


def test_every_seed_is_shown(builder: Any) -> None:
    two_variants(builder)
    builder.cell("100/0/0", "MNLI", 40.0, 2, pretrain_id=builder.pretrain("100/0/0", 2), status="collapsed")
    table = tables.by_seed(gathered(builder))
    assert table.columns == ("on", "variant", "seed 0", "seed 1", "seed 2")
    assert table.rows == (
        ("MNLI", "80/10/10", "51.0", "55.0", ""),
        ("MNLI", "100/0/0", "50.0", "56.0", "40.0 (collapsed)"),
    )


def test_recipes_differ_in_what_a_study_varies(builder: Any) -> None:
    two_variants(builder)
    builder.pretrain("no pre-training", steps=0)
    builder.pretrain("left to right", causal=True)
    table = tables.recipes(gathered(builder))
    fields = ["mask", "keep", "random"]
    assert table.columns[1:] == ("objective", *(f"masked_lm.corruption.{each}" for each in fields))
    assert table.rows == (
        ("80/10/10 (baseline)", "masked_lm, next_sentence", "0.8", "0.1", "0.1"),
        ("100/0/0", "masked_lm, next_sentence", "1", "0", "0"),
        ("left to right", "causal_lm", "", "", ""),
    )


def test_the_cost_of_a_variant_is_that_of_its_runs(builder: Any) -> None:
    two_variants(builder)
    found = gathered(builder)
    runs = [replace(run, result=replace(run.result, real_tokens=1000 + 10 * run.seed)) for run in found.pretrainings]
    runs = [replace(run, curve=(Point(500, 1e6, 10.0, {}), Point(1000, 2e6, 25.0, {}))) for run in runs]
    rows = tables.costs(replace(found, pretrainings=tuple(runs))).rows
    # two pre-trainings and four measurements of 1.5 s each; 2,000,000 tokens in 25 s of updates
    assert rows[0] == ("80/10/10 (baseline)", "1.2M", "2,048,000", "1,005", "80,000", "1.5 s", "1.5 s", "9.0 s")


def test_what_a_task_takes_stands_with_each_variant_where_variants_train_different_parts(builder: Any) -> None:
    for variant in ("80/10/10", "100/0/0"):
        run = builder.pretrain(variant)
        for name in ("MNLI", "NER"):
            builder.cell(variant, name, 60.0, 0, 0, run)
    found = gathered(builder)

    def costs(trained: Any) -> Any:
        cells = [replace(cell, result=replace(cell.result, trained_parameters=trained(cell))) for cell in found.cells]
        return tables.costs(replace(found, cells=tuple(cells)))

    columns = ("trained a task", "stored a task")
    assert not {*columns} & {*costs(lambda cell: None).columns}
    by_task = {name: 7_000 + 1_000 * number for number, name in enumerate(found.measurements)}
    assert not {*columns} & {*costs(lambda cell: by_task[cell.measurement]).columns}
    baseline = {found.baseline: 109_482_240}
    table = costs(lambda cell: baseline.get(cell.variant, by_task[cell.measurement]))
    assert table.columns[-2:] == columns
    assert [row[-2:] for row in table.rows] == [("109M", "438 MB"), ("7K to 8K", "0.028 MB to 0.032 MB")]


def test_a_data_set_that_stands_in_is_in_the_head_and_the_papers_values_are_in_brackets(builder: Any) -> None:
    for variant, value in (("80/10/10", 95.0), ("100/0/0", 94.0)):
        run = builder.pretrain(variant)
        builder.cell(variant, "MNLI", value, pretrain_id=run)
        builder.cell(variant, "NER", value, pretrain_id=run)
    for substitutes, head, shown, minus in (
        ({"conll2003": "bc5cdr"}, "NER (BC5CDR)", "(95.4)", "(-0.5)"),
        ({"conll2003": "someone/news ner"}, "NER (someone/news ner)", "(95.4)", "(-0.5)"),
        ({"mnli": "snli"}, "NER", "95.4", "-0.5"),
    ):
        study = gathered(builder, substitutes=substitutes)
        assert tables.columns(study)[1].measurement == "NER"
        assert row(tables.results(study), "80/10/10")[-1] == shown
        assert tables.results(study).columns[-2] == head
        assert tables.differences(study).rows[0][-1] == minus
    lines = tidy.summary([study])
    assert list(lines["dataset"]) == ["mnli", "bc5cdr"] * 2
    assert list(lines["published"])[1] == 95.4, "a number in CSV files"


def test_published_values_of_other_models_are_shown_and_compared_with_nothing(builder: Any) -> None:
    two_variants(builder)
    related = [{"title": "Elsewhere", "source": "Somebody", "columns": ["A", "B"], "rows": {"theirs": [1.0, 22.5]}}]
    study = gathered(builder, related=related)
    ((title, table),) = tables.related(study)
    assert title == "Elsewhere (Somebody)"
    assert (table.columns, table.rows) == (("model", "A", "B"), (("theirs", "1.0", "22.5"),))
    assert "theirs" not in tidy.values([study]).to_csv()


def test_published_decimals_and_absent_values_keep_their_values(tmp_path: Path) -> None:
    lines = {"difference": [Decimal("-0.3"), None], "seeds": [4, None], "nothing": [None, None]}
    write_parquet(tmp_path / "table.parquet", pandas.DataFrame(lines, dtype=object))
    found = parquet.read_table(tmp_path / "table.parquet")
    assert found.to_pydict() == {"difference": [-0.3, None], "seeds": [4, None], "nothing": [None, None]}
    assert [str(each) for each in found.schema.types] == ["double", "int64", "double"]
