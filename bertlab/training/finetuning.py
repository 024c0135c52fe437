"""Fine-tuning all weights on a task (BERT section 4 and appendix A.3), and what both ways of measuring share.

Data order, head and dropout are keyed by (seed, restart, epoch or step): the same call gives the same bits at the same
number of threads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.nn import functional

from bertlab import recipe
from bertlab.errors import BadInput
from bertlab.identity import load
from bertlab.inputs import keyed
from bertlab.machine import Machine
from bertlab.model.dropout import Noise
from bertlab.model.encoder import Encoder
from bertlab.model.heads import ClassificationModel, PretrainingModel, TaggingModel
from bertlab.model.recurrent import RecurrentEncoder
from bertlab.progress import Progress, stop_if_asked
from bertlab.tasks import classification, examples, metrics, tagging
from bertlab.tasks.data import Rows, TaskData
from bertlab.tasks.examples import IGNORED, Examples, Integers
from bertlab.text.tokenizer import WordPiece
from bertlab.training import evaluation, optimization
from bertlab.training.trainer import Watch, fit, trainer

EVALUATION_TOKENS = 4096
"""Tokens, padding included, that go through the model at once where nothing is trained."""

CURVE_POINTS = 100
"""Points of the training curve that are kept, each the mean loss since the one before."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a measurement leaves."""

    metrics: dict[str, float]
    """On the evaluation rows, in points."""
    majority: dict[str, float]
    """The same metrics of always guessing the most frequent training label."""
    predictions: dict[str, npt.NDArray[Any]]
    """Of each evaluation row, or of each word: `prediction`, `label`, `log_likelihood` of the right label (nats); for
    tagging also `sentence`, the row that the word is of."""
    curve: list[dict[str, float]]
    """`step` and the mean training `loss` since the point before (nats)."""
    steps: int
    training_rows: int
    evaluation_rows: int
    collapsed: bool
    """Whether all predictions are one and the same label."""


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """A finished pre-training, as a measurement reads it."""

    model: PretrainingModel
    tokenizer: WordPiece
    positions: int
    """Tokens a sequence may have at most."""


