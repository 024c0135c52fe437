"""How often a smaller scale, or a part of the steps, has the sign of a difference that one's own largest run has.

Magnusson et al. (2025, DataDecide) count the same for the data of a pre-training: the better of two at 150M parameters
is the better at 1B in about 80 % of pairs, and no extrapolation of single variants does better than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bertlab.errors import BadInput
from bertlab.report.pairs import PAIR, ROUNDING, SECTION, measured_pairs
from bertlab.report.statistics.variance import Interval
from bertlab.report.study_results import StudyResults
from bertlab.tasks.metrics import NORMAL_95

if TYPE_CHECKING:
    import pandas

RUNG = [*SECTION, "heading", "milestone", "cost"]
"""A study at one setting, after `milestone` per cent of the steps: `heading` is `Section.heading`, and `cost` are the
operations of the baseline's pre-training until then."""
DIFFERENCE = [*PAIR, "endpoint", "metric"]
"""What is compared at several rungs: `variant` minus `other`."""
COLUMNS = [*RUNG, *DIFFERENCE, "effect", "n", "variance", "runs"]
"""The differences of a store: the mean `effect` over `n` seeds with its `variance`, NaN where it is not known."""
SMALLER, FEWER_STEPS = "at a smaller scale", "after fewer steps"


def differences(studies: Iterable[StudyResults]) -> pandas.DataFrame:
    """`COLUMNS` of all pairs of variants that are pre-trained here, at each rung of each study."""
    import pandas

    table = pandas.DataFrame([line for study in studies for line in _lines(study)], columns=COLUMNS)
    return table.astype({"cost": float, "effect": float, "variance": float})


def _lines(study: StudyResults) -> Iterator[tuple[Any, ...]]:
    for pair in measured_pairs(study):
        if pair.flops is not None:
            rung = *study.columns.values(), study.heading, pair.milestone, pair.flops
            compared = *pair[:4], study.column(pair.measurement)[0].metric
            effect, spread = pair.effect, pair.effect.spread
            variance = math.nan if spread is None else spread.variance(effect.n)
            yield *rung, *compared, effect.mean, effect.n, variance, pair.runs


def named(heading: str, name: str) -> bool:
    """Whether a scale such as `tiny`, or a setting such as `tiny on wikitext-103`, is that of a section's heading."""
    return heading == name or heading.startswith(f"{name} ")


def at(table: pandas.DataFrame, names: Sequence[str]) -> pandas.DataFrame:
    """The lines at any of these scales or settings. Raises `BadInput` for one without any."""
    for name in names:
        if not any(named(heading, name) for heading in table["heading"]):
            scales = ", ".join(sorted({*table["scale"]})) or "no scale"
            raise BadInput(f"no differences at scale '{name}': they are measured at {scales}")
    return table[[any(named(heading, name) for name in names) for heading in table["heading"]]]


def climbs(table: pandas.DataFrame) -> pandas.DataFrame:
    """Each difference at a smaller rung beside the same at the largest that has it, whose columns end in `_largest`.

    `smaller` and `larger` name the two, `step` says whether they are two settings or two milestones of the same runs.
    `cost_share` is the cost of the smaller one in that of the largest, and `right` whether the signs are equal: a
    difference of zero has no sign. What several settings have of the same runs is there once.
    """
    import numpy as np

    same = ["study", *DIFFERENCE]
    whole = table[table["milestone"] == 100]
    largest = whole[whole["cost"] == whole.groupby(same)["cost"].transform("max")]
    both = table.merge(largest, on=same, suffixes=("", "_largest"))
    both = both[both["cost"] < both["cost_largest"]]
    both = both.drop_duplicates([*same, "milestone", "cost", "runs", "runs_largest"]).reset_index(drop=True)
    part = both["milestone"].map(lambda percent: "" if percent == 100 else f", {percent} % of the steps")
    sizes = both[["effect", "effect_largest"]].abs().min(axis=1)
    return both.assign(
        smaller=both["heading"] + part.astype(str),
        larger=both["heading_largest"],
        step=np.where(both["key"] == both["key_largest"], FEWER_STEPS, SMALLER),
        cost_share=both["cost"] / both["cost_largest"],
        right=(both["effect"] * both["effect_largest"] > 0) & (sizes > ROUNDING),
    )


def independent(table: pandas.DataFrame) -> int:
    """How many independent differences these hold: V variants of a study have V - 1, on however many measurements."""
    sides = table.groupby("study")[["variant", "other"]]
    return sum(len({*lines["variant"], *lines["other"]}) - 1 for _, lines in sides)


def interval(share: float, n: int) -> Interval:
    """Wilson's 95 % interval of a share of `n` independent cases."""
    z = NORMAL_95**2 / n
    middle, half = share + z / 2, math.sqrt(z * share * (1 - share) + z * z / 4)
    return Interval((middle - half) / (1 + z), (middle + half) / (1 + z))


def shares(climbed: pandas.DataFrame, by: Sequence[str]) -> list[dict[str, Any]]:
    """The share of signs that are right, with its interval, in each group by the columns `by`, the cheapest first."""
    lines = []
    for names, group in climbed.groupby([*by], sort=False):
        share = float(group["right"].mean())
        ends = interval(share, independent(group))
        figures = {"pairs": len(group), "right": int(group["right"].sum()), "share": share}
        figures |= {"low": ends.low, "high": ends.high, "cost_share": float(group["cost_share"].mean())}
        lines.append(dict(zip(by, names, strict=True)) | figures)
    return sorted(lines, key=lambda line: line["cost_share"])
