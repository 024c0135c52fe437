"""Pre-training: the golden loss curve, exact resume, micro-batches, and what is kept."""

import dataclasses
import itertools
import json
import math
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import pytorch_optimizer
import torch
from torch.optim.lr_scheduler import LambdaLR

from bertlab import progress as signals
from bertlab.adaptation import FineTuning
from bertlab.errors import ArmFailed, RunFailed
from bertlab.lab import scales
from bertlab.model.attention import Attention
from bertlab.model.encoder import BertEncoder
from bertlab.model.heads import ClassificationModel, Pooler, PretrainingModel
from bertlab.model.recurrent import RecurrentEncoder
from bertlab.objectives import CausalLM, Corruption, MaskedLM, NextSentence, ReplacedTokens, SampledLM, TokenGenerator
from bertlab.optimizers import LAMB, Adafactor, AdamW, Muon
from bertlab.progress import Interrupted, silent
from bertlab.recipe import Inputs, Model
from bertlab.recipe.schedules import Cosine, Ramp, Stages
from bertlab.training import checkpoints
from bertlab.training import module as optimization
from bertlab.training.callbacks import RunDirectory
from bertlab.training.pretraining import PretrainingModule, evaluate, pretrain
from bertlab.training.process_group import SINGLE

SMOKE = scales.find("smoke").recipe  # 20 steps, dropout 0.1

ALONE = (MaskedLM(),)
OTHERS = [
    dataclasses.replace(SMOKE, objective=(CausalLM(),), optimizer=Muon()),
    dataclasses.replace(SMOKE, inputs=Inputs(length=32, format="sentence-pair", corpora=1)),
    dataclasses.replace(SMOKE, inputs=Inputs(length=32, format="full-sentences"), objective=ALONE, optimizer=LAMB()),
    dataclasses.replace(
        SMOKE, inputs=Inputs(length=32, format="doc-sentences"), objective=ALONE, optimizer=Adafactor()
    ),
    dataclasses.replace(SMOKE, model=dataclasses.replace(SMOKE.model, sharing="all", embedding_size=8)),
    dataclasses.replace(SMOKE, model=dataclasses.replace(SMOKE.model, norm="power", norm_position="pre")),
    dataclasses.replace(SMOKE, objective=(TokenGenerator(), ReplacedTokens())),
    dataclasses.replace(SMOKE, objective=(TokenGenerator(width=1, sharing="all"), SampledLM(tokens="all"))),
    dataclasses.replace(
        SMOKE,
        schedule=dataclasses.replace(
            SMOKE.schedule,
            curve=Cosine(floor=0.1),
            over_steps={
                "masked_lm.mask_prob": Ramp(start=2.0, end=1.0),
                "schedule.batch_size": Stages(multiples=(0.5, 1.0), begins=(0.3,)),
                "inputs.length": Stages(multiples=(0.5, 1.0), begins=(0.25,)),
            },
        ),
    ),
]


def lines(work):
    return [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]


def test_the_weight_of_a_loss_changes_over_the_steps(corpus, machine, tmp_path):
    changing = Stages(multiples=(1.0, 0.5), begins=(0.5,))
    losses = []
    for name, curves in (("plain", {}), ("changing", {"replaced_tokens.weight": changing})):
        schedule = dataclasses.replace(SMOKE.schedule, over_steps=curves)
        given = dataclasses.replace(SMOKE, objective=(TokenGenerator(), ReplacedTokens()), schedule=schedule)
        (tmp_path / name).mkdir()
        pretrain(given, corpus, tmp_path / name, machine, (100,), silent)
        losses.append([line["replaced_tokens_loss"] for line in lines(tmp_path / name) if "learning_rate" in line])
    (plain, half), change = losses, SMOKE.schedule.steps // 2
    assert len(plain) == SMOKE.schedule.steps
    assert half[:change] == plain[:change]
    assert half[change] == pytest.approx(plain[change] / 2, rel=1e-4)  # of the same weights


@pytest.fixture(scope="module")
def whole(corpus, machine, tmp_path_factory):
    """A training that was never stopped."""
    work = tmp_path_factory.mktemp("whole")
    result = pretrain(SMOKE, corpus, work, machine, (50, 100), silent)
    return work, result


