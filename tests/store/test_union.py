"""Records of one study, joined: nothing that was ever asked for is lost, and two studies of one name are refused."""

import dataclasses
import json
import shlex
import tomllib

import pytest

from bertlab.errors import BadInput
from bertlab.lab import plan, scales, studies
from bertlab.lab.record import records
from bertlab.lab.study import Measurement, Study, Variant
from bertlab.lab.study_file import StudyFile
from bertlab.objectives import Corruption, MaskedLM, NextSentence
from bertlab.recipe import Schedule
from bertlab.store import commands, union
from bertlab.store.config import saved_copy
from bertlab.store.record import Record, Sequential, StudyLook
from bertlab.store.runs import Store
from bertlab.store.schema import load, to_json
from bertlab.tasks.task import Task
from small_record import request

MASKING = studies.find("masking")


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "runs")
    made.create_directories()
    return made


@pytest.fixture
def recorded(machine):
    """The record of a request for a study."""

    def made(study=MASKING, options="", sets=(), **changes):
        scale = scales.find("smoke").set(list(sets))
        found = plan.make(plan.Request(studies=(study,), scale=scale, **changes), machine)
        (record,) = records(found, options).values()
        assert load(Record, json.loads(json.dumps(to_json(record)))) == record
        return record

    return made


def keys(record):
    return {value.key for value in record.cells}


def test_a_command_with_less_takes_nothing_away(store, recorded):
    whole = recorded(seeds=(0, 1), finetune_seeds=2, random_init=True)
    union.save_records(store, [whole])
    fewer = recorded(only=("80/10/10",)), recorded(measure=("NER fine-tuned",)), recorded(finetune_seeds=1)
    for less in (recorded(), *fewer):
        assert union.save_records(store, [less]) == [whole]
    assert [*store.records(needed=()).values()] == [whole]


def test_parts_that_are_joined_are_the_record_of_the_whole_in_any_order(store, recorded):
    whole = recorded(seeds=(0, 1, 2), random_init=True)
    parts = [
        recorded(seeds=(0, 1), random_init=True),
        recorded(seeds=(0, 1, 2), random_init=True, only=("100/0/0", "0/0/100")),
    ]
    parts += [recorded(seeds=(0, 1, 2), only=("0/20/80", "no pre-training")), recorded(seeds=(0, 1, 2))]
    parts += [recorded(seeds=(0, 1, 2), measure=(name,)) for name in ("MNLI fine-tuned", "NER feature-based")]
    for order in (parts, parts[::-1]):
        for part in order:
            (kept,) = union.save_records(store, [part])
        same = "rows", "cells", "definition", "setting", "differences"
        assert all(getattr(kept, name) == getattr(whole, name) for name in same)
        for path in store.root.glob("studies/*"):
            path.unlink()


def test_differences_of_a_measurement_without_cells_are_not_kept_twice(store, recorded):
    whole = recorded()
    of_mnli = tuple(value for value in whole.cells if value.measurement == "MNLI fine-tuned")
    fewer = dataclasses.replace(whole, cells=of_mnli)
    assert {difference.on for difference in fewer.differences} > {"", "MNLI fine-tuned"}
    for _ in range(2):
        (kept,) = union.save_records(store, [fewer])
    assert kept.differences == whole.differences


def looked(*seeds):
    """Looks at these seeds of a variant."""
    looks = (StudyLook(seeds={"80/10/10": at_look}, claims=()) for at_look in seeds)
    return Sequential(maximum=12, looks=tuple(looks))


def test_looks_are_kept_whichever_record_joins_which(store, recorded):
    fewer = looked((0, 1, 2, 3))
    more, other = looked((0, 1, 2, 3), (0, 1, 2, 3, 4)), looked((0, 1, 2, 3), (0, 1, 2, 3, 5))
    plain = recorded(seeds=(0, 1))
    for order in ((plain, fewer, more), (more, plain, fewer), (fewer, more, plain), (more, other), (other, more)):
        for history in order:
            record = history if history is plain else dataclasses.replace(recorded(), sequential=history)
            (kept,) = union.save_records(store, [record])
        assert kept.sequential == (other if other in order else more)
        assert store.records(needed=["masking"]).popitem()[1].sequential == kept.sequential
        for path in store.root.glob("studies/*"):
            path.unlink()
    assert union.save_records(store, [plain])[0].sequential is None


