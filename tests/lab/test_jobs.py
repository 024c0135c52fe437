"""What jobs compute with: their seeds, their examples, and data that is as it was planned."""

import dataclasses

import numpy as np
import pytest

from bertlab.adaptation import Features, FineTuning, LoRA
from bertlab.errors import BadInput, RunFailed
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import CorpusPreparation, Evaluation, Pretraining
from bertlab.lab.jobs.lists import devices_per_run
from bertlab.lab.record import records
from bertlab.lab.study import Ensemble, Measurement, Study, Variant
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import cost
from bertlab.store import union
from bertlab.store.addresses import run_ids
from bertlab.store.runs import Store
from bertlab.store.writes import write_json
from bertlab.tasks import kinds
from bertlab.tasks.locate import content_of
from bertlab.tasks.task import Task
from bertlab.training import finetuning
from bertlab.training.finetuning import EvalResult, Outcome


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "runs")
    made.create_directories()
    return made


def finish(store, job):
    work = store.work(job.kind, job.id)
    for name in ("recipe", "result"):
        write_json(work, f"{name}.json", {"science": {}})
    (work / "tokens.bin").write_bytes(b"tokens")
    return store.finish(job.kind, job.id, job.label)


@pytest.fixture
def folder(tmp_path):
    """A task of the user's own, of forty rows a split."""
    for split in ("train", "validation", "test"):
        rows = "".join(f'{{"a": "{split} {row}", "label": {row % 2}}}\n' for row in range(40))
        (tmp_path / f"{split}.jsonl").write_text(rows)
    return tmp_path


@pytest.fixture
def measure(folder, machine, store):
    """A measurement on this task, of pre-training seed 3 and fine-tuning seed 1; its model is there."""
    task = Task(kind="classification", name="own", path=str(folder), text=("a",), test="test")
    study = Study(
        name="own", question="?", source="me", baseline="a", variants=[Variant("a")],
        measurements=[Measurement("own", task=task)],
    )  # fmt: skip
    scale = scales.find("smoke").set(["finetune.max_eval_examples=30"])
    request = plan.Request(studies=(study,), scale=scale, seeds=(3,), finetune_seeds=2)
    *_, job = plan.make(request, machine).jobs
    finish(store, job.pretraining)
    return job


def test_an_ensemble_needs_the_models_of_all_members_and_its_first_is_that_of_one_model(machine):
    request = plan.Request(
        studies=(studies.find("scaling"),), scale=scales.find("smoke"), seeds=(0, 1), measure=("EnRo",)
    )
    cells = {(cell.variant, cell.pretraining.seed): cell.job for cell in plan.make(request, machine).cells}
    alone, apart, tuned = (cells[name, 1] for name in ("baseline", "4x ensembled", "4x ensembled, fine-tune only"))
    assert [model.seed for model in apart.needs] == [1, 1_000_001, 2_000_001, 3_000_001]
    assert tuned.needs == alone.needs == apart.needs[:1]
    assert [seed for _, seed in tuned.members] == [0, 1_000_000, 2_000_000, 3_000_000]
    assert len({cell.id for cell in cells.values()}) == len(cells)
    assert apart.work().flops == tuned.work().flops == 4 * alone.work().flops
    assert len({model.with_seed(0).id for model in apart.needs}) == 1


def test_the_records_of_an_ensemble_name_the_models_of_all_members(machine):
    request = plan.Request(
        studies=(studies.find("scaling"),), scale=scales.find("smoke"), seeds=(0, 1), measure=("EnRo",)
    )
    joined, needed = {}, {job.id for job in plan.make(request, machine).jobs if not job.passing}
    for seed in request.seeds:
        of_seed = plan.make(dataclasses.replace(request, seeds=(seed,)), machine)
        (name,) = (union.merge_into(joined, record, "") for record in records(of_seed).values())
    assert run_ids(joined[name]) == needed


def outcome(**changes):
    found = {"examples": 30, "metrics": {}, "majority": {}, "predictions": {"label": np.zeros(1)}, "collapsed": False}
    return found | changes


def test_a_measurement_has_both_seeds_and_the_floors_of_each_split(measure, store, machine, tmp_path, monkeypatch):
    given, sizes = [], []

    def finetune(*arguments, **named):
        given.append((named["seed"], named["finetune_seed"], named["milestone"]))
        more = {"curve": [], "steps": 1, "train_examples": 40, "trained_parameters": 1}
        return Outcome(**outcome(test=EvalResult(**outcome())), **more)

    def lexical_floor(self, data, max_train_examples):
        sizes.append((len(data.evaluation), len(data.test)))
        return [{"accuracy": 1.0}, {"accuracy": 2.0}]

    monkeypatch.setattr(finetuning, "finetune", finetune)
    monkeypatch.setattr(kinds.TaskKind, "lexical_floor", lexical_floor)
    result = measure.run(tmp_path, store, machine, silent)
    assert given == [(3, 1, 100)]
    assert sizes == [(30, 30)]
    assert (result["pretrain_seed"], result["finetune_seed"]) == (3, 1)
    assert (result["lexical"], result["test"]["lexical"]) == ({"accuracy": 1.0}, {"accuracy": 2.0})
    assert result["lexical_examples"] == 40


