"""Losses that divide the sequences of a batch, each with its own mask of attention."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

from bertlab import Stages
from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import joined
from bertlab.lab import scales
from bertlab.model.heads import PretrainingModel
from bertlab.objectives import CausalLM, MaskedLM, NextSentence, SpanBoundary
from bertlab.progress import silent
from bertlab.recipe import Inputs, Recipe
from bertlab.recipe.identity import to_canonical
from bertlab.training.data import to_tensors
from bertlab.training.pretraining import pretrain

SMOKE = scales.find("smoke").recipe
HALVES = (MaskedLM(share=0.5), CausalLM(share=0.5))


def recipe(*objective: Any, form: str = "segment-pair") -> Recipe:
    return dataclasses.replace(SMOKE, objective=objective, inputs=Inputs(length=32, format=form))


@pytest.mark.parametrize(
    ("alone", "divided"),
    [
        ((MaskedLM(),), (MaskedLM(share=1.0), CausalLM(share=0.0))),
        ((CausalLM(),), (MaskedLM(share=0.0), CausalLM(share=1.0))),
    ],
)
@pytest.mark.parametrize("form", ["segment-pair", "doc-sentences"])
def test_shares_of_1_and_0_give_the_run_without_the_other_to_the_bit(
    corpus: Any, machine: Any, tmp_path: Any, alone: Any, divided: Any, form: str
) -> None:
    weights, curves, heldout = [], [], []
    for name, objective in (("alone", alone), ("divided", divided)):
        work = tmp_path / name
        work.mkdir()
        result = pretrain(recipe(*objective, form=form), corpus, work, machine, (100,), silent)
        weights.append((work / "model.safetensors").read_bytes())
        heldout.append(result["heldout"])
        curves.append([line for line in (work / "metrics.jsonl").read_text().splitlines() if "heldout" not in line])
    assert weights[0] == weights[1]
    assert heldout[0].items() <= heldout[1].items()
    (kind,) = (loss.kind for loss in alone)
    points = [[line.split(f'"{kind}_loss": ')[1].split(",")[0] for line in curve] for curve in curves]
    assert points[0] == points[1]


def first_batches(given: Recipe, corpus: Any, steps: int = 30) -> Any:
    source = Batches(given, corpus)
    return joined([source.batch(step) for step in range(steps)])


def test_each_sequence_belongs_to_one_loss_and_the_other_leaves_it_as_it_is(corpus: Any) -> None:
    both, text = (first_batches(recipe(*objective), corpus) for objective in (HALVES, (CausalLM(),)))
    masked, causal = (both.arrays[kind] for kind in ("masked_lm", "causal_lm"))
    assert (masked["sequences"] + causal["sequences"] == 1).all()
    assert masked["sequences"].mean() == pytest.approx(0.5, abs=0.15)
    of_causal = causal["sequences"] > 0
    assert (both.tokens[of_causal] == text.tokens[of_causal]).all()
    assert (both.tokens[~of_causal] != text.tokens[~of_causal]).any(axis=1).mean() > 0.8
    for name in ("positions", "targets", "weights"):
        assert not masked[name][of_causal].any()
        assert not causal[name][~of_causal].any()
    assert (causal["targets"][of_causal] == text.arrays["causal_lm"]["targets"][of_causal]).all()


def test_masks_are_those_of_a_masked_lm_that_has_all_sequences(corpus: Any) -> None:
    both, alone = (first_batches(recipe(*objective), corpus) for objective in (HALVES, (MaskedLM(),)))
    rows = both.arrays["masked_lm"]["sequences"] > 0
    assert (both.tokens[rows] == alone.tokens[rows]).all()


def test_a_sequence_may_have_another_loss_in_another_epoch(corpus: Any) -> None:
    given = dataclasses.replace(recipe(*HALVES), inputs=Inputs(length=32, dupe_factor=1))
    source, owner = Batches(given, corpus), [{}, {}]
    step = 0
    while (batch := source.batch(step)).epochs.min() < 2:
        for epoch, name, has in zip(
            batch.epochs, batch.sequence_ids, batch.arrays["masked_lm"]["sequences"], strict=True
        ):
            if epoch < 2:
                owner[epoch][int(name)] = int(has)
        step += 1
    changed = np.mean([owner[1][name] != has for name, has in owner[0].items()])
    assert changed == pytest.approx(0.5, abs=0.1)


def tensors(batch: Any) -> Any:
    return to_tensors(batch).to("cpu")


def test_each_half_is_computed_under_its_own_mask(corpus: Any) -> None:
    """As models of either loss alone compute it, with the same weights."""
    given = recipe(*HALVES)
    model = PretrainingModel.of(given, corpus.tokenizer.size).eval()
    batch = Batches(given, corpus).batch(0)
    sums = model.losses(tensors(batch))
    for loss in (MaskedLM(), CausalLM()):
        alone = PretrainingModel.of(recipe(loss), corpus.tokenizer.size).eval()
        alone.load_state_dict(model.state_dict())
        part = batch.rows(batch.arrays[loss.kind]["sequences"] > 0)
        assert sums[loss.kind].item() == pytest.approx(alone.losses(tensors(part))[loss.kind].item(), rel=1e-5)
    assert not model.encoder.causal


def test_what_a_token_of_a_causal_sequence_gives_does_not_depend_on_later_ones(corpus: Any) -> None:
    model = PretrainingModel.of(recipe(*HALVES), corpus.tokenizer.size).eval()
    batch = tensors(first_batches(recipe(CausalLM()), corpus, 1))
    with torch.no_grad():
        before = model.logits(batch, "causal_lm")
        batch.tokens[:, 20:] = 7
        after = model.logits(batch, "causal_lm")
    assert torch.equal(before[:, :20], after[:, :20])
    assert not torch.equal(before[:, 20:], after[:, 20:])


def test_a_batch_that_is_split_has_the_same_sums(corpus: Any) -> None:
    given = recipe(*HALVES, form="doc-sentences")
    model, whole = PretrainingModel.of(given, corpus.tokenizer.size).eval(), Batches(given, corpus).batch(2)
    size = len(whole.lengths)
    slices = slice(0, 1), slice(1, size // 2), slice(size // 2, size)
    parts = [model.losses(tensors(whole.rows(part))) for part in slices]
    for kind, total in model.losses(tensors(whole)).items():
        assert sum(part[kind].item() for part in parts) == pytest.approx(total.item(), rel=1e-5)


def test_a_mixture_is_trained_and_judged_on_both(corpus: Any, machine: Any, tmp_path: Any) -> None:
    result = pretrain(recipe(*HALVES), corpus, tmp_path, machine, (100,), silent)
    assert {"masked_lm_loss", "accuracy", "causal_lm_loss"} <= result["heldout"].keys()
    assert result["judged_by"] == "masked_lm_loss"
    assert max(result["heldout"][name] for name in ("masked_lm_loss", "causal_lm_loss")) < np.log(512) + 0.3


def test_one_objective_may_follow_another(corpus: Any, machine: Any, tmp_path: Any) -> None:
    """Left to right in the first 60 % of the steps, then masked: each half of the steps is that of its loss alone."""
    curves = {
        "causal_lm.share": Stages(multiples=(2.0, 0.0), begins=(0.6,)),
        "masked_lm.share": Stages(multiples=(0.0, 2.0), begins=(0.6,)),
    }
    given = dataclasses.replace(recipe(*HALVES), schedule=dataclasses.replace(SMOKE.schedule, over_steps=curves))
    both, alone = (
        Batches(given, corpus),
        {loss.kind: Batches(recipe(loss), corpus) for loss in (MaskedLM(), CausalLM())},
    )
    for step in range(20):
        kind = "causal_lm" if step < 12 else "masked_lm"
        one, other = both.batch(step), alone[kind].batch(step)
        assert (one.tokens == other.tokens).all()
        assert [loss.kind for loss in HALVES if one.arrays[loss.kind]["weights"].any()] == [kind]
    result = pretrain(given, corpus, tmp_path, machine, (100,), silent)
    curve = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    points = [line for line in curve if "causal_lm_loss" in line]
    assert [line["causal_lm_loss"] > 0 for line in points] == [line["step"] <= 12 for line in points]
    for line in points:  # of the one loss that the step has, not twice that
        assert line["causal_lm_loss"] + line["masked_lm_loss"] == pytest.approx(line["loss"], rel=1e-9)
    assert {"masked_lm_loss", "causal_lm_loss"} <= result["heldout"].keys()


def test_spans_are_those_of_the_masked_lm(corpus: Any) -> None:
    given = recipe(MaskedLM(share=0.5), SpanBoundary(), CausalLM(share=0.5), form="full-sentences")
    batch = Batches(given, corpus).batch(0)
    counts = {kind: added["weights"].sum(axis=1) for kind, added in batch.arrays.items()}
    assert (counts["span_boundary"] == counts["masked_lm"]).all()
    sums = PretrainingModel.of(given, corpus.tokenizer.size).losses(tensors(batch))
    assert all(value.item() > 0 for value in sums.values())


@pytest.mark.parametrize("form", ["segment-pair", "full-sentences"])
def test_the_audit_tests_each_loss_on_its_sequences(corpus: Any, form: str) -> None:
    (audited,) = audit(recipe(*HALVES, form=form), corpus, most=200_000)
    assert [check for check in audited.checks if check.holds is False] == []
    assert {"tokens chosen", "targets", "labels put back"} <= {check.figure for check in audited.checks}


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (
            (MaskedLM(), CausalLM()),
            "masked_lm and causal_lm see one side of a token and both: choose one, or",
        ),
        (
            (MaskedLM(share=0.5), CausalLM(share=0.4)),
            r"the shares .* are masked_lm 0.5, causal_lm 0.4: give",
        ),
        ((MaskedLM(), CausalLM(share=0.5)), "the shares of the sequences are masked_lm 1, causal_lm 0.5: give"),
        ((MaskedLM(share=0.5),), "the shares of the sequences are masked_lm 0.5: give shares that add up to 1"),
        ((*HALVES, NextSentence()), r"next_sentence reads \[CLS\], which sees nothing with causal_lm"),
    ],
)
def test_shares_that_do_not_fit_are_refused(objective: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        recipe(*objective)


def test_a_model_of_both_is_a_masked_one_elsewhere() -> None:
    assert not recipe(*HALVES).causal
    assert recipe(MaskedLM(share=0.0), CausalLM(share=1.0)).causal
    assert not recipe(MaskedLM(share=1.0), CausalLM(share=0.0)).causal
    assert to_canonical(MaskedLM(share=0.5))["share"] == 0.5
    assert "share" not in to_canonical(MaskedLM())
