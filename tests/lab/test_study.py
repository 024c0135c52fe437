"""Studies: variants as frozen differences, with their checks; and finding studies."""

import dataclasses
import sys

import pytest

from bertlab.adaptation import Features, FineTuning
from bertlab.errors import BadInput
from bertlab.lab import plan, scales, shipped, studies
from bertlab.lab.record import records
from bertlab.lab.study import Claim, Measurement, RelativeSchedule, Size, Study, Variant, table
from bertlab.names import plain
from bertlab.objectives import Corruption, MaskedLM, NextSentence
from bertlab.recipe import Inputs, Model, Recipe, Schedule
from bertlab.recipe.identity import identity

COLUMN = Measurement("MNLI", task="mnli")
FEATURES = Measurement("NER", task="conll2003", metric="f1", adaptation=Features())


def study(**changes):
    values = {
        "name": "mine",
        "question": "?",
        "source": "nobody",
        "baseline": "a",
        "variants": [
            Variant("a"),
            Variant("b", objective=(MaskedLM(corruption=Corruption(mask=1.0, keep=0.0, random=0.0)), NextSentence())),
        ],
        "measurements": [COLUMN],
    }
    return Study(**(values | changes))


@pytest.mark.parametrize(
    "name",
    ["", " ", "a\nb", "a\x00", "\x1b[31mred", "a ", "a  b", "a\u00a0b", "\u202eabc", "a\u200bb", "\ud800", "\ue000"],
)
@pytest.mark.parametrize("what", ["study", "variant", "measurement"])
def test_a_name_is_what_a_reader_sees_of_it(what, name):
    named = {
        "study": {"name": name},
        "variant": {"variants": [Variant("a"), Variant(name)]},
        "measurement": {"measurements": [Measurement(name, task="mnli")]},
    }[what]
    with pytest.raises(BadInput, match=rf"a {what} .*is named .*: (write '|give it a name)") as raised:
        study(**named)
    assert str(raised.value).isprintable()


def test_any_name_that_can_be_seen_is_one(hostile_names):
    names = [name for name in hostile_names if name and plain(name) == name]
    made = [study(name=name, variants=[Variant("a"), *map(Variant, names)]) for name in names]
    assert len(made) > 60
    assert all(each.variant(name).name == name for each in made for name in names)


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


def test_a_table_is_read_line_by_line_and_a_ragged_one_refused():
    assert table(("x", "y"), {"a": (1.5, 2), "b": (3, 4)}) == {
        ("a", "x"): 1.5, ("a", "y"): 2, ("b", "x"): 3, ("b", "y"): 4,
    }  # fmt: skip
    for ragged in ((1,), (1, 2, 3)):
        with pytest.raises(ValueError, match="zip"):
            table(("x", "y"), {"a": (1, 2), "b": ragged})


