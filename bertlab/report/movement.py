"""How far fine-tuning moved each level of the models of a study, see `diagnostics.layer_movement`."""

import itertools
from statistics import fmean

from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table, label

MOVEMENT = "_movement"


def table(study: StudyResults) -> Table:
    """A line for each task and variant: the share of its norm by which each level moved, a mean over the runs. It has
    no lines where none was measured, and no share for a layer that a smaller model lacks."""
    layers = max((sum(metric.startswith("layer_") for metric in cell.metrics) for cell in study.cells), default=0)
    metrics = [f"embeddings{MOVEMENT}", *(f"layer_{number}{MOVEMENT}" for number in range(1, layers + 1))]
    rows = []
    for name, variant in itertools.product(filter(study.of_answers, study.distinct), study.variants):
        if runs := [cell.metrics for cell in study.at(variant, name) if metrics[0] in cell.metrics]:
            shares = ([run[metric] for run in runs if metric in run] for metric in metrics)
            means = (f"{fmean(moved):.3f}" if moved else "" for moved in shares)
            rows.append((study.head(name), label(study, variant), *means))
    heads = (metric.removesuffix(MOVEMENT).replace("_", " ") for metric in metrics)
    return Table(("on", "variant", *heads), tuple(rows), ("variant",))
