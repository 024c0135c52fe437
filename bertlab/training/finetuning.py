"""A pre-trained model, adapted to a task and measured on it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bertlab import keyed, recipe
from bertlab.adaptation import Adaptation
from bertlab.adaptation.base import Inputs
from bertlab.arrays import Array, Float
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.ensemble import mean_of
from bertlab.model.heads import PretrainingModel
from bertlab.progress import Progress
from bertlab.recipe.identity import load
from bertlab.tasks import kinds
from bertlab.tasks.data import beginning, sampled
from bertlab.tasks.examples import Examples, TaskBatch, by_length
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.kinds.scoring import LOG_LIKELIHOOD
from bertlab.tasks.task import RawExamples, TaskData
from bertlab.text.tokenizers.base import TrainedTokenizer
from bertlab.training import checkpoints, embedding_rows
from bertlab.training.callbacks import ProgressCallback, SaveCheckpoints, StopOnSignal
from bertlab.training.checkpoints import SafetensorsIO
from bertlab.training.data import TaskDataModule, in_order
from bertlab.training.diagnosis import DiagnosedModule, Diagnosis, diagnose, heldout_inputs, heldout_point
from bertlab.training.loggers import CurveLogger, ThroughputMeter
from bertlab.training.module import require_finite, require_scalar
from bertlab.training.trainer import configure_process, quiet, trainer


class FinetuningModule(DiagnosedModule):
    """A model that an adaptation prepared for a task: the loss is the mean over the targets of a batch."""

    def __init__(
        self,
        model: nn.Module,
        kind: TaskKind,
        adaptation: Adaptation,
        steps: int,
        key: Sequence[int | str],
        stage: str = "train",
    ) -> None:
        """`steps` are the updates of the learning-rate schedule; what is logged is named after the `stage`."""
        peak_lr = adaptation.lr_factor * adaptation.peak_lr
        schedule = recipe.Schedule(steps=steps, peak_lr=peak_lr, warmup=adaptation.warmup, curve=adaptation.curve)
        super().__init__(schedule, adaptation.optimizer_settings)
        self.model, self.kind, self.adaptation = model, kind, adaptation
        self.key, self.stage = tuple(key), stage
        self.curve = []
        self.progress_metrics: dict[str, float] = {}
        self.examples, self.throughput = 0, ThroughputMeter()
        self._losses: list[float] = []

    def forward(self, batch: TaskBatch) -> Tensor:
        """The logits of the targets of a batch, as `TaskKind.logits`."""
        return self.adaptation.logits(self.model, self.kind, batch)

    def lr_multipliers(self) -> Mapping[nn.Parameter, float]:
        """The learning-rate multipliers of the adaptation."""
        return self.adaptation.lr_multipliers(self.model)

    def on_fit_start(self) -> None:
        """Raises `BadInput` for a Trainer that would train something else, and for data of other steps."""
        data = self.trainer.datamodule  # type: ignore[attr-defined]
        if isinstance(data, TaskDataModule) and data.steps != self.schedule.steps:
            raise BadInput(f"the module has {self.schedule.steps:,} steps, its data {data.steps:,}: give it data.steps")
        super().on_fit_start()

    def on_train_batch_start(self, batch: TaskBatch, batch_idx: int) -> None:
        """Lets the adaptation act before each update."""
        self.adaptation.on_step(self.model, self.global_step, self.schedule.steps)

    def training_step(self, batch: TaskBatch, batch_idx: int) -> Tensor:
        """The loss of a batch."""
        self.seed_dropout(*self.key, "dropout", self.global_step)
        loss = self.adaptation.loss(self.model, self.kind, batch)
        component = self.adaptation if self.adaptation._own else self.kind
        require_scalar(loss, component, "loss")
        self.add_losses(loss)
        return loss

    def on_train_batch_end(self, outputs: Any, batch: TaskBatch, batch_idx: int) -> None:
        """Logs at every hundredth of the steps."""
        super().on_train_batch_end(outputs, batch, batch_idx)
        self.examples += len(batch["targets"])
        if self.at_curve_point(self.global_step):
            step = self.global_step
            self.settle()
            loss = math.fsum(self._losses) / len(self._losses)
            self._losses.clear()
            since = int(self.curve[-1]["step"]) if self.curve else 0
            self.curve.append({"step": step, "loss": loss} | heldout_point(self, step, since))
            self.progress_metrics = {"loss": loss}
            line = {"loss": loss, "learning_rate": self.schedule.learning_rate(step - 1)}
            line["examples_per_second"] = self.throughput(self.examples)
            self.log_at(step, {f"{self.stage}/{name}": value for name, value in line.items()})

    def settle(self) -> None:
        """Keeps the losses of the latest steps. Raises `RunFailed`, status `diverged`, if one is not finite."""
        for step, (loss, norm) in self.buffer.read():
            require_finite(step, loss, norm)
            self._losses.append(loss)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Adds the curve, and the losses since its last point."""
        self.settle()
        checkpoint["finetuning"] = {"curve": self.curve, "losses": self._losses}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restores them."""
        self.curve, self._losses = checkpoint["finetuning"]["curve"], checkpoint["finetuning"]["losses"]

    def validation_step(self, batch: TaskBatch, batch_idx: int) -> None:
        """Logs the mean loss of evaluation examples."""
        self.log("validation/loss", self.kind.loss(self(batch), batch["targets"]), batch_size=len(batch["targets"]))

    def predict_step(self, batch: TaskBatch, batch_idx: int) -> Tensor:
        """The scores of a batch, as `TaskKind.scores`, in fp32 or better, on the CPU."""
        scores = self.kind.scores(self.model, batch, self(batch))
        return scores.to(torch.promote_types(scores.dtype, torch.float32)).cpu()


@dataclass(frozen=True, kw_only=True)
class EvalResult:
    """The results of a model on the examples of one split."""

    examples: int
    metrics: dict[str, float]
    majority: dict[str, float]
    """The metrics of the best constant guess from the training examples. All metrics are in points."""
    predictions: dict[str, Array]
    """The arrays of `TaskKind.predict`, in 32 bits; and the `group` of each example, where examples depend on each
    other."""
    collapsed: bool  # all predictions are the same
    exchanged: dict[str, float] | None = None
    """The same metrics where one of two texts is another example's, see `exchanged`; None without a second text."""
    threshold: float | None = None
    """The score above which an answer is given, where questions may have none."""


