"""Measurements of the same runs, as two published tasks are on synthetic text: the second is not counted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bertlab.report import findings, noise
from bertlab.report.agreement import agreement
from bertlab.report.gather import gather_all
from bertlab.report.study_results import StudyResults
from bertlab.store.runs import Store

AGAIN = "NER again"


def claims(*measurements: str) -> list[dict[str, Any]]:
    return [{"text": f"worse on {on}", "better": "80/10/10", "worse": "0/0/100", "on": on} for on in measurements]


@pytest.fixture
def study(builder: Any, fill: Callable[..., None]) -> Callable[..., StudyResults]:
    """A study of six seeds; with `again`, a second column of the runs of NER, in its own record."""

    def made(again: bool, **changes: Any) -> StudyResults:
        if not builder.cells:
            fill(builder, seeds=range(6), finetune_seeds=1)
        known = [cell for cell in builder.cells if cell["measurement"] != AGAIN]
        copies = [cell | {"measurement": AGAIN, "published": 50.0 - ord(cell["variant"][0])} for cell in known]
        copies = [cell | changes for cell, like in zip(copies, known, strict=True) if like["measurement"] == "NER"]
        builder.cells = [*known, *copies] if again else known
        builder.record(claims=claims("MNLI", "NER", *[AGAIN] * again))
        (study,) = gather_all(Store(builder.root))
        return study

    return made


def test_a_second_column_of_the_same_runs_changes_no_result(study: Callable[..., StudyResults]) -> None:
    once, twice = study(again=False), study(again=True)
    assert (once.repeats, twice.repeats) == ({}, {AGAIN: "NER"})
    assert twice.points("0/0/100", AGAIN) == twice.points("0/0/100", "NER"), "it has its values"
    assert agreement([twice]).overall == agreement([once]).overall
    assert {*agreement([twice]).final["measurement"]} == {"MNLI", "NER"}
    alone, (*known, again) = findings.findings(once), findings.findings(twice)
    assert [(each.outcome, each.test.adjusted) for each in known] == [
        (each.outcome, each.test.adjusted) for each in alone
    ]
    assert "reproduced" in [each.outcome for each in known]
    assert (again.outcome, again.hint) == ("undecided", "the same runs as on NER")
    assert again.likely is None


def test_a_claim_of_two_variants_with_the_same_runs_decides_nothing(builder: Any, fill: Callable[..., None]) -> None:
    fill(builder, seeds=range(6), finetune_seeds=1)
    claim = {"text": "each is better", "rising": ["0/0/100", "80/10/10"], "on": "MNLI"}
    builder.record(claims=[claim])
    (study,) = gather_all(Store(builder.root))
    (found,) = findings.findings(study)
    assert found.outcome == "reproduced"
    builder.cells += [cell | {"variant": "twin"} for cell in builder.cells if cell["variant"] == "0/0/100"]
    builder.record(claims=[claim | {"rising": ["0/0/100", "80/10/10", "twin"]}])
    study = gather_all(Store(builder.root))[-1]
    assert study.duplicates == {"twin": "0/0/100"}
    (found,) = findings.findings(study)
    assert (found.outcome, found.hint) == ("undecided", "0/0/100 and twin are the same runs at this scale")


def test_variants_with_the_same_runs_need_not_have_the_same_seeds(builder: Any, fill: Callable[..., None]) -> None:
    """A twin with fewer seeds, before the variant of whose runs it has some."""
    fill(builder, seeds=range(3), finetune_seeds=1)
    builder.record()
    once = gather_all(Store(builder.root))[-1]

    def twins(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            each | {"variant": "twin"} for each in known if (each["variant"], each["pretrain_seed"]) == ("0/0/100", 1)
        ]

    builder.cells[:0] = [cell | {"published": 50.0} for cell in twins(builder.cells)]
    builder.rows[:0] = twins(builder.rows)
    builder.record()
    study = gather_all(Store(builder.root))[-1]
    assert study.duplicates == {"twin": "0/0/100"}
    assert study.trained == {"0/0/100": ["twin"], "80/10/10": [], "100/0/0": []}
    pairs = {*map(frozenset, agreement([study]).final[["variant", "other"]].to_numpy())}
    assert frozenset(("twin", "80/10/10")) in pairs
    assert frozenset(("twin", "0/0/100")) not in pairs, "their difference is none by definition"
    assert [each.noise for each in noise.spreads(study)] == [each.noise for each in noise.spreads(once)]


def test_sections_of_one_study_have_keys_of_their_own(builder: Any) -> None:
    """Whatever seeds they have; more seeds do not change a key."""
    keys = []
    for setting, seed in (("a", 1), ("b", 1), ("a", 0)):
        builder.cell("80/10/10", "MNLI", 80.0, seed)
        builder.record(setting, setting=setting)
        keys.append({each.key for each in gather_all(Store(builder.root))})
    assert [len(each) for each in keys] == [1, 2, 2]
    assert keys[1] == keys[2]


def test_a_column_with_fewer_of_the_runs_is_the_one_that_repeats(study: Callable[..., StudyResults]) -> None:
    twice = study(again=True)
    fewer = dataclasses.replace(
        twice, cells=tuple(each for each in twice.cells if each.measurement != "NER" or each.pretrain_seed < 3)
    )
    assert fewer.repeats == {"NER": AGAIN}


@pytest.mark.parametrize("changes", [{"split": "test"}, {"metric": "accuracy"}])
def test_other_examples_or_another_metric_of_the_same_runs_is_another_result(
    study: Callable[..., StudyResults], changes: dict[str, str]
) -> None:
    assert study(again=True, **changes).repeats == {}


def test_the_variance_between_seeds_is_of_each_run_once(builder: Any) -> None:
    """All comparisons of a study estimate it together, from their predictions."""
    draw, label = np.random.default_rng(3), np.zeros(200, int)
    for place, variant in enumerate(("80/10/10", "100/0/0", "0/0/100")):
        for seed in range(4):
            prediction = (draw.random(200) < 0.2 + 0.1 * place + 0.03 * draw.random()).astype(int)
            builder.cell(variant, "MNLI", 100 * (1 - prediction.mean()), seed, 0, builder.pretrain(variant, seed))
            path = builder.root / "finetune" / f"{builder.cells[-1]['run_id']}--a-label"
            np.savez(path / "predictions.npz", prediction=prediction, label=label)
            recipe = json.loads((path / "recipe.json").read_text())
            recipe["science"] = {"task": {"kind": "classification", "labels": ()}}
            (path / "recipe.json").write_text(json.dumps(recipe))
            builder.seal(path)
    intervals = []
    column = [cell | {"measurement": AGAIN} for cell in builder.cells]
    row = [cell | {"variant": "twin"} for cell in builder.cells if cell["variant"] == "100/0/0"]
    for copies in ([], column, row):
        builder.cells += copies
        builder.record()
        study = gather_all(Store(builder.root))[-1]
        effect = study.difference("0/0/100", "MNLI")
        assert effect is not None
        intervals.append(effect.interval)
    assert study.duplicates == {"twin": "100/0/0"}
    assert intervals[0] is not None
    assert intervals == [intervals[0]] * 3
