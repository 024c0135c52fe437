"""What a report needs to know of a plan: which runs are the cells of a study, and how they were asked for."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import Any

from bertlab import scales
from bertlab.identity import canonical
from bertlab.plan import Cell, Plan, Request
from bertlab.study import Study


def records(plan: Plan, command: str) -> dict[str, dict[str, Any]]:
    """For each study of a plan its record, by the name it is kept under: of the same setting, the same name."""
    request = plan.request
    scale = dataclasses.replace(request.scale, grid={})  # what a search might try changes no result
    setting = canonical([scale, plan.corpora, dict(request.substitutes)])
    if request.first:
        setting += canonical(dict(request.first))
    if request.pretrained:
        setting += request.pretrained.id
    mark = hashlib.sha256(setting.encode(errors="surrogatepass")).hexdigest()[:8]
    return {
        f"{study.name}--{request.scale.name}--{mark}": _record(
            plan, study, [cell for cell in plan.cells if cell.study.name == study.name], command
        )
        for study in request.studies
    }


def _altered(request: Request) -> bool:
    """Whether anything was run otherwise than the scale has it."""
    usual = dataclasses.replace(scales.find(request.scale.name), grid={})
    return bool(request.corpora or request.vocabulary) or dataclasses.replace(request.scale, grid={}) != usual


def _record(plan: Plan, study: Study, cells: Sequence[Cell], command: str) -> dict[str, Any]:
    request = plan.request
    pretrained = {(cell.variant, cell.pretrain.id): cell for cell in cells}
    return {
        "study": study.name,
        "question": study.question,
        "source": study.source,
        "baseline": study.baseline,
        "notes": list(study.notes),
        "claims": [dataclasses.asdict(claim) for claim in study.claims],
        "scale": request.scale.name,
        "altered": _altered(request),
        "command": command,
        "corpus": list(plan.corpora),
        "pretrained": request.pretrained.label if request.pretrained else "",
        "world": plan.world,
        "substitutes": dict(request.substitutes),
        "first": dict(request.first),
        "tries": list(request.tries),
        "searched": {task: dict(changes) for task, changes in request.searched.items()},
        "positions": request.scale.recipe.model.positions,
        "rows": [
            {"variant": variant, "pretrain_seed": cell.pretrain.seed, "pretrain_id": run_id}
            for (variant, run_id), cell in pretrained.items()
        ],
        "cells": [
            {
                "variant": cell.variant,
                "measurement": cell.measurement.name,
                "metric": cell.measurement.metric,
                "pretrain_seed": cell.pretrain.seed,
                "pretrain_id": cell.pretrain.id,
                "run_id": cell.job.id,
                "published": study.figure(cell.variant, cell.measurement.name, cell.facts()["milestone"]),
            }
            | cell.facts()
            for cell in cells
        ],
    }
