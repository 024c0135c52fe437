"""What components of a study file get wrong is named by class, method and line before anything is trained."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bertlab import FineTuning, FullSentences, MaskedLM, Model, Tokens
from bertlab.audit.components import _check_bias, _check_examples, _check_sides, check_adaptation, check_recipe
from bertlab.errors import ArmFailed, BadInput
from bertlab.inputs.batches import Evaluation
from bertlab.inputs.formats import base, pairs
from bertlab.inputs.streams import Stream
from bertlab.lab import scales
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import BidirectionalLM, CausalLM
from bertlab.objectives.selection import Choice
from bertlab.optimizers import AdamW
from bertlab.recipe import LSTM, BiLSTM, BiTransformer, Inputs
from bertlab.tasks import examples, kinds
from bertlab.tasks.kinds.base import Predicted
from bertlab.tasks.kinds.classification import Classification
from bertlab.tasks.metrics import Mean
from bertlab.tasks.task import RawExamples, TaskData
from bertlab.text.tokenizers.wordpiece import TrainedWordPiece
from bertlab.training.finetuning import Pretrained

SMOKE = scales.find("smoke").recipe


def own(base_class: type, **members: Any) -> Any:
    """A component of a study file that defines these members."""
    fields = {"__module__": __name__, "kind": "own"} | members
    return dataclass(frozen=True, kw_only=True)(type("Own", (base_class,), fields))


def recipe(**fields: Any) -> Any:
    return dataclasses.replace(SMOKE, **fields)


def refused(says: str, method: str) -> Any:
    return pytest.raises(ArmFailed, match=rf"^Own\.{method} \(test_components\.py, line \d+\) {says}")


def test_what_does_what_it_should_passes(corpus: Any) -> None:
    def evaluations(self: Any, *given: Any) -> Any:
        return [dataclasses.replace(each) for each in MaskedLM.evaluations(self, *given)]

    loss = own(MaskedLM, evaluations=evaluations, loss_sum=MaskedLM.loss_sum)
    form = own(FullSentences, lay_out=FullSentences.lay_out)
    selection = own(Tokens, chooser=Tokens.chooser)
    fields = {"inputs": Inputs(length=32, format=form()), "objective": (loss(selection=selection()),)}
    check_recipe(recipe(**fields, model=own(Model)(layers=1, hidden=16, heads=2), optimizer=own(AdamW)()), corpus)
    check_recipe(recipe(inputs=Inputs(length=32, format="doc-sentences"), objective=(CausalLM(),)), corpus)


# Losses


TRANSFORM = "batch_transform"


def prepared(change: Any) -> Any:
    """The `batch_transform` of a masked LM whose arrays are changed."""

    def batch_transform(self: Any, *given: Any) -> Any:
        transform = MaskedLM.batch_transform(self, *given)
        return lambda sequences: change(transform(sequences), sequences)

    return batch_transform


def other(name: str, change: Any) -> Any:
    return prepared(lambda arrays, _: {**arrays, name: change(arrays[name])})


def misled(arrays: Any, sequences: Any) -> Any:
    sequences.tokens[:] = 10**6
    return arrays


def stream(tokens: Any, lengths: Any) -> Any:
    return prepared(lambda arrays, sequences: {**arrays, "more": Stream(tokens(sequences), lengths(sequences))})


@pytest.mark.parametrize(
    ("method", "changed", "says"),
    [
        ("loss_sum", lambda *given: None, "returns None: give a torch.Tensor"),
        ("loss_sum", lambda *given: 1.0, "returns 1.0: give a torch.Tensor"),
        ("loss_sum", lambda self, head, hidden, *given: hidden[0], r"returns a tensor of shape \(.*: return a scalar"),
        ("loss_sum", lambda *given: torch.zeros(()), "returns a tensor without a gradient: compute it from the model"),
        ("count", lambda *given: None, "returns None: give a number"),
        ("count", lambda *given: np.inf, "returns inf: give 0 to 1,000,000,000,000,000"),
        ("count", lambda *given: -1, "returns -1: give 0 to"),
        (TRANSFORM, lambda *given: [1], r"returns \[1\]: give a collections.abc.Callable"),
        (TRANSFORM, prepared(lambda arrays, _: None), "makes None: let its function return arrays by name"),
        (TRANSFORM, prepared(lambda arrays, _: {**arrays, "x": [1]}), r"makes x \[1\]: give finite numbers of shape"),
        (TRANSFORM, prepared(lambda arrays, _: {**arrays, "x": np.ones(3)}), r"makes x of shape \(3,\), float64"),
        (TRANSFORM, prepared(lambda arrays, _: {}), "makes no positions: give those at which it reads the model"),
        (TRANSFORM, other("positions", lambda values: values + 99), "makes positions .* from 99 to .* from 0 to 31"),
        (TRANSFORM, other("positions", lambda values: values * 1.0), "makes positions .*float64.*: give whole numbers"),
        (TRANSFORM, prepared(misled), "makes tokens of inputs .* from 1000000 to 1000000: give .* from 0 to"),
        (TRANSFORM, other("targets", lambda values: values + 10**6), r"makes targets .* from 1\d+ to 1\d+: give"),
        (TRANSFORM, other("weights", lambda values: values[:, ::-1].copy()), "leaves unused slots between used ones"),
        (TRANSFORM, other("weights", lambda values: values * np.nan), "makes weights .* from nan to nan"),
        (TRANSFORM, other("weights", lambda values: -values), "makes weights .* from -1.0 to"),
        (TRANSFORM, other("weights", lambda values: values[:, 0]), r"makes weights of shape \(8,\)"),
        (TRANSFORM, other("targets", lambda values: values[:, :-1]), r"makes targets .*: give .*shape \(8, 5\)"),
        (TRANSFORM, stream(lambda made: made.tokens[:3], lambda made: made.lengths), "makes tokens of more of shape"),
        (TRANSFORM, stream(lambda made: made.tokens, lambda made: made.lengths * 0), "makes lengths of more .* from 0"),
    ],
)  # fmt: skip
def test_a_loss(corpus: Any, method: str, changed: Any, says: str) -> None:
    with refused(says, method):
        check_recipe(recipe(objective=(own(MaskedLM, **{method: changed})(),)), corpus)


def test_every_loss_needs_a_gradient(corpus: Any) -> None:
    """The sum of the others has one."""
    second = own(MaskedLM, loss_sum=lambda *given: torch.ones((), dtype=torch.long))
    with refused("returns a tensor without a gradient", "loss_sum"):
        check_recipe(recipe(objective=(MaskedLM(), second())), corpus)


@pytest.mark.parametrize(
    ("positions", "says"),
    [
        (lambda count: "first", "makes positions 'first': give whole numbers"),
        (
            lambda count: torch.zeros(count, 3),
            r"makes positions of shape \(8, 3\), float32 from 0.0 to 0.0: give",
        ),
        (lambda count: torch.zeros(count, dtype=torch.long), r"makes positions of shape \(8,\)"),
        (lambda count: torch.zeros(count + 1, 1, dtype=torch.long), r"makes positions of shape \(9, 1\)"),
        (lambda count: torch.full((count, 1), 32), "makes positions .* from 32 to 32: give .* from 0 to 31"),
        (lambda count: torch.full((count, 1), -1), "makes positions .* from -1 to -1"),
    ],
)
def test_a_loss_reads_only_tokens_of_the_batch(corpus: Any, positions: Any, says: str) -> None:
    loss = own(MaskedLM, positions=lambda self, arrays: positions(len(arrays["weights"])))
    with refused(says, "positions"):
        check_recipe(recipe(objective=(loss(),)), corpus)


@pytest.mark.parametrize("name", ["encoder", "losses", "a.b"])
def test_a_head_has_a_free_name(corpus: Any, name: str) -> None:
    with pytest.raises(ArmFailed, match=rf"^Own\.head is '{name}', which is no free name in a model: give another"):
        check_recipe(recipe(objective=(own(MaskedLM, head=name)(),)), corpus)


def test_what_fails_far_from_a_study_file_names_its_class(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = own(MaskedLM, new_head=lambda self, model, vocabulary: torch.nn.Linear(3, 3))
    monkeypatch.setattr(loss, "__module__", "elsewhere")
    with pytest.raises(
        ArmFailed, match="AttributeError: 'Linear' object has no attribute 'loss', in the computation of Own"
    ):
        check_recipe(recipe(objective=(loss(),)), corpus)


def evaluation(**changes: Any) -> Any:
    """The evaluations of a masked LM with other fields."""
    return lambda self, *given: [dataclasses.replace(each, **changes) for each in MaskedLM.evaluations(self, *given)]


def sums(values: Any) -> Any:
    return evaluation(sums=lambda model, batch: values)


def metrics(values: Any) -> Any:
    return evaluation(metrics=lambda totals: values)


USUAL = {"loss": 1.0, "right": 1.0, "count": 2.0}


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (lambda *given: None, "returns what cannot be used .*: return a list of Evaluation"),
        (lambda *given: [None], "returns what cannot be used .*: return a list of Evaluation"),
        (evaluation(batches=[None]), "returns what cannot be used"),
        (evaluation(names=3), "returns what cannot be used"),
        (evaluation(sums=None), "returns what cannot be used"),
        (evaluation(metrics={}), "returns what cannot be used"),
        (sums(None), "returns what cannot be used"),
        (sums({"loss": 1.0}), "gives an Evaluation that names count, loss and right and sums loss: name what sums"),
        (sums({**USUAL, "count": "two"}), "returns what cannot be used .*could not convert"),
        (sums({**USUAL, "loss": torch.ones(2)}), "returns what cannot be used"),
        (metrics(None), "returns what cannot be used"),
        (metrics({"mine_loss": 1.0}), "gives the metric 'mine_loss', which Own.metric_labels lacks: name it there"),
        (metrics({"accuracy": math.nan}), "gives nan for accuracy: give a finite number"),
        (metrics({"accuracy": "0.5"}), "gives '0.5' for accuracy"),
        (metrics({}), "gives no metrics: give masked_lm_loss, which selection_metric names"),
        (metrics({"accuracy": 0.5}), "gives the metrics accuracy: give masked_lm_loss, which selection_metric names"),
    ],
)
def test_held_out_evaluations(corpus: Any, returned: Any, says: str) -> None:
    with refused(says, "evaluations"):
        check_recipe(recipe(objective=(own(MaskedLM, evaluations=returned)(),)), corpus)


def test_suitable_sums_and_metrics_pass(corpus: Any) -> None:
    def evaluations(self: Any, *given: Any) -> Any:
        batches = MaskedLM.evaluations(self, *given)[0].batches
        values = {"masked_lm_loss": np.float32(1.0).item(), "accuracy": 1}
        return (Evaluation(batches, ["count"], lambda model, batch: {"count": torch.ones(())}, lambda totals: values),)

    check_recipe(recipe(objective=(own(MaskedLM, evaluations=evaluations)(),)), corpus)


# Selections


def chosen(**changes: Any) -> Any:
    """A choice of the first token of each sequence, with other arrays, each made of the number of the sequences."""

    def chooser(self: Any, *given: Any) -> Any:
        def choose(sequences: Any, keys: Any) -> Any:
            count = len(sequences.ordinary)
            arrays = dict.fromkeys(("indices", "valid", "group"), np.zeros((count, 2), np.int32))
            arrays["valid"] = np.tile(np.array([1, 0], np.int32), (count, 1))
            return Choice(**arrays | {name: change(count) for name, change in changes.items()})

        return choose

    return chooser


def rows(*values: Any) -> Any:
    return lambda count: np.tile(np.array(values), (count, 1))


@pytest.mark.parametrize(
    ("chooser", "says"),
    [
        (lambda *given: None, "returns None: give a collections.abc.Callable"),
        (lambda *given: lambda *more: None, "chooses None: let its function return a Choice"),
        (lambda *given: lambda *more: (1, 2, 3), r"chooses \(1, 2, 3\): let its function return a Choice"),
        (chosen(valid=lambda count: [[1, 0]]), r"makes valid \[\[1, 0\]\]"),
        (chosen(valid=rows(2, 0)), "makes valid .* from 0 to 2: give .* from 0 to 1"),
        (chosen(valid=rows(0, 1)), "leaves unused slots between used ones"),
        (chosen(indices=rows(0.0, 0.0)), "makes indices .*float64.*: give whole numbers"),
        (chosen(indices=rows(0)), r"makes indices of shape \(8, 1\)"),
        (chosen(group=rows(0, 0, 0)), r"makes group of shape \(8, 3\)"),
        (chosen(indices=rows(99, 0)), r"chooses the tokens number \[99\] of \d+ ordinary ones: number them from 0"),
        (chosen(indices=rows(-1, 0)), r"chooses the tokens number \[-1\]"),
        (chosen(indices=rows(1, 1), valid=rows(1, 1)), r"chooses the tokens number \[1, 1\] .* choose each once"),
    ],
)
def test_a_selection(corpus: Any, chooser: Any, says: str) -> None:
    with refused(says, "chooser"):
        check_recipe(recipe(objective=(MaskedLM(selection=own(Tokens, chooser=chooser)()),)), corpus)


def test_numbers_in_unused_slots_may_be_any(corpus: Any) -> None:
    selection = own(Tokens, chooser=chosen(indices=rows(0, 99)))
    check_recipe(recipe(objective=(MaskedLM(selection=selection()),)), corpus)


# Formats


def with_array(name: str, change: Any) -> Any:
    """Changes one array of a layout; a pair's makes it one of pairs, whose second segments are empty."""

    def changed(layout: Any) -> Any:
        if not hasattr(layout, name):
            none = 0 * layout.first_length
            pair = {"second": 0 * layout.first, "second_length": none, "is_random_next": none > 0, "swapped": none}
            layout = pairs.PairLayout(**vars(layout), **pair)
        return dataclasses.replace(layout, **{name: change(getattr(layout, name))})

    return changed


