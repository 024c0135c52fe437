"""Sentence order: what is exchanged and how, that form does not tell the label, and scores on each other's pairs."""

from __future__ import annotations

import dataclasses
import hashlib
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertlab import CausalLM, MaskedLM, NextSentence, SentenceOrder
from bertlab.audit import audit, same_batches
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches, heldout_pairs
from bertlab.inputs.collator import Collator
from bertlab.inputs.formats import Layout, segment_pairs
from bertlab.inputs.streams import Batch
from bertlab.objectives.sentence_pair import UNLABELLED
from bertlab.recipe import Inputs, Pairing, Recipe, Schedule

CLS, SEP, FIRST = 2, 3, 5
VOCABULARY = SimpleNamespace(pad=0, cls=CLS, sep=SEP, mask=4, ordinary=np.arange(5, 60_000, dtype=np.int32))
OWN = Pairing(random=0.0, exchanged=0.5)
BOTH = (MaskedLM(), SentenceOrder())


def text(*documents: Any) -> Any:
    """Documents given as the lengths of their sentences; token number n of the text is 5 + n."""
    sentences = np.cumsum([0, *np.concatenate(documents)]).astype(np.int64)
    ends = np.cumsum([0, *map(len, documents)])
    return SimpleNamespace(
        tokens=np.arange(sentences[-1], dtype=np.uint16) + FIRST, sentences=sentences, documents=ends
    )


def laid_out(source: Any, length: int, copy: int = 0) -> Layout:
    return segment_pairs(source, length=length, short=0.0, copy=copy, seed=0, pairing=OWN)


def both_orders(source: Any, length: int) -> dict[int, list[list[int]]]:
    """The tokens of the first sequence by its label, from epoch after epoch until both orders came."""
    found: dict[int, list[list[int]]] = {}
    for copy in range(30):
        layout = laid_out(source, length, copy)
        batch = Collator((SentenceOrder(),), VOCABULARY, source, length, 0).collate(layout, np.array([0]), copy, copy)
        shown = batch.tokens[0, : batch.lengths[0]].tolist()
        found.setdefault(int(batch.arrays["sentence_order"]["labels"][0]), []).append(shown)
    return found


def test_the_two_segments_change_places() -> None:
    """Two sentences of 4 and 6 tokens fill a sequence of 13 and can be split in one way only."""
    found = both_orders(text([4, 6]), 13)
    one, two = list(range(5, 9)), list(range(9, 15))
    assert set(found) == {0, 1}
    assert all(shown == [CLS, *one, SEP, *two, SEP] for shown in found[0])
    assert all(shown == [CLS, *two, SEP, *one, SEP] for shown in found[1])


def test_what_is_too_long_is_cut_by_the_place_in_the_sequence() -> None:
    """Of 8 and 8 tokens in a sequence of 15, 8 are left of what stands first and 7 of the other, in either order."""
    for label, shown in both_orders(text([4, 4, 4, 4]), 18).items():
        split = [(tokens[1 : tokens.index(SEP)], tokens[tokens.index(SEP) + 1 : -1]) for tokens in shown]
        assert {(len(first), len(second)) for first, second in split} == {(4, 11), (8, 7), (11, 4)}
        for first, second in split:
            assert (first[0] > second[0]) == (label == 1)


def test_a_pair_without_a_mirror_image_stands_in_order_and_has_no_label() -> None:
    lone = both_orders(text([12], [12]), 18)  # split at a token
    assert set(lone) == {UNLABELLED}
    assert all([token for token in shown if token >= FIRST] == list(range(5, 17)) for shown in lone[UNLABELLED])
    # 2 + 6 + 5 + 7 tokens reach 15, and the last three alone would: mirrored, they would be the chunk.
    assert set(both_orders(text([2, 6, 5, 7, 4, 4]), 18)) == {UNLABELLED}
    assert set(both_orders(text([7, 5, 4, 4]), 18)) == {0, 1}


