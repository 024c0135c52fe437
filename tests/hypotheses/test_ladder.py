"""Signs at a smaller scale beside those of the largest; forecasts of signs, what they rest on, and their scores."""

import numpy as np
import pandas
import pytest

from bertlab.errors import BadInput
from bertlab.hypotheses import forecasting, ladder
from bertlab.hypotheses.ladder import COLUMNS, FEWER_STEPS, SMALLER
from simulated import differences

COST = {"micro": 1.0, "tiny": 8.0, "mini": 40.0}


def line(scale, effect, variant="b", other="a", measurement="MNLI", milestone=100, study="nsp"):
    """A difference at a scale."""
    rung = (
        study,
        scale,
        "on a corpus",
        f"{study}-{scale}",
        f"{scale} on a corpus",
        milestone,
        COST[scale] * milestone / 100,
    )
    return *rung, measurement, variant, other, "metric", "accuracy", effect, 4, 1.0, frozenset()


def table(*lines):
    return pandas.DataFrame(lines, columns=COLUMNS)


def test_each_difference_stands_beside_that_of_the_largest_rung_that_has_it():
    climbed = ladder.climbs(
        table(
            *(line("micro", 2.0), line("micro", -1.0, milestone=50), line("tiny", -3.0), line("mini", 1.0)),
            *(line("micro", 2.0, "c"), line("tiny", 4.0, "c")),
            *(line("micro", 1.0, measurement="NER"), line("tiny", 0.0, measurement="NER"), line("tiny", 1.0, "d")),
        )
    )
    lines = climbed[["variant", "measurement", "smaller", "larger", "step", "cost_share", "right"]]
    assert [tuple(row) for row in lines.itertuples(index=False)] == [
        ("b", "MNLI", "micro on a corpus", "mini on a corpus", SMALLER, 1 / 40, True),
        ("b", "MNLI", "micro on a corpus, 50 % of the steps", "mini on a corpus", SMALLER, 1 / 80, False),
        ("b", "MNLI", "tiny on a corpus", "mini on a corpus", SMALLER, 1 / 5, False),
        ("c", "MNLI", "micro on a corpus", "tiny on a corpus", SMALLER, 1 / 8, True),
        ("b", "NER", "micro on a corpus", "tiny on a corpus", SMALLER, 1 / 8, False),  # zero has no sign
    ]


def test_milestones_of_the_same_runs_are_no_other_scale():
    (step,) = ladder.climbs(table(line("micro", 1.0, milestone=20), line("micro", 2.0)))["step"]
    assert step == FEWER_STEPS


@pytest.mark.parametrize(("runs", "lines"), [("r1", 1), ("r2", 2)])
def test_what_two_settings_have_of_the_same_runs_counts_once(runs, lines):
    settings = table(line("micro", 1.0), line("tiny", 2.0), line("tiny", 2.0))
    settings["key"], settings["runs"] = ["0", "1", "2"], [frozenset({run}) for run in ("r0", "r1", runs)]
    assert len(ladder.climbs(settings)) == lines


def test_variants_count_and_not_their_pairs():
    pairs = [line("tiny", 1.0, *sides) for sides in (("b", "a"), ("c", "a"), ("c", "b"))]
    assert ladder.independent(table(*pairs)) == 2
    assert (
        ladder.independent(table(*pairs, *(line("tiny", 1.0, measurement="NER"), line("tiny", 1.0, study="size")))) == 3
    )


def test_the_interval_is_wilsons():
    ends = ladder.interval(0.5, 10)
    assert (ends.low, ends.high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert ladder.interval(1.0, 3).low == pytest.approx(3 / (3 + 1.96**2))


def test_the_interval_covers_the_share_of_all_variants():
    """The share follows from the correlation of what is measured: 0.5 + asin(r) / pi, with r = .65 x 4 / 5."""
    share, covered = 0.5 + np.arcsin(0.52) / np.pi, 0
    for seed in range(40):
        climbed = ladder.climbs(differences(np.random.default_rng(seed), 1, 6, 0.65))
        covered += ladder.interval(climbed["right"].mean(), ladder.independent(climbed)).covers(share)
    assert covered >= 37


def test_shares_are_counted_by_columns_the_cheapest_first():
    climbed = ladder.climbs(
        table(
            line("tiny", 1.0), line("micro", -1.0), line("mini", 2.0), line("micro", 1.0, "c"), line("tiny", 1.0, "c")
        )
    )
    costly, cheap = ladder.shares(climbed, ["smaller"])[::-1]
    assert (cheap["smaller"], cheap["pairs"], cheap["right"], cheap["share"]) == ("micro on a corpus", 2, 1, 0.5)
    assert (costly["smaller"], costly["right"], costly["cost_share"]) == ("tiny on a corpus", 1, 0.2)


def test_scales_are_named_whole():
    lines = table(line("micro", 1.0), line("mini", 1.0))
    assert [*ladder.at(lines, ["micro"])["scale"]] == ["micro"]
    assert [*ladder.at(lines, ["mini on a corpus", "micro"])["scale"]] == ["micro", "mini"]
    with pytest.raises(BadInput, match=r"no differences at scale 'mi': they are measured at micro, mini"):
        ladder.at(lines, ["mi"])


def climbed(seed=0, studies=20, correlation=0.65, **options):
    lines = differences(np.random.default_rng(seed), studies, 5, correlation, **options)
    return ladder.climbs(forecasting.standardised(lines))


def test_the_probability_is_the_share_of_positive_differences_with_that_one_below():
    rng, tau, noise, correlation = np.random.default_rng(1), 2.0, 1.5, 0.7
    true = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 400_000) * tau
    small, large = (true + rng.normal(0, noise, true.shape)).T
    near = abs(small - 2.5) < 0.1
    z, reliability = 2.5 / np.hypot(tau, noise), tau**2 / (tau**2 + noise**2)
    assert (large[near] > 0).mean() == pytest.approx(forecasting.probability(z, reliability, correlation), abs=0.015)


