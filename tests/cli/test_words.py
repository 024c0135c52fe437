"""`--words`: a budget of text, at most ten passes over it, and the weights after BabyLM's numbers of words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bertlab.inputs import words
from bertlab.store.runs import Store

STUDY = """
from bertlab import MaskedLM, Measurement, Study, Variant

study = Study(
    name="rates",
    question="How much to mask?",
    source="mine",
    baseline="15 %",
    variants=[Variant("15 %", objective=(MaskedLM(),)), Variant("40 %", objective=(MaskedLM(mask_prob=0.4),))],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
)
"""


@pytest.fixture
def options(tmp_path: Any, text_file: Any, monkeypatch: Any) -> Any:
    """Of commands on a text of a few thousand words, in which a million are a thousand."""
    monkeypatch.setattr(words, "MILESTONES", tuple(1000 * number for number in (*range(1, 10), *range(10, 100, 10))))
    monkeypatch.setattr(words, "MILLION", 1000)
    where = ("--corpus", text_file, "--runs", tmp_path / "runs", "--threads", "1", "--precision", "fp32")
    return ("--scale", "smoke", "--set", "schedule.batch_size=16", *where)


def test_more_than_ten_passes_are_refused_in_a_line_before_anything_is_trained(
    call: Any, options: Any, tmp_path: Any, capsys: Any
) -> None:
    few = (*options, "--words", "1k")
    assert call("pretrain", *few, "--set", "schedule.steps=400") == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("bertlab: pretrain-pretrain: its 400 steps read the 9")
    most = int(line.partition("10 passes at most, which are ")[2].partition(" steps")[0])
    assert not [run for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain"]
    assert call("pretrain", *few, "--set", f"schedule.steps={most}") == 0
    (run,) = [run for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain"]
    revisions = run.result().revisions
    assert [*revisions] == [f"chck_{number}M" for number in range(1, 10)]
    saved = {int(path.stem.removeprefix("step-")) for path in (run.path / "milestones").iterdir()}
    assert {*revisions.values()} <= saved | {most}


def test_the_number_of_words_is_part_of_the_setting(call: Any, options: Any, tmp_path: Any, capsys: Any) -> None:
    study = tmp_path / "rates.py"
    study.write_text(STUDY)
    command = ("ablate", study, *options, "--set", "schedule.steps=2", "--words", "3K")
    assert call(*command) == 0
    assert "words to train on" in capsys.readouterr().out
    (record,) = Store(tmp_path / "runs").records(needed=["rates"]).values()
    assert "--words 3K" in record.command
    assert call("report", "--runs", tmp_path / "runs", "--out", tmp_path / "out", "--format", "md") == 0
    assert "words 3K" in (tmp_path / "out" / "rates.md").read_text()
    for number, done in (("3000", 2), ("4K", 0)):
        capsys.readouterr()
        assert call(*command[:-1], number, "--dry-run", "--json") == 0
        assert json.loads(capsys.readouterr().out)["done"].get("pretrain", 0) == done


@pytest.mark.parametrize("number", ["0", "10X", "-3", "ten", "1e6", "0.0001"])
def test_a_number_of_words_is_a_number(call: Any, options: Any, capsys: Any, number: str) -> None:
    assert call("pretrain", *options, f"--words={number}") == 2
    assert f"--words is {number}: give a number above 0, such as 10M" in capsys.readouterr().err