@pytest.mark.parametrize("length", [48, 128])
def test_batches_pass_the_audit_and_half_are_exchanged(corpus: Any, length: int) -> None:
    recipe = Recipe(objective=BOTH, inputs=Inputs(length=length), schedule=Schedule(batch_size=16, steps=1000))
    (audited,) = audit(recipe, corpus)
    checks = {check.figure: check for check in audited.checks}
    assert {name: check for name, check in checks.items() if check.holds is False} == {}
    assert checks["pairs exchanged"].holds
    assert checks["pairs from another document"].found == "0.00%"
    assert float(checks["labels of sentence_order"].found.split("%")[0]) > 50
    assert checks["tokens of the first segment"].holds


def flipped(batch: Batch) -> None:
    batch.arrays["sentence_order"]["labels"][:] ^= 1


def taken_for_in_order(batch: Batch) -> None:
    batch.format["swapped"][batch.format["swapped"] == 1] = 0


@pytest.mark.parametrize(
    ("fault", "figure"), [(flipped, "labels of sentence_order"), (taken_for_in_order, "'follows'")]
)  # fmt: skip
def test_the_audit_finds_a_wrong_order(corpus: Any, fault: Any, figure: str) -> None:
    recipe = Recipe(objective=BOTH, inputs=Inputs(length=48), schedule=Schedule(batch_size=16, steps=1000))
    source = Batches(recipe, corpus)

    def altered(step: int) -> Batch:
        batch = source.batch(step)
        fault(batch)
        return batch

    (audited,) = audit(recipe, corpus, altered, most=100_000)
    assert figure in {check.figure for check in audited.checks if check.holds is False}


@pytest.fixture(scope="module")
def pair_form() -> Any:
    """The classifiers of `benchmarks/pair_form.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
        yield import_module("pair_form")


def gain(pair_form: Any, source: Any, length: int, order: Any = None) -> float:
    """How far above the majority a classifier guesses whether segments are exchanged, by lengths and boundaries."""
    layout = segment_pairs(source, length=length, short=0.1, copy=0, seed=0, pairing=OWN)
    evaluated = np.flatnonzero(layout.swapped >= 0)[:16_000]
    assert len(evaluated) > 4_000
    label = layout.swapped == 1
    found: float = pair_form.classify(pair_form.form(source, layout)[evaluated], label[evaluated]).gain
    return found


@pytest.mark.parametrize("length", [64, 128])
@pytest.mark.parametrize("spread", ["even", "skewed"])
def test_form_does_not_tell_the_order(pair_form: Any, spread: str, length: int) -> None:
    """Where sentences of a document are as long wherever they stand, neither lengths nor boundaries tell."""
    draw = np.random.default_rng(0)

    def sentences(count: int) -> Any:
        lengths = draw.integers(3, 25, count) if spread == "even" else draw.gamma(3, 9, count)
        return np.maximum(3, lengths).astype(int)

    source = text(*(sentences(draw.integers(3, 60)) for _ in range(3000)))
    assert gain(pair_form, source, length) < 0.02


def test_form_would_tell_if_every_pair_had_a_label(pair_form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last sentence of a chunk is a long one: without the condition of a mirror image, lengths tell the order."""
    from bertlab.inputs.formats.segment_pair import _Pairs

    def labelled(self: Any, i: Any, chunk: Any) -> Any:
        drawn = np.random.default_rng(1).random(len(i)) < 0.5
        return np.where(chunk.within, -1, drawn).astype(np.int8), chunk.split.copy()

    monkeypatch.setattr(_Pairs, "_order", labelled)
    draw = np.random.default_rng(0)
    source = text(*(np.maximum(3, draw.gamma(3, 9, draw.integers(3, 60))).astype(int) for _ in range(1500)))
    assert gain(pair_form, source, 64) > 0.03


