"""How a pre-trained model is judged on held-out text: the same rows and masks for every row of a study.

The processes of a group share the batches, and all of them have the figures of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.nn import functional

from bertlab.inputs.batches import Corpus, heldout
from bertlab.inputs.collator import Batch
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel
from bertlab.recipe import Masking, Recipe
from bertlab.training.share import ALONE, Share


class Heldout:
    """The fixed evaluation of an objective: the same rows, and masks, for every recipe that has it."""

    def __init__(self, recipe: Recipe, corpus: Corpus, rows: int) -> None:
        """Reads at most `rows` held-out sequences."""
        self.causal = recipe.objective.causal
        self.fixed = heldout(recipe, corpus, rows, own=False)
        otherwise = not self.causal and _masks_otherwise(recipe.masking)
        self.own = heldout(recipe, corpus, rows, own=True) if otherwise else None

    def figures(self, model: PretrainingModel, machine: Machine, share: Share = ALONE) -> dict[str, float]:
        """A masked LM's `masked_lm_loss`, `perplexity` and `accuracy` at 15 %, 80/10/10, and `own_loss`, all in nats or
        shares; of a left-to-right LM `causal_loss` and `perplexity`: the two are not of one kind.
        """
        if self.causal:
            loss = causal_lm(model, self.fixed, machine, share)
            return {"causal_loss": loss, "perplexity": _perplexity(loss)}
        found = masked_lm(model, self.fixed, machine, share)
        own = found["loss"] if self.own is None else masked_lm(model, self.own, machine, share)["loss"]
        names = {"masked_lm_loss": "loss", "perplexity": "perplexity", "accuracy": "accuracy"}
        return {**{name: found[each] for name, each in names.items()}, "own_loss": own}


@torch.inference_mode()
def causal_lm(model: PretrainingModel, batches: Sequence[Batch], machine: Machine, share: Share = ALONE) -> float:
    """Mean loss (nats) of predicting each next token, [SEP] included."""
    loss = count = 0.0
    model.eval()
    for batch in batches[share.rank :: share.ranks]:
        tensors = on_device(batch, machine.device)
        tensors.pop("next_sentence")
        with autocast(machine):
            total, _ = model.losses(**tensors, next_sentence=None)
        loss += float(total)
        count += float(batch.weights.sum())
    model.train()
    loss, count = share.total(loss, count)
    return loss / count


@torch.inference_mode()
def masked_lm(
    model: PretrainingModel, batches: Sequence[Batch], machine: Machine, share: Share = ALONE
) -> dict[str, float]:
    """Mean loss (nats), perplexity and accuracy (share) of predicting the masked tokens."""
    loss = right = count = 0.0
    model.eval()
    for batch in batches[share.rank :: share.ranks]:
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
    loss, right, count = share.total(loss, right, count)
    mean = loss / count
    return {"loss": mean, "perplexity": _perplexity(mean), "accuracy": right / count}


@torch.inference_mode()
def next_sentence(model: PretrainingModel, batches: Sequence[Batch], machine: Machine, share: Share = ALONE) -> float:
    """Share of pairs of which the model says rightly whether the second segment follows the first."""
    right = count = 0.0
    model.eval()
    for batch in batches[share.rank :: share.ranks]:
        tensors = on_device(batch, machine.device)
        with autocast(machine):
            _, logits = model.predictions(*(tensors[name] for name in ("tokens", "segments", "lengths", "positions")))
        right += int((logits.argmax(-1) == tensors["next_sentence"]).sum())
        count += len(logits)
    model.train()
    right, count = share.total(right, count)
    return right / count


def on_device(batch: Batch, device: str) -> dict[str, torch.Tensor]:
    """The arrays of a batch that a model reads, as tensors on `device`."""
    names = ("tokens", "segments", "lengths", "positions", "targets", "weights", "next_sentence")
    tensors = {name: torch.from_numpy(getattr(batch, name)) for name in names}
    if device == "cuda":  # from pinned memory, so that nothing waits for the copy
        tensors = {name: value.pin_memory() for name, value in tensors.items()}
    tensors = {name: value.to(device, non_blocking=True) for name, value in tensors.items()}
    return {name: value if value.is_floating_point() else value.long() for name, value in tensors.items()}


def autocast(machine: Machine) -> torch.autocast:
    """The precision of this machine's matrix products, for code that runs outside a Trainer."""
    return torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.bf16())


def _masks_otherwise(own: Masking) -> bool:
    """Whether a recipe masks otherwise than the fixed evaluation: at 15 %, 80/10/10."""
    fixed = Masking()
    return (own.mask_prob, own.mask, own.keep, own.random) != (fixed.mask_prob, fixed.mask, fixed.keep, fixed.random)


def _perplexity(loss: float) -> float:
    return math.exp(min(loss, 700.0))
