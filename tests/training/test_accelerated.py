"""The way of an accelerator, walked on the CPU: no step waits for a value, and compiled graphs compute the same."""

import dataclasses
import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bertlab import progress as signals
from bertlab.adaptation import FineTuning
from bertlab.errors import RunFailed
from bertlab.inputs.batches import Batches
from bertlab.lab import scales
from bertlab.machine import Machine, has_compiler
from bertlab.model import attention, heads
from bertlab.model.heads import PretrainingModel
from bertlab.model.layers import set_dropout
from bertlab.objectives import CausalLM, MaskedLM, ReplacedTokens, TokenGenerator
from bertlab.optimizers import LAMB, Adafactor, AdamW
from bertlab.progress import Interrupted, silent
from bertlab.recipe import Inputs
from bertlab.recipe.schedules import Ramp, Stages
from bertlab.training import checkpoints, pretraining
from bertlab.training import module as optimization
from bertlab.training.data import PretrainingDataModule, to_tensors
from bertlab.training.finetuning import FinetuningModule, finetune
from bertlab.training.module import STEPS, MetricBuffer
from bertlab.training.pretraining import PretrainingModule, pretrain

SMOKE = scales.find("smoke").recipe  # 20 steps, dropout 0.1
STILL = dataclasses.replace(SMOKE, model=dataclasses.replace(SMOKE.model, dropout=0.0))
CAUSAL = (CausalLM(),)
ALONE = (MaskedLM(),)
OBJECTIVES = {
    "pairs": {},
    "left to right": {"objective": CAUSAL},
    "full sentences": {"objective": ALONE, "inputs": Inputs(length=32, format="full-sentences")},
    "documents": {"objective": ALONE, "inputs": Inputs(length=32, format="doc-sentences")},
    "replaced tokens": {"objective": (TokenGenerator(), ReplacedTokens())},
}
OF_TORCH = "ignore::DeprecationWarning", "ignore:.*not a leaf Tensor", "ignore:Guards may run slower"
"""What torch warns of itself while it compiles."""
WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "unique", "equal")
"""Operations whose result, or its shape, the host has to know before it goes on."""


class NoWaiting(TorchDispatchMode):
    """Refuses operations that wait for a value."""

    def __init__(self):
        super().__init__()
        self.seen = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.seen += 1
        assert function.overloadpacket.__name__ not in WAITING, f"a step waits: {function}"
        return function(*args, **(kwargs or {}))


@pytest.fixture
def accelerated(monkeypatch):
    """Everything goes the way of an accelerator, but for the device."""
    for module in (heads, attention):
        monkeypatch.setattr(module, "eager_on_cpu", lambda x: False)
    due = property(lambda self: len(self._steps) >= STEPS)
    monkeypatch.setattr(MetricBuffer, "due", due)


def lines(work):
    return [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]


def unwaiting(module, monkeypatch):
    """What each update of a module ran, from forward to AdamW, its last micro-batch alone; none of it may wait."""
    update, seen = module.optimizer_step, []

    def watched(self, epoch, batch_idx, optimizer, closure):
        with NoWaiting() as mode:
            update(self, epoch, batch_idx, optimizer, closure)
        seen.append(mode.seen)

    monkeypatch.setattr(module, "optimizer_step", watched)
    return seen


@pytest.mark.parametrize(
    "changed",
    [*OBJECTIVES.values(), *({"optimizer": each} for each in (AdamW(bias_correction=False), LAMB()))],
    ids=[*OBJECTIVES, "without bias correction", "LAMB"],
)
def test_no_step_of_pretraining_waits(accelerated, corpus, machine, tmp_path, monkeypatch, changed):
    """Batch, forward, backward, clipping, update; with dropout, padding and micro-batches. Curves are read behind."""
    seen = unwaiting(PretrainingModule, monkeypatch)
    recipe = dataclasses.replace(SMOKE, **changed)
    result = pretrain(recipe, corpus, tmp_path, dataclasses.replace(machine, micro_batch=5), (100,), silent)
    assert len(seen) == 20
    assert min(seen) > 100
    assert result["heldout"]
    assert all(map(math.isfinite, result["heldout"].values()))
    assert [line["step"] for line in lines(tmp_path) if "loss" in line] == list(range(1, 21))