@dataclass(frozen=True, kw_only=True)
class Outcome(EvalResult):
    """The results of a measurement on the evaluation split and, if the task has one, on the test split."""

    test: EvalResult | None = None
    curve: list[dict[str, float]]
    """`step` and the mean training `loss` since the point before (nats)."""
    steps: int
    train_examples: int
    trained_parameters: int
    diagnosed: Diagnosis = field(default_factory=Diagnosis)
    changes: Mapping[str, Tensor] = field(default_factory=dict)
    """The tensors that differ from the pre-trained model, see `changes_of`, if they were asked for."""


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """A finished pre-training, as a measurement reads it."""

    model: PretrainingModel
    tokenizer: TrainedTokenizer
    positions: int  # tokens a sequence may have at most

    def __post_init__(self) -> None:
        self.model.tokenizer = self.tokenizer


class Member(NamedTuple):
    """A model to adapt: the directory of its pre-training, and its seeds."""

    pretrained: Path
    seed: int
    finetune_seed: int


def open_pretrained(directory: Path, milestone: int = 100) -> Pretrained:
    """Reads recipe, tokenizer and the weights after `milestone` per cent of the steps; `BadInput` if any is missing."""
    try:
        record = json.loads((directory / "recipe.json").read_text(encoding="utf-8"))["science"]["recipe"]
    except NotADirectoryError:  # of a run in an archive
        raise _without(directory / "model.safetensors") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{directory} is no pre-training that can be read ({error}): name a finished run") from None
    science = load(recipe.Recipe, record)
    tokenizer = science.tokenizer.load(directory / science.tokenizer.file)
    model = PretrainingModel.of(science, tokenizer.size)
    model.load(saved_weights(directory, science, milestone))
    return Pretrained(model=model, tokenizer=tokenizer, positions=model.encoder.max_length)


def saved_weights(directory: Path, science: recipe.Recipe, milestone: int) -> Path:
    """The file with the weights of a pre-training after `milestone` per cent of the steps; `BadInput` without one."""
    weights = directory / weights_file(science, milestone)
    if not weights.exists():
        raise _without(weights)
    return weights


def weights_file(science: recipe.Recipe, milestone: int) -> str:
    """Where the directory of a pre-training has its weights after `milestone` per cent of the steps."""
    return weights_after(science, science.schedule.milestone(milestone))


def weights_after(science: recipe.Recipe, step: int) -> str:
    """Where the directory of a pre-training has its weights after a step."""
    return "model.safetensors" if step == science.schedule.steps else f"milestones/step-{step:08d}.safetensors"


def _without(weights: Path) -> BadInput:
    advice = "use the store in which it was trained"
    return BadInput(f"'{weights}' does not exist (`export --results` leaves weights out): {advice}")