def with_breaks(*breaks: int) -> Any:
    """Adds breaks to a layout."""
    return lambda layout: base.PackedLayout(**vars(layout), breaks=np.array(breaks))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (lambda layout: None, "returns None: give a bertlab.inputs.formats.base.Layout"),
        (with_array("first_length", lambda values: values + 90), "makes first_length .*: give .* from 1 to 32"),
        (with_array("first_length", lambda values: 0 * values + 32), "makes a (first segment up to|sequence of 34)"),
        (with_array("first", lambda values: values - 10**9), "makes first .* from -1000000000 to .*: give .* from 0"),
        (with_array("first", lambda values: values + 10**9), "makes first .* from 1000000000 to"),
        (with_array("first_length", lambda values: 0 * values), "makes first_length .* from 0 to 0: give .* from 1"),
        (with_array("second_length", lambda values: values - 1), "makes second_length .* from -1 to -1"),
        (with_array("second_length", lambda values: values + 30), "makes a sequence of .* tokens with its specials"),
        (with_array("starts", lambda values: values[::-1].copy()), "makes starts that do not ascend"),
        (with_array("starts", lambda values: values - 1), "makes starts .* from -1 to"),
        (with_array("starts", lambda values: values[:-1]), "makes first of shape .*: give .* of shape"),
        (with_array("starts", lambda values: values * 1.0), "makes starts .*float64"),
        (with_array("first", list), r"makes first \[.*: give whole numbers"),
        (with_array("swapped", lambda values: values + 9), "makes swapped .* from 9 to 9: give .* from -1 to 1"),
        (with_array("is_random_next", lambda values: values + 0), "makes is_random_next .*int64.*: give booleans"),
        (with_breaks(10**9), "makes breaks .* from 1000000000"),
        (with_breaks(5, 4), "makes breaks that do not ascend"),
        (lambda layout: type(layout)(*(array[:0] for array in vars(layout).values())), "makes no sequence: make one"),
    ],
)  # fmt: skip
def test_a_format(corpus: Any, changed: Any, says: str) -> None:
    def lay_out(self: Any, text: Any, recipe: Any, length: int, copy: int) -> Any:
        sentences, _ = base.pieces(text, length - 2, length - 2)
        return changed(base.consecutive(sentences, lambda i: i + 1, length - 2))

    form = own(FullSentences, lay_out=lay_out)
    with refused(says, "lay_out"):
        check_recipe(recipe(inputs=Inputs(length=32, format=form()), objective=(MaskedLM(),)), corpus)


