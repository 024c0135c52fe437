"""Records of studies: which runs are the values of a study, and which commands requested them.

`store/union.py` joins the records of one study and setting.
"""

import dataclasses
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
    made = [_record(plan, study, options) for study in plan.request.studies]
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


def _measured(measurement: Measurement) -> Any:
    """A measurement without its milestones, which may change, and without the path of its examples."""
    task = measurement.task
    if isinstance(task, Task):
        task = dataclasses.replace(task, path="")
    found = science(dataclasses.replace(measurement, task=task, milestones=(100,)))
    if found["metric"] == "accuracy":  # left out, as it is where no metric is given
        del found["metric"]
    return found


def _record(plan: Plan, study: Study, options: str) -> dict[str, Any]:
    request, file = plan.request, study.file
    cells = [cell for cell in plan.cells if cell.study.name == study.name]
    pretrained = {(cell.variant, cell.pretrain.id): cell for cell in cells}
    request_options = {
        "study": file.given if file else study.name,
        "options": options,
        "seeds": list(request.seeds),
        "finetune_seeds": request.finetune_seeds,
        "only": list(request.only),
        "random_init": request.random_init,
    }
    return {
        "study": study.name,
        "setting": _setting(plan, study),
        "definition": {
            "baseline": study.baseline,
            "code": file.code.sha256 if file and file.code else "",
            "variants": {each.name: science(each) for each in study.variants},
            "measurements": {each.name: _measured(each) for each in study.measurements},
        },
        "requests": [request_options],
        "sources": [dict(file.sources)] if file else [],
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
        "rows": [
            {
                "variant": cell.variant,
                "pretrain_seed": cell.pretrain.seed,
                "pretrain_id": cell.pretrain.id,
                "corpus_id": cell.pretrain.corpus.id if isinstance(cell.pretrain, Pretrain) else "",
            }
            for cell in pretrained.values()
        ],
        "cells": [_cell(study, cell) for cell in cells],
    }


def _cell(study: Study, cell: Cell) -> dict[str, Any]:
    job = cell.job
    milestone = job.milestone if isinstance(job, Measure) else 100
    value = {
        "variant": cell.variant,
        "measurement": cell.measurement.name,
        "metric": cell.measurement.metric,
        "pretrain_seed": cell.pretrain.seed,
        "pretrain_id": cell.pretrain.id,
        "run_id": job.id,
        "content": "",
        "published": study.figure(cell.variant, cell.measurement.name, milestone),
        "task": "held-out text",
        "dataset": "held-out text",
        "split": "held-out",
        "method": "pretraining",
        "milestone": milestone,
        "finetune_seed": 0,
    }
    if isinstance(job, Measure):
        task = job.data.task
        value |= {
            "content": " after ".join(each.content for each in job.tasks),
            "task": job.data.name,
            "dataset": task.dataset,
            "split": task.test if cell.measurement.split == "test" else task.evaluation,
            "method": job.settings.kind,
            "finetune_seed": job.finetune_seed,
        }
    return value
