"""The span boundary objective: its arrays by hand, its loss beside a plain version of the paper's equations."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.inputs.streams import Batch
from bertlab.objectives import CausalLM, GeometricSpans, MaskedLM, NextSentence, NGrams, SpanBoundary, Tokens
from bertlab.recipe import Inputs, Model, Recipe, Schedule, cost
from bertlab.recipe.identity import set_fields, to_canonical

SPANS = (MaskedLM(selection=GeometricSpans()), SpanBoundary())


def recipe_of(objective: Any = SPANS, **inputs: Any) -> Recipe:
    return Recipe(
        objective=objective,
        inputs=Inputs(**{"length": 48, "format": "doc-sentences"} | inputs),
        model=Model(layers=2, hidden=16, heads=2, dropout=0.0),
        schedule=Schedule(batch_size=16, steps=1000),
    )


def examples(positions: list[list[int]], width: int = 16, **others: Any) -> Any:
    """The arrays of a masked LM that masked these positions, 0 for an empty slot, whose ids are 100 more; `others` are
    those of losses between the two."""
    given = np.array(positions, dtype=np.int32)
    used = given > 0
    masked = {"positions": given, "targets": (given + 100) * used, "weights": used.astype(np.float32)}
    tokens = np.zeros((len(given), width), dtype=np.int32)
    return SpanBoundary().batch_transform(SimpleNamespace(), width, 0)(
        SimpleNamespace(tokens=tokens, arrays={"masked_lm": masked, **others})
    )


def test_spans_by_hand() -> None:
    # [CLS] 1 2 3 4 5 [SEP] 7 8 [SEP]: a span beside [CLS], one between, one of the second segment up to both [SEP].
    found = examples([[8, 2, 5, 1, 7, 0], [0, 0, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]])
    assert {name: array[0].tolist() for name, array in found.items()} == {
        "left": [0, 4, 6, 0, 0, 0],
        "right": [3, 6, 9, 0, 0, 0],
        "spans": [0, 0, 1, 2, 2, 0],
        "offsets": [0, 1, 0, 0, 1, 0],
        "targets": [101, 102, 105, 107, 108, 0],
        "weights": [1, 1, 1, 1, 1, 0],
    }
    assert not any(array[1].any() for array in found.values())
    assert [found[name][2, 0] for name in ("left", "right", "offsets", "targets")] == [2, 4, 0, 103]
    assert SpanBoundary().count(found) == 6


def test_spans_beside_one_token_share_it() -> None:
    found = examples([[1, 2, 4]])
    assert (found["left"][0, :2].tolist(), found["right"][0, :2].tolist()) == ([0, 3], [3, 5])


def test_a_loss_between_it_and_the_masked_lm_may_read_other_positions() -> None:
    found, alone = (examples([[1, 2, 4]], **between) for between in ({"causal_lm": {"positions": np.array([[9]])}}, {}))
    assert all((array == alone[name]).all() for name, array in found.items())


@pytest.mark.parametrize("selection", [GeometricSpans(), NGrams(), Tokens()])
@pytest.mark.parametrize("name", ["segment-pair", "full-sentences", "doc-sentences"])
def test_the_targets_are_exactly_the_masked_tokens(corpus: Any, selection: Any, name: Any) -> None:
    objective = (MaskedLM(selection=selection), SpanBoundary())
    batch = Batches(recipe_of(objective, format=name), corpus).batch(0)
    masked, spans = batch.arrays["masked_lm"], batch.arrays["span_boundary"]
    for number in range(len(batch.tokens)):
        wanted, found = {}, {}
        for slot in np.flatnonzero(masked["weights"][number]):
            wanted[int(masked["positions"][number, slot])] = int(masked["targets"][number, slot])
        for slot in np.flatnonzero(spans["weights"][number]):
            span = spans["spans"][number, slot]
            left, right = (int(spans[side][number, span]) for side in ("left", "right"))
            place = left + 1 + int(spans["offsets"][number, slot])
            assert place < right
            assert {left, right}.isdisjoint(wanted)
            assert set(range(left + 1, right)) <= set(wanted)
            found[place] = int(spans["targets"][number, slot])
        assert found == wanted
        assert spans["weights"][number].sum() == len(found)


def plainly(head: Any, hidden: Any, arrays: Any, embeddings: Any) -> Any:
    """Section 3.2, a token at a time: h0 = [x_{s-1}; x_{e+1}; p], two layers of LayerNorm(GeLU(W h)), -log P."""
    import torch

    def normalised(x: Any, norm: Any) -> Any:
        return norm.weight * (x - x.mean()) / torch.sqrt(x.var(correction=0) + 1e-12) + norm.bias

    def gelu(x: Any) -> Any:
        return x * (1 + torch.erf(x / 2**0.5)) / 2

    total, (count, slots), spans = 0.0, arrays["weights"].shape, hidden.shape[1] // 2
    for number in range(count):
        for slot in range(slots):
            if arrays["weights"][number, slot] == 0:
                continue
            span, offset = int(arrays["spans"][number, slot]), int(arrays["offsets"][number, slot])
            row = min(offset, len(head.positions.weight) - 1)
            left, right = hidden[number, span], hidden[number, spans + span]
            x = torch.cat((left, right, head.positions.weight[row]))
            x = normalised(gelu(head.fc1.weight @ x + head.fc1.bias), head.norm1)
            x = normalised(gelu(head.fc2.weight @ x + head.fc2.bias), head.norm2)
            logits = embeddings @ x + head.bias
            total = total + torch.logsumexp(logits, 0) - logits[int(arrays["targets"][number, slot])]
    return total


@pytest.mark.parametrize(("rows", "many"), [(20, 2**20), (2, 2**20), (20, 4 * 512)])
def test_the_loss_is_the_papers(corpus: Any, rows: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two rows of the table, all tokens from the second of their span on share the last."""
    import torch

    from bertlab.model import heads
    from bertlab.training.data import to_tensors

    monkeypatch.setattr(heads, "MANY_LOGITS", many)
    monkeypatch.setattr(heads, "PREDICTIONS_AT_ONCE", 4)
    loss = SpanBoundary(position_size=6, positions_in_span=rows)
    batch = Batches(recipe_of((MaskedLM(selection=GeometricSpans()), loss)), corpus).batch(3).rows(slice(0, 3))
    arrays = to_tensors(batch).to("cpu").arrays["span_boundary"]
    assert int(arrays["offsets"].max()) >= 2
    torch.manual_seed(0)
    head = loss.new_head(Model(layers=1, hidden=8, heads=1), 512).double()
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    positions = loss.positions(arrays)
    assert positions.shape[1] == 2 * (int(arrays["spans"].max()) + 1) < 2 * arrays["spans"].shape[1]
    hidden = torch.randn(len(positions), positions.shape[1], 8, dtype=torch.float64)
    embeddings = torch.randn(512, 8, dtype=torch.float64)
    found = loss.loss_sum(head, hidden, arrays, embeddings)
    assert found.item() == pytest.approx(plainly(head, hidden, arrays, embeddings).item(), rel=1e-12)
    split = slice(0, 1), slice(1, 3)
    parts = [{name: array[part] for name, array in arrays.items()} for part in split]
    sums = [loss.loss_sum(head, hidden[part], each, embeddings) for part, each in zip(split, parts, strict=True)]
    assert found.item() == pytest.approx(sum(each.item() for each in sums), rel=1e-12)
    assert loss.count(arrays) == sum(map(loss.count, parts)) == batch.arrays["masked_lm"]["weights"].sum()