@pytest.mark.parametrize("back", [0, 1, 7])
def test_sequences_that_do_not_go_on_are_refused(corpus: Any, back: int) -> None:
    """`after` of a sentence is the same one, or one before: following it would never end."""

    def lay_out(self: Any, text: Any, recipe: Any, length: int, copy: int) -> Any:
        sentences, _ = base.pieces(text, length - 2, length - 2)
        return base.consecutive(sentences, lambda i: np.where(i == 7, 7 - back, i + 1), length - 2)

    form = own(FullSentences, lay_out=lay_out)
    with refused(rf".*goes from sentence 7 to {7 - back}: let each", "lay_out"):
        check_recipe(recipe(inputs=Inputs(length=32, format=form()), objective=(MaskedLM(),)), corpus)


def test_batches_are_matched_to_a_format(corpus: Any) -> None:
    form = own(FullSentences, token_matched_to="doc-sentences")
    with pytest.raises(ArmFailed, match=r"^Own\.token_matched_to is 'doc-sentences': give a format"):
        check_recipe(recipe(inputs=Inputs(length=32, format=form()), objective=(MaskedLM(),)), corpus)


# Encoders


def test_an_encoder(corpus: Any) -> None:
    model = own(Model, new_encoder=lambda *given: None)
    with refused("returns None: give a bertlab.model.backbone.Backbone", "new_encoder"):
        check_recipe(recipe(model=model(layers=1, hidden=16, heads=2)), corpus)


