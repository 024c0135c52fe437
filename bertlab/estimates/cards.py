"""Graphics cards that a plan can be reckoned for, as their makers publish them.

Peaks are those of dense matrix products in the precision that `bertlab` computes in there: bf16 with sums in fp32, or
fp32 where the hardware has no bf16. A figure that was not published in such terms is left out, and so is its card.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bertlab.errors import BadInput, unknown

SHARE = 0.3
"""Of the peak, what training at the paper's sizes is taken to reach. ModernBERT-base reports about 25 % on eight H100,
well-tuned larger models 40 to 50 %."""
SECONDS_A_LAYER = 1.5e-3
"""A step takes at least so long for each layer of the model, and once more for all else: some hundred kernels are
launched, at about 10 microseconds each. Small models reach a small share of the peak because of it."""

SECONDS_A_JOB = 3.0
"""Around the steps of a job: reading and tokenising, building the model, saving."""


@dataclass(frozen=True)
class Accelerator:
    """A graphics card."""

    name: str
    peak: float
    """Operations a second."""
    memory: float
    """Bytes."""
    watts: float
    """Board power at most."""
    precision: str = "bf16"
    """That of its peak."""

    def seconds(self, flops: float, steps: float, layers: int) -> float:
        """What a job takes of `steps` updates of a model of so many `layers` that come to `flops` operations in all."""
        return SECONDS_A_JOB + flops / (SHARE * self.peak) + steps * (layers + 1) * SECONDS_A_LAYER


CARDS = {
    card.name: card
    for card in (
        Accelerator("H200", 989e12, 141e9, 700),  # NVIDIA H200 data sheet, SXM: 1,979 TFLOPS with sparsity
        Accelerator("H100", 989e12, 80e9, 700),  # NVIDIA H100 data sheet, SXM: 1,979 TFLOPS with sparsity
        Accelerator("A100", 312e12, 80e9, 400),  # NVIDIA A100 data sheet, SXM 80 GB
        Accelerator("L40S", 362e12, 48e9, 350),  # NVIDIA L40S data sheet: 362 dense, 733 with sparsity
        Accelerator("L4", 121e12, 24e9, 72),  # NVIDIA L4 data sheet: 242 TFLOPS with sparsity
        Accelerator("A10", 125e12, 24e9, 150),  # NVIDIA A10 data sheet: 125 dense, 250 with sparsity
        Accelerator("RTX 4090", 165e12, 24e9, 450),  # NVIDIA Ada architecture white paper: fp32 accumulation, dense
        Accelerator("RTX 3090", 71e12, 24e9, 350),  # NVIDIA GA102 architecture white paper: the same
        Accelerator("V100", 15.7e12, 32e9, 300, "fp32"),  # NVIDIA V100 data sheet, SXM2, in fp32: it has no bf16
        Accelerator("T4", 8.1e12, 16e9, 70, "fp32"),  # NVIDIA T4 data sheet, in fp32: it has no bf16
    )
}
"""Every card by its name."""


def find(text: str) -> tuple[int, Accelerator]:
    """The number and kind of cards that `8xH100`, `A100` or `2xRTX4090` names. Raises `BadInput` for any other."""
    match = re.fullmatch(r"(?:([0-9]{1,5})\s*[xX×]\s*)?(.+)", text.strip())
    count, name = (int(match[1] or 1), match[2]) if match else (1, text)
    if not count:
        raise BadInput(f"--on '{text}': give at least one, as 8xH100")
    known = {_plain(each): card for each, card in CARDS.items()}
    if _plain(name) not in known:
        raise unknown("graphics card in --on", name, CARDS)
    return count, known[_plain(name)]


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).upper()
