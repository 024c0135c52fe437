"""The card of an exported checkpoint: what was measured on it, and how."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from huggingface_hub import ModelCard

from bertlab.adaptation import Adapters, Features, FineTuning
from bertlab.names import plain
from bertlab.objectives import BidirectionalLM, CausalLM, MaskedLM
from bertlab.recipe import BiLSTM, Corpus, Recipe, Source
from bertlab.recipe.identity import to_canonical
from bertlab.report.cards import model
from bertlab.store.runs import Store


@pytest.mark.parametrize(
    ("adaptation", "shown"),
    [
        (FineTuning(peak_lr=1e-3), "finetune"),
        (FineTuning(frozen=True), "finetune, frozen"),
        (Features(layers="last"), "features, layers last"),
        (Adapters(bottleneck=8), "adapters, bottleneck 8"),
    ],
)
def test_a_measurement_names_its_adaptation_with_the_fields_of_its_own(builder, adaptation, shown):
    pretrained, other = builder.pretrain("80/10/10"), builder.pretrain("100/0/0")
    for number, pretrain_id in enumerate((pretrained, other)):
        result = {
            **{"status": "done", "task": "mnli", "dataset": "microworld", "split": "validation", "finetune_seed": 0},
            **{"metrics": {"accuracy": 50.0 + number}, "rows": {"evaluation": 10}, "milestone": 100},
            **{"method": adaptation.kind, "settings": to_canonical(adaptation), "pretrain_id": pretrain_id},
        }
        builder.run(adaptation.runs, f"f00{number}", result, {})
    store = Store(builder.root)
    (run,) = (each for each in store.runs() if each.id == pretrained)
    shown_card = model(run, Recipe(), store, "BERT")
    evaluated = [each for each in ModelCard(shown_card).data.eval_results if each.task_name == "mnli"]
    assert [(each.metric_value, each.metric_name) for each in evaluated] == [(50.0, f"accuracy, {shown}")]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in shown_card.splitlines()]
    assert ["mnli", "microworld", "validation", shown, "0", "100 %", "10", "accuracy 50"] in cells
    assert "accuracy 51" not in shown_card, "measured on another pre-training"


def test_results_of_two_settings_are_no_seeds_of_one(builder):
    pretrained = builder.pretrain("80/10/10")
    for number, (peak_lr, seed) in enumerate(((1e-5, 0), (1e-4, 0), (1e-4, 1))):
        settings = to_canonical(FineTuning(peak_lr=peak_lr))
        result = {
            **{"status": "done", "task": "mnli", "dataset": "microworld", "split": "validation", "finetune_seed": seed},
            **{"metrics": {"accuracy": 50.0 + 10 * number}, "rows": {"evaluation": 10}, "milestone": 100},
            **{"method": "finetune", "settings": settings, "pretrain_id": pretrained},
        }
        builder.run("finetune", f"f00{number}", result, {"settings": settings, "finetune_seed": seed})
    store = Store(builder.root)
    (run,) = (each for each in store.runs() if each.id == pretrained)
    evaluated = ModelCard(model(run, Recipe(), store, "BERT")).data.eval_results
    found = {(each.metric_value, each.metric_name) for each in evaluated if each.task_name == "mnli"}
    assert found == {(50.0, "accuracy, finetune"), (65.0, "accuracy, finetune, mean of 2 fine-tuning seeds")}


@pytest.mark.parametrize(
    ("names", "content", "language"),
    [
        (["Salesforce/wikitext:wikitext-103-raw-v1"], "hub:00", "en"),
        (["wikimedia/wikipedia:20231101.en", "allenai/c4:en"], "hub:00", "en"),
        (["wikimedia/wikipedia:20231101.en", "wikimedia/wikipedia:20231101.de"], "hub:00", None),
        (["wikimedia/wikipedia:20231101.en"], "sha256:00", None),
    ],
)
def test_a_language_is_on_the_card_where_all_texts_have_it(builder, names, content, language):
    builder.pretrain("80/10/10")
    store = Store(builder.root)
    (run,) = store.runs()
    recipe = Recipe(corpus=Corpus(sources=tuple(Source(name=name, content=content) for name in names)))
    assert ModelCard(model(run, recipe, store, "BERT")).data.language == language


@pytest.mark.parametrize(
    ("recipe", "figure", "tag", "task"),
    [
        (Recipe(), "masked_lm_loss", "fill-mask", "fill-mask"),
        (Recipe(objective=(CausalLM(),)), "causal_lm_loss", "text-generation", "text-generation"),
        (Recipe(objective=(CausalLM(share=0.5), MaskedLM(share=0.5))), "masked_lm_loss", "fill-mask", "fill-mask"),
        (Recipe(model=BiLSTM(), objective=(BidirectionalLM(),)), "bidirectional_lm_loss", None, "other"),
    ],
)
def test_the_task_of_a_model_on_the_hub_is_that_of_its_loss(builder, recipe, figure, tag, task):
    builder.pretrain("80/10/10")
    (run,) = Store(builder.root).runs()
    fields = {name: getattr(run, name) for name in ("id", "label", "path", "environment", "definition")}
    result = replace(run.result(), judged_by=figure, heldout={figure: 2.0})
    data = ModelCard(model(SimpleNamespace(**fields, result=lambda: result), recipe, Store(builder.root), "BERT")).data
    assert data.pipeline_tag == tag
    assert [(value.metric_type, value.task_type) for value in data.eval_results] == [(figure, task)]


def test_a_card_names_the_checkpoint_of_the_hub_that_its_run_is(builder):
    builder.pretrain("80/10/10")
    store = Store(builder.root)
    (run,) = store.runs()
    expected = {"google-bert/bert-base-uncased": "00", None: ""}
    for name, commit in expected.items():
        result = replace(run.result(), checkpoint="google-bert/bert-base-uncased", commit=commit)
        imported = SimpleNamespace(
            **{key: getattr(run, key) for key in ("id", "label", "path", "environment", "definition")}
        )
        imported.result = lambda result=result: result
        assert ModelCard(model(imported, Recipe(), store, "BERT")).data.base_model == name


@pytest.mark.parametrize(
    ("task", "dataset", "data", "named"),
    [
        ("mnli", "microworld", "microworld:3/inference@5", ("mnli (synthetic counterpart)",) * 2),
        ("inference", "microworld", "microworld:3/inference@5", ("inference (synthetic)",) * 2),
        ("mnli", "mnli", "sha256:00", ("mnli", "mnli")),
        ("mnli", "nyu-mll/glue:mnli", "hub:00", ("mnli", "nyu-mll/glue:mnli")),
    ],
)
def test_no_synthetic_task_has_the_name_of_a_published_one(builder, task, dataset, data, named):
    result = {
        **{"status": "done", "task": task, "dataset": dataset, "split": "validation", "finetune_seed": 0},
        **{"metrics": {"accuracy": 50.0}, "rows": {"evaluation": 10}, "milestone": 100, "method": "finetune"},
        **{"settings": {}, "pretrain_id": builder.pretrain("80/10/10")},
    }
    builder.run("finetune", f"{0xF000:016x}", result, {"data": data})
    store = Store(builder.root)
    (run,) = (each for each in store.runs() if each.kind == "pretrain")
    shown_card = model(run, Recipe(), store, "BERT")
    (evaluated,) = (each for each in ModelCard(shown_card).data.eval_results if each.dataset_split)
    assert (evaluated.task_name, evaluated.dataset_name) == named
    assert ("Tasks on microworld are synthetic" in shown_card) is (dataset == "microworld")


def test_metadata_hold_any_name(builder, hostile_names):
    pretrained = builder.pretrain("80/10/10")
    for number, name in enumerate(hostile_names):
        result = {
            **{"status": "done", "task": name, "dataset": name, "split": name, "finetune_seed": 0, "milestone": 100},
            **{"metrics": {"accuracy": float(number)}, "rows": {"evaluation": 10}, "method": "finetune"},
            **{"settings": {}, "pretrain_id": pretrained},
        }
        builder.run("finetune", f"f{number:04x}", result, {})
    store = Store(builder.root)
    (run,) = (each for each in store.runs() if each.id == pretrained)
    evaluated = ModelCard(model(run, Recipe(), store, "BERT")).data.eval_results
    found = {(each.task_name, each.dataset_name, each.dataset_split) for each in evaluated if each.dataset_split}
    assert found == {(plain(name),) * 3 for name in hostile_names if plain(name)}
