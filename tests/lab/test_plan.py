"""Plans: distinct jobs, each once, in order; what is shared; cells and records."""

import dataclasses
from pathlib import Path

import pytest

from bertlab.cli import options
from bertlab.inputs.batches import EVALUATION_SEQUENCES
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import CorpusPreparation, Evaluation, Pretraining
from bertlab.lab.record import records
from bertlab.lab.study import RANDOM_INIT, Measurement, Variant
from bertlab.lab.study_file import Code
from bertlab.objectives import Corruption, MaskedLM, NextSentence
from bertlab.recipe import cost
from bertlab.recipe.identity import identity
from bertlab.store import commands
from bertlab.store.runs import Store
from bertlab.text import tokens
from plans import LOSS, MASKING, kinds, own, request

NSP = Measurement("pairs", metric="next_sentence_accuracy")


def test_masking_has_eighteen_cells(machine):
    made = plan.make(request(), machine)
    assert len(made.cells) == 18
    assert [kinds(made).count(kind) for kind in ("corpus", "pretrain", "finetune", "features")] == [1, 6, 12, 6]


def test_each_job_comes_after_those_it_needs_and_measures_follow_their_training(machine):
    made = plan.make(request(seeds=(0, 1), finetune_seeds=2, random_init=True), machine)
    ids = [job.id for job in made.jobs]
    assert len(set(ids)) == len(ids)
    for job in made.jobs:
        assert all(ids.index(needed.id) < ids.index(job.id) for needed in job.needs)
    assert isinstance(made.jobs[0], CorpusPreparation)
    assert kinds(made)[1:8] == ["pretrain", *["finetune"] * 4, *["features"] * 2]


def test_what_two_studies_share_is_trained_once(machine):
    other = dataclasses.replace(
        MASKING,
        name="other",
        variants=[
            Variant("the same", objective=(MaskedLM(), NextSentence())),
            Variant("new", objective=(MaskedLM(corruption=Corruption(mask=0.5, keep=0.5, random=0)), NextSentence())),
        ],
        baseline="the same",
        published={},
        claims=[],
    )
    alone, both = (plan.make(request(studies=chosen), machine) for chosen in ((MASKING,), (MASKING, other)))
    assert kinds(both).count("pretrain") == kinds(alone).count("pretrain") + 1


def test_studies_of_one_model_share_that_which_is_not_trained(machine):
    every = tuple(studies.find(name) for name in studies.names())
    made = plan.make(request(studies=every, random_init=True, only=(RANDOM_INIT,)), machine)
    untrained = {job.recipe.model.kind: job.recipe.causal for job in made.jobs if job.kind == "pretrain"}
    # T5's are of two sizes and of a filtered text, GPT's is causal, ELECTRA's has a generator
    assert kinds(made).count("pretrain") == 7, "whatever the studies' baselines would be trained on"
    assert untrained.keys() == {"bert", "bilstm", "t5"}


def test_seeds_are_paired_across_variants(machine):
    made = plan.make(request(seeds=(0, 1, 2)), machine)
    seeds = {}
    for cell in made.cells:
        seeds.setdefault(cell.variant, set()).add(cell.job.pretraining.recipe.seed)
    assert set(map(frozenset, seeds.values())) == {frozenset({0, 1, 2})}


def test_the_variant_without_pretraining_is_the_baseline_of_no_steps(machine):
    made = plan.make(request(random_init=True, only=("80/10/10",)), machine)
    trained, untrained = (job for job in made.jobs if isinstance(job, Pretraining))
    assert untrained.recipe == dataclasses.replace(
        trained.recipe, schedule=dataclasses.replace(trained.recipe.schedule, steps=0)
    )
    assert {cell.variant for cell in made.cells} == {"80/10/10", RANDOM_INIT}


def test_a_finished_job_is_not_pending(machine, tmp_path):
    store = Store(tmp_path / "runs")
    made = plan.make(request(), machine)
    assert len(made.pending(store)) == len(made.jobs)
    store.create_directories()
    job = made.jobs[0]
    work = store.work(job.kind, job.id)
    (work / "recipe.json").write_text('{"science": {}}')
    (work / "result.json").write_text("{}")
    store.finish(job.kind, job.id, job.label)
    assert job not in made.pending(store)
    assert len(made.pending(store)) == len(made.jobs) - 1
    assert made.split(store) == ([job], list(made.jobs[1:]))


