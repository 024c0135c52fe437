"""The study files of the README are studies, and the one that defines a selection runs."""

import re
from pathlib import Path

import pytest

from bertlab.lab import plan, scales, studies
from bertlab.store.runs import Store

BLOCKS = re.findall(r"```python\n(.*?)```", Path(__file__).parents[1].joinpath("README.md").read_text("utf-8"), re.S)
FILES = [block for block in BLOCKS if "study = Study(" in block]


def written(folder, text):
    path = folder / (re.search(r'name="([a-z]+)"', text)[1] + ".py")
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", FILES)
def test_a_study_of_the_readme_has_a_plan(tmp_path, machine, text):
    study = studies.find(str(written(tmp_path, text)))
    made = plan.make(plan.Request(studies=(study,), scale=scales.find("smoke")), machine)
    assert [job.kind for job in made.jobs].count("pretrain") == len(study.variants) == 2


def test_the_selection_of_the_readme_is_audited_and_trained(tmp_path, call, text_file):
    (text,) = (text for text in FILES if "(Selection)" in text)
    assert sum(map(bool, text.splitlines())) < 30
    path = written(tmp_path, text)
    common = ("--scale", "smoke", "--corpus", text_file, "--runs", tmp_path / "runs")
    assert call("audit", path, "--only", "block", *common) == 0
    assert call("ablate", path, "--threads", "1", "--precision", "fp32", *common) == 0
    results = [run.result()["heldout"] for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain"]
    # Single tokens are what the fixed evaluation masks: one of the two is its own.
    assert [each["own_loss"] == each["masked_lm_loss"] for each in results].count(True) == 1
    assert len(results) == 2
