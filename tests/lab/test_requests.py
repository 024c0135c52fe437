"""Requests that no plan can be made of; and plans of many seeds, whose jobs have the ids that each has alone."""

import dataclasses
from pathlib import Path

import pytest

from bertlab.cli import options
from bertlab.errors import BadInput
from bertlab.estimates.cost import estimate
from bertlab.execution.schedule import Scheduler
from bertlab.lab import plan, scales, studies
from bertlab.lab.jobs import CheckpointImport, Evaluation, Pretraining, TrunkTraining
from bertlab.lab.jobs.lists import per_group
from bertlab.lab.study import Variant
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.recipe import identity
from bertlab.store.result import Failure
from bertlab.store.runs import Store
from plans import own, request

WORDS = scales.find("smoke").reading(1000)


def test_variants_that_are_the_same_runs_are_refused(machine):
    with pytest.raises(BadInput, match="'own': all its variants are the same runs at scale smoke"):
        plan.make(request(studies=(own(Variant("a"), Variant("b")),)), machine)


def test_a_budget_of_words_costs_no_more_than_the_whole_text(machine):
    """The rest of a text is read, and not tokenised."""
    costs = {}
    for words in (0, 1000, 10**9):
        (corpus, *_) = plan.make(
            request(studies=(own(Variant("a")),), scale=scales.find("smoke").reading(words)), machine
        ).jobs
        costs[words] = corpus.work().text.bytes, corpus.storage()
    assert costs[0] == costs[10**9]
    assert costs[1000][0] == 6000 < costs[0][0]
    assert costs[1000][1].kept < costs[0][1].kept
    assert costs[1000][1].working == costs[0][1].working


def test_a_model_needs_as_many_positions_as_its_longest_sequence(machine):
    study, scale = own(Variant("a")), scales.find("smoke")
    longest = scale.recipe.inputs.longest
    plan.make(request(studies=(study,), scale=scale.set([f"model.max_positions={longest}"])), machine)
    with pytest.raises(BadInput, match=f"sequences have {longest} tokens: give as many positions, or 0"):
        plan.make(request(studies=(study,), scale=scale.set([f"model.max_positions={longest - 1}"])), machine)


def test_only_leaves_out_studies_that_lack_its_variants(machine):
    """With --random-init, every study has one."""
    for random_init, chosen in ((False, ["masking"]), (True, ["masking", "nsp"])):
        given = {"study": ["masking", "nsp"], "only": ["80/10/10"], "random_init": random_init, "scale": "smoke"}
        made = options.group(options.StudyOptions, given).study_request(machine)
        assert [study.name for study in made.studies] == chosen


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"only": ("80/10/1",)}, "did you mean '80/10/10'"),
        ({"measure": ("MNLI fine-tund",)}, "did you mean 'MNLI fine-tuned'"),
        ({"measure": ("MNLI fine-tuned",), "substitutes": {"conll2003": "bc5cdr"}}, "nothing measures this task"),
        ({"corpora": ("microwrld",)}, "did you mean 'microworld'"),
        ({"substitutes": {"conl2003": "bc5cdr"}}, "did you mean 'conll2003'"),
        ({"substitutes": {"conll2003": "mnli"}}, "is classification"),
        ({"seeds": ()}, "--seeds names 0"),
        ({"curves": True}, "--curves has no effect: every measurement trains; add one that does not"),
        ({"finetune_seeds": -1}, "--finetune-seeds is -1"),
        *(
            (
                {"pretrained": CheckpointImport(Checkpoint("hub:mine@1", "mine")), **changes},
                "leave out --corpus, --words, --vocab",
            )
            for changes in (
                {"corpora": ("microworld",)},
                {"vocabulary": Path("vocab.txt")},
                {"seeds": (1,)},
                {"scale": WORDS},
            )
        ),
    ],
)
def test_a_wrong_request_says_what_to_do(machine, changes, message):
    with pytest.raises(BadInput, match=message):
        plan.make(request(**changes), machine)


@pytest.mark.parametrize(
    "text",
    ["0", "many", "nan", "-1", "5-3", "1-", "3,", "1.5", "0-1000", "1001", "9" * 5000, "٣", "", "0-2, 7", "1-2-3"],
)
def test_seeds_that_cannot_be_read_are_refused(text):
    with pytest.raises(BadInput, match="give how many"):
        options.seeds(text)


def planned(names, scale, machine, **options):
    request = plan.Request(studies=tuple(map(studies.find, names)), scale=scales.find(scale), **options)
    return plan.make(request, machine)


