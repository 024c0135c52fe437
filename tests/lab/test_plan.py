"""Plans: distinct jobs, each once, in order; what is shared; what a request changes."""

import dataclasses
import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from bertlab.adaptation import Features, FineTuning
from bertlab.cli import options
from bertlab.errors import BadInput
from bertlab.lab import claim_plan, plan, scales, studies
from bertlab.lab.jobs import CheckpointImport, CorpusPreparation, Evaluation, Pretraining
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.record import records
from bertlab.lab.study import RANDOM_INIT, Measurement, Study, Task, Variant
from bertlab.lab.study_file import Code
from bertlab.model.interop.checkpoint import Checkpoint
from bertlab.objectives import Corruption, MaskedLM, NextSentence
from bertlab.recipe import Inputs, Schedule, cost
from bertlab.store import commands
from bertlab.store.runs import Store
from bertlab.tasks import catalog, locate
from bertlab.text import tokens

MASKING = studies.find("masking")


def request(**changes):
    return plan.Request(**({"studies": (MASKING,), "scale": scales.find("smoke")} | changes))


def kinds(made):
    return [job.kind for job in made.jobs]


def test_masking_has_eighteen_cells(machine):
    made = plan.make(request(), machine)
    assert len(made.cells) == 18
    assert [kinds(made).count(kind) for kind in ("corpus", "pretrain", "finetune", "features")] == [1, 6, 12, 6]


def test_each_job_comes_after_those_it_needs_and_measures_follow_their_training(machine):
    made = plan.make(request(seeds=(0, 1), finetune_seeds=2, random_init=True), machine)
    ids = [job.id for job in made.jobs]
    assert len(set(ids)) == len(ids)
    for job in made.jobs:
        assert all(ids.index(needed.id) < ids.index(job.id) for needed in job.needs)
    assert isinstance(made.jobs[0], CorpusPreparation)
    assert kinds(made)[1:8] == ["pretrain", *["finetune"] * 4, *["features"] * 2]


def test_what_two_studies_share_is_trained_once(machine):
    other = dataclasses.replace(
        MASKING,
        name="other",
        variants=[
            Variant("the same", objective=(MaskedLM(), NextSentence())),
            Variant("new", objective=(MaskedLM(corruption=Corruption(mask=0.5, keep=0.5, random=0)), NextSentence())),
        ],
        baseline="the same",
        published={},
        claims=[],
    )
    alone, both = (plan.make(request(studies=chosen), machine) for chosen in ((MASKING,), (MASKING, other)))
    assert kinds(both).count("pretrain") == kinds(alone).count("pretrain") + 1


def test_studies_of_one_model_share_that_which_is_not_trained(machine):
    every = tuple(studies.find(name) for name in studies.names())
    made = plan.make(request(studies=every, random_init=True, only=(RANDOM_INIT,)), machine)
    untrained = {job.recipe.model.kind: job.recipe.causal for job in made.jobs if job.kind == "pretrain"}
    assert kinds(made).count("pretrain") == 3, "whatever the studies' baselines would be trained on"
    assert untrained.keys() == {"bert", "bilstm"}  # the third is GPT's, which is causal


def test_seeds_are_paired_across_variants(machine):
    made = plan.make(request(seeds=(0, 1, 2)), machine)
    seeds = {}
    for cell in made.cells:
        seeds.setdefault(cell.variant, set()).add(cell.job.pretraining.recipe.seed)
    assert set(map(frozenset, seeds.values())) == {frozenset({0, 1, 2})}


def test_the_variant_without_pretraining_is_the_baseline_of_no_steps(machine):
    made = plan.make(request(random_init=True, only=("80/10/10",)), machine)
    trained, untrained = (job for job in made.jobs if isinstance(job, Pretraining))
    assert untrained.recipe == dataclasses.replace(
        trained.recipe, schedule=dataclasses.replace(trained.recipe.schedule, steps=0)
    )
    assert {cell.variant for cell in made.cells} == {"80/10/10", RANDOM_INIT}


def test_a_finished_job_is_not_pending(machine, tmp_path):
    store = Store(tmp_path / "runs")
    made = plan.make(request(), machine)
    assert len(made.pending(store)) == len(made.jobs)
    store.create_directories()
    job = made.jobs[0]
    work = store.work(job.kind, job.id)
    (work / "recipe.json").write_text('{"science": {}}')
    (work / "result.json").write_text("{}")
    store.finish(job.kind, job.id, job.label)
    assert job not in made.pending(store)
    assert len(made.pending(store)) == len(made.jobs) - 1
    assert made.split(store) == ([job], list(made.jobs[1:]))


