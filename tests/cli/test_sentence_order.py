"""The study sentence-order the whole way at smoke scale, with its held-out measurements and RACE."""

import re

import pytest

from bertlab.store.runs import Store

STUDY = """
import dataclasses

from bertlab.lab import studies

whole = studies.find("sentence-order")
measured = [each for each in whole.measurements if each.name in ("MLM", "NSP", "SOP", "RACE")]
claims = [claim for claim in whole.claims if claim.on in ("NSP", "SOP")]
published = {key: value for key, value in whole.published.items() if key[1] in ("MLM", "NSP", "SOP", "RACE")}
study = dataclasses.replace(whole, name="order", measurements=measured, averages=[], claims=claims,
                            published=published)
"""


@pytest.fixture(scope="module")
def page(call, tmp_path_factory):
    place = tmp_path_factory.mktemp("order")
    (place / "order.py").write_text(STUDY)
    options = ("--scale", "smoke", "--set", "schedule.steps=4", "--threads", "1", "--precision", "fp32")
    assert call("ablate", place / "order.py", *options, "--runs", place / "runs") == 0
    assert call("report", "--runs", place / "runs", "--out", place / "out", "--format", "md") == 0
    return place


def test_both_heads_are_scored_on_both_tasks_and_no_head_on_none(page):
    figures = {}
    for run in Store(page / "runs").runs():
        if run.kind == "pretrain":
            losses = [each["kind"] for each in run.definition()["recipe"].get("objective", [{"kind": "next_sentence"}])]
            figures[losses[-1]] = {name for name in run.result().heldout if "sentence" in name}
    scored = {f"{task}_{figure}" for task in ("next_sentence", "sentence_order") for figure in ("accuracy", "majority")}
    assert figures == {"masked_lm": set(), "next_sentence": scored, "sentence_order": scored}


def test_the_report_has_points_and_says_what_the_paper_does_otherwise(page):
    text = (page / "out" / "order.md").read_text()
    assert "78.9" in text
    assert re.search(r"optimizer +\| +adamw +\| +lamb", text), "field, here, paper"
    assert "failed" not in text
