"""The studies of the package: their published values, and what their variants are at the scale of the paper."""

import dataclasses
import math

import pytest

from bertlab.lab import scales, studies
from bertlab.lab.study import RelativeSchedule
from bertlab.model.interop.architectures import architecture_of
from bertlab.objectives import Corruption, MaskedLM
from bertlab.recipe import Recipe, Schedule, cost
from bertlab.recipe.identity import identity

UNPRINTED = (None,) * 6
"""The tasks of GLUE of which SpanBERT's tables print only the average."""


def test_masking_is_table_8():
    table = studies.find("masking")
    paper = {
        "80/10/10": (84.2, 95.4, 94.9),
        "100/0/0": (84.3, 94.9, 94.0),
        "80/0/20": (84.1, 95.2, 94.6),
        "80/20/0": (84.4, 95.2, 94.7),
        "0/20/80": (83.7, 94.8, 94.6),
        "0/0/100": (83.6, 94.9, 94.6),
    }
    columns = [each.name for each in table.measurements]
    assert {name: tuple(table.published[name, column] for column in columns) for name in paper} == paper
    assert [variant.name for variant in table.variants] == list(paper)
    for variant in table.variants:
        masking = table.recipe(variant, Recipe()).objective[0].corruption
        assert variant.name == "/".join(f"{100 * share:.0f}" for share in (masking.mask, masking.keep, masking.random))


@pytest.mark.parametrize("name", studies.names())
def test_every_study_expands_at_every_scale_and_no_two_variants_are_the_same_everywhere(name):
    found = studies.find(name)
    recipes = {
        scale.name: [found.recipe(variant, scale.recipe) for variant in found.variants]
        for scale in scales.SCALES.values()
    }
    distinct = {
        (
            identity("pretrain", recipe=recipes["tiny"][number]),
            identity("pretrain", recipe=recipes["paper"][number]),
            variant.adaptation,
            variant.ensemble,
            variant.without_measured,
        )
        for number, variant in enumerate(found.variants)
    }
    assert len(distinct) == len(found.variants)


def test_size_is_table_6_at_the_scale_of_the_paper():
    table = studies.find("size")
    models = [table.recipe(variant, scales.find("paper").recipe).model for variant in table.variants]
    assert [(model.layers, model.hidden, model.heads) for model in models] == [
        (3, 768, 12), (6, 768, 3), (6, 768, 12), (12, 768, 12), (12, 1024, 16), (24, 1024, 16),
    ]  # fmt: skip
    printed = [[table.published[variant.name, each.name] for each in table.measurements] for variant in table.variants]
    assert printed == [
        [5.84, 77.9, 79.8, 88.4],
        [5.24, 80.6, 82.2, 90.7],
        [4.68, 81.9, 84.8, 91.3],
        [3.99, 84.4, 86.7, 92.9],
        [3.54, 85.7, 86.9, 93.3],
        [3.23, 86.6, 87.8, 93.7],
    ]


def test_two_tables_of_albert_that_disagree_keep_their_own_values():
    """On MNLI at E = 128; what both print is otherwise the same, and each of these models is trained once for both."""
    one, other = studies.find("embedding-size"), studies.find("sharing")
    both = [each.name for each in one.variants if each.name in {variant.name for variant in other.variants}]
    assert sorted(both) == [
        "all shared, E = H", "all shared, E = H/6", "not shared, E = H", "not shared, E = H/6",
    ]  # fmt: skip
    columns = [each.name for each in one.measurements]
    differing = {
        (name, column): (one.published[name, column], other.published[name, column])
        for name in both
        for column in columns
        if one.published[name, column] != other.published[name, column]
    }
    assert differing == {("all shared, E = H/6", "MNLI"): (81.6, 82.0), ("not shared, E = H/6", "MNLI"): (83.7, 83.2)}
    for scale in scales.SCALES.values():
        ids = [
            [
                identity("pretrain", recipe=each.recipe(each.variant(name), scale.following(each.at_paper).recipe))
                for name in both
            ]
            for each in (one, other)
        ]
        assert ids[0] == ids[1]


