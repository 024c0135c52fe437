"""Finds variants whose runs were made on machines where numbers may differ in the last bits."""

from collections.abc import Iterable, Sequence

from bertlab.report.cells import Cell, Pretraining

NUMERICS = ("device", "precision", "instructions", "threads", "compiled", "torch")
"""Facts of an environment that can change the last bits of a number."""
BySeed = dict[tuple[int, str], set[str]]
"""The values of each of `NUMERICS` in the runs of a variant, by pre-training seed."""


def mismatch(
    baseline: str, variants: Iterable[str], pretrainings: Sequence[Pretraining], cells: Sequence[Cell]
) -> dict[str, str]:
    """Variants with a seed whose `NUMERICS` differ from the baseline's or among its own runs, with what differs.

    What a run does not record, as those of earlier versions their instructions, does not count.
    """
    facts: dict[str, BySeed] = {}
    runs = [(run.variant, run.seed, run.numerics) for run in pretrainings if run.finished]
    runs += [(cell.variant, cell.pretrain_seed, cell.numerics) for cell in cells]
    for variant, seed, numerics in runs:
        for name in numerics.keys() & {*NUMERICS}:
            facts.setdefault(variant, {}).setdefault((seed, name), set()).add(numerics[name])
    reference = facts.get(baseline, {})
    differing = {variant: _differing(facts.get(variant, {}), reference) for variant in variants}
    return {variant: text for variant, text in differing.items() if text}


def _differing(facts: BySeed, reference: BySeed) -> str:
    """The values of each of `NUMERICS` that differs from the reference at some seed, in words."""
    parts = []
    for name in NUMERICS:
        by_seed = {seed: values for (seed, what), values in facts.items() if what == name}
        if any(len(values) > 1 or values != reference.get((seed, name), values) for seed, values in by_seed.items()):
            parts.append(f"{name} {' and '.join(sorted(set().union(*by_seed.values())))}")
    return ", ".join(parts)
