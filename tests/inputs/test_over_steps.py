"""Numbers that change over the steps: what batches have at each step, and that their sequences go on."""

import dataclasses

import numpy as np
import pytest

from bertlab import make_recipe
from bertlab.audit import audit
from bertlab.errors import BadInput
from bertlab.inputs.batches import Batches
from bertlab.objectives import CausalLM, MaskedLM, ReplacedTokens, TokenGenerator
from bertlab.objectives.selection import chosen
from bertlab.recipe import Inputs, Recipe, Schedule, cost
from bertlab.recipe.identity import canonical, identity, load, to_canonical
from bertlab.recipe.schedules import Constant, Cosine, LinearDecay, Ramp, Stages

STEPS = 20
MASKED = (MaskedLM(mask_prob=0.2),)


def recipe(*changes, objective=MASKED, **inputs):
    return make_recipe(
        "smoke",
        objective=objective,
        inputs=Inputs(format="full-sentences", length=32, **inputs),
        schedule=Schedule(batch_size=8, steps=STEPS, over_steps=dict(changes)),
    )


def drawn(changing, corpus):
    batches = Batches(changing, corpus)
    return [batches.batch(step) for step in range(STEPS)]


def test_a_constant_multiple_gives_the_batches_of_the_plain_recipe_to_the_bit(corpus):
    changing = recipe(("masked_lm.mask_prob", Constant()), ("schedule.batch_size", Constant()))
    for one, two in zip(drawn(changing, corpus), drawn(recipe(), corpus), strict=True):
        assert np.array_equal(one.tokens, two.tokens)
        assert all(
            np.array_equal(one.arrays["masked_lm"][name], array) for name, array in two.arrays["masked_lm"].items()
        )


def test_as_many_tokens_are_masked_as_each_step_says_of_the_sequences_that_would_be_there(corpus):
    changing = recipe(("masked_lm.mask_prob", Ramp(start=2.0, end=0.5)))
    probabilities = [0.2 * (2 - 1.5 * step / STEPS) for step in range(STEPS)]
    for step, (one, two) in enumerate(zip(drawn(changing, corpus), drawn(recipe(), corpus), strict=True)):
        assert changing.numbers(step) == {"masked_lm.mask_prob": pytest.approx(probabilities[step])}
        assert np.array_equal(one.sequence_ids, two.sequence_ids)
        counts = (one.arrays["masked_lm"]["weights"] > 0).sum(1)
        tokenizer = corpus.tokenizer
        ordinary = (~np.isin(one.tokens, (tokenizer.pad, tokenizer.cls, tokenizer.sep))).sum(1)
        assert counts.tolist() == [chosen(probabilities[step], n) for n in ordinary]


def test_batches_of_other_sizes_read_on_where_the_one_before_ended(corpus):
    changing = recipe(("schedule.batch_size", Stages(multiples=(0.25, 1.0, 2.0), begins=(0.3, 0.5))))
    batches = drawn(changing, corpus)
    assert [len(batch.tokens) for batch in batches] == [2] * 6 + [8] * 4 + [16] * 10
    ids = np.concatenate([batch.sequence_ids for batch in batches])
    plain = Batches(recipe(), corpus)
    assert ids.tolist() == np.concatenate([plain.batch(step).sequence_ids for step in range(40)])[: len(ids)].tolist()
    counted = [int(sum(batch.lengths.sum() for batch in batches[:steps])) for steps in (3, 6, 8, 20)]
    assert [Batches(changing, corpus).tokens(steps) for steps in (3, 6, 8, 20)] == counted
    assert cost.tokens(changing) == (6 * 2 + 4 * 8 + 10 * 16) * 32


def test_shorter_sequences_at_first(corpus):
    changing = recipe(("inputs.length", Stages(multiples=(0.5, 1.0), begins=(0.8,))))
    widths = [batch.lengths.max() for batch in drawn(changing, corpus)]
    assert max(widths[:16]) == 16
    assert max(widths[16:]) == 32
    assert cost.phases(changing) == [(16, 16), (32, 4)]
    assert changing.model.max_length(changing.inputs.longest) == 128, "the model reads the longest ones"


