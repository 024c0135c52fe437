"""Pre-training (BERT section 3.1 and appendix A.2): a Lightning module and data module, resumed to the bit.

Each loss of the objective is its sum over the predictions divided by their count in the global batch, and the losses
are added: never a mean of means, so splitting a batch does not change it. Processes of a group each take a share of its
rows, and gradients and losses are summed over them.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningDataModule, LightningModule, Trainer
from lightning.pytorch.strategies import Strategy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

from bertlab.errors import RunFailed
from bertlab.inputs.batches import Batches
from bertlab.inputs.collator import Batch
from bertlab.keyed import key
from bertlab.machine import Machine
from bertlab.model.dropout import seed_dropout
from bertlab.model.heads import PretrainingModel
from bertlab.progress import Interrupted, Progress, stop_if_asked
from bertlab.recipe import Recipe
from bertlab.recipe.cost import tokens
from bertlab.recipe.identity import identity
from bertlab.store.faults import point
from bertlab.store.files import append_line, read_lines, write
from bertlab.text.tokens import TokenisedCorpus
from bertlab.training import checkpoints, evaluation, optimization
from bertlab.training.figures import Figures, check
from bertlab.training.logs import NOWHERE, Log, Pace
from bertlab.training.share import ALONE, Share
from bertlab.training.trainer import Watch, fit, trainer

EVALUATION_ROWS = 1024
"""Held-out sequences that the final evaluation reads; milestones read a quarter of them."""

SECONDS_BETWEEN_CHECKPOINTS = 60.0


class Pretraining(LightningModule):
    """One update a step on the batch of that step: of its share of the rows, in micro-batches if asked."""

    def __init__(self, recipe: Recipe, model: PretrainingModel, machine: Machine, share: Share = ALONE) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.recipe, self.model, self.machine, self.share = recipe, model, machine, share
        if machine.compiles(recipe):
            model.compile_losses(graphs=machine.compile == "graphs")
        self.optimizer = optimization.build(model, recipe.optimizer)
        self.step = 0
        """Updates done."""
        self.pending = Figures()
        """What is not yet in the sums: the losses of this process, and the gradient's norm, of the latest steps."""
        self.tokens = 0
        """Tokens of the global batches that it was given, padding included."""
        self.sums = torch.zeros(len(recipe.objective) + 1, dtype=torch.float64)
        """Each loss of the objective, and the steps since the last logged line, of all processes."""
        self.figures: dict[str, float] = {}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """The optimiser, its moments as they were restored."""
        return self.optimizer

    def training_step(self, batch: Batch, index: int) -> None:
        """Forward, backward and update of step `self.step` on the global batch."""
        recipe, objective = self.recipe, self.recipe.objective
        counts = {loss.kind: loss.count(batch.arrays[loss.kind]) for loss in objective}
        pieces = self.share.micro_batches(len(batch.tokens), self.machine.micro_batch)
        begin, end = (pieces[0][1], pieces[-1][2]) if pieces else (0, 0)
        own = batch.take(begin, end)
        parts = evaluation.on_device(own, self.device.type)
        if (own.lengths == own.tokens.shape[1]).all():
            parts = dataclasses.replace(parts, lengths=None)  # no padding, no mask
        losses = torch.zeros(len(objective), dtype=torch.float64, device=self.device)
        for number, low, high in pieces:
            seed_dropout(key(recipe.seed, "dropout", self.step, number))
            sums = self.model.losses(parts.take(low - begin, high - begin))
            means = [sums[kind] / count for kind, count in counts.items()]
            with self._summed(high == end):
                self.manual_backward(sum(means[1:], means[0]) * self.share.ranks)  # DDP averages: undo it
            losses += torch.stack([sums[kind].detach().double() / count for kind, count in counts.items()])
        if not pieces:  # the others wait for its gradients: zeros
            self.manual_backward(0.0 * next(self.model.parameters()).sum())
        optimizer = self.optimizers()
        assert isinstance(optimizer, torch.optim.Optimizer)  # Lightning's wrapper, which counts the steps
        norm = optimization.update(
            optimizer, recipe.schedule.learning_rate(self.step), recipe.optimizer.max_grad_norm, losses.sum()
        )
        self.pending.add(*losses, norm)
        self.step += 1
        if self.pending.due:
            self.settle()
        self.tokens += batch.tokens.size
        point("step")

    def settle(self) -> None:
        """Adds what is pending to the sums. All processes call it after the same step.

        Raises `RunFailed`, status `diverged`, on all of them if a figure of any of them is not finite.
        """
        rows = self.pending.read()
        totals = self.share.total(*(figure for row in rows for figure in row))
        width = len(self.recipe.objective) + 1
        for place, step in enumerate(range(self.step - len(rows), self.step)):
            *losses, norm = totals[place * width : (place + 1) * width]
            check(step, sum(losses), norm)
            self.sums += torch.tensor([*losses, 1.0], dtype=torch.float64)
            self.figures = {"loss": sum(losses)}

    def _summed(self, last: bool) -> AbstractContextManager[None]:
        """Within it, gradients go to the other processes only with the `last` micro-batch."""
        model = self.trainer.model
        return model.no_sync() if isinstance(model, DistributedDataParallel) and not last else nullcontext()


