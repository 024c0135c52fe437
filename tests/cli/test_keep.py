"""`--keep`: the fine-tuned model of a run, beside its result, under the same id."""

import json

import pytest

from bertlab.cli.jobs import run_jobs
from bertlab.errors import BadInput
from bertlab.lab import plan, scales, studies
from bertlab.store.runs import Store

RUN = "masking-80-10-10-seed0"
FINETUNE = ("finetune", "--from", RUN, "--task", "mrpc", "--scale", "smoke", "--threads", "1")


@pytest.fixture(scope="module")
def store(call, finished):
    assert call(*FINETUNE, "--keep", "--runs", finished) == 0
    return Store(finished)


def with_model(store):
    return [run for run in store.runs() if run.kind == "finetune" and run.holds_task_model]


def test_the_run_has_the_changes_and_says_what_they_are(store):
    (run,) = with_model(store)
    (pretraining,) = (run for run in store.runs() if run.label == RUN)
    data = json.loads((run.path / "task.json").read_text())
    assert (data["pretrained"], data["kind"], data["seed"]) == (pretraining.id, "classification", 0)
    assert data["labels"]
    assert data["settings"]["length"] == 32
    assert data["tokenizer"] == pretraining.manifest()["vocab.txt"].sha256
    assert data["weights"] == pretraining.manifest()["model.safetensors"].sha256
    assert {"task.json", "task.safetensors"} <= run.manifest().keys()


def test_the_id_is_that_of_the_run_without_the_model(store, call, finished, tmp_path, capsys):
    (run,) = with_model(store)
    before = {other.id for other in store.runs()}
    assert call(*FINETUNE, "--runs", finished) == 0  # finished already
    assert {other.id for other in Store(finished).runs()} == before
    assert run.label.startswith(f"{RUN}-")


def test_a_run_that_finished_without_its_model_is_named(store, call, finished, capsys):
    lora = (*FINETUNE, "--adaptation", "lora", "--runs", finished)
    assert call(*lora) == 0
    capsys.readouterr()
    assert call(*lora, "--keep") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--keep: 1 run finished without keeping the model: `bertlab runs --remove " in line


def test_no_plan_is_carried_out_whose_runs_finished_without_a_model(finished, machine):
    """Plans of a search and of rounds are made after the command's own."""
    request = plan.Request(studies=(studies.find("masking"),), scale=scales.find("smoke"), keep=True)
    with pytest.raises(BadInput, match=r"--keep: [0-9]+ runs finished without keeping the model"):
        run_jobs(plan.make(request, machine).jobs, Store(finished), machine)


def test_the_command_that_uses_the_model_names_its_run(store, call, capsys):
    (run,) = with_model(store)
    capsys.readouterr()
    assert call(*FINETUNE, "--keep", "--runs", store.root) == 0
    assert f"`bertlab predict {run.id} FILE --runs {store.root}`" in capsys.readouterr().out


def test_what_is_kept_is_not_pruned(store, call, finished):
    (run,) = with_model(store)
    assert call("runs", "--prune", "--runs", finished) == 0
    assert [remaining.id for remaining in with_model(Store(finished))] == [run.id]
