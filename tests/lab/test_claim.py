"""What claims compare, what they need to be tested, which seeds they add, and which words a record has of them."""

import dataclasses
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from bertlab.cli.options import StudyOptions
from bertlab.errors import BadInput
from bertlab.lab import claim_plan, plan, scales, studies
from bertlab.lab.claim import Claim
from bertlab.lab.jobs import Pretraining
from bertlab.lab.needs import Needs, sizes
from bertlab.lab.record import records
from bertlab.lab.statement import OTHER_VERSION, restated, untested
from bertlab.lab.study import RANDOM_INIT
from bertlab.recipe import Inputs, Model, Recipe, Schedule
from bertlab.report.looks import hypothesis
from bertlab.store import commands
from bertlab.store.record import Difference

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


@pytest.fixture
def record(machine):
    """A record of an older version of the study masking: other words, a claim less, another published value."""
    study = studies.find("masking")
    made = plan.make(plan.Request(studies=(study,), scale=scales.find("smoke"), random_init=True), machine)
    (now,) = records(made).values()
    return replace(
        now,
        claims=now.claims[1:],
        notes=("an older note",),
        cells=(replace(now.cells[0], published=12.3), *now.cells[1:]),
        differences=(*now.differences, Difference(on="", what="an older phrase", of_study=True)),
    )


def test_claims_notes_and_published_values_are_those_of_the_study_now(record):
    study, found = studies.find("masking"), restated(record)
    assert [claim.text for claim in found.claims] == [claim.text for claim in study.claims]
    assert found.notes == tuple(study.notes)
    first = found.cells[0]
    assert first.published == study.figure(first.variant, first.measurement)
    assert "an older phrase" not in {difference.what for difference in found.differences}
    runs = [(value.run_id, value.pretrain_id) for value in record.cells]
    assert [(value.run_id, value.pretrain_id) for value in found.cells] == runs
    for name in ("setting", "definition", "rows", "requests", "sizes"):
        assert getattr(found, name) == getattr(record, name)
    assert restated(found) == found


@pytest.mark.parametrize("change", ["another baseline", "another variant", "a study file", "another study"])
def test_what_is_another_study_now_keeps_its_words(record, change):
    definition, other = record.definition, record
    if change == "another baseline":
        other = replace(record, definition=replace(definition, baseline="100/0/0"))
    elif change == "another variant":
        variants = {**definition.variants, "100/0/0": {"name": "100/0/0"}}
        other = replace(record, definition=replace(definition, variants=variants))
    elif change == "a study file":
        other = replace(record, sources=({"mine.py": "study = ..."},))
    else:
        other = replace(record, study="mine")
    notes = (*other.notes, *([OTHER_VERSION] if change in ("another baseline", "another variant") else []))
    assert restated(other) == replace(other, notes=notes)


def test_a_variant_that_was_not_run_may_have_changed(record):
    variants = {**record.definition.variants, "50/50/0": {"name": "50/50/0"}}
    other = replace(record, definition=replace(record.definition, variants=variants))
    assert len(restated(other).claims) == len(studies.find("masking").claims)


MASKING = studies.find("masking")
MNLI, FEATURES = "MNLI fine-tuned", "NER feature-based"


def request(**changes):
    return plan.Request(**({"studies": (MASKING,), "scale": scales.find("smoke")} | changes))


def beyond(made, *seeds):
    """The cells at other seeds."""
    return {(cell.variant, cell.measurement.name, cell.pretraining.seed) for cell in made.cells} - {
        (cell.variant, cell.measurement.name, cell.pretraining.seed)
        for cell in made.cells
        if cell.pretraining.seed in seeds
    }


def test_more_seeds_go_to_the_claims_that_this_setting_can_decide(machine):
    made = claim_plan.make(request(claim_seeds=(0, 1, 2, 3)), machine)
    compared = {
        ("80/10/10", FEATURES),
        ("100/0/0", FEATURES),
        ("0/0/100", FEATURES),
        ("80/10/10", MNLI),
        ("0/0/100", MNLI),
    }
    assert beyond(made, 0) == {(*pair, seed) for pair in compared for seed in (1, 2, 3)}
    assert len([cell for cell in made.cells if cell.pretraining.seed == 0]) == 18
    assert len([job for job in made.jobs if isinstance(job, Pretraining)]) == 6 + 3 * 3
    alone = plan.make(request(), machine)
    assert {job.id for job in alone.jobs} < {job.id for job in made.jobs}


def test_an_untrained_variant_has_the_seeds_of_the_claims(machine):
    made = claim_plan.make(request(claim_seeds=(0, 1, 2, 3), random_init=True), machine)
    untrained = {column for column in beyond(made, 0) if column[0] == RANDOM_INIT}
    assert untrained == {(RANDOM_INIT, on, seed) for on in (MNLI, FEATURES) for seed in (1, 2, 3)}


