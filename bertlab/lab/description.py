"""A study at a scale as data, for `bertlab show`: its texts, its table, and the fields that its variants set."""

import dataclasses
import itertools
from typing import Any

from bertlab import synthetic
from bertlab.adaptation import Adaptation
from bertlab.lab.scales import Scale
from bertlab.lab.statement import untested
from bertlab.lab.study import Measurement, Study
from bertlab.recipe import OPTIONS, Recipe
from bertlab.recipe.identity import by_kind, field_paths, flatten
from bertlab.tasks import catalog, kinds


def described(study: Study, scale: Scale) -> dict[str, Any]:
    """A study at a scale: its texts, its published table, and the fields of its variants and its recipe by path."""
    columns = [(one.name, milestone) for one in study.measurements for milestone in sorted({*one.milestones, 100})]
    columns += [(average.name, 100) for average in study.averages]
    published = [column for column in columns if any(study.figure(one.name, *column) for one in study.variants)]
    recipe = flatten(study.recipe(study.variant(study.baseline), scale.recipe))
    # --set changes the recipe of the scale, from which a baseline with a `size` or with losses differs
    of_scale = {path: by_kind(leaf) for path, leaf in flatten(scale.recipe).items()}
    fixed = study.fixed() | {path for path, leaf in recipe.items() if of_scale.get(path, ...) != by_kind(leaf)}
    if not any(study.recipe(variant, scale.recipe).multitask.tasks for variant in study.variants):
        fixed |= {path for path in recipe if path.startswith("multitask.")}  # they have no effect
    recipe = {path: leaf for path, leaf in (recipe | _settings(study, scale)).items() if path not in OPTIONS}
    return {
        "name": study.name,
        "question": study.question,
        "source": study.source,
        "baseline": study.baseline,
        "published": {
            variant.name: {_column(name, at): study.figure(variant.name, name, at) for name, at in published}
            for variant in study.variants
        },
        "related": [vars(table) for table in study.related],
        "summary": study.summary,
        "variants": _differing(study, scale),
        "mixtures": _mixtures(study, scale),
        "equal_time": [variant.name for variant in study.variants if variant.relative.equal_time],
        "measurements": [_measurement(study, measurement, scale) for measurement in study.measurements],
        "averages": {average.name: average.parts for average in study.averages},
        "claims": [
            dataclasses.asdict(claim)
            | {"pairs": claim.pairs, "allowed": claim.allowed, "untested": untested(study, claim, scale)}
            for claim in study.claims
        ],
        "notes": study.notes,
        "scale": scale.name,
        "recipe": {path: by_kind(leaf) for path, leaf in recipe.items()},
        # numbers over steps and tasks have no text that --set could read
        "set": [path for path in recipe if path not in fixed | (of_scale.keys() - {*field_paths(Recipe)})],
    }


def _adaptations(study: Study, measurement: Measurement, scale: Scale) -> list[Adaptation]:
    """How each variant is adapted to the task of a measurement."""
    task = catalog.find(measurement.task)
    return [study.adaptation(variant, measurement, scale, task.kind, task.name) for variant in study.variants]


def _measurement(study: Study, measurement: Measurement, scale: Scale) -> dict[str, Any]:
    """A measurement with its task, if it has one."""
    fields: dict[str, Any] = {"name": measurement.name, "metric": measurement.metric}
    if not measurement.task:
        return fields
    task = catalog.find(measurement.task)
    return fields | {
        "task": task.name,
        "kind": task.kind,
        "adaptation": list(dict.fromkeys(it.kind for it in _adaptations(study, measurement, scale))),
        "split": measurement.split,
        "milestones": measurement.milestones,
        "synthetic": task.microworld,
    }


def _settings(study: Study, scale: Scale) -> dict[str, Any]:
    """The settings of the adaptations of a study by path: of the scale's groups, then of single tasks."""
    groups: set[str] = set()
    of_tasks: dict[str, Any] = {}
    for measurement in study.measurements:
        if not measurement.task:
            continue
        task = catalog.find(measurement.task)
        groups |= {it.group(kinds.find(task.kind)) for it in _adaptations(study, measurement, scale)}
        settings = scale.finetuning(task.kind, task.name)
        for name in {**scale.tasks.get(task.name, {}), **scale.given.get(task.name, {})}:
            of_tasks[f"tasks.{task.name}.{name}"] = getattr(settings, name)
    of_groups: dict[str, Any] = {}
    for group in sorted(groups):
        of_groups |= flatten(getattr(scale, group), f"{group}.")
    return of_groups | of_tasks


def _mixtures(study: Study, scale: Scale) -> dict[str, dict[str, dict[str, float | None]]]:
    """For each variant that trains on tasks the rate of text and of each, and the passes of the training over it: on
    the synthetic tasks, where those with the same one are one."""
    shown: dict[str, dict[str, dict[str, float | None]]] = {}
    for variant in study.variants:
        recipe = study.recipe(variant, scale.recipe)
        tasks = [
            (source.name, catalog.find(source.name).microworld or source.name) for source in recipe.multitask.tasks
        ]
        names = {task: name for name, task in reversed(tasks)}
        sizes = {names[task]: synthetic.size(task, "train") for _, task in tasks if task in synthetic.TASKS}
        if len(sizes) < len(names) or not names:
            continue
        drawn = recipe.schedule.steps * recipe.schedule.batch_size
        rates = zip(["text", *sizes], recipe.multitask.rates([*sizes.values()]), strict=True)
        shown[variant.name] = {
            name: {"rate": rate, "passes": drawn * rate / sizes[name] if name in sizes else None}
            for name, rate in rates
        }
    return shown


def _column(measurement: str, milestone: int) -> str:
    return measurement if milestone == 100 else f"{measurement}, {milestone} %"


def _differing(study: Study, scale: Scale) -> dict[str, dict[str, Any]]:
    """The fields in which the variants differ at a scale, each with its value, by variant."""
    varied = study.varied_adaptation()
    task = next((measurement for measurement in study.measurements if measurement.task), None)
    adapted = _adaptations(study, task, scale) if varied and task is not None else []
    fields: dict[str, dict[str, Any]] = {}
    for variant, adaptation in itertools.zip_longest(study.variants, adapted):
        values_of = flatten(study.recipe(variant, scale.recipe))
        values_of["ensemble"] = variant.ensemble and f"{variant.ensemble.members} {variant.ensemble.of}"
        values_of["without_measured"] = variant.without_measured
        if adaptation is not None:
            values_of["adaptation"] = kind = adaptation.kind
            names = sorted(varied.get(type(adaptation), ()))
            values_of |= {f"{kind}.{name}": getattr(adaptation, name) for name in names}
        fields[variant.name] = {path: by_kind(leaf) for path, leaf in values_of.items()}

    def differs(path: str) -> bool:
        """Whether variants that have a field have several values; what only some kinds have differs with the kind."""
        values = [of_variant[path] for of_variant in fields.values() if path in of_variant]
        return any(value != values[0] for value in values)

    differing = [path for path in dict.fromkeys(itertools.chain.from_iterable(fields.values())) if differs(path)]
    return {
        name: {path: of_variant[path] for path in differing if path in of_variant}
        for name, of_variant in fields.items()
    }
