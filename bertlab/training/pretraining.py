"""Pre-training (BERT section 3.1 and appendix A.2): a Lightning module, resumed to the bit.

Each loss of the objective is its sum over the predictions divided by their count in the global batch, and the losses
are added: never a mean of means, so splitting a batch does not change it. Processes of a group each take their share of
its sequences, and gradients and losses are summed over them.
"""

import dataclasses
import json
import math
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import Strategy
from torch import Tensor

from bertlab.errors import BadInput, RunFailed
from bertlab.inputs.batches import Batches
from bertlab.inputs.words import revisions, words_read
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.model.streams import TensorBatch
from bertlab.progress import Progress
from bertlab.recipe import Loss, Recipe
from bertlab.recipe.cost import tokens
from bertlab.recipe.identity import identity, load, to_canonical
from bertlab.store.files import read_lines
from bertlab.store.run import TRUNKS
from bertlab.store.writes import append_line, remove, write
from bertlab.text.tokens import TokenisedCorpus
from bertlab.training import checkpoints
from bertlab.training.callbacks import ProgressCallback, RunDirectory, StopOnSignal
from bertlab.training.checkpoints import SafetensorsIO, SavedState
from bertlab.training.data import MicroBatch, PretrainingDataModule
from bertlab.training.loggers import CurveLogger, JsonLinesLogger, ThroughputMeter
from bertlab.training.module import TrainingModule, require_finite, require_scalar
from bertlab.training.process_group import SINGLE, ProcessGroup
from bertlab.training.trainer import quiet, trainer
from bertlab.training.trunks import History, TrunkDirectory, TrunkEnds, TrunkState, steps_before
from bertlab.wording import join_words

SECONDS_BETWEEN_SPEEDS = 5.0
"""Seconds between updates of the throughput that progress shows."""