def encoder(inputs: Any) -> Any:
    """An encoder of one layer and two heads that gives these inputs, and a batch of two sequences of five tokens."""
    model = PretrainingModel(Model(layers=1, hidden=8, heads=2), 20, 16, 0).encoder
    model.__class__ = type("Own", (type(model),), {"attention_inputs": lambda self, x, lengths: inputs})
    return model, TensorBatch.of(torch.zeros(2, 5, dtype=torch.long), None, {})


@pytest.mark.parametrize(
    ("bias", "says"),
    [
        (
            torch.zeros(5, 5),
            r"makes a bias of shape \(5, 5\), torch.float32: give floats of shape \(2 or 1, 2 or",
        ),
        (torch.zeros(3, 1, 5, 5), "makes a bias"),
        (torch.zeros(2, 3, 5, 5), "makes a bias"),
        (torch.zeros(1, 1, 4, 5), "makes a bias"),
        (torch.zeros(1, 1, 5, 1), "makes a bias"),
        (torch.ones(1, 1, 5, 5).bool(), r"makes a bias of shape \(1, 1, 5, 5\), torch.bool: give floats"),
        ("causal", r"makes a bias of shape \(\), str: give floats"),
    ],
)
def test_a_bias_of_another_form_is_refused(bias: Any, says: str) -> None:
    with refused(says, "attention_inputs"):
        _check_bias(*encoder([(bias, None)]))


