"""The cells that the claims of studies compare: a plan can have more seeds of them than of the whole table."""

import dataclasses
from collections import defaultdict

from bertlab.lab import plan as planning
from bertlab.lab.claim import GUESS, Claim
from bertlab.lab.plan import Plan, Request
from bertlab.lab.record import differences, sizes_of
from bertlab.lab.study import RANDOM_INIT, Study
from bertlab.machine import Machine


def compared(study: Study, claim: Claim) -> set[tuple[str, int]]:
    """The values that a claim compares: their variants and milestones (per cent of the steps)."""
    return {side for side in claim.sides if side[0] != GUESS} or {(study.baseline, claim.at)}


def decidable(plan: Plan, study: Study) -> list[Claim]:
    """The claims that the setting allows to test and whose cells the plan has, on variants that differ at its scale."""
    runs_of: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    for cell in plan.cells_of[study.name]:
        runs_of[cell.variant, cell.milestone, cell.measurement.name].add(cell.job.id)
    deviations, recipe_sizes = {difference.on for difference in differences(plan, study)}, sizes_of(plan, study)
    return [
        claim
        for claim in study.claims
        if not claim.untestable(not {"", claim.on} & deviations, recipe_sizes)
        and all((*value, claim.on) in runs_of for value in compared(study, claim))
        and not any(
            runs_of.get((better, claim.at, claim.on)) == runs_of.get((worse, claim.before, claim.on))
            for better, worse in claim.opposed
        )
    ]


def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request: all cells at its `seeds`, and those of decidable claims at its `claim_seeds` too.

    Raises `BadInput` as `plan.make` does.
    """
    requested = {*request.seeds}
    if requested.issuperset(request.claim_seeds):
        return planning.make(request, machine)
    seeds = tuple(sorted({*request.seeds, *request.claim_seeds}))
    whole = planning.make(dataclasses.replace(request, seeds=seeds), machine)
    needed = {
        (study.name, *value, claim.on)
        for study in request.studies
        for claim in decidable(whole, study)
        for value in (*compared(study, claim), (RANDOM_INIT, 100))  # which shows whether pre-training helps there
    }
    plan = whole.with_cells(
        cell
        for cell in whole.cells
        if cell.pretraining.seed in requested
        or (cell.study.name, cell.variant, cell.milestone, cell.measurement.name) in needed
    )
    return dataclasses.replace(plan, request=request)
