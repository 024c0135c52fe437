"""The search tries every setting once on the baseline, on held-back examples; all variants get the best one."""

import dataclasses

import pytest

from bertlab.adaptation import Features
from bertlab.errors import BadInput
from bertlab.lab import plan, scales, search, studies
from bertlab.lab.jobs import Evaluation, Pretraining
from bertlab.lab.record import records
from bertlab.lab.study import Study, Variant
from bertlab.store.runs import Store
from bertlab.store.writes import write_json

GRID = {"batch_size": (16, 32), "peak_lr": (1e-4, 1e-3), "epochs": (2, 3)}
SCALE = dataclasses.replace(scales.find("smoke"), grid=GRID)


def request(*names, **changes):
    return plan.Request(**({"studies": tuple(studies.find(name) for name in names), "scale": SCALE} | changes))


def finish(store, job, value):
    """A finished run of a try, with this value of every metric."""
    store.create_directories()
    work = store.work(job.kind, job.id)
    write_json(work, "recipe.json", {"science": {}})
    write_json(work, "environment.json", {})
    write_json(work, "result.json", {"metrics": dict.fromkeys(("accuracy", "f1", "pearson"), value)})
    store.finish(job.kind, job.id, job.label)


def test_on_a_finished_pre_training_only_measurements_are_tried(machine):
    only = ("80/10/10",)
    (trained,) = (job for job in plan.make(request("masking", only=only), machine).jobs if isinstance(job, Pretraining))
    trained = dataclasses.replace(trained, finished=True)
    made = search.make(request("masking", only=only, pretrained=trained), machine)
    assert len(made.plan.jobs) == 16
    assert all(isinstance(job, Evaluation) for job in made.plan.jobs)


def test_the_grid_is_tried_on_the_baseline_and_on_held_back_examples(machine):
    made = search.make(request("masking", seeds=(0, 1, 2), finetune_seeds=2, random_init=True), machine)
    assert made.tries.keys() == {"mnli", "conll2003"}
    (pretrain,) = (job for job in made.plan.jobs if job.kind == "pretrain")
    assert pretrain.recipe.seed == 0
    measured = [job for job in made.plan.jobs if isinstance(job, Evaluation)]
    assert len(measured) == 2 * 8
    assert all(job.held_back and job.finetune_seed == 0 and job.kind == "finetune" for job in measured)
    assert len({job.label for job in measured}) == len(measured)
    for tries in made.tries.values():
        found = [(job.settings.batch_size, job.settings.peak_lr, job.settings.epochs) for _, job, _ in tries]
        assert sorted(found) == sorted((b, p, e) for b in (16, 32) for p in (1e-4, 1e-3) for e in (2, 3))
    results = plan.make(request("masking"), machine)
    assert not {job.id for job in measured} & {job.id for job in results.jobs}, "a try is no result"


def test_every_variant_gets_the_best_setting_of_each_task(machine, tmp_path):
    made, store = search.make(request("masking"), machine), Store(tmp_path / "runs")
    best = {
        "mnli": {"batch_size": 32, "peak_lr": 1e-4, "epochs": 3},
        "conll2003": {"batch_size": 16, "peak_lr": 1e-3, "epochs": 2},
    }
    for task, tries in made.tries.items():
        for number, (setting, job, _) in enumerate(tries):
            finish(store, job, 90.0 if setting == best[task] else float(number))
    chosen = made.chosen(store)
    assert chosen.searched == best
    planned = plan.make(chosen, machine)
    for job in planned.jobs:
        if job.kind == "finetune":
            assert not job.held_back
            assert {name: getattr(job.settings, name) for name in GRID} == best[job.data.name]
    (record,) = records(planned, "").values()
    assert record.searched == best


def test_what_has_no_try_yet_keeps_its_setting(machine, tmp_path):
    made = search.make(request("masking"), machine)
    assert made.chosen(Store(tmp_path / "none")) == made.request


def test_a_task_is_searched_once_on_the_first_baseline_that_has_it(machine):
    made = search.make(request("nsp", "convergence"), machine)
    assert len(made.tries["mnli"]) == 8
    assert {job.pretraining.recipe.objective[-1].kind for _, job, _ in made.tries["mnli"]} == {"next_sentence"}


@pytest.mark.parametrize("given", ["tasks.mnli.peak_lr=7e-4", "finetune.epochs=2"])
def test_what_is_set_cannot_be_searched(machine, given):
    with pytest.raises(BadInput, match="leave one of the two out"):
        search.make(request("masking", scale=SCALE.set([given])), machine)
    free = search.make(request("masking", scale=SCALE.set(["finetune.dropout=0.3"])), machine)
    assert {job.settings.dropout for _, job, _ in free.tries["mnli"]} == {0.3}


@pytest.mark.parametrize("name", scales.SCALES)
def test_the_grid_of_every_scale_has_the_settings_near_its_own(name):
    scale = scales.find(name)
    assert scale.grid["peak_lr"]
    for field, values in scale.grid.items():
        assert getattr(scale.finetune, field) in values


def test_a_study_without_fine_tuning_has_nothing_to_search(machine):
    features = Study(
        name="frozen", question="?", source="?", baseline="a", variants=[Variant("a", adaptation=Features())],
        measurements=[each for each in studies.find("masking").measurements if each.task == "conll2003"],
    )  # fmt: skip
    with pytest.raises(BadInput, match="--search has no effect"):
        search.make(plan.Request(studies=(features,), scale=SCALE), machine)
