"""Records of studies: their runs, the commands that requested them, and how their settings differ from the paper's.

`store/union.py` joins the records of one study and setting.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bertlab.lab import scales
from bertlab.lab.needs import sizes
from bertlab.lab.plan import Cell, Plan, without_collector
from bertlab.lab.request import RATE
from bertlab.lab.scales import Scale
from bertlab.lab.statement import definition, statement, unlike
from bertlab.lab.study import RANDOM_INIT, Measurement, Study
from bertlab.recipe.identity import as_set, by_kind, flatten, identity
from bertlab.store import commands, union
from bertlab.store.record import AblateRequest, Column, Difference, Record, Row, Speeds, Value, short_hash
from bertlab.store.runs import Store
from bertlab.tasks import catalog, kinds
from bertlab.tasks.kinds.base import SETTINGS

GOOGLE = "google-bert/bert-base-"
"""The published checkpoints of BERT base, which BERT's own tables use."""


@without_collector()
def records(plan: Plan, options: str = "") -> dict[str, Record]:
    """The record of each study of a plan, by its file name, which is the same for equal settings.

    `options` are the options of the command line that define the setting, quoted for a shell.
    """
    planned = [_record(plan, study, options) for study in plan.request.studies]
    return {union.name_of(record): record for record in planned}


@without_collector()
def check(plan: Plan, store: Store) -> None:
    """Raises `BadInput` if the store has another study with the name of one that a plan has."""
    stored = store.records(needed=[study.name for study in plan.request.studies])
    names = {record.study for record in stored.values()}
    for study in plan.request.studies:
        if study.name in names:
            union.merge_into(stored, _record(plan, study, ""), f"'{store.root}'")


def _setting(plan: Plan, study: Study) -> str:
    """The id of all settings that a study's runs share, also with measurements that it gains later.

    What a command sets or substitutes for the tasks of other studies is not part of it, and neither are the scale's
    presets of single tasks, but for those that were revised.
    """
    request = plan.request
    names = {catalog.find(measurement.task).name for measurement in study.measurements if measurement.task}
    first = _only(request.intermediate_task, names)
    scale = study.setting_at(request.scale)
    grouped = _only(scale.given, {*names, *first.values(), *SETTINGS})
    revised = _only(scale.tasks, names.intersection(scale.revised))
    rates = {"rates": request.rates[study.name]} if study.name in request.rates else {}
    recipes = [cell.pretraining.recipe for cell in plan.cells_of[study.name]] if request.bad_words else []
    words = {recipe.corpus.bad_words for recipe in recipes if recipe} - {""}  # filters of variants alone may read them
    left_out: dict[str, Any] = {"revised": (), "counterparts": {}, "own_tasks": {}, "grid": {}, "assigned": ()}
    return identity(
        "record",
        scale=dataclasses.replace(scale, given=grouped, tasks=revised, claim_seeds=1, **left_out),
        text=plan.text,
        substitutes=_only(request.substitutes, names),
        intermediate_task=first,
        pretrained=request.pretrained.id if request.pretrained else "",
        **rates,
        **({"bad_words": sorted(words)} if words else {}),
    )