def test_batches_of_any_size_see_as_many_sequences_and_are_the_papers_at_its_scale():
    table = studies.find("batch-size")
    for scale in scales.SCALES.values():
        rows = [table.recipe(variant, scale.following(table.at_paper).recipe).schedule for variant in table.variants]
        seen = [each.batch_size * each.steps for each in rows]
        assert max(abs(each - seen[0]) / each_row.batch_size for each, each_row in zip(seen, rows, strict=True)) <= 0.5
    assert [(each.batch_size, each.steps) for each in rows] == [(256, 1_000_000), (2048, 125_000), (8192, 31_250)]
    assert [each.peak_lr for each in rows] == pytest.approx([1e-4, 7e-4, 1e-3])
    assert RelativeSchedule(steps=1 / 8).of(Schedule(steps=0)).steps == 0


@pytest.mark.parametrize("name", ["embedding-size", "sharing"])
def test_rows_of_albert_are_the_papers_at_its_scale_and_differ_at_all_others(name):
    table = studies.find(name)
    for scale in scales.SCALES.values():
        models = [table.recipe(variant, scale.following(table.at_paper).recipe).model for variant in table.variants]
        assert len({(each.embedding_size, each.sharing) for each in models}) == 8
    for variant, model in zip(table.variants, models, strict=True):  # of scale paper, the last one
        sharing, share = variant.name.split(", E = ")
        assert model.embedding_width == {"H/12": 64, "H/6": 128, "H/3": 256, "H": 768}[share]
        assert sharing in ("not shared", f"{model.sharing} shared")
        assert (model.sharing == "none") == (sharing == "not shared")


@pytest.mark.parametrize(
    ("task", "kind", "examples", "row"),
    [  # ALBERT Table 14: learning rate, batch, dropout of the encoder, steps, warm-up steps, length
        ("sst2", "classification", 67_349, (1e-5, 32, 0.0, 20_935, 1256, 512)),
        ("mnli", "classification", 392_702, (3e-5, 128, 0.0, 10_000, 1000, 512)),
        ("squad", "span", 87_599, (5e-5, 48, 0.0, 3649, 365, 384)),
        ("squad_v2", "span", 130_319, (3e-5, 48, 0.0, 8144, 814, 512)),
        ("race", "multiple-choice", 87_866, (2e-5, 32, 0.1, 12_000, 1000, 512)),
    ],
)
def test_tasks_of_albert_are_fine_tuned_as_in_its_appendix(task, kind, examples, row):
    for study in (each for each in studies.chosen(["all"]) if each.source.startswith("Lan et al.")):
        ours = scales.find("paper").following(study.at_paper).finetuning(kind, task)
        steps = ours.steps(examples)
        assert (ours.peak_lr, ours.batch_size, ours.dropout, steps, round(ours.warmup * steps), ours.length) == row
        assert (ours.head_dropout or ours.dropout) == 0.1  # the same of the classifier for all tasks


@pytest.mark.parametrize(
    ("name", "variant", "title"),
    [
        ("data-and-steps", "all text", "RoBERTa"),
        ("mask-rate", "40 %", "RoBERTa-PreLayerNorm"),
        ("sharing", "all shared, E = H/6", "ALBERT"),
        ("sharing", "attention shared, E = H/6", "ALBERT"),
        ("spans", "geometric spans", "BERT"),
    ],
)
def test_models_at_the_scale_of_the_paper_are_written_as_its_authors_published_theirs(name, variant, title):
    found = studies.find(name)
    recipe = found.recipe(found.variant(variant), scales.find("paper").following(found.at_paper).recipe)
    pad = {"wordpiece": 0, "unigram": 0, "byte_level_bpe": 1}[recipe.tokenizer.kind]
    assert architecture_of(recipe.model, recipe.causal, pad)[0].title == title


def test_encodings_have_the_vocabularies_of_the_papers_and_keep_their_ratio():
    table = studies.find("encoding")
    sizes = [
        [table.recipe(variant, scales.find(name).recipe).tokenizer.vocabulary for variant in table.variants]
        for name in ("paper", "smoke")
    ]
    assert sizes == [[30_522, 30_522, 50_265], [512, 512, 843]]


def test_features_is_table_7():
    table = studies.find("features")
    assert [table.published[variant.name, "NER dev"] for variant in table.variants] == [
        96.4, 91.0, 95.6, 94.9, 95.9, 96.1, 95.5,
    ]  # fmt: skip
    test = {variant: figure for (variant, column), figure in table.published.items() if column == "NER test"}
    assert test == {"fine-tuning": 92.4}
    assert [(each.task, each.split) for each in table.measurements] == [
        ("conll2003", "evaluation"),
        ("conll2003", "test"),
    ]


