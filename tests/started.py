"""Commands that start from a published checkpoint, beside what `transformers` computes with it."""

import json

import pytest
import torch

from bertlab.store.runs import Store


def assert_adapted(checkpoint, call, runs, *tasks):
    """Adapts a checkpoint to tasks of the smoke scale, each with its way of adaptation."""
    for task, adaptation in tasks:
        command = ("finetune", "--task", task, "--scale", "smoke", "--threads", "1", "--adaptation", adaptation)
        assert call(*command, "--from", checkpoint, "--runs", runs) == 0
    found = [run.kind for run in Store(runs).runs()]
    assert sorted(found) == sorted(["import", *(adaptation for _, adaptation in tasks)])


def assert_fills_masks(checkpoint, call, runs, capsys, text="The [MASK] sat, and"):
    """The most probable entry for [MASK], and its probability, are those of `transformers` with its own tokens."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    inputs = tokenizer(text.replace("[MASK]", tokenizer.mask_token), return_tensors="pt")
    (place,) = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    with torch.inference_mode():
        logits = AutoModelForMaskedLM.from_pretrained(checkpoint).eval()(**inputs).logits[0, place, : len(tokenizer)]
    best = logits.softmax(-1).max(-1)
    capsys.readouterr()
    assert call("fill-mask", checkpoint.name, text, "--json", "--runs", runs) == 0
    ((guess, *others),) = json.loads(capsys.readouterr().out)
    assert len(others) == 4
    assert guess["probability"] == pytest.approx(float(best.values), rel=1e-4)
    assert guess["piece"].strip() == tokenizer.decode([int(best.indices)]).strip()
