"""What a report says of how each task was measured, and of the sizes of the variants."""

import dataclasses

import pytest

from bertlab.adaptation import FineTuning
from bertlab.recipe import Model, Recipe
from bertlab.recipe.identity import load
from bertlab.report import facts, tables
from bertlab.report.gather import gather_all
from bertlab.report.pages import chapter, notes
from bertlab.store.result import Result, Rows
from bertlab.store.runs import Store


@pytest.fixture
def study(builder):
    """The results of one measured cell, with changes to its cells and to its record."""

    def made(cell=None, pretraining=None, values=(60.0,), **record):
        for seed, value in enumerate(values):
            builder.cell("80/10/10", "NER", value, seed, 0, builder.pretrain("80/10/10", seed))
        builder.record(**record)
        found = gather_all(Store(builder.root))[0]
        recipe = load(Recipe, pretraining or {})
        return dataclasses.replace(
            found,
            cells=tuple(dataclasses.replace(each, **(cell or {})) for each in found.cells),
            pretrainings=tuple(dataclasses.replace(each, recipe=recipe) for each in found.pretrainings),
        )

    return made


@pytest.mark.parametrize(
    ("recipe", "settings", "text"),
    [
        ({}, {}, "sequences of at most 64 tokens; lower-cased text, sentences without the context of their document"),
        (
            {"tokenizer": {"lowercase": False}},
            {"context": True},
            "cased text, sentences with the context of their document",
        ),
    ],
)
def test_of_names_it_says_casing_and_context(study, recipe, settings, text):
    found = study({"kind": "tagging", "adaptation": FineTuning(**settings), "result": Result(length=64)}, recipe)
    assert text in dict(facts.facts(found))["NER"]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (
            {"result": Result(threshold=-1.25)},
            "answered above a threshold (-1.25) that is chosen for each run on the reported",
        ),
        ({"result": Result(threshold=0.5), "split": "test"}, "chosen for each run on the evaluation examples"),
        (
            {"result": Result(threshold=0.0), "adaptation": FineTuning(answerability=True)},
            "a classifier trained with the span",
        ),
    ],
)
def test_it_says_how_questions_without_an_answer_are_found(study, cell, text):
    assert text in dict(facts.facts(study({"kind": "span", **cell})))["NER"]
    assert "threshold" not in dict(facts.facts(study({"kind": "span"})))["NER"]


def test_trained_parameters_stand_with_their_variants_where_these_differ(builder):
    for variant in ("80/10/10", "100/0/0", "0/0/100"):
        builder.cell(variant, "NER", 60.0, 0, 0, builder.pretrain(variant))
    builder.record()
    found = gather_all(Store(builder.root))[0]

    def text(*counts):
        cells = [
            dataclasses.replace(cell, result=dataclasses.replace(cell.result, trained_parameters=count))
            for cell, count in zip(found.cells, counts, strict=True)
        ]
        return dict(facts.facts(dataclasses.replace(found, cells=tuple(cells))))["NER"]

    assert text(7000, 7000, 7000).endswith("; 7,000 trained parameters")
    assert text(7000, 50, 50).endswith("; 7,000 (80/10/10), 50 (100/0/0, 0/0/100) trained parameters")
    assert "trained" not in text(None, None, None)


def test_where_medians_are_published_medians_are_shown(study):
    found = study(values=(60.0, 61.0, 70.0), summary="median")
    assert tables.results(found).rows[0][1].startswith("61.0 (")
    assert notes("legend", found)[0].startswith("Values: the median")
    assert any("verdicts are of means" in line for line in notes("legend", found))
    plain = dataclasses.replace(found, record=dataclasses.replace(found.record, summary=""))
    assert tables.results(plain).rows[0][1].startswith("63.7 (")


def test_sizes_are_shown_as_the_multiples_that_they_came_to(builder):
    for variant in ("80/10/10", "100/0/0"):
        builder.cell(variant, "NER", 60.0, 0, 0, builder.pretrain(variant))
    builder.record()
    found = gather_all(Store(builder.root))[0]
    shapes = [{"layers": 4, "hidden": 128, "heads": 2}, {"layers": 4, "hidden": 192, "heads": 3}]
    runs = [
        dataclasses.replace(run, model=Model(**shape)) for run, shape in zip(found.pretrainings, shapes, strict=True)
    ]
    text = dict(facts.facts(dataclasses.replace(found, pretrainings=tuple(runs))))
    assert text["Sizes relative to the baseline"] == "100/0/0: width x 1.5, heads x 1.5"
    narrow = {"layers": 4, "hidden": 128, "heads": 2, "embedding_size": 32, "sharing": "all"}
    runs[1] = dataclasses.replace(runs[1], model=Model(**narrow))
    text = dict(facts.facts(dataclasses.replace(found, pretrainings=tuple(runs))))
    assert text["Sizes relative to the baseline"] == "100/0/0: embeddings x 0.25"
    shapes = ("4 layers, 128 wide, 2 heads", "4 layers, 128 wide, 2 heads, embeddings of 32, all parameters shared")
    assert text["Model"].startswith("; ".join(f"{shape}, learned positions" for shape in shapes))
    assert "Sizes relative to the baseline" not in dict(facts.facts(found))
    assert Model(layers=1, hidden=32, heads=1).shape == "1 layer, 32 wide, 1 head"