def finetune(
    pretrained: Path,
    data: TaskData,
    adaptation: Adaptation,
    *,
    milestone: int = 100,
    seed: int,
    finetune_seed: int,
    machine: Machine,
    progress: Progress,
    intermediate_task: TaskData | None = None,
    loggers: Sequence[CurveLogger] = (),
    keep: bool = False,
    work: Path | None = None,
    others: Sequence[Member] = (),
) -> Outcome:
    """Adapts the model in `pretrained`, as it was at `milestone`, to a task, and measures it. `keep` gives the tensors
    that training changed; in the directory `work` it saves checkpoints, and goes on from the newest one, to the bit.

    With `intermediate_task`, model and head are first trained on that task, which has the same kind and labels. Data
    order and dropout are keyed: the same call gives the same bits at the same number of threads. With `others`, these
    are trained in the same way, without checkpoints, and the mean of the logits of all is measured.

    Raises `BadInput` for a kind of task that the adaptation is not for, `RunFailed` if a loss or gradient is not
    finite, `Interrupted` when a signal came, after saving.
    """
    configure_process(machine)  # the features are computed before any Trainer is made
    fit = partial(_fit, data, adaptation, milestone, machine, progress, intermediate_task)
    scores, encoded, training = fit(Member(pretrained, seed, finetune_seed), loggers, keep, work)
    if others:
        first, members = scores.module, [fit(member)[0].module.model for member in others]
        module = FinetuningModule(
            mean_of([first.model, *members]), first.kind, adaptation, first.schedule.steps, first.key
        )
        module.curve = first.curve
        scores = dataclasses.replace(scores, module=module)
        training["trained_parameters"] *= 1 + len(members)
    return scores.outcome(encoded, **training)


def _fit(
    data: TaskData,
    adaptation: Adaptation,
    milestone: int,
    machine: Machine,
    progress: Progress,
    intermediate_task: TaskData | None,
    member: Member,
    loggers: Sequence[CurveLogger] = (),
    keep: bool = False,
    work: Path | None = None,
) -> tuple[_Scores, list[Examples], dict[str, Any]]:
    """Adapts one model: what scores examples, the examples of the splits, and what is known of the training."""
    pretrained, seed, finetune_seed = member
    kind, key = _supported_kind(data, adaptation), (adaptation.kind, seed, finetune_seed)

    def start() -> tuple[Pretrained, nn.Module]:
        return prepare(open_pretrained(pretrained, milestone), adaptation, kind, data.labels, seed, finetune_seed)

    (opened, model), data = start(), sampled(data, adaptation.max_eval_examples)
    encoded = [encode(data, raw, opened, adaptation) for raw in (data.evaluation, data.test) if raw is not None]
    if not adaptation.trains:
        module, nothing = FinetuningModule(model, kind, adaptation, 0, key), encode_training(data, opened, adaptation)
        return _Scores(data, opened, nothing, module, machine, progress), encoded, {"trained_parameters": 0}
    heldout = heldout_inputs(adaptation, opened.model, encoded[0], machine, progress)
    stages: list[tuple[TaskData, str, tuple[int | str, ...]]] = [(data, "train", key)]
    if intermediate_task is not None and (work is None or checkpoints.newest(work, "train") is None):
        stages.insert(0, (intermediate_task, "intermediate", (*key, "first")))
    for task, stage, order in stages:
        encoded_training = encode_training(task, opened, adaptation)
        inputs = adaptation.inputs(opened.model, encoded_training, machine, progress)
        examples = TaskDataModule(inputs, adaptation, order, evaluation=heldout)
        module = FinetuningModule(model, kind, adaptation, examples.steps, order, stage).train()
        train(module, examples, machine, progress, f"{adaptation.stage} {task.name}", loggers, work)
    training: dict[str, Any] = {"trained_parameters": trained_parameters(model)}
    training["diagnosed"] = diagnose(module, lambda: start()[1], inputs, machine)
    training["changes"] = changes_of(model, *start()) if keep else {}
    adaptation.merge(model)
    return _Scores(data, opened, encoded_training, module, machine, progress), encoded, training


def _supported_kind(data: TaskData, adaptation: Adaptation) -> TaskKind:
    kind = kinds.find(data.kind)
    if problem := adaptation.unsupported_reason(kind):
        raise BadInput(f"task '{data.name}': {problem}")
    return kind