def test_the_command_of_a_record_asks_for_all_of_it(store, recorded):
    (kept,) = union.save_records(store, [recorded(options="--scale smoke", only=("80/10/10", "100/0/0"))])
    assert kept.command == "bertlab ablate masking --scale smoke --only 80/10/10 --only 100/0/0"
    (kept,) = union.save_records(store, [recorded(options="--scale smoke", finetune_seeds=2, only=("0/0/100",))])
    assert kept.command.split(" && ")[1] == "bertlab ablate masking --scale smoke --finetune-seeds 2 --only 0/0/100"
    (kept,) = union.save_records(store, [recorded(options="--scale smoke", seeds=(0, 1), finetune_seeds=2)])
    assert kept.command == "bertlab ablate masking --scale smoke --seeds 2 --finetune-seeds 2"
    (kept,) = union.save_records(store, [recorded(options="--scale tiny", seeds=(0, 1), finetune_seeds=2)])
    assert kept.command == "bertlab ablate masking --scale tiny --seeds 2 --finetune-seeds 2"  # the newer of equals
    (kept,) = union.save_records(store, [recorded(options="--scale tiny", seeds=(2, 8), finetune_seeds=2)])
    assert kept.command == "bertlab ablate masking --scale tiny --seeds 0-2,8 --finetune-seeds 2"
    hostile = dataclasses.replace(MASKING, name="it's; rm -rf")
    assert shlex.split(recorded(hostile).command)[2] == hostile.name


@pytest.mark.parametrize(
    ("seeds", "text"), [([0], "1"), ((0, 1, 2), "3"), ([3, 4, 5], "3-5"), ([4], "4-4"), ([0, 1, 2, 7], "0-2,7")]
)
def test_seeds_are_spelled_as_they_are_read(seeds, text):
    assert commands.spelled(seeds) == text


def test_a_name_is_kept_changes_no_id_and_is_asked_for_again(store, recorded):
    plain, named = recorded(), recorded(name="more-examples")
    assert union.name_of(named) == union.name_of(plain)
    assert [value.run_id for value in named.cells] == [value.run_id for value in plain.cells]
    union.save_records(store, [named])
    (kept_record,) = union.save_records(store, [plain])
    assert kept_record.name == "more-examples"
    assert kept_record.command == f"{plain.command} --name more-examples"
    (file,) = (store.root / "studies").glob("*.toml")
    assert tomllib.loads(file.read_text())["name"] == "more-examples"
    (renamed,) = union.save_records(store, [recorded(name="all of MNLI")])
    assert renamed.command.endswith(" --name 'all of MNLI'")


@pytest.mark.parametrize("name", ["two\nlines", "x" * 61, " before", "\N{RIGHT-TO-LEFT OVERRIDE}"])
def test_a_name_is_short_and_on_one_line(recorded, name):
    with pytest.raises(BadInput, match=r"--name is .*: give at most 60 characters on one line"):
        recorded(name=name)


def test_a_study_may_grow_and_be_told_otherwise(store, recorded):
    union.save_records(store, [recorded(seeds=(0, 1))])
    grown = dataclasses.replace(
        MASKING,
        question="Does it?",
        claims=[],
        variants=[
            *MASKING.variants,
            Variant(
                "90/5/5", objective=(MaskedLM(corruption=Corruption(mask=0.9, keep=0.05, random=0.05)), NextSentence())
            ),
        ],
        measurements=[*MASKING.measurements, Measurement("CoLA", task="cola", metric="matthews")],
        published={("80/10/10", "MNLI fine-tuned"): 1.5},
    )
    (kept,) = union.save_records(store, [recorded(grown)])
    assert (kept.question, kept.claims) == ("Does it?", ())
    assert [*kept.definition.variants][-1] == "90/5/5"
    assert keys(kept) == keys(recorded(seeds=(0, 1))) | keys(recorded(grown))
    of_mnli = [value for value in kept.cells if value.column[:2] == ("80/10/10", "MNLI fine-tuned")]
    figures = {value.pretrain_seed: value.published for value in of_mnli}
    assert figures == {0: 1.5, 1: 1.5}  # of the old seeds too
    (kept,) = union.save_records(store, [recorded()])  # the study as it was before keeps what it had grown
    assert keys(kept) == keys(recorded(seeds=(0, 1))) | keys(recorded(grown))