def test_a_study_without_published_values_speaks_of_none(study, builder):
    text = " ".join(notes("deviations", study()))
    assert text == "What differs from the paper: directions compare with the published values, sizes do not."
    for cell in builder.cells:
        cell["published"] = None
    builder.record(summary="median")
    found = gather_all(Store(builder.root))[0]
    text = " ".join([*notes("deviations", found), *notes("legend", found), *notes("caveats", found)])
    assert "What differs from the paper." in text
    assert "published" not in text.replace("claims, published values and notes are of that version", "")


def test_dates_and_commits_are_those_of_all_runs(builder):
    for day, commit in (("2026-11-23", "abc"), ("2026-11-21", "abc"), ("2026-11-22", "")):
        run_id = builder.pretrain("80/10/10", len(builder.rows), environment={"date": day, "commit": commit})
        builder.cell("80/10/10", "NER", 60.0, len(builder.rows) - 1, 0, run_id, environment={"date": day})
    builder.record()
    text = dict(facts.facts(gather_all(Store(builder.root))[0]))
    assert (text["Date"], text["Commit"]) == ("2026-11-21 to 2026-11-23 (UTC)", "abc")


def test_rows_without_a_label_are_counted(builder):
    builder.cell("80/10/10", "NER", 60.0, 0, 0, builder.pretrain("80/10/10"))
    builder.record()
    found = gather_all(Store(builder.root))[0]

    def text(**changes):
        cells = [dataclasses.replace(each, **changes) for each in found.cells]
        return dict(facts.facts(dataclasses.replace(found, cells=tuple(cells))))["NER"]

    assert "500 evaluation examples; 785 rows without a label left out" in text(
        rows=Rows(evaluation=500, unlabelled=785)
    )
    assert "without a label" not in text()


def test_differences_from_the_paper_are_a_table(builder):
    whats = [
        ("", "model.layers 4 (paper: 12)"),
        ("", "objective masked_lm (paper: masked_lm,next_sentence)"),
        ("", "single tokens are masked (paper: n-grams of up to 3)"),
        ("", "text: novels and openstax, not Wikipedia and BooksCorpus"),
        ("MNLI", "finetune.epochs 5 (paper: 3)"),
        ("NER", "finetune.epochs 5 (paper: 3)"),
        ("NER", "task: bc5cdr in place of conll2003"),
        ("NER", "task: microworld, synthetic"),
        ("NER", "text in lower case"),
    ]
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    builder.cell("80/10/10", "NER", 60.0)
    builder.record(differences=[{"on": on, "what": what} for on, what in whats])
    table = tables.deviations(gather_all(Store(builder.root))[0])
    assert table.columns == ("field", "here", "paper", "on")
    assert table.rows == (
        ("model.layers", "4", "12", ""),
        ("objective", "masked_lm", "masked_lm,next_sentence", ""),
        ("", "single tokens are masked", "n-grams of up to 3", ""),
        ("text", "novels and openstax", "Wikipedia and BooksCorpus", ""),
        ("finetune.epochs", "5", "3", "MNLI, NER (BC5CDR)"),
        ("task", "bc5cdr", "conll2003", "NER (BC5CDR)"),
        ("task", "microworld, synthetic", "", "NER (BC5CDR)"),
        ("", "text in lower case", "", "NER (BC5CDR)"),
    )


def test_settings_of_a_study_are_told_apart_by_their_names(builder):
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    request = {"study": "masking", "seeds": [0], "finetune_seeds": 0, "only": [], "random_init": False}
    fields = "--set tasks.mnli.epochs=2 --set tasks.mnli.dropout=0"
    for name, options in (("one", ""), ("two", fields), ("three", f"{fields} --set model.layers=6")):
        more = {"name": "more-examples"} if name == "two" else {}
        builder.record(name, setting=name, requests=[{**request, "options": options}], **more)
    found = gather_all(Store(builder.root))
    made = chapter(found, written=False)
    assert [each.heading for each in made.sections] == [
        "tiny on microworld",
        f"tiny on microworld with 3 fields of its own, key {found[1].key}",
        "tiny on microworld with more-examples",
    ]
    assert [each.stem for each in made.sections][2] == "masking-tiny-more-examples"
    assert made.sections[2].fields == ("tasks.mnli.epochs=2", "tasks.mnli.dropout=0")
    assert found[2].columns["setting"] == "on microworld with more-examples, tasks.mnli.epochs=2, tasks.mnli.dropout=0"
    assert found[2].command.endswith(" --name more-examples")


def test_several_fields_without_a_name_are_counted_and_folded(builder):
    builder.cell("80/10/10", "MNLI", 50.0, pretrain_id=builder.pretrain("80/10/10"))
    request = {"study": "masking", "seeds": [0], "finetune_seeds": 0, "only": [], "random_init": False}
    for name, options in (("one", ""), ("two", "--set a.b=1 --set a.c=2")):
        builder.record(name, setting=name, requests=[{**request, "options": options}])
    section = chapter(gather_all(Store(builder.root)), written=False).sections[1]
    assert section.heading == f"tiny on microworld with 2 fields of its own, key {section.study.key}"
    assert section.fields == ("a.b=1", "a.c=2")
