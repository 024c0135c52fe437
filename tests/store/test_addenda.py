"""What is added to finished results later."""

import json
from dataclasses import replace

import pytest

from bertlab.store import addenda
from bertlab.store.addenda import Addenda, Floor, Remark, floor_key
from bertlab.store.merge import MergedStores
from bertlab.store.runs import Store

FLOOR = Floor(10_000, {"accuracy": 45.6}, {"accuracy": 45.0})
SCIENCE = {
    "pretrain": "a",
    "data": "sha256:1",
    "task": {"kind": "classification"},
    "settings": {"max_train_examples": 9},
}


def test_they_are_read_as_they_were_written(tmp_path):
    both = Addenda({"0a": FLOOR}, (Remark("Seen before.", "nsp", on="MNLI"),))
    both.write(tmp_path)
    assert addenda.read(tmp_path) == both == Store(tmp_path).addenda()
    assert addenda.read(tmp_path / "nowhere") == Addenda()
    Addenda().write(empty := tmp_path / "empty")
    assert not empty.exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"floors": {"0a": 1}}', '{"remarks": [{"study": "nsp"}]}'])
def test_a_file_of_another_form_is_one_warning(tmp_path, content, capsys):
    (tmp_path / addenda.FILE).write_text(content)
    assert addenda.read(tmp_path) == Addenda()
    assert capsys.readouterr().err.count("it is skipped") == 1


def test_the_floor_of_a_run_depends_on_its_examples_alone():
    same = {**SCIENCE, "pretrain": "b", "settings": {"max_train_examples": 9, "peak_lr": 1e-3}}
    others = ({**SCIENCE, "data": "sha256:2"}, {**SCIENCE, "settings": {}}, {**SCIENCE, "task": {"kind": "span"}})
    assert floor_key(same) == floor_key(SCIENCE)
    assert len({floor_key(science) for science in (SCIENCE, *others)}) == 4


def test_of_two_stores_the_first_floor_counts(tmp_path):
    for name, points in (("one", 45.0), ("two", 46.0)):
        (tmp_path / name / "studies").mkdir(parents=True)
        floors = {"0a": replace(FLOOR, evaluation={"accuracy": points}), name: FLOOR}
        Addenda(floors, (Remark("The same.", "nsp"), Remark(name, "nsp"))).write(tmp_path / name)
    joined = MergedStores([Store(tmp_path / "one"), Store(tmp_path / "two")]).addenda()
    assert (joined.floors["0a"].evaluation, len(joined.floors)) == ({"accuracy": 45.0}, 3)
    assert [remark.sentence for remark in joined.remarks] == ["The same.", "one", "two"]
    assert joined.of({"one"}, {"other"}) == Addenda({"one": FLOOR})


def test_remarks_without_fields_are_short(tmp_path):
    Addenda(remarks=(Remark("Seen before.", "nsp"),)).write(tmp_path)
    assert json.loads((tmp_path / addenda.FILE).read_text())["remarks"] == [
        {"sentence": "Seen before.", "study": "nsp"}
    ]
