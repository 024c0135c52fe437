"""The feature-based approach (BERT section 5.3): a BiLSTM tagger on activations of the frozen encoder.

Each word is represented by levels of the encoder at its first sub-token (`Features.layers`): one of them, several side
by side, or their learned weighted sum. The encoder reads every row once; only the tagger is trained.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bertlab import keyed, recipe
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.model.layers import gather
from bertlab.model.recurrent import BiLSTMTagger
from bertlab.progress import Progress, stop_if_asked
from bertlab.store.faults import point
from bertlab.tasks import examples, kinds
from bertlab.tasks.data import sampled
from bertlab.tasks.examples import Examples, Integers
from bertlab.tasks.rows import TaskData
from bertlab.training.finetuning import Pretrained, encode_judged, encode_training, open_pretrained
from bertlab.training.learning import EVALUATION_TOKENS, Stream, learn, predict, tensors
from bertlab.training.logs import NOWHERE, Log
from bertlab.training.outcome import Outcome, outcome


def probe(
    pretrained: Path,
    data: TaskData,
    settings: recipe.Features,
    *,
    milestone: int = 100,
    seed: int,
    finetune_seed: int,
    machine: Machine,
    progress: Progress,
    log: Log = NOWHERE,
) -> Outcome:
    """Trains a new BiLSTM tagger on the features of the model in `pretrained`, and measures it.

    Raises `BadInput` for a task without words to tag, `RunFailed` if a loss or gradient is not finite, `Interrupted`
    when a signal came.
    """
    kind = kinds.find(data.kind)
    if not kind.tokenwise:
        raise BadInput(f"task '{data.name}' is {data.kind}: the feature-based approach tags words; use method finetune")
    opened = open_pretrained(pretrained, milestone)
    data = sampled(data, settings.max_eval_examples)
    train, judged = encode_training(data, opened, settings), encode_judged(data, opened, settings)
    encoder = opened.model.encoder
    levels = settings.levels(encoder.num_layers)
    features = {id(part): activations(opened, part, levels, machine, progress) for part in (train, *judged)}
    width = features[id(train)].shape[1]
    summed = len(levels) if settings.summed else 0
    units = settings.lstm_size or encoder.hidden_size
    head = keyed.key("features", seed, finetune_seed, "head")
    labels = len(data.labels)
    model = BiLSTMTagger(width, units, settings.lstm_layers, labels, settings.dropout, head, summed)

    def build(part: Examples, rows: Integers) -> dict[str, Tensor]:
        batch = part.batch(rows)
        slots = torch.from_numpy(batch.slots)
        found = features[id(part)].index_select(0, slots.clamp(min=0).flatten()).view(*slots.shape, width)
        return {
            "features": found,
            "words": (slots >= 0).sum(1),
            "targets": torch.from_numpy(batch.targets).long(),
        }

    def logits(batch: dict[str, Tensor]) -> Tensor:
        """(B, K, C) at the words of a batch."""
        found: Tensor = model(batch["features"], batch["words"])
        return found

    key = ("features", seed, finetune_seed)
    words = np.diff(train.target_offsets)
    stream = Stream(
        words, settings.batch_size, settings.epochs, settings.max_steps, lambda rows: build(train, rows), key
    )
    stage = f"training on features {data.name}"
    curve = learn(model, logits, kind.loss, stream, settings, machine, progress, stage, log)
    scores = []
    for part in judged:
        batches = examples.by_length(np.diff(part.target_offsets), EVALUATION_TOKENS)
        scores.append(predict(model, logits, part, batches, machine, partial(build, part)))
    return outcome(data, train, judged, scores, curve, stream.steps)


@torch.inference_mode()
def activations(pretrained: Pretrained, part: Examples, levels: range, machine: Machine, progress: Progress) -> Tensor:
    """The `levels` of the encoder at the first sub-token of every word, side by side: (W, levels x D) on the CPU.

    In fp32 on every machine, as task scores are.
    """
    encoder = pretrained.model.encoder.to(machine.device).eval()
    kept = torch.empty(len(part.targets), len(levels) * encoder.hidden_size)
    done = 0
    for rows in examples.by_length(part.lengths, EVALUATION_TOKENS):
        stop_if_asked()
        point("features.read")
        batch = part.batch(rows)
        parts = {name: value.to(machine.device) for name, value in tensors(batch).items()}
        states = encoder.hidden_states(parts["tokens"], parts["segments"], parts.get("lengths"))
        found = torch.cat([gather(states[level], parts["positions"]) for level in levels], dim=-1)
        slots = torch.from_numpy(batch.slots)
        full = slots >= 0
        kept[slots[full]] = found.cpu()[full]
        done += len(rows)
        progress(done, len(part), "reading features")
    return kept
