"""Pre-training on a GPU beside the CPU: every objective, precision and way to compile; resume; memory."""

import dataclasses
import json

import pytest
import torch

from bertlab import progress as signals
from bertlab.inputs.batches import Batches
from bertlab.lab import scales
from bertlab.machine import has_compiler
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.objectives import CausalLM, MaskedLM
from bertlab.progress import Interrupted, silent
from bertlab.recipe import Inputs, Model, Schedule
from bertlab.training import checkpoints
from bertlab.training.data import to_tensors
from bertlab.training.pretraining import pretrain

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*not a leaf Tensor"),  # of torch, compiling
]

SMOKE = scales.find("smoke").recipe  # 20 steps, dropout 0.1
STILL = dataclasses.replace(SMOKE, model=dataclasses.replace(SMOKE.model, dropout=0.0))
ALONE = (MaskedLM(),)
OBJECTIVES = {
    "next sentence": {},
    "masked": {"objective": ALONE, "inputs": Inputs(length=32, format="full-sentences")},
    "documents": {"objective": ALONE, "inputs": Inputs(length=32, format="doc-sentences")},
    "left to right": {"objective": (CausalLM(),)},
    "learned positions": {"model": dataclasses.replace(STILL.model, positions="learned")},
}
each_objective = pytest.mark.parametrize("objective", OBJECTIVES)
COMPILED = [
    pytest.param(way, marks=pytest.mark.skipif(not has_compiler(), reason="there is no compiler on this machine"))
    for way in ("yes", "graphs")
]


def lines(work):
    return [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def reference(corpus, cpu, tmp_path_factory):
    """What the CPU trains: the directory of each objective."""
    made = {}

    def trained(objective):
        if objective not in made:
            made[objective] = tmp_path_factory.mktemp("reference")
            pretrain(
                dataclasses.replace(STILL, **OBJECTIVES[objective]), corpus, made[objective], cpu, (50, 100), silent
            )
        return made[objective]

    return trained


@pytest.fixture
def alike(reference, corpus, tmp_path):
    """Trains on a machine, whose every loss must be that of the CPU up to `tolerance`; the losses of both."""

    def check(objective, machine, tolerance):
        wanted = lines(reference(objective))
        pretrain(dataclasses.replace(STILL, **OBJECTIVES[objective]), corpus, tmp_path, machine, (50, 100), silent)
        found = lines(tmp_path)
        assert len(found) == len(wanted) == 22
        for one, two in zip(wanted, found, strict=True):
            # A share of predictions moves by whole ones.
            losses = [{name: value for name, value in line.items() if "accuracy" not in name} for line in (one, two)]
            assert losses[1] == pytest.approx(losses[0], rel=tolerance)
        return wanted, found

    return check


@each_objective
def test_losses_are_those_of_the_cpu(reference, alike, card, objective):
    reference(objective)
    alike(objective, card(), 1e-4)


@each_objective
def test_logits_are_those_of_the_cpu(reference, corpus, card, objective):
    recipe = dataclasses.replace(STILL, **OBJECTIVES[objective])
    model = PretrainingModel.of(recipe, corpus.tokenizer.size)
    model.load(reference(objective) / "model.safetensors")
    batch = Batches(recipe, corpus).batch(30)

    def logits(device):
        parts = to_tensors(batch).to(device)
        with torch.inference_mode():
            model.to(device).eval()
            return [model.logits(parts, loss.kind).cpu() for loss in recipe.objective]

    wanted, found = logits("cpu"), logits(card().device)
    for one, two in zip(wanted, found, strict=True):
        torch.testing.assert_close(two, one, rtol=0.0, atol=1e-4 * float(one.abs().max()))


def test_activations_have_the_type_of_autocast(corpus, card):
    device = card().device
    encoder = PretrainingModel.of(STILL, corpus.tokenizer.size).to(device).encoder
    tokens = torch.zeros((2, 32), dtype=torch.long, device=device)
    with torch.autocast(device, dtype=torch.bfloat16):
        assert {each.dtype for each in encoder.hidden_states(TensorBatch.of(tokens))} == {torch.bfloat16}


@each_objective
def test_bf16_is_close(reference, alike, card, objective):
    reference(objective)
    wanted, found = alike(objective, card(precision="bf16"), 0.02)
    assert wanted != found


@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("objective", [name for name in OBJECTIVES if name != "documents"])
def test_compiled_losses_are_those_of_the_cpu(reference, alike, card, objective, way):
    """Documents are not compiled: their batches differ in rows."""
    reference(objective)
    machine = card(way)
    assert machine.compiles(dataclasses.replace(STILL, **OBJECTIVES[objective]))
    alike(objective, machine, 1e-4)


@pytest.mark.parametrize("objective", ["next sentence", "left to right"])
def test_micro_batches_change_no_loss(reference, alike, card, objective):
    reference(objective)
    alike(objective, card(micro_batch=3), 1e-4)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("way", ["no", *COMPILED])
def test_stopped_and_resumed_equals_never_stopped(corpus, card, tmp_path, monkeypatch, way, precision):
    """To the bit, with dropout on."""

    def ask(done, total, stage="", /, **figures):
        if done == 7:
            signals._received.append(2)

    monkeypatch.setattr(signals, "_received", [])
    machine = card(way, precision)
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    whole.mkdir()
    stopped.mkdir()
    pretrain(SMOKE, corpus, whole, machine, (50, 100), silent)
    with pytest.raises(Interrupted):
        pretrain(SMOKE, corpus, stopped, machine, (50, 100), ask)
    signals._received.clear()
    assert checkpoints.newest(stopped).step == 7
    pretrain(SMOKE, corpus, stopped, machine, (50, 100), silent)
    for name in ("metrics.jsonl", "model.safetensors"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()


def test_memory_is_bounded_and_micro_batches_need_less(corpus, card, tmp_path):
    """BERT-base at 32 sequences of 128 tokens in bf16. Weights, gradients and moments are 1.4 GB; with activations and
    copies in bf16 about 3.4 GB are to be expected."""
    if not torch.cuda.is_available():
        pytest.skip("only a GPU says how much memory was used")
    recipe = dataclasses.replace(
        SMOKE,
        model=Model(layers=12, hidden=768, heads=12),
        inputs=Inputs(length=128),
        schedule=Schedule(batch_size=32, steps=3),
    )
    peaks = []
    for micro_batch in (0, 8):
        work = tmp_path / str(micro_batch)
        work.mkdir()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        pretrain(recipe, corpus, work, card(precision="bf16", micro_batch=micro_batch), (100,), silent)
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[0] < 5e9
    assert peaks[1] < 0.8 * peaks[0]
