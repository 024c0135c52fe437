"""Pre-training base and large on one GPU, beside the peak that its data sheet gives.

    python benchmarks/gpu.py [--only gpu-base-128 ...] [--pairs 8] [--seconds 4] [--out FILE.json]

Ours goes through Lightning as `bertlab ablate --gpus 1` does, with batches that fill a card of 80 GB. Useful operations
a second are those of `bertlab.cost`: no padding, no logits where nothing is predicted, nothing computed twice. The
figures of the published peaks are in `bertlab/estimates/cards.py`.
"""

from __future__ import annotations

import dataclasses
import sys
from functools import partial

import ids
import script
from blocks import Found, Settings, compare, known
from shapes import Shape

from bertlab import cost
from bertlab.estimates.cards import CARDS

BASE = Shape(layers=12, hidden=768, heads=12, batch=256)
LARGE = Shape(layers=24, hidden=1024, heads=16, batch=128)


def share(shape: Shape, length: int, settings: Settings) -> Found:
    """Our useful operations against the card's, with as many tokens a step at any length."""
    import torch
    from ours import through_lightning

    if not torch.cuda.is_available():
        raise script.Lacking("gpu: torch finds no GPU on this machine")
    here = settings.machine
    card = next((card for card in CARDS.values() if card.name in here.device_name), None)
    if card is None:
        raise script.Lacking(f"gpu: the peak of '{here.device_name}' is not in bertlab/estimates/cards.py")
    shape = dataclasses.replace(shape, length=length, batch=shape.batch * shape.length // length)
    each = cost.flops_per_token(shape.recipe)
    with ids.batches(shape) as batches:
        tokens = through_lightning(shape, here, batches)
        tokens(0.0)
        return compare(lambda seconds: each * tokens(seconds), known(card.peak), settings)


MEASURED = {
    f"gpu-{name}-{length}": partial(share, shape, length)
    for name, shape in (("base", BASE), ("large", LARGE))
    for length in (128, 512)
}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED, gpus=1))
