"""The tasks that are known by name."""

import pytest

from bertlab import synthetic as microworld
from bertlab.errors import BadInput
from bertlab.tasks import catalog
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.task import columns_of


def test_every_task_of_a_kind_that_the_embedded_world_has_can_be_measured_on_it():
    for name, task in catalog.TASKS.items():
        assert task.name == name
        kinds = {each.kind for each in catalog.WORLD.values()}
        assert task.microworld in catalog.WORLD or task.kind not in kinds
        assert not task.microworld or catalog.WORLD[task.microworld].kind == task.kind


@pytest.mark.parametrize("name", [name for name, task in catalog.WORLD.items() if task.kind != "mixture"])
def test_the_embedded_world_has_the_columns_and_labels_of_its_rows(name):
    task = catalog.WORLD[name]
    row = microworld.rows(name, "validation")[0]
    read = {column for text in task.text for column in columns_of(text)}
    assert {*read, *KINDS[task.kind].label_columns(task)} <= set(row)
    if task.labels and KINDS[task.kind].trained:
        assert {each[task.label] for each in microworld.rows(name, "train")} == set(range(len(task.labels)))


def test_a_misspelt_task_gets_the_nearest_name():
    assert catalog.find("mnli").evaluation == "validation_matched"
    with pytest.raises(BadInput, match="unknown task 'conl2003': did you mean 'conll2003'"):
        catalog.find("conl2003")
