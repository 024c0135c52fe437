"""Records of bertlab's own studies are read with what the studies say now."""

import copy

import pytest

from bertlab.lab import plan, scales, studies
from bertlab.lab.record import records
from bertlab.lab.statement import OTHER_VERSION, restated


@pytest.fixture
def record(machine):
    """A record of an older version of the study masking: other words, a claim less, another published value."""
    study = studies.find("masking")
    made = plan.make(plan.Request(studies=(study,), scale=scales.find("smoke"), random_init=True), machine)
    (found,) = records(made).values()
    found["claims"] = found["claims"][1:]
    found["notes"] = ["an older note"]
    found["cells"][0]["published"] = 12.3
    found["differences"].append({"on": "", "what": "an older phrase", "of_study": True})
    return found


def test_claims_notes_and_published_values_are_those_of_the_study_now(record):
    study, found = studies.find("masking"), restated(record)
    assert [each["text"] for each in found["claims"]] == [each.text for each in study.claims]
    assert found["notes"] == study.notes
    first = found["cells"][0]
    assert first["published"] == study.figure(first["variant"], first["measurement"])
    assert "an older phrase" not in {each["what"] for each in found["differences"]}
    runs = [(each["run_id"], each["pretrain_id"]) for each in record["cells"]]
    assert [(each["run_id"], each["pretrain_id"]) for each in found["cells"]] == runs
    for name in ("setting", "definition", "rows", "requests", "sizes"):
        assert found[name] == record[name]
    assert restated(found) == found


@pytest.mark.parametrize("change", ["another baseline", "another variant", "a study file", "another study"])
def test_what_is_another_study_now_keeps_its_words(record, change):
    other = copy.deepcopy(record)
    if change == "another baseline":
        other["definition"]["baseline"] = "100/0/0"
    elif change == "another variant":
        other["definition"]["variants"]["100/0/0"] = {"name": "100/0/0"}
    elif change == "a study file":
        other["sources"] = [{"mine.py": "study = ..."}]
    else:
        other["study"] = "mine"
    notes = [*other["notes"], *([OTHER_VERSION] if change in ("another baseline", "another variant") else [])]
    assert restated(other) == {**other, "notes": notes}


def test_a_variant_that_was_not_run_may_have_changed(record):
    record["definition"]["variants"]["50/50/0"] = {"name": "50/50/0"}
    assert len(restated(record)["claims"]) == len(studies.find("masking").claims)