def test_anything_that_changes_a_measurement_changes_its_id(machine):
    def ids(**changes):
        return {job.id for job in plan.make(request(**changes), machine).jobs if isinstance(job, Evaluation)}

    base = ids()
    assert ids(scale=scales.find("smoke").set(["finetune.peak_lr=2e-3"])) & base != base
    assert not ids(scale=scales.find("smoke").set(["schedule.steps=21"])) & base
    assert not ids(scale=scales.find("smoke").set(["tokenizer.vocabulary=300"])) & base
    assert ids(finetune_seeds=2) > base
    assert ids(seeds=(0, 1)) > base


def test_ids_have_the_code_of_a_study_file_and_the_version_of_the_text(machine, monkeypatch):
    corpus, pretrain, measure, *_ = plan.make(request(), machine).jobs
    other = dataclasses.replace(corpus, code=Code(Path("/own.py"), "0" * 64))
    assert other.id != corpus.id
    assert dataclasses.replace(pretrain, corpus=other).id != pretrain.id
    assert dataclasses.replace(measure, code=other.code).id != measure.id
    monkeypatch.setattr(tokens, "TEXT_VERSION", tokens.TEXT_VERSION + 1)
    newer = dataclasses.replace(corpus)
    assert newer.id != corpus.id
    assert dataclasses.replace(pretrain, corpus=newer).id != pretrain.id


def test_a_plan_of_several_texts_prepares_them_first(machine):
    made = kinds(plan.make(request(studies=(studies.find("encoding"),)), machine))
    assert made.count("corpus") > 1
    assert made == sorted(made, key=lambda kind: kind != "corpus")


@pytest.fixture
def second_file(tmp_path):
    path = tmp_path / "more.jsonl"
    path.write_text("".join(json.dumps({"text": f"Document number {row}. It is short."}) + "\n" for row in range(40)))
    return path


def test_variants_that_read_some_corpora_share_the_text_and_change_no_other_id(machine, text_file, second_file):
    """Of two corpora the first two are all: one training."""
    variants = [Variant("a", inputs=Inputs(corpora=1)), Variant("b", inputs=Inputs(corpora=2)), Variant("c")]
    both = {"corpora": (str(text_file), str(second_file))}
    made = plan.make(request(studies=(own(*variants),), **both), machine)
    assert kinds(made) == ["corpus", "pretrain", "pretrain"]
    first, second, all_of_them = (cell.pretraining for cell in made.cells)
    assert first.id != second.id == all_of_them.id
    assert (first.recipe.inputs.corpora, second.recipe.declared.inputs.corpora) == (1, 0)
    unvaried = own(Variant("a", schedule=Schedule(warmup=0.5)), Variant("b", schedule=Schedule(warmup=0.01)))
    set_to = [scales.find("smoke").set([f"inputs.corpora={index}"]) for index in (0, 1)]
    whole, part = (plan.make(request(studies=(unvaried,), scale=scale, **both), machine) for scale in set_to)
    assert [job.id for job in whole.jobs[:1]] == [job.id for job in part.jobs[:1]] == [made.jobs[0].id]
    assert whole.jobs[1].recipe.corpus == part.jobs[1].recipe.corpus
    assert not {job.id for job in whole.jobs[1:]} & {job.id for job in part.jobs[1:]}


@pytest.mark.parametrize(("corpora", "given", "needed"), [(1, 1, 2), (2, 1, 2), (3, 2, 3), (3, 1, 3)])
def test_more_corpora_than_there_are_are_refused(machine, text_file, second_file, corpora, given, needed):
    study = own(Variant("a"), Variant("b", inputs=Inputs(corpora=corpora)))
    texts = tuple(map(str, (text_file, second_file)[:given]))
    why = f"inputs.corpora is {corpora}, and the number of corpora is {given}: name {needed} "
    says = f"^study 'own': variant 'b': {why}"
    with pytest.raises(BadInput, match=says):
        plan.make(request(studies=(study,), corpora=texts), machine)
    scale = scales.find("smoke").set([f"inputs.corpora={corpora}"])
    with pytest.raises(BadInput, match=f"^study 'own': variant 'a': {why}"):
        plan.make(request(studies=(own(Variant("a")),), scale=scale, corpora=texts), machine)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"documents_by_source": {"train": [0, 40]}}, "all documents of the first corpus are held out"),
        ({"train": {"documents": 40}}, "an earlier version prepared the corpus"),
        ({"documents_by_source": {"train": [1, 39]}}, ""),
    ],
)
def test_a_prepared_text_without_documents_of_its_first_corpus_is_refused(
    machine, text_file, second_file, tmp_path, facts, says
):
    store, study = Store(tmp_path / "runs"), own(Variant("a", inputs=Inputs(corpora=1)), Variant("b"))
    made = plan.make(request(studies=(study,), corpora=(str(text_file), str(second_file))), machine)
    plan.check_data(made, store, machine)  # nothing is known yet
    store.create_directories()
    work = store.work("corpus", made.jobs[0].id)
    (work / "recipe.json").write_text('{"science": {}}')
    (work / "result.json").write_text(json.dumps(facts))
    store.finish("corpus", made.jobs[0].id, "text")
    with pytest.raises(BadInput, match=f"^inputs.corpora is 1.*{says}") if says else nullcontext():
        plan.check_data(made, store, machine)