OTHERWISE = Variant(
    "0/0/100", objective=(MaskedLM(corruption=Corruption(mask=0.9, keep=0.1, random=0.0)), NextSentence())
)
TUNED = Measurement("NER feature-based", task="conll2003", metric="f1")
CHANGED = {
    "its baseline": {"baseline": "100/0/0"},
    "its variant '0/0/100'": {"variants": [*MASKING.variants[:-1], OTHERWISE]},
    "its measurement 'NER feature-based'": {"measurements": [*MASKING.measurements[:-1], TUNED]},
}


@pytest.mark.parametrize("what", CHANGED)
@pytest.mark.parametrize("sets", [(), ("schedule.steps=3",)])
def test_another_study_of_the_name_is_refused(store, recorded, what, sets):
    union.save_records(store, [recorded(options="--scale smoke")])
    other = recorded(dataclasses.replace(MASKING, **CHANGED[what]), sets=sets)
    before = {path: path.read_bytes() for path in store.root.rglob("*.json")}
    for refusing in (union.merged, union.save_records):
        with pytest.raises(
            BadInput, match=rf"masking' is not .*`bertlab ablate masking --scale smoke`.*{what}.*another store"
        ):
            refusing(store, [other])
    assert {path: path.read_bytes() for path in store.root.rglob("*.json")} == before


def own(*variants):
    measured = [Measurement("loss", metric="masked_lm_loss")]
    return Study(name="o", question="?", source="me", baseline="a", variants=[*variants], measurements=measured)


SLOW, FAST = Variant("a", schedule=Schedule(peak_lr=1e-4)), Variant("b", schedule=Schedule(peak_lr=2e-4))


def test_a_variant_that_makes_others_vary_in_more_is_refused(store, recorded):
    """A field that a new variant varies is set in all: at a scale of another default their runs are others."""
    union.save_records(store, [recorded(own(SLOW, FAST))])
    with pytest.raises(BadInput, match=r"its variant 'a' has other runs"):
        union.save_records(
            store, [recorded(own(SLOW, FAST, Variant("c", schedule=Schedule(peak_lr=1e-4, warmup=0.5))))]
        )


def test_each_command_has_the_study_file_as_it_was_then(store, recorded):
    other = Variant("c", schedule=Schedule(peak_lr=3e-4))
    for text, variants in (("as it was", (SLOW, FAST)), ("changed", (SLOW, other))):
        union.save_records(
            store, [recorded(dataclasses.replace(own(*variants), file=StudyFile("o.py", {"o.py": text}, None)))]
        )
    configs = sorted(store.root.glob("studies/*.toml"), key=lambda path: len(path.name))
    assert [saved_copy(path, "o.py").read_text() for path in configs] == ["as it was", "changed"]


def test_other_settings_text_vocabularies_and_rows_are_kept_apart(store, recorded, text_file, tmp_path):
    union.save_records(store, [recorded()])
    union.save_records(store, [recorded(sets=("schedule.steps=3",))])
    copy, vocabulary = tmp_path / "world.jsonl", tmp_path / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    copy.write_bytes(text_file.read_bytes())
    for addition in (b"", b'{"text": "One more document. It is short."}\n'):
        copy.write_bytes(copy.read_bytes() + addition)
        union.save_records(store, [recorded(own(SLOW, FAST), corpora=(str(copy),))])
    union.save_records(store, [recorded(own(SLOW, FAST), corpora=(str(copy),), vocabulary=vocabulary)])
    assert len(store.records(needed=())) == 5
    record = recorded()
    values = [dataclasses.replace(value, content="sha256:else", run_id=16 * "0") for value in record.cells]
    union.save_records(store, [dataclasses.replace(record, cells=tuple(values))])
    assert len(store.records(needed=())) == 6
    assert union.save_records(store, [record]) == [record]