class PretrainingData(LightningDataModule):
    """Batch after batch from step `start`, each a pure function of the recipe and the step."""

    def __init__(self, batches: Batches, start: int, steps: int) -> None:
        super().__init__()
        self.batches, self.start, self.steps = batches, start, steps

    def train_dataloader(self) -> DataLoader[Batch]:
        """The stream, without worker processes: a batch costs far less than a step."""
        return DataLoader(_Stream(self.batches, self.start, self.steps), batch_size=None, num_workers=0)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """Leaves the batch as arrays: the module takes what it needs to the device."""
        return batch


class _Stream(IterableDataset[Batch]):
    def __init__(self, batches: Batches, start: int, steps: int) -> None:
        self.batches, self.start, self.steps = batches, start, steps

    def __iter__(self) -> Iterator[Batch]:
        for step in range(self.start, self.steps):
            yield self.batches.batch(step)


class Journal(Callback):
    """Writes the curves, evaluates and keeps weights at milestones, and saves checkpoints.

    All processes of a group evaluate together; the first one writes.
    """

    def __init__(
        self,
        work: Path,
        corpus: TokenisedCorpus,
        recipe: Recipe,
        milestones: Sequence[int],
        machine: Machine,
        trained: str,
        share: Share,
        log: Log,
        watch: Watch,
    ) -> None:
        """`trained` names the recipe and the text in checkpoints; `watch`, called first, says when to save."""
        self.work, self.recipe, self.machine, self.trained, self.share = work, recipe, machine, trained, share
        self.told, self.pace, self.watch = log, Pace(), watch
        self.milestones = {recipe.schedule.milestone(each) for each in milestones}
        self.interval = max(1, recipe.schedule.steps // 100)
        self.heldout = evaluation.Heldout(recipe, corpus, EVALUATION_ROWS // 4)
        self.clock = time.monotonic()

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: object) -> None:
        """Logs at every hundredth of the steps, evaluates at milestones, and saves when `watch` says so."""
        assert isinstance(pl_module, Pretraining)
        step, schedule = pl_module.step, self.recipe.schedule
        if step % self.interval == 0 or step == schedule.steps:
            pl_module.settle()
            *losses, count = pl_module.sums.tolist()
            pl_module.sums.zero_()
            line = {"step": step, "loss": sum(losses) / count}
            for each, total in zip(self.recipe.objective, losses, strict=True):
                line[f"{each.kind}_loss"] = total / count
            line["learning_rate"] = schedule.learning_rate(step - 1)
            point("journal.line")
            self._append("metrics", line)
            pace = {"tokens_per_second": self.pace(pl_module.tokens)}
            self.told(step, {f"train/{name}": value for name, value in (line | pace).items() if name != "step"})
        with self.pace.paused():
            if step in self.milestones:
                self._milestone(pl_module, step)
            if self.watch.saving:
                self.save(pl_module)

    def save(self, module: Pretraining) -> None:
        """A checkpoint to resume from; not of the last step, after which the run is finished at once."""
        module.settle()
        self._time("train", module.step)
        if self.share.first and module.step < self.recipe.schedule.steps:
            state = {"step": module.step, "sums": module.sums.tolist(), "trained": self.trained}
            checkpoints.save(self.work, module.model, module.optimizer, state)
        self.watch.saved()

    def _milestone(self, module: Pretraining, step: int) -> None:
        module.settle()  # nothing is kept of a training that diverged
        self._time("train", step)
        point("evaluation.begin")
        figures = self.heldout.figures(module.model, self.machine, self.share)
        line = {"step": step, **{f"heldout_{name}": value for name, value in figures.items()}}
        self._append("metrics", line)
        self.told(step, {f"heldout/{name}": value for name, value in figures.items()})
        point("evaluation.done")
        if self.share.first and step < self.recipe.schedule.steps:
            folder = self.work / "milestones"
            folder.mkdir(exist_ok=True)
            point("milestone.weights")
            module.model.save(folder / f"step-{step:08d}.safetensors")
            point("milestone.done")
        self._time("evaluate", step)

    def _time(self, stage: str, step: int) -> None:
        now = time.monotonic()
        self._append("timing", {"stage": stage, "step": step, "seconds": round(now - self.clock, 3)})
        self.clock = now

    def _append(self, name: str, record: dict[str, Any]) -> None:
        if self.share.first:
            append_line(self.work / f"{name}.jsonl", record)


def pretrain(
    recipe: Recipe,
    corpus: TokenisedCorpus,
    work: Path,
    machine: Machine,
    milestones: Sequence[int],
    progress: Progress,
    share: Share = ALONE,
    strategy: Strategy | None = None,
    log: Log = NOWHERE,
) -> dict[str, Any]:
    """Trains a recipe in the directory `work`, from its newest checkpoint if it has one, and returns the result.

    Leaves `model.safetensors`, `vocab.txt`, `metrics.jsonl` (losses in nats; no clock), `timing.jsonl` (seconds) and
    `milestones/`. Raises `RunFailed` when a loss or gradient is not finite, `Interrupted` after saving when a signal
    came.

    Each process of a group calls it with its `share` and the `strategy` that sums gradients, torch's process group
    being there. The first one writes; all of them end alike, after the same step.
    """
    recipe = recipe.declared
    model = PretrainingModel.of(recipe, corpus.tokenizer.size)
    model.to(machine.device).train()
    module = Pretraining(recipe, model, machine, share)
    trained = identity("pretrain", recipe=recipe, corpus=corpus.facts["fingerprint"])
    checkpoint = checkpoints.newest(work, trained)
    if checkpoint is not None:
        checkpoints.restore(checkpoint, model, module.optimizer)
        module.step, module.sums = checkpoint.step, torch.tensor(checkpoint.state["sums"], dtype=torch.float64)
    total, squares = share.total(module.step, module.step**2)
    if squares * share.ranks != total**2:  # equal steps alone; every process finds the same
        raise RunFailed(f"the processes of the group do not read the same checkpoint in '{work}'")
    if share.first:
        _cut_back(work, module.step)
    steps = recipe.schedule.steps
    batches = Batches(recipe, corpus, trimmed=not machine.compiles(recipe))
    if module.step < steps:
        watch = Watch(progress, steps, "pre-training", module.step, share, SECONDS_BETWEEN_CHECKPOINTS)
        journal = Journal(work, corpus, recipe, milestones, machine, trained, share, log, watch)
        data = PretrainingData(batches, module.step, steps)
        fit(trainer(machine, steps - module.step, [watch, journal], strategy), module, data)
        if module.step < steps:
            share.wait()  # for the checkpoint
            stop_if_asked()
            raise Interrupted(signal.SIGTERM)  # another process of the group was asked
    began = time.monotonic()
    model.to(machine.device)  # from where Lightning has brought it
    point("pretrain.result")
    result = _result(recipe, corpus, model, batches, machine, share)
    if share.first:
        point("model.weights")
        model.save(work / "model.safetensors")
        point("model.done")
        corpus.tokenizer.save(work / "vocab.txt")
        seconds = round(time.monotonic() - began, 3)
        append_line(work / "timing.jsonl", {"stage": "evaluate", "step": steps, "seconds": seconds})
    log.result(steps, result["heldout"])
    return result


def _result(
    recipe: Recipe, corpus: TokenisedCorpus, model: PretrainingModel, batches: Batches, machine: Machine, share: Share
) -> dict[str, Any]:
    figures = evaluation.Heldout(recipe, corpus, EVALUATION_ROWS, final=True).figures(model, machine, share)
    return {
        "status": "done",
        "steps": recipe.schedule.steps,
        "tokens": tokens(recipe),
        "real_tokens": batches.tokens(recipe.schedule.steps),
        "parameters": sum(value.numel() for value in model.parameters()),
        "vocabulary": corpus.tokenizer.size,
        "heldout": figures,
        "judged_by": next((loss.judged_by for loss in recipe.objective if loss.judged_by), ""),
        "unigram_entropy": corpus.facts["unigram_entropy"],
        "corpus": [source.name for source in recipe.corpus.sources],
        "pair_balance": _pair_balance(recipe, batches),
    }


def _pair_balance(recipe: Recipe, batches: Batches) -> float | None:
    """Share of pairs, in the first batches, of which the second segment follows the first; None without pairs."""
    if not recipe.inputs.pairs:
        return None
    steps = range(min(32, recipe.schedule.steps))
    followed = [float((batches.batch(step).random_second == 0).mean()) for step in steps]
    return sum(followed) / len(followed) if followed else None


def _cut_back(work: Path, step: int) -> None:
    """Drops what was logged after the checkpoint that the run goes on from."""
    point("journal.cut")
    for name in ("metrics.jsonl", "timing.jsonl"):
        path = work / name
        if path.exists():
            kept = [record for record in read_lines(path) if record.get("step", step + 1) <= step]
            write(path, "".join(json.dumps(record) + "\n" for record in kept))
    for path in (work / "milestones").glob("step-*.safetensors"):
        if int(path.stem.removeprefix("step-")) > step:
            path.unlink()
