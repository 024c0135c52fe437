"""Studies: variants as frozen differences, with their checks; and finding studies."""

import dataclasses
import sys

import pytest

from bertlab.adaptation import Features, FineTuning
from bertlab.errors import BadInput
from bertlab.lab import builtin_studies, plan, scales, studies
from bertlab.lab.record import records
from bertlab.lab.study import Claim, Measurement, PublishedTable, RelativeSchedule, Study, Variant, table
from bertlab.names import plain
from bertlab.objectives import CausalLM, Corruption, MaskedLM, NextSentence
from bertlab.recipe import LSTM, BiLSTM, Inputs, Model, ModernBert, Recipe, Schedule, Size, cost

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
    assert all(named_study.variant(name).name == name for named_study in made for name in names)


def test_a_table_is_read_line_by_line_and_a_ragged_one_refused():
    assert table(("x", "y"), {"a": (1.5, 2), "b": (3, 4)}) == {
        ("a", "x"): 1.5, ("a", "y"): 2, ("b", "x"): 3, ("b", "y"): 4,
    }  # fmt: skip
    for ragged in ((1,), (1, 2, 3)):
        with pytest.raises(ValueError, match="zip"):
            table(("x", "y"), {"a": (1, 2), "b": ragged})


def test_a_claim_may_compare_a_variant_at_two_milestones():
    claim = Claim("x", better="a", on="MNLI", since=50)
    assert (claim.pairs, claim.at, claim.before) == ((("a", "a"),), 100, 50)
    plain = Claim("x", better="a", worse="b", on="MNLI", at=20)
    assert (plain.pairs, plain.at, plain.before) == ((("a", "b"),), 20, 20)


def test_a_figure_before_the_end_is_not_the_one_at_the_end():
    column = Measurement("MNLI", task="mnli", milestones=(50, 100))
    made = study(measurements=[column], published={("a", "MNLI"): 84.0, ("b", "MNLI", 50): 80.0})
    assert (made.figure("a", "MNLI"), made.figure("a", "MNLI", 50)) == (84.0, None)
    assert (made.figure("b", "MNLI"), made.figure("b", "MNLI", 50)) == (None, 80.0)


def test_a_variant_goes_before_the_measurement_in_the_fields_that_vary():
    rates = [Variant(name, adaptation=FineTuning(peak_lr=rate)) for name, rate in (("a", 2e-3), ("b", 3e-3))]
    column = Measurement("MNLI", task="mnli", adaptation=FineTuning(peak_lr=1e-3, dropout=0.3))
    made = study(variants=rates, measurements=[column])
    scale = scales.find("smoke")
    found = [made.adaptation(variant, column, scale, "classification", "mnli") for variant in made.variants]
    assert [(setting.peak_lr, setting.dropout) for setting in found] == [(2e-3, 0.3), (3e-3, 0.3)]


def test_multiples_of_a_rate_are_the_rate_that_is_written():
    made = RelativeSchedule(batch_size=1 / 8, steps=3, peak_lr=3).of(Schedule(batch_size=4, steps=7, peak_lr=1e-4))
    assert (made.batch_size, made.steps, made.peak_lr) == (1, 21, 3e-4)


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
    model = Model(layers=4, hidden=128, heads=2).scaled(size)
    assert (model.layers, model.heads, model.hidden, model.embedding_size) == (layers, heads, hidden, embedding_size)


def test_the_width_of_embeddings_is_set_by_a_study_that_varies_it_and_free_in_others():
    assert {"model.embedding_size", "model.sharing"} <= studies.find("sharing").fixed()
    assert not {"model.embedding_size", "model.sharing"} & studies.find("size").fixed()


def test_embeddings_are_multiples_of_those_that_are_set():
    model = Model(layers=4, hidden=128, heads=2, embedding_size=32)
    assert model.scaled(Size(embeddings=1 / 4)).embedding_size == 8
    assert model.scaled(Size(layers=2)).embedding_size == 32


def test_a_feed_forward_width_that_is_set_grows_with_the_model():
    """As four times the width does, which is the default."""
    model = Model(layers=4, hidden=128, heads=2, intermediate=256)
    assert model.scaled(Size(width=1.5)).intermediate == 384
    assert model.scaled(Size(layers=2, heads=2)).intermediate == 256
    assert Model(hidden=128, heads=128, intermediate=1).scaled(Size(width=1 / 128)).intermediate == 1
    assert Model(hidden=128, heads=2).scaled(Size(width=2)).intermediate == 0, "four times the width"