class PretrainingModule(TrainingModule):
    """The model of a recipe, trained on a `PretrainingDataModule` and evaluated on its held-out text.

    It logs the means of the losses since the line before (`train/loss`, `train/<kind>_loss`, nats), the learning rate
    and `throughput/tokens_per_second` at every hundredth of the steps, and `heldout/...` after each validation. Raises
    `BadInput` before the first step for a Trainer, data or an optimiser with which it would train something else.
    """

    def __init__(self, recipe: Recipe | Mapping[str, Any], vocab_size: int) -> None:
        """`recipe` may also be its canonical JSON data, as Lightning keeps it in a checkpoint."""
        recipe = (load(Recipe, recipe) if isinstance(recipe, Mapping) else recipe).declared
        super().__init__(recipe.schedule, recipe.optimizer)
        self.save_hyperparameters({"recipe": to_canonical(recipe), "vocab_size": vocab_size})
        self.recipe, self.model = recipe, PretrainingModel.of(recipe, vocab_size)
        self._objectives = [stage.objective for stage, steps in recipe.stages for _ in range(steps)]
        """Of each step, as the numbers of the losses may change."""
        self.sums = torch.zeros(len(recipe.objective) + 1, dtype=torch.float64)
        """Each loss of the objective, and the steps, since the last logged line, of all processes."""
        self.progress_metrics: dict[str, float] = {}  # the loss of the latest step, and tokens per second
        self.heldout: dict[str, float] = {}
        """What the latest validation found: losses in nats, and the metrics of the objective."""
        self.throughput, self.tokens = ThroughputMeter(), 0
        self.recent = ThroughputMeter()  # for the progress, at shorter intervals
        self._totals: list[dict[str, float]] = []
        self.history: History | None = None
        """What a trunk keeps for the curves of the runs that go on from it."""
        self.milestones: Collection[int] | None = None
        """The milestones of a run that goes on from a trunk; None for one that does not."""
        self._past = History()

    @property
    def group(self) -> ProcessGroup:
        """The place of this process among those of the Trainer."""
        return ProcessGroup(self.trainer.global_rank, self.trainer.world_size)

    @property
    def micro_batches(self) -> int:
        """The micro-batches of its data."""
        return self._data.micro_batches(self.trainer.world_size)

    def setup(self, stage: str) -> None:
        """Gives the model the tokenizer of the text. Raises `BadInput` for a Trainer of another precision."""
        super().setup(stage)
        self.model.tokenizer = self._data.corpus.tokenizer

    def on_fit_start(self) -> None:
        """Raises `BadInput` for a Trainer that would train something else, and for data of another recipe."""
        data = self._data.recipe
        fields = ("objective", "inputs", "multitask", "schedule", "tokenizer")
        if other := [name for name in fields if getattr(data, name) != getattr(self.recipe, name)]:
            raise BadInput(f"module and data differ in {join_words(other)}: make both from the same recipe")
        super().on_fit_start()

    def on_train_start(self) -> None:
        """Sets what `training_step` multiplies losses by, for the statistics of gradients."""
        super().on_train_start()
        for norm in self.running_norms:
            norm.loss_scale = float(self.trainer.world_size)
        self._repeat_curve()

    def total(self, values: Tensor) -> Tensor:
        """The sum of `values` over the processes."""
        return self.group.summed(values)

    def training_step(self, batch: MicroBatch, batch_idx: int) -> Tensor:
        """The loss of a micro-batch: its part of the mean over the predictions of the whole batch."""
        self.seed_dropout(self.recipe.seed, "dropout", self.global_step, batch.number)
        if not len(batch.sequences.tokens):  # the others wait for its gradients: zeros
            self.add_losses(*[torch.zeros((), device=self.device) for _ in batch.counts])
            return 0.0 * next(self.model.parameters()).sum()
        self.model.objective = self._objectives[self.global_step]
        sums = self.model.losses(batch.sequences)
        self.model.objective = self.recipe.objective
        for objective_loss in self.recipe.objective:
            require_scalar(sums[objective_loss.kind], objective_loss, "loss_sum")
        self.add_losses(*(sums[kind].detach().double() / count for kind, count in batch.counts.items()))
        losses = [sums[kind] / count for kind, count in batch.counts.items()]
        loss = sum(losses[1:], losses[0])
        # DDP averages over processes, the Trainer over micro-batches: both are undone.
        return loss * (self.trainer.world_size * self.trainer.accumulate_grad_batches)

    def on_train_batch_end(self, outputs: Any, batch: MicroBatch, batch_idx: int) -> None:
        """Logs at every hundredth of the steps."""
        super().on_train_batch_end(outputs, batch, batch_idx)
        if not batch.last:
            return
        self.tokens += batch.batch_tokens
        if not self.recent.done:  # the first step does not count: it also compiles
            self.recent(self.tokens)
        elif time.monotonic() - self.recent.since >= SECONDS_BETWEEN_SPEEDS:
            self.progress_metrics["tokens_per_second"] = self.recent(self.tokens)
        if self.at_curve_point(self.global_step):
            self.settle()
            speed = {"throughput/tokens_per_second": self.throughput(self.tokens)}
            self.log_at(self.global_step, self._curve_point(self.global_step) | speed)

    def _curve_point(self, step: int) -> dict[str, float]:
        """The means of the losses since the last point, which begin anew, with the numbers of update number `step`."""
        *losses, count = self.sums.tolist()
        self.sums.zero_()
        line = {"loss": sum(losses) / count}
        for loss, total in zip(self.recipe.objective, losses, strict=True):
            line[f"{loss.kind}_loss"] = total / count / (_mean_share(self.recipe, loss, step, int(count)) or 1.0)
        line["learning_rate"] = self.schedule.learning_rate(step - 1)
        line |= self.recipe.numbers(step - 1)
        return {f"train/{name}": value for name, value in line.items()}

    def _repeat_curve(self) -> None:
        """Logs the steps of the trunk from which it goes on as it would have logged them."""
        past, self._past = self._past, History()
        for step, losses in enumerate(past.losses, start=1):
            self.sums += torch.tensor([*losses, 1.0], dtype=torch.float64)
            if self.at_curve_point(step):
                self.to_loggers(step, self._curve_point(step))
            if step in past.heldout and step in (self.milestones or ()):
                self.to_loggers(step, _heldout(past.heldout[step]))

    def settle(self) -> None:
        """Adds the losses of the latest steps to the sums. All processes call it after the same step.

        Raises `RunFailed`, status `diverged`, on all of them if a loss or gradient of any of them is not finite.
        """
        steps = self.buffer.read()
        totals = self.group.total(*(value for _, values in steps for value in values))
        width = len(self.recipe.objective) + 1
        for index, (step, _) in enumerate(steps):
            *losses, norm = totals[index * width : (index + 1) * width]
            require_finite(step, sum(losses), norm)
            self.sums += torch.tensor([*losses, 1.0], dtype=torch.float64)
            self.progress_metrics["loss"] = sum(losses)
            if self.history is not None:
                self.history.losses.append(losses)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds the sums of the losses since the last logged line, and the history of a trunk."""
        self.settle()
        checkpoint["sums"] = self.sums.tolist()
        if self.history is not None:
            checkpoint["history"] = self.history.to_state()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restores these sums and the history. From the state of a trunk it goes on at the rate of its own schedule."""
        self.sums = torch.tensor(checkpoint["sums"], dtype=torch.float64)
        if self.history is not None and "history" in checkpoint:
            self.history = History.of_state(checkpoint["history"])
        if self.milestones is not None:
            self.sums.zero_()
            self._past = History.of_state(checkpoint["history"])
            rate = self.schedule.learning_rate(checkpoint["global_step"])
            for optimizer, scheduler in zip(checkpoint["optimizer_states"], checkpoint["lr_schedulers"], strict=True):
                scheduler["_last_lr"] = [base * rate for base in scheduler["base_lrs"]]
                for group, group_rate in zip(optimizer["param_groups"], scheduler["_last_lr"], strict=True):
                    group["lr"] = group_rate

    def on_validation_start(self) -> None:
        """Nothing is kept of a training that diverged."""
        self.settle()
        self._began = time.monotonic()
        self._totals = [dict.fromkeys(evaluation.names, 0.0) for evaluation in self._data.evaluations]

    def validation_step(self, batch: TensorBatch, batch_idx: int, dataloader_idx: int = 0) -> None:
        """Adds up what the evaluation number `dataloader_idx` counts; every process takes its own batches."""
        if batch_idx % self.trainer.world_size == self.trainer.global_rank:
            totals = self._totals[dataloader_idx]
            for name, value in self._data.evaluations[dataloader_idx].sums(self.model, batch).items():
                totals[name] += float(value)

    def on_validation_epoch_end(self) -> None:
        """Logs the held-out losses and metrics of all processes together."""
        self.heldout = {}
        for evaluation, totals in zip(self._data.evaluations, self._totals, strict=True):
            summed = self.group.total(*totals.values())
            self.heldout |= evaluation.metrics(dict(zip(totals, summed, strict=True)))
        self.log_at(self.global_step, _heldout(self.heldout))
        if self.history is not None:
            self.history.heldout[self.global_step] = self.heldout
        for meter in (self.throughput, self.recent):
            meter.since += time.monotonic() - self._began  # the validation is not counted

    @property
    def _data(self) -> PretrainingDataModule:
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        if not isinstance(data, PretrainingDataModule):
            raise BadInput("a PretrainingModule reads a PretrainingDataModule: call trainer.fit(module, data) with one")
        return data