def test_no_step_of_fine_tuning_waits(accelerated, pretrained, pairs, machine, monkeypatch):
    seen = unwaiting(FinetuningModule, monkeypatch)
    finetune(
        pretrained,
        pairs,
        FineTuning(max_steps=10, length=32),
        seed=0,
        finetune_seed=0,
        machine=machine,
        progress=silent,
    )
    assert len(seen) == 10


def test_the_operation_that_waits_is_found():
    with pytest.raises(AssertionError, match="a step waits"), NoWaiting():
        float(torch.ones(3).sum())


def test_what_is_not_finite_is_told_of_later_and_changes_nothing(accelerated, corpus, machine, tmp_path, monkeypatch):
    """The weights stay what they were before the step, whatever the steps after it would do."""
    losses = PretrainingModel.losses
    recipe = dataclasses.replace(SMOKE, schedule=dataclasses.replace(SMOKE.schedule, steps=1000))
    kept, steps = [], itertools.count()

    def poisoned(self, *arguments):
        sums = losses(self, *arguments)
        broken = self.training and next(steps) == 5
        return {kind: value * math.nan for kind, value in sums.items()} if broken else sums

    def watched(done, total, stage="", /, **figures):
        kept.append(model[0].lm_head.bias.detach().clone())

    model = []
    monkeypatch.setattr(PretrainingModel, "losses", poisoned)
    monkeypatch.setattr(pretraining.PretrainingModel, "of", lambda *a: model.append(of(*a)) or model[0])
    with pytest.raises(RunFailed, match="diverged at step 5: the loss is not finite"):
        pretrain(recipe, corpus, tmp_path, machine, (100,), watched)
    assert len(kept) == 10  # then the curve is read
    assert not torch.equal(kept[3], kept[4])
    assert all(torch.equal(kept[4], later) for later in kept[5:])


of = PretrainingModel.of


def losses_and_gradients(model, batch):
    model.zero_grad()
    sums = model.losses(to_tensors(batch).to("cpu"))
    sum(sums.values()).backward()
    return [value.item() for value in sums.values()], {
        name: value.grad.clone() for name, value in model.named_parameters() if value.grad is not None
    }


@pytest.mark.parametrize("changed", OBJECTIVES.values(), ids=OBJECTIVES)
@pytest.mark.parametrize("rate", [0.0, 0.1])
@pytest.mark.filterwarnings(*OF_TORCH)
def test_the_compiled_graph_is_one_and_computes_the_same(corpus, monkeypatch, changed, rate):
    """With another backend than on a real machine, which needs no compiler: what is captured is the same graph."""
    compiling = torch.compile
    monkeypatch.setattr(torch, "compile", lambda f, **options: compiling(f, backend="eager", **options))
    recipe = dataclasses.replace(STILL, **changed)
    batch = Batches(recipe, corpus, trimmed=False).batch(0)
    model = PretrainingModel.of(recipe, corpus.tokenizer.size).train()
    expected, gradients = losses_and_gradients(model, batch)
    set_dropout(model, rate)
    model.compile_losses()
    with torch.random.fork_rng():  # graphs draw their dropout from the device's generator
        torch.manual_seed(0)
        found, compiled = losses_and_gradients(model, batch)
    torch.compiler.reset()
    assert compiled.keys() == gradients.keys()
    if rate:
        assert found != expected
        assert found == pytest.approx(expected, rel=0.05)
        return
    assert found == pytest.approx(expected, rel=1e-5)
    for name, value in gradients.items():
        torch.testing.assert_close(compiled[name], value, rtol=1e-4, atol=1e-5, msg=name)


