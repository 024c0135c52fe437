"""The cells that the claims of studies compare: a plan can have more seeds of them than of the whole table."""

import dataclasses

from bertlab.lab import plan as planning
from bertlab.lab.plan import Plan, Request
from bertlab.lab.record import differences
from bertlab.lab.study import GUESS, Claim, Study
from bertlab.machine import Machine


def compared(study: Study, claim: Claim) -> set[str]:
    """The variants whose values a claim compares."""
    variants = {variant for pair in claim.pairs for variant in pair if variant != GUESS}
    return variants or {study.baseline}


def decidable(plan: Plan, study: Study) -> list[Claim]:
    """The claims whose cells the plan has; those within a margin only in the paper's setting."""
    known = {(cell.variant, cell.measurement.name) for cell in plan.cells if cell.study.name == study.name}
    deviations = {each["on"] for each in differences(plan, study)}
    return [
        claim
        for claim in study.claims
        if (claim.within is None or not {"", claim.on} & deviations)
        and all((variant, claim.on) in known for variant in compared(study, claim))
    ]


def make(request: Request, machine: Machine) -> Plan:
    """The plan of a request: all cells at its `seeds`, and those of decidable claims at its `claim_seeds` too.

    Raises `BadInput` as `plan.make` does.
    """
    if not request.claim_seeds:
        return planning.make(request, machine)
    seeds = tuple(sorted({*request.seeds, *request.claim_seeds}))
    whole = planning.make(dataclasses.replace(request, seeds=seeds), machine)
    needed = {
        (study.name, variant, claim.on)
        for study in request.studies
        for claim in decidable(whole, study)
        for variant in compared(study, claim)
    }
    cells = [
        cell
        for cell in whole.cells
        if cell.pretrain.seed in request.seeds or (cell.study.name, cell.variant, cell.measurement.name) in needed
    ]
    jobs = planning.in_order([cell.job for cell in cells])
    return dataclasses.replace(whole, request=request, cells=tuple(cells), jobs=jobs)