def test_a_command_may_ask_for_fewer_fine_tuning_seeds_than_the_scale(machine):
    scale = dataclasses.replace(scales.find("smoke"), finetune_seeds=3)
    for given, seeds in ((0, {0, 1, 2}), (1, {0}), (4, {0, 1, 2, 3})):
        made = plan.make(request(scale=scale, finetune_seeds=given), machine)
        assert {job.finetune_seed for job in made.jobs if isinstance(job, Evaluation)} == seeds


LOSS = Measurement("loss", metric="perplexity")
NSP = Measurement("pairs", metric="next_sentence_accuracy")


def own(*variants, measurements=(LOSS,)):
    return Study(
        name="own", question="?", source="me", baseline="a", variants=[*variants], measurements=[*measurements]
    )


def test_variants_that_are_the_same_runs_are_refused(machine):
    with pytest.raises(BadInput, match="'own': all its variants are the same runs at scale smoke"):
        plan.make(request(studies=(own(Variant("a"), Variant("b")),)), machine)


def test_a_variant_has_the_figures_of_its_own_losses(machine):
    variants = [Variant("a", objective=(MaskedLM(), NextSentence())), Variant("b", objective=(MaskedLM(),))]
    made = plan.make(request(studies=(own(*variants, measurements=(LOSS, NSP)),)), machine)
    assert [(cell.variant, cell.measurement.name) for cell in made.cells] == [
        ("a", "loss"), ("a", "pairs"), ("b", "loss")
    ]  # fmt: skip


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


def test_text_and_mirror_must_be_used(machine, text_file, tmp_path):
    study, here = own(Variant("a")), dataclasses.replace(machine, data=tmp_path)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(text_file.read_bytes())
    with pytest.raises(BadInput, match=r"--data .* has no effect"):
        plan.make(request(studies=(study,), corpora=(str(text_file),)), here)
    plan.make(request(studies=(study,), corpora=(str(copy),)), here)
    with pytest.raises(BadInput, match=r"--corpus 'copy.jsonl' is given twice|--corpus 'world.jsonl' is given twice"):
        plan.make(request(studies=(study,), corpora=(str(text_file), str(copy))), machine)


def test_the_record_of_a_study_holds_every_cell_with_its_published_figure(machine):
    made = plan.make(request(), machine)
    ((name, record),) = records(made, "bertlab ablate masking").items()
    assert name.startswith("masking--smoke--")
    assert len(record.cells) == 18
    cell = next(value for value in record.cells if value.variant == "0/0/100" and value.method == "features")
    assert cell.published == 94.6
    assert {value.run_id for value in record.cells} <= {job.id for job in made.jobs}
    other = records(plan.make(request(scale=scales.find("smoke").set(["schedule.steps=3"])), machine), "x")
    assert list(other) != [name]  # another setting is another section of the report


def test_what_is_set_for_the_tasks_of_other_studies_leaves_the_record_its_name(machine):
    def name(**changes):
        return next(iter(records(plan.make(request(studies=(MASKING, studies.find("size")), **changes), machine))))

    smoke = scales.find("smoke")
    preset = dataclasses.replace(smoke, tasks={**smoke.tasks, "mrpc": {"epochs": 9.0}})
    assert name() == name(scale=smoke.set(["tasks.mrpc.epochs=9"])) == name(scale=preset)
    assert name() != name(scale=smoke.set(["tasks.mnli.epochs=9"]))
    assert name() != name(scale=smoke.set(["finetune.epochs=9"]))