def test_what_replaces_or_precedes_a_task_keeps_records_apart_that_measure_others(store, recorded):
    others = {"substitutes": {"mnli": "question-inference"}}, {"intermediate_task": {"mnli": "rte"}}
    parts = [recorded(**changes, measure=("MNLI fine-tuned",)) for changes in others]
    union.save_records(store, [recorded(measure=("NER fine-tuned",)), *parts])
    assert len(store.records(needed=())) == 3


def test_a_setting_of_a_task_keeps_records_apart_if_it_was_revised(machine):
    """Presets of tasks are no part of a record's setting, as studies gain measurements, but for those that changed."""
    smoke = scales.find("smoke")
    settings = {}
    for name, changes in {
        "as before": {},
        "own tasks": {"own_tasks": {}},
        "preset": {"tasks": {"mnli": {"epochs": 9.0}}},
        "revised": {"tasks": {"mnli": {"epochs": 9.0}}, "revised": ("mnli",)},
        "revised elsewhere": {"tasks": {"mnli": {"epochs": 9.0}, "rte": {"epochs": 9.0}}, "revised": ("rte",)},
    }.items():
        scale = dataclasses.replace(smoke, **changes)
        (record,) = records(plan.make(plan.Request(studies=(MASKING,), scale=scale), machine), "").values()
        settings[name] = record.setting
    assert settings.pop("revised") not in settings.values()
    assert len({*settings.values()}) == 1


def test_trials_and_what_comes_first_are_those_of_all_commands(store, recorded):
    for run_id, task in (("b" * 16, "mnli"), ("a" * 16, "conll2003")):
        record = dataclasses.replace(recorded(), tries=(run_id,), intermediate_task={task: "first"})
        (kept,) = union.save_records(store, [record])
    assert kept.tries == ("a" * 16, "b" * 16)
    assert kept.intermediate_task == {"mnli": "first", "conll2003": "first"}


def test_milestones_places_and_grids_may_change(store, recorded, machine, tmp_path):
    task = Task(kind="classification", name="own", text=("a",))
    for place, milestones in (("one", (100,)), ("two", (50, 100))):
        folder = tmp_path / place
        folder.mkdir()
        for split in ("train", "validation"):
            (folder / f"{split}.jsonl").write_text('{"a": "x", "label": 0}\n{"a": "y", "label": 1}\n')
        column = Measurement("own", task=dataclasses.replace(task, path=str(folder)), milestones=milestones)
        union.save_records(store, [recorded(dataclasses.replace(own(SLOW, FAST), measurements=[column]))])
    assert len(store.records(needed=())) == 1
    scale = scales.find("smoke")
    searched = dataclasses.replace(scale, grid={"epochs": (1.0,)})
    settings = {
        record.setting
        for scale_of_record in (scale, searched)
        for record in records(plan.make(plan.Request(studies=(MASKING,), scale=scale_of_record), machine)).values()
    }
    assert len(settings) == 1


def test_a_damaged_record_is_written_anew_by_the_command_that_wrote_it(store, recorded):
    (record,) = union.save_records(store, [recorded()])
    (file,) = store.root.glob("studies/*.json")
    file.write_text("{")
    assert union.save_records(store, [recorded()]) == [record] == [*store.records(needed=()).values()]


@pytest.mark.parametrize("options", ["--scale smoke; touch x", "$(touch x)", "a | b", "--set 'a=1", "`x`\nrm y"])
def test_options_of_a_record_from_elsewhere_are_words_for_a_shell(options):
    line = commands.line([request("nsp", options=options)])
    assert line == shlex.join(shlex.split(line))
    assert line.startswith("bertlab ablate nsp ")
