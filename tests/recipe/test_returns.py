"""What methods and constants of arms of a study file give is checked by hints."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest

from bertlab import FineTuning, Format, Loss, MaskedLM, Model, Selection, Variant, WordPiece
from bertlab.errors import ArmFailed, BadInput, RunFailed
from bertlab.recipe.ranges import Range, naming, own_arms, problem_of
from bertlab.tasks.kinds import Classification

BASES = {"loss": MaskedLM, "model": Model, "adaptation": FineTuning, "tokenizer": WordPiece}


def own(base, **members):
    """A class of a study file that defines these members."""
    return dataclass(frozen=True, kw_only=True)(
        type("Own", (base,), {"__module__": __name__, "kind": "own", **members})
    )


def gives(value):
    return lambda self, *given, **named: value


@pytest.mark.parametrize(
    ("base", "name", "value", "advice"),
    [
        ("loss", "parameters", "7", "give a whole number"),
        ("loss", "parameters", None, "give a whole number"),
        ("loss", "parameters", math.nan, "give a whole number"),
        ("loss", "parameters", 1.5, "give a whole number"),
        ("loss", "parameters", True, "give a whole number"),
        ("loss", "parameters", -1, "give 0 to 1,000"),
        ("loss", "parameters", 10**400, "give 0 to 1,000"),
        ("loss", "flops", "7", "give a number"),
        ("loss", "flops", None, "give a number"),
        ("loss", "flops", math.nan, r"give 0 to 1e\+30"),
        ("loss", "flops", math.inf, "give 0 to"),
        ("loss", "flops", 10**400, "give 0 to"),
        ("loss", "flops", -1.0, "give 0 to"),
        ("loss", "flops", np.float64("nan"), "give 0 to"),
        ("loss", "flops", np.ones(2), "give a number"),
        ("loss", "count", math.inf, "give 0 to"),
        ("loss", "repeats_after", 0, "give 1 to"),
        ("loss", "cost_equivalent", None, "give a bertlab.recipe.Loss"),
        ("loss", "new_head", 3, "give a torch.nn.Module"),
        ("loss", "audit", None, "give a list"),
        ("loss", "audit_again", iter(()), "give a list"),
        ("model", "parameters", None, "give a whole number"),
        ("model", "flops_per_token", math.inf, "give 0 to"),
        ("model", "max_length", 0, "give 1 to"),
        ("adaptation", "steps", -1, "give 0 to"),
        ("adaptation", "flops", "much", "give a number"),
        ("adaptation", "in_model", None, "give a bertlab.adaptation.Adaptation"),
        ("adaptation", "options", "all", r"give \(x,\) or \(x, y\), each of them a text"),
        ("adaptation", "unsupported_reason", None, "give a text"),
        ("adaptation", "inputs", None, "give a bertlab.adaptation.base.Inputs"),
        ("adaptation", "lr_multipliers", {1: math.nan}, "give 0 to"),
        ("adaptation", "lr_multipliers", {1: -1.0}, "give 0 to"),
        ("adaptation", "lr_multipliers", None, "give pairs"),
        ("tokenizer", "load", None, "give a bertlab.text.tokenizers.base.TrainedTokenizer"),
    ],
)
def test_a_method_that_returns_something_unsuitable_is_named(base, name, value, advice):
    arm = own(BASES[base], **{name: gives(value)})()
    with pytest.raises(ArmFailed, match=rf"^Own\.{name} \(test_returns\.py, line \d+\) returns .*: {advice}"):
        getattr(arm, name)(*[1] * 3)


@pytest.mark.parametrize(
    ("base", "name", "value"),
    [
        ("loss", "selection_metric", None),
        ("loss", "out_of_distribution_metrics", "accuracy"),
        ("loss", "all_metric_labels", [1]),
        ("loss", "all_metric_labels", {"a_loss": 3}),
        ("loss", "annotated", "no"),
        ("model", "init_std", 0.0),
        ("model", "embedding_width", 0),
        ("adaptation", "description", 3),
        ("tokenizer", "cased", None),
    ],
)
def test_a_property_is_checked_too(base, name, value):
    arm = own(BASES[base], **{name: property(gives(value))})()
    with pytest.raises(ArmFailed, match=rf"^Own\.{name} \(test_returns\.py, line \d+\) returns "):
        getattr(arm, name)


@pytest.mark.parametrize(
    ("base", "name", "value", "advice"),
    [
        (Loss, "metric_labels", ["a_loss"], "give pairs"),
        (Loss, "causal", "no", "give true or false"),
        (Loss, "meaning", None, "give a text"),
        (Loss, "pairing", 0.5, "give "),
        (Selection, "fewer", 1, "give true or false"),
        (Format, "coverage", "all", "choose from|did you mean"),
        (FineTuning, "runs", "elsewhere", "choose from|did you mean"),
        (WordPiece, "file", None, "give a text"),
    ],
)
def test_a_constant_is_checked_with_its_class(base, name, value, advice):
    with pytest.raises(BadInput, match=rf"^Own\.{name} is .*: ({advice})"):
        own(base, **{name: value})


def test_a_kind_of_task_is_checked_too():
    with pytest.raises(BadInput, match=r"^Own\.metrics is 'f1': give \(x,\)"):
        type("Own", (Classification,), {"name": "own of returns", "metrics": "f1"})


def test_suitable_values_are_given_on_as_they_are():
    """Numbers of NumPy too, and methods that go on to the usual one."""

    def parameters(self, model, vocabulary):
        return np.int64(7)

    def flops(self, model, vocabulary, length):
        return MaskedLM.flops(self, model, vocabulary, length)

    arm = own(MaskedLM, parameters=parameters, flops=flops, selection_metric=property(gives("own_loss")))()
    assert (arm.parameters(Model(), 100), arm.selection_metric) == (7, "own_loss")
    assert arm.flops(Model(), 100, 8) == MaskedLM().flops(Model(), 100, 8) > 0


@pytest.mark.parametrize(
    ("hint", "value", "holds"),
    [
        (Annotated[float, Range(0, 1)], np.float32(0.5), True),
        (Annotated[float, Range(0, 1)], np.int8(1), True),
        (Annotated[float, Range(0, 1)], np.int8(2), False),
        (Annotated[int, Range(0, 9)], np.float32(2), False),
        (tuple[float, float], (np.float64(1), 2), True),
        (tuple[float, float], (1.0,), False),
        (Mapping[str, Any], {"a": None}, True),
        (Mapping[str, Any], {1: None}, False),
        ("collections.abc.Callable", print, True),
        ("collections.abc.Callable", None, False),
        (range, (1, 2), False),
    ],
)
def test_hints(hint, value, holds):
    assert (problem_of(hint, value) == "") is holds


def test_the_arms_of_study_files_in_a_value():
    loss = own(MaskedLM)
    tuning = type(own(FineTuning)())
    assert own_arms(Variant("a", objective=(loss(), MaskedLM()), adaptation=tuning())) == [loss, tuning]
    assert own_arms((MaskedLM(), Model())) == []


def test_classes_keep_their_docstrings_and_class_methods():
    class Kept(FineTuning):
        kind: ClassVar[str] = "kept"

        @classmethod
        def at_scale(cls, finetuning, features):
            """Says something."""
            return None

    assert Kept.at_scale.__doc__ == "Says something."
    with pytest.raises(ArmFailed, match=r"^Kept\.at_scale \(test_returns\.py, line \d+\) returns None"):
        Kept.at_scale(None, None)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (TypeError("no number"), "^TypeError: no number, in the computation of Own$"),
        (IndexError("Target 9 is out of bounds"), "^IndexError: Target 9 is out of bounds, in the computation of Own$"),
    ],
)
def test_what_fails_far_from_a_study_file_names_its_parts(monkeypatch, error, says):
    """As the file of the class is another one, no line of it is in the traceback."""
    arm = own(MaskedLM)()
    monkeypatch.setattr(type(arm), "__module__", "elsewhere")
    with pytest.raises(ArmFailed, match=says), naming(arm, Model()):
        raise error


@pytest.mark.parametrize(
    "error", [BadInput("wrong"), RunFailed("diverged"), RuntimeError("out of memory"), OSError("full"), SystemExit(3)]
)
def test_what_is_no_mistake_of_a_part_passes(monkeypatch, error):
    arm = own(MaskedLM)()
    monkeypatch.setattr(type(arm), "__module__", "elsewhere")
    with pytest.raises(type(error)) as raised, naming(arm):
        raise error
    assert raised.value is error


def test_what_a_line_of_the_study_file_raises_passes():
    with pytest.raises(KeyError), naming(own(MaskedLM)()):
        raise KeyError
    with pytest.raises(ZeroDivisionError), naming(MaskedLM()):
        raise ZeroDivisionError
