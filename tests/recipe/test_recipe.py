"""Identity of recipes: what changes it, what does not, reading it back; and their cost, against the published sizes."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.inputs.formats import FullSentences
from bertlab.lab import scales, studies
from bertlab.objectives import (
    CausalLM,
    Corruption,
    MaskedLM,
    NextSentence,
    ReplacedTokens,
    SampledLM,
    SpanBoundary,
    TokenGenerator,
    selection,
)
from bertlab.optimizers import LAMB, Adafactor, AdamW, Muon
from bertlab.recipe import BackboneConfig, Inputs, Loss, Model, ModernBert, Recipe, Schedule, cost
from bertlab.recipe import identity as ids
from bertlab.recipe.backbones.bert import Sharing
from bertlab.recipe.identity import (
    canonical,
    field_paths,
    flatten,
    flatten_json,
    identity,
    load,
    set_fields,
    to_canonical,
)
from bertlab.recipe.objective import bert, pairing
from bertlab.recipe.ranges import arms, hints
from bertlab.recipe.schedules import Curve
from bertlab.text.tokenizers import ByteLevelBPE, Unigram, WordPiece

OTHER = {
    bool: lambda value: not value,
    int: lambda value: value + 8,
    float: lambda value: value / 2 if value else 0.25,
    str: lambda value: value + "x",
}


MODERN = {f"model.{name}" for name in hints(recipe.ModernBert).keys() - hints(recipe.Model).keys()}
"""Fields that only ModernBERT has."""
OF_T5 = {f"model.{name}" for name in hints(recipe.T5).keys() - hints(recipe.Model).keys()}
"""Fields that only T5 has."""
SINGLE = recipe.Inputs(format=FullSentences())


def base(path: str) -> Recipe:
    """The default recipe, with the model, tokenizer, selection, loss, optimiser or curve that has the field."""
    if path == "tokenizer.add_prefix_space":
        return Recipe(tokenizer=ByteLevelBPE())
    if path == "tokenizer.keep_accents":
        return Recipe(tokenizer=Unigram())
    if path in MODERN:
        return Recipe(model=recipe.ModernBert())
    if path in OF_T5:
        return Recipe(model=recipe.T5())
    if path in ("model.cells", "model.embeddings"):
        return Recipe(model=recipe.BiLSTM(cells=1024))
    if path == "optimizer.momentum":
        return Recipe(optimizer=Muon())
    if path in ("optimizer.decay", "optimizer.min_scale"):
        return Recipe(optimizer=Adafactor())
    if path.startswith("schedule.curve."):
        curve = next(curve for curve in arms(Curve).values() if path.rpartition(".")[2] in hints(curve))
        return Recipe(schedule=Schedule(curve=curve()))
    spans = (selection.GeometricSpans(), selection.RandomSpans())
    chosen = next((chosen for chosen in spans if hasattr(chosen, path.rpartition(".")[2])), selection.Tokens())
    if path.startswith("masked_lm.selection."):
        return Recipe(objective=(MaskedLM(selection=chosen),))
    if path.startswith("span_corruption.selection."):
        return of_t5(path, selection=chosen)
    if path.startswith(("span_corruption.", "prefix_lm.", "deshuffling.")):
        return of_t5(path, **{"shown": "mask"} if path.endswith(".random") else {})
    if path.startswith("multitask"):
        mixed = recipe.MultiTask(tasks=(recipe.TaskSource(name="cola-text"),), mixing=recipe.Temperature(limit=100))
        return dataclasses.replace(of_t5("span_corruption"), multitask=mixed, inputs=SINGLE)
    if path.startswith(("generator.", "replaced_tokens.", "sampled_lm.")):
        reader = SampledLM() if path.startswith("sampled_lm.") else ReplacedTokens()
        return Recipe(objective=(TokenGenerator(selection=chosen, width=1.0), reader), inputs=SINGLE)
    return Recipe(objective=(MaskedLM(), SpanBoundary())) if path.startswith("span_boundary.") else Recipe()


def of_t5(path: str, **fields: Any) -> Recipe:
    """A recipe of T5 with the loss that has the field; only a decoder predicts its inputs too."""
    loss = arms(Loss)[path.partition(".")[0]](**fields)
    model = recipe.T5(structure="decoder" if path.endswith(".over_inputs") else "encoder-decoder")
    return Recipe(objective=(loss,), model=model, tokenizer=WordPiece(sentinels=100))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Words(recipe.Tokenizer):
    """Another tokenizer."""

    kind: ClassVar[str] = "words"

    def train(self, texts: Iterable[str]) -> None:
        """Not called: the recipe alone is tested."""

    def load(self, path: Path) -> None:
        """Not called."""


def changed(path: str) -> Recipe:
    """The base recipe with another value in one field."""
    if path == "tokenizer":
        return Recipe(tokenizer=Words())
    if path == "model":
        return Recipe(model=recipe.ModernBert())
    if path == "optimizer":
        return Recipe(optimizer=LAMB())
    if path == "objective":
        return Recipe(objective=(MaskedLM(),))
    if path == "inputs.format":
        return set_fields(Recipe(), {path: "sentence-pair"})
    if path in ("masked_lm.selection", "generator.selection", "span_corruption.selection"):
        return set_fields(base(path), {path: "whole_words"})
    if path == "schedule.curve":
        return set_fields(Recipe(), {path: "cosine"})
    if path == "multitask.mixing":
        return set_fields(base(path), {path: "proportional"})
    value = base(path)
    *groups, name = path.split(".")
    for group in groups:
        value = (
            next((each for each in value.objective if each.kind == group), None) or getattr(value, group)
            if isinstance(value, Recipe)
            else getattr(value, group)
        )
    current = getattr(value, name)
    hint = hints(type(value))[name][0]
    if path == "tokenizer.given":
        return set_fields(Recipe(), {path: "sha256:" + 64 * "0"})
    literal = (choice for choice in getattr(hint, "__args__", ()) if choice != current)
    new = OTHER[hint](current) if hint in OTHER else next(literal)
    return set_fields(base(path), {path: str(new).lower() if hint is bool else str(new)})


# Shares that must add up are changed together, and left to right is without next sentence.
TOGETHER = {
    *(f"{loss}.corruption.{name}" for loss in ("masked_lm", "generator") for name in ("mask", "keep", "random")),
    *(f"{loss}.share" for loss in ("masked_lm", "causal_lm", "bidirectional_lm", "generator")),
}


ELSEWHERE = {kind for kind, loss in arms(Loss).items() if not loss.__module__.startswith("bertlab.")}
OF_PACKAGE = [path for path in field_paths(Recipe) if path.partition(".")[0] not in ELSEWHERE]
"""Fields of the package's arms, without those of losses that other tests define."""