def test_the_other_tables_as_they_are_printed():
    printed = {
        "nsp": {
            "BERT": (84.4, 88.4, 86.7, 92.7, 88.5, None),
            "no NSP": (83.9, 84.9, 86.5, 92.6, 87.9, None),
            "LTR & no NSP": (82.1, 84.3, 77.5, 92.1, 77.8, None),
            "LTR & no NSP + BiLSTM": (82.1, 84.1, 75.7, 91.6, 84.9, None),
        },
        "formats": {
            "segment pair": (90.4, 78.7, 84.0, 92.9),
            "sentence pair": (88.7, 76.2, 82.9, 92.1),
            "full sentences": (90.4, 79.1, 84.7, 92.5),
            "doc sentences": (90.6, 79.7, 84.7, 92.7),
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
            "subword tokens": (83.8, 86.7, 92.5),
            "whole words": (84.3, 86.3, 92.8),
            "geometric spans": (85.4, 87.0, 93.3),
        },
        "span-boundary": {
            "two segments + NSP": (85.4, 87.0, 93.3),
            "single sequence": (86.7, 87.3, 93.8),
            "single sequence + SBO": (86.8, 87.6, 93.9),
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
            figures = (table.figure(better, claim.on, claim.at), table.figure(worse, claim.on, claim.before))
            if None not in figures:
                apart = (figures[0] - figures[1]) * (-1 if "perplexity" in claim.on else 1)
                assert apart > 0 if claim.within is None else abs(apart) < claim.within, claim


def test_a_claim_may_compare_a_variant_at_two_milestones():
    claim = Claim("x", better="a", on="MNLI", since=50)
    assert (claim.pairs, claim.at, claim.before) == ((("a", "a"),), 100, 50)
    plain = Claim("x", better="a", worse="b", on="MNLI", at=20)
    assert (plain.pairs, plain.at, plain.before) == ((("a", "b"),), 20, 20)


def test_the_baseline_of_five_studies_is_one_pre_training():
    """At scale paper, RoBERTa's own inputs and the cased text of Table 7 set two of them apart."""
    tables = [studies.find(name) for name in ("masking", "nsp", "size", "formats", "features")]
    for scale in scales.SCALES.values():
        ids = [
            identity("pretrain", recipe=each.recipe(each.variant(each.baseline), scale.following(each.at_paper).recipe))
            for each in tables
        ]
        assert [ids.index(each) for each in ids] == ([0, 0, 0, 3, 4] if scale.name == "paper" else [0] * 5)


@pytest.mark.parametrize(
    ("size", "layers", "heads", "hidden", "embedding_size"),
    [
        (Size(layers=1 / 4), 1, 2, 128, 0),
        (Size(layers=1 / 2, heads=1 / 4), 2, 1, 128, 0),
        (Size(width=4 / 3), 4, 3, 192, 0),
        (Size(layers=2, width=4 / 3), 8, 3, 192, 0),
        (Size(embeddings=1 / 6), 4, 2, 128, 21),
        (Size(width=4 / 3, embeddings=1 / 6), 4, 3, 192, 32),
        (Size(embeddings=0.001), 4, 2, 128, 1),
    ],
)
def test_sizes_keep_the_size_of_a_head_and_have_at_least_one(size, layers, heads, hidden, embedding_size):
    model = size.of(Model(layers=4, hidden=128, heads=2))
    assert (model.layers, model.heads, model.hidden, model.embedding_size) == (layers, heads, hidden, embedding_size)


def test_the_width_of_embeddings_is_set_by_a_study_that_varies_it_and_free_in_others():
    assert {"model.embedding_size", "model.sharing"} <= studies.find("sharing").fixed()
    assert not {"model.embedding_size", "model.sharing"} & studies.find("size").fixed()


def test_embeddings_are_multiples_of_those_that_are_set():
    model = Model(layers=4, hidden=128, heads=2, embedding_size=32)
    assert Size(embeddings=1 / 4).of(model).embedding_size == 8
    assert Size(layers=2).of(model).embedding_size == 32


def test_groups_that_go_together_are_set_together():
    objective = (MaskedLM(),)
    table = study(variants=[Variant("a"), Variant("b", inputs=Inputs(format="full-sentences"), objective=objective)])
    assert table.recipe(table.variants[1], Recipe()) == Recipe(
        inputs=Inputs(format="full-sentences"), objective=objective
    )


def test_a_variant_takes_only_the_fields_that_vary():
    scale = dataclasses.replace(
        Recipe(), objective=(MaskedLM(mask_prob=0.3, schedule="static"), NextSentence()), inputs=Inputs(length=64)
    )
    recipe = studies.find("masking").recipe(
        Variant("x", objective=(MaskedLM(corruption=Corruption(mask=1.0, keep=0.0, random=0.0)), NextSentence())), scale
    )
    masked = MaskedLM(mask_prob=0.3, schedule="static", corruption=Corruption(mask=1.0, keep=0.0, random=0.0))
    assert recipe.objective == (masked, NextSentence())
    assert recipe.inputs.length == 64


def test_a_variant_may_go_back_to_the_default_of_a_field_that_others_change():
    variants = [Variant("a", model=Model(layers=12)), Variant("b", model=Model(layers=2))]
    scale = Recipe(model=Model(layers=4, hidden=128, heads=2))
    made = study(variants=variants)
    assert [made.recipe(variant, scale).model.layers for variant in variants] == [12, 2]
    assert {made.recipe(variant, scale).model.hidden for variant in variants} == {128}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "A"}, "did you mean 'a'"),
        ({"variants": []}, "no variants"),
        ({"measurements": []}, "no measurements"),
        ({"variants": [Variant("a"), Variant("a")]}, "two variants named 'a'"),
        ({"published": {("a", "MNL"): 1.0}}, "did you mean 'MNLI'"),
        ({"published": {("c", "MNLI"): 1.0}}, "unknown variant"),
        ({"claims": [Claim("x", better="a", worse="z", on="MNLI")]}, "in a claim"),
        ({"claims": [Claim("x", better="a", worse="b", on="NER")]}, "in a claim"),
        (
            {"at_paper": {"inputs.short_seq_prb": "0"}},
            "at_paper of study 'mine': .* did you mean 'inputs.short_seq_prob'",
        ),
        ({"published": {("a", "MNLI", 3): 1.0}}, "published of .* names 3 % .* measured at 100 %"),
        ({"claims": [Claim("x", better="a", worse="b", on="MNLI", at=20)]}, "names 20 % of the steps"),
        ({"claims": [Claim("x", better="a", on="MNLI", since=50)]}, "names 50 % of the steps"),
        ({"claims": [Claim("x", better="a", on="MNLI", since=100)]}, "since replaces worse and rising"),
        (
            {"variants": [Variant("a"), Variant("b", adaptation=FineTuning(bilstm=True))], "measurements": [FEATURES]},
            "variant 'b' has the adaptation finetune and measurement 'NER' features: give one of the two",
        ),
    ],
)
def test_a_wrong_study_says_what_to_do(changes, message):
    with pytest.raises(BadInput, match=message):
        study(**changes)