def _mean_share(recipe: Recipe, loss: Loss, step: int, count: int) -> float:
    """The mean share of the sequences that a loss has in the `count` updates that end with number `step`, from 1."""
    path = f"{loss.kind}.share"
    if path not in recipe.schedule.over_steps:
        return loss.share
    return math.fsum(recipe.numbers(number)[path] for number in range(step - count, step)) / count


def _heldout(figures: Mapping[str, float]) -> dict[str, float]:
    """Held-out figures by the names with which they are logged."""
    return {f"heldout/{name}": value for name, value in figures.items()}


def pretrain(
    recipe: Recipe,
    corpus: TokenisedCorpus,
    work: Path,
    machine: Machine,
    milestones: Sequence[int],
    progress: Progress,
    group: ProcessGroup = SINGLE,
    strategy: Strategy | None = None,
    loggers: Sequence[CurveLogger] = (),
    trunk: TrunkState | None = None,
) -> dict[str, Any]:
    """Trains a recipe in the directory `work`, from its newest checkpoint, else from a `trunk`, if it has them; returns
    the result, the same in each case.

    Leaves `model.safetensors`, the tokenizer's file, `metrics.jsonl` (nats; no clock), `timing.jsonl` (seconds) and
    `milestones/`. Raises `RunFailed` when a loss or gradient is not finite, `Interrupted` after saving when a signal
    came. Each process of a group calls it with its place in the `group` and the `strategy` that sums gradients, after
    torch's process group is set up. The first one writes; all of them end after the same step.
    """
    torch.set_num_threads(machine.num_threads)  # initial weights are computed before the Trainer is made
    steps = (recipe := recipe.declared).schedule.steps
    data, module = _modules(recipe, corpus, machine)
    trained = identity("pretrain", recipe=recipe, corpus=corpus.facts["fingerprint"])
    named = revisions(recipe, corpus)
    directory = RunDirectory(work, [*map(recipe.schedule.milestone, milestones), *named.values()], steps, group)
    checkpoint = _begun(module, directory, trained, trunk)
    reports = ProgressCallback(progress, steps, "pre-training", steps_before(work))
    written = [JsonLinesLogger(work), *loggers] if group.first else []
    lightning = _trainer(machine, data, directory, trained, reports, strategy, written)
    with quiet():
        if steps:
            lightning.fit(module, data, ckpt_path=checkpoint)
        began = time.monotonic()
        lightning.loggers = []  # what follows is the result, no point of the curve
        lightning.validate(module, data, verbose=False)
    result = _result(recipe, corpus, module, data.batches) | ({"revisions": named} if named else {})
    if group.first:
        module.model.save(work / "model.safetensors")
        corpus.tokenizer.save(work / recipe.tokenizer.file)
        seconds = round(time.monotonic() - began, 3)
        append_line(work, "timing.jsonl", {"stage": "evaluate", "step": steps, "seconds": seconds})
    for logger in loggers:
        logger.log_result(steps, result["heldout"])
    return result