GOLDEN = [
    6.96662,
    7.03819,
    6.90371,
    6.90957,
    6.9874,
    6.93814,
    7.02873,
    6.84753,
    6.79318,
    6.78623,
    6.76863,
    6.79915,
    6.8265,
    6.76748,
    6.78012,
    6.58718,
    6.90052,
    6.79061,
    6.76601,
    6.61675,
]


def test_golden_losses(whole):
    """Frozen: other numbers mean that the same recipe is no longer the same training (raise SCIENCE_VERSION)."""
    losses = [line["loss"] for line in lines(whole[0]) if "loss" in line]
    assert losses == pytest.approx(GOLDEN, rel=1e-4)


def test_saved_weights_are_evaluated_as_at_the_end_of_their_training(whole, corpus, machine):
    work, result = whole
    assert evaluate(SMOKE, corpus, work / "model.safetensors", machine) == result["heldout"]
    middle = evaluate(SMOKE, corpus, work / "milestones" / "step-00000010.safetensors", machine)
    assert middle.keys() == result["heldout"].keys(), "those of sentence pairs too, which no milestone logs"
    (logged,) = [line for line in lines(work) if line["step"] == 10 and "heldout_masked_lm_loss" in line]
    assert middle["masked_lm_loss"] == pytest.approx(logged["heldout_masked_lm_loss"], abs=0.05), "on a quarter"
    assert middle["masked_lm_loss"] > result["heldout"]["masked_lm_loss"]
    assert evaluate(SMOKE, corpus, work / "milestones" / "step-00000010.safetensors", machine) == middle


def test_the_result_says_what_was_trained(whole, corpus):
    work, result = whole
    assert result["steps"] == 20
    assert result["tokens"] == 20 * 8 * 32
    assert result["vocabulary"] == corpus.tokenizer.size
    assert result["heldout"]["own_loss"] == result["heldout"]["masked_lm_loss"]
    assert result["over_vocabulary"] == ["masked_lm_loss", "own_loss"]
    assert result["heldout"]["perplexity"] == pytest.approx(np.exp(result["heldout"]["masked_lm_loss"]))
    assert 0.3 < result["pair_balance"] < 0.7
    assert 0 <= result["heldout"]["next_sentence_accuracy"] <= 1
    assert sorted(path.name for path in (work / "milestones").iterdir()) == ["step-00000010.safetensors"]
    assert (work / "vocab.txt").read_text().split("\n")[0] == "[PAD]"
    rates = {line["step"]: line["learning_rate"] for line in lines(work) if "learning_rate" in line}
    assert rates == {step: pytest.approx(SMOKE.schedule.learning_rate(step - 1)) for step in range(1, 21)}
    assert rates[20] > 0, "that of the last update"


def test_the_same_command_gives_the_same_bits(whole, corpus, machine, tmp_path):
    pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)
    same_bits(whole[0], tmp_path)


def test_a_signal_during_an_evaluation_saves_after_it(whole, corpus, machine, tmp_path, monkeypatch):
    start = PretrainingModule.on_validation_start
    monkeypatch.setattr(
        PretrainingModule, "on_validation_start", lambda self: signal.raise_signal(signal.SIGTERM) or start(self)
    )
    with pytest.raises(Interrupted), signals.signals_as_flags():
        pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)  # evaluates after step 10
    assert checkpoints.newest(tmp_path).step == 10
    monkeypatch.undo()
    pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)
    same_bits(whole[0], tmp_path)


@pytest.mark.parametrize("stops", [[1], [10], [7, 13, 19]])
def test_stopped_and_resumed_equals_never_stopped(whole, corpus, machine, tmp_path, monkeypatch, stops):
    """To the bit, with dropout on, also when it is stopped again and again, and at a milestone."""
    monkeypatch.setattr(signals, "_received", [])
    for stop in stops:

        def ask(done, total, stage="", /, *, stop=stop, **figures):
            if done == stop:
                signals._received.append(2)

        with pytest.raises(Interrupted):
            pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), ask)
        signals._received.clear()
        assert checkpoints.newest(tmp_path) is not None
    result = pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)
    same_bits(whole[0], tmp_path)
    assert result == whole[1]