def test_the_result_has_the_number_of_rows_without_a_label(measure, store, machine, folder, tmp_path, monkeypatch):
    more = {"curve": [], "steps": 1, "train_examples": 40, "trained_parameters": 1}
    tested = EvalResult(**outcome())
    monkeypatch.setattr(finetuning, "finetune", lambda *_, **named: Outcome(**outcome(test=tested), **more))
    monkeypatch.setattr(kinds.TaskKind, "lexical_floor", lambda *_: [{}, {}])
    assert measure.run(tmp_path, store, machine, silent)["rows"] == {"train": 40, "evaluation": 30}
    for split in ("train", "validation", "test"):
        with (folder / f"{split}.jsonl").open("a") as file:
            file.write('{"a": "no one agrees", "label": -1}\n')
    task = dataclasses.replace(measure.data.task, unlabelled=(-1,))
    located = dataclasses.replace(measure.data, task=task)
    located = dataclasses.replace(located, content=content_of(located, machine))
    result = dataclasses.replace(measure, data=located).run(tmp_path, store, machine, silent)
    assert result["rows"] == {"train": 40, "evaluation": 30, "unlabelled": 3}


def test_a_small_change_of_a_model_takes_little_of_the_disk(measure):
    weights = cost.weight_bytes(measure.pretrained.read_recipe())
    whole, small = (dataclasses.replace(measure, settings=adaptation) for adaptation in (FineTuning(), LoRA()))
    added = [dataclasses.replace(job, keep=True).storage().kept - job.storage().kept for job in (whole, small)]
    assert added[0] == weights
    assert 0 < added[1] < weights / 5
    assert whole.storage().working == 6 * weights  # two checkpoints of weights and two moments
    assert 2 * weights < small.storage().working < 3 * weights


def test_examples_that_have_changed_since_the_plan_are_not_measured(measure, store, machine, folder, tmp_path):
    with (folder / "validation.jsonl").open("a") as file:
        file.write('{"a": "one more", "label": 0}\n')
    with pytest.raises(BadInput, match="the examples of task 'own' have changed: give the same command again"):
        measure.run(tmp_path, store, machine, silent)


def test_a_damaged_text_is_found_before_it_is_trained_on(measure, store, machine, tmp_path):
    corpus = finish(store, measure.pretraining.corpus)
    (corpus.path / "tokens.bin").write_bytes(b"tokenz")
    with pytest.raises(RunFailed, match=r"tokens.bin' was damaged"):
        measure.pretraining.run(tmp_path, store, machine, silent)


def test_the_gpus_are_divided_among_the_models_that_are_trained(machine):
    request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), random_init=True)
    few = dataclasses.replace(request, only=("80/10/10", "0/0/100"))
    jobs = plan.make(few, machine).jobs
    assert sum(isinstance(job, Pretraining) for job in jobs) == 3  # one of no steps
    assert devices_per_run(Machine(gpus=8, cluster="auto"), jobs) == 4
    assert devices_per_run(Machine(gpus=1, cluster="auto"), jobs) == 1
    rest = [job for job in jobs if isinstance(job, Evaluation | CorpusPreparation)]
    assert devices_per_run(Machine(gpus=8, cluster="auto"), rest) == 1


def test_an_ensemble_is_measured_where_its_models_are_trained_and_have_a_mean(machine, capsys):
    apart, tuned = Ensemble(of="pre-trainings", members=2), Ensemble(of="fine-tunings", members=2)
    measured = {
        "SST-2": Measurement("SST-2", task="sst2"),
        "pairs": Measurement("pairs", task="blimp", metric="accuracy"),
        "loss": Measurement("loss", metric="perplexity"),
        "coreference": Measurement("coreference", task="ontonotes", metric="f1"),
        "features": Measurement("features", task="conll2003", metric="f1", adaptation=Features()),
    }

    def cells(ensemble, *names):
        study = Study(
            name="own", question="?", source="me", baseline="a", measurements=[measured[name] for name in names],
            variants=[Variant("a"), Variant("b", ensemble=ensemble)],
        )  # fmt: skip
        planned = plan.make(plan.Request(studies=(study,), scale=scales.find("smoke"), measured=False), machine)
        return {(cell.variant, cell.measurement.name): cell.job.kind for cell in planned.cells}

    made = cells(apart, "SST-2", "pairs", "loss")
    assert made["b", "SST-2"] == "ensemble"
    assert {name for variant, name in made if variant == "b"} == {"SST-2"}, "the rest would be values of one model"
    assert "leaves out 'pairs' and 'loss' of 'b'" in capsys.readouterr().err
    with pytest.raises(BadInput, match="variant 'b' is an ensemble, which answers where models are trained on a task"):
        cells(tuned, "pairs")
    with pytest.raises(BadInput, match="models answer coreference-resolution with positions of words, which"):
        cells(tuned, "coreference")
    with pytest.raises(BadInput, match="features reads vectors of one pre-training, and the ensemble has several"):
        cells(apart, "features")
    assert cells(tuned, "features")["b", "features"] == "ensemble"