def sided(config: Any, objective: Any, encode: Any) -> Any:
    """An encoder that encodes in its own way, and a batch of two sequences of nine and six tokens."""
    model = PretrainingModel(config, 20, 16, 0, objective).encoder
    model.__class__ = type("Own", (type(model),), {"__module__": __name__, "encode": encode or type(model).encode})
    return model, config.apart, TensorBatch.of(torch.arange(18).view(2, 9), torch.tensor([9, 6]))


def flipped(self: Any, x: Any, lengths: Any = None, positions: Any = None) -> Any:
    """Each sequence from its last token to its first, padding included: both halves see the other side."""
    return super(type(self), self).encode(x.flip(1), None, positions).flip(1)


def mixed(self: Any, x: Any, lengths: Any = None, positions: Any = None) -> Any:
    """The right-to-left half adds the left-to-right half."""
    right, left = super(type(self), self).encode(x, lengths, positions).chunk(2, -1)
    return torch.cat((right, left + right), -1)


def padded(self: Any, x: Any, lengths: Any = None, positions: Any = None) -> Any:
    """Attention that sees padding."""
    return super(type(self), self).encode(x, None, positions)


BERT_SHAPE = Model(layers=1, hidden=8, heads=2)
APART = BiLSTM(hidden=8, cells=6)
BOTH = (BidirectionalLM(),)


