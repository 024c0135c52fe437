"""Signs at a smaller scale beside those of the largest, and the interval of their share."""

import numpy as np
import pandas
import pytest

from bertlab.errors import BadInput
from bertlab.hypotheses import ladder
from bertlab.hypotheses.ladder import COLUMNS, FEWER_STEPS, SMALLER
from simulated_ladder import differences

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