@pytest.mark.parametrize("path", sorted({*OF_PACKAGE} - TOGETHER))
def test_any_field_of_the_science_changes_the_id(path):
    if path == "model.heads":
        other = dataclasses.replace(Recipe(), model=recipe.Model(heads=6))
    elif path == "model.segments":
        other = dataclasses.replace(Recipe(), model=recipe.Model(segments=1))
    elif path == "model.hidden":
        other = dataclasses.replace(Recipe(), model=recipe.Model(hidden=1536))
    else:
        other = changed(path)
    assert identity("pretrain", recipe=other) != identity("pretrain", recipe=base(path))


def test_losses_go_with_the_inputs_and_with_each_other():
    single = recipe.Inputs(format="full-sentences")
    made = [
        Recipe(objective=(MaskedLM(),)),
        Recipe(objective=(CausalLM(),)),
        Recipe(objective=(MaskedLM(),), inputs=single),
    ]
    assert len({identity("pretrain", recipe=each) for each in [Recipe(), *made]}) == 4
    assert Recipe(inputs=recipe.Inputs(format="sentence-pair")).objective == (MaskedLM(), NextSentence())
    with pytest.raises(BadInput, match=r"next_sentence reads .*causal_lm"):
        Recipe(objective=(CausalLM(), NextSentence()))
    with pytest.raises(BadInput, match="masked_lm and causal_lm see one side"):
        Recipe(objective=(MaskedLM(), CausalLM()))
    with pytest.raises(BadInput, match=r"doc-sentences has one segment: .*objective=masked_lm"):
        Recipe(inputs=recipe.Inputs(format="doc-sentences"))
    with pytest.raises(BadInput, match="objective is empty"):
        Recipe(objective=())
    assert [each.causal for each in made] == [False, True, False]