def test_anything_that_changes_a_measurement_changes_its_id(machine):
    def ids(**changes):
        return {job.id for job in plan.make(request(**changes), machine).jobs if isinstance(job, Evaluation)}

    base = ids()
    assert ids(scale=scales.find("smoke").set(["finetune.peak_lr=2e-3"])) & base != base
    assert not ids(scale=scales.find("smoke").set(["schedule.steps=21"])) & base
    assert not ids(scale=scales.find("smoke").set(["tokenizer.vocabulary=300"])) & base
    assert ids(finetune_seeds=2) > base
    assert ids(seeds=(0, 1)) > base


def test_ids_have_the_code_of_a_study_file_and_the_version_of_the_text(machine, monkeypatch):
    corpus, pretrain, measure, *_ = plan.make(request(), machine).jobs
    other = dataclasses.replace(corpus, code=Code(Path("/own.py"), "0" * 64))
    assert other.id != corpus.id
    assert dataclasses.replace(pretrain, corpus=other).id != pretrain.id
    assert dataclasses.replace(measure, code=other.code).id != measure.id
    monkeypatch.setattr(tokens, "TEXT_VERSION", tokens.TEXT_VERSION + 1)
    newer = dataclasses.replace(corpus)
    assert newer.id != corpus.id
    assert dataclasses.replace(pretrain, corpus=newer).id != pretrain.id


def test_a_variant_has_the_figures_of_its_own_losses(machine):
    variants = [Variant("a", objective=(MaskedLM(), NextSentence())), Variant("b", objective=(MaskedLM(),))]
    made = plan.make(request(studies=(own(*variants, measurements=(LOSS, NSP)),)), machine)
    assert [(cell.variant, cell.measurement.name) for cell in made.cells] == [
        ("a", "loss"), ("a", "pairs"), ("b", "loss")
    ]  # fmt: skip


def test_the_record_of_a_study_holds_every_cell_with_its_published_figure(machine):
    made = plan.make(request(), machine)
    ((name, record),) = records(made, "bertlab ablate masking").items()
    assert name.startswith("masking--smoke--")
    assert len(record.cells) == 18
    cell = next(value for value in record.cells if value.variant == "0/0/100" and value.method == "features")
    assert cell.published == 94.6
    assert {value.run_id for value in record.cells} <= {job.id for job in made.jobs}
    other = records(plan.make(request(scale=scales.find("smoke").set(["schedule.steps=3"])), machine), "x")
    assert list(other) != [name]  # another setting is another section of the report


def test_what_is_set_for_the_tasks_of_other_studies_leaves_the_record_its_name(machine):
    def name(**changes):
        return next(iter(records(plan.make(request(studies=(MASKING, studies.find("size")), **changes), machine))))

    smoke = scales.find("smoke")
    preset = dataclasses.replace(smoke, tasks={**smoke.tasks, "mrpc": {"epochs": 9.0}})
    assert name() == name(scale=smoke.set(["tasks.mrpc.epochs=9"])) == name(scale=preset)
    assert name() != name(scale=smoke.set(["tasks.mnli.epochs=9"]))
    assert name() != name(scale=smoke.set(["finetune.epochs=9"]))


def test_a_plan_says_how_many_pretrainings_variants_share(machine):
    """Six variants of Table 8, four of Table 5 on three models, seven of Table 7 on one; BERT is in all three."""
    together = request(studies=tuple(map(studies.find, ("masking", "nsp", "features"))), seeds=(0, 1))
    assert plan.make(together, machine).pretrainings == (2 * (6 + 4 + 7), 2 * (6 + 3 + 1 - 2))
    assert plan.make(request(studies=(MASKING,)), machine).pretrainings == (6, 6)
    again = dataclasses.replace(MASKING, name="again")
    assert plan.make(request(studies=(MASKING, again)), machine).pretrainings == (12, 6)


def test_variants_that_differ_only_in_their_adaptation_share_a_pre_training(machine):
    scale = scales.find("smoke").set(["model.layers=5"])
    one = request(studies=(studies.find("features"),), scale=scale, finetune_seeds=2, random_init=True)
    made = plan.make(one, machine)
    assert [kinds(made).count(kind) for kind in ("pretrain", "finetune", "features")] == [2, 2 * 2, 6 * 2]
    read = {cell.variant: cell.job.settings for cell in made.cells}
    assert read["last"].layers == "last"
    assert read[RANDOM_INIT] == read["fine-tuning"]
    (record,) = records(made, "").values()
    assert len(record.rows) == 8
    assert {cell.method for cell in record.cells} == {"finetune", "features"}
    assert {(cell.measurement, cell.split) for cell in record.cells} == {
        ("NER dev", "validation"), ("NER test", "test"),
    }  # fmt: skip