@pytest.mark.parametrize(("z", "reliability", "correlation"), [(0, 0.9, 0.9), (3, 0, 0.9), (3, 0.9, 0)])
def test_nothing_measured_or_nothing_shared_is_a_coin(z, reliability, correlation):
    assert forecasting.probability(z, reliability, correlation) == 0.5


def test_the_variance_of_effects_is_without_that_of_noise():
    rng = np.random.default_rng(2)
    several = [forecasting.standardised(differences(rng, 30, 4, 0.5, tau=tau))["reliability"] for tau in (1.0, 3.0)]
    assert [reliability.mean() for reliability in several] == pytest.approx([0.5, 0.9], abs=0.06)
    assert forecasting.standardised(differences(rng, 30, 4, 0.5, tau=0.0))["reliability"].max() < 0.1


def test_a_single_seed_has_the_noise_of_the_others():
    lines = differences(np.random.default_rng(3), 2, 4, 0.5)
    lines.loc[0, ["n", "variance"]] = 1, np.nan
    assert forecasting.standardised(lines)["noise"][0] == 4.0  # theirs is 1 for four seeds
    assert forecasting.standardised(lines.assign(variance=np.nan)).empty


def test_the_correlation_is_that_of_the_effects_with_a_prior_for_few():
    nothing = climbed()[:0]
    assert 0.5 < forecasting.correlation(nothing) < np.sin(0.3 * np.pi)  # where 80 % of signs are right
    assert forecasting.correlation(climbed(correlation=0.0)) < 0.25
    assert 0.75 < forecasting.correlation(climbed(correlation=0.95)) < 0.98
    assert forecasting.correlations(climbed()) == {"metric": forecasting.correlation(climbed())}


def test_milestones_of_one_run_say_nothing_of_scales():
    assert forecasting.correlations(climbed().assign(step=ladder.FEWER_STEPS)) == {}


def test_forecasts_are_calibrated():
    """Their score is what it is expected to be if each probability is right."""
    parts = pandas.concat([forecasting.left_out(climbed(seed, studies=10)) for seed in range(4)])
    chances = parts["probability"]
    assert parts["loss"].mean() == pytest.approx((chances * (1 - chances)).mean(), abs=0.015)
    for part in forecasting.calibration(parts)[:4]:
        assert part["right"] == pytest.approx(part["forecast"], abs=0.08)


def test_a_study_does_not_forecast_itself():
    lines = climbed(studies=4)
    turned = lines.assign(effect_largest=lines["effect_largest"].where(lines["study"] != "study 0", lambda x: -x))
    before, after = (forecasting.left_out(each).groupby("study")["probability"] for each in (lines, turned))
    same = {study: np.allclose(values, after.get_group(study)) for study, values in before}
    assert same == {"study 0": True, "study 1": False, "study 2": False, "study 3": False}


def compared(*forecasts):
    """Forecasts from (study, probability, measured difference)."""
    lines = pandas.DataFrame(forecasts, columns=["study", "probability", "effect_largest"])
    return forecasting.compared(lines.assign(variant="b", other="a"))


def test_a_score_has_an_interval_over_studies():
    figures = forecasting.brier(compared(("x", 0.8, 2.0), ("y", 0.6, -1.0), ("z", 0.5, 0.0)))
    assert figures["brier"] == pytest.approx((0.04 + 0.36 + 0) / 3)
    means = np.array([0.18, 0.02, 0.2])  # without x, y and z
    half = 4.3027 * np.sqrt(2 / 3 * ((means - means.mean()) ** 2).sum())
    assert (figures["low"], figures["high"]) == pytest.approx((0.0, 0.4 / 3 + half), abs=1e-4)
    alone = forecasting.brier(compared(("x", 0.8, 2.0)))
    assert (alone["signs"], alone["low"], alone["high"]) == (1, None, None)


def test_calibration_is_of_the_sign_that_is_forecast():
    parts = forecasting.calibration(compared(("x", 0.1, -1.0), ("x", 0.95, -1.0), ("y", 0.5, 0.0), ("y", 1.0, 3.0)))
    assert [(part["from"], part["signs"], part["right"]) for part in parts] == [(0.5, 1, 0.5), (0.9, 3, 2 / 3)]
    assert parts[1]["forecast"] == pytest.approx(0.95)