def test_checkpoints_take_a_twentieth_of_the_time_at_most(tmp_path, monkeypatch):
    """A second a step: a checkpoint that takes 30 seconds comes after a minute, and then every ten."""
    now, saves = [0.0], []

    def save(path):
        saves.append(now[0])
        now[0] += 30.0

    monkeypatch.setattr("bertlab.training.callbacks.time.monotonic", lambda: now[0])
    trainer = SimpleNamespace(global_step=0, save_checkpoint=save)
    directory, batch = RunDirectory(tmp_path, [], 2_000, SINGLE), SimpleNamespace(last=True)
    for step in range(1, 1_500):
        now[0] += 1.0
        trainer.global_step = step
        directory.on_train_batch_end(trainer, None, None, batch, step)
        directory.on_train_batch_start(trainer, None, batch, step)
    assert saves == [60.0, 690.0, 1320.0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_ends_after_the_step(whole, corpus, machine, tmp_path, number):
    def ask(done, total, stage="", /, **figures):
        if done == 4:
            signal.raise_signal(number)

    with pytest.raises(Interrupted) as error, signals.signals_as_flags():
        pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), ask)
    assert error.value.number == number
    assert checkpoints.newest(tmp_path).step == 4
    pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)
    same_bits(whole[0], tmp_path)


@pytest.mark.parametrize("other", ["recipe", "text", "milestone", "curve"])
def test_a_checkpoint_that_something_else_left_is_never_gone_on_from(
    whole, corpus, machine, tmp_path, monkeypatch, other
):
    """Another recipe, other text, and files that are not those that were there when it was saved."""
    monkeypatch.setattr(signals, "_received", [])

    def ask(done, total, stage="", /, **figures):
        if done == 12:
            signals._received.append(2)

    recipe, text = SMOKE, corpus
    if other == "recipe":
        recipe = dataclasses.replace(SMOKE, objective=(MaskedLM(mask_prob=0.2), NextSentence()))
    if other == "text":
        text = dataclasses.replace(corpus, facts={**corpus.facts, "fingerprint": "sha256:another"})
    with pytest.raises(Interrupted):
        pretrain(recipe, text, tmp_path, machine, (50, 100), ask)
    signals._received.clear()
    assert checkpoints.newest(tmp_path).step == 12
    with (tmp_path / "metrics.jsonl").open("a") as curve:  # of steps after the checkpoint
        curve.write('{"step": 13}\n')
    assert checkpoints.newest(tmp_path).step == 12
    if other in ("milestone", "curve"):
        file = tmp_path / {"milestone": "milestones/step-00000010.safetensors", "curve": "metrics.jsonl"}[other]
        file.write_bytes(b" " + file.read_bytes()[1:])
        assert checkpoints.newest(tmp_path) is None
        file.unlink()
        assert checkpoints.newest(tmp_path) is None
    assert pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent) == whole[1]
    same_bits(whole[0], tmp_path)


def test_a_checkpoint_is_read_as_it_was_written_and_holds_finite_weights_alone(tmp_path):
    io = checkpoints.SafetensorsIO(tmp_path, "x")
    moments = {0: {"step": torch.tensor(3.0), "exp_avg": torch.randn(2, 3)}}
    optimizer = {"state": moments, "param_groups": [{"lr": 0.1, "betas": [0.9, 0.999], "params": [0]}]}
    kept = {"state_dict": {"weight": torch.randn(2, 3)}, "optimizer_states": [optimizer], "loops": {"done": 1}}
    io.save_checkpoint({**kept, "global_step": 1}, checkpoints.path(tmp_path, 1))
    found = io.load_checkpoint(checkpoints.newest(tmp_path, "x").path)
    assert torch.equal(found["state_dict"]["weight"], kept["state_dict"]["weight"])
    (read,) = found["optimizer_states"]
    assert read["param_groups"] == optimizer["param_groups"]
    assert all(torch.equal(value, moments[0][name]) for name, value in read["state"][0].items())
    assert found["loops"] == {"done": 1}
    with pytest.raises(RunFailed, match="diverged at step 2: a weight is not finite"):
        io.save_checkpoint(
            {**kept, "state_dict": {"weight": torch.tensor([torch.inf])}, "global_step": 2},
            checkpoints.path(tmp_path, 2),
        )
    assert checkpoints.newest(tmp_path).step == 1