def test_the_other_tables_as_they_are_printed():
    printed = {
        "nsp": {
            "BERT": (84.4, 88.4, 86.7, 92.7, 88.5, None),
            "no NSP": (83.9, 84.9, 86.5, 92.6, 87.9, None),
            "LTR & no NSP": (82.1, 84.3, 77.5, 92.1, 77.8, None),
            "LTR & no NSP + BiLSTM": (82.1, 84.1, 75.7, 91.6, 84.9, None),
        },
        "formats": {
            "segment pair": (90.4, 78.7, 84.0, 92.9, 64.2),
            "sentence pair": (88.7, 76.2, 82.9, 92.1, 63.0),
            "full sentences": (90.4, 79.1, 84.7, 92.5, 64.8),
            "doc sentences": (90.6, 79.7, 84.7, 92.7, 65.6),
        },
        "sentence-order": {
            "NSP": (54.5, 90.5, 52.0, 88.4, 77.2, 81.6, 91.1, 62.3),
            "none": (54.9, 52.4, 53.3, 88.6, 78.1, 81.5, 89.9, 61.7),
            "SOP": (54.0, 78.9, 86.5, 89.3, 80.0, 82.0, 90.3, 64.0),
        },
        "embedding-size": {
            "not shared, E = H/12": (89.9, 80.1, 82.9, 91.5, 66.7),
            "not shared, E = H/6": (89.9, 80.3, 83.7, 91.5, 67.9),
            "not shared, E = H/3": (90.2, 80.3, 84.1, 91.9, 67.3),
            "not shared, E = H": (90.4, 80.4, 84.5, 92.8, 68.2),
            "all shared, E = H/12": (88.7, 77.5, 80.8, 89.4, 63.5),
            "all shared, E = H/6": (89.3, 80.0, 81.6, 90.3, 64.0),
            "all shared, E = H/3": (88.8, 79.1, 81.5, 90.3, 63.4),
            "all shared, E = H": (88.6, 79.2, 82.0, 90.6, 63.3),
        },
        "sharing": {
            "all shared, E = H": (88.6, 79.2, 82.0, 90.6, 63.3),
            "attention shared, E = H": (89.9, 80.0, 84.0, 91.4, 67.7),
            "feed-forward shared, E = H": (89.2, 78.2, 81.5, 90.8, 62.6),
            "not shared, E = H": (90.4, 80.4, 84.5, 92.8, 68.2),
            "all shared, E = H/6": (89.3, 80.0, 82.0, 90.3, 64.0),
            "attention shared, E = H/6": (89.9, 80.7, 83.4, 91.9, 67.6),
            "feed-forward shared, E = H/6": (88.9, 78.6, 82.3, 91.7, 64.4),
            "not shared, E = H/6": (89.9, 80.3, 83.2, 91.5, 67.9),
        },
        "equal-time": {
            "BERT large": (93.5, 86.9, 87.8, 94.6, 77.3),
            "ALBERT xxlarge": (94.0, 88.3, 87.8, 95.4, 82.5),
        },
        "more-data": {
            "no additional text": (None, 89.3, 80.0, 81.6, 90.3, 64.0),
            "additional text": (None, 88.8, 79.1, 82.4, 92.8, 66.0),
        },
        "dropout": {
            "with dropout": (None, 94.7, 89.6, 90.0, 96.3, 85.7),
            "without dropout": (None, 94.8, 89.9, 90.4, 96.5, 86.1),
        },
        "spans": {
            "subword tokens": (83.8, 72.0, 76.3, 77.7, 86.7, 92.5, *UNPRINTED),
            "whole words": (84.3, 72.8, 77.1, 76.6, 86.3, 92.8, *UNPRINTED),
            "named entities": (84.8, 72.7, 78.7, 75.6, 86.0, 93.1, *UNPRINTED),
            "noun phrases": (85.0, 73.0, 77.7, 76.7, 86.5, 93.2, *UNPRINTED),
            "geometric spans": (85.4, 73.0, 78.8, 76.4, 87.0, 93.3, *UNPRINTED),
        },
        "span-boundary": {
            "two segments + NSP": (85.4, 73.0, 78.8, 76.4, 87.0, 93.3, *UNPRINTED),
            "single sequence": (86.7, 73.4, 80.0, 76.3, 87.3, 93.8, *UNPRINTED),
            "single sequence + SBO": (86.8, 74.1, 80.3, 79.0, 87.6, 93.9, *UNPRINTED),
        },
        "depth-and-width": {
            "BERT base": (90.4, 80.4, 84.5, 92.8, 68.2),
            "BERT large": (92.2, 85.0, 86.6, 93.0, 73.9),
            "ALBERT base": (89.3, 80.0, 81.6, 90.3, 64.0),
            "ALBERT large": (90.6, 82.3, 83.5, 91.7, 68.5),
            "ALBERT xlarge": (92.5, 86.1, 86.4, 92.4, 74.8),
            "ALBERT xxlarge": (94.1, 88.1, 88.0, 95.2, 82.3),
        },
        "mask-rate": {
            "15 %": (84.2, 90.9, 87.8, 93.3),
            "20 %": (84.1, 91.3, 87.9, 92.7),
            "30 %": (84.2, 91.6, 88.0, 93.0),
            "40 %": (84.5, 91.6, 88.1, 92.8),
            "50 %": (84.1, 91.1, 88.1, 92.7),
            "60 %": (83.2, 90.7, 87.8, 92.6),
            "70 %": (82.3, 89.4, 87.5, 91.9),
            "80 %": (80.8, 87.9, 87.1, 90.5),
            "15 %, 80/10/10": (83.7, 90.4, 87.8, 93.2),
            "40 %, 80/10/10": (84.3, 91.2, 87.9, 93.0),
        },
        "batch-size": {
            "1x (256)": (3.99, 84.7, 92.7),
            "8x (2K)": (3.68, 85.2, 92.9),
            "32x (8K)": (3.77, 84.6, 92.8),
        },
        "encoding": dict.fromkeys(("WordPiece, lower case", "WordPiece, cased", "byte-level BPE"), (None,) * 5),
        "data-and-steps": {
            "1/10 of the text": (93.6, 87.3, 89.0, 95.3),
            "all text": (94.0, 87.7, 89.3, 95.6),
            "all text, 3x steps": (94.4, 88.7, 90.0, 96.1),
            "all text, 5x steps": (94.6, 89.4, 90.2, 96.4),
        },
        "base-and-large": {
            "base": (84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4, 80.8, 88.5),
            "large": (86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1, 84.1, 90.9),
        },
        "ngrams": {"tokens": (None,) * 5, "n-grams": (None,) * 5},
        "dynamic": {
            "static, one mask": (None, None, None),
            "static, ten copies": (78.3, 84.3, 92.5),
            "dynamic": (78.7, 84.0, 92.9),
        },
    }
    for name, published in printed.items():
        table = studies.find(name)
        columns = [each.name for each in table.measurements]
        assert {
            variant.name: tuple(table.published.get((variant.name, column)) for column in columns)
            for variant in table.variants
        } == published