def test_a_format_without_fields_is_its_name():
    name = "full-sentences"
    made = Recipe(objective=(MaskedLM(),), inputs=recipe.Inputs(format=FullSentences()))
    assert recipe.Inputs(format=name) == made.inputs == load(recipe.Inputs, {"format": name})
    assert to_canonical(made, whole=True)["inputs"]["format"] == to_canonical(made)["inputs"]["format"] == name
    assert load(Recipe, to_canonical(made)) == made
    for wrong, message in (
        ("full-sentence", "did you mean 'full-sentences'"),
        ("x", "choose from chunks, doc-sentences, full"),
    ):
        with pytest.raises(BadInput, match=rf"inputs\.format '{wrong}': {message}"):
            recipe.Inputs(format=wrong)


def test_what_is_not_trained_is_its_vocabulary_shape_and_seed_alone():
    untrained = [
        Recipe(),
        Recipe(objective=(MaskedLM(mask_prob=0.4, schedule="static"),), inputs=recipe.Inputs(epochs=40)),
        Recipe(optimizer=AdamW(beta1=0.5), inputs=recipe.Inputs(format="sentence-pair")),
    ]
    steps = [
        dataclasses.replace(each, schedule=Schedule(steps=0, batch_size=8 + n)) for n, each in enumerate(untrained)
    ]
    assert {canonical(each) for each in steps} == {'{"objective":[{"kind":"masked_lm"}],"schedule":{"steps":0}}'}
    assert len({canonical(each) for each in untrained}) == 3
    for other in (
        dataclasses.replace(steps[0], seed=1),
        dataclasses.replace(steps[0], objective=(CausalLM(),)),
        dataclasses.replace(steps[0], inputs=recipe.Inputs(length=256)),
        dataclasses.replace(steps[0], inputs=recipe.Inputs(phase2_length=512, phase2_share=0.1)),
        dataclasses.replace(steps[0], model=recipe.Model(layers=2)),
        dataclasses.replace(steps[0], tokenizer=WordPiece(vocabulary=100)),
    ):
        assert canonical(other) != canonical(steps[0])


def test_as_many_corpora_as_there_are_are_all_of_them():
    two = recipe.Corpus(sources=tuple(recipe.Source(name=name, content=f"sha256:{name}") for name in "ab"))
    ids_of = [
        identity("pretrain", recipe=Recipe(corpus=two, inputs=recipe.Inputs(corpora=corpora))) for corpora in range(4)
    ]
    assert ids_of[0] == ids_of[2]
    assert len(set(ids_of)) == 3


def test_only_formats_that_draw_have_copies():
    formats = ("segment-pair", "sentence-pair", "full-sentences", "doc-sentences")
    assert [recipe.Inputs(format=each, dupe_factor=7).copies for each in formats] == [7, 7, 1, 1]


def test_losses_may_name_the_same_pairs_each():
    equal = [SimpleNamespace(kind=kind, pairing=recipe.Pairing(random=0.25)) for kind in "ab"]
    assert pairing(equal) == recipe.Pairing(random=0.25)
    with pytest.raises(BadInput, match="a and c need different pairs of segments"):
        pairing([*equal, SimpleNamespace(kind="c", pairing=recipe.Pairing())])


def test_masking_shares_change_the_id():
    mixtures = [(0.8, 0.1, 0.1), (1.0, 0.0, 0.0), (0.8, 0.0, 0.2), (0.8, 0.2, 0.0), (0.0, 0.2, 0.8), (0.0, 0.0, 1.0)]
    ids = {
        identity(
            "pretrain",
            recipe=Recipe(objective=(MaskedLM(corruption=Corruption(mask=m, keep=k, random=r)), NextSentence())),
        )
        for m, k, r in mixtures
    }
    assert len(ids) == len(mixtures)


def test_defaults_are_left_out_so_that_new_fields_keep_old_ids():
    assert canonical(Recipe()) == "{}"
    assert canonical(Recipe(schedule=Schedule(steps=10))) == '{"schedule":{"steps":10}}'
    explicit = Recipe(schedule=Schedule(steps=10, batch_size=256, warmup=0.01))
    assert identity("pretrain", recipe=explicit) == identity("pretrain", recipe=Recipe(schedule=Schedule(steps=10)))


def test_what_changes_no_model_changes_no_id():
    """Embeddings as wide as the model have no projection, and a single layer shares with none."""
    assert canonical(Recipe(model=recipe.Model(embedding_size=768))) == "{}"
    alone = recipe.Model(layers=1, sharing="all")
    assert canonical(alone) == canonical(recipe.Model(layers=1))
    assert canonical(recipe.Model(layers=2, sharing="all")) != canonical(recipe.Model(layers=2))