@pytest.mark.filterwarnings(*OF_TORCH)
def test_each_of_a_few_stages_has_a_graph(corpus, monkeypatch):
    graphs, compiling, machine = [], torch.compile, Machine(compile="yes")

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    def staged(**over_steps):
        return dataclasses.replace(
            STILL, schedule=dataclasses.replace(STILL.schedule, steps=100, over_steps=over_steps)
        )

    monkeypatch.setattr(torch, "compile", lambda f, **options: compiling(f, backend=backend, **options))
    recipe = staged(**{"schedule.batch_size": Stages(multiples=(1.0, 0.5)), "inputs.length": Ramp(start=1.0, end=1.0)})
    assert machine.compiles(recipe)
    assert not machine.compiles(staged(**{"masked_lm.mask_prob": Ramp()}))
    batches = Batches(recipe, corpus, trimmed=False)
    plain, compiled = (of(recipe, corpus.tokenizer.size).train() for _ in range(2))
    compiled.compile_losses()
    for step in (0, 1, 98, 99):
        expected, found = (losses_and_gradients(model, batches.batch(step))[0] for model in (plain, compiled))
        assert found == pytest.approx(expected, rel=1e-5)
    torch.compiler.reset()
    assert len(graphs) == 2


@pytest.mark.parametrize("changed", OBJECTIVES.values(), ids=OBJECTIVES)
def test_untrimmed_batches_have_one_shape_and_the_same_rows(corpus, changed):
    recipe = dataclasses.replace(SMOKE, **changed)
    trimmed, whole = Batches(recipe, corpus), Batches(recipe, corpus, trimmed=False)
    for step in range(20):
        one, other = trimmed.batch(step), whole.batch(step)
        assert other.tokens.shape[1] == 32
        short, full = (next(iter(each.arrays.values())) for each in (one, other))
        width, slots = one.tokens.shape[1], short["targets"].shape[1]
        assert np.array_equal(one.tokens, other.tokens[:, :width])
        assert np.array_equal(short["targets"], full["targets"][:, :slots])
        assert not full["weights"][:, slots:].any()
        assert (other.lengths <= width).all()


def test_a_compiled_model_has_the_lengths_of_every_batch(corpus):
    """A batch without padding would have another graph, which each process of a group would compile alone."""
    batch = Batches(SMOKE, corpus, trimmed=False).batch(0)
    full = batch.rows((batch.lengths == 32).nonzero()[0][:1])
    trimmed, whole = (PretrainingDataModule(SMOKE, corpus, trimmed=each) for each in (True, False))
    assert trimmed.tensors(full).lengths["inputs"] is None
    assert whole.tensors(full).lengths["inputs"].tolist() == [32]
    for data in (trimmed, whole):
        data.setup("fit")
        padded = {batch.lengths["inputs"] is not None for loader in data.val_dataloader() for batch in loader}
        assert True in padded
        assert data is trimmed or padded == {True}


