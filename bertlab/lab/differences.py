"""Differences between a planned study and its paper's setting. Without any, sizes can be compared, not only signs.

Wikipedia and books, a given vocabulary, cased text for NER and settings that a search chose from the papers' grid are
the papers' own. Device, precision and numbers of seeds do not count as differences.
"""

from collections.abc import Collection, Iterator
from typing import Any

from bertlab.lab import scales
from bertlab.lab.jobs import ImportCheckpoint, Measure, Pretrain
from bertlab.lab.plan import RANDOM_INIT, Plan
from bertlab.lab.scales import Scale
from bertlab.lab.study import Measurement, Study
from bertlab.recipe.identity import by_kind, leaves
from bertlab.tasks import kinds

GOOGLE = "google-bert/bert-base-"
"""The published checkpoints of BERT base, which BERT's own tables use."""


def differences(plan: Plan, study: Study) -> list[dict[str, str]]:
    """Each difference as `what`, and its measurement as `on`, which is empty for all measurements."""
    paper = scales.find("paper").following(study.at_paper)
    found = [{"on": "", "what": what} for what in (*study.unlike, *_pretraining(plan, study, paper))]
    for measurement in study.measurements:
        each = dict.fromkeys(_measured(plan, study, measurement, paper))
        found += [{"on": measurement.name, "what": what} for what in each]
    return found


def _pretraining(plan: Plan, study: Study, paper: Scale) -> Iterator[str]:
    pretrained = plan.request.pretrained
    if isinstance(pretrained, ImportCheckpoint):
        if not pretrained.checkpoint.name.startswith(GOOGLE):
            yield f"pre-trained elsewhere, as {pretrained.checkpoint.name}"
        return
    scale = plan.request.scale.following(study.at_paper)
    baseline = study.variant(study.baseline)
    ours = pretrained.recipe if pretrained else study.recipe(baseline, scale.recipe)
    ignored = {"seed", "corpus.sources", "corpus.heldout", "tokenizer.lowercase", "tokenizer.given"}
    if ours.tokenizer.given:
        ignored.add("tokenizer.vocabulary")
    yield from _fields(ours, study.recipe(baseline, paper.recipe), "", ignored)
    names = [source.name for source in pretrained.recipe.corpus.sources] if pretrained else list(plan.corpora)
    if len(names) != 2 or not all(any(word in name.lower() for name in names) for word in ("wikipedia", "book")):
        yield f"text: {' and '.join(names)}, not Wikipedia and BooksCorpus"


def _measured(plan: Plan, study: Study, measurement: Measurement, paper: Scale) -> Iterator[str]:
    jobs = {}  # the last one of each adaptation
    for cell in plan.cells:
        ours = (cell.study.name, cell.measurement.name) == (study.name, measurement.name)
        if ours and cell.variant != RANDOM_INIT and isinstance(cell.job, Measure):
            jobs[cell.job.settings.kind] = cell.variant, cell.job
    if not jobs:
        return
    (_, job), *_ = jobs.values()
    task, kind = job.data.task, kinds.find(job.data.task.kind)
    if job.data.origin == "microworld":
        yield f"task: {task.microworld}, synthetic"
    elif job.data.name in plan.request.substitutes:
        yield f"task: {task.dataset} in place of {job.data.name}"
    if job.intermediate_task is not None:
        yield f"first trained on {job.intermediate_task.name}"
    before = job.pretrain
    cased = before.recipe.tokenizer.cased if isinstance(before, Pretrain) else "uncased" not in before.checkpoint.name
    if kind.cased and not cased:
        yield "text in lower case"
    for variant, job in jobs.values():
        theirs = study.adaptation(study.variant(variant), measurement, paper, task.kind, job.data.name)
        prefix = f"{job.settings.group(kind)}."
        searched = {f"{prefix}{name}" for name in plan.request.searched.get(job.data.name, ())}
        yield from _fields(job.settings, theirs, prefix, searched)


def _fields(ours: Any, theirs: Any, prefix: str, ignored: Collection[str]) -> Iterator[str]:
    """The fields of a dataclass that differ, except `ignored` ones: `model.layers 4 (paper: 12)`."""
    mine, paper = ({path: by_kind(leaf) for path, leaf in leaves(each, prefix).items()} for each in (ours, theirs))
    for path in mine:
        if path in paper and path not in ignored and mine[path] != paper[path]:
            yield f"{path} {_shown(mine[path])} (paper: {_shown(paper[path])})"


def _shown(leaf: Any) -> str:
    if isinstance(leaf, tuple):
        return ",".join(leaf)
    return f"{leaf:g}" if isinstance(leaf, float) else str(leaf).lower()
