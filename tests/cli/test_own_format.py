"""A study with an input format of its own: its recipes and batches, a pre-training, the report."""

import dataclasses
import json

import numpy as np
import pytest

from bertlab.audit import audit
from bertlab.errors import ArmFailed, BadInput
from bertlab.inputs.batches import Batches
from bertlab.inputs.formats import base, pairs
from bertlab.lab import scales, studies
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load, science, set_fields
from bertlab.store.runs import Store

STUDY = """
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from bertlab import Format, FullSentences, Inputs, MaskedLM, Measurement, Study, Variant
from bertlab.inputs.formats import base, pairs
from bertlab.recipe.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Sentences(Format):
    kind: ClassVar[str] = "sentences-of-tests"
    token_matched_to: ClassVar[Format | None] = FullSentences()
    most: Annotated[int, Range(1, 9)] = 1

    def lay_out(self, text, recipe, length, copy):
        sentences, documents = base.pieces(text, length - 2, length - 2)

        def after(i):
            fit = np.searchsorted(sentences, sentences[i] + length - 2, side="right") - 1
            return np.minimum(np.minimum(i + self.most, fit), documents[np.searchsorted(documents, i, side="right")])

        return base.consecutive(sentences, after, length - 2)


ALONE = (MaskedLM(),)
study = Study(
    name="own-format", question="?", source="me", baseline="packed",
    variants=[
        Variant("packed", inputs=Inputs(format="full-sentences"), objective=ALONE),
        Variant("one", inputs=Inputs(format=Sentences()), objective=ALONE),
        Variant("two", inputs=Inputs(format=Sentences(most=2)), objective=ALONE),
    ],
    measurements=[Measurement("loss", metric="masked_lm_loss")],
)
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("study") / "mine.py"
    file.write_text(STUDY)
    return file


def test_it_is_trained_and_reported(call, text_file, path, tmp_path):
    runs = tmp_path / "runs"
    command = ("ablate", path, "--only", "two", "--scale", "smoke", "--corpus", text_file, "--threads", "1")
    assert call(*command, "--precision", "fp32", "--runs", runs) == 0
    (own,) = (run.path for run in Store(runs).runs() if run.kind == "pretrain")
    saved = json.loads((own / "recipe.json").read_text())["science"]
    assert saved["recipe"]["inputs"]["format"] == {"kind": "sentences-of-tests", "most": 2}
    assert saved["code"], "the source of the file is part of the id"
    assert call("report", "--runs", runs, "--out", tmp_path / "reports") == 0


def test_its_recipe_is_read_again_and_its_fields_can_be_set(path):
    study = studies.find(str(path))
    recipes = {each.name: study.recipe(each, scales.find("smoke").recipe) for each in study.variants}
    shown = {name: science(each)["inputs"]["format"] for name, each in recipes.items()}
    own = "sentences-of-tests"
    assert shown == {"packed": "full-sentences", "one": own, "two": {"kind": own, "most": 2}}
    assert all(load(Recipe, science(each)) == each for each in recipes.values())
    assert study.varied >= {"inputs.format", "inputs.format.most"}
    fields = {"objective": "masked_lm", "inputs.format": own, "inputs.format.most": "2"}
    assert set_fields(scales.find("smoke").recipe, fields).inputs == recipes["two"].inputs
    with pytest.raises(BadInput, match=r"inputs\.format\.most is 10: give 1 to 9"):
        set_fields(recipes["two"], {"inputs.format.most": "10"})
    with pytest.raises(BadInput, match=r"inputs\.format\.most has no effect: inputs\.format is full-sentences"):
        set_fields(recipes["packed"], {"inputs.format.most": "2"})


def test_its_batches_are_of_the_tokens_of_the_other_format_and_are_audited(corpus, path):
    study = studies.find(str(path))
    recipes = [study.recipe(each, scales.find("smoke").recipe) for each in study.variants]
    lengths = [[batch.lengths for batch in map(Batches(each, corpus).batch, range(20))] for each in recipes]
    packed, one, two = (np.concatenate(each).mean() for each in lengths)
    assert one < two < packed
    assert [sum(map(sum, each)) for each in lengths] == [pytest.approx(20 * 8 * packed, rel=0.05)] * 3
    (audited,) = audit(recipes[2], corpus, most=100_000)
    assert all(check.holds is not False for check in audited.checks)
    assert {"a segment's text", "tokens of the text in an epoch"} <= {check.figure for check in audited.checks}


def with_array(name, change):
    """Changes one array of a layout; a pair's makes it one of pairs, whose second segments are empty."""

    def changed(layout):
        if not hasattr(layout, name):
            none = 0 * layout.first_length
            layout = pairs.PairLayout(
                **vars(layout), second=0 * layout.first, second_length=none, random=none > 0, order=none
            )
        return dataclasses.replace(layout, **{name: change(getattr(layout, name))})

    return changed