@pytest.mark.parametrize("scale", ["smoke", "micro"])
def test_the_id_of_every_job_is_the_hash_of_its_own_definition(machine, scale):
    made = planned(studies.names(), scale, machine, seeds=(0, 12), finetune_seeds=2)
    assert {job.kind for job in made.jobs} == {
        "corpus",
        "pretrain",
        "finetune",
        "features",
        "zero-shot",
        "trunk",
        "ensemble",
    }
    for job in made.jobs:
        if isinstance(job, Pretraining | Evaluation | TrunkTraining):
            assert job.id == identity.identity(job.kind, **job.definition())
            assert isinstance(job, Evaluation) or job.recipe == dataclasses.replace(job.recipe, seed=job.seed)


def test_studies_that_share_jobs_have_those_that_each_has_alone(machine):
    names, options = studies.names(), {"seeds": (0, 5), "finetune_seeds": 1}
    together = planned(names, "smoke", machine, **options).cells_of
    shared = set()
    for name in names:
        alone = planned([name], "smoke", machine, **options).cells
        assert [facts(cell) for cell in together[name]] == [facts(cell) for cell in alone]
        shared |= {cell.job.study for cell in together[name]} - {name}
    assert shared, "some study measures what another one measures"


def facts(cell):
    job = cell.job
    of_task = (job.data, job.settings, job.intermediate_task) if isinstance(job, Evaluation) else ()
    return (
        cell.variant,
        cell.measurement,
        cell.milestone,
        job.id,
        cell.pretraining.id,
        cell.pretraining.recipe,
        *of_task,
    )


def test_a_copy_with_other_seeds_is_the_job_that_is_made_with_them(machine):
    made = planned(["masking"], "smoke", machine, seeds=(0, 7), only=("80/10/10",))
    alone = planned(["masking"], "smoke", machine, seeds=(7,), only=("80/10/10",))
    seventh = [cell.job for cell in made.cells if cell.pretraining.seed == 7]
    assert seventh == [cell.job for cell in alone.cells]
    assert [job.label for job in seventh] == [cell.job.label for cell in alone.cells]
    assert [job.id for job in seventh] == [cell.job.id for cell in alone.cells]


def test_a_seed_out_of_range_is_refused_whatever_seed_comes_first(machine):
    with pytest.raises(plan.BadInput, match="seed is 9223372036854775808"):
        planned(["masking"], "smoke", machine, seeds=(0, 2**63))


def test_one_definition_is_encoded_however_many_seeds_there_are(machine, monkeypatch):
    calls = []
    encode = identity.canonical
    monkeypatch.setattr(identity, "canonical", lambda value: calls.append(value) or encode(value))
    counts = []
    for seeds in (2, 40):
        calls.clear()
        made = planned(["masking"], "smoke", machine, seeds=range(seeds))
        assert len({job.id for job in made.jobs}) == len(made.jobs)
        counts.append(len(calls))
    assert counts[0] == counts[1]


def test_a_value_per_group_is_computed_once_for_all_seeds(machine, tmp_path):
    made = planned(["masking"], "smoke", machine, seeds=range(5), finetune_seeds=2, only=("80/10/10", "0/0/100"))
    asked = []
    of = per_group(lambda job: asked.append(job) or job.label)
    values = [of(job) for job in made.jobs]
    assert len(values) == 1 + 2 * 5 * (1 + 3 * 2)
    assert len(asked) == len({job.group for job in made.jobs}) == 1 + 2 * (1 + 3)
    one = planned(["masking"], "smoke", machine, finetune_seeds=2, only=("80/10/10", "0/0/100"))
    costs = [estimate(planned, Store(tmp_path), machine, lambda job, devices: 1.0).to_do for planned in (one, made)]
    assert [cost.jobs for cost in costs] == [15, 71]
    assert costs[1].flops == pytest.approx(5 * costs[0].flops)


def test_a_schedule_reads_no_failure_of_a_job_that_has_none(machine, tmp_path, monkeypatch):
    store = Store(tmp_path / "runs")
    store.create_directories()
    made = planned(["masking"], "smoke", machine, seeds=range(3))
    lost = next(job for job in made.jobs if isinstance(job, Pretraining))
    about = {"id": lost.id, "kind": lost.kind, "label": lost.label, "science": lost.definition()}
    store.fail(Failure(**about, status="diverged", reason="loss"))
    read = []
    monkeypatch.setattr(store, "failure", lambda run_id, known=store.failure: read.append(run_id) or known(run_id))
    schedule = Scheduler(made.jobs, store, None)
    schedule.carry_out(None, lambda job: False)
    needing = [job for job in made.jobs if isinstance(job, Evaluation) and job.pretraining is lost]
    assert read == [lost.id]
    assert schedule.lost == [lost, *needing]
    assert [*schedule.todo.values()] == [job for job in made.jobs if job not in schedule.lost]