def test_batches_of_other_recipes_are_as_they_were() -> None:
    """Frozen: other digests mean that the batches of recipes that are already trained have changed."""
    draw = np.random.default_rng(0)
    source = text(*(draw.integers(2, 40, draw.integers(1, 30)) for _ in range(80)))
    found = {}
    for inputs in (Inputs(length=48), Inputs(length=48, format="sentence-pair")):
        digest = hashlib.sha256()
        for objective in ((MaskedLM(),), (MaskedLM(), NextSentence())):
            recipe = Recipe(objective=objective, inputs=inputs, schedule=Schedule(batch_size=16, steps=1000))
            batches = Batches(recipe, SimpleNamespace(tokenizer=VOCABULARY, train=source, heldout=source))
            for step in range(0, 600, 20):
                batch = batches.batch(step)
                segments, random, _ = batch.format.values()
                for array in (batch.tokens, segments, batch.lengths, random, batch.sequence_ids):
                    digest.update(np.ascontiguousarray(array).tobytes())
        found[inputs.format.kind] = digest.hexdigest()[:16]
    assert found == {"segment-pair": "c9785218aaa74837", "sentence-pair": "27d6a6f9968ff8b4"}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"objective": (NextSentence(), SentenceOrder())}, "next_sentence and sentence_order need different pairs"),
        ({"objective": (CausalLM(), SentenceOrder())}, r"sentence_order reads \[CLS\]"),
        ({"inputs": Inputs(format="full-sentences")}, "full-sentences has one segment: leave sentence_order out"),
        ({"inputs": Inputs(format="sentence-pair")}, "sentence-pair exchanges no segments: set it to segment-pair"),
    ],
)
def test_what_does_not_go_with_it_is_refused_in_a_line(changes: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        Recipe(**({"objective": BOTH} | changes))
    assert "\n" not in str(caught.value)


def test_batches_are_shared_by_what_pairs_alike() -> None:
    base = Recipe(objective=(MaskedLM(),))
    assert same_batches(base) == same_batches(dataclasses.replace(base, objective=(MaskedLM(), NextSentence())))
    assert same_batches(base) != same_batches(dataclasses.replace(base, objective=BOTH))


def test_a_batch_without_labels_has_no_loss() -> None:
    import torch

    from bertlab.model.heads import PairHead

    loss = SentenceOrder()
    labels = np.full(4, UNLABELLED, dtype=np.int32)
    assert loss.count({"labels": labels}) == 1
    assert loss.count({"labels": np.array([UNLABELLED, 0, 1, 1])}) == 3
    given = {"labels": torch.from_numpy(labels)}
    assert loss.loss_sum(PairHead(8), torch.randn(4, 8), given, torch.zeros(1, 8)).item() == 0


def test_each_head_is_scored_on_the_same_pairs_of_both_tasks(corpus: Any) -> None:
    """By hand: the share of held-out pairs whose label the head of a model gives."""
    import torch

    from bertlab.model.heads import PretrainingModel
    from bertlab.recipe import Model
    from bertlab.training.data import to_tensors

    found = {}
    for own in (NextSentence(), SentenceOrder()):
        recipe = Recipe(
            objective=(MaskedLM(), own), inputs=Inputs(length=32), model=Model(layers=1, hidden=16, heads=1)
        )
        model = PretrainingModel.of(recipe, corpus.tokenizer.size).eval()
        with torch.no_grad():
            model.nsp_head.classifier.weight *= 100  # away from giving always the same answer
        figures: dict[str, float] = {}
        with torch.inference_mode():
            for each in own.evaluations(recipe, corpus, 300, final=True):
                sums = [each.sums(model, to_tensors(batch).to("cpu")) for batch in each.batches]
                figures |= each.metrics({name: sum(float(part[name]) for part in sums) for name in each.names})
        assert own.evaluations(recipe, corpus, 300, final=False) == []
        for task in (NextSentence(), SentenceOrder()):
            batches = heldout_pairs(recipe, corpus, (MaskedLM(), task), 300)
            labels = np.concatenate([batch.arrays[task.kind]["labels"] for batch in batches])
            with torch.inference_mode():
                logits = [model.logits(to_tensors(each).to("cpu"), own.kind, task.kind) for each in batches]
            right = torch.cat(logits).argmax(-1).numpy() == labels
            share = right[labels != UNLABELLED].mean()
            (name,) = task.metric_labels
            assert figures[name] == pytest.approx(share)
            ones = (labels == 1).sum() / (labels != UNLABELLED).sum()
            assert figures[name.replace("accuracy", "majority")] == pytest.approx(max(ones, 1 - ones))
            assert 0.4 < ones < 0.6
            found.setdefault(task.kind, []).append([batch.tokens.tobytes() for batch in batches])
    for one, other in found.values():
        assert one == other
    assert set(MaskedLM().all_metric_labels).isdisjoint(NextSentence().all_metric_labels)
    assert set(NextSentence().all_metric_labels) == set(SentenceOrder().all_metric_labels)