def test_a_damaged_checkpoint_is_passed_over(whole, corpus, machine, tmp_path, monkeypatch):
    monkeypatch.setattr(signals, "_received", [])

    def ask(done, total, stage="", /, **figures):
        if done == 5:
            signals._received.append(2)

    with pytest.raises(Interrupted):
        pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), ask)
    signals._received.clear()
    weights = checkpoints.newest(tmp_path).path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert checkpoints.newest(tmp_path) is None
    pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)
    same_bits(whole[0], tmp_path)


def same_bits(one, other):
    assert (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()


@pytest.mark.parametrize("changed", OTHERS)
def test_other_objectives_and_formats_resume_to_the_bit(corpus, machine, tmp_path, monkeypatch, changed):
    monkeypatch.setattr(signals, "_received", [])
    documents = len(corpus.train.documents) - 1
    corpus = dataclasses.replace(corpus, train=dataclasses.replace(corpus.train, by_source=(40, documents - 40)))
    works = tmp_path / "whole", tmp_path / "stopped"
    for work in works:
        work.mkdir()
    result = pretrain(changed, corpus, works[0], machine, (50, 100), silent)

    def ask(done, total, stage="", /, **figures):
        if done == 7:
            signals._received.append(2)

    with pytest.raises(Interrupted):
        pretrain(changed, corpus, works[1], machine, (50, 100), ask)
    signals._received.clear()
    assert pretrain(changed, corpus, works[1], machine, (50, 100), silent) == result
    same_bits(*works)


def test_numbers_that_change_are_on_the_curve(corpus, machine, tmp_path):
    changing = OTHERS[-1]
    result = pretrain(changing, corpus, tmp_path, machine, (100,), silent)
    points = [line for line in lines(tmp_path) if "learning_rate" in line]
    assert [line["schedule.batch_size"] for line in points] == [4] * 6 + [8] * 14
    assert [line["masked_lm.mask_prob"] for line in points] == pytest.approx([0.3 - 0.0075 * n for n in range(20)])
    assert [line["learning_rate"] for line in points] == [changing.schedule.learning_rate(step) for step in range(20)]
    assert result["tokens"] == 5 * 4 * 16 + 4 * 32 + 14 * 8 * 32


@pytest.mark.parametrize("changed", [SMOKE, *OTHERS])
def test_micro_batches_change_nothing(corpus, machine, tmp_path, changed):
    """The loss is a sum over the global batch, so that its parts add up, dropout aside."""
    recipe = dataclasses.replace(
        changed,
        model=dataclasses.replace(changed.model, dropout=0.0),
        schedule=dataclasses.replace(changed.schedule, steps=6),
    )
    losses = []
    for size in (0, 3):
        work = tmp_path / str(size)
        work.mkdir()
        pretrain(recipe, corpus, work, dataclasses.replace(machine, micro_batch=size), (100,), silent)
        losses.append([line["loss"] for line in lines(work) if "loss" in line])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_no_steps_keep_the_initial_weights(corpus, machine, tmp_path):
    recipe = dataclasses.replace(SMOKE, schedule=dataclasses.replace(SMOKE.schedule, steps=0))
    result = pretrain(recipe, corpus, tmp_path, machine, (50, 100), silent)
    kept = PretrainingModel(recipe.model, corpus.tokenizer.size, 128, 1, (MaskedLM(),))
    kept.load(tmp_path / "model.safetensors")
    fresh = PretrainingModel(recipe.model, corpus.tokenizer.size, 128, recipe.seed, (MaskedLM(),))
    for (name, value), (_, other) in zip(kept.named_parameters(), fresh.named_parameters(), strict=True):
        assert torch.equal(value, other), name
    assert result["heldout"].keys() == {"masked_lm_loss", "perplexity", "accuracy", "bits_per_byte", "own_loss"}
    assert result["heldout"]["masked_lm_loss"] == pytest.approx(np.log(corpus.tokenizer.size), rel=0.1)


def test_a_row_is_judged_under_its_own_masking_too(corpus, machine, tmp_path):
    recipe = dataclasses.replace(
        SMOKE, objective=(MaskedLM(corruption=Corruption(mask=0.0, keep=0.0, random=1.0)), NextSentence())
    )
    result = pretrain(recipe, corpus, tmp_path, machine, (50, 100), silent)
    assert result["heldout"]["own_loss"] != result["heldout"]["masked_lm_loss"]


def test_a_loss_that_is_not_finite_ends_the_run_before_the_update(corpus, machine, tmp_path, monkeypatch):
    losses, steps = PretrainingModel.losses, itertools.count()

    def poisoned(self, *arguments):
        sums = losses(self, *arguments)
        broken = self.training and next(steps) == 5
        return {kind: value * math.nan for kind, value in sums.items()} if broken else sums

    monkeypatch.setattr(PretrainingModel, "losses", poisoned)
    with pytest.raises(RunFailed, match="diverged at step 5: the loss is not finite") as error:
        pretrain(SMOKE, corpus, tmp_path, machine, (50, 100), silent)
    assert error.value.status == "diverged"


def test_a_loss_that_is_no_scalar_ends_the_run_and_names_its_method(corpus, machine, tmp_path, monkeypatch):
    monkeypatch.setattr(MaskedLM, "loss_sum", lambda self, head, hidden, *given: hidden[0])
    says = r"MaskedLM\.loss_sum \(test_pretraining\.py, line \d+\) returns a tensor of shape .*: return a scalar tensor"
    with pytest.raises(ArmFailed, match=says):
        pretrain(SMOKE, corpus, tmp_path, machine, (100,), silent)


def update(optimizer, rate, max_norm):
    """One update at a learning rate, as a Trainer makes it."""
    optimization.clip(optimizer, max_norm, torch.zeros(()))
    LambdaLR(optimizer, lambda step: rate)
    optimizer.step()


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)
        self.norm = torch.nn.LayerNorm(2)


