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
    made = search.settings(request("masking", only=only, pretrained=trained), machine)
    assert len(made.plan.jobs) == 16
    assert all(isinstance(job, Evaluation) for job in made.plan.jobs)


def test_the_grid_is_tried_on_the_baseline_and_on_held_back_examples(machine):
    made = search.settings(request("masking", seeds=(0, 1, 2), finetune_seeds=2, random_init=True), machine)
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
    made, store = search.settings(request("masking"), machine), Store(tmp_path / "runs")
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
    made = search.settings(request("masking"), machine)
    assert made.chosen(Store(tmp_path / "none")) == made.request


def test_a_task_is_searched_once_on_the_first_baseline_that_has_it(machine):
    made = search.settings(request("nsp", "convergence"), machine)
    assert len(made.tries["mnli"]) == 8
    assert {job.pretraining.recipe.objective[-1].kind for _, job, _ in made.tries["mnli"]} == {"next_sentence"}


def test_each_of_the_variants_that_are_adapted_differently_gets_the_best_rate_on_each_task(machine, tmp_path):
    only = ("fine-tuning", "adapters 64", "LoRA 8")
    asked = request("adaptation", only=only, seeds=(0, 1), measure=("MRPC", "SST-2"))
    made, store = search.rates(asked, machine), Store(tmp_path / "runs")
    choices = {("adaptation", variant, task) for variant in only for task in ("mrpc", "sst2")}
    assert made.tries.keys() == choices
    (pretrain,) = (job for job in made.plan.jobs if isinstance(job, Pretraining))
    assert pretrain.recipe.seed == 0
    best = dict(zip(sorted(choices), (0.3, 3.0, 1.0, 0.3, 1.0, 0.3), strict=True))
    for choice, trials in made.tries.items():
        assert [trial.job.settings.lr_factor for trial in trials] == [1.0, 0.3, 3.0]
        assert all(trial.job.held_back for trial in trials)
        for number, trial in enumerate(trials):
            finish(store, trial.job, 90.0 if trial.setting == {"lr_factor": best[choice]} else float(number))
    chosen = made.chosen(store)
    planned = plan.make(chosen, machine)
    factors = {(cell.variant, cell.job.data.name): cell.job.settings.lr_factor for cell in planned.cells}
    expected = {(variant, task): factor for (_, variant, task), factor in best.items()}
    assert factors == expected
    assert not {trial.job.id for trials in made.tries.values() for trial in trials} & {job.id for job in planned.jobs}
    (record,), (usual,) = (records(one, "").values() for one in (planned, plan.make(asked, machine)))
    assert record.rates == {variant: {task: expected[variant, task] for task in ("mrpc", "sst2")} for variant in only}
    assert {*record.tries} == {trial.job.id for trials in made.tries.values() for trial in trials}
    assert usual.rates is None
    assert record.setting != usual.setting, "values of other rates are those of another setting"
    assert not [one for one in record.differences if "lr_factor" in one.what]


@pytest.mark.parametrize("only", [{"studies": (studies.find("masking"),)}, {"only": ("LoRA 8",)}])
def test_where_all_variants_are_adapted_alike_no_rate_can_be_chosen(machine, only):
    with pytest.raises(BadInput, match="--search-rates has no effect"):
        search.rates(request("adaptation", **only), machine)


@pytest.mark.parametrize("given", ["tasks.mnli.peak_lr=7e-4", "finetune.epochs=2"])
def test_what_is_set_cannot_be_searched(machine, given):
    with pytest.raises(BadInput, match="leave one of the two out"):
        search.settings(request("masking", scale=SCALE.set([given])), machine)
    free = search.settings(request("masking", scale=SCALE.set(["finetune.dropout=0.3"])), machine)
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
        measurements=[column for column in studies.find("masking").measurements if column.task == "conll2003"],
    )  # fmt: skip
    with pytest.raises(BadInput, match="--search has no effect"):
        search.settings(plan.Request(studies=(features,), scale=SCALE), machine)