def test_any_batch_is_a_function_of_its_step(corpus):
    changing = recipe(("schedule.batch_size", Ramp(start=0.2, end=1.0)), ("masked_lm.mask_prob", Cosine(floor=0.5)))
    forward = drawn(changing, corpus)
    for step in (13, 2, 19, 0):
        alone = Batches(changing, corpus).batch(step)
        assert np.array_equal(alone.tokens, forward[step].tokens)
        assert np.array_equal(alone.arrays["masked_lm"]["positions"], forward[step].arrays["masked_lm"]["positions"])


def test_a_hundredth_of_the_steps_has_one_value():
    changing = dataclasses.replace(
        recipe(), schedule=Schedule(steps=1000, over_steps={"masked_lm.mask_prob": Ramp(end=0.0)})
    )
    values = [changing.numbers(step)["masked_lm.mask_prob"] for step in range(1000)]
    assert len({*values}) == 100
    assert values[10:20] == [pytest.approx(0.2 * 0.99)] * 10
    assert [steps for _, steps in changing.stages] == [10] * 100
    assert all(not stage.schedule.over_steps for stage, _ in changing.stages)


def test_a_second_phase_is_a_stage_of_its_own():
    plain = recipe(phase2_length=64, phase2_share=0.1)
    assert [(stage.inputs.length, steps) for stage, steps in plain.stages] == [(32, 18), (64, 2)]
    assert recipe().stages == [(recipe(), STEPS)]


def test_batches_of_many_sizes_are_not_compiled(machine):
    compiling = dataclasses.replace(machine, compile="yes")
    assert compiling.compiles(recipe())
    assert not compiling.compiles(recipe(("masked_lm.mask_prob", Ramp())))


def test_the_audit_tests_a_changing_recipe(corpus):
    changing = recipe(
        ("masked_lm.mask_prob", Ramp(start=2.0, end=0.5)), ("schedule.batch_size", Ramp(start=0.5, end=1))
    )
    (audited,) = audit(changing, corpus)
    assert [check for check in audited.checks if check.holds is False] == []


def test_what_changes_is_part_of_the_id():
    changing = Schedule(over_steps={"masked_lm.mask_prob": Cosine(floor=0.5)})
    written = {"over_steps": {"masked_lm.mask_prob": {"kind": "cosine", "floor": 0.5}}}
    assert to_canonical(changing) == written
    assert load(Schedule, written) == changing
    assert canonical(Schedule(over_steps={})) == "{}"
    default = Schedule(over_steps={"masked_lm.mask_prob": LinearDecay()})
    assert load(Schedule, to_canonical(default)) == default
    ids = {identity("pretrain", recipe=Recipe(schedule=schedule)) for schedule in (Schedule(), changing, default)}
    assert len(ids) == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([("masked_lm.mask_probs", Constant())], "unknown number of schedule.over_steps 'masked_lm.mask_probs'"),
        ([("schedule.peak_lr", Constant())], "unknown number of schedule.over_steps 'schedule.peak_lr'"),
        ([("model.dropout", Constant())], "unknown number of schedule.over_steps 'model.dropout'"),
        ([("inputs.length", Ramp(start=1.0, end=2.0))], "inputs.length is the longest: let its curve give 1 at most"),
        ([("inputs.length", Ramp(start=0.01, end=1.0))], "inputs.length is 1: give 8 to 8,192 tokens"),
        ([("masked_lm.mask_prob", Ramp(start=9.0))], "masked_lm.mask_prob is 1.8"),
    ],
)
def test_what_cannot_change_is_refused(changes, says):
    with pytest.raises(BadInput, match=says.replace(".", r"\.")):
        recipe(*changes)


@pytest.mark.parametrize("number", ["generator.width", "replaced_tokens.weights"])
def test_what_a_model_is_made_of_cannot_change(number):
    with pytest.raises(BadInput, match=f"unknown number of schedule.over_steps '{number}'"):
        recipe((number, Constant()), objective=(TokenGenerator(), ReplacedTokens()))


def test_a_loss_without_the_number_is_refused():
    with pytest.raises(BadInput, match=r"unknown number of schedule\.over_steps 'masked_lm\.mask_prob'"):
        recipe(("masked_lm.mask_prob", Constant()), objective=(CausalLM(),))


def test_stages_need_a_begin_for_each_but_the_first():
    for begins in ((), (0.5, 0.2), (0.5, 0.5)):
        with pytest.raises(BadInput, match="give rising shares, one less than those"):
            Stages(multiples=(1.0, 2.0, 3.0), begins=begins)
