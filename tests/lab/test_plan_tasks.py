"""Tasks of a plan: their metrics and splits, the settings of their fine-tunings, and tasks that a model is fine-tuned
on first."""

import dataclasses
import json

import pytest

from bertlab.adaptation import Features, FineTuning
from bertlab.errors import BadInput
from bertlab.lab import claim_plan, plan, scales, studies
from bertlab.lab.jobs import Evaluation
from bertlab.lab.jobs.evaluation import read_task
from bertlab.lab.record import records
from bertlab.lab.study import Measurement, Variant
from bertlab.tasks import catalog, locate
from bertlab.tasks.task import Task
from plans import MASKING, kinds, request


def test_a_command_may_ask_for_fewer_fine_tuning_seeds_than_the_scale(machine):
    scale = dataclasses.replace(scales.find("smoke"), finetune_seeds=3)
    for given, seeds in ((0, {0, 1, 2}), (1, {0}), (4, {0, 1, 2, 3})):
        made = plan.make(request(scale=scale, finetune_seeds=given), machine)
        assert {job.finetune_seed for job in made.jobs if isinstance(job, Evaluation)} == seeds


def test_a_study_may_have_its_own_number_of_fine_tuning_seeds(machine):
    restarted = dataclasses.replace(MASKING, restarts=2)
    for asked, number in ((0, 2), (3, 3)):
        planned = plan.make(request(studies=(restarted,), finetune_seeds=asked), machine)
        assert {job.finetune_seed for job in planned.jobs if isinstance(job, Evaluation)} == {*range(number)}


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
    with pytest.raises(BadInput, match=r"finetune\.layer_decay: study 'masking' sets it for its variants"):
        plan.make(request(studies=(changed,), scale=scale.set(["finetune.layer_decay=0.9"])), machine)


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


def test_a_task_outside_of_the_catalogue_has_the_setting_of_users_tasks_and_what_is_set_before_it():
    smoke = scales.find("smoke")
    assert smoke.finetuning("classification", "sst2") == smoke.finetune
    own = smoke.finetuning("classification", "spam")
    assert (own.max_steps, own.peak_lr, own.length) == (100, 3e-3, smoke.finetune.length)
    assert smoke.set(["finetune.max_steps=7"]).finetuning("classification", "spam").max_steps == 7
    micro = scales.find("micro")
    assert micro.finetuning("classification", "spam") == micro.finetune


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