def evaluate(recipe: Recipe, corpus: TokenisedCorpus, weights: Path, machine: Machine) -> dict[str, float]:
    """The held-out metrics of saved weights, on the sequences and in the way of the evaluation that ends a training,
    never compiled. Raises `Interrupted` when a signal came."""
    torch.set_num_threads(machine.num_threads)
    data, module = _modules(recipe.declared, corpus, dataclasses.replace(machine, compile="no"))
    module.model.load(weights)
    with quiet():
        trainer(machine, 0, [StopOnSignal()], validate=True).validate(module, data, verbose=False)
    return module.heldout


def train_trunk(
    recipe: Recipe,
    corpus: TokenisedCorpus,
    work: Path,
    machine: Machine,
    milestones: Sequence[int],
    steps: int,
    progress: Progress,
    group: ProcessGroup = SINGLE,
    strategy: Strategy | None = None,
    trunk: TrunkState | None = None,
) -> dict[str, Any]:
    """Trains the first `steps` steps of a recipe in the directory `work`, as `pretrain` does, and returns the result.

    Leaves the state from which every recipe with these first steps goes on, the weights of `milestones`, which are
    numbers of updates, and `timing.jsonl`. Raises as `pretrain` does.
    """
    torch.set_num_threads(machine.num_threads)
    recipe = recipe.declared
    data, module = _modules(recipe, corpus, machine)
    module.history = History()
    trained = identity("trunk", recipe=recipe, steps=steps, corpus=corpus.facts["fingerprint"])
    directory = TrunkDirectory(work, milestones, steps, group)
    checkpoint = _begun(module, directory, trained, trunk)
    reports = ProgressCallback(progress, steps, "trunk", steps_before(work))
    lightning = _trainer(machine, data, directory, trained, reports, strategy)
    with quiet(), suppress(TrunkEnds):
        lightning.fit(module, data, ckpt_path=checkpoint)
    return {"status": "done", "steps": steps}


