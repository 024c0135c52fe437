"""Records of studies: which runs are the values of a study, and which commands requested them.

`store/union.py` joins the records of one study and setting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from bertlab.lab.differences import differences
from bertlab.lab.jobs import Measure, Pretrain
from bertlab.lab.plan import Cell, Plan
from bertlab.lab.study import Measurement, Study
from bertlab.recipe.identity import identity, science
from bertlab.store import union
from bertlab.tasks.task import Task


def records(plan: Plan, options: str = "") -> dict[str, dict[str, Any]]:
    """The record of each study of a plan, by its file name, which is the same for equal settings.

    `options` are the options of the command line that define the setting, quoted for a shell.
    """
    made = [
        _record(plan, study, [cell for cell in plan.cells if cell.study.name == study.name], options)
        for study in plan.request.studies
    ]
    return {union.name_of(record): record for record in made}


def _setting(plan: Plan, study: Study) -> str:
    """The id of everything that the runs of a study share, without the grid of a search, which changes no result."""
    request = plan.request
    return identity(
        "record",
        scale=dataclasses.replace(request.scale.following(study.at_paper), grid={}, assigned=()),
        text=plan.text,
        substitutes=request.substitutes,
        intermediate_task=request.intermediate_task,
        pretrained=request.pretrained.id if request.pretrained else "",
    )


def _definition(study: Study) -> dict[str, Any]:
    """The identity of a study: its baseline, its code, and the definitions of variants and measurements."""
    code = study.file.code if study.file is not None else None
    return {
        "baseline": study.baseline,
        "code": code.sha256 if code is not None else "",
        "variants": {each.name: science(each) for each in study.variants},
        "measurements": {each.name: _measured(each) for each in study.measurements},
    }


def _measured(measurement: Measurement) -> Any:
    """A measurement without its milestones, which may change, and without the path of its examples."""
    task = measurement.task
    if isinstance(task, Task):
        task = dataclasses.replace(task, path="")
    found = science(dataclasses.replace(measurement, task=task, milestones=(100,)))
    if found["metric"] == "accuracy":  # left out, as it is where no metric is given
        del found["metric"]
    return found


def _record(plan: Plan, study: Study, cells: Sequence[Cell], options: str) -> dict[str, Any]:
    request = plan.request
    pretrained = {(cell.variant, cell.pretrain.id): cell for cell in cells}
    request_options = {
        "study": study.file.given if study.file is not None else study.name,
        "options": options,
        "seeds": list(request.seeds),
        "finetune_seeds": request.finetune_seeds,
        "only": list(request.only),
        "random_init": request.random_init,
    }
    return {
        "study": study.name,
        "setting": _setting(plan, study),
        "definition": _definition(study),
        "requests": [request_options],
        "sources": [dict(study.file.sources)] if study.file is not None else [],
        "question": study.question,
        "source": study.source,
        "baseline": study.baseline,
        "notes": list(study.notes),
        "summary": study.summary,
        "claims": [dataclasses.asdict(claim) for claim in study.claims],
        "scale": request.scale.name,
        "differences": differences(plan, study),
        "command": union.command([request_options]),
        "corpus": list(plan.corpora),
        "pretrained": request.pretrained.label if request.pretrained else "",
        "world": plan.world,
        "substitutes": dict(request.substitutes),
        "intermediate_task": dict(request.intermediate_task),
        "tries": list(request.tries),
        "searched": {task: dict(changes) for task, changes in request.searched.items()},
        "positions": request.scale.recipe.model.positions,
        "rows": [
            {"variant": variant, "pretrain_seed": cell.pretrain.seed, "pretrain_id": run_id, "corpus_id": _corpus(cell)}
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
                "content": _content(cell),
                "published": study.figure(cell.variant, cell.measurement.name, cell.facts()["milestone"]),
            }
            | cell.facts()
            for cell in cells
        ],
    }


def _corpus(cell: Cell) -> str:
    """The id of the corpus of a pre-training; empty for an import."""
    return cell.pretrain.corpus.id if isinstance(cell.pretrain, Pretrain) else ""


def _content(cell: Cell) -> str:
    """The version of the examples of a value."""
    if not isinstance(cell.job, Measure):
        return ""
    return " after ".join(each.content for each in cell.job.tasks)
