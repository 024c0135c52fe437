"""Tasks that a model is fine-tuned on first: what they change, and which fit."""

import dataclasses
import json

import pytest

from bertlab.errors import BadInput
from bertlab.lab import plan
from bertlab.lab.jobs import Evaluation
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.record import records
from bertlab.tasks import catalog, locate
from bertlab.tasks.task import Task
from plans import request


def test_what_comes_first_is_part_of_a_fine_tuning_and_of_no_other(machine):
    alone, both = (plan.make(request(intermediate_task=first), machine) for first in ({}, {"conll2003": "entities"}))
    changed = {job.label for job in both.jobs} - {
        job.label for job in alone.jobs if job.id in {j.id for j in both.jobs}
    }
    assert {job.data.name for job in both.jobs if job.label in changed} == {"conll2003"}
    assert {job.kind for job in both.jobs if job.label in changed} == {"finetune"}
    assert all(job.intermediate_task.task.evaluation == "train" for job in both.jobs if job.label in changed)


def test_on_the_embedded_text_what_comes_first_is_synthetic_too(machine):
    """Without access to the Hub, like the tasks."""
    made = plan.make(request(intermediate_task={"mnli": "rte", "conll2003": "wnut17"}), machine)
    first = [job.intermediate_task for job in made.jobs if isinstance(job, Evaluation) and job.intermediate_task]
    assert {(task.name, task.origin) for task in first} == {("inference", "microworld"), ("entities", "microworld")}
    (record,) = records(made, "").values()
    assert record.intermediate_task == {"mnli": "inference", "conll2003": "entities"}
    with pytest.raises(BadInput, match="squad is span"):
        plan.make(request(intermediate_task={"mnli": "squad"}), machine)


def test_labels_of_what_comes_first_are_those_of_the_task_in_their_order(machine, tmp_path):
    folder = tmp_path / "mirror" / "pairs"
    folder.mkdir(parents=True)
    for split in ("train", "validation"):
        lines = [{"premise": "a", "hypothesis": "b", "label": label} for label in ("contradiction", "entailment")]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    here = dataclasses.replace(machine, data=tmp_path / "mirror")
    made = plan.make(request(intermediate_task={"mnli": "pairs"}), here)
    first = next(job.intermediate_task for job in made.jobs if isinstance(job, Evaluation) and job.intermediate_task)
    assert first.task.labels == ("entailment", "neutral", "contradiction")
    assert read_task(first).train.labels == [2, 0]


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ({"squad": "questions"}, "--intermediate-task 'squad': nothing measures this task; choose from "),
        ({"squat": "questions"}, "unknown task in --intermediate-task 'squat'"),
        ({"mnli": "sentiment"}, "no head fits both"),
        ({"mnli": "questions"}, "questions is span"),
        ({"mnli": "nowhere"}, "unknown data set for mnli"),
    ],
)
def test_what_comes_first_must_fit(machine, first, message):
    with pytest.raises(BadInput, match=message):
        plan.make(request(intermediate_task=first), machine)


def test_labels_in_another_order_do_not_fit(machine, tmp_path):
    for split in ("train", "validation"):
        (tmp_path / f"{split}.jsonl").write_text('{"a": "x", "label": 0}\n{"a": "y", "label": 1}\n')
    theirs, found = catalog.find("inference").labels, locate.Tasks({}, {"own": "inference"}, machine, world=True)
    task = Task(kind="classification", name="own", path=str(tmp_path), text=("a",), labels=theirs)
    assert found.intermediate(task).task.labels == theirs
    with pytest.raises(BadInput, match="no head fits both"):
        found.intermediate(dataclasses.replace(task, labels=theirs[::-1]))