def test_order_and_kind_of_number_do_not_change_the_id():
    assert identity("a", x=1, y=2) == identity("a", y=2, x=1)
    whole, exact = (
        MaskedLM(corruption=Corruption(mask=1, keep=0, random=0)),
        MaskedLM(corruption=Corruption(mask=1.0, keep=0.0, random=0.0)),
    )
    assert identity("a", r=whole) == identity("a", r=exact)


def test_kind_and_science_version_change_the_id(monkeypatch):
    before = identity("pretrain", recipe=Recipe())
    assert identity("finetune", recipe=Recipe()) != before
    monkeypatch.setattr(ids, "SCIENCE_VERSION", ids.SCIENCE_VERSION + 1)
    assert identity("pretrain", recipe=Recipe()) != before


def test_the_id_of_a_known_recipe_is_stable():
    """Frozen: a change here invalidates every store in the world."""
    assert identity("pretrain", recipe=Recipe(seed=3), corpus="c") == "610e9c17488f3ac0"


@given(
    seed=st.integers(0, 10**6),
    steps=st.integers(0, 10**6),
    peak=st.floats(1e-6, 1),
    rotary=st.booleans(),
    sources=st.lists(st.text(min_size=1, max_size=8), max_size=3),
)
def test_a_recipe_survives_json(seed, steps, peak, rotary, sources):
    made = Recipe(
        corpus=recipe.Corpus(sources=tuple(recipe.Source(name=name, content="sha256:0") for name in sources)),
        model=recipe.Model(positions="rotary" if rotary else "learned"),
        schedule=Schedule(steps=steps, peak_lr=peak),
        seed=seed,
    )
    assert load(Recipe, json.loads(json.dumps(to_canonical(made)))) == made.declared


def test_reading_refuses_an_unknown_field():
    with pytest.raises(BadInput, match="did you mean 'steps'"):
        load(Recipe, {"schedule": {"step": 3}})


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("schedule.stepps", "5", "did you mean 'schedule.steps'"),
        ("schedule", "5", "is a group"),
        ("schedule.steps", "many", "give a whole number"),
        ("schedule.steps", "1.5", "give a whole number"),
        ("schedule.steps", "nan", "give a whole number"),
        ("schedule.peak_lr", "inf", "give 1e-12 to 10"),
        ("schedule.steps", "-3", "give 0 to"),
        ("schedule.batch_size", "0", "give 1 to"),
        ("model.positions", "sinusoid", "model.positions is 'sinusoid': choose from learned, rotary"),
        ("model.heads", "7", "multiple of heads"),
        ("model.window", "9", "model.window has no effect: model is bert, not modernbert"),
        ("model.windoww", "9", "unknown field"),
        ("masked_lm.corruption.mask", "0.9", r"masked_lm\.corruption\.mask, keep and random are .* add up to 1"),
        ("masking.mask", "0.9", "unknown field"),
        ("objective", "electra", "unknown value of objective 'electra'"),
        ("objective", "", "objective is empty"),
        ("optimizer.bias_correction", "perhaps", "true or false"),
        ("inputs.length", "1e9", "8 to 8,192"),
        ("steps", "5", "unknown field"),
        ("schedule.steps.more", "5", "unknown field"),
    ],
)
def test_a_wrong_assignment_says_what_to_do(path, text, message):
    with pytest.raises(BadInput, match=message):
        set_fields(Recipe(), {path: text})


def test_assignments_are_read_in_the_type_of_the_field():
    made = set_fields(Recipe(), {"schedule.steps": "1e3", "optimizer.bias_correction": "false"})
    assert made.schedule.steps == 1000
    assert isinstance(made.schedule.steps, int)
    assert made.optimizer.bias_correction is False


@given(st.permutations(["objective", "masked_lm.corruption.mask", "masked_lm.corruption.keep", "inputs.format"]))
def test_values_that_go_together_are_given_in_any_order(paths):
    texts = {
        "objective": "masked_lm",
        "masked_lm.corruption.mask": "0.5",
        "masked_lm.corruption.keep": "0.4",
        "inputs.format": "doc-sentences",
    }
    made = set_fields(Recipe(), {path: texts[path] for path in paths})
    assert made.objective == (MaskedLM(corruption=Corruption(mask=0.5, keep=0.4, random=0.1)),)
    for missing, message in (("objective", "has one segment"), ("masked_lm.corruption.keep", "add up to 1")):
        with pytest.raises(BadInput, match=message):
            set_fields(Recipe(), {path: texts[path] for path in paths if path != missing})


