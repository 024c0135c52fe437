"""Records of bertlab's own studies are read with what the studies say now."""

from dataclasses import replace

import pytest

from bertlab.lab import plan, scales, studies
from bertlab.lab.record import records
from bertlab.lab.statement import OTHER_VERSION, restated
from bertlab.store.record import Difference


@pytest.fixture
def record(machine):
    """A record of an older version of the study masking: other words, a claim less, another published value."""
    study = studies.find("masking")
    made = plan.make(plan.Request(studies=(study,), scale=scales.find("smoke"), random_init=True), machine)
    (now,) = records(made).values()
    return replace(
        now,
        claims=now.claims[1:],
        notes=("an older note",),
        cells=(replace(now.cells[0], published=12.3), *now.cells[1:]),
        differences=(*now.differences, Difference(on="", what="an older phrase", of_study=True)),
    )


def test_claims_notes_and_published_values_are_those_of_the_study_now(record):
    study, found = studies.find("masking"), restated(record)
    assert [claim.text for claim in found.claims] == [claim.text for claim in study.claims]
    assert found.notes == tuple(study.notes)
    first = found.cells[0]
    assert first.published == study.figure(first.variant, first.measurement)
    assert "an older phrase" not in {difference.what for difference in found.differences}
    runs = [(value.run_id, value.pretrain_id) for value in record.cells]
    assert [(value.run_id, value.pretrain_id) for value in found.cells] == runs
    for name in ("setting", "definition", "rows", "requests", "sizes"):
        assert getattr(found, name) == getattr(record, name)
    assert restated(found) == found


@pytest.mark.parametrize("change", ["another baseline", "another variant", "a study file", "another study"])
def test_what_is_another_study_now_keeps_its_words(record, change):
    definition, other = record.definition, record
    if change == "another baseline":
        other = replace(record, definition=replace(definition, baseline="100/0/0"))
    elif change == "another variant":
        variants = {**definition.variants, "100/0/0": {"name": "100/0/0"}}
        other = replace(record, definition=replace(definition, variants=variants))
    elif change == "a study file":
        other = replace(record, sources=({"mine.py": "study = ..."},))
    else:
        other = replace(record, study="mine")
    notes = (*other.notes, *([OTHER_VERSION] if change in ("another baseline", "another variant") else []))
    assert restated(other) == replace(other, notes=notes)


def test_a_variant_that_was_not_run_may_have_changed(record):
    variants = {**record.definition.variants, "50/50/0": {"name": "50/50/0"}}
    other = replace(record, definition=replace(record.definition, variants=variants))
    assert len(restated(other).claims) == len(studies.find("masking").claims)