def test_biases_and_layernorm_are_not_decayed():
    decayed, plain = optimization.build(Linear(), AdamW(weight_decay=0.01)).param_groups
    assert (len(decayed["params"]), decayed["weight_decay"]) == (1, 0.01)
    assert (len(plain["params"]), plain["weight_decay"]) == (3, 0.0)


@pytest.mark.parametrize("position", ["post", "pre"])
def test_rates_fall_by_a_factor_from_the_head_to_the_embeddings(position):
    """Two layers at 0.5: the head at the peak, the last layer at half of it, the first at a quarter, then an eighth."""
    shape = Model(layers=2, hidden=8, heads=2, norm_position=position)
    for wrap in (lambda encoder: encoder, lambda encoder: RecurrentEncoder(encoder, 0)):
        model = ClassificationModel(wrap(BertEncoder(shape, 20, 16)), Pooler(8), 2, 0.0, 0)
        optimizer = optimization.build(model, AdamW(), FineTuning(layer_decay=0.5).lr_multipliers(model))
        for value in model.parameters():
            value.grad = torch.zeros_like(value)
        update(optimizer, 0.8, 1.0)
        rates = {id(value): group["lr"] for group in optimizer.param_groups for value in group["params"]}
        found = {name: rates[id(value)] for name, value in model.named_parameters()}
        for name, rate in found.items():
            place = name.removeprefix("encoder.").removeprefix("encoder.")
            wanted = {"embeddings": 0.1, "layers.0": 0.2, "layers.1": 0.4, "final_norm": 0.4}
            assert rate == pytest.approx(next((wanted[each] for each in wanted if place.startswith(each)), 0.8)), name
        assert set(map(float, found.values())) == {0.1, 0.2, 0.4, 0.8}
        decayed = {id(value) for group in optimizer.param_groups if group["weight_decay"] for value in group["params"]}
        assert decayed == {id(value) for value in model.parameters() if value.dim() >= 2}