@pytest.mark.parametrize(
    "name", [study for study in studies.names() if studies.find(study).source.startswith("Raffel")]
)
def test_t5s_own_figures_bear_out_each_claim_by_two_deviations_of_its_baselines(name):
    table = studies.find(name)
    (spread,) = studies.find("t5-baseline").related
    deviation = dict(zip(spread.columns, spread.rows["baseline"], strict=True)) | {"CoLA": 1.111}
    for claim in (claim for claim in table.claims if claim.on in deviation):
        for better, worse in claim.pairs:
            gap = table.published[better, claim.on] - table.published[worse, claim.on]
            assert gap > 2 * deviation[claim.on], claim.text


def test_averages_are_those_of_the_tables():
    """In the order of each table's rows."""
    printed = {
        "base-and-large": (79.6, 82.1),
        "lineage": (71.0, 75.1, 79.6, *UNPRINTED[:5]),
        "sentence-order": (79.2, 79.0, 80.1),
        "embedding-size": (81.3, 81.7, 81.8, 82.3, 79.0, 80.1, 79.6, 79.8),
        "sharing": (79.8, 81.6, 79.5, 82.3, 80.1, 81.7, 80.2, 81.6),
        "equal-time": (87.2, 88.7),
        "more-data": (80.1, 80.8),
        "dropout": (90.4, 90.7),
        "depth-and-width": (82.3, 85.2, 80.1, 82.4, 85.5, 88.7),
        "spans": (83.2, 82.9, 83.2, 83.5, 83.4),
        "span-boundary": (83.4, 83.8, 84.0),
        "gpt": (74.7, 59.9, 75.0, 69.1),
        "mask-schedule": (83.83, 84.12, 84.29, 83.71),
        "mlm-or-clm": (87.0, 87.85, 87.58, None, 83.58),
        "replaced-tokens": (82.2, 82.4, 82.4, 84.3, 85.0),
        "generator": (84.3, 83.6, 84.4, None, None),
    }
    averaged = {each.name: each for each in map(studies.find, studies.names()) if each.averages}
    found = {
        name: tuple(study.published.get((variant.name, average.name)) for variant in study.variants)
        for name, study in averaged.items()
        for average in study.averages
    }
    assert found == printed


