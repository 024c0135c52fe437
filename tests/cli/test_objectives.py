"""Objectives and formats the whole way at smoke scale: pre-trained, measured as in `masking`, reported, exported."""

import json

import numpy as np
import pytest

from bertlab.store.runs import Store

STUDY = """
from bertlab.lab import studies
from bertlab import CausalLM, Inputs, MaskedLM, Study, Variant

alone = (MaskedLM(),)
study = Study(
    name="objectives", question="?", source="nobody", baseline="BERT",
    variants=[
        Variant("BERT"),
        Variant("left to right", objective=(CausalLM(),)),
        Variant("sentence pair", inputs=Inputs(format="sentence-pair")),
        Variant("full sentences", inputs=Inputs(format="full-sentences"), objective=alone),
        Variant("doc sentences", inputs=Inputs(format="doc-sentences"), objective=alone),
    ],
    measurements=studies.find("masking").measurements,
)
"""


@pytest.fixture(scope="module")
def store(call, tmp_path_factory):
    place = tmp_path_factory.mktemp("objectives")
    (place / "objectives.py").write_text(STUDY)
    numerics = ("--threads", "1", "--precision", "fp32")
    assert call("ablate", place / "objectives.py", "--scale", "smoke", *numerics, "--runs", place / "runs") == 0
    return Store(place / "runs")


def pretrained(store, name):
    return next(run for run in store.runs() if run.kind == "pretrain" and name in run.label)


def test_every_variant_is_measured_on_every_task(store):
    kinds = [run.kind for run in store.runs()]
    assert [kinds.count(kind) for kind in ("pretrain", "finetune", "features")] == [5, 10, 5]
    assert all(run.result().status in ("done", "collapsed") for run in store.runs())


def test_left_to_right_is_judged_by_its_own_loss(store):
    result = pretrained(store, "left-to-right").result()
    assert set(result.heldout) == {"causal_lm_loss", "perplexity"}
    assert result.heldout["perplexity"] == pytest.approx(np.exp(result.heldout["causal_lm_loss"]))
    curve = pretrained(store, "left-to-right").metrics()
    assert {name for line in curve for name in line} == {
        "step", "loss", "causal_lm_loss", "learning_rate", "heldout_causal_lm_loss", "heldout_perplexity",
    }  # fmt: skip


def test_tokens_are_those_of_the_format_beside_which_it_stands(store):
    real = {name: pretrained(store, name).result().real_tokens for name in ("bert", "sentence-pair", "full", "doc")}
    assert real["sentence-pair"] == pytest.approx(real["bert"], rel=0.05)
    assert real["doc"] == pytest.approx(real["full"], rel=0.05)
    assert max(real.values()) <= 20 * 8 * 32
    balance = {name: pretrained(store, name).result().pair_balance for name in real}
    assert balance["full"] is balance["doc"] is None
    assert 0.3 < balance["sentence-pair"] < 0.7


def test_the_report_keeps_the_losses_apart(store, call, tmp_path):
    assert call("report", "--runs", store.root, "--out", tmp_path) == 0
    page = (tmp_path / "objectives.md").read_text()
    assert " left to right (nats) |" in page
    assert "Neither compares with a masked LM's" in page
    assert (tmp_path / "figures" / "objectives-curves.svg").is_file()


def test_left_to_right_is_exported_as_a_decoder(store, call, tmp_path):
    run = pretrained(store, "left-to-right")
    assert call("export", run.id, tmp_path / "out", "--runs", store.root) == 0
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["architectures"], config["is_decoder"]) == (["RoFormerForCausalLM"], True)
