"""Seeds of what claims compare: which cells they add, and the commands that ask for them."""

import dataclasses
import shutil
from types import SimpleNamespace

import pytest

from bertlab.cli.options import StudyOptions
from bertlab.lab import claim_plan, plan, scales, studies
from bertlab.lab.jobs import Pretraining
from bertlab.lab.record import records
from bertlab.lab.study import RANDOM_INIT
from bertlab.store import commands

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
        ({}, (0,), (0, 1, 2, 3)),
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