def test_a_local_corpus_is_named_by_its_content(machine, text_file, tmp_path):
    copy = tmp_path / text_file.name
    copy.write_bytes(text_file.read_bytes())
    world = scales.find("smoke")
    mine = [Measurement("own", task=Task(kind="classification", name="own", path=str(tmp_path / "own"), text=("a",)))]
    (tmp_path / "own").mkdir()
    for split in ("train", "validation"):
        (tmp_path / "own" / f"{split}.jsonl").write_text('{"a": "x", "label": 0}\n{"a": "y", "label": 1}\n')
    own = Study(
        name="own", question="?", source="me", baseline="a", measurements=mine,
        variants=[Variant("a"), Variant("b", schedule=Schedule(warmup=0.5))],
    )  # fmt: skip
    here, there = (
        plan.make(request(studies=(own,), scale=world, corpora=(str(path),)), machine) for path in (text_file, copy)
    )
    assert [job.id for job in here.jobs] == [job.id for job in there.jobs]
    copy.write_bytes(copy.read_bytes() + b'{"text": "One more document. It is short."}\n')
    changed = plan.make(request(studies=(own,), scale=world, corpora=(str(copy),)), machine)
    assert not {job.id for job in changed.jobs} & {job.id for job in here.jobs}
    assert not here.world


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
        ({"finetune_seeds": -1}, "--finetune-seeds is -1"),
        *(
            (
                {"pretrained": CheckpointImport(Checkpoint("hub:mine@1", "mine")), **changes},
                "leave out --corpus, --vocab",
            )
            for changes in ({"corpora": ("microworld",)}, {"vocabulary": Path("vocab.txt")}, {"seeds": (1,)})
        ),
    ],
)
def test_a_wrong_request_says_what_to_do(machine, changes, message):
    with pytest.raises(BadInput, match=message):
        plan.make(request(**changes), machine)


def test_without_a_data_set_the_other_measurements_can_be_made(machine, tmp_path):
    absent = Measurement("absent", task=Task(kind="classification", text=("text",), path=str(tmp_path / "absent")))
    study = dataclasses.replace(MASKING, measurements=[absent, *MASKING.measurements])
    with pytest.raises(BadInput, match=r"there is no folder .*; or leave out 'absent': name other .* with --measure$"):
        plan.make(request(studies=(study,)), machine)
    chosen = ("NER feature-based", "MNLI fine-tuned")
    made = claim_plan.make(request(studies=(study,), measure=chosen, claim_seeds=(0, 1)), machine)
    assert {cell.measurement.name for cell in made.cells} == {*chosen}
    assert {cell.variant for cell in made.cells if cell.pretraining.seed == 1} == {"80/10/10", "100/0/0", "0/0/100"}
    assert {claim.on for claim in claim_plan.decidable(made, study)} == {*chosen}
    features = [
        {job.id for job in planned.jobs if job.kind == "features"} for planned in (made, plan.make(request(), machine))
    ]
    assert features[0] > features[1], "the same runs, and those of seed 1"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            "squad",
            "measurement 'm': a span task has no metric 'accuracy', .* default: choose metric= from exact, f1$",
        ),
        ("stsb", "choose metric= from pearson, spearman"),
    ],
)
def test_a_metric_that_the_task_does_not_have_is_refused_before_anything_is_trained(machine, task, message):
    study = dataclasses.replace(MASKING, measurements=[Measurement("m", task=task)], published={}, claims=[])
    with pytest.raises(BadInput, match=message):
        plan.make(request(studies=(study,)), machine)


