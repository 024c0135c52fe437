"""The examples on which two variants disagree most, by the probability of the right answer."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from bertlab.arrays import Float
from bertlab.report.cells import Cell
from bertlab.report.predictions import LIKELIHOOD
from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table, signed

EACH = 3
"""Examples shown for each direction of a disagreement."""
LONGEST = 160
"""Characters of a text."""


def table(study: StudyResults) -> Table:
    """Lists for each measurement the variant that disagrees most with the baseline, and the examples with the most.

    Values are probabilities of the right answer in points, means over the seeds that both variants have; examples are
    numbered as they are evaluated, with their texts where these are at hand (`Predictions.texts`). Measurements without
    predictions are left out.
    """
    rows = []
    for name in study.measurements:
        pairs = {variant: sides for variant in study.others if (sides := _sides(study, variant, name))}
        if not pairs:
            continue
        variant = max(pairs, key=lambda candidate: float(np.abs(pairs[candidate][0] - pairs[candidate][1]).mean()))
        ours, theirs = pairs[variant]
        order = np.argsort(ours - theirs, kind="stable")
        chosen = dict.fromkeys([*order[:EACH].tolist(), *order[-EACH:].tolist()])
        cell = next(cell for cells in study.by_seed(study.baseline, name).values() for cell in cells)
        texts = study.predictions.texts(cell)
        for example in chosen:
            if abs(ours[example] - theirs[example]) >= 0.05:  # what rounds to 0 is no disagreement
                points = (round(side[example], 1) + 0.0 for side in (theirs, ours))  # no minus before a zero
                values = (*(f"{point:.1f}" for point in points), signed(ours[example] - theirs[example]))
                text = textwrap.shorten(texts[example], LONGEST, placeholder=" ...") if example < len(texts) else ""
                rows.append((study.head(name), variant, f"{example:,}", *values, text))
    columns = ("on", "variant", "example", "baseline", "variant's", "difference", "text")
    return Table(columns, tuple(rows), ("variant", "text")).trimmed


def _sides(study: StudyResults, variant: str, name: str) -> tuple[Float, Float] | None:
    """The mean of each example over the seeds that a variant and the baseline share, (E,) each; None if not known."""
    ours, theirs = (study.by_seed(side, name) for side in (variant, study.baseline))
    shared = ours.keys() & theirs.keys()
    first, second = (_mean(study, {seed: side[seed] for seed in sorted(shared)}) for side in (ours, theirs))
    return (first, second) if first is not None and second is not None and first.shape == second.shape else None


def _mean(study: StudyResults, cells: Mapping[int, Sequence[Cell]]) -> Float | None:
    """The mean over seeds of the mean over fine-tuning seeds, (E,)."""
    means = []
    for seed_cells in cells.values():
        scored = [study.predictions.scored(cell, LIKELIHOOD) for cell in seed_cells]
        if not scored or None in scored:
            return None
        means.append(np.mean([scores[0].per_example() for scores in scored if scores], axis=0))
    return np.asarray(np.mean(means, axis=0)) if means else None
