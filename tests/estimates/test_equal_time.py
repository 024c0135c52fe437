"""Variants that train for as long as the baseline, and speeds of variants: timed once, and kept."""

import dataclasses

import pytest

from bertlab.errors import BadInput
from bertlab.estimates import equal_time, microbenchmark
from bertlab.estimates.equal_time import timed
from bertlab.estimates.history import Trials
from bertlab.lab import scales, studies
from bertlab.lab.plan import Request, make
from bertlab.lab.record import records
from bertlab.lab.study import Measurement, RelativeSchedule, Variant
from bertlab.objectives import MaskedLM
from bertlab.objectives.selection import Entities
from bertlab.report import tables
from bertlab.report.gather import gather
from bertlab.store import union
from bertlab.store.runs import Store

STUDY = studies.find("equal-time")
SLOW = "ALBERT xxlarge"
REQUEST = Request(studies=(STUDY, studies.find("dropout")), scale=scales.find("smoke"), measure=("MNLI",))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def takes(monkeypatch):
    """Sets the seconds of a step of the baseline and of the other variant; None for models too large for a trial."""

    def set_to(*seconds):
        def in_turn(_, jobs):
            return [job.steps * each for job, each in zip(jobs, seconds, strict=True)] if seconds else None

        monkeypatch.setattr(equal_time.Trials, "in_turn", in_turn)

    return set_to


def steps(request, machine):
    return {cell.variant: cell.pretraining.steps for cell in make(request, machine).cells if cell.study == STUDY}


def test_a_variant_gets_as_many_steps_as_take_the_time_of_the_baselines(store, machine, takes):
    takes(0.5, 2.0)
    found = timed(REQUEST, store, machine)
    given = steps(REQUEST, machine)
    assert steps(found, machine) == {"BERT large": given["BERT large"], SLOW: given["BERT large"] / 4}
    assert [cell.job.id for cell in make(found, machine).cells if cell.study != STUDY] == [
        cell.job.id for cell in make(REQUEST, machine).cells if cell.study != STUDY
    ]


def test_the_store_keeps_the_steps(store, machine, takes):
    takes(0.5, 2.0)
    found = timed(REQUEST, store, machine)
    store.create_directories()
    union.save_records(store, records(make(found, machine)).values())
    takes(0.5, 5.0)  # on another machine
    for later in (REQUEST, dataclasses.replace(REQUEST, seeds=(3,), only=(SLOW,))):
        assert timed(later, store, machine).timed == found.timed
    longer = dataclasses.replace(REQUEST, scale=scales.find("micro"))
    assert timed(longer, store, machine).timed != found.timed


def test_results_of_another_timing_have_a_record_of_their_own(store, machine, takes):
    store.create_directories()
    empty = Store(store.root / "other")
    for seconds in (2.0, 5.0):
        takes(0.5, seconds)
        made = records(make(timed(REQUEST, empty, machine), machine))
        union.save_records(store, [each for each in made.values() if each.study == STUDY.name])
    one, two = store.records().values()
    assert one.timed != two.timed
    assert one.setting == two.setting


def test_what_is_not_timed_keeps_the_steps_of_the_study(store, machine, takes):
    takes(0.5, 2.0)
    assert timed(REQUEST, store, machine, trials=False) == REQUEST
    only = dataclasses.replace(REQUEST, only=("BERT large",))
    assert timed(only, store, machine) == only
    untrained = dataclasses.replace(REQUEST, scale=scales.find("smoke").set(["schedule.steps=0"]), random_init=True)
    assert timed(untrained, store, machine).timed == {}


def test_there_is_a_warning_where_nothing_can_be_timed(store, machine, takes, capsys):
    takes()
    assert timed(REQUEST, store, machine).timed == {}
    assert "too large" in capsys.readouterr().err
    takes(0.5, 2.0)
    cluster = dataclasses.replace(machine, cluster="auto", workers=2)
    assert timed(REQUEST, store, cluster).timed == {}
    assert "cluster" in capsys.readouterr().err


def test_a_variant_that_the_text_cannot_train_is_not_timed(store, machine, takes, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Anna saw the mice. She fed them to the cat.\n\nBob slept. The end.\n")
    marked = Variant(
        "entities", objective=(MaskedLM(selection=Entities()),), relative=RelativeSchedule(equal_time=True)
    )
    perplexity = Measurement("perplexity", metric="perplexity")
    study = dataclasses.replace(
        STUDY, variants=[*STUDY.variants, marked], measurements=[*STUDY.measurements, perplexity]
    )
    takes(0.5, 2.0)
    request = Request(studies=(study,), scale=scales.find("smoke"), measure=("perplexity",), corpora=(str(text),))
    assert timed(request, store, machine).timed[study.name].keys() == {SLOW}


def test_speeds_are_multiples_of_one_and_kept(store, machine, takes):
    sizes = studies.find("depth-and-width")
    request = dataclasses.replace(REQUEST, studies=(sizes,), only=("BERT base",))
    takes(1.0, 2.0, 0.5, 1.0, 4.0, 8.0)
    found = timed(request, store, machine)
    speeds = {"BERT base": 2, "BERT large": 1, "ALBERT base": 4, "ALBERT large": 2, "ALBERT xlarge": 0.5}
    assert found.speeds == {sizes.name: {**speeds, "ALBERT xxlarge": 0.25}}
    store.create_directories()
    union.save_records(store, records(make(found, machine)).values())
    union.save_records(store, records(make(request, machine)).values())  # a command that timed nothing
    takes(1.0, 9.0, 1.0, 1.0, 1.0, 1.0)
    assert timed(dataclasses.replace(request, seeds=(3,)), store, machine).speeds == found.speeds
    (study,) = gather(store, store.records().values())
    columns = tables.speeds(study).columns, tables.speeds(study).rows[0]
    assert columns == (
        ("variant", "parameters", "speed", "published speed"),
        ("BERT base (baseline)", "", "2.0x", "4.7x"),
    )


def test_one_variant_has_the_speed_1():
    with pytest.raises(BadInput, match="give it, and no other, the speed 1"):
        dataclasses.replace(STUDY, speeds={"BERT large": 2.0})
    with pytest.raises(BadInput, match="speeds: unknown variant 'ALBERT'"):
        dataclasses.replace(STUDY, speeds={"ALBERT": 1.0})


def test_each_is_timed_at_its_best_in_turns(store, machine, monkeypatch, tmp_path):
    jobs = list(
        {cell.pretraining.id: cell.pretraining for cell in make(REQUEST, machine).cells if cell.study == STUDY}.values()
    )
    speeds = iter((1e9, 2e9, 4e9, 1e9, 2e9, 5e9))  # of one and the other, three times
    monkeypatch.setattr(Trials, "_speed", lambda *_: next(speeds))
    monkeypatch.setattr(microbenchmark, "peak", lambda *_: 1e11)
    first, second = Trials(store, machine, tmp_path).in_turn(jobs)
    assert first == pytest.approx(jobs[0].work().flops / 4e9)
    assert second == pytest.approx(jobs[1].work().flops / 5e9)
    monkeypatch.setattr(microbenchmark, "peak", lambda *_: 1.0)
    assert Trials(store, machine, tmp_path).in_turn(jobs) is None


def test_the_baseline_sets_the_time(machine):
    own = Variant("BERT large", relative=RelativeSchedule(equal_time=True))
    with pytest.raises(BadInput, match="compares with the baseline itself"):
        dataclasses.replace(STUDY, variants=[own, *STUDY.variants[1:]])
