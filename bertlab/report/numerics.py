"""Finds variants whose runs were made on machines where numbers may differ in the last bits."""

import itertools

from bertlab.report.cells import NUMERICS
from bertlab.report.study_values import StudyValues


def mismatch(study: StudyValues) -> dict[str, str]:
    """Variants with a seed whose `NUMERICS` differ from the baseline's or among its own runs, with what differs.

    What a run does not record, as those of earlier versions their instructions, does not count.
    """
    runs = [(run.variant, run.seed, run.numerics) for run in study.pretrainings if run.finished]
    runs += [(cell.variant, cell.pretrain_seed, cell.numerics) for cell in study.cells]
    facts: dict[tuple[str, str], dict[int, set[str]]] = {}  # by variant and name, the values at each seed
    for variant, seed, numerics in runs:
        for name, value in numerics.items():
            facts.setdefault((variant, name), {}).setdefault(seed, set()).add(value)
    differing: dict[str, list[str]] = {}
    for variant, name in itertools.product(study.variants, NUMERICS):
        by_seed, reference = facts.get((variant, name), {}), facts.get((study.baseline, name), {})
        if any(len(values) > 1 or values != reference.get(seed, values) for seed, values in by_seed.items()):
            differing.setdefault(variant, []).append(f"{name} {' and '.join(sorted(set().union(*by_seed.values())))}")
    return {variant: ", ".join(parts) for variant, parts in differing.items()}