@pytest.mark.skipif(not has_compiler(), reason="there is no compiler on this machine")
@pytest.mark.filterwarnings(*OF_TORCH)
def test_a_compiled_training_is_the_same_one(corpus, machine, tmp_path, monkeypatch):
    """Its losses are those of the other up to rounding and dropout's masks, and stopping it changes no bit."""
    monkeypatch.setattr("bertlab.machine.COMPILE_MIN_STEPS", 1)
    compiled = dataclasses.replace(machine, compile="yes")
    shape = dataclasses.replace(SMOKE.model, layers=1)
    recipe = dataclasses.replace(SMOKE, model=shape, **OBJECTIVES["full sentences"])
    plain, whole, stopped = (tmp_path / name for name in ("plain", "whole", "stopped"))
    for work in (plain, whole, stopped):
        work.mkdir()
    pretrain(recipe, corpus, plain, dataclasses.replace(machine, compile="no"), (100,), silent)
    pretrain(recipe, corpus, whole, compiled, (100,), silent)
    losses = [[line["loss"] for line in lines(work) if "loss" in line] for work in (plain, whole)]
    assert losses[0] == pytest.approx(losses[1], rel=0.05)
    assert losses[0] != losses[1]

    def ask(done, total, stage="", /, **figures):
        if done == 7:
            signals._received.append(2)

    monkeypatch.setattr(signals, "_received", [])
    with pytest.raises(Interrupted):
        pretrain(recipe, corpus, stopped, compiled, (100,), ask)
    signals._received.clear()
    assert checkpoints.newest(stopped).step == 7
    pretrain(recipe, corpus, stopped, compiled, (100,), silent)
    assert (stopped / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert (stopped / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize("optimizer", [AdamW(), AdamW(bias_correction=False), LAMB(), Adafactor()])
def test_an_optimiser_holds_still_from_the_first_broken_step_on(optimizer):
    """It is found within the update, after the gradients, as in Lightning's automatic optimisation."""
    module = torch.nn.Linear(2, 1)
    made = optimization.build(module, optimizer)  # at the whole of a rate of 1
    for loss, gradient, moves in ((1.0, 1.0, True), (math.nan, math.inf, False), (1.0, 1.0, False)):

        def closure(loss=loss, gradient=gradient):
            module.weight.grad, module.bias.grad = torch.full((1, 2), gradient), torch.ones(1)
            return optimization.clip(made, 1.0, torch.tensor(loss))

        before = [value.detach().clone() for value in module.parameters()]
        made.step(closure)
        for old, new in zip(before, module.parameters(), strict=True):
            assert (not torch.equal(old, new)) == moves


@pytest.mark.parametrize(
    ("asked", "changed", "there", "expected"),
    [
        ({}, {"steps": 5000}, True, False),
        ({"gpus": 1}, {"steps": 20}, True, False),
        ({"gpus": 1}, {"steps": 5000}, True, True),
        ({"gpus": 1}, {"steps": 5000}, False, False),
        ({"gpus": 1, "compile": "no"}, {"steps": 5000}, True, False),
        ({"compile": "yes"}, {"steps": 20}, True, True),
        ({"gpus": 1, "compile": "graphs"}, {"steps": 20}, True, True),
    ],
)
def test_long_trainings_on_a_gpu_are_compiled_where_there_is_a_compiler(monkeypatch, asked, changed, there, expected):
    monkeypatch.setattr("bertlab.machine.has_compiler", lambda: there)
    machine = Machine(**asked)
    schedule = dataclasses.replace(STILL.schedule, **changed)
    assert machine.compiles(dataclasses.replace(STILL, schedule=schedule)) == expected
    assert machine.compiles(dataclasses.replace(SMOKE, schedule=schedule)) == expected, "dropout compiles too"
    options = machine.compile_options(dataclasses.replace(STILL, schedule=schedule))
    assert options.get("mode") == ("reduce-overhead" if machine.compile == "graphs" else None)
    assert ("options" in options) == (not machine.gpus and schedule.steps == 5000)
    counted = dataclasses.replace(STILL, schedule=schedule, **OBJECTIVES["documents"])
    assert not machine.compiles(counted)


def test_the_tests_on_a_gpu_run_where_few_packages_are():
    """Some of each file, without a GPU: a bare machine that has one can run them all."""
    absent = ("ray", "datasets", "sentencex", "seqeval", "playwright")
    chosen = "(losses and next) or (logits and left) or pairs or features or (resumed and no and fp32)"
    asked = ["-m", "gpu", "-k", f"not bf16 and not compiled and ({chosen})", "-p", "no:cacheprovider"]
    files = ["tests/gpu/test_pretraining.py", "tests/gpu/test_tasks.py"]
    program = f"import sys; sys.modules.update(dict.fromkeys({absent})); import pytest; pytest.main({asked + files})"
    root = Path(__file__).parents[2]
    environment = {**os.environ, "BERTLAB_GPU_TESTS": "cpu", "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", program]
    ended = subprocess.run(
        command, check=False, cwd=root, env=environment, capture_output=True, text=True, timeout=1800
    )
    assert "= 6 passed, " in ended.stdout, ended.stdout[-3000:]