def test_a_users_file_is_found_by_its_path(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "from bertlab import *\n"
        "study = Study(name='own', question='?', source='me', baseline='a',"
        " variants=[Variant('a'), Variant('b', schedule=Schedule(warmup=0.5))],"
        " measurements=[Measurement('m', task='mnli')])\n"
    )
    found = studies.find(str(path))
    assert found.recipe(found.variant("b"), Recipe()).schedule == Schedule(warmup=0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n1 / 0", r"raises ZeroDivisionError: .* \(line 2\)"),
        ("x = 1", "has no study"),
        ("study = 3", "has no study"),
        ("def f(:", "raises SyntaxError"),
        ("from bertlab import Corruption\nCorruption(mask=0.5)", "add up to 1"),
    ],
)
def test_a_file_that_is_no_study_says_so(tmp_path, text, message):
    path = tmp_path / "own.py"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        studies.find(str(path))


def test_a_study_file_without_its_suffix_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rate.py").write_text("x = 1")
    with pytest.raises(BadInput, match=r"unknown study 'rate'.* rate\.py"):
        studies.find("rate")


def test_unknown_names_have_the_nearest():
    with pytest.raises(BadInput, match="did you mean 'masking'"):
        studies.find("maskin")
    with pytest.raises(BadInput, match="does not exist"):
        studies.find("nowhere/own.py")
    with pytest.raises(BadInput, match="did you mean 'tiny'"):
        scales.find("tinny")
    with pytest.raises(BadInput, match="did you mean '80/10/10'"):
        studies.find("masking").variant("80/10/1")


def test_set_reaches_recipe_and_measurements():
    scale = scales.find("tiny").set(["schedule.steps=7", "finetune.peak_lr=1e-3", "features.epochs=2"])
    assert (scale.recipe.schedule.steps, scale.finetune.peak_lr, scale.features.epochs) == (7, 1e-3, 2.0)
    together = ["inputs.format=full-sentences", "objective=causal_lm"]
    assert scale.set(together) == scale.set(together[::-1])
    assert scale.set(["schedule.steps=1", "schedule.steps=2"]).recipe.schedule.steps == 2
    for wrong, message in (
        ("objective=causal_lm,next_sentence", "leave it out"),
        ("finetune=1", "unknown field 'finetune'"),
        ("schedule=1", "field 'schedule' is a group"),
        ("features.batch_size=much", "features.batch_size is 'much'"),
        ("finetune.lr=1", "did you mean"),
        ("seed=3", "use --seeds"),
        ("schedule.steps", "write FIELD=VALUE"),
        ("finetune.batch_size=-1", "give 1 to"),
    ):
        with pytest.raises(BadInput, match=message):
            scale.set([wrong])


def test_the_papers_scale_is_the_papers():
    paper = scales.find("paper").recipe
    assert (paper.schedule.batch_size, paper.schedule.steps, paper.schedule.peak_lr) == (256, 1_000_000, 1e-4)
    assert round(paper.schedule.warmup * paper.schedule.steps) == 10_000
    assert (paper.inputs.length, paper.inputs.phase2_length, paper.inputs.phase2_share) == (128, 512, 0.1)
    assert (paper.model.layers, paper.model.hidden, paper.model.heads) == (12, 768, 12)
    assert (paper.model.positions, paper.model.init_std, paper.model.dropout) == ("learned", 0.02, 0.1)
    assert (paper.optimizer.beta1, paper.optimizer.beta2, paper.optimizer.weight_decay) == (0.9, 0.999, 0.01)


def test_nothing_is_left_beside_a_file_that_is_read(tmp_path, monkeypatch):
    """Whether or not Python writes bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    path.write_bytes(shipped.path("masking").read_bytes())
    assert studies.find(str(path)).name == "masking"
    assert list(tmp_path.iterdir()) == [path]
    assert not sys.dont_write_bytecode


def test_a_measurement_of_an_unknown_split_is_refused():
    with pytest.raises(BadInput, match=r"measurement 'NER': split is 'dev': choose from evaluation, test"):
        Measurement("NER", task="conll2003", split="dev")


def test_a_measurement_without_a_task_names_a_held_out_figure():
    with pytest.raises(BadInput, match="measurement 'x' has neither task nor metric: give one of the two"):
        Measurement("x")
    with pytest.raises(BadInput, match="measurement 'x' has milestones but no task"):
        Measurement("x", metric="accuracy", milestones=(50, 100))
    study(measurements=[Measurement("x", metric="accuracy")])
    assert Measurement("x", task="mnli") == Measurement("x", task="mnli", metric="accuracy")


def test_a_metric_that_is_given_is_that_of_the_same_study_where_it_is_usual(machine):
    """Stores know a study by its definition, in which the usual metric is left out."""
    definitions = [
        records(plan.make(plan.Request(studies=(study(measurements=[each]),), scale=scales.find("smoke")), machine))
        for each in (COLUMN, Measurement("MNLI", task="mnli", metric="accuracy"))
    ]
    one, two = ([record["definition"] for record in found.values()] for found in definitions)
    assert one == two
    assert one[0]["measurements"] == {"MNLI": {"name": "MNLI", "task": "mnli"}}