def test_what_is_above_the_encoder_has_a_rate_of_its_own():
    model = ClassificationModel(BertEncoder(Model(layers=1, hidden=8, heads=2), 20, 16), Pooler(8), 2, 0.0, 0)
    rates = FineTuning(head_lr=10.0).lr_multipliers(model)
    found = {name.partition(".")[0]: rates[value] for name, value in model.named_parameters()}
    assert found == {"encoder": 1.0, "pooler": 10.0, "output": 10.0}


def test_a_head_of_a_study_file_may_name_the_encoder_as_it_likes():
    encoder = BertEncoder(Model(layers=2, hidden=8, heads=2), 20, 16)
    model = torch.nn.ModuleDict({"output": torch.nn.Linear(8, 2), "body": encoder})
    rates = FineTuning(layer_decay=0.5).lr_multipliers(model)
    assert {rates[value] for value in encoder.layers[1].parameters()} == {0.5}
    assert {rates[value] for value in encoder.embeddings.parameters()} == {0.5**3}
    assert {rates[value] for value in model.output.parameters()} == {1.0}


def test_parameters_that_layers_share_have_the_rate_of_the_last_layer():
    model = ClassificationModel(
        BertEncoder(Model(layers=3, hidden=8, heads=2, sharing="all"), 20, 16), Pooler(8), 2, 0.0, 0
    )
    rates = FineTuning(layer_decay=0.5).lr_multipliers(model)
    assert {rates[value] for value in model.encoder.layers.parameters()} == {0.5}
    assert {rates[value] for value in model.encoder.embeddings.parameters()} == {0.5**4}


def test_adam_without_bias_correction_is_googles():
    """One parameter by hand: m = 0.1 g, v = 0.001 g^2, x -= lr (m / (sqrt(v) + eps) + wd x)."""
    module = torch.nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        module.weight.fill_(2.0)
    made = optimization.build(module, AdamW(bias_correction=False, max_grad_norm=100.0))
    module.weight.grad = torch.full_like(module.weight, 3.0)
    update(made, 0.1, 100.0)
    expected = 2.0 - 0.1 * (0.3 / ((0.001 * 9) ** 0.5 + 1e-6) + 0.01 * 2.0)
    assert module.weight.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("corrected", [True, False])
def test_lamb_is_algorithm_2(corrected):
    """Two steps by hand: the update of a matrix has its norm times the rate, that of a bias is Adam's."""
    x, bias = np.array([[3.0, 0.0], [0.0, 4.0]]), np.array([1.0, 2.0])
    module = torch.nn.Linear(2, 2).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor(x))
        module.bias.copy_(torch.tensor(bias))
    made = optimization.build(module, LAMB(weight_decay=0.1, bias_correction=corrected))
    gradients = np.array([[1.0, -2.0], [0.5, 0.0]]), np.array([[-1.0, 0.25], [2.0, 1.0]])
    moments = {"x": (0.0, 0.0), "bias": (0.0, 0.0)}

    def adam(name, step, g):
        m, v = moments[name]
        moments[name] = m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        if corrected:
            m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
        return m / (np.sqrt(v) + 1e-6)

    for step, g in enumerate(gradients, start=1):
        module.weight.grad, module.bias.grad = torch.tensor(g), torch.tensor(g[0])
        update(made, 0.1, 100.0)
        direction = adam("x", step, g) + 0.1 * x
        x = x - 0.1 * np.linalg.norm(x) / np.linalg.norm(direction) * direction
        bias = bias - 0.1 * adam("bias", step, g[0])
        np.testing.assert_allclose(module.weight.detach(), x, rtol=1e-12)
        np.testing.assert_allclose(module.bias.detach(), bias, rtol=1e-12)


