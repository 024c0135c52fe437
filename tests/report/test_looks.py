"""Looks at a claim: verdicts by all looks, intervals valid after stopping, and the chance of a verdict at the end."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats

from bertlab.lab.study import Claim
from bertlab.report import findings
from bertlab.report.gather import gather
from bertlab.report.looks import LookHistory, hypothesis, look_history
from bertlab.report.statistics.effects import Effect, effect
from bertlab.report.statistics.sequential import fraction, nominal
from bertlab.report.verdicts import ClaimTest, Pair, verdicts
from bertlab.sequential.power import chance, final_level
from bertlab.store.record import ClaimLook, Sequential, StudyLook
from bertlab.store.runs import Store
from bertlab.tasks.metrics import Mean
from small_record import look

CLAIM = Claim("A beats B", better="A", worse="B", on="MNLI")


def found(values: tuple[float, ...]) -> Effect:
    variant = {seed: [Mean(np.array([value]))] for seed, value in enumerate(values)}
    made = effect(variant, {seed: [Mean(np.zeros(1))] for seed in variant})
    assert made is not None
    return made


SEEN = found((1.0, 0.8, 1.2, 0.9, 1.1, 1.0))


def judged(*looks: ClaimLook, maximum: int = 12) -> ClaimTest:
    return verdicts([ClaimTest(CLAIM, (Pair("A", "B", SEEN, None),), LookHistory(maximum, looks))])[0]


def test_the_looks_decide_and_not_the_seeds_since() -> None:
    assert SEEN.p is not None
    assert SEEN.p < 1e-4
    assert judged().outcome == "undecided"  # not looked at yet
    early = judged(look(4, 0.01, True, 0.5))
    assert early.outcome == "undecided"
    assert early.adjusted is not None
    assert early.adjusted > 0.05
    late = judged(look(4, 0.01, True, 0.5), look(6, 1e-5, True, 0.9))
    assert late.outcome == "reproduced"
    assert judged(look(4, 0.01, True, 0.5), look(6, 1e-5, False, 0.9)).outcome == "contradicted"
    # what is decided stays decided, on the side of the look that decided
    after = judged(look(6, 1e-5, False, 0.9), look(7, 0.2, True, 0.4))
    assert (after.outcome, after.adjusted) == ("contradicted", pytest.approx(judged(look(6, 1e-5, True, 0.9)).adjusted))


def test_holm_counts_the_other_claims() -> None:
    trial = ClaimTest(CLAIM, (Pair("A", "B", SEEN, None),), LookHistory(12, (look(12, 0.03, True, 0.0),)))
    assert verdicts([trial])[0].outcome == "reproduced"
    other = replace(trial, claim=replace(CLAIM, on="NER"), history=LookHistory(12))
    assert [each.outcome for each in verdicts([trial, other])] == ["undecided", "undecided"]
    assert verdicts([trial, other])[0].adjusted == pytest.approx(0.06)


def test_the_repeated_interval_is_the_nominal_one_of_the_look() -> None:
    assert SEEN.interval is not None
    last = LookHistory(6, (look(6, 0.01, True, 0.0),)).interval(SEEN)
    assert last is not None
    assert (last.low, last.high) == pytest.approx((SEEN.interval.low, SEEN.interval.high))
    early = LookHistory(12, (look(6, 0.01, True, 0.0),)).interval(SEEN)
    assert early is not None
    assert early.half > 1.5 * SEEN.interval.half
    assert LookHistory(12, (look(5, 0.01, True, 0.0),)).interval(SEEN) is None  # no look has seen the sixth seed
    assert LookHistory(5, (look(5, 0.01, True, 0.0), look(6, 0.01, True, 0.0))).interval(SEEN) is None
    # it excludes 0 exactly where the p-value is below the level of the look
    level = nominal([fraction(6, 12)], 0.05)[0]
    assert (early.low > 0) is (SEEN.p <= level)  # type: ignore[operator]


def test_the_chance_of_a_verdict_is_that_of_drawn_seeds() -> None:
    seen = found((0.9, -0.4, 1.5, 0.2))
    assert seen.spread is not None
    deviation, level, most = math.sqrt(seen.spread.between), 0.02, 10
    coming = np.random.default_rng(0).normal(seen.mean, deviation, (40_000, most - 4)).sum(1)
    means = (4 * seen.mean + coming) / most
    bound = scipy.stats.t.ppf(1 - level / 2, most - 1) * deviation / math.sqrt(most)
    assert chance(seen, None, most, level) == pytest.approx((means > bound).mean(), abs=0.01)
    true = 1.0  # the paper's effect, around which the coming seeds may lie
    towards = means + (most - 4) * (true - seen.mean) / most
    assert chance(seen, None, most, level, true=true) == pytest.approx((towards > bound).mean(), abs=0.01)
    assert chance(seen, None, most, level, true=0.0) == chance(seen, None, most, level)  # whichever gives more
    assert chance(seen, None, most, level, true=5.0) > 0.99
    assert chance(found((0.1, -0.1, 0.05, -0.05)), None, most, level) < 0.05
    assert chance(found((0.1, -0.1, 0.05, -0.05)), (-1.0, 1.0), most, level) > 0.99  # well within a margin
    assert chance(seen, None, 4, level) == 0.0  # no seed is left


def test_the_level_at_the_end_knows_the_looks_until_then() -> None:
    fractions = [fraction(n, 8) for n in (4, 5, 6, 7, 8)]
    looked = LookHistory(8, (look(4, 0.2, True, 0.5),))
    assert final_level(looked, 5, 0.05) == pytest.approx(nominal(fractions, 0.05)[-1])
    assert final_level(LookHistory(4), 4, 0.05) == pytest.approx(0.05)


def test_looks_are_read_by_claim_and_endpoint() -> None:
    tested = {"claim": CLAIM.text, "hypothesis": hypothesis(CLAIM), "on": "MNLI"}
    entry = ClaimLook(**tested, metric="", n=4, p=0.2, as_claimed=True, power=0.4)
    first = StudyLook(seeds={}, claims=(entry, replace(entry, metric="likelihood", p=0.01)))
    later = StudyLook(seeds={}, claims=(replace(entry, n=5, p=0.1),))
    record = SimpleNamespace(sequential=Sequential(maximum=9, looks=(first, later)))
    assert look_history(record, CLAIM) == LookHistory(9, (entry, replace(entry, n=5, p=0.1)))
    assert look_history(record, CLAIM, "likelihood") == LookHistory(9, (first.claims[1],))
    assert look_history(record, replace(CLAIM, on="NER")) == LookHistory(9)
    turned = replace(CLAIM, better=CLAIM.worse, worse=CLAIM.better)
    assert look_history(record, turned) == LookHistory(9), "the same words, another test"
    assert look_history(record, replace(CLAIM, text="In other words")) == look_history(record, CLAIM)
    assert look_history(SimpleNamespace(sequential=None), CLAIM) is None


def test_the_prospect_says_what_a_user_can_do() -> None:
    assert LookHistory(12).prospect == "not looked at yet: rounds with --until-decided look at it"
    prospects = {power: LookHistory(12, (look(4, 0.2, True, power),)).prospect for power in (0.4, 0.994, 0.996, 0.04)}
    assert prospects == {
        0.4: "with 12 seeds a verdict has a chance of 40 %",
        0.994: "with 12 seeds a verdict has a chance of 99 %",
        0.996: "with 12 seeds a verdict is almost certain",
        0.04: "no more seeds: even with all 12 planned, a verdict has a chance of 4 %",
    }
    used_up = "the 4 seeds fixed before the first look are used up; a larger budget does not change that"
    assert LookHistory(4, (look(4, 0.2, True, 0.0),)).prospect == used_up


def test_a_look_at_all_seeds_has_no_chance_left_to_show(builder: Any) -> None:
    claim = {"text": CLAIM.text, "better": "80/10/10", "worse": "100/0/0", "on": "MNLI"}
    for variant, points in (("80/10/10", 50.0), ("100/0/0", 49.0)):
        for seed in range(5):
            builder.cell(variant, "MNLI", points + seed, seed, pretrain_id=builder.pretrain(variant, seed))
    entry = {"claim": CLAIM.text, "on": "MNLI", "metric": "", "p": 0.2, "as_claimed": True, "power": 0.4}
    entry["hypothesis"] = hypothesis(Claim(**claim))
    looks = [{"seeds": {}, "claims": [entry | {"n": n}]} for n in (4, 5)]
    record = builder.record(claims=[claim], sequential={"maximum": 5, "looks": looks})
    (study,) = gather(Store(builder.root), [record])
    rows = findings.looks(findings.findings(study)).rows
    assert [(row[4], row[-1]) for row in rows] == [("4", "40 %"), ("5", "")]
