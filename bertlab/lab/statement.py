"""What a study says of its paper, in the record of its runs: texts, claims, averages, published values.

Runs outlive the words about them: `restated` gives a record the words that its study has now.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bertlab.lab import shipped, studies
from bertlab.lab.claim import Claim
from bertlab.lab.needs import sizes
from bertlab.lab.scales import Scale
from bertlab.lab.study import RANDOM_INIT, Measurement, Study
from bertlab.recipe.identity import science
from bertlab.tasks.task import Task

OTHER_VERSION = (
    "Another version of bertlab ran this study, with another baseline, variant or measurement: claims, published "
    "values and notes are of that version."
)


def statement(study: Study, timed: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a record that say what the paper found, and how the study differs from it at every scale.

    `timed` are the steps of the variants that train for as long as the baseline.
    """
    averages = [
        {
            "name": average.name,
            "of": [[name, *metrics] for name, metrics in average.parts],
            "published": {
                variant.name: figure
                for variant in study.variants
                if (figure := study.figure(variant.name, average.name)) is not None
            },
        }
        for average in study.averages
    ]
    return {
        "question": study.question,
        "source": study.source,
        "notes": [*study.notes, *timed_notes(study, timed)],
        "summary": study.summary,
        "claims": [dataclasses.asdict(claim) for claim in study.claims],
        "averages": averages,
    }


def unlike(study: Study) -> list[dict[str, Any]]:
    """The differences from the paper's setting at every scale, as a record has them."""
    return [{"on": on, "what": what, "of_study": True} for on, what in study.differences]


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
    recipes = {each.name: sizes(study.recipe(each, scale.recipe)) for each in study.variants}
    return claim.untestable(True, recipes)


def definition(study: Study) -> dict[str, Any]:
    """What runs follow from: another definition under the same name is another study."""
    return {
        "baseline": study.baseline,
        "code": study.file.code.sha256 if study.file and study.file.code else "",
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


def restated(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a study of bertlab's own with what the study says now: claims, notes, published values.

    A study file's keeps its words. So does one whose study now has another baseline, or defines a variant or a
    measurement that was run otherwise: a note then says that the words are of another version.
    """
    if record["sources"] or record["study"] not in shipped.names():
        return dict(record)
    study = studies.find(record["study"])
    was, now = record["definition"], definition(study)
    run = {(f"{kind}s", cell[kind]) for cell in record["cells"] for kind in ("variant", "measurement")}
    run.discard(("variants", RANDOM_INIT))
    same = all(name in was[kind] and was[kind][name] == now[kind].get(name) for kind, name in run)
    if was["baseline"] != now["baseline"] or not same:
        return {**record, "notes": [*record["notes"], OTHER_VERSION]}
    cells = [
        {**cell, "published": study.figure(cell["variant"], cell["measurement"], cell["milestone"])}
        for cell in record["cells"]
    ]
    differences = [each for each in record["differences"] if not each.get("of_study")]
    return {
        **record,
        **statement(study, record.get("timed", {})),
        "differences": [*unlike(study), *differences],
        "cells": cells,
    }