def test_lamb_is_the_one_of_pytorch_optimizer():
    """Five steps of attention, without bias correction; queries, keys and values are three matrices there."""
    attention = Attention(8, 2, 0.1).double()
    ours = optimization.build(attention, LAMB(weight_decay=0.1, bias_correction=False))
    fused = attention.qkv_proj.weight
    parts = [*fused.detach().clone().split(8), attention.out_proj.weight.detach().clone()]
    vectors = [attention.qkv_proj.bias.detach().clone(), attention.out_proj.bias.detach().clone()]
    theirs = pytorch_optimizer.Lamb(
        [{"params": parts}, {"params": vectors, "weight_decay": 0.0, "adam": True}],
        lr=0.1, weight_decay=0.1, weight_decouple=False, adam_debias=True,
    )  # fmt: skip
    draws = torch.Generator().manual_seed(0)
    for _ in range(5):
        for each in attention.parameters():
            each.grad = torch.randn(each.shape, generator=draws, dtype=each.dtype)
        for each, own in zip(parts, [*fused.grad.split(8), attention.out_proj.weight.grad], strict=True):
            each.grad = own
        for each, own in zip(vectors, (attention.qkv_proj.bias, attention.out_proj.bias), strict=True):
            each.grad = own.grad
        update(ours, 0.1, 1e9)
        theirs.step()
    torch.testing.assert_close(fused.detach(), torch.cat(parts[:3]), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(attention.out_proj.weight.detach(), parts[3], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(attention.qkv_proj.bias.detach(), vectors[0])


def test_the_trust_ratio_of_a_matrix_of_zeros_is_1():
    module = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(module.weight)
    made = optimization.build(module, LAMB())
    module.weight.grad = torch.ones(1, 1)
    update(made, 0.1, 1.0)
    assert module.weight.item() == pytest.approx(-0.1, rel=1e-5)


@pytest.mark.parametrize(("size", "dtype", "error"), [(1.0, torch.float64, 1e-12), (1e-6, torch.float32, 1e-6)])
def test_adafactor_is_algorithm_4(size, dtype, error):
    """One step by hand: second moments are products of rows and columns, the rate is relative to the weights.

    The same with gradients as small as those of a large model.
    """
    x, g = np.array([[3.0, 0.0], [0.0, 4.0]]), size * np.array([[0.1, -0.2], [0.5, 0.3]])
    module = torch.nn.Linear(2, 2, bias=False).to(dtype)
    with torch.no_grad():
        module.weight.copy_(torch.tensor(x))
    made = optimization.build(module, Adafactor(weight_decay=0.0))
    module.weight.grad = torch.tensor(g, dtype=dtype)
    update(made, 0.01, 100.0)
    rows, columns = (g**2).mean(1), (g**2).mean(0)
    u = g / np.sqrt(np.outer(rows, columns) / rows.mean())
    u /= max(1.0, np.sqrt((u**2).mean()))
    np.testing.assert_allclose(
        module.weight.detach(), x - 0.01 * np.sqrt((x**2).mean()) * u, rtol=1e-12 if size == 1 else 1e-6
    )
    assert {name for state in made.state.values() for name in state} == {"step", "row_var", "col_var"}


def test_adafactor_forgets_at_its_rate_and_small_weights_move_too():
    """Two steps by hand: the second has moments that are 2**-0.5 new, and both weights count as a half."""
    x, steps = np.array([[0.1, 0.2]]), (np.array([[0.3, -0.4]]), np.array([[0.1, 0.2]]))
    module = torch.nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        module.weight.copy_(torch.tensor(x))
    made = optimization.build(module, Adafactor(weight_decay=0.0, decay=0.5, min_scale=0.5))
    rows, columns = np.zeros(1), np.zeros(2)
    for t, g in enumerate(steps, start=1):
        module.weight.grad = torch.tensor(g)
        update(made, 0.01, 100.0)
        new = t**-0.5
        rows, columns = (old + new * (now - old) for old, now in ((rows, (g**2).mean(1)), (columns, (g**2).mean(0))))
        u = g / np.sqrt(np.outer(rows, columns) / rows.mean())
        x = x - 0.01 * 0.5 * u / max(1.0, np.sqrt((u**2).mean()))
    np.testing.assert_allclose(module.weight.detach(), x, rtol=1e-12)


def test_gradients_are_clipped_by_their_global_norm():
    """The first corrected step of Adam is the sign of the gradient, so clipping shows in the moments."""
    module = torch.nn.Linear(2, 1, bias=False)
    made = optimization.build(module, AdamW())
    module.weight.grad = torch.tensor([[3.0, 4.0]])
    update(made, 0.1, 1.0)
    assert made.state[module.weight]["exp_avg"].tolist()[0] == pytest.approx([0.06, 0.08], rel=1e-4)
