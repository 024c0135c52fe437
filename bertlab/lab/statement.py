"""What a study says of its paper, in the record of its runs: texts, claims, averages, published values.

Runs outlive the words about them: `restated` gives a record the words that its study has now.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bertlab.lab import builtin_studies, studies
from bertlab.lab.claim import Claim
from bertlab.lab.needs import sizes
from bertlab.lab.scales import Scale
from bertlab.lab.study import RANDOM_INIT, Average, Measurement, Study
from bertlab.recipe.identity import to_canonical
from bertlab.store.record import Definition, Difference, Record, StatedAverage, StatedClaim, StatedTable
from bertlab.tasks.task import Task

OTHER_VERSION = (
    "Another version of bertlab ran this study, with another baseline, variant or measurement: claims, published "
    "values and notes are of that version."
)


def statement(study: Study, timed: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a record that say what the paper found.

    `timed` are the steps of the variants that train for as long as the baseline.
    """
    return {
        "question": study.question,
        "source": study.source,
        "notes": (*study.notes, *timed_notes(study, timed)),
        "summary": study.summary,
        "claims": tuple(StatedClaim(**dataclasses.asdict(claim)) for claim in study.claims),
        "related": tuple(StatedTable(**vars(table)) for table in study.related),
        "averages": tuple(_stated(study, average) for average in study.averages),
    }


def _stated(study: Study, average: Average) -> StatedAverage:
    published = {variant.name: study.figure(variant.name, average.name) for variant in study.variants}
    return StatedAverage(
        name=average.name,
        of=tuple((name, *metrics) for name, metrics in average.parts),
        published={name: figure for name, figure in published.items() if figure is not None},
    )


def unlike(study: Study) -> list[Difference]:
    """The differences from the paper's setting at every scale, as a record has them."""
    return [Difference(on=on, what=what, of_study=True) for on, what in study.differences]


def timed_notes(study: Study, timed: Mapping[str, int]) -> list[str]:
    """A sentence for each variant that trains for as long as the baseline, with its steps."""
    return [
        f"{variant} trains for {steps:,} steps, which take as long as those of {study.baseline} where both were timed."
        for variant, steps in timed.items()
    ]


def untested(study: Study, claim: Claim, scale: Scale) -> str:
    """Why a claim gets no verdict at a scale, whatever text and tasks are; empty if it may get one."""
    if claim.within is not None and study.of_paper:
        if never := "; ".join(what for on, what in study.differences if on in ("", claim.on)):
            return f"at no scale: {never}"
        if scale.name != "paper" or scale.assigned:
            return "at scale paper alone, on its text and data sets"
    recipes = {variant.name: sizes(study.recipe(variant, scale.recipe)) for variant in study.variants}
    return claim.untestable(True, recipes)


def definition(study: Study) -> Definition:
    """What runs follow from: another definition under the same name is another study."""
    return Definition(
        baseline=study.baseline,
        code=study.file.code.sha256 if study.file and study.file.code else "",
        variants={variant.name: to_canonical(variant) for variant in study.variants},
        measurements={measurement.name: _measured(measurement) for measurement in study.measurements},
    )


def _measured(measurement: Measurement) -> Any:
    """A measurement without its milestones, which may change, and without the path of its examples."""
    task = measurement.task
    if isinstance(task, Task):
        task = dataclasses.replace(task, path="")
    fields = to_canonical(dataclasses.replace(measurement, task=task, milestones=(100,)))
    # accuracy is left out, as it is where no metric is given
    return {name: field for name, field in fields.items() if (name, field) != ("metric", "accuracy")}


def restated(record: Record) -> Record:
    """The record of a study of bertlab's own with what the study says now: claims, notes, published values.

    A study file's keeps its words. So does one whose study now has another baseline, or defines a variant or a
    measurement that was run otherwise: a note then says that the words are of another version.
    """
    if record.sources or record.study not in builtin_studies.names():
        return record
    study = studies.find(record.study)
    variants = {value.variant for value in record.cells} - {RANDOM_INIT}
    measurements = {value.measurement for value in record.cells}
    before, now = record.definition, definition(studies.measuring(study, measurements))
    if (
        before.baseline != now.baseline
        or any(before.variants.get(name, ...) != now.variants.get(name) for name in variants)
        or any(before.measurements.get(name, ...) != now.measurements.get(name) for name in measurements)
    ):
        return dataclasses.replace(record, notes=(*record.notes, OTHER_VERSION))
    of_setting = (difference for difference in record.differences if not difference.of_study)
    return dataclasses.replace(
        record,
        **statement(study, record.timed or {}),
        differences=(*unlike(study), *of_setting),
        cells=tuple(dataclasses.replace(value, published=study.figure(*value.column)) for value in record.cells),
    )