def built(recipe: Recipe, corpus: Any) -> Any:
    from bertlab.model.heads import PretrainingModel

    return PretrainingModel.of(recipe, corpus.tokenizer.size)


def tensors(recipe: Recipe, corpus: Any, step: int = 0) -> Any:
    from bertlab.training.data import to_tensors

    return to_tensors(Batches(recipe, corpus).batch(step)).to("cpu")


def test_embeddings_may_be_narrower_than_the_model(corpus: Any) -> None:
    model = Model(layers=1, hidden=16, heads=2, dropout=0.0, embedding_size=4)
    recipe = dataclasses.replace(recipe_of(), model=model)
    made = built(recipe, corpus)
    losses = made.losses(tensors(recipe, corpus))
    assert losses["span_boundary"].isfinite()
    own = sum(each.numel() for each in made.get_submodule(SpanBoundary.head).parameters())
    assert own == SpanBoundary().parameters(model, len(made.encoder.embeddings.tokens.weight))


def test_gradients_reach_the_head_the_encoder_and_the_tied_embeddings(corpus: Any) -> None:
    recipe = recipe_of()
    model = built(recipe, corpus)
    model.losses(tensors(recipe, corpus))["span_boundary"].backward()
    reached = {name for name, each in model.named_parameters() if each.grad is not None and each.grad.abs().sum() > 0}
    head = {name for name, _ in model.named_parameters() if name.startswith("span_boundary_head.")}
    assert head
    assert head <= reached
    assert {"encoder.embeddings.tokens.weight", "encoder.layers.0.mlp.fc1.weight"} <= reached
    assert not any(name.startswith("lm_head.") for name in reached)