def test_a_variant_of_another_encoder_has_the_size_of_the_scale():
    variants = [Variant("a"), Variant("b", model=ModernBert(window=16)), Variant("c", model=ModernBert())]
    made = study(variants=variants)
    scale = Recipe(model=Model(layers=4, hidden=128, heads=2, positions="rotary", dropout=0.0))
    shape = {"layers": 4, "hidden": 128, "heads": 2, "dropout": 0.0}
    found = [made.recipe(variant, scale).model for variant in variants]
    assert found == [scale.model, ModernBert(**shape, window=16), ModernBert(**shape)]
    assert made.varied == {"model", "model.window"}
    twice = dataclasses.replace(variants[1], size=Size(layers=2, width=2))
    assert made.recipe(twice, scale).model == ModernBert(**shape | {"layers": 8, "hidden": 256, "heads": 4}, window=16)
    narrow = dataclasses.replace(variants[1], size=Size(embeddings=1 / 6))
    with pytest.raises(BadInput, match=r"unknown field 'model\.embedding_size'"):
        made.recipe(narrow, scale)


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


def test_no_backbone_gets_a_default_because_another_one_has_or_sets_that_field():
    """BiLSTM has two layers of its own, where BERT has twelve; a third variant is wide. The others have the scale's."""
    variants = [
        Variant("scale"),
        Variant("ELMo", model=BiLSTM()),
        Variant("rotary", model=Model(positions="rotary")),
        Variant("ModernBERT", model=ModernBert()),
        Variant("narrow", model=ModernBert(hidden=96)),
        Variant("LSTM", model=LSTM(embedding_size=32), objective=(CausalLM(),)),
    ]
    scale = Recipe(model=Model(layers=4, hidden=128, heads=2, dropout=0.0))
    table = study(variants=variants, baseline="scale")
    models = {variant.name: table.recipe(variant, scale).model for variant in variants}
    shape = {"layers": 4, "hidden": 128, "heads": 2, "dropout": 0.0}
    assert models["rotary"] == Model(**shape, positions="rotary")
    assert (models["ELMo"].layers, models["ELMo"].hidden, models["ELMo"].dropout) == (2, 128, 0.0)
    assert models["LSTM"] == LSTM(layers=4, hidden=128, dropout=0.0, embedding_size=32)
    assert models["narrow"] == ModernBert(**shape | {"hidden": 96})
    assert models["ModernBERT"].hidden == 768, "in absolute sizes, as its own kind varies them"
    assert models["ModernBERT"].layers == 4
    assert {"model", "model.layers", "model.hidden", "model.positions", "model.embedding_size"} == {
        path for path in table.varied if path.startswith("model")
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"baseline": "A"}, "did you mean 'a'"),
        ({"name": "all"}, "stands for all studies"),
        ({"variants": [Variant("a"), Variant("no pre-training")]}, "as --random-init adds one"),
        ({"variants": []}, "no variants"),
        ({"measurements": []}, "no measurements"),
        ({"variants": [Variant("a"), Variant("a")]}, "two variants are named 'a'"),
        ({"published": {("a", "MNL"): 1.0}}, "did you mean 'MNLI'"),
        ({"published": {("c", "MNLI"): 1.0}}, "published: unknown variant 'c'"),
        ({"measurements": [Measurement("X", task="mnlii")]}, "study 'mine': measurement 'X': unknown task 'mnlii'"),
        (
            {"measurements": [Measurement("X", metric="acuracy")]},
            "measurement 'X': it has no task: give task= too",
        ),
        ({"claims": [Claim("x", better="a", worse="z", on="MNLI")]}, "claim 'x': unknown variant 'z'"),
        ({"claims": [Claim("x", better="a", worse="b", on="NER")]}, "claim 'x': unknown measurement 'NER'"),
        (
            {"at_paper": {"inputs.short_seq_prb": "0"}},
            "study 'mine': at_paper: .* did you mean 'inputs.short_seq_prob'",
        ),
        ({"at_scale": {"micro": {"model.layer": "6"}}}, "at_scale: .* did you mean 'model.layers'"),
        ({"at_scale": {"paper": {"model.layers": "6"}}}, "at_scale: it names scale paper: give at_paper"),
        ({"published": {("a", "MNLI", 3): 1.0}}, "published: it names 3 % .* measured at 100 %"),
        ({"claims": [Claim("x", better="a", worse=("b", "a"), on="MNLI")]}, "compares 'a' with itself: name another"),
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
        ("raise ValueError", r"raises ValueError \(line 1\); correct it"),
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
        ("tasks.span.epochs=7", "no task, write span.epochs=7"),
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