def test_spans_of_two_segments_are_one_pre_training_in_both_tables():
    for scale in scales.SCALES.values():
        ids = {
            identity("pretrain", recipe=each.recipe(each.variant(name), scale.following(each.at_paper).recipe))
            for each, name in (
                (studies.find("spans"), "geometric spans"),
                (studies.find("span-boundary"), "two segments + NSP"),
            )
        }
        assert len(ids) == 1


def test_masking_rates_are_those_of_their_names():
    table = studies.find("mask-rate")
    for variant in table.variants:
        (loss,) = table.recipe(variant, scales.find("paper").recipe).objective
        shares = (0.8, 0.1, 0.1) if variant.name.endswith("80/10/10") else (1.0, 0.0, 0.0)
        assert loss == MaskedLM(
            mask_prob=int(variant.name[:2]) / 100,
            corruption=Corruption(**dict(zip(("mask", "keep", "random"), shares, strict=True))),
        )


def test_convergence_is_figure_5_by_milestone():
    table = studies.find("convergence")
    printed = {
        name: [
            (at, table.figure(name, "MNLI", at))
            for at in table.measurements[0].milestones
            if at not in (30, 50, 70, 90)
        ]
        for name in ("masked LM", "left-to-right")
    }
    assert printed == {
        "masked LM": [(3, 78.6), (5, 79.6), (10, 80.5), (20, 82.2), (40, 83.2), (60, 84.0), (80, 84.3), (100, 84.4)],
        "left-to-right": [
            (3, 79.4), (5, 79.8), (10, 80.3), (20, 81.0), (40, 81.7), (60, 81.9), (80, 82.1), (100, 82.2),
        ],
    }  # fmt: skip
    assert table.figure("masked LM", "MNLI", 50) is None


@pytest.mark.parametrize("name", studies.names())
def test_no_claim_of_a_study_is_against_the_papers_own_figures(name):
    """For pairs with published values of both variants; a lower perplexity is better."""
    table = studies.find(name)
    for claim in table.claims:
        for better, worse in claim.pairs:
            figures = [
                table.figure(variant, claim.on, at)
                for variant, at in zip((better, worse, *claim.than), (claim.at, claim.before) * 2, strict=False)
            ]
            if None not in figures:
                apart = figures[0] - figures[1] - (figures[2] - figures[3] if claim.than else 0)
                apart *= -1 if "perplexity" in claim.on or "loss" in claim.on else 1
                low, high = claim.margin or (0.0, math.inf)
                assert low < apart < high, claim


def test_no_claim_compares_models_of_which_a_paper_prints_two_values():
    """ALBERT base on MNLI, with and without shared parameters: 81.6 and 82.0, 83.7 and 83.2."""
    twice = {"all shared, E = H/6", "not shared, E = H/6"}
    for name, variants in {
        "sharing": twice, "embedding-size": twice, "more-data": {"no additional text"},
        "sentence-order": {"SOP"}, "depth-and-width": {"ALBERT base"},
    }.items():  # fmt: skip
        for claim in studies.find(name).claims:
            assert claim.on != "MNLI" or not variants & {variant for variant, _ in claim.sides}, (name, claim.text)


@pytest.mark.parametrize(
    ("name", "kind", "task"),
    [("data-and-steps", "span", "squad"), ("data-and-steps", "classification", "mnli"),
     ("mask-rate", "classification", "qnli"), ("encoding", "tagging", "conll2003")],
)  # fmt: skip
def test_fairseqs_adam_fine_tunes_the_models_that_it_pre_trains(name, kind, task):
    """RoBERTa's appendix: beta2 of 0.98, no clipping."""
    ours = scales.find("paper").following(studies.find(name).at_paper).finetuning(kind, task)
    assert (ours.beta2, ours.max_grad_norm, ours.bias_correction) == (0.98, 1e9, True)
    usual = scales.find("paper").following(studies.find("nsp").at_paper).finetuning(kind, task)
    assert (usual.beta2, usual.max_grad_norm, usual.bias_correction) == (0.999, 1.0, False)


