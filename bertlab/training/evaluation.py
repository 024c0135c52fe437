"""How a pre-trained model is evaluated on held-out text: the same sequences and masks for every variant of a study.

The processes of a group share the batches, and all of them have the figures of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from bertlab.inputs.batches import Corpus, Evaluation
from bertlab.inputs.collator import Batch
from bertlab.machine import Machine
from bertlab.model.heads import PretrainingModel, TensorBatch
from bertlab.recipe import Recipe
from bertlab.training.share import ALONE, Share


class Heldout:
    """The fixed evaluations of the losses of an objective."""

    def __init__(self, recipe: Recipe, corpus: Corpus, size: int, final: bool = False) -> None:
        """Each reads at most `size` held-out sequences; `final` ones are those that follow the last step."""
        self.evaluations: Sequence[Evaluation] = [
            each for loss in recipe.objective for each in loss.evaluations(recipe, corpus, size, final)
        ]

    @torch.inference_mode()
    def figures(self, model: PretrainingModel, machine: Machine, share: Share = ALONE) -> dict[str, float]:
        """Every figure by its name, losses in nats."""
        model.eval()
        found: dict[str, float] = {}
        for evaluation in self.evaluations:
            totals = dict.fromkeys(evaluation.names, 0.0)
            for batch in evaluation.batches[share.rank :: share.ranks]:
                on = on_device(batch, machine.device)
                with autocast(machine):
                    sums = evaluation.sums(model, on)
                for name, value in sums.items():
                    totals[name] += float(value)
            summed = share.total(*totals.values())
            found |= evaluation.figures(dict(zip(totals, summed, strict=True)))
        model.train()
        return found


def on_device(batch: Batch, device: str) -> TensorBatch:
    """What a model reads of a batch, as tensors on `device`."""

    def moved(array: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(array)
        if device == "cuda":  # from pinned memory, so that nothing waits for the copy
            tensor = tensor.pin_memory()
        tensor = tensor.to(device, non_blocking=True)
        return tensor if tensor.is_floating_point() else tensor.long()

    arrays = {kind: {name: moved(array) for name, array in each.items()} for kind, each in batch.arrays.items()}
    return TensorBatch(moved(batch.tokens), moved(batch.segments), moved(batch.lengths), arrays)


def autocast(machine: Machine) -> torch.autocast:
    """The precision of this machine's matrix products, for code that runs outside a Trainer."""
    return torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.bf16())