@pytest.mark.parametrize(
    ("config", "objective", "encode", "says"),
    [
        (BERT_SHAPE, (CausalLM(),), flipped, "lets a vector depend on a later token"),
        (APART, BOTH, flipped, "lets a vector depend on a later token"),
        (APART, BOTH, mixed, "lets a right-to-left half depend on an earlier token"),
        (BERT_SHAPE, (MaskedLM(),), padded, "lets a vector depend on padding"),
        (APART, BOTH, padded, "lets a vector depend on padding"),
    ],
)
def test_an_encoder_that_sees_the_wrong_side_is_refused(config: Any, objective: Any, encode: Any, says: str) -> None:
    with refused(says, "encode"):
        _check_sides(*sided(config, objective, encode))


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_shipped_encoders_see_their_side(positions: Any) -> None:
    shape = {"layers": 2, "hidden": 16, "heads": 4, "positions": positions}
    _check_sides(*sided(BiTransformer(**shape), BOTH, None))
    _check_sides(*sided(Model(**shape), (CausalLM(),), None))
    _check_sides(*sided(Model(**shape), (MaskedLM(),), None))
    _check_sides(*sided(APART, BOTH, None))
    _check_sides(*sided(LSTM(layers=2, hidden=16), (CausalLM(),), None))


@pytest.mark.parametrize("returned", [None, [], [(None, None)] * 2, [None], [(None,)], iter([(None, None)])])
def test_inputs_of_other_layers_are_refused(returned: Any) -> None:
    with refused(
        "returns .*: return a list of a bias and angles, each perhaps None, for each of 1 layers", "attention_inputs"
    ):
        _check_bias(*encoder(returned))


# Optimisers


@pytest.mark.parametrize(
    ("built", "says"),
    [
        (lambda groups: None, "returns None: give a torch.optim.Optimizer"),
        (torch.optim.SGD, "returns a torch.optim.SGD without fused=True: set it"),
        (
            lambda groups: torch.optim.AdamW(groups[:1], fused=True),
            r"returns an optimiser without \d+ of \d+ para",
        ),
        (
            lambda groups: torch.optim.AdamW([group | {"lr": 0.0} for group in groups], fused=True),
            "returns an optimiser with a learning rate of 0.0: keep the lr of each group",
        ),
        (
            lambda groups: torch.optim.AdamW([group | {"lr": float("inf")} for group in groups], fused=True),
            "returns an optimiser with a learning rate of inf: keep",
        ),
        (
            lambda groups: type("Still", (torch.optim.AdamW,), {"step": lambda *given: None})(groups, fused=True),
            "returns an optimiser that changes no weight",
        ),
    ],
)
def test_an_optimiser(corpus: Any, built: Any, says: str) -> None:
    with refused(says, "build"):
        check_recipe(recipe(optimizer=own(AdamW, build=lambda self, groups: built(groups))()), corpus)


