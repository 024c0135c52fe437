"""Differences between a planned study and its paper's setting. Without any, sizes can be compared, not only signs.

Wikipedia and books, a given vocabulary, cased text for NER and settings that a search chose from the papers' grid are
the papers' own. Device, precision and numbers of seeds do not count as differences.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from bertlab.lab import scales
from bertlab.lab.jobs import ImportCheckpoint, Measure, Pretrain
from bertlab.lab.plan import Cell, Plan
from bertlab.lab.scales import Scale
from bertlab.lab.study import Measurement, Study
from bertlab.recipe import Recipe
from bertlab.recipe.ranges import Arm
from bertlab.tasks import kinds

GOOGLE = "google-bert/bert-base-"
"""The published checkpoints of BERT base, which BERT's own tables use."""


def differences(plan: Plan, study: Study) -> list[dict[str, str]]:
    """Each difference as `what`, and its measurement as `on`, which is empty for all measurements."""
    cells = [cell for cell in plan.cells if cell.study.name == study.name]
    paper = scales.find("paper").following(study.at_paper)
    found = [{"on": "", "what": what} for what in (*study.unlike, *_pretraining(plan, study, paper), *_text(plan))]
    for measurement in study.measurements:
        own = [cell for cell in cells if cell.measurement.name == measurement.name]
        found += [{"on": measurement.name, "what": what} for what in _measured(plan, study, measurement, own, paper)]
    return found


def _pretraining(plan: Plan, study: Study, paper: Scale) -> Iterator[str]:
    pretrained = plan.request.pretrained
    if isinstance(pretrained, ImportCheckpoint):
        if not pretrained.checkpoint.name.startswith(GOOGLE):
            yield f"pre-trained elsewhere, as {pretrained.checkpoint.name}"
        return
    scale = plan.request.scale.following(study.at_paper)
    baseline = study.variant(study.baseline)
    ours = pretrained.recipe if isinstance(pretrained, Pretrain) else study.recipe(baseline, scale.recipe)
    theirs = study.recipe(baseline, paper.recipe)
    ignored = {"seed", "tokenizer.lowercase", "tokenizer.given"} | (
        {"tokenizer.vocabulary"} if ours.tokenizer.given else set()
    )
    yield from _fields(ours, theirs, ignored)


def _text(plan: Plan) -> Iterator[str]:
    pretrained = plan.request.pretrained
    if isinstance(pretrained, ImportCheckpoint):
        return
    names = [source.name for source in pretrained.recipe.corpus.sources] if pretrained else list(plan.corpora)
    wikipedia, books = (any(word in name.lower() for name in names) for word in ("wikipedia", "book"))
    if wikipedia and len(names) == 1:
        yield "text: Wikipedia without BooksCorpus"
    elif not (wikipedia and books and len(names) == 2):
        yield f"text: {' and '.join(names)}, not Wikipedia and BooksCorpus"


def _measured(plan: Plan, study: Study, measurement: Measurement, cells: Sequence[Cell], paper: Scale) -> Iterator[str]:
    variants = {variant.name: variant for variant in study.variants}
    known = [(variants[cell.variant], cell.job) for cell in cells if cell.variant in variants]
    jobs = [(variant, job) for variant, job in known if isinstance(job, Measure)]
    if not jobs:
        return
    variant, job = jobs[0]
    task = job.data.task
    if job.data.origin == "microworld":
        yield f"task: {task.microworld}, synthetic"
    elif job.data.name in plan.request.substitutes:
        yield f"task: {task.dataset} in place of {job.data.name}"
    if job.intermediate_task is not None:
        yield f"first trained on {job.intermediate_task.name}"
    if kinds.find(task.kind).cased and _uncased(job):
        yield "text in lower case"
    searched = set(plan.request.searched.get(job.data.name, ()))
    found: dict[str, None] = {}
    for variant, job in {job.settings.kind: (variant, job) for variant, job in jobs}.values():
        theirs = study.adaptation(variant, measurement, paper, task.kind, job.data.name)
        group = job.settings.group(kinds.find(task.kind))
        found |= dict.fromkeys(_fields(job.settings, theirs, searched, prefix=f"{group}."))
    yield from found


def _uncased(job: Measure) -> bool:
    if isinstance(job.pretrain, ImportCheckpoint):
        return "uncased" in job.pretrain.checkpoint.name
    return not job.pretrain.recipe.tokenizer.cased


def _fields(ours: Any, theirs: Any, ignored: Collection[str], prefix: str = "") -> Iterator[str]:
    """The fields of a dataclass that differ, as `model.layers 4 (paper: 12)`, except its corpus and `ignored` ones."""
    for each in dataclasses.fields(ours):
        path, mine, paper = f"{prefix}{each.name}", getattr(ours, each.name), getattr(theirs, each.name)
        if mine == paper or path in ignored or each.name in ignored or (path == "corpus" and isinstance(ours, Recipe)):
            continue
        if dataclasses.is_dataclass(mine) and type(mine) is type(paper):
            yield from _fields(mine, paper, ignored, f"{path}.")
        else:
            yield f"{path} {_shown(mine)} (paper: {_shown(paper)})"


def _shown(value: Any) -> str:
    if isinstance(value, Arm):
        return value.kind
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
