"""Claims get no verdict where a model has not learned what they compare; what is decided by a later rule has a mark."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from bertlab.lab.claim import GUESS, Claim
from bertlab.lab.needs import Needs
from bertlab.report import findings, rules, validity
from bertlab.report.cells import LEXICAL
from bertlab.report.facts import facts
from bertlab.report.gather import gather
from bertlab.report.pages import notes
from bertlab.report.study_results import StudyResults
from bertlab.report.verdicts import ClaimTest, claim_tests, endpoints, verdicts
from bertlab.store.addenda import Addenda, Remark, floor_key
from bertlab.store.runs import Store

NSP, PLAIN = "80/10/10", "100/0/0"
HELPS = Claim("NSP helps MNLI", better=NSP, worse=PLAIN, on="MNLI")
ENTROPY = 5.9
DEAD, LEARNED = (0.484, 0.520, 0.527, 0.486), (0.72, 0.74, 0.75, 0.73)
"""Own accuracies of four seeds: of the shared baseline at scale micro, and of a model that learned."""
MAJORITY = 0.52832


def rewritten(
    builder: Any, run_id: str, objective: list[dict[str, Any]], inputs: dict[str, Any], **figures: float
) -> None:
    """A pre-training with another objective and held-out figures."""
    path = builder.root / "pretrain" / f"{run_id}--a-label"
    recipe, result = (json.loads((path / f"{name}.json").read_text()) for name in ("recipe", "result"))
    recipe["science"]["recipe"] |= {"objective": objective, "inputs": inputs}
    result["heldout"] = {"masked_lm_loss": 4.4, **figures}
    for name, data in (("recipe", recipe), ("result", result)):
        (path / f"{name}.json").write_text(json.dumps(data))
    builder.seal(path)


def compared(
    builder: Any,
    one: list[dict[str, Any]],
    other: list[dict[str, Any]],
    *figures: dict[str, float],
    inputs: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
    points: tuple[float, float] = (66.0, 60.0),
    floors: dict[str, float] | None = None,
    day: str = "2026-11-20",
) -> StudyResults:
    """A study of two objectives, four seeds each; the first has the `figures` of each seed."""
    for seed in range(4):
        for side, (variant, objective) in enumerate(((NSP, one), (PLAIN, other))):
            environment = {"numerics": {}, "date": day}
            run_id = builder.pretrain(variant, seed, environment=environment)
            rewritten(builder, run_id, objective, inputs[side], **(figures[seed] if figures and side == 0 else {}))
            value = points[side] + 0.1 * (seed * (side + 1) % 3)
            builder.cell(variant, "MNLI", value, seed, pretrain_id=run_id, floors=floors, environment=environment)
    return gather(Store(builder.root), [builder.record()])[0]


def own(accuracies: tuple[float, ...], name: str = "next_sentence") -> list[dict[str, float]]:
    return [{f"{name}_accuracy": each, f"{name}_majority": MAJORITY} for each in accuracies]


def judged(study: StudyResults, claim: Claim = HELPS) -> ClaimTest:
    return verdicts(claim_tests(study, [claim]))[0]


MASKED, SENTENCES, ORDER = {"kind": "masked_lm"}, {"kind": "next_sentence"}, {"kind": "sentence_order"}
PAIRS, LONE = [MASKED, SENTENCES], [MASKED]
WITHOUT_80 = {"kind": "masked_lm", "corruption": {"mask": 1.0, "keep": 0.0, "random": 0.0}}


@pytest.mark.parametrize("accuracies", [DEAD, LEARNED])
def test_a_loss_at_chance_on_its_own_pairs_is_not_compared(builder: Any, accuracies: tuple[float, ...]) -> None:
    found = judged(compared(builder, PAIRS, LONE, *own(accuracies)))
    issue = f"{NSP} did not learn next sentence: 50.4 % of its own held-out pairs, a majority guess 52.8 %"
    assert (found.outcome, found.validity_issue) == (("undecided", issue) if accuracies == DEAD else ("reproduced", ""))


def test_a_text_that_is_read_less_often_than_a_variant_says_decides_nothing(builder: Any) -> None:
    compared(builder, LONE, LONE)
    for path in (builder.root / "pretrain").glob("*/result.json"):
        result = json.loads(path.read_text())
        path.write_text(json.dumps({**result, "text": {"documents": 1701, "passes": [1024, 47]}}))
        builder.seal(path.parent)
    study = gather(Store(builder.root), [builder.record()])[0]
    issue = f"{NSP} passes over its text 47 times, not 1,024"
    assert (judged(study).outcome, judged(study).validity_issue) == ("undecided", issue)
    assert "47 of 1,024 passes" in dict(facts(study))["Text"]


def test_the_same_dead_loss_on_both_sides_leaves_masks_comparable(builder: Any) -> None:
    assert judged(compared(builder, PAIRS, [WITHOUT_80, SENTENCES], *own(DEAD))).outcome == "reproduced"


def test_a_variant_without_pre_training_has_no_other_objective(builder: Any) -> None:
    compared(builder, PAIRS, PAIRS, *own(DEAD))
    for seed in range(4):
        scratch = builder.pretrain("no pre-training", seed, steps=0)
        builder.cell("no pre-training", "MNLI", 50.0 + seed / 10, seed, pretrain_id=scratch)
    study = gather(Store(builder.root), [builder.record()])[0]
    claim = Claim("Pre-training helps", better=NSP, worse="no pre-training", on="MNLI")
    assert validity.issues(study, claim) == ()
    assert judged(study, claim).outcome == "reproduced"


def test_pairs_of_another_format_are_another_task(builder: Any) -> None:
    inputs = {}, {"format": {"kind": "sentence_pair"}}
    found = judged(compared(builder, PAIRS, PAIRS, *own(DEAD), inputs=inputs))
    assert found.validity_issue.startswith(f"{NSP} did not learn next sentence")


def test_one_loss_against_another_needs_both(builder: Any) -> None:
    figures = [{**one, **two} for one, two in zip(own(LEARNED), own(DEAD, "sentence_order"), strict=True)]
    study = compared(builder, [MASKED, ORDER], PAIRS, *figures)
    assert judged(study).validity_issue.startswith(f"{NSP} did not learn sentence order")


def test_a_claim_on_held_out_pairs_compares_the_loss_even_with_a_guess(builder: Any) -> None:
    study = compared(builder, PAIRS, LONE, *own(DEAD))
    on_task, on_pairs = (Claim("It is above a guess", better=NSP, worse=GUESS, on=on) for on in ("MNLI", "pairs"))
    cells = [replace(cell, measurement="pairs", method="pretraining") for cell in study.cells]
    study = replace(study, cells=(*study.cells, *cells))
    assert [bool(list(validity._compared(study, each))) for each in (on_task, on_pairs)] == [False, True]


def test_significance_counts_seeds_and_pairs() -> None:
    assert validity._above([0.62, 0.6, 0.63, 0.61], 0.52, 254)
    assert not validity._above([0.62, 0.6, 0.63, 0.61], 0.52, 40), "so few pairs"
    assert not validity._above([0.5, 0.5, 0.5, 0.95], 0.52, 1024), "one of four seeds alone"
    # by hand: sqrt(.25 / 100) = .05 and the t quantile of 99 degrees of freedom, 1.984
    assert [validity._above([each], 0.5, 100) for each in (0.598, 0.600)] == [False, True]
    assert validity._pairs([510 / 1024, 541 / 1024]) == 1024
    assert validity._pairs([61 / 127, 131 / 254]) == 254


def test_a_span_boundary_loss_on_the_plateau_is_not_compared(builder: Any) -> None:
    spans = {"kind": "masked_lm", "selection": {"kind": "geometric_spans"}}
    long = {"length": 512}
    boundary = [spans, {"kind": "span_boundary"}]
    figures = [{"span_boundary_loss": ENTROPY - 0.1}] * 4
    study = compared(builder, boundary, [spans], *figures, inputs=(long, long))
    assert judged(study).validity_issue.startswith(f"{NSP} did not learn span boundary: 5.80 nats")


@pytest.mark.parametrize(("length", "valid"), [(32, False), (64, False), (512, True)])
def test_spans_that_a_length_cuts_are_not_compared(builder: Any, length: int, *, valid: bool) -> None:
    spans = [{"kind": "masked_lm", "selection": {"kind": "geometric_spans"}}]
    inputs = {"length": length}, {"length": length}
    study = compared(builder, spans, LONE, inputs=inputs)
    found = judged(study)
    assert (found.outcome == "reproduced") == valid
    assert found.validity_issue.startswith("" if valid else "geometric spans have ")
    assert bool(validity.flaws(study)) != valid


def test_the_same_spans_on_both_sides_are_not_what_is_compared(builder: Any) -> None:
    spans = {"kind": "masked_lm", "selection": {"kind": "geometric_spans"}}
    inputs = {"length": 32}, {"length": 32}
    study = compared(builder, [spans, SENTENCES], [spans], *own(LEARNED), inputs=inputs)
    assert judged(study).outcome == "reproduced"


@pytest.mark.parametrize(
    ("name", "text"),
    [("lexical", "a linear model of words"), ("exchanged", "itself with another second text")],
)
def test_a_task_on_which_no_variant_is_above_a_floor_decides_nothing(builder: Any, name: str, text: str) -> None:
    found = judged(compared(builder, PAIRS, LONE, *own(LEARNED), floors={name: 67.0}))
    assert found.validity_issue == f"no variant of the claim is significantly above {text}"


@pytest.mark.parametrize(("p", "mean", "refused"), [(0.0, -8.0, 1), (0.2, 1.0, 1), (0.01, 1.0, 0), (None, -8.0, 0)])
def test_how_far_below_a_floor_makes_no_difference(p: float | None, mean: float, refused: int) -> None:
    """A p-value of 0, by underflow, is known too."""
    found: Any = SimpleNamespace(effect=lambda *_, **named: SimpleNamespace(p=p, mean=mean))
    assert len([each for each in validity._floors(found, HELPS) if each.counts({rules.FLOOR})]) == refused


def test_sizes_that_a_claim_needs_are_a_later_rule(builder: Any) -> None:
    claim = replace(HELPS, needs=Needs(steps=10_000))
    study = replace(compared(builder, PAIRS, LONE, *own(LEARNED)), claims=(claim,))
    (found,), _ = endpoints(study)
    assert found.validity_issue.startswith("not testable at this scale: needs 10,000 steps")
    assert found.marks == (rules.SIZES.mark("reproduced"),)


def test_one_variant_above_the_floor_is_enough(builder: Any) -> None:
    assert judged(compared(builder, PAIRS, LONE, *own(LEARNED), floors={"lexical": 63.0})).outcome == "reproduced"


def test_a_verdict_that_a_later_rule_decides_has_a_mark(builder: Any) -> None:
    study = replace(compared(builder, PAIRS, LONE, *own(DEAD)), claims=(HELPS,))
    (found,), _ = endpoints(study)
    assert found.marks == (rules.PREMISE.mark("reproduced"),)
    (finding,) = findings.findings(study)
    assert finding.sentence.endswith(f"† {found.marks[0]}")
    assert found.marks[0].endswith("without it reproduced")


def test_each_of_two_later_rules_that_refuse_a_verdict_has_a_mark(builder: Any) -> None:
    study = replace(compared(builder, PAIRS, LONE, *own(DEAD), floors={"lexical": 67.0}), claims=(HELPS,))
    (found,), _ = endpoints(study)
    known = [rule.mark("and others like it, reproduced") for rule in (rules.PREMISE, rules.FLOOR)]
    assert found.marks == tuple(known)


def test_a_rule_that_is_older_than_the_runs_leaves_no_mark(builder: Any) -> None:
    study = replace(compared(builder, PAIRS, LONE, *own(DEAD), day="2027-01-01"), claims=(HELPS,))
    assert endpoints(study)[0][0].marks == ()
    assert endpoints(study)[0][0].outcome == "undecided", "and holds"


def test_a_rule_that_changes_nothing_leaves_no_mark(builder: Any) -> None:
    study = replace(compared(builder, PAIRS, LONE, *own(LEARNED)), claims=(HELPS,))
    assert (endpoints(study)[0][0].outcome, endpoints(study)[0][0].marks) == ("reproduced", ())


def test_remarks_of_the_store_stand_beside_what_they_are_about(builder: Any) -> None:
    compared(builder, PAIRS, LONE, *own(LEARNED))
    texts = {"this": Remark("Of this claim.", "masking", claim=HELPS.text), "study": Remark("Of the study.", "masking")}
    other = [
        Remark("Of NER.", "masking", on="NER"),
        Remark("Of nsp.", "nsp"),
        Remark("Of a section.", "masking", "0" * 8),
    ]
    Addenda(remarks=(*texts.values(), *other)).write(builder.root)
    study = gather(Store(builder.root), [builder.record()])[0]
    (found,), _ = endpoints(replace(study, claims=(HELPS,)))
    assert found.marks == ("Of this claim.", "Of the study.")


def test_of_undecided_claims_only_those_that_a_remark_names_have_it(builder: Any) -> None:
    compared(builder, PAIRS, LONE, *own(DEAD), day="2027-01-01")
    named, study = Remark("Of this claim.", "masking", claim=HELPS.text), Remark("Of the study.", "masking")
    Addenda(remarks=(named, study)).write(builder.root)
    study = gather(Store(builder.root), [builder.record()])[0]
    (found,), _ = endpoints(replace(study, claims=(HELPS,)))
    assert (found.outcome, found.marks) == ("undecided", ("Of this claim.",))


def test_the_page_says_what_each_variant_has_learned(builder: Any) -> None:
    study = compared(builder, PAIRS, LONE, *own(DEAD))
    assert validity.learned(study) == [
        f"{NSP}, next sentence: 50.4 % of its own held-out pairs, a majority guess 52.8 %; not learned."
    ]


def fitted(study: StudyResults) -> set[int]:
    return {cell.lexical_examples for cell in study.column("MNLI")}


def test_later_floors_are_preferred_and_their_examples_counted(builder: Any) -> None:
    for seed, variant in enumerate((NSP, PLAIN)):
        run_id = builder.pretrain(variant, seed)
        builder.cell(variant, "MNLI", 60.0, seed, pretrain_id=run_id, test=61.0, floors={"lexical": 43.6})
    before = gather(Store(builder.root), [builder.record()])[0]
    assert (before.floors("MNLI")[LEXICAL], fitted(before)) == (43.6, {1000})
    floor = {"examples": 900, "evaluation": {"accuracy": 46.9}}
    Addenda({floor_key({}): floor}).write(builder.root)
    after = gather(Store(builder.root), [builder.record()])[0]
    assert (after.floors("MNLI")[LEXICAL], fitted(after)) == (46.9, {900})
    assert LEXICAL not in after.floors("MNLI test"), "the later floor has none of the test split"
    assert any("46.9 (900 of 1,000 examples)" in line for line in notes("floors", after))
