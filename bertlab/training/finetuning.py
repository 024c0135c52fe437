"""Fine-tuning all weights on a task (BERT section 4 and appendix A.3)."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor

from bertlab import keyed, recipe
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.backbone import Backbone
from bertlab.model.heads import PretrainingModel
from bertlab.model.recurrent import RecurrentEncoder
from bertlab.progress import Progress
from bertlab.recipe.identity import load
from bertlab.tasks import examples, kinds
from bertlab.tasks.data import sampled
from bertlab.tasks.examples import Examples
from bertlab.tasks.kinds.base import TaskKind
from bertlab.tasks.rows import Rows, TaskData
from bertlab.text.tokenizers.wordpiece import WordPiece
from bertlab.training.learning import EVALUATION_TOKENS, Stream, built, learn, predict
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
    settings: recipe.Finetuning,
    *,
    milestone: int = 100,
    seed: int,
    finetune_seed: int,
    machine: Machine,
    progress: Progress,
    intermediate_task: TaskData | None = None,
    log: Log = NOWHERE,
) -> Outcome:
    """Trains the model in `pretrained`, as it was at `milestone`, under a new head on a task, and measures it.

    With `intermediate_task`, model and head are first trained on that task, which has the same kind and labels.

    Raises `RunFailed` if a loss or gradient is not finite, `Interrupted` when a signal came: nothing is left to resume
    from, as a fine-tuning is short.
    """
    opened = open_pretrained(pretrained, milestone)
    data = sampled(data, settings.max_eval_examples)
    judged = encode_judged(data, opened, settings)
    train = encode_training(data, opened, settings)
    encoder: Backbone = opened.model.encoder
    if settings.frozen:
        opened.model.encoder.freeze()
    if settings.bilstm:
        encoder = RecurrentEncoder(opened.model.encoder, keyed.key("finetune", seed, finetune_seed, "recurrent"))
    head = keyed.key("finetune", seed, finetune_seed, "head")
    kind = kinds.find(data.kind)
    model = kind.head(
        encoder, opened.model.pooler, data.labels, settings.dropout, head, options=options(kind, settings)
    )

    def logits(batch: dict[str, Tensor]) -> Tensor:
        return kind.logits(model, batch)

    def trained(rows: Examples, name: str, *key: int | str) -> tuple[list[dict[str, float]], int]:
        """Trains on some rows: the curve of the loss, and the steps."""
        stream = Stream(rows.lengths, settings.batch_size, settings.epochs, settings.max_steps, built(rows), key)
        told, tag = f"fine-tuning {name}", "intermediate" if "first" in key else "train"
        curve = learn(model, logits, kind.loss, stream, settings, machine, progress, told, log, tag)
        return curve, stream.steps

    if intermediate_task is not None:
        trained(
            encode_training(intermediate_task, opened, settings),
            intermediate_task.name,
            "finetune",
            seed,
            finetune_seed,
            "first",
        )
    curve, steps = trained(train, data.name, "finetune", seed, finetune_seed)

    def scores(part: Examples) -> npt.NDArray[np.float32]:
        batches = examples.by_length(part.lengths, EVALUATION_TOKENS // part.choices)
        return predict(model, logits, part, batches, machine, built(part))

    def floor(rows: Rows) -> dict[str, float] | None:
        """The metrics of the same model where one of two texts is another example's."""
        mixed = exchanged(data, rows)
        if mixed is None:
            return None
        part = _encoded(data, mixed, opened, settings, training=False)
        return judge(data, mixed, train, part, scores(part), found.threshold).metrics

    found = outcome(data, train, judged, [scores(part) for part in judged], curve, steps)
    tested = found.test
    if tested is not None and data.test is not None:
        tested = dataclasses.replace(tested, exchanged=floor(data.test))
    return dataclasses.replace(found, exchanged=floor(data.evaluation), test=tested)


def encode_training(data: TaskData, pretrained: Pretrained, settings: recipe.Finetuning | recipe.Features) -> Examples:
    """The training rows: a keyed sample of `settings.rows`, the same for every model and seed."""
    count = len(data.train)
    chosen = np.arange(count)
    if 0 < settings.max_train_examples < count:
        chosen = np.sort(keyed.permutation(keyed.key("training rows"), count)[: settings.max_train_examples])
    return _encoded(data, data.train.take(chosen), pretrained, settings, training=True)


def encode_judged(
    data: TaskData, pretrained: Pretrained, settings: recipe.Finetuning | recipe.Features
) -> list[Examples]:
    """The evaluation rows and, if the task has such, the test rows."""
    parts = [part for part in (data.evaluation, data.test) if part is not None]
    return [_encoded(data, part, pretrained, settings, training=False) for part in parts]


def _encoded(
    data: TaskData,
    rows: Rows,
    pretrained: Pretrained,
    settings: recipe.Finetuning | recipe.Features,
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
    return kind.encode(rows, pretrained.tokenizer, length, training=training, options=options(kind, settings))


def options(kind: TaskKind, settings: recipe.Finetuning | recipe.Features) -> tuple[str, ...]:
    """The options of a kind of task that are switched on."""
    return tuple(name for name in kind.options if getattr(settings, name, False))