def _trainer(
    machine: Machine,
    data: PretrainingDataModule,
    directory: RunDirectory,
    trained: str,
    reports: ProgressCallback,
    strategy: Strategy | None,
    loggers: Sequence[Logger] = (),
) -> Trainer:
    """The Trainer of all steps of a recipe, which keeps its directory, with checkpoints of what is `trained`."""
    return trainer(
        machine,
        data.recipe.schedule.steps,
        [reports, directory],
        [SafetensorsIO(directory.work, trained)],
        strategy=strategy,
        loggers=loggers,
        accumulate_grad_batches=data.micro_batches(directory.group.world_size),
        validate=True,
    )


def _modules(
    recipe: Recipe, corpus: TokenisedCorpus, machine: Machine
) -> tuple[PretrainingDataModule, PretrainingModule]:
    """The data and the model of a recipe, compiled if the machine compiles it."""
    compiles = machine.compiles(recipe)
    data = PretrainingDataModule(recipe, corpus, micro_batch=machine.micro_batch, trimmed=not compiles)
    module = PretrainingModule(recipe, corpus.tokenizer.size)
    if compiles:
        module.model.compile_losses(**machine.compile_options(recipe))
    return data, module


def _begun(module: PretrainingModule, directory: RunDirectory, trained: str, trunk: TrunkState | None) -> Path | None:
    """The checkpoint from which a training goes on: its own newest one, else the state of a trunk that has the weights
    of all its milestones; None if neither is there."""
    newest = _resumed(directory.work, trained, directory.group)
    if newest is not None or trunk is None or not trunk.serves(directory.milestones):
        return newest.path if newest else None
    module.milestones = directory.milestones
    if directory.group.first:
        trunk.begin(directory.work, directory.milestones)
    return trunk.state.path


def _resumed(work: Path, trained: str, group: ProcessGroup) -> SavedState | None:
    """The newest checkpoint in `work` of what is `trained`, the same on all processes; drops what was logged after it.

    Raises `RunFailed` if the processes do not read the same one.
    """
    checkpoint = checkpoints.newest(work, trained)
    done = 0 if checkpoint is None else checkpoint.step
    total, squares = group.total(done, done**2)
    if squares * group.world_size != total**2:  # equal steps alone; every process finds the same
        raise RunFailed(f"the processes of the group do not read the same checkpoint in '{work}'")
    if group.first:
        _cut_back(work, done)
    return checkpoint


def _result(recipe: Recipe, corpus: TokenisedCorpus, module: PretrainingModule, batches: Batches) -> dict[str, Any]:
    balance = None  # the share of the pairs in the first batches whose second segment follows the first
    steps = min(32, recipe.schedule.steps)
    if recipe.inputs.format.pairs and steps:
        labels = [batches.batch(step).format for step in range(steps)]
        balance = sum(float(((pair["is_random_next"] == 0) & (pair["swapped"] < 1)).mean()) for pair in labels) / steps
    of_tokens = [loss for loss in recipe.objective if loss.over_vocabulary]
    metrics = dict.fromkeys(name for loss in of_tokens for name in (*loss.all_metric_labels, loss.selection_metric))
    return {
        "status": "done",
        "steps": recipe.schedule.steps,
        "tokens": tokens(recipe),
        "real_tokens": batches.tokens(recipe.schedule.steps),
        "words": words_read(recipe, corpus),
        "parameters": sum(value.numel() for value in module.model.parameters()),
        "vocabulary": corpus.tokenizer.size,
        "heldout": module.heldout,
        "judged_by": next((loss.selection_metric for loss in recipe.objective if loss.selection_metric), ""),
        "over_vocabulary": [name for name in metrics if name.endswith("_loss")],
        "unigram_entropy": corpus.facts["unigram_entropy"],
        "corpus": [source.name for source in recipe.corpus.sources],
        "pair_balance": balance,
    }


def _cut_back(work: Path, step: int) -> None:
    """Drops what was logged after the checkpoint that the run goes on from."""
    if not step:
        remove(work, TRUNKS)
    for name in ("metrics.jsonl", "timing.jsonl"):
        path = work / name
        if path.exists():
            lines = read_lines(path.read_bytes(), dict[str, Any])
            before = [line for line in lines if line.get("step", step + 1) <= step]
            write(work, name, "".join(json.dumps(line) + "\n" for line in before))
    for path in (work / "milestones").glob("step-*.safetensors"):
        if int(path.stem.removeprefix("step-")) > step:
            path.unlink()