def train(
    module: FinetuningModule,
    examples: TaskDataModule,
    machine: Machine,
    progress: Progress,
    title: str,
    loggers: Sequence[CurveLogger],
    work: Path | None,
) -> None:
    """Trains a module to its end, from the newest checkpoint of its stage in the directory `work`, if there is one."""
    reports = ProgressCallback(progress, examples.steps, title)
    if work is None:
        resumed, callbacks, plugins = None, [reports, StopOnSignal()], []
    else:
        resumed = checkpoints.newest(work, module.stage)
        callbacks, plugins = [reports, SaveCheckpoints(work)], [SafetensorsIO(work, module.stage)]
    with quiet(), _rows(module, examples, machine):
        lightning = trainer(machine, examples.steps, callbacks, plugins, loggers=loggers)
        lightning.fit(module, examples, ckpt_path=None if resumed is None else resumed.path)


def _rows(module: FinetuningModule, examples: TaskDataModule, machine: Machine) -> AbstractContextManager[None]:
    """Within it, only the rows of embeddings that the training reads are trained, where that changes nothing else."""
    read = [inputs.ids for inputs in (examples.train, examples.evaluation) if inputs is not None]
    by_user = module.adaptation._own or module.kind.user_defined  # which may read the embeddings in a way of its own
    if by_user or machine.gpus or None in read or not module.optimizer_settings.elementwise:
        return nullcontext()
    return embedding_rows.only(module.model, [ids for ids in read if ids is not None])


def prepare(
    pretrained: Pretrained,
    adaptation: Adaptation,
    kind: TaskKind,
    labels: Sequence[str],
    seed: int,
    finetune_seed: int,
) -> tuple[Pretrained, nn.Module]:
    """A pre-trained model, and the module that an adaptation makes of it for a task: both are as before any training,
    and the same for the same seeds."""
    if finetune_seed:  # the first one has the pooler of its pre-training seed
        pretrained.model.pooler_seed = keyed.key(pretrained.model.pooler_seed, "pooler", finetune_seed)
    key = (adaptation.kind, seed, finetune_seed)
    return pretrained, adaptation.adapt(pretrained.model, kind, labels, key)


def trained_parameters(model: nn.Module) -> int:
    """How many parameters of a prepared model are trained."""
    return sum(value.numel() for value in model.parameters() if value.requires_grad)


def changes_of(model: nn.Module, pretrained: Pretrained, start: nn.Module) -> dict[str, Tensor]:
    """The tensors of a trained `model` that a pre-trained model lacks, or has with other values, on the CPU.

    `start` is the same model before training, which shares the tensors of `pretrained`, as `prepare` returns both.
    """
    inherited = {id(value) for value in pretrained.model.state_dict(keep_vars=True).values()}
    before = start.state_dict(keep_vars=True)
    return {
        name: value.detach().cpu().contiguous()
        for name, value in model.state_dict().items()
        if id(before[name]) not in inherited or not torch.equal(value.cpu(), before[name])
    }


@dataclass(frozen=True)
class _Scores:
    """What a trained module scores on examples of its task."""

    data: TaskData
    pretrained: Pretrained
    train: Examples
    module: FinetuningModule
    machine: Machine
    progress: Progress

    def outcome(self, encoded: Sequence[Examples], **training: Any) -> Outcome:
        """The results on all splits, which are `encoded`, with what else is known of the training."""
        data, result = self.data, self.result(self.data.evaluation, encoded[0], None)
        return Outcome(
            **vars(result),
            test=self.result(data.test, encoded[1], result.threshold) if data.test is not None else None,
            curve=self.module.curve,
            steps=self.module.schedule.steps,
            train_examples=self.train.raw_count,
            **training,
        )

    def result(self, raw: RawExamples, part: Examples, threshold: float | None) -> EvalResult:
        """The results on a split with those where one of two texts is another example's, at the same threshold."""
        result = self._scored(raw, part, threshold)
        other_texts = exchanged(self.data, raw)
        if other_texts is None:
            return result
        encoded = encode(self.data, other_texts, self.pretrained, self.module.adaptation)
        floor = self._scored(other_texts, encoded, result.threshold if threshold is None else threshold)
        without = kinds.find(self.data.kind).unexchanged
        metrics = {name: value for name, value in floor.metrics.items() if name not in without}
        return dataclasses.replace(result, exchanged=metrics)

    def _scored(self, raw: RawExamples, part: Examples, threshold: float | None) -> EvalResult:
        read = self.module.adaptation.inputs(self.pretrained.model, part, self.machine, self.progress)
        scores = predict(self.module, part, read, self.machine)
        return evaluate(self.data, raw, self.train, part, scores, threshold)


def predict(module: FinetuningModule, part: Examples, read: Inputs, machine: Machine) -> Float:
    """The logits of every target, (W, C), in the order of the targets; minus infinity where an example has fewer.

    In fp32 or better on every machine: bf16 changes some answers.
    """
    with quiet():
        batches: Any = trainer(machine, 0, [StopOnSignal()], exact=True).predict(module, in_order(read))
    return in_order_of_targets(part, read, batches)