def test_exact_match_is_a_metric_of_a_task_that_names_its_questions(machine, tmp_path):
    for split in ("train", "validation"):
        rows = [{"text": "a", "label": label, "id": 0} for label in (0, 1)]
        (tmp_path / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def made(task, metric):
        column = Measurement("m", task=task, metric=metric)
        study = dataclasses.replace(MASKING, measurements=[column], published={}, claims=[])
        return {cell.job.id for cell in plan.make(request(studies=(study,)), machine).cells}

    own = Task(kind="classification", path=str(tmp_path), text=("text",), labels=("no", "yes"))
    named = dataclasses.replace(own, question="id")
    assert made(named, "exact") == made(named, "accuracy") == made(own, "accuracy"), "no other runs"
    for task in (own, "multirc"):
        with pytest.raises(BadInput, match=r"has no metric 'exact': choose metric= from accuracy, matthews, f1$"):
            made(task, "exact")


@pytest.mark.parametrize(("layers", "alike"), [(1, 3), (2, 5), (4, 5), (5, 6)])
def test_levels_that_coincide_in_a_model_are_measured_once(machine, layers, alike):
    """Of one layer, the embeddings are the level before the last, and the last four are the last one."""
    scale = scales.find("smoke").set([f"model.layers={layers}"])
    made = plan.make(request(studies=(studies.find("features"),), scale=scale), machine)
    assert len({cell.job.id for cell in made.cells if cell.job.kind == "features"}) == alike


def test_a_plan_says_how_many_pretrainings_variants_share(machine):
    """Six variants of Table 8, four of Table 5 on three models, seven of Table 7 on one; BERT is in all three."""
    together = request(studies=tuple(map(studies.find, ("masking", "nsp", "features"))), seeds=(0, 1))
    assert plan.make(together, machine).pretrainings == (2 * (6 + 4 + 7), 2 * (6 + 3 + 1 - 2))
    assert plan.make(request(studies=(MASKING,)), machine).pretrainings == (6, 6)
    again = dataclasses.replace(MASKING, name="again")
    assert plan.make(request(studies=(MASKING, again)), machine).pretrainings == (12, 6)


def test_variants_that_differ_only_in_their_adaptation_share_a_pre_training(machine):
    scale = scales.find("smoke").set(["model.layers=5"])
    one = request(studies=(studies.find("features"),), scale=scale, finetune_seeds=2, random_init=True)
    made = plan.make(one, machine)
    assert [kinds(made).count(kind) for kind in ("pretrain", "finetune", "features")] == [2, 2 * 2, 6 * 2]
    read = {cell.variant: cell.job.settings for cell in made.cells}
    assert read["last"].layers == "last"
    assert read[RANDOM_INIT] == read["fine-tuning"]
    (record,) = records(made, "").values()
    assert len(record.rows) == 8
    assert {cell.method for cell in record.cells} == {"finetune", "features"}
    assert {(cell.measurement, cell.split) for cell in record.cells} == {
        ("NER dev", "validation"), ("NER test", "test"),
    }  # fmt: skip


def test_only_tasks_with_a_test_split_are_named_by_it(machine):
    made = plan.make(request(only=("80/10/10",)), machine)
    splits = {cell.measurement.name: cell.job.definition()["task"].get("test") for cell in made.cells}
    assert splits == {"MNLI fine-tuned": None, "NER fine-tuned": "test", "NER feature-based": "test"}


def test_a_test_split_that_is_not_there_is_named_before_anything_is_trained(machine, tmp_path, text_file):
    def tested(task, **changes):
        column = Measurement("held out", task=task, metric="f1" if task == "conll2003" else "accuracy", split="test")
        study = dataclasses.replace(MASKING, measurements=[column], published={}, claims=[])
        return plan.make(request(studies=(study,), **changes), machine)

    with pytest.raises(BadInput, match="'held out': it reports a test split, which task 'mnli' does not have"):
        tested("mnli")
    folder = tmp_path / "mirror" / "bc5cdr"
    folder.mkdir(parents=True)
    for split in ("train", "validation"):
        (folder / f"{split}.jsonl").write_text('{"tokens": ["a"], "ner_tags": ["B-Disease"]}\n')
    machine = dataclasses.replace(machine, data=tmp_path / "mirror")
    mine = {"corpora": (str(text_file),), "substitutes": {"conll2003": "bc5cdr"}}
    with pytest.raises(BadInput, match=rf"does not have with public labels in {folder}:"):
        tested("conll2003", **mine)
    (folder / "test.jsonl").write_text('{"tokens": ["b"], "ner_tags": ["B-Disease"]}\n')
    (record,) = records(tested("conll2003", **mine)).values()
    assert {cell.split for cell in record.cells} == {"test"}


def test_a_figure_of_the_pre_training_is_a_cell_without_a_job_of_its_own(machine):
    made = plan.make(request(studies=(studies.find("size"),), only=("L/4",), finetune_seeds=3), machine)
    assert [kinds(made).count(kind) for kind in ("pretrain", "finetune")] == [1, 9]
    (cell,) = (cell for cell in made.cells if not cell.measurement.task)
    assert cell.job is cell.pretraining


def test_milestones_are_those_that_the_scale_keeps_and_the_end(machine):
    column = Measurement("MNLI", task="mnli", milestones=(10, 50, 75))
    curves = dataclasses.replace(MASKING, measurements=[column], published={}, claims=[])
    made = plan.make(request(studies=(curves,), only=("80/10/10",), random_init=True), machine)
    found = [(cell.variant, cell.job.milestone) for cell in made.cells]
    few = scales.find("tiny").set(["schedule.steps=20"])
    column = Measurement("MNLI", task="mnli", milestones=(1, 3, 99))
    short = dataclasses.replace(curves, measurements=[column])
    cells = plan.make(request(studies=(short,), scale=few, only=("80/10/10",)), machine).cells
    assert [cell.job.milestone for cell in cells] == [3, 100], "after step 1; weights after 1 and 99 % are not kept"
    late = dataclasses.replace(few, milestones=(99, 100))  # 99 % of 20 steps are all of them
    cells = plan.make(request(studies=(short,), scale=late, only=("80/10/10",)), machine).cells
    assert [cell.job.milestone for cell in cells] == [100]
    assert found == [("80/10/10", 50), ("80/10/10", 100), (RANDOM_INIT, 100)]
    assert len({cell.job.id for cell in made.cells}) == 3
    assert all(("milestone" in cell.job.definition()) is (cell.job.milestone < 100) for cell in made.cells)


def test_a_figure_is_published_at_its_own_milestone(machine):
    made = plan.make(request(studies=(studies.find("convergence"),), scale=scales.find("tiny")), machine)
    (record,) = records(made, "").values()
    figures = {(cell.variant, cell.milestone): cell.published for cell in record.cells}
    assert figures["masked LM", 3] == 78.6
    assert figures["left-to-right", 20] == 81.0
    assert figures["left-to-right", 100] == 82.2
    assert figures["left-to-right", 30] is figures["BERT", 3] is None


def test_a_variant_with_a_bilstm_differs_in_its_fine_tuning(machine):
    variants = [Variant("plain"), Variant("with a BiLSTM", adaptation=FineTuning(bilstm=True))]
    changes = {"variants": variants, "measurements": MASKING.measurements[:2], "baseline": "plain"}
    made = plan.make(request(studies=(dataclasses.replace(MASKING, **changes, published={}, claims=[]),)), machine)
    assert kinds(made).count("pretrain") == 1
    settings = {cell.job.settings for cell in made.cells if cell.variant == "with a BiLSTM"}
    assert {(setting.kind, setting.bilstm, setting.max_steps) for setting in settings} == {("finetune", True, 10)}


def test_adapters_have_the_papers_sizes_at_its_width_and_grow_at_every_scale():
    study = studies.find("adapters")
    for scale in scales.SCALES.values():
        column = study.measurements[0]
        tuned, frozen, *adapters = (
            study.adaptation(variant, column, scale, "classification", "mnli") for variant in study.variants
        )
        tuning = scale.finetuning("classification", "mnli")
        assert (tuned, frozen) == (tuning, dataclasses.replace(tuning, frozen=True))
        units = [adapter.units(scale.recipe.model.hidden) for adapter in adapters]
        assert units == [8, 64, 256] if scale.name in ("base", "paper") else 1 <= units[0] < units[1] < units[2]


def test_the_adapters_study_pre_trains_once(machine):
    made = plan.make(request(studies=(studies.find("adapters"),)), machine)
    assert kinds(made).count("pretrain") == 1
    assert kinds(made).count("finetune") == 20, "each variant on each task"


def test_a_measurement_gives_the_fields_in_which_it_differs_from_the_scale(machine):
    columns = [
        Measurement("plain", task="mnli"),
        Measurement("frozen", task="mnli", adaptation=FineTuning(frozen=True, dropout=0.0)),
    ]
    features = Measurement("features", task="conll2003", metric="f1", adaptation=Features(lstm_size=7))
    variants = [
        Variant("a"),
        Variant("b", adaptation=FineTuning(layer_decay=0.5)),
        Variant("c", adaptation=FineTuning()),
    ]
    changed = dataclasses.replace(
        MASKING, variants=variants, measurements=columns, baseline="a", published={}, claims=[]
    )
    other = dataclasses.replace(MASKING, name="other", measurements=[features], published={}, claims=[])
    scale = scales.find("smoke").set(["finetune.peak_lr=0.25", "features.epochs=4"])
    made = plan.make(request(studies=(changed, other), scale=scale), machine)
    found = {(cell.variant, cell.measurement.name): cell.job.settings for cell in made.cells}
    finetune = scale.finetune
    frozen = dataclasses.replace(finetune, frozen=True, dropout=0.0)
    assert found["a", "plain"] == found["c", "plain"] == finetune
    assert found["a", "frozen"] == found["c", "frozen"] == frozen
    assert found["b", "frozen"] == dataclasses.replace(frozen, layer_decay=0.5)
    assert found["80/10/10", "features"] == dataclasses.replace(scale.features, lstm_size=7)
    with pytest.raises(BadInput, match=r"finetune\.layer_decay: study 'masking' varies it"):
        plan.make(request(studies=(changed,), scale=scale.set(["finetune.layer_decay=0.9"])), machine)


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


@pytest.mark.parametrize("assignment", ["finetune.context=true", "tagging.answerability=true"])
def test_an_option_of_another_kind_of_task_is_refused(machine, assignment):
    with pytest.raises(BadInput, match=r"(context is an option of tagging|answerability is an option of span), its"):
        plan.make(request(scale=scales.find("smoke").set([assignment])), machine)


def test_at_the_papers_scale_each_study_measures_as_its_paper(machine):
    chosen = tuple(map(studies.find, ("nsp", "formats", "features")))
    options = {"only": ("BERT", "segment pair", "last"), "corpora": ("microworld",)}
    made = plan.make(request(studies=chosen, scale=scales.find("paper"), **options), machine)
    found = {(cell.study.name, cell.job.data.name): cell.job.settings for cell in made.cells}
    bert, roberta = found["nsp", "squad"], found["formats", "squad_v2"]
    assert (bert.answerability, bert.bias_correction, bert.length) == (False, False, 384)
    assert (roberta.answerability, roberta.bias_correction, roberta.length, roberta.batch_size) == (True, True, 384, 48)
    assert not found["formats", "squad"].answerability
    for name in ("nsp", "features"):
        assert (found[name, "conll2003"].context, found[name, "conll2003"].length) == (True, 512)
    recipes = {cell.study.name: cell.pretraining.recipe for cell in made.cells}
    assert {name: recipe.tokenizer.lowercase for name, recipe in recipes.items()} == {
        "nsp": True, "formats": True, "features": False,
    }  # fmt: skip


def test_a_task_that_nothing_measures_cannot_be_set(machine):
    with pytest.raises(BadInput, match="unknown task in --set tasks"):
        plan.make(request(scale=scales.find("smoke").set(["tasks.mnlli.epochs=2"])), machine)


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


def test_a_setting_of_a_task_goes_before_that_of_its_kind_and_what_is_set_before_both():
    scale = dataclasses.replace(scales.find("smoke"), tasks={"squad_v2": {"epochs": 2.0, "batch_size": 48}})
    assert scale.finetuning("span", "squad") == scale.span
    assert scale.finetuning("tagging", "conll2003") == scale.tagging
    assert scale.finetuning("regression", "stsb") == scale.finetune
    plain = scale.finetuning("span", "squad_v2")
    assert (plain.epochs, plain.batch_size, plain.length) == (2.0, 48, scale.span.length)
    found = scale.set(["span.epochs=7", "finetune.epochs=1"])
    assert found.finetuning("span", "squad_v2").epochs == found.finetuning("span", "squad").epochs == 7
    assert found.finetuning("span", "squad_v2").batch_size == 48
    one = scale.set(["tasks.squad_v2.epochs=9", "span.epochs=7"])
    assert (one.finetuning("span", "squad_v2").epochs, one.finetuning("span", "squad").epochs) == (9, 7)
    for wrong, message in (("tasks.squad_v2.lr=1", "did you mean"), ("tasks.epochs=1", "tasks.TASK.FIELD")):
        with pytest.raises(BadInput, match=message):
            scale.set([wrong])


def test_at_the_papers_scale_fine_tunings_are_the_papers():
    paper = scales.find("paper")
    found = {
        (kind, task): (setting.batch_size, setting.epochs, setting.peak_lr, setting.length, setting.dropout)
        for kind, task in (
            ("classification", "mnli"),
            ("span", "squad"),
            ("span", "squad_v2"),
            ("multiple-choice", "swag"),
            ("coreference-resolution", "ontonotes"),
        )
        if (setting := paper.finetuning(kind, task))
    }
    assert found == {
        ("classification", "mnli"): (32, 3.0, 5e-5, 128, 0.1),
        ("span", "squad"): (32, 3.0, 5e-5, 384, 0.1),
        ("span", "squad_v2"): (48, 2.0, 5e-5, 384, 0.1),
        ("multiple-choice", "swag"): (16, 3.0, 2e-5, 128, 0.1),
        ("coreference-resolution", "ontonotes"): (1, 20.0, 1e-5, 384, 0.1),
    }
    assert paper.grid == {"batch_size": (16, 32), "peak_lr": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)}


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (0, 1, 2)), ("3-5", (3, 4, 5)), ("7-7", (7,)), ("0-2,7", (0, 1, 2, 7)), ("5,3-5", (3, 4, 5))],
)
def test_any_seeds_are_planned(machine, text, seeds):
    assert options.seeds(text) == seeds
    made = plan.make(request(seeds=options.seeds(text)), machine)
    assert {job.seed for job in made.jobs if isinstance(job, Pretraining)} == set(seeds)
    (record,) = records(made).values()
    assert options.seeds(commands.spelled(record.requests[0].seeds)) == seeds
    whole = plan.make(request(seeds=range(8)), machine)
    assert {job.id for job in made.jobs} < {job.id for job in whole.jobs}


