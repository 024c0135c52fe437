"""A Trainer of the user's own trains what the recipe says, or ends in one line before the first step."""

import dataclasses
import logging
import re
from pathlib import Path

import pandas
import pytest
import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.plugins import MixedPrecision

from bertlab.errors import BadInput
from bertlab.lab import scales
from bertlab.objectives import MaskedLM
from bertlab.training.data import PretrainingDataModule
from bertlab.training.pretraining import PretrainingModule

pytestmark = pytest.mark.filterwarnings("ignore")  # Lightning's advice
SMOKE = scales.find("smoke").recipe
SCALED = MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu"))
SHORT = dataclasses.replace(SMOKE, schedule=dataclasses.replace(SMOKE.schedule, steps=6))


class Steps(Callback):
    """The updates done before each batch, and the batches."""

    def __init__(self):
        self.read = []

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.read.append((trainer.global_step, batch.sequences.tokens))


def own(tmp_path, *callbacks, **options):
    """A Trainer without progress on the console."""
    options = {"logger": False, "enable_checkpointing": bool(callbacks), **options}
    return Trainer(
        accelerator="cpu", callbacks=list(callbacks), enable_progress_bar=False, enable_model_summary=False,
        default_root_dir=tmp_path, **options,
    )  # fmt: skip


def test_without_max_steps_the_schedule_is_trained_once_under_the_numbers_of_its_updates(corpus, tmp_path, caplog):
    """Also in epochs of four batches: the second one goes on with the fifth."""
    with caplog.at_level(logging.INFO, logger="lightning.pytorch.utilities.rank_zero"):
        steps, kept = Steps(), ModelCheckpoint(tmp_path, every_n_train_steps=3, save_top_k=-1)
        trainer = own(tmp_path, steps, kept, logger=CSVLogger(tmp_path), limit_train_batches=4)
        data, module = PretrainingDataModule(SHORT, corpus), PretrainingModule(SHORT, corpus.tokenizer.size)
        trainer.fit(module, data)
    assert [step for step, _ in steps.read] == [0, 1, 2, 3, 4, 5]
    for (_, tokens), batch in zip(steps.read, PretrainingDataModule(SHORT, corpus).train_dataloader(), strict=True):
        assert torch.equal(tokens, batch.sequences.tokens)
    assert sorted(path.name for path in tmp_path.glob("*.ckpt")) == ["epoch=0-step=3.ckpt", "epoch=1-step=6.ckpt"]
    curve = pandas.read_csv(tmp_path / "lightning_logs" / "version_0" / "metrics.csv")
    assert [*curve.dropna(subset="train/loss").step] == [1, 2, 3, 4, 5, 6]
    assert [*curve.dropna(subset="heldout/masked_lm_loss").step] == [4, 6]
    assert {"train/loss", "heldout/masked_lm_loss"} <= {*trainer.callback_metrics}
    assert "Tip" not in caplog.text

    loaded = PretrainingModule.load_from_checkpoint(tmp_path / "epoch=1-step=6.ckpt")
    assert loaded.recipe == SHORT
    for (name, value), other in zip(loaded.model.named_parameters(), module.model.parameters(), strict=True):
        assert torch.equal(value, other), name


class PlainSGD(PretrainingModule):
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PretrainingModule, {"max_steps": 9}, "max_steps=9, .* scheduled over 6: give it max_steps=6"),
        (PretrainingModule, {"accumulate_grad_batches": 2}, "accumulate_grad_batches=2, .* give it .*=1; "),
        (PretrainingModule, {"precision": "bf16-true"}, "precision='bf16-true': give it '32-true' or 'bf16-mixed'"),
        (PretrainingModule, {"plugins": [SCALED]}, "precision='16-mixed': give it '32-true' or 'bf16-mixed'"),
        (PlainSGD, {"max_steps": 6}, "PlainSGD.configure_optimizers returns a torch.optim.SGD without fused=True"),
    ],
    ids=["steps", "accumulation", "precision of weights", "scaled gradients", "optimiser"],
)
def test_what_would_train_something_else_is_one_line(corpus, tmp_path, kind, options, message):
    data, module = PretrainingDataModule(SHORT, corpus), kind(SHORT, corpus.tokenizer.size)
    before = [value.clone() for value in module.parameters()]
    with pytest.raises(BadInput, match=message):
        own(tmp_path, **options).fit(module, data)
    assert all(map(torch.equal, before, module.parameters()))


def test_micro_batches_need_their_accumulation(corpus, tmp_path):
    data, module = PretrainingDataModule(SHORT, corpus, micro_batch=3), PretrainingModule(SHORT, corpus.tokenizer.size)
    assert data.micro_batches() == 3
    with pytest.raises(BadInput, match="give it accumulate_grad_batches=3"):
        own(tmp_path, max_steps=6).fit(module, data)
    with pytest.raises(BadInput, match="after 4 parts, within a step of 3: give it multiples of 3"):
        own(tmp_path, max_steps=6, accumulate_grad_batches=3, limit_train_batches=4).fit(module, data)


def test_data_of_another_recipe_and_a_bare_loader_are_one_line(corpus, tmp_path):
    other = dataclasses.replace(SHORT, objective=(MaskedLM(),))
    module = PretrainingModule(SHORT, corpus.tokenizer.size)
    with pytest.raises(BadInput, match="module and data differ in objective"):
        own(tmp_path, max_steps=6).fit(module, PretrainingDataModule(other, corpus))
    loader = PretrainingDataModule(SHORT, corpus).train_dataloader()
    with pytest.raises(BadInput, match=r"call trainer.fit\(module, data\)"):
        own(tmp_path, max_steps=6).fit(module, loader)


def test_loaders_by_themselves_read_from_the_first_batch(corpus):
    data = PretrainingDataModule(SHORT, corpus, micro_batch=3)
    first, *_ = batches = list(data.train_dataloader())
    assert len(batches) == 6 * 3
    whole = data.batches.batch(0).tokens
    assert torch.equal(first.sequences.tokens, torch.from_numpy(whole[: len(first.sequences.tokens)]))
    (batch, *_), *_ = data.val_dataloader()
    assert torch.equal(batch.tokens, torch.from_numpy(data.evaluations[0].batches[0].tokens))


def test_the_fabric_loop_of_the_page_trains_as_the_trainer_does(corpus, tmp_path):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "lightning.md"
    (block,) = re.findall(r"```python\n([^`]*Fabric\(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    recipe = dataclasses.replace(SMOKE, schedule=dataclasses.replace(SMOKE.schedule, steps=3))
    data, trained = PretrainingDataModule(recipe, corpus), PretrainingModule(recipe, corpus.tokenizer.size)
    own(tmp_path, max_steps=3, limit_val_batches=0).fit(trained, data)
    modules = {"PretrainingDataModule": PretrainingDataModule, "PretrainingModule": PretrainingModule}
    names = {"recipe": recipe, "corpus": corpus, **modules}
    exec(compile(block, page.name, "exec"), names)
    for (name, value), other in zip(names["module"].model.named_parameters(), trained.model.parameters(), strict=True):
        torch.testing.assert_close(value, other, msg=name)