def in_order_of_targets(part: Examples, read: Inputs, batches: Sequence[Tensor]) -> Float:
    """The logits of the batches that `in_order` gives, as `predict` returns them."""
    width = max((logits.shape[-1] for logits in batches), default=1)
    precision = np.result_type(np.float32, *(logits.numpy() for logits in batches[:1]))
    scores = np.full((len(part.targets), width), -np.inf, precision)
    for numbers, logits in zip(by_length(read.lengths, read.batch_tokens), batches, strict=True):
        slots = part.batch(numbers).slots[:, : logits.shape[1]]  # inputs may be narrower
        scores[slots[slots >= 0], : logits.shape[-1]] = logits.numpy()[slots >= 0]
    return scores


def encode_training(data: TaskData, pretrained: Pretrained, settings: Adaptation) -> Examples:
    """Encodes a keyed sample of the training examples, the same for every model and seed."""
    count = len(data.train)
    chosen, most = np.arange(count), settings.train_examples(count)
    if most < count:
        chosen = np.sort(keyed.permutation(keyed.key("training rows"), count)[:most])
    return encode(data, data.train.take(chosen), pretrained, settings, training=True)


def encode(
    data: TaskData, raw: RawExamples, pretrained: Pretrained, settings: Adaptation, *, training: bool = False
) -> Examples:
    """Encodes examples of a task. Raises `BadInput` if the model has too few positions."""
    length = settings.length
    if length > pretrained.positions:
        raise BadInput(
            f"task '{data.name}' is read in sequences of {length} tokens and the model has {pretrained.positions} "
            f"positions: set the length to {pretrained.positions} at most"
        )
    kind = kinds.find(data.kind)
    return kind.encode(raw, pretrained.tokenizer, length, training=training, options=settings.options(kind))


def exchanged(data: TaskData, rows: RawExamples) -> RawExamples | None:
    """The first 1,000 examples, one text of each another example's: a floor that a model reaches on the other.

    It is the second of two texts, the question about a context, the context of several endings, the only text whose
    answer is written, in a mixture that of another example of its task. None for other single texts, and for kinds
    without this floor.
    """
    column = kinds.find(data.kind).exchanged_column
    if column is None or column >= len(rows.text) or len(rows) < 2:
        return None
    rows = beginning(rows, 1_000)
    order = keyed.permutation(keyed.key("exchanged"), len(rows))
    other = np.empty_like(order)
    other[order] = np.roll(order, 1)  # each has another's, none its own
    parts = np.zeros(len(rows), np.int32) if rows.parts is None else rows.parts
    for part in np.unique(parts):
        of_part = order[parts[order] == part]
        if len(of_part) > 1:
            other[of_part] = np.roll(of_part, 1)
    text = [texts if at != column else [texts[row] for row in other] for at, texts in enumerate(rows.text)]
    return dataclasses.replace(rows, text=tuple(text))


def evaluate(
    data: TaskData, rows: RawExamples, train: Examples, evaluated: Examples, scores: Float, threshold: float | None
) -> EvalResult:
    """The results of logits (W, C) on a split; a `threshold` that the kind needs and that is None is chosen on it."""
    kind = kinds.find(data.kind)
    predicted = kind.predict(data, rows, evaluated, scores, threshold)
    arrays = scored = {**predicted.arrays, **kind.example_arrays(rows)}
    if rows.groups is not None and len(np.unique(rows.groups)) < len(rows.groups):
        arrays = arrays | {"group": rows.groups}
    arrays = arrays | kind.contributions(arrays, data.labels)
    return EvalResult(
        examples=evaluated.raw_count,
        metrics=kind.values(scored, data.labels),
        majority=kind.floor(kind.majority(data, rows, train, evaluated), rows, data.labels),
        predictions={name: _narrowed(name, values) for name, values in arrays.items()},
        collapsed=predicted.collapsed,
        threshold=predicted.threshold,
    )


def _narrowed(name: str, values: Array) -> Array:
    """Values in few bytes, since results are kept and shared. Half precision changes log-likelihoods by 0.05 % at most,
    far less than seeds do."""
    if values.dtype.kind == "f":
        if name != LOG_LIKELIHOOD:
            return values.astype(np.float32)
        return values.clip(np.finfo(np.float16).min).astype(np.float16)  # of a long sentence, never infinite
    largest = max(int(values.max(initial=0)), -1 - int(values.min(initial=0)))
    return values.astype(np.min_scalar_type(-1 - largest))
