"""A study with an input format of its own: its recipes and batches, a pre-training, the report."""

import json

import numpy as np
import pytest

from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.lab import scales, studies
from bertlab.recipe import Recipe
from bertlab.recipe.identity import load, set_fields, to_canonical
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
    shown = {name: to_canonical(each)["inputs"]["format"] for name, each in recipes.items()}
    own = "sentences-of-tests"
    assert shown == {"packed": "full-sentences", "one": own, "two": {"kind": own, "most": 2}}
    assert all(load(Recipe, to_canonical(each)) == each for each in recipes.values())
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