def open_pretrained(directory: Path, milestone: int = 100) -> Pretrained:
    """Reads `recipe.json`, `vocab.txt` and the weights after `milestone` per cent of the steps.

    Raises `BadInput` for a directory that lacks them.
    """
    try:
        record = json.loads((directory / "recipe.json").read_text(encoding="utf-8"))["science"]["recipe"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{directory} is no pre-training that can be read ({error}): name a finished run") from None
    science = load(recipe.Recipe, record)
    tokenizer = WordPiece.load(directory / "vocab.txt", science.tokenizer.lowercase)
    model = PretrainingModel.of(science, tokenizer.size)
    step = round(science.schedule.steps * milestone / 100)
    model.load(directory / ("model.safetensors" if milestone == 100 else f"milestones/step-{step:08d}.safetensors"))
    return Pretrained(model=model, tokenizer=tokenizer, positions=model.encoder.positions)


def finetune(
    pretrained: Path,
    data: TaskData,
    settings: recipe.Finetuning,
    *,
    milestone: int = 100,
    seed: int,
    restart: int,
    machine: Machine,
    progress: Progress,
) -> Outcome:
    """Trains all weights of the model in `pretrained`, as it was at `milestone`, and a new head on a task; measures it.

    Raises `RunFailed` if the gradient is not finite, `Interrupted` when a signal came: nothing is left to resume from,
    as a fine-tuning is short.
    """
    opened = open_pretrained(pretrained, milestone)
    train, judged = encode(data, opened, settings.length, settings.rows, settings.evaluation_rows)
    head = keyed.key("finetune", seed, restart, "head")
    encoder: Encoder | RecurrentEncoder = opened.model.encoder
    pooler = opened.model.pooler
    if settings.recurrent:
        encoder = RecurrentEncoder(opened.model.encoder, keyed.key("finetune", seed, restart, "recurrent"))
    model: ClassificationModel | TaggingModel
    if data.kind == "classification":
        model = ClassificationModel(encoder, pooler, len(data.labels), settings.dropout, head)
    else:
        model = TaggingModel(encoder, len(data.labels), settings.dropout, head)

    def logits(batch: dict[str, Tensor]) -> Tensor:
        """(B, K, C) at the targets of a batch."""
        inputs = batch["tokens"], batch["segments"], batch.get("lengths")
        if isinstance(model, ClassificationModel):
            return model(*inputs).unsqueeze(1)  # type: ignore[no-any-return]
        return model(*inputs, batch["positions"])  # type: ignore[no-any-return]

    key = ("finetune", seed, restart)
    stream = Stream(train.lengths, settings.batch, settings.epochs, settings.steps, built(train), key)
    curve = learn(model, logits, stream, settings, model.noise, machine, progress, f"fine-tuning {data.name}")
    batches = examples.by_length(judged.lengths, EVALUATION_TOKENS)
    scores = predict(model, logits, judged, batches, machine, built(judged))
    return outcome(data, train, judged, scores, curve, stream.steps)


def encode(
    data: TaskData, pretrained: Pretrained, length: int, rows: int, evaluation_rows: int
) -> tuple[Examples, Examples]:
    """The training rows (a keyed sample of `rows`, the same for every model and seed) and the first evaluation rows."""
    count = len(data.train)
    chosen = np.arange(count)
    if 0 < rows < count:
        chosen = np.sort(keyed.permutation(keyed.key("training rows"), count)[:rows])
    judged = np.arange(len(data.evaluation))[: evaluation_rows or None]
    length = min(length, pretrained.positions)
    train, evaluated = (
        _encoded(data, part, which, pretrained.tokenizer, length)
        for part, which in ((data.train, chosen), (data.evaluation, judged))
    )
    return train, evaluated


def _encoded(data: TaskData, rows: Rows, which: Integers, tokenizer: WordPiece, length: int) -> Examples:
    text = [[column[row] for row in which] for column in rows.text]
    if data.kind == "classification":
        return classification.examples(text, np.array([rows.labels[row] for row in which]), tokenizer, length)
    return tagging.examples(text[0], [np.asarray(rows.labels[row]) for row in which], tokenizer, length)


def built(part: Examples) -> Callable[[Integers], dict[str, Tensor]]:
    """Makes the batch of given rows out of examples, as tensors."""
    return lambda rows: tensors(part.batch(rows))


def tensors(batch: examples.Batch) -> dict[str, Tensor]:
    """The arrays of a batch as integer tensors, without `lengths` where no row has padding."""
    names = ("tokens", "segments", "positions", "targets", "lengths")
    parts = {name: torch.from_numpy(getattr(batch, name)).long() for name in names}
    if (batch.lengths == batch.tokens.shape[1]).all():
        del parts["lengths"]
    return parts


class Stream:
    """The batches of a training: epoch after epoch, each in its own keyed order, `steps` in all."""

    def __init__(
        self,
        lengths: Integers,
        batch: int,
        epochs: float,
        steps: int,
        build: Callable[[Integers], dict[str, Tensor]],
        key: tuple[int | str, ...],
    ) -> None:
        self.lengths, self.size, self.build, self.key = lengths, batch, build, key
        all_steps = max(1, math.ceil(epochs * math.ceil(len(lengths) / batch)))
        self.steps = min(steps, all_steps) if steps else all_steps

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        done = epoch = 0
        while done < self.steps:
            for rows in examples.epoch(self.lengths, self.size, *self.key, epoch)[: self.steps - done]:
                yield self.build(rows)
                done += 1
            epoch += 1


@dataclass
class _Curve:
    interval: int
    points: list[dict[str, float]] = field(default_factory=list)
    pending: list[Tensor] = field(default_factory=list)

    def add(self, loss: Tensor, last: bool) -> None:
        self.pending.append(loss)
        if len(self.pending) == self.interval or last:
            step = (int(self.points[-1]["step"]) if self.points else 0) + len(self.pending)
            self.points.append({"step": step, "loss": float(torch.stack(self.pending).mean())})
            self.pending.clear()


class Measuring(LightningModule):
    """One update a step: the mean cross-entropy over the targets of the batch."""

    def __init__(
        self,
        model: nn.Module,
        logits: Callable[[dict[str, Tensor]], Tensor],
        settings: recipe.Finetuning | recipe.Features,
        noise: Noise,
        stream: Stream,
    ) -> None:
        super().__init__()
        self.automatic_optimization = False  # an update is `optimization.update`, as in pre-training
        self.model, self.logits, self.noise, self.key = model, logits, noise, stream.key
        self.settings, self.steps, self.step = settings, stream.steps, 0
        self.schedule = recipe.Schedule(steps=stream.steps, peak=settings.peak, warmup=settings.warmup)
        self.curve = _Curve(max(1, stream.steps // CURVE_POINTS))
        self.figures: dict[str, float] = {}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """AdamW in BERT's two groups."""
        return optimization.build(self.model, recipe.Optimizer(weight_decay=self.settings.weight_decay))

    def training_step(self, batch: dict[str, Tensor], index: int) -> None:
        """Forward, backward and update of step `self.step`."""
        self.noise.restart(keyed.key(*self.key, "dropout", self.step))
        logits = self.logits(batch)
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), batch["targets"].flatten(), ignore_index=IGNORED)
        self.manual_backward(loss)
        optimizer = self.optimizers()
        assert isinstance(optimizer, torch.optim.Optimizer)  # Lightning's, which counts the steps
        optimization.update(optimizer, self.schedule.rate(self.step), recipe.Optimizer().clip, self.step)
        self.step += 1
        self.curve.add(loss.detach(), self.step == self.steps)
        if not self.curve.pending:
            self.figures = {"loss": self.curve.points[-1]["loss"]}


def learn(
    model: nn.Module,
    logits: Callable[[dict[str, Tensor]], Tensor],
    stream: Stream,
    settings: recipe.Finetuning | recipe.Features,
    noise: Noise,
    machine: Machine,
    progress: Progress,
    stage: str,
) -> list[dict[str, float]]:
    """Trains `model` on the batches of `stream` in place and returns the curve of its loss."""
    model.to(machine.device).train()
    module = Measuring(model, logits, settings, noise, stream)
    fit(trainer(machine, stream.steps, [Watch(progress, stream.steps, stage)]), module, stream)
    stop_if_asked()
    return module.curve.points


@torch.inference_mode()
def predict(
    model: nn.Module,
    logits: Callable[[dict[str, Tensor]], Tensor],
    judged: Examples,
    batches: Sequence[Integers],
    machine: Machine,
    build: Callable[[Integers], dict[str, Tensor]],
) -> npt.NDArray[np.float32]:
    """The log-probabilities of every label for every target, (W, C), in the order of the targets."""
    model.to(machine.device).eval()
    scores: npt.NDArray[np.float32] | None = None
    for rows in batches:
        stop_if_asked()
        batch = judged.batch(rows)
        parts = {name: value.to(machine.device) for name, value in build(rows).items()}
        with evaluation.autocast(machine):
            found = logits(parts).float().log_softmax(-1).cpu().numpy()
        if scores is None:
            scores = np.zeros((len(judged.targets), found.shape[-1]), np.float32)
        full = batch.slots >= 0
        scores[batch.slots[full]] = found[full]
    assert scores is not None
    return scores


def outcome(
    data: TaskData,
    train: Examples,
    judged: Examples,
    scores: npt.NDArray[np.float32],
    curve: list[dict[str, float]],
    steps: int,
) -> Outcome:
    """Metrics and predictions out of the log-probabilities of the evaluation rows, (W, C)."""
    prediction, label = scores.argmax(-1), judged.targets
    predictions = {
        "prediction": prediction.astype(np.int32),
        "label": label.astype(np.int32),
        "log_likelihood": scores[np.arange(len(label)), label],
    }
    if data.kind == "tagging":
        predictions["sentence"] = judged.owners.astype(np.int32)
    return Outcome(
        metrics=metrics.of(data.kind, prediction, label, judged.owners, data.labels),
        majority=metrics.majority(data.kind, train.targets, label, judged.owners, data.labels),
        predictions=predictions,
        curve=curve,
        steps=steps,
        training_rows=train.rows,
        evaluation_rows=judged.rows,
        collapsed=bool((prediction == prediction[0]).all()),
    )