def _only(values: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


def _record(plan: Plan, study: Study, options: str) -> Record:
    request, file = plan.request, study.file
    cells = plan.cells_of[study.name]
    twice = [cell.job.tasks for cell in cells if len(cell.job.tasks) > 1]
    pretrained = {(cell.variant, cell.pretraining.id): cell for cell in cells}
    models = {need.id for cell in cells for need in cell.job.needs if need.pretraining is not None}
    asked = _asked(plan, study, options)
    printed = {variant: speed for variant, speed in study.speeds.items() if speed is not None}
    speeds = Speeds(published=printed, measured=dict(request.speeds.get(study.name, {})))
    return Record(
        study=study.name,
        setting=_setting(plan, study),
        definition=definition(study),
        requests=(asked,),
        sources=(dict(file.sources),) if file else (),
        baseline=study.baseline,
        **statement(study, request.timed.get(study.name, {})),
        sizes=sizes_of(plan, study),
        scale=request.scale.name,
        differences=tuple(differences(plan, study)),
        name=request.name,
        command=commands.line([asked], request.name),
        corpus=tuple(plan.corpora),
        pretrained=request.pretrained.label if request.pretrained else "",
        world=plan.world,
        substitutes=dict(request.substitutes),
        intermediate_task={task.name: first.name for task, first in twice},
        tries=tuple(request.tries),
        members=tuple(sorted(models - {cell.pretraining.id for cell in cells})),
        timed=request.timed.get(study.name),
        speeds=speeds if study.speeds else None,
        searched={task: dict(changes) for task, changes in request.searched.items()},
        rates=request.rates.get(study.name),
        rows=tuple(
            Row(
                variant=cell.variant,
                pretrain_seed=cell.pretraining.seed,
                pretrain_id=cell.pretraining.id,
                corpus_id=next((need.id for need in cell.pretraining.needs), ""),
            )
            for cell in pretrained.values()
        ),
        cells=tuple(_values(study, cells)),
    )


def _asked(plan: Plan, study: Study, options: str) -> AblateRequest:
    request, file = plan.request, study.file
    of_claims = request.claim_seeds or request.scale.claim_seeds > 1  # the default is not one seed of everything
    return AblateRequest(
        study=file.argument if file else study.name,
        options=options,
        seeds=tuple(request.seeds),
        finetune_seeds=request.finetune_seeds,
        only=tuple(request.only),
        random_init=request.random_init,
        claim_seeds=tuple(request.claim_seeds) if of_claims else None,
        file=short_hash(file.sources) if file else "",
        measure=tuple(request.measure),
        curves=request.curves,
    )


def sizes_of(plan: Plan, study: Study) -> dict[str, dict[str, int]]:
    """What claims may need of the recipe of each variant; none of a published checkpoint, whose recipe is not known."""
    if plan.request.pretrained is not None:
        pretrained = plan.request.pretrained.recipe
        return {variant.name: sizes(pretrained) for variant in study.variants} if pretrained else {}
    recipe, timed = study.setting_at(plan.request.scale).recipe, plan.request.timed.get(study.name, {})
    return {
        variant.name: sizes(study.recipe(variant, recipe))
        | ({"steps": timed[variant.name]} if variant.name in timed else {})
        for variant in study.variants
    }


def _values(study: Study, cells: Iterable[Cell]) -> Iterator[Value]:
    """Each value; those that differ in their seeds alone share the rest."""
    shared: dict[Column, dict[str, Any]] = {}
    for cell in cells:
        column = variant, measurement, milestone = cell.variant, cell.measurement.name, cell.milestone
        if column not in shared:
            shared[column] = {
                **{"variant": variant, "measurement": measurement, "milestone": milestone},
                "metric": cell.measurement.metric,
                "published": study.figure(*column),
                **cell.job.value(cell.measurement.split),
            }
        yield Value(
            **shared[column],
            pretrain_seed=cell.pretraining.seed,
            pretrain_id=cell.pretraining.id,
            run_id=cell.job.id,
            finetune_seed=cell.job.finetune_seed,
        )


def differences(plan: Plan, study: Study) -> list[Difference]:
    """The differences of a planned study from its paper's setting.

    Without any, sizes can be compared, not only signs. Wikipedia and books, a given vocabulary, cased text for NER and
    settings that a search chose from the papers' grid are the papers' own. Device, precision and numbers of seeds do
    not count as differences. A user's own study has no paper, unless it has published values, `unlike` or `at_paper`.
    """
    if not study.of_paper:
        return []
    paper = scales.find("paper").following(study.at_paper)
    of_setting = [Difference(on="", what=what) for what in _pretraining(plan, study, paper)]
    first_cells: dict[str, dict[str, Cell]] = {measurement.name: {} for measurement in study.measurements}
    for cell in plan.cells_of[study.name]:
        if cell.variant != RANDOM_INIT and cell.job.settings is not None:
            first_cells[cell.measurement.name].setdefault(cell.job.settings.kind, cell)
    for measurement in study.measurements:
        texts = dict.fromkeys(_unlike(plan, study, measurement, [*first_cells[measurement.name].values()], paper))
        of_setting += [Difference(on=measurement.name, what=what) for what in texts]
    return [*unlike(study), *of_setting]


def _pretraining(plan: Plan, study: Study, paper: Scale) -> Iterator[str]:
    pretrained = plan.request.pretrained
    if pretrained is not None and pretrained.published:
        if not pretrained.published.startswith(GOOGLE):
            yield f"pre-trained elsewhere, as {pretrained.published}"
        return
    scale = study.setting_at(plan.request.scale)
    baseline = study.variant(study.baseline)
    ours = pretrained.read_recipe() if pretrained else study.recipe(baseline, scale.recipe)
    ignored = {"seed", "corpus.sources", "corpus.heldout", "corpus.documents", "tokenizer.lowercase", "tokenizer.given"}
    if ours.tokenizer.given:
        ignored.add("tokenizer.vocabulary")
    yield from _fields(ours, study.recipe(baseline, paper.recipe), "", ignored)
    names = [source.name for source in ours.corpus.sources] if pretrained else list(plan.corpora)
    berts = len(names) == 2 and all(any(word in name.lower() for name in names) for word in ("wikipedia", "book"))
    if study.text or not berts:
        yield f"text: {' and '.join(names)}, not {study.text or 'Wikipedia and BooksCorpus'}"


def _unlike(plan: Plan, study: Study, measurement: Measurement, cells: Sequence[Cell], paper: Scale) -> Iterator[str]:
    """The differences of a measurement, whose `cells` are the first one of each kind of adaptation."""
    if not cells:
        return
    job = cells[0].job
    located, *first = job.tasks
    task, kind = located.task, kinds.find(located.task.kind)
    if located.origin == "microworld":
        yield f"task: {task.microworld}, synthetic"
    elif located.name in plan.request.substitutes:
        yield f"task: {task.dataset} in place of {located.name}"
    for intermediate in first:
        yield f"first trained on {intermediate.name}"
    if kind.cased and not (job.pretraining and job.pretraining.cased):
        yield "text in lower case"
    for cell in cells:
        adaptation: Any = cell.job.settings
        theirs = study.adaptation(study.variant(cell.variant), measurement, paper, task.kind, located.name)
        prefix = f"{adaptation.group(kind)}."
        searched = {f"{prefix}{name}" for name in plan.request.searched.get(located.name, ())}
        if located.name in plan.request.rates.get(study.name, {}).get(cell.variant, {}):
            searched.add(f"{prefix}{RATE}")
        yield from _fields(adaptation, theirs, prefix, searched)


def _fields(ours: Any, theirs: Any, prefix: str, ignored: Collection[str]) -> Iterator[str]:
    """The fields of a dataclass that differ, except `ignored` ones: `model.layers 4 (paper: 12)`."""
    mine, paper = ({path: by_kind(leaf) for path, leaf in flatten(recipe, prefix).items()} for recipe in (ours, theirs))
    for path in mine:
        if path in paper and path not in ignored and mine[path] != paper[path]:
            yield f"{path} {as_set(mine[path], ',')} (paper: {as_set(paper[path], ',')})"