@pytest.mark.parametrize("name", ["base", "paper"])
def test_learned_positions_are_trained_as_far_as_tasks_read(name):
    scale = scales.find(name)
    settings = [scale.finetune, scale.tagging, scale.span, scale.features]
    read = [setting.length for setting in settings] + [setting.get("length", 0) for setting in scale.tasks.values()]
    assert scale.recipe.model.positions == "learned"
    assert cost.phases(scale.recipe)[-1][0] >= max(read) >= 384


def test_nothing_is_left_beside_a_file_that_is_read(tmp_path, monkeypatch):
    """Whether or not Python writes bytecode."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "mine.py"
    path.write_bytes(builtin_studies.path("masking").read_bytes())
    assert studies.find(str(path)).name == "masking"
    assert list(tmp_path.iterdir()) == [path]
    assert not sys.dont_write_bytecode


def test_a_measurement_of_an_unknown_split_is_refused():
    with pytest.raises(BadInput, match=r"measurement 'NER': split is 'dev': choose from evaluation, test"):
        Measurement("NER", task="conll2003", split="dev")


def test_a_measurement_without_a_task_names_a_held_out_figure():
    with pytest.raises(BadInput, match="measurement 'x' has neither task nor metric: give one of the two"):
        Measurement("x")
    study(measurements=[Measurement("x", metric="accuracy")])
    assert Measurement("x", task="mnli") == Measurement("x", task="mnli", metric="accuracy")


def test_a_metric_that_is_given_is_that_of_the_same_study_where_it_is_usual(machine):
    """Stores know a study by its definition, in which the usual metric is left out."""
    definitions = [
        records(
            plan.make(plan.Request(studies=(study(measurements=[measurement]),), scale=scales.find("smoke")), machine)
        )
        for measurement in (COLUMN, Measurement("MNLI", task="mnli", metric="accuracy"))
    ]
    one, two = ([record.definition for record in found.values()] for found in definitions)
    assert one == two
    assert one[0].measurements == {"MNLI": {"name": "MNLI", "task": "mnli"}}


def test_all_stands_beside_other_studies_and_a_name_for_one(tmp_path):
    own = tmp_path / "own.py"
    own.write_text(builtin_studies.path("dropout").read_text())
    renamed = own.with_name("renamed.py")
    renamed.write_text(own.read_text().replace('name="dropout"', 'name="mine"'))
    assert [named_study.name for named_study in studies.chosen(["all", str(renamed)])] == [*studies.names(), "mine"]
    for given in (["dropout", str(own)], ["all", str(own)]):
        with pytest.raises(BadInput, match="two studies are named 'dropout'"):
            studies.chosen(given)
    with pytest.raises(BadInput, match="no study is given"):
        studies.chosen([])
    with pytest.raises(BadInput, match="unknown study 'nonsense'"):
        studies.chosen(["all", "nonsense"])


@pytest.mark.parametrize("scale", ["smoke", "micro", "paper"])
def test_equal_flops_give_steps_that_follow_from_the_recipes_alone(scale):
    variants = [
        Variant("a"),
        Variant("small", size=Size(layers=0.5), relative=RelativeSchedule(equal_flops=True)),
        Variant("wide", size=Size(width=2), relative=RelativeSchedule(equal_flops=True, batch_size=0.5)),
        Variant("left to right", objective=(CausalLM(),), relative=RelativeSchedule(equal_flops=True)),
    ]
    mine, base = study(variants=variants), scales.find(scale).recipe
    recipes = {variant.name: mine.recipe(variant, base) for variant in variants}
    budget = cost.flops(recipes["a"])
    for recipe in recipes.values():
        # a step more or less; a second phase has whole steps too
        assert cost.flops(recipe) == pytest.approx(budget, rel=2 / recipe.schedule.steps)
    assert recipes["small"].schedule.steps > recipes["a"].schedule.steps > recipes["left to right"].schedule.steps
    untrained = mine.recipe(variants[1], dataclasses.replace(base, schedule=Schedule(steps=0)))
    assert untrained.schedule.steps == 0


def test_equal_flops_replace_other_ways_to_give_the_steps():
    for fields in ({"equal_time": True}, {"steps": 2.0}):
        with pytest.raises(BadInput, match=r"relative.equal_flops gives the steps, as steps and equal_time do"):
            RelativeSchedule(equal_flops=True, **fields)
    with pytest.raises(BadInput, match=r"relative.equal_flops compares with the baseline itself"):
        study(variants=[Variant("a", relative=RelativeSchedule(equal_flops=True)), Variant("b", size=Size(layers=2))])


def test_a_table_of_other_models_has_a_value_in_each_column():
    with pytest.raises(BadInput, match="related table 'T': row 'theirs' has 1 value for 2 columns"):
        PublishedTable("T", source="?", columns=("A", "B"), rows={"theirs": (1.0,)})
