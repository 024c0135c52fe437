"""Verdicts on claims: right sides, floors, Holm over the family, and the rates of wrong ones by simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from bertlab.lab.study import Claim
from bertlab.report.statistics.effects import VERDICT_MIN_SEEDS, Effect, effect
from bertlab.report.verdicts import ClaimTest, Pair, holm, verdicts
from bertlab.tasks.metrics import Mean

BETTER = Claim("A beats B", better="A", worse="B", on="MNLI")
WITHIN = Claim("A and B are alike", better="A", worse="B", on="MNLI", within=1.0)
CLOSE = (0.95, 1.05, 1.0, 0.9, 1.1, 1.0)  # a mean of 1 and a small spread


def found(values: tuple[float, ...] | np.ndarray) -> Effect | None:
    """The effect of one difference a seed."""
    variant = {seed: [Mean(np.array([value]))] for seed, value in enumerate(values)}
    return effect(variant, {seed: [Mean(np.zeros(1))] for seed in variant})


def verdict(claim: Claim, values: tuple[float, ...] | np.ndarray, published: float | None = None) -> ClaimTest:
    """The verdict of a claim that stands alone."""
    return verdicts([trial(claim, found(values), published)])[0]


def trial(claim: Claim, effect: Effect | None, published: float | None) -> ClaimTest:
    """The trial of a claim about two variants."""
    return ClaimTest(claim, (Pair("A", "B", effect, published, published),))


def test_better_and_worse() -> None:
    assert verdict(BETTER, CLOSE).outcome == "reproduced"
    assert verdict(BETTER, tuple(-value for value in CLOSE)).outcome == "contradicted"
    unclear = verdict(BETTER, (2.0, -2.0, 1.5, -1.0))
    assert unclear.outcome == "undecided"
    assert unclear.p is not None
    assert unclear.p == unclear.adjusted


def test_seeds_alone_are_a_paired_t() -> None:
    values = (2.0, -2.0, 1.5, -1.0)
    assert verdict(BETTER, values).seeds_alone_p == pytest.approx(ttest_1samp(values, 0).pvalue)
    inside = max(
        ttest_1samp(CLOSE, 1.5, alternative="less").pvalue, ttest_1samp(CLOSE, -1.5, alternative="greater").pvalue
    )
    wide = replace(WITHIN, within=1.5)
    assert verdict(wide, CLOSE).seeds_alone_p == pytest.approx(inside)
    many = tuple(np.random.default_rng(0).normal(0.5, 1, 24))
    assert verdict(BETTER, many).seeds_alone_p == pytest.approx(ttest_1samp(many, 0).pvalue), "no bootstrap"
    assert verdict(BETTER, (1.0,)).seeds_alone_p is None
    assert verdict(BETTER, (1.0, 1.0, 1.0, 1.0)).seeds_alone_p is None


def test_seeds_alone_of_several_pairs() -> None:
    weak, strong = (2.0, -1.0, 1.5, 1.0), (2.0, 1.9, 2.1, 2.0)
    alone = [float(ttest_1samp(each, 0).pvalue) for each in (weak, strong)]
    both = ClaimTest(
        BETTER, tuple(Pair("A", "B", found(each), None) for each in (weak, strong)), validity_issue="a reason"
    )
    assert both.seeds_alone_p == pytest.approx(max(alone)), "whatever keeps the data from a verdict"
    against = ClaimTest(
        BETTER, tuple(Pair("A", "B", found(tuple(-one for one in each)), None) for each in (weak, strong))
    )
    assert against.seeds_alone_p == pytest.approx(2 * min(alone))


def test_within_a_margin() -> None:
    assert verdict(WITHIN, tuple(value - 0.8 for value in CLOSE)).outcome == "reproduced"
    assert verdict(WITHIN, tuple(value + 0.5 for value in CLOSE)).outcome == "contradicted"
    assert verdict(WITHIN, tuple(-value - 0.5 for value in CLOSE)).outcome == "contradicted"
    assert verdict(WITHIN, CLOSE).outcome == "undecided"  # on the margin
    assert verdict(WITHIN, (3.0, -3.0, 3.0, -3.0)).outcome == "undecided"  # no difference seen is not no difference


def test_within_a_margin_or_better() -> None:
    claim = Claim("A is not much worse", better="A", worse="B", on="MNLI", within=1.0, or_better=True)
    assert claim.allowed == "within 1 or better"
    assert verdict(claim, tuple(value + 5.0 for value in CLOSE)).outcome == "reproduced"
    assert verdict(claim, tuple(value - 1.2 for value in CLOSE)).outcome == "reproduced"
    assert verdict(claim, tuple(value - 2.0 for value in CLOSE)).outcome == "undecided"  # on the margin
    assert verdict(claim, tuple(value - 2.5 for value in CLOSE)).outcome == "contradicted"


def test_no_verdict_below_the_floor() -> None:
    below = verdict(BETTER, CLOSE[: VERDICT_MIN_SEEDS - 1], published=0.5)
    assert below.outcome == "undecided"
    assert (below.p, below.adjusted) == (None, None)
    assert below.pair.effect is not None
    assert below.pair.effect.interval is not None  # shown all the same
    assert below.need == (VERDICT_MIN_SEEDS, 0.5)
    assert verdict(BETTER, CLOSE[:VERDICT_MIN_SEEDS]).outcome == "reproduced"
    assert verdict(WITHIN, (0.0, 0.01)).outcome == "undecided"


def test_nothing_measured_and_nothing_that_varies() -> None:
    pending = verdicts([trial(BETTER, None, 1.0)])[0]
    assert (pending.outcome, pending.p, pending.need) == ("undecided", None, None)
    same = verdict(WITHIN, (0.0,) * 8)  # two variants that are one, or that have both collapsed
    assert (same.outcome, same.p) == ("undecided", None)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_the_order_and_begins_as_bonferroni(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(p <= each <= 1 for p, each in zip(ps, adjusted, strict=True))
    assert min(adjusted) == pytest.approx(min(1.0, len(ps) * min(ps)))  # the least p stands against Bonferroni's level
    order = sorted(range(len(ps)), key=ps.__getitem__)
    assert [adjusted[index] for index in order] == sorted(adjusted)


def test_a_verdict_counts_all_claims_of_the_study() -> None:
    weak = found((1.0, 0.2, 0.9, 0.3, 1.2, -0.1))
    alone = verdicts([trial(BETTER, weak, None)])[0]
    assert alone.outcome == "reproduced"
    # The others are not measured yet; what is decided must not depend on when they are.
    among = verdicts([trial(BETTER, weak, None), *[trial(BETTER, None, None)] * 3])[0]
    assert among.outcome == "undecided"
    assert among.p == alone.p
    assert among.adjusted == pytest.approx(4 * alone.p)  # type: ignore[operator]


def test_a_claim_that_its_setting_cannot_test_costs_the_others_nothing() -> None:
    weak = found((1.0, 0.2, 0.9, 0.3, 1.2, -0.1))
    barred = replace(trial(WITHIN, weak, None), testable=False)
    decided, *others = verdicts([trial(BETTER, weak, None), *[barred] * 3])
    assert decided.adjusted == decided.p
    assert [(each.outcome, each.adjusted, each.need) for each in others] == [("undecided", None, None)] * 3


def test_the_seeds_that_it_would_take() -> None:
    values = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) / math.sqrt(1.2)  # a standard deviation of 1
    alone = verdict(BETTER, values, published=1.0)
    assert (alone.outcome, alone.need) == ("undecided", (10, 1.0))
    among = verdicts([trial(BETTER, found(values), 1.0)] * 3)[0]
    assert among.need is not None
    assert among.need[0] > 10  # the family's hardest step
    assert verdict(WITHIN, values).need == (11, 0.0)
    nothing = verdict(BETTER, values).need  # published or measured
    assert nothing == (math.inf, pytest.approx(0.0))
    published = verdict(WITHIN, values, published=0.5).need
    assert published is not None
    assert published[0] > 11


def test_wrong_verdicts_on_a_family_are_as_rare_as_promised() -> None:
    rng = np.random.default_rng(3)
    wrong = right = 0
    for _ in range(500):
        noise = rng.standard_normal((4, 6))
        # No effect in three of four claims, a large one in the last.
        trials = [trial(BETTER, found(each), None) for each in noise + np.array([[0.0], [0.0], [0.0], [4.0]])]
        outcomes = [each.outcome for each in verdicts(trials)]
        wrong += any(each != "undecided" for each in outcomes[:3])
        right += outcomes[3] == "reproduced"
    assert wrong / 500 <= 0.075
    assert right / 500 > 0.9


def several(*effects: tuple[float, ...], within: float | None = None) -> ClaimTest:
    """The verdict of a claim that a variant lies above several others."""
    worse = tuple("BCD"[: len(effects)])
    claim = Claim("A beats all", better="A", worse=worse, on="MNLI", within=within)
    assert claim.pairs == tuple(("A", variant) for variant in worse)
    pairs = zip(claim.pairs, effects, strict=True)
    return verdicts([ClaimTest(claim, tuple(Pair(*pair, found(values), None) for pair, values in pairs))])[0]


def test_a_claim_about_several_variants_has_to_hold_for_each() -> None:
    large, none, wrong = CLOSE, (0.6, -0.5, 0.4, -0.3, 0.1, -0.2), tuple(-value for value in CLOSE)
    assert several(large, large).outcome == "reproduced"
    unclear = several(large, none, large)
    assert unclear.outcome == "undecided"
    assert (unclear.pair.worse, unclear.measured) == ("C", 3)
    assert several(large, none, wrong).outcome == "contradicted"  # one that is wrong is enough
    assert several(none, wrong).pair.worse == "C"
    assert several(tuple(value - 1 for value in CLOSE), large, within=2.0).pair.worse == "C"


def test_the_p_of_several_variants_is_the_largest_or_bonferronis() -> None:
    one, two = (0.9, 1.4, 0.2, 1.1), (0.5, 1.9, 0.1, 0.7)
    alone = [several(each).p for each in (one, two)]
    assert several(one, two).p == max(alone)  # type: ignore[type-var]
    against = several(one, tuple(-value for value in two)).p
    assert against == pytest.approx(2 * alone[1])  # type: ignore[operator]


def test_a_variant_that_was_not_measured_leaves_the_claim_undecided() -> None:
    claim = Claim("A beats all", better="A", worse=("B", "C"), on="MNLI")
    pairs = (Pair("A", "B", found(CLOSE), None), Pair("A", "C", None, None))
    left = verdicts([ClaimTest(claim, pairs)])[0]
    assert (left.outcome, left.measured, left.p, left.need) == ("undecided", 1, None, None)
    assert left.pair.worse == "B"  # what is known is shown


def test_shown_is_the_pair_that_decides() -> None:
    sure = several((1.5, 1.51, 1.49, 1.5), (3.0, 9.0, -2.0, 4.0))  # the smaller effect is certain, the larger is not
    assert sure.outcome == "undecided"
    assert sure.pair.worse == "C"


def test_all_pairs_of_a_claim_have_to_be_seen_at_once() -> None:
    values = tuple(np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) / math.sqrt(1.2) + 1)
    alone, five = several(values).need, several(*[values] * 3).need
    assert alone is not None
    assert five is not None
    assert five[0] > alone[0]


def test_what_the_data_cannot_carry_is_undecided() -> None:
    lost = ClaimTest(BETTER, (Pair("A", "B", found(CLOSE), None),), validity_issue="B has learnt nothing")
    assert (verdicts([lost])[0].outcome, verdicts([lost])[0].p) == ("undecided", None)