def test_claims_over_pretraining_need_seeds_only_at_the_milestones_that_they_compare(machine):
    study = studies.find("convergence")
    made = claim_plan.make(request(studies=(study,), scale=scales.find("micro"), claim_seeds=(0, 1)), machine)
    more = {(cell.variant, cell.milestone) for cell in made.cells if cell.pretraining.seed == 1}
    both = {(variant, at) for variant in ("masked LM", "left-to-right") for at in (3, 10, 20, 100)}
    assert more == both, "the second half of the steps needs more of them"
    assert {cell.milestone for cell in made.cells if cell.pretraining.seed == 0} >= {5, 30, 90}


def test_claims_at_milestones_that_a_scale_does_not_keep_cannot_be_decided(machine):
    study = studies.find("convergence")
    found = claim_plan.decidable(plan.make(request(studies=(study,)), machine), study)
    assert {(claim.at, claim.since) for claim in found} == {(100, 0)}


def test_claims_of_variants_that_are_one_model_at_a_scale_need_no_seeds(machine):
    """With two layers, a quarter and a half of them are one layer each; with four, they are one and two."""
    study = studies.find("size")
    micro = plan.make(request(studies=(study,), scale=scales.find("micro")), machine)
    assert claim_plan.decidable(micro, study) == []
    tiny = plan.make(request(studies=(study,), scale=scales.find("tiny")), machine)
    assert claim_plan.decidable(tiny, study) == study.claims


def test_without_claims_to_decide_all_cells_have_the_same_seeds(machine):
    for changes in ({"only": ("80/10/10",)}, {"studies": (dataclasses.replace(MASKING, claims=()),)}, {}):
        given = request(**changes, claim_seeds=(0, 1) if changes else ())
        made, usual = claim_plan.make(given, machine), plan.make(given, machine)
        assert (made.cells, made.jobs) == (usual.cells, usual.jobs)


@pytest.mark.parametrize(
    ("given", "seeds", "of_claims"),
    [
        ({}, (0,), (0, 1, 2, 3, 4)),
        ({"scale": "smoke"}, (0,), ()),
        ({"seeds": "1"}, (0,), ()),
        ({"seeds": "2"}, (0, 1), ()),
        ({"seeds": "2", "claim_seeds": "3-4"}, (0, 1), (3, 4)),
        ({"claim_seeds": "1"}, (0,), ()),
        ({"claim_seeds": "6", "scale": "smoke"}, (0,), (0, 1, 2, 3, 4, 5)),
    ],
)
def test_the_options_and_the_command_in_the_record_ask_for_the_same(machine, given, seeds, of_claims):
    def asked(**given):
        usual = {
            "scale": "micro",
            "seeds": None,
            "claim_seeds": None,
            "random_init": False,
            "curves": False,
            "from_": None,
            "only": None,
            "measure": None,
        }
        options = SimpleNamespace(study=["masking"], runs=machine.runs, **(usual | given))
        options.request = lambda studies, **more: request(scale=scales.find(options.scale), **more)
        return StudyOptions.study_request(options, machine)

    made = asked(**given)
    assert (tuple(made.seeds), tuple(made.claim_seeds)) == (seeds, of_claims)
    (record,) = records(claim_plan.make(made, machine), f"--scale {made.scale.name}").values()
    words = commands.line(record.requests).split()
    names = {"--scale": "scale", "--seeds": "seeds", "--claim-seeds": "claim_seeds"}
    again = asked(**{names[name]: value for name, value in zip(words[3::2], words[4::2], strict=True)})
    assert (tuple(again.seeds), tuple(again.claim_seeds)) == (seeds, of_claims)


def test_the_console_says_how_many_seeds_values_have(finished, call, smoke, tmp_path, capsys):
    shutil.copytree(finished, tmp_path / "runs")
    command = [*smoke, "--runs", tmp_path / "runs", "--only", "100/0/0"]
    assert call(*command, "--claim-seeds", "2") == 0
    out = capsys.readouterr().out
    assert "2 seeds of the values that claims compare, 1 seed of all others" in out
    assert call(*command, "--seeds", "2", "--dry-run") == 0
    assert "of the values that claims compare" not in capsys.readouterr().out


def test_a_contrast_has_seeds_of_all_four_variants(machine):
    study = studies.find("norm")
    (contrast,) = (claim for claim in study.claims if claim.than)
    sides = ("post-norm", "post-norm, no warm-up", "pre-norm", "pre-norm, no warm-up")
    assert claim_plan.compared(study, contrast) == {(variant, 100) for variant in sides}
    only = dataclasses.replace(study, claims=[contrast])
    made = claim_plan.make(request(studies=(only,), claim_seeds=(0, 1)), machine)
    assert beyond(made, 0) == {(variant, contrast.on, 1) for variant in sides}
    without = plan.make(request(studies=(only,), only=sides[:3]), machine)
    assert claim_plan.decidable(without, only) == []


def test_claims_that_need_larger_sizes_get_no_seeds(machine):
    study = studies.find("equal-time")
    (claim,) = study.claims
    small = scales.find("smoke")
    assert claim_plan.decidable(plan.make(request(studies=(study,), scale=small), machine), study) == []
    wide = small.set(["model.hidden=512", "model.heads=8"])
    assert claim_plan.decidable(plan.make(request(studies=(study,), scale=wide), machine), study) == [claim]
