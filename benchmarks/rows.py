"""The table of the benchmarks as data: what is measured, beside whom, and how much is asked of it.

Figures without `floor` are there for comparison: the peer at other flags, or the same sum counted more mildly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the table."""

    name: str
    quantity: str
    peer: str
    unit: str
    """Of the two sides."""
    told: Literal["times", "share", "seconds"] = "times"
    """What the figure is: our side over the peer's as a multiple or a share, or our side alone."""
    floor: float | None = None
    """What the worse end of the interval is to reach."""
    aim: float | None = None
    less: bool = False
    """Whether less is better."""

    def reaches(self, bound: float | None, interval: tuple[float, float]) -> bool:
        """Whether the worse end of an interval is as good as `bound`; so it is where none is set."""
        low, high = interval
        return bound is None or (high <= bound if self.less else low >= bound)

    def shown(self, value: float) -> str:
        """A figure of this row as a person reads it."""
        if self.told == "share":
            return f"{100 * value:.0f} %"
        digits = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
        return digits + ("x" if self.told == "times" else " s")


def _pretraining(name: str, shape: str, peer: str, floor: float | None = None, aim: float | None = None) -> Row:
    return Row(name=name, quantity=f"pre-training, {shape}", peer=peer, unit="tokens/s", floor=floor, aim=aim)


def _share(name: str, what: str, peer: str, floor: float, aim: float) -> Row:
    quantity = f"share of the peak, {what}"
    return Row(name=name, quantity=quantity, peer=peer, unit="FLOP/s", told="share", floor=floor, aim=aim)


TRAINER, LOOP, PRODUCT = "transformers Trainer", "loop on BertForPreTraining", "bf16 matrix product"

ROWS = (
    _pretraining("mini-trainer", "4/256/4", f"{TRAINER}, defaults", 6.0, 10.0),
    _pretraining("mini-trainer-bf16", "4/256/4", f"{TRAINER}, bf16", 4.5, 7.0),
    _pretraining("mini-trainer-best", "4/256/4", f"{TRAINER}, bf16, fused, compiled"),
    _pretraining("base-loop", "12/768/12", f"{LOOP}, fp32", 4.0, 6.5),
    _pretraining("base-loop-bf16", "12/768/12", f"{LOOP}, bf16", 1.8, 2.8),
    _pretraining("tiny-loop", "2/128/2", f"{LOOP}, fp32", 6.0, 9.0),
    _pretraining("mini-lightning", "4/256/4", "our model without Lightning", 0.95, 0.99),
    _pretraining("tiny-lightning", "2/128/2", "our model without Lightning", 0.95, 0.99),
    _share("base-share", "12/768/12", PRODUCT, 0.28, 0.45),
    _share("mini-share", "4/256/4", PRODUCT, 0.16, 0.30),
    Row(
        name="collating",
        quantity="masking and collating",
        peer="DataCollatorForLanguageModeling, defaults",
        unit="tokens/s",
        floor=50.0,
        aim=150.0,
    ),
    Row(
        name="collating-best",
        quantity="masking and collating",
        peer="the same, NumPy, special tokens known",
        unit="tokens/s",
    ),
    Row(
        name="corpus",
        quantity="text to tokenised corpus",
        peer="datasets.map, fast tokenizer, all cores",
        unit="tokens/s",
        floor=2.0,
        aim=5.0,
    ),
    Row(name="corpus-best", quantity="text to tokenised corpus", peer="the same, 16-bit ids alone", unit="tokens/s"),
    Row(
        name="finetuning",
        quantity="fine-tuning, 12/768/12",
        peer=f"{TRAINER}, run_glue's defaults",
        unit="rows/s",
        floor=7.0,
        aim=12.0,
    ),
    Row(
        name="finetuning-best",
        quantity="fine-tuning, 12/768/12",
        peer=f"{TRAINER}, by length, bf16",
        unit="rows/s",
        floor=1.2,
        aim=1.6,
    ),
    Row(name="sharing", quantity="ablate all, tiny", peer="each cell by itself", unit="cells/h", floor=2.0, aim=4.0),
    Row(name="sharing-rows", quantity="ablate all, tiny", peer="a pre-training for each row", unit="cells/h"),
    Row(
        name="second",
        quantity="a second ablate, everything done",
        peer="",
        unit="s",
        told="seconds",
        floor=2.0,
        aim=1.0,
        less=True,
    ),
    Row(
        name="memory",
        quantity="peak memory, 4/256/4",
        peer=f"{TRAINER}, defaults",
        unit="bytes",
        floor=0.5,
        aim=0.38,
        less=True,
    ),
    Row(
        name="help",
        quantity="time of bertlab --help",
        peer="a bare Typer program",
        unit="s",
        floor=1.5,
        aim=1.2,
        less=True,
    ),
)

BY_NAME = {row.name: row for row in ROWS}