# Adaptations and kinds of tasks

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]


def task(kind: str = "classification") -> TaskData:
    """The first letter of a text."""
    draw = np.random.default_rng(0)

    def raw(count: int) -> RawExamples:
        labels = draw.integers(0, 2, count).tolist()
        texts = [f"{'ab'[label]} {' '.join(draw.choice(list('cdefgh'), 4))}" for label in labels]
        return RawExamples(text=(texts,), labels=labels)

    names = {"name": "letters", "dataset": "toy", "kind": kind, "content": "sha256:0"}
    return TaskData(**names, labels=("a", "b"), train=raw(40), evaluation=raw(20))


@pytest.fixture(autouse=True)
def known() -> Any:
    """The kinds, which are as before after the test."""
    yield kinds.KINDS
    kinds.KINDS.pop("own", None)


def check(machine: Any, adaptation: Any, kind: str = "classification") -> None:
    tokenizer = TrainedWordPiece(PIECES)
    model = PretrainingModel(Model(layers=1, hidden=16, heads=2, max_positions=32), len(PIECES), 32, 0)
    check_adaptation(Pretrained(model=model, tokenizer=tokenizer, positions=32), task(kind), adaptation, machine)


def of_kind(**members: Any) -> Any:
    return type("Own", (Classification,), {"__module__": __name__, "name": "own", **members})


@pytest.mark.parametrize(
    ("method", "changed", "says"),
    [
        ("adapt", lambda *given: None, "returns None: give a torch.nn.Module"),
        ("encoder", lambda *given: None, "returns None: give a torch.nn.Module"),
        (
            "adapt",
            lambda *given: FineTuning.adapt(*given).requires_grad_(False),
            "returns a module without a parameter to train",
        ),
        ("loss", lambda *given: 3.0, "returns 3.0: give a torch.Tensor"),
        ("loss", lambda *given: torch.zeros(()), "returns a tensor without a gradient"),
    ],
)
def test_an_adaptation(machine: Any, method: str, changed: Any, says: str) -> None:
    with refused(says, method):
        check(machine, own(FineTuning, **{method: changed})(length=16))


def guess(arrays: Any) -> Any:
    return lambda *given: arrays


def lacking(self: Any, *given: Any) -> Any:
    predicted = Classification.predict(self, *given)
    return Predicted(arrays={"prediction": predicted.arrays["prediction"]}, collapsed=False)


@pytest.mark.parametrize(
    ("method", "changed", "says"),
    [
        ("head", lambda *given: None, "returns None: give a torch.nn.Module"),
        ("encode", lambda *given, **named: None, "returns None: give a bertlab.tasks.examples.Examples"),
        ("logits", lambda *given: None, "returns None: give a torch.Tensor"),
        (
            "logits",
            lambda *given: torch.zeros(4, 1),
            r"returns a tensor of shape \(4, 1\): return \(4, 1, 'C'\)",
        ),
        ("logits", lambda *given: torch.zeros(4, 2, 3), r"returns a tensor of shape \(4, 2, 3\)"),
        ("loss", lambda self, logits, targets: logits, r"returns a tensor of shape .*: return a scalar tensor"),
        ("loss", lambda *given: torch.zeros(()), "returns a tensor without a gradient"),
        ("predict", lambda *given: {}, r"returns \{\}: give a bertlab.tasks.kinds.base.Predicted"),
        ("predict", lacking, "returns what cannot be used .KeyError: 'label'.: give what the metrics read"),
        ("score", lambda *given: 3.0, "returns 3.0: give a bertlab.tasks.metrics.Metric"),
        ("majority", guess(None), "returns None: give pairs in braces"),
        ("majority", guess({"prediction": np.zeros(20)}), "returns what cannot be used .KeyError: 'label'."),
        ("lexical", lambda *given: guess(None), "returns what cannot be used .TypeError.*: give what the metrics read"),
        ("lexical", lambda *given: guess({"prediction": np.zeros(20)}), "returns what cannot be used .KeyError"),
    ],
)
def test_a_kind_of_task(machine: Any, method: str, changed: Any, says: str) -> None:
    of_kind(**{method: changed})
    with refused(says, method):
        check(machine, FineTuning(length=16), "own")