def test_the_rate_rises_linearly_then_falls_linearly_to_nothing():
    schedule = Schedule(steps=100, peak_lr=1.0, warmup=0.1)
    assert [schedule.learning_rate(step) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert schedule.learning_rate(10) == pytest.approx(1.0)
    assert schedule.learning_rate(55) == pytest.approx(0.5)
    assert schedule.learning_rate(99) == pytest.approx(1 / 90)
    assert schedule.learning_rate(100) == 0.0


@given(st.integers(0, 600), st.floats(0.01, 0.9))
def test_the_number_of_predicted_tokens_is_the_papers(ordinary, rate):
    chosen = selection.chosen(rate, ordinary)
    assert chosen == min(ordinary, max(1, math.floor(rate * ordinary + 0.5)))
    if ordinary >= 1:
        assert chosen <= selection.slots(rate, ordinary + 2)


def test_json_has_the_leaves_of_its_recipe():
    made = Recipe(objective=(MaskedLM(mask_prob=0.4, selection=selection.WholeWords()), NextSentence()))
    read = flatten_json(to_canonical(made, whole=True))
    assert [*read] == [*flatten(made)]
    assert read["objective"] == ["masked_lm", "next_sentence"]
    assert read["masked_lm.selection"] == made.objective[0].selection.kind
    assert (read["masked_lm.mask_prob"], read["inputs.format"]) == (0.4, "segment-pair")


BASE = Model()
LARGE = Model(layers=24, hidden=1024, heads=16)


def test_published_sizes() -> None:
    """BERT-base is published with 110 million parameters, BERT-large with 340 million."""
    assert cost.parameters(BASE, 30_522, 512, bert()) == 110_106_428  # BertForPreTraining, counted by transformers
    assert cost.parameters(LARGE, 30_522, 512, bert()) == pytest.approx(336e6, rel=0.003)


@pytest.mark.parametrize(
    "model",
    [
        Model(layers=2, hidden=16, heads=2),
        Model(layers=3, hidden=16, heads=4, positions="rotary"),
        Model(layers=1, hidden=24, heads=2, intermediate=20),
        Model(layers=3, hidden=16, heads=2, embedding_size=6),
        Model(layers=3, hidden=16, heads=2, embedding_size=16),
        Model(layers=3, hidden=16, heads=2, sharing="attention"),
        Model(layers=3, hidden=16, heads=2, sharing="feed-forward", positions="rotary", embedding_size=40),
        Model(layers=3, hidden=16, heads=2, sharing="all", embedding_size=6),
        Model(layers=2, hidden=16, heads=2, norm_position="pre", norm="power"),
        ModernBert(layers=5, hidden=16, heads=2),
        ModernBert(layers=1, hidden=16, heads=2, intermediate=20),
    ],
)
def test_count_is_that_of_the_model(model: BackboneConfig) -> None:
    from bertlab.model.heads import PretrainingModel

    built = PretrainingModel(model, 97, 40, seed=0)
    count = {name: parameter.numel() for name, parameter in built.named_parameters()}
    assert cost.parameters(model, 97, 40, bert()) == sum(count.values())
    relation = sum(number for name, number in count.items() if name.startswith("nsp_head."))
    assert cost.parameters(model, 97, 40, (MaskedLM(),)) == sum(count.values()) - relation


@pytest.mark.parametrize(
    ("embedding_size", "sharing", "millions"),
    [  # ALBERT Tables 3 and 4
        (64, "none", 87), (128, "none", 89), (256, "none", 93), (768, "none", 108),
        (64, "all", 10), (128, "all", 12), (256, "all", 16), (768, "all", 31),
        (768, "attention", 83), (768, "feed-forward", 57), (128, "attention", 64), (128, "feed-forward", 38),
    ],
)  # fmt: skip
def test_sizes_of_factorised_and_shared_models_are_those_that_albert_prints(
    embedding_size: int, sharing: Sharing, millions: int
) -> None:
    """Within the 0.6M of the pooler and the rounding: its 12M include the pooler, its 89M do not."""
    model = Model(embedding_size=embedding_size, sharing=sharing)
    assert cost.parameters(model, 30_000, 512) / 1e6 == pytest.approx(millions, abs=1.0)


def test_operations_are_those_of_the_layers_however_they_share_and_of_the_projections() -> None:
    plain = cost.flops_per_token(Recipe())
    shared = Recipe(model=Model(sharing="all"))
    assert cost.flops_per_token(shared) == plain
    narrow = Recipe(model=Model(embedding_size=128))
    less = 0.15 * (768 * (768 + 30_522) - 128 * (768 + 30_522))
    assert plain - cost.flops_per_token(narrow) == pytest.approx(6 * (less - 128 * 768))


@pytest.mark.parametrize(
    ("model", "length", "expected"),
    [(BASE, 128, 545e6), (BASE, 512, 588e6), (LARGE, 128, 1.879e9), (LARGE, 512, 1.992e9)],
)
def test_operations_a_token(model: Model, length: int, expected: float) -> None:
    recipe = Recipe(model=model, inputs=Inputs(length=length))
    assert cost.flops_per_token(recipe) == pytest.approx(expected, rel=2e-3)


def test_losses_with_the_same_head_have_its_parameters_once() -> None:
    one, both = ((MaskedLM(),), (MaskedLM(), CausalLM()))
    assert cost.parameters(BASE, 30_522, 512, one) == cost.parameters(BASE, 30_522, 512, both)
    assert cost.parameters(BASE, 30_522, 512, one) < cost.parameters(BASE, 30_522, 512, (*one, NextSentence()))


def test_operations_follow_what_is_predicted() -> None:
    recipe = Recipe()
    plain = cost.flops_per_token(recipe)
    without = dataclasses.replace(recipe, objective=(MaskedLM(),))
    assert cost.flops_per_token(without) < plain
    more = dataclasses.replace(recipe, objective=(MaskedLM(mask_prob=0.3), NextSentence()))
    assert cost.flops_per_token(more) - plain == pytest.approx(0.15 * 6 * 768 * (768 + 30_522))
    assert cost.flops_per_token(recipe, vocabulary=1000) == cost.flops_per_token(
        dataclasses.replace(recipe, tokenizer=WordPiece(vocabulary=1000))
    )


def test_left_to_right_predicts_all_but_one_and_attends_to_half() -> None:
    recipe = Recipe(objective=(MaskedLM(),))
    causal = dataclasses.replace(recipe, objective=(CausalLM(),))
    more = 6 * (127 / 128 - 0.15) * 768 * (768 + 30_522)
    hidden = 6 * 12 * 2 * 768 * (128 - 64.5)
    assert cost.flops_per_token(causal) - cost.flops_per_token(recipe) == pytest.approx(more - hidden)


def test_last_steps_are_longer() -> None:
    inputs = Inputs(length=128, phase2_length=512, phase2_share=0.1)
    recipe = Recipe(inputs=inputs, schedule=Schedule(batch_size=4, steps=100))
    assert cost.phases(recipe) == [(128, 90), (512, 10)]
    assert cost.tokens(recipe) == 4 * (90 * 128 + 10 * 512)
    expected = 4 * 90 * 128 * cost.flops_per_token(recipe) + 4 * 10 * 512 * cost.flops_per_token(recipe, length=512)
    assert cost.flops(recipe) == pytest.approx(expected)
    few = dataclasses.replace(recipe, schedule=Schedule(steps=19))
    assert cost.phases(few) == [(128, 17), (512, 2)]  # rounded
    even = dataclasses.replace(recipe, inputs=Inputs(length=128, phase2_length=512))
    assert (even.inputs.longest, recipe.inputs.longest) == (128, 512)
    assert cost.tokens(even) == 4 * 100 * 128


def test_checkpoint_holds_weights_and_moments() -> None:
    assert cost.weight_bytes(Recipe(model=BASE, inputs=Inputs(length=512))) == 4 * 110_106_428


@pytest.mark.parametrize("scale", ["tiny", "base"])
def test_parameters_are_those_of_the_models_of_all_studies(scale: str) -> None:
    import torch

    from bertlab.model.heads import PretrainingModel

    every = [studies.find(name) for name in studies.names()]
    recipes = [study.recipe(variant, scales.find(scale).recipe) for study in every for variant in study.variants]
    assert len(recipes) > 20
    for one in recipes:
        with torch.device("meta"):
            model = PretrainingModel.of(one, one.tokenizer.entries)
        assert cost.trained_parameters(one) == sum(weight.numel() for weight in model.parameters()), one