def test_the_baseline_of_five_studies_is_one_pre_training():
    """At scale paper, RoBERTa's own inputs and the cased text of Table 7 set two of them apart."""
    tables = [studies.find(name) for name in ("masking", "nsp", "size", "formats", "features")]
    for scale in scales.SCALES.values():
        ids = [
            identity("pretrain", recipe=each.recipe(each.variant(each.baseline), scale.following(each.at_paper).recipe))
            for each in tables
        ]
        assert [ids.index(each) for each in ids] == ([0, 0, 0, 3, 4] if scale.name == "paper" else [0] * 5)


def test_gpts_rows_differ_in_one_thing_each_and_its_claims_are_those_of_its_table():
    gpt = studies.find("gpt")
    scale = scales.find("paper").following(gpt.at_paper).recipe
    full, untrained, plain, recurrent = (gpt.recipe(variant, scale) for variant in gpt.variants)
    assert full == plain
    assert (full.causal, untrained.schedule.steps, full.schedule.steps) == (True, 0, 1_000_000)
    assert (recurrent.model.layers, recurrent.model.hidden, recurrent.model.embedding_width) == (1, 2048, 768)
    assert recurrent == dataclasses.replace(full, model=recurrent.model)
    settings = {
        measurement.name: gpt.adaptation(gpt.variants[2], measurement, scales.find("paper"), "classification", "")
        for measurement in gpt.measurements
    }
    assert {setting.lm_weight for setting in settings.values()} == {0.0}
    assert [name for name, setting in settings.items() if setting.both_orders] == ["MRPC", "STS-B", "QQP"]
    for claim in gpt.claims:
        ((better, worse),) = claim.pairs
        assert gpt.figure(better, claim.on) > gpt.figure(worse, claim.on), claim.text
    assert len(gpt.claims) == 8 + 8 + 7


def test_elmos_layers_are_table_2():
    layers = studies.find("elmo-layers")
    assert layers.published == {("scalar mix", "SQuAD 1.1"): 85.2, ("top layer", "SQuAD 1.1"): 84.7}
    (claim,) = layers.claims
    assert (claim.pairs, claim.on) == ((("scalar mix", "top layer"),), "SQuAD 1.1")
    scale = scales.find("micro").recipe
    assert len({identity("pretrain", recipe=layers.recipe(variant, scale)) for variant in layers.variants}) == 1


def test_lineage_compares_models_of_one_size_and_claims_what_the_numbers_bear():
    table, paper = studies.find("lineage"), scales.find("paper").recipe
    models = {variant.name: table.recipe(variant, paper).model for variant in table.variants}
    elmo, both = models["ELMo"], models["LTR + RTL"]
    assert (elmo.layers, elmo.hidden) == (2, 1024)
    assert elmo.parameters(0, 0) == pytest.approx(models["BERT"].parameters(0, 0), rel=0.01)
    assert both.half == dataclasses.replace(models["BERT"], segments=1)
    assert models["BERT"] == models["GPT"]
    assert {name.split(",")[0] for name, model in models.items() if model.apart} == {"ELMo", "LTR + RTL"}
    work = {variant.name: cost.flops(table.recipe(variant, paper)) for variant in table.variants}
    for name in ("ELMo", "GPT", "LTR + RTL"):
        assert work[f"{name}, equal FLOPs"] == pytest.approx(work["BERT"], rel=1e-4)
        rows = [table.variant(name), table.variant(f"{name}, equal FLOPs")]
        for scale in scales.SCALES.values():
            full, fewer = (table.recipe(variant, scale.recipe).schedule.steps for variant in rows)
            assert fewer < full
    for claim in table.claims:
        (high, low), *others = claim.pairs
        assert table.published[high, claim.on] > table.published[low, claim.on]
        assert not others
    glue = table.averages[0]
    for variant, printed in (("ELMo", 71.0), ("GPT", 75.1), ("BERT", 79.6)):
        mean = sum(table.published[variant, part] for part in glue.of) / len(glue.of)
        assert mean == pytest.approx(printed, abs=0.1)