@pytest.mark.parametrize(
    "text",
    ["0", "many", "nan", "-1", "5-3", "1-", "3,", "1.5", "0-1000", "1001", "9" * 5000, "٣", "", "0-2, 7", "1-2-3"],
)
def test_seeds_that_cannot_be_read_are_refused(text):
    with pytest.raises(BadInput, match="give how many"):
        options.seeds(text)


@pytest.mark.parametrize("scale", ["tiny", "base"])
def test_parameters_are_those_of_the_model_that_is_built(scale):
    import torch

    from bertlab.model.heads import PretrainingModel

    every = [studies.find(name) for name in studies.names()]
    recipes = [study.recipe(variant, scales.find(scale).recipe) for study in every for variant in study.variants]
    assert len(recipes) > 20
    for recipe in recipes:
        with torch.device("meta"):
            model = PretrainingModel.of(recipe, recipe.tokenizer.vocabulary)
        assert cost.trained_parameters(recipe) == sum(value.numel() for value in model.parameters()), recipe


# Linguistic spans

SPANS = studies.find("spans")
READING = {"named entities", "noun phrases"}


def pretrainings(made):
    return {cell.variant: cell.pretraining for cell in made.cells}


def test_only_variants_that_read_linguistic_spans_have_an_annotated_corpus(machine):
    made = plan.make(request(studies=(SPANS,)), machine)
    found = pretrainings(made)
    annotators = {name: job.recipe.corpus.annotator for name, job in found.items()}
    assert annotators == {name: "microworld@1" if name in READING else "" for name in found}
    corpora = {name: job.corpus.id for name, job in found.items()}
    assert {name for name in found if corpora[name] != made.text} == READING
    assert len(set(corpora.values())) == kinds(made).count("corpus") == 2  # one for both kinds of spans
    plain = plan.make(request(studies=(MASKING,)), machine)
    assert plain.text == made.text
    assert pretrainings(plain)["80/10/10"].id == found["subword tokens"].id
    untrained = pretrainings(plan.make(request(studies=(SPANS,), random_init=True, only=("noun phrases",)), machine))
    assert untrained[RANDOM_INIT].corpus.id == made.text