def with_breaks(*breaks):
    """Adds breaks to a layout."""
    return lambda layout: base.PackedLayout(**vars(layout), breaks=np.array(breaks))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (lambda layout: None, "returns None: return a Layout, as base.consecutive makes it"),
        (
            lambda layout: dataclasses.replace(layout, first_length=layout.first_length + 90),
            "makes a sequence of .* tokens with its specials: at most 32",
        ),
        (with_array("first", lambda values: values - 10**9), "puts first of sequence 0 from token -1000000000 up to"),
        (with_array("first", lambda values: values + 10**9), "puts first of sequence 0 from token 1000000000 up to"),
        (with_array("first_length", lambda values: -values), "puts first of sequence 0 from token 0 up to -"),
        (with_array("first_length", lambda values: 0 * values), "puts first of sequence 0 from token 0 up to 0: the"),
        (with_array("second_length", lambda values: values - 1), "puts second of sequence 0 from token 0 up to -1"),
        (
            with_array("second_length", lambda values: values + 10**8),
            "makes a sequence of 1000000.. tokens with its spec",
        ),
        (with_array("starts", lambda values: values[::-1].copy()), "makes starts that do not ascend"),
        (with_array("starts", lambda values: values - 1), "puts starts of sequence 0 from token -1 up to 0"),
        (with_array("starts", lambda values: values[:-1]), "makes .* first for .* starts: give one for each sequence"),
        (
            with_array("starts", lambda values: values * 1.0),
            r"makes starts of shape \(.*,\), float64: give an array of int64",
        ),
        (
            with_array("first", lambda values: values.astype(np.uint64)),
            r"makes first of shape \(.*,\), uint64: give an array of int64",
        ),
        (with_array("first", list), "makes first .*: give an array of int64"),
        (with_array("order", lambda values: values + 9), "makes an order of 9: give 1, 0 or -1"),
        (
            with_array("random", lambda values: values + 0),
            r"makes random of shape \(.*,\), int64: give an array of bool",
        ),
        (with_breaks(0), "makes breaks outside of the text"),
        (with_breaks(5, 4), "makes breaks that do not ascend"),
        (
            lambda layout: type(layout)(*(getattr(layout, field.name)[:0] for field in dataclasses.fields(layout))),
            "makes no sequence: make one at least",
        ),
    ],
)
def test_what_it_lays_out_is_checked(corpus, path, monkeypatch, changed, says):
    study = studies.find(str(path))
    recipe = study.recipe(study.variant("one"), scales.find("smoke").recipe)
    form = type(recipe.inputs.format)
    usual = form.lay_out
    monkeypatch.setattr(form, "lay_out", lambda *given: changed(usual(*given)))
    with pytest.raises(ArmFailed, match=rf"^Sentences\.lay_out \(test_own_format\.py, line \d+\) {says}"):
        Batches(recipe, corpus).batch(0)


@pytest.mark.parametrize("back", [0, 1, 10])
def test_sequences_that_do_not_go_on_are_refused(corpus, path, monkeypatch, back):
    """`after` of a sentence is the same one, or one before: following it would never end."""
    study = studies.find(str(path))
    recipe = study.recipe(study.variant("one"), scales.find("smoke").recipe)

    def lay_out(self, text, recipe, length, copy):
        sentences, _ = base.pieces(text, length - 2, length - 2)
        return base.consecutive(sentences, lambda i: np.where(i == 7, 7 - back, i + 1), length - 2)

    monkeypatch.setattr(type(recipe.inputs.format), "lay_out", lay_out)
    says = rf"^Sentences\.lay_out \(test_own_format\.py, line \d+\) goes from sentence 7 to {7 - back}: let each"
    with pytest.raises(ArmFailed, match=says):
        Batches(recipe, corpus).batch(0)


def test_a_second_segment_beyond_the_text_is_refused():
    one, none = np.array([3]), np.zeros(1, np.int8)
    layout = pairs.PairLayout(one, one, one, 2 * one, one, none > 0, none)
    assert layout.problem(20, 32) == dataclasses.replace(layout, second_length=0 * one).problem(20, 32) == ""
    assert layout.problem(8, 32).startswith("puts second of sequence 0 from")