def test_the_vectors_of_masked_tokens_are_not_read(corpus: Any) -> None:
    recipe = recipe_of()
    arrays = tensors(recipe, corpus).arrays
    read, masked = recipe.objective[1].positions(arrays["span_boundary"]), arrays["masked_lm"]
    for number in range(len(read)):
        hidden = masked["positions"][number][masked["weights"][number] > 0].tolist()
        assert set(read[number].tolist()).isdisjoint(hidden)


def test_the_masked_lm_beside_it_is_as_without(corpus: Any) -> None:
    """The same batches, the same initial weights and so the same loss of the masked LM."""
    import torch

    recipe, alone = recipe_of(), recipe_of(SPANS[:1])
    one, other = tensors(recipe, corpus), tensors(alone, corpus)
    assert torch.equal(one.tokens, other.tokens)
    with torch.no_grad():
        losses = built(recipe, corpus).losses(one), built(alone, corpus).losses(other)
    assert losses[0]["masked_lm"].item() == pytest.approx(losses[1]["masked_lm"].item(), rel=1e-6)
    assert set(losses[0]) - set(losses[1]) == {"span_boundary"}


def test_its_loss_falls(corpus: Any) -> None:
    import torch

    recipe = recipe_of()
    model, batch = built(recipe, corpus), tensors(recipe, corpus)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    count = float(batch.arrays["span_boundary"]["weights"].sum())
    values = []
    for _ in range(30):
        loss = model.losses(batch)["span_boundary"] / count
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    assert values[-1] < 0.7 * values[0]


def test_the_figure_of_its_evaluation_is_its_mean_loss_on_heldout_text(corpus: Any) -> None:
    import torch

    recipe, own = recipe_of(), SPANS[1]
    model = built(recipe, corpus).eval()
    assert own.evaluations(recipe, corpus, 100, final=False) == []
    (found,) = own.evaluations(recipe, corpus, 100, final=True)
    from bertlab.training.data import to_tensors

    with torch.inference_mode():
        sums = [found.sums(model, to_tensors(batch).to("cpu")) for batch in found.batches]
    figures = found.metrics({name: sum(float(each[name]) for each in sums) for name in found.names})
    assert figures == {"span_boundary_loss": pytest.approx(np.log(corpus.tokenizer.size), rel=0.05)}
    assert set(figures) == set(own.metric_labels)


