"""`--words`: a budget of text, at most ten passes over it, and the weights after BabyLM's numbers of words."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch

from bertlab.inputs import words
from bertlab.store.run import Run
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


@pytest.fixture(scope="module")
def options(text_file: Any, tmp_path_factory: Any) -> Any:
    """Of commands on a text of a few thousand words, in which a million are a thousand."""
    runs = tmp_path_factory.mktemp("words") / "runs"
    where = ("--corpus", text_file, "--runs", runs, "--threads", "1", "--precision", "fp32")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "MILESTONES", tuple(1000 * number for number in (*range(1, 10), *range(10, 100, 10))))
        patch.setattr(words, "MILLION", 1000)
        yield ("--scale", "smoke", "--set", "schedule.batch_size=16", *where)


@pytest.fixture
def store(options: Any) -> Store:
    return Store(options[options.index("--runs") + 1])


@pytest.fixture
def small(call: Any, options: Any, store: Store) -> Run:
    """A pre-training on a thousand words, eight times."""
    assert call("pretrain", *options, "--words", "1k", "--set", "schedule.steps=40", "--name", "small") == 0
    (run,) = (run for run in store.runs() if run.label == "small")
    return run


def test_more_than_ten_passes_are_refused_in_a_line_before_anything_is_trained(
    call: Any, options: Any, store: Store, capsys: Any
) -> None:
    assert call("pretrain", *options, "--words", "1k", "--set", "schedule.steps=400") == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith("bertlab: pretrain-pretrain: its 400 steps read the 9")
    assert "10 passes at most, which are 4" in line
    assert {run.kind for run in store.runs() if run.label != "small"} == {"corpus"}


def test_a_training_saves_its_weights_by_words(small: Run) -> None:
    revisions = small.result().revisions
    assert [*revisions] == [f"chck_{number}M" for number in range(1, 9)]
    saved = {int(path.stem.removeprefix("step-")) for path in (small.path / "milestones").iterdir()}
    assert {*revisions.values()} <= saved


def test_its_weights_by_words_are_exported_as_revisions(
    call: Any, small: Run, store: Store, hub: Any, monkeypatch: Any, tmp_path: Any
) -> None:
    """Folders that transformers reads, and branches of a repository."""
    from safetensors.torch import load_file
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    monkeypatch.setenv("HF_TOKEN", hub.token)
    command = ("export", "small", tmp_path / "out", "--milestones", "--push", "me/small", "--runs", store.root)
    assert call(*command) == 0
    revisions = small.result().revisions
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"main", *revisions}
    for name, step in revisions.items():
        weights = small.path / "milestones" / f"step-{step:08d}.safetensors"
        table = load_file(weights)["encoder.embeddings.tokens.weight"]
        for place in ({}, {"revision": name, "cache_dir": tmp_path / "cache"}):
            model = AutoModelForMaskedLM.from_pretrained("me/small" if place else tmp_path / "out" / name, **place)
            assert torch.equal(model.get_input_embeddings().weight, table)
    assert AutoTokenizer.from_pretrained(tmp_path / "out" / "chck_1M")("the king")["input_ids"]
    assert re.search(r"\| words +\| +8,\d{3} +\|", (tmp_path / "out" / "main" / "README.md").read_text())
    last, main = (load_file(tmp_path / "out" / name / "model.safetensors") for name in ("chck_8M", "main"))
    assert last.keys() == main.keys()
    assert not all(torch.equal(last[name], main[name]) for name in main)


def test_a_run_that_saved_no_weights_by_words_has_no_revisions(
    call: Any, options: Any, store: Store, tmp_path: Any, capsys: Any
) -> None:
    assert call("pretrain", *options, "--set", "schedule.steps=2", "--name", "plain") == 0
    capsys.readouterr()
    assert call("export", "plain", tmp_path / "out", "--milestones", "--runs", store.root) == 2
    assert "words, has none: pre-train with --words, for a million words or more" in capsys.readouterr().err
    for other in ("--results", "--adapter"):
        assert call("export", "plain", tmp_path / "out", "--milestones", other, "--runs", store.root) == 2
        assert "write different things: give one of them" in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]


def test_the_number_of_words_is_part_of_the_setting(
    call: Any, options: Any, store: Store, tmp_path: Any, capsys: Any
) -> None:
    study = tmp_path / "rates.py"
    study.write_text(STUDY)
    command = ("ablate", study, *options, "--set", "schedule.steps=2", "--words", "3K")
    assert call(*command) == 0
    assert "words to train on" in capsys.readouterr().out
    (record,) = store.records(needed=["rates"]).values()
    assert "--words 3K" in record.command
    assert call("report", "--runs", store.root, "--out", tmp_path / "out", "--format", "md") == 0
    assert "words 3K" in (tmp_path / "out" / "rates.md").read_text()
    for number, done in (("3000", 2), ("4K", 0)):
        capsys.readouterr()
        assert call(*command[:-1], number, "--dry-run", "--json") == 0
        assert json.loads(capsys.readouterr().out)["done"].get("pretrain", 0) == done


@pytest.mark.parametrize("number", ["0", "10X", "-3", "ten", "1e6", "0.0001"])
def test_a_number_of_words_is_a_number(call: Any, options: Any, capsys: Any, number: str) -> None:
    assert call("pretrain", *options, f"--words={number}") == 2
    assert f"--words is {number}: give a number above 0, such as 10M" in capsys.readouterr().err


def test_shared_steps_save_the_weights_by_words_of_all_that_share_them(call: Any, options: Any, tmp_path: Any) -> None:
    """And runs have the bits that they have alone."""
    asked = ("ablate", "lr-schedule", "--measure", "LM perplexity", *options, "--words", "1k")
    asked += ("--set", "schedule.steps=40", "--only", "constant")
    assert call(*asked, "--only", "stable, then 1-sqrt", "--runs", tmp_path / "shared") == 0
    assert call(*asked, "--runs", tmp_path / "alone") == 0
    alone, shared = (
        next((tmp_path / name / "pretrain").glob("*--lr-schedule-constant-seed0")) for name in ("alone", "shared")
    )
    assert (shared / "trunks.json").exists()
    saved = {path.relative_to(alone).as_posix() for path in alone.glob("milestones/*")}
    assert len(saved) >= 8
    for name in (*saved, "model.safetensors", "metrics.jsonl", "result.json"):
        assert (alone / name).read_bytes() == (shared / name).read_bytes()