def test_scores_are_finite_numbers_of_all_examples(machine: Any) -> None:
    of_kind(score=lambda self, name, arrays, labels: Mean(np.full(20, np.nan)))
    with pytest.raises(BadInput, match="metric accuracy of the kind of task 'own' gives no finite number"):
        check(machine, FineTuning(length=16), "own")


def test_a_suitable_adaptation_and_kind_pass(machine: Any) -> None:
    of_kind(score=lambda self, name, arrays, labels: Mean(100.0 * (arrays["prediction"] == arrays["label"])))
    check(machine, own(FineTuning)(length=16), "own")
    check(machine, FineTuning(length=16))


def encoded(**changes: Any) -> examples.Examples:
    """Two sequences of three and two tokens, a target at the first of each."""
    usual = {
        "sequences": [np.array([2, 9, 3]), np.array([2, 3])],
        "segment_b_start": np.array([3, 2]),
        "positions": [np.zeros(1, int)] * 2,
        "targets": np.array([1, 0]),
        "example_index": np.arange(2),
        "pad": 0,
        "raw_count": 2,
    }
    return examples.Examples(**(usual | changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sequences": [np.array([2, 10, 3]), np.array([2, 3])]}, "makes tokens .* from 2 to 10: give .* from 0 to 9"),
        ({"sequences": [np.array([2, -1, 3]), np.array([2, 3])]}, "makes tokens .* from -1 to 3"),
        ({"sequences": [np.array([2.0, 9, 3]), np.array([2, 3])]}, "makes tokens .*float64"),
        (
            {"sequences": [np.arange(5), np.array([2, 3])]},
            "makes lengths of sequences .* from 2 to 5: give .* from 1",
        ),
        ({"sequences": [np.arange(3), np.zeros(0, int)]}, "makes lengths of sequences .* from 0 to 3"),
        ({"sequences": [np.arange(3)]}, "returns what cannot be used|makes 1 sequences for 2 examples"),
        ({"choices": 2}, "returns what cannot be used|makes 2 sequences for 2 examples"),
        ({"segment_b_start": np.zeros(1, int)}, r"makes segment_b_start of shape \(1,\)"),
        ({"sequences": [], "positions": [], "segment_b_start": np.zeros(0)}, "returns what cannot be used"),
        ({"positions": [np.array([3]), np.array([0])]}, "makes positions beyond their sequences"),
        ({"positions": [np.array([0]), np.array([-1])]}, "makes positions .* from -1 to 0"),
        ({"targets": np.array([1])}, r"makes example_index of shape \(2,\)"),
        ({"targets": np.array([0.5, np.nan])}, "makes targets .* from nan to nan"),
        ({"targets": np.array(["a", "b"])}, "makes targets .*<U1"),
        ({"targets": np.array([0, 2])}, "makes targets .* from 0 to 2: give .* from 0 to 1"),
        ({"targets": np.array([0, -1])}, "makes targets .* from -1 to 0"),
    ],
)
def test_examples_that_no_batch_can_hold_are_described(changes: Any, says: str) -> None:
    kind: Any = SimpleNamespace()
    with pytest.raises(ArmFailed, match=rf"^SimpleNamespace\.encode ({says})"):
        _check_examples(kind, encoded(**changes), vocabulary=10, length=4, labels=2)


def test_examples_without_a_target_pass() -> None:
    kind: Any = SimpleNamespace()
    for changes in ({"targets": np.array([0, examples.IGNORED])}, {}):
        _check_examples(kind, encoded(**changes), vocabulary=10, length=4, labels=2)
    _check_examples(kind, encoded(targets=np.array([-3.5, 1e6])), vocabulary=10, length=4, labels=0)