def test_an_exported_checkpoint_is_berts_without_the_head(corpus: Any, tmp_path: Any) -> None:
    """As SpanBERT's published ones are; it is read back as a start of other trainings."""
    import torch

    from bertlab.model.interop import huggingface

    recipe = recipe_of((*SPANS, NextSentence()), format="segment-pair")
    model = built(recipe, corpus)
    huggingface.write(tmp_path / "out", model, recipe.model, corpus.tokenizer)
    described, back, _ = huggingface.read(tmp_path / "out")
    assert [loss.kind for loss in described.objective] == ["masked_lm", "next_sentence"]
    saved = model.state_dict()
    assert {name for name in saved if name not in back.state_dict()} == {
        name for name in saved if name.startswith("span_boundary_head.")
    }
    assert all(torch.equal(value, saved[name]) for name, value in back.state_dict().items())


def test_parameters_and_operations(corpus: Any) -> None:
    recipe = recipe_of()
    count = sum(each.numel() for each in built(recipe, corpus).span_boundary_head.parameters())
    assert SPANS[1].parameters(recipe.model, corpus.tokenizer.size) == count
    more = cost.flops_per_token(recipe) - cost.flops_per_token(recipe_of(SPANS[:1]))
    assert more == pytest.approx(0.15 * 6 * (16 * (2 * 16 + 200) + 16 * 16 + 16 * 30_522))


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        ((SpanBoundary(),), "put one before it, as in objective=masked_lm,span_boundary"),
        ((SpanBoundary(), MaskedLM()), "put one before it, as in objective=masked_lm,span_boundary"),
        ((CausalLM(), SpanBoundary()), "put one before it, as in objective=masked_lm,span_boundary"),
    ],
)
def test_without_a_masked_lm_before_it_it_is_refused_in_a_line(objective: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as caught:
        Recipe(objective=objective)
    assert "\n" not in str(caught.value)


def test_json_and_options() -> None:
    changes = {"objective": "masked_lm,span_boundary", "span_boundary.position_size": "8"}
    found = set_fields(Recipe(), changes)
    assert found.objective == (MaskedLM(), SpanBoundary(position_size=8))
    assert to_canonical(found)["objective"] == [{"kind": "masked_lm"}, {"kind": "span_boundary", "position_size": 8}]


# Audit


def shifted(arrays: Any) -> None:
    arrays["right"][:, 0] += 1


def swapped(arrays: Any) -> None:
    arrays["offsets"][:] = arrays["offsets"][:, ::-1]


def foreign(arrays: Any) -> None:
    arrays["targets"][:, 0] += 1


def lost(arrays: Any) -> None:
    arrays["weights"][:, 0] = 0


def failing(recipe: Recipe, corpus: Any, fault: Any) -> set[str]:
    source = Batches(recipe, corpus)

    def altered(step: int) -> Batch:
        batch = source.batch(step)
        fault(batch.arrays["span_boundary"])
        return batch

    (audited,) = audit(recipe, corpus, altered, most=60_000)
    return {check.figure for check in audited.checks if check.holds is False}


@pytest.mark.parametrize(
    ("fault", "figures"),
    [
        (lambda arrays: None, set()),
        (shifted, {"boundaries"}),
        (foreign, {"targets of spans"}),
        (lost, {"tokens of spans"}),
    ],
)
def test_the_audit_finds_what_is_wrong(corpus: Any, fault: Any, figures: set[str]) -> None:
    assert failing(recipe_of(), corpus, fault) == figures


def test_the_audit_finds_tokens_at_other_places(corpus: Any) -> None:
    assert {"tokens of spans", "targets of spans"} <= failing(recipe_of(), corpus, swapped)


def test_it_goes_with_pairs_and_next_sentences(corpus: Any) -> None:
    recipe = recipe_of((MaskedLM(selection=GeometricSpans()), NextSentence(), SpanBoundary()), format="segment-pair")
    assert failing(recipe, corpus, lambda arrays: None) == set()
    assert set(built(recipe, corpus).losses(tensors(recipe, corpus))) == {"masked_lm", "next_sentence", "span_boundary"}
