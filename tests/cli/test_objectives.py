"""Studies the whole way at smoke scale: objectives and formats, orders of sentences, numbers that change over the
steps, and a task of the user that is wired right or wrong."""

import json
import random
import re

import numpy as np
import pytest

import bertlab
from bertlab import MaskedLM, Measurement, Study, Task, Variant
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


ORDER = """
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
    (place / "order.py").write_text(ORDER)
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


STEPS = """
from bertlab import Cosine, Measurement, Ramp, Schedule, Stages, Study, Variant

study = Study(
    name="mask-decay",
    question="Is it better to mask more at first?",
    source="mine",
    baseline="constant",
    variants=[
        Variant("constant"),
        Variant("falling", schedule=Schedule(over_steps={"masked_lm.mask_prob": Ramp(start=2.0, end=1.0)})),
        Variant("growing", schedule=Schedule(
            curve=Cosine(), over_steps={"schedule.batch_size": Stages(multiples=(0.5, 1.0))}
        )),
    ],
    measurements=[Measurement("held-out loss", metric="masked_lm_loss")],
)
"""


def test_numbers_that_change_are_planned_audited_and_reported(call, tmp_path, text_file, capsys):
    path, runs = tmp_path / "mask_decay.py", tmp_path / "runs"
    path.write_text(STEPS)
    common = ("--scale", "smoke", "--corpus", text_file)
    assert call("ablate", path, *common, "--runs", runs, "--dry-run") == 0
    plan = capsys.readouterr().out
    assert "20 steps of 32 tokens, masked_lm.mask_prob from 0.3 to 0.1575" in plan
    assert "20 steps of 32 tokens, schedule.batch_size from 4 to 8" in plan
    assert call("show", path, "--scale", "smoke", "--json") == 0
    (study,) = json.loads(capsys.readouterr().out)
    changing = study["variants"]["falling"]["schedule.over_steps"]
    assert changing["masked_lm.mask_prob"]["start"] == 2.0
    assert call("audit", path, *common) == 0
    assert "0 fail" in capsys.readouterr().out
    assert call("ablate", path, *common, "--runs", runs, "--threads", "1", "--precision", "fp32") == 0
    assert call("report", "--runs", runs, "--out", tmp_path / "pages", "--format", "md") == 0
    page = (tmp_path / "pages" / "mask-decay.md").read_text()
    assert "masked_lm.mask_prob: ramp, start 2.0, end 1.0, until 1.0" in page
    assert "| growing             | cosine " in page


def rows(number: int, seed: int) -> list[dict[str, str]]:
    """Sentences of ten words, half of them with `free` at one place, which decides the label."""
    draw = random.Random(seed)
    words = "the report of a team came to us at noon with notes on what they had seen and done"
    made = []
    for index in range(number):
        sentence = draw.choices(words.split(), k=10)
        if index % 2:
            sentence[draw.randrange(10)] = "free"
        made.append({"sentence": " ".join(sentence), "label": "yes" if index % 2 else "no"})
    return made


def test_models_at_scale_smoke_learn_what_one_word_decides_and_nothing_where_labels_are_of_other_rows(tmp_path):
    for name in ("right", "wrong"):
        for split, number in (("train", 400), ("validation", 200)):
            made = rows(number, number)
            if name == "wrong":
                labels = [each["label"] for each in made]
                random.Random(3).shuffle(labels)
                made = [{**each, "label": label} for each, label in zip(made, labels, strict=True)]
            (tmp_path / name).mkdir(exist_ok=True)
            lines = "".join(json.dumps(each) + "\n" for each in made)
            (tmp_path / name / f"{split}.jsonl").write_text(lines)
    tasks = {
        name: Task(kind="classification", path=str(tmp_path / name), text=("sentence",), labels=("no", "yes"))
        for name in ("right", "wrong")
    }
    study = Study(
        name="spam",
        question="Is the task wired right?",
        source="mine",
        baseline="15 %",
        variants=[Variant("15 %", objective=(MaskedLM(),))],
        measurements=[Measurement(name, task=task, metric="accuracy") for name, task in tasks.items()],
    )
    found = bertlab.ablate(study, scale="smoke", runs=tmp_path / "runs", workers=0, threads=1, quiet=True)
    scores = found.values.set_index("measurement")["value"]
    assert scores["right"] > 90
    assert scores["wrong"] < 65
