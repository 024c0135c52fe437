"""A pre-trained model, adapted to a task and measured on it."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from bertlab import keyed, recipe
from bertlab.adaptation import Adaptation
from bertlab.adaptation.base import Inputs, trained_parameters
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.progress import Progress
from bertlab.recipe.identity import load
from bertlab.tasks import examples, kinds
from bertlab.tasks.data import sampled
from bertlab.tasks.examples import Examples
from bertlab.tasks.rows import Rows, TaskData
from bertlab.text.tokenizers.wordpiece import WordPiece
from bertlab.training.learning import Stream, learn, predict
from bertlab.training.logs import NOWHERE, Log
from bertlab.training.outcome import Outcome, exchanged, judge, outcome


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
    tokenizer = WordPiece.load(directory / "vocab.txt", science.tokenizer.lowercase, science.tokenizer.accents)
    model = PretrainingModel.of(science, tokenizer.size)
    step = science.schedule.milestone(milestone)
    model.load(directory / ("model.safetensors" if milestone == 100 else f"milestones/step-{step:08d}.safetensors"))
    return Pretrained(model=model, tokenizer=tokenizer, positions=model.encoder.max_positions)


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
    log: Log = NOWHERE,
) -> Outcome:
    """Adapts the model in `pretrained`, as it was at `milestone`, to a task, and measures it.

    With `intermediate_task`, model and head are first trained on that task, which has the same kind and labels.

    Raises `BadInput` for a kind of task that the adaptation is not for, `RunFailed` if a loss or gradient is not
    finite, `Interrupted` when a signal came: nothing is left to resume from, as a fine-tuning is short.
    """
    opened = open_pretrained(pretrained, milestone)
    kind, key = kinds.find(data.kind), (adaptation.kind, seed, finetune_seed)
    if problem := adaptation.problem(kind):
        raise BadInput(f"task '{data.name}': {problem}")
    data = sampled(data, adaptation.max_eval_examples)
    judged, train = encode_judged(data, opened, adaptation), encode_training(data, opened, adaptation)
    inputs = {id(part): adaptation.inputs(opened.model, part, machine, progress) for part in (train, *judged)}
    model = adaptation.prepare(opened.model, kind, data.labels, key)

    def logits(batch: dict[str, Tensor]) -> Tensor:
        return adaptation.logits(model, kind, batch)

    def trained(read: Inputs, name: str, tag: str, *key: int | str) -> tuple[list[dict[str, float]], int]:
        """Trains on some rows: the curve of the loss, and the steps."""
        stream = Stream(read.lengths, adaptation.batch_size, adaptation.epochs, adaptation.max_steps, read.build, key)
        stage = f"{adaptation.stage} {name}"
        curve = learn(model, logits, kind.loss, stream, adaptation, machine, progress, stage, log, tag)
        return curve, stream.steps

    if intermediate_task is not None:
        before = encode_training(intermediate_task, opened, adaptation)
        read = adaptation.inputs(opened.model, before, machine, progress)
        trained(read, intermediate_task.name, "intermediate", *key, "first")
    curve, steps = trained(inputs[id(train)], data.name, "train", *key)

    def scores(part: Examples) -> npt.NDArray[np.float32]:
        read = inputs.get(id(part)) or adaptation.inputs(opened.model, part, machine, progress)
        return predict(model, logits, part, examples.by_length(read.lengths, read.at_once), machine, read.build)

    def floor(rows: Rows) -> dict[str, float] | None:
        """The metrics of the same model where one of two texts is another example's."""
        mixed = exchanged(data, rows)
        if mixed is None:
            return None
        part = _encoded(data, mixed, opened, adaptation, training=False)
        return judge(data, mixed, train, part, scores(part), found.threshold).metrics

    found = outcome(data, train, judged, [scores(part) for part in judged], curve, steps, trained_parameters(model))
    tested = found.test
    if tested is not None and data.test is not None:
        tested = dataclasses.replace(tested, exchanged=floor(data.test))
    return dataclasses.replace(found, exchanged=floor(data.evaluation), test=tested)


def encode_training(data: TaskData, pretrained: Pretrained, settings: Adaptation) -> Examples:
    """The training rows: a keyed sample of `settings.rows`, the same for every model and seed."""
    count = len(data.train)
    chosen = np.arange(count)
    if 0 < settings.max_train_examples < count:
        chosen = np.sort(keyed.permutation(keyed.key("training rows"), count)[: settings.max_train_examples])
    return _encoded(data, data.train.take(chosen), pretrained, settings, training=True)


def encode_judged(data: TaskData, pretrained: Pretrained, settings: Adaptation) -> list[Examples]:
    """The evaluation rows and, if the task has such, the test rows."""
    parts = [part for part in (data.evaluation, data.test) if part is not None]
    return [_encoded(data, part, pretrained, settings, training=False) for part in parts]


def _encoded(
    data: TaskData,
    rows: Rows,
    pretrained: Pretrained,
    settings: Adaptation,
    *,
    training: bool,
) -> Examples:
    length = settings.length
    if length > pretrained.positions:
        raise BadInput(
            f"task '{data.name}' is read in sequences of {length} tokens and the model has {pretrained.positions} "
            f"positions: set the length to {pretrained.positions} at most"
        )
    kind = kinds.find(data.kind)
    return kind.encode(rows, pretrained.tokenizer, length, training=training, options=settings.options(kind))
