"""`bertlab show STUDY`: what a study varies and measures, what its paper found, and which fields `--set` can set."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertlab.cli.console import print_json, say
from bertlab.cli.options import JSON, STUDIES, ScaleOptions
from bertlab.cli.table import print_table
from bertlab.wording import join_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bertlab.adaptation import Adaptation
    from bertlab.lab.scales import Scale
    from bertlab.lab.study import Measurement, Study


def show(options: ScaleOptions, study: list[str] = STUDIES, json: bool = JSON) -> None:
    """Show a study: table, variants, measurements, claims, recipe.

    The first table is the paper's. The last one lists the fields of the recipe with their values, and those that --set
    cannot set.

    Example: bertlab show masking --scale tiny
    """
    from bertlab.lab import studies

    scale = options.chosen_scale()
    shown = [described(one, one.setting_at(scale)) for one in studies.chosen(study)]
    if json:
        print_json(shown)
        return
    for fields in shown:
        _print(fields)


def described(study: Study, scale: Scale) -> dict[str, Any]:
    """A study at a scale: its texts, its published table, and the fields of its variants and its recipe by path."""
    from bertlab.lab.statement import untested
    from bertlab.recipe import OPTIONS
    from bertlab.recipe.identity import by_kind, flatten

    places = [(one.name, milestone) for one in study.measurements for milestone in sorted({*one.milestones, 100})]
    places += [(average.name, 100) for average in study.averages]
    published = [
        (name, at) for name, at in places if any(study.figure(variant.name, name, at) for variant in study.variants)
    ]
    recipe = flatten(study.recipe(study.variant(study.baseline), scale.recipe))
    # --set changes the recipe of the scale, from which a baseline with a `size` or with losses differs
    of_scale = {path: by_kind(leaf) for path, leaf in flatten(scale.recipe).items()}
    fixed = study.fixed() | {path for path, leaf in recipe.items() if of_scale.get(path, ...) != by_kind(leaf)}
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
        # a mapping, as numbers over steps are, has no text that --set could read
        "set": [path for path, leaf in recipe.items() if path not in fixed and not isinstance(leaf, Mapping)],
    }


def _adaptations(study: Study, measurement: Measurement, scale: Scale) -> list[Adaptation]:
    """How each variant is adapted to the task of a measurement."""
    from bertlab.tasks import catalog

    task = catalog.find(measurement.task)
    return [study.adaptation(variant, measurement, scale, task.kind, task.name) for variant in study.variants]


def _measurement(study: Study, measurement: Measurement, scale: Scale) -> dict[str, Any]:
    """A measurement with its task, if it has one."""
    from bertlab.tasks import catalog

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
    from bertlab.recipe.identity import flatten
    from bertlab.tasks import catalog, kinds

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


def _column(measurement: str, milestone: int) -> str:
    return measurement if milestone == 100 else f"{measurement}, {milestone} %"


def _differing(study: Study, scale: Scale) -> dict[str, dict[str, Any]]:
    """The fields in which the variants differ at a scale, each with its value, by variant."""
    from bertlab.recipe.identity import by_kind, flatten

    varied = study.varied_adaptation()
    task = next((measurement for measurement in study.measurements if measurement.task), None)
    adapted = _adaptations(study, task, scale) if varied and task is not None else []
    fields: dict[str, dict[str, Any]] = {}
    for variant, adaptation in itertools.zip_longest(study.variants, adapted):
        values_of = flatten(study.recipe(variant, scale.recipe))
        if adaptation is not None:
            values_of["adaptation"] = kind = adaptation.kind
            values_of |= {f"{kind}.{name}": getattr(adaptation, name) for name in varied.get(type(adaptation), ())}
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


def _print(study: dict[str, Any]) -> None:
    name, baseline = study["name"], study["baseline"]
    say(f"{name}: {study['question']}")
    columns = [*next(iter(study["published"].values()))]
    rows = [
        [variant, *("" if value is None else str(value) for value in line.values())]
        for variant, line in study["published"].items()
    ]
    if columns:
        _titled(["variant", *columns], rows, f"{study['source']}: published {study['summary']}s, in points")
    for table in study["related"]:
        rows = [[model, *map(str, row)] for model, row in table["rows"].items()]
        _titled(["model", *table["columns"]], rows, f"{table['title']} ({table['source']})")
    paths = [*dict.fromkeys(path for fields in study["variants"].values() for path in fields)]
    rows = [[variant, *(_text(fields.get(path)) for path in paths)] for variant, fields in study["variants"].items()]
    _titled(["variant", *paths], rows, f"variants at scale {study['scale']}; the baseline is {baseline}")
    if study["equal_time"]:
        say(f"`ablate` gives {join_words(study['equal_time'])} the steps that take as long as the baseline's here")
    keys = ("name", "task", "kind", "adaptation", "metric", "split", "synthetic")
    rows = [[_text(measurement.get(key)) for key in keys] for measurement in study["measurements"]]
    headings = ("measurement", "task", "kind", "adaptation", "metric", "split", "synthetic counterpart")
    _titled(headings, rows, "measurements", left=len(keys))
    for average, parts in study["averages"].items():
        counted = [f"{on} ({', '.join(metrics)})" if metrics else on for on, metrics in parts]
        say(f"{average}: the mean of {', '.join(counted)}")
    rows = []
    for claim in study["claims"]:
        at = f" at {claim['at']} %" if claim["at"] < 100 or claim["since"] else ""
        before = f" at {claim['since']} %" if claim["since"] else at
        relation = "beside" if claim["allowed"] else "over"
        pairs = "; ".join(f"{better}{at} {relation} {worse}{before}" for better, worse in claim["pairs"])
        if claim["than"]:
            pairs += " by more than {}{at} over {}{before}".format(*claim["than"], at=at, before=before)
        compared = ": ".join(part for part in (pairs, claim["allowed"]) if part)
        rows.append([claim["text"], claim["on"], compared, claim["untested"] or "yes"])
    if rows:
        title = f"claims, and whether scale {study['scale']} tests them"
        _titled(("claim", "on", "compares", "tested"), rows, title, left=4)
    free = set(study["set"])
    rows = [[path, _text(leaf), "" if path in free else "variants differ"] for path, leaf in study["recipe"].items()]
    title = f"recipe of {baseline} at scale {study['scale']}; --set sets the fields without a note"
    _titled(("field", "value", "note"), rows, title, left=3)
    for note in study["notes"]:
        say(note)


def _titled(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str, *, left: int = 1) -> None:
    say("")
    print_table(columns, rows, title, left=left)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return ", ".join(_text(part) if name == "kind" else f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