def test_other_text_needs_a_pipeline_for_its_spans(machine, text_file, capsys):
    held_out = [Measurement("held-out loss", metric="masked_lm_loss")]
    bare = dataclasses.replace(SPANS, measurements=held_out, averages=[], published={}, claims=[], unlike=[])
    own = request(studies=(bare,), corpora=(str(text_file),))
    with pytest.raises(
        BadInput, match=r"study 'spans': variant 'named entities': corpus .world\.jsonl. has no linguist"
    ):
        plan.make(dataclasses.replace(own, only=("subword tokens", "named entities")), machine)
    without = pretrainings(plan.make(own, machine))
    assert without.keys() == {variant.name for variant in SPANS.variants} - READING
    (line,) = capsys.readouterr().err.splitlines()
    assert "study spans leaves out 'named entities' and 'noun phrases': corpus 'world.jsonl' has no linguist" in line
    scale = scales.find("smoke").set(["corpus.annotator=microworld"])
    named = pretrainings(plan.make(dataclasses.replace(own, scale=scale), machine))
    assert {name: job.id for name, job in named.items() if name not in READING} == {
        name: job.id for name, job in without.items()
    }
    assert {job.recipe.corpus.annotator for name, job in named.items() if name in READING} == {"microworld@1"}
    with pytest.raises(BadInput, match=r"corpus\.annotator has no effect"):
        plan.make(request(scale=scale), machine)


def test_a_task_outside_of_the_catalogue_has_the_setting_of_users_tasks_and_what_is_set_before_it():
    smoke = scales.find("smoke")
    assert smoke.finetuning("classification", "sst2") == smoke.finetune
    own = smoke.finetuning("classification", "spam")
    assert (own.max_steps, own.peak_lr, own.length) == (100, 3e-3, smoke.finetune.length)
    assert smoke.set(["finetune.max_steps=7"]).finetuning("classification", "spam").max_steps == 7
    micro = scales.find("micro")
    assert micro.finetuning("classification", "spam") == micro.finetune
