"""What claims compare, and what they need to be tested."""

import pytest

from bertlab.errors import BadInput
from bertlab.lab import scales, studies
from bertlab.lab.claim import Claim
from bertlab.lab.needs import Needs, sizes
from bertlab.lab.statement import untested
from bertlab.recipe import Inputs, Model, Recipe, Schedule
from bertlab.report.looks import hypothesis

SIMPLE = Claim("x", better="a", worse="b", on="MNLI")
CONTRAST = Claim("x", better="a", worse="b", than=("c", "d"), on="MNLI")


def test_a_contrast_compares_four_variants():
    assert SIMPLE.sides == [("a", 100), ("b", 100)]
    assert CONTRAST.sides == [("a", 100), ("b", 100), ("c", 100), ("d", 100)]
    assert CONTRAST.opposed == [("a", "b"), ("c", "d")]
    assert hypothesis(CONTRAST) != hypothesis(SIMPLE)
    assert hypothesis(SIMPLE) == '[[["a","b"]],null,100,100]', "as the looks of earlier versions have it"


@pytest.mark.parametrize("than", [("c",), ("c", "c"), ("c", "d", "e")])
def test_a_contrast_names_two_other_variants(than):
    with pytest.raises(BadInput, match="claim 'x': than names two variants"):
        Claim("x", better="a", worse="b", than=than, on="MNLI")


def test_needs_are_those_of_the_smallest_variant():
    small = Recipe(model=Model(hidden=96, heads=2, embedding_size=8), schedule=Schedule(steps=1600, batch_size=32))
    large = Recipe(inputs=Inputs(length=128, phase2_length=512, phase2_share=0.1))
    known = {"a": sizes(large), "b": sizes(small)}
    assert known["a"] == {
        "layers": 12, "width": 768, "embeddings": 768, "length": 512, "batch_size": 256, "steps": 1_000_000,
    }  # fmt: skip
    assert Needs(embeddings=64).unmet(["a", "b"], known) == "embeddings of 64 or more (b has 8)"
    assert Needs(embeddings=64).unmet(["a"], known) == ""
    both = Needs(batch_size=32, steps=10_000, width=100).unmet(["a", "b"], known)
    assert both == "a width of 100 or more (b has 96) and 10,000 steps or more (b has 1,600)"
    assert Needs(layers=24).unmet(["c"], known) == "", "of a variant that is not known"


def test_a_contrast_needs_sizes_of_all_four():
    claim = Claim("x", better="a", worse="b", than=("c", "d"), on="MNLI", needs=Needs(layers=4))
    known = {name: sizes(Recipe(model=Model(layers=layers))) for name, layers in zip("abcd", (4, 4, 4, 2), strict=True)}
    assert claim.untestable(True, known) == "not testable at this scale: needs 4 layers or more (d has 2)"
    assert claim.untestable(True, dict.fromkeys(known, known["a"])) == ""


@pytest.mark.parametrize("name", studies.names())
def test_every_claim_may_be_tested_at_the_scale_of_its_paper(name):
    study = studies.find(name)
    scale = scales.find("paper").following(study.at_paper)
    assert {claim.text: why for claim in study.claims if (why := untested(study, claim, scale))} == {}


@pytest.mark.parametrize(
    ("name", "tested"),
    [("embedding-size", 0), ("batch-size", 0), ("depth-and-width", 0), ("equal-time", 0), ("data-and-steps", 0),
     ("spans", 0), ("span-boundary", 0), ("mask-rate", 0), ("nsp", 12), ("size", 4), ("sharing", 6)],
)  # fmt: skip
def test_claims_of_absolute_sizes_are_not_tested_at_small_scales(name, tested):
    study = studies.find(name)
    for scale in ("micro", "tiny"):
        assert sum(not untested(study, claim, scales.find(scale)) for claim in study.claims) == tested


def test_margins_are_tested_at_the_scale_of_the_paper_alone_and_where_nothing_of_the_study_differs():
    study = studies.find("adapters")
    claim = study.claims[0]
    assert untested(study, claim, scales.find("tiny")) == "at scale paper alone, on its text and data sets"
    assert untested(study, claim, scales.find("paper")) == ""
    assert untested(study, claim, scales.find("paper").set(["schedule.steps=10"])).startswith("at scale paper alone")
    margin = Claim("x", better="fine-tuning", worse="adapters 64", on="MRPC", within=1.0)
    assert untested(study, margin, scales.find("paper")).startswith("at no scale: BERT base on the development set")
