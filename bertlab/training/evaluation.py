"""How a pre-trained model is judged on held-out text: the same rows and masks for every row of a study."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.nn import functional

from bertlab.inputs.batches import Batch
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel


@torch.inference_mode()
def masked_lm(model: PretrainingModel, batches: Sequence[Batch], machine: Machine) -> dict[str, float]:
    """Mean loss (nats), perplexity and accuracy (share) of predicting the masked tokens."""
    loss = right = count = 0.0
    model.eval()
    for batch in batches:
        tensors = on_device(batch, machine.device)
        with autocast(machine):
            logits, _ = model.predictions(*(tensors[name] for name in ("tokens", "segments", "lengths", "positions")))
        logits = logits.float().flatten(0, 1)
        targets, weights = tensors["targets"].flatten(), tensors["weights"].flatten()
        losses = functional.cross_entropy(logits, targets, reduction="none")
        loss += float((losses * weights).sum())
        right += float(((logits.argmax(-1) == targets) * weights).sum())
        count += float(weights.sum())
    model.train()
    mean = loss / count
    return {"loss": mean, "perplexity": math.exp(min(mean, 700.0)), "accuracy": right / count}


@torch.inference_mode()
def next_sentence(model: PretrainingModel, batches: Sequence[Batch], machine: Machine) -> float:
    """Share of pairs of which the model says rightly whether the second segment follows the first."""
    right = count = 0
    model.eval()
    for batch in batches:
        tensors = on_device(batch, machine.device)
        with autocast(machine):
            _, logits = model.predictions(*(tensors[name] for name in ("tokens", "segments", "lengths", "positions")))
        right += int((logits.argmax(-1) == tensors["next_sentence"]).sum())
        count += len(logits)
    model.train()
    return right / count


def on_device(batch: Batch, device: str) -> dict[str, torch.Tensor]:
    """The arrays of a batch that a model reads, as tensors on `device`."""
    names = ("tokens", "segments", "lengths", "positions", "targets", "weights", "next_sentence")
    tensors = {name: torch.from_numpy(getattr(batch, name)) for name in names}
    tensors = {name: value if value.is_floating_point() else value.long() for name, value in tensors.items()}
    return {name: value.to(device, non_blocking=True) for name, value in tensors.items()}


def autocast(machine: Machine) -> torch.autocast:
    """The precision of this machine's matrix products, for code that runs outside a Trainer."""
    return torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.bf16())
