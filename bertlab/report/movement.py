"""How far fine-tuning moved each level of the models of a study, see `diagnostics.layer_movement`."""

import itertools
from statistics import fmean

from bertlab.report.study_results import StudyResults
from bertlab.report.tables import Table, label

EMBEDDINGS = "embeddings_movement"


def table(study: StudyResults) -> Table:
    """A line for each task and variant: the share of its norm by which each level moved, a mean over the runs. It has
    no lines where none was measured, and no share for a layer that a smaller model lacks."""
    shares: dict[tuple[str, str], list[list[float]]] = {}
    for name, variant in itertools.product(filter(study.of_answers, study.distinct), study.variants):
        for cell in study.at(variant, name):
            if EMBEDDINGS in cell.metrics:
                layers = (cell.metrics.get(f"layer_{number}_movement") for number in itertools.count(1))
                moved = [cell.metrics[EMBEDDINGS], *itertools.takewhile(lambda share: share is not None, layers)]
                shares.setdefault((name, variant), []).append([share for share in moved if share is not None])
    levels = max((len(moved) for runs in shares.values() for moved in runs), default=0)
    heads = ["embeddings", *(f"layer {number}" for number in range(1, levels))]
    rows = []
    for (name, variant), runs in shares.items():
        means = [f"{fmean(moved):.3f}" for moved in zip(*runs, strict=True)]
        rows.append((study.head(name), label(study, variant), *means, *[""] * (levels - len(means))))
    return Table(("on", "variant", *heads), tuple(rows), ("variant",))