def test_a_figure_of_the_pre_training_is_a_cell_without_a_job_of_its_own(machine):
    made = plan.make(request(studies=(studies.find("size"),), only=("L/4",), finetune_seeds=3), machine)
    assert [kinds(made).count(kind) for kind in ("pretrain", "finetune")] == [1, 9]
    (cell,) = (cell for cell in made.cells if not cell.measurement.task)
    assert cell.job is cell.pretraining


def test_milestones_are_those_that_the_scale_keeps_and_the_end(machine):
    column = Measurement("MNLI", task="mnli", milestones=(10, 50, 75))
    curves = dataclasses.replace(MASKING, measurements=[column], published={}, claims=[])
    made = plan.make(request(studies=(curves,), only=("80/10/10",), random_init=True), machine)
    found = [(cell.variant, cell.job.milestone) for cell in made.cells]
    few = scales.find("tiny").set(["schedule.steps=20"])
    column = Measurement("MNLI", task="mnli", milestones=(1, 3, 99))
    short = dataclasses.replace(curves, measurements=[column])
    cells = plan.make(request(studies=(short,), scale=few, only=("80/10/10",)), machine).cells
    assert [cell.job.milestone for cell in cells] == [3, 100], "after step 1; weights after 1 and 99 % are not kept"
    late = dataclasses.replace(few, milestones=(99, 100))  # 99 % of 20 steps are all of them
    cells = plan.make(request(studies=(short,), scale=late, only=("80/10/10",)), machine).cells
    assert [cell.job.milestone for cell in cells] == [100]
    assert found == [("80/10/10", 50), ("80/10/10", 100), (RANDOM_INIT, 100)]
    assert len({cell.job.id for cell in made.cells}) == 3
    assert all(("milestone" in cell.job.definition()) is (cell.job.milestone < 100) for cell in made.cells)


def test_held_out_figures_at_a_milestone_are_one_evaluation_of_its_weights(machine):
    columns = [Measurement(name, metric=name, milestones=(50, 75, 100)) for name in ("masked_lm_loss", "accuracy")]
    curves = dataclasses.replace(MASKING, measurements=columns, published={}, claims=[])
    made = plan.make(request(studies=(curves,), only=("80/10/10",), random_init=True, seeds=(0, 4)), machine)
    assert [kinds(made).count(kind) for kind in ("pretrain", "held-out")] == [4, 2], "75 % is not saved, as no training"
    middle = [cell for cell in made.cells if cell.milestone == 50]
    assert {(cell.variant, cell.pretraining.seed, cell.measurement.name, cell.job.id) for cell in middle} == {
        ("80/10/10", job.seed, column.name, job.id) for job in made.jobs if job.kind == "held-out" for column in columns
    }
    for job in {cell.job.id: cell.job for cell in middle}.values():
        assert job.id == identity("held-out", pretrain=job.pretraining.id, milestone=50)
        assert job.work().tokens == 0
        sequences = 2 * EVALUATION_SEQUENCES * 32  # of each of two losses
        assert job.work().flops == pytest.approx(sequences * cost.flops_per_token(job.pretraining.recipe) / 3)


def test_a_figure_is_published_at_its_own_milestone(machine):
    made = plan.make(request(studies=(studies.find("convergence"),), scale=scales.find("tiny")), machine)
    (record,) = records(made, "").values()
    figures = {(cell.variant, cell.milestone): cell.published for cell in record.cells}
    assert figures["masked LM", 3] == 78.6
    assert figures["left-to-right", 20] == 81.0
    assert figures["left-to-right", 100] == 82.2
    assert figures["left-to-right", 30] is figures["BERT", 3] is None


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (0, 1, 2)), ("3-5", (3, 4, 5)), ("7-7", (7,)), ("0-2,7", (0, 1, 2, 7)), ("5,3-5", (3, 4, 5))],
)
def test_any_seeds_are_planned(machine, text, seeds):
    assert options.seeds(text) == seeds
    made = plan.make(request(seeds=options.seeds(text)), machine)
    assert {job.seed for job in made.jobs if isinstance(job, Pretraining)} == set(seeds)
    (record,) = records(made).values()
    assert options.seeds(commands.spelled(record.requests[0].seeds)) == seeds
    whole = plan.make(request(seeds=range(8)), machine)
    assert {job.id for job in made.jobs} < {job.id for job in whole.jobs}
