"""The table of the benchmarks as data: what is measured, beside whom, and what it has to reach.

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
    shown_as: Literal["times", "share", "seconds"] = "times"
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
        if self.shown_as == "share":
            return f"{100 * value:.0f} %"
        digits = f"{value:.0f}" if value >= 100 else f"{value:.3g}"
        return digits + ("x" if self.shown_as == "times" else " s")


def _pretraining(
    scale: str, name: str, peer: str, floor: float | None = None, aim: float | None = None, *, compiled: bool = False
) -> Row:
    quantity = f"pre-training, scale {scale}{', compiled' * compiled}"
    return Row(name=f"{scale}-{name}", quantity=quantity, peer=peer, unit="tokens/s", floor=floor, aim=aim)


def _share(scale: str, floor: float, aim: float) -> Row:
    return Row(
        name=f"{scale}-share",
        quantity=f"share of the peak, scale {scale}",
        peer="bf16 matrix product",
        unit="FLOP/s",
        shown_as="share",
        floor=floor,
        aim=aim,
    )


def _kernel(scale: str, name: str, what: str, peer: str, floor: float | None = None) -> Row:
    quantity = f"training step, scale {scale}, {what}"
    return Row(name=f"{scale}-{name}", quantity=quantity, peer=peer, unit="tokens/s", floor=floor)


def _arm(name: str, what: str, peer: str, scale: str = "mini") -> Row:
    quantity = f"pre-training, scale {scale}, {what}"
    return Row(name=name, quantity=quantity, peer=peer, unit="tokens/s", shown_as="share", floor=0.9, aim=1.0)


def _t5(name: str, what: str, peer: str, unit: str, floor: float | None = None, aim: float | None = None) -> Row:
    return Row(name=name, quantity=f"T5, scale tiny, {what}", peer=peer, unit=unit, floor=floor, aim=aim)


def _finetuning(name: str, what: str, floor: float, aim: float) -> Row:
    peer = "loop on BertForSequenceClassification, by length, fused"
    return Row(
        name=f"{name}-finetuning", quantity=f"fine-tuning, {what}", peer=peer, unit="rows/s", floor=floor, aim=aim
    )


TRAINER, LOOP = "transformers Trainer", "loop on BertForPreTraining"
T5_LOOP = "loop on T5ForConditionalGeneration, fused"
ATTENTION = "attention", "attention by products", "scaled_dot_product_attention"

ROWS = (
    _pretraining("tiny", "compiled", f"{LOOP}, bf16, fused", 3.0, 5.0, compiled=True),
    _pretraining("mini", "compiled", f"{LOOP}, bf16, fused", 3.0, 5.0, compiled=True),
    _pretraining("mini", "trainer-best", f"{TRAINER}, bf16, fused, compiled", compiled=True),
    _pretraining("mini", "trainer-bf16", f"{TRAINER}, bf16"),
    _pretraining("mini", "trainer", f"{TRAINER}, defaults"),
    _pretraining("base", "loop-bf16", f"{LOOP}, bf16", 1.8, 2.8),
    _pretraining("base", "loop", f"{LOOP}, fp32", 4.0, 6.5),
    _pretraining("tiny", "loop-bf16", f"{LOOP}, bf16"),
    _pretraining("tiny", "loop", f"{LOOP}, fp32"),
    _pretraining("mini", "lightning", "our model without Lightning", 0.95, 0.99),
    _pretraining("tiny", "lightning", "our model without Lightning", 0.95, 0.99),
    _share("base", 0.28, 0.45),
    _share("mini", 0.16, 0.30),
    _kernel("tiny", *ATTENTION, 1.15),
    _kernel("mini", *ATTENTION, 1.15),
    _kernel("base", *ATTENTION),
    _arm("whole-words", "whole words masked", "single tokens"),
    _arm("spans", "spans masked", "single tokens"),
    _arm("entities", "named entities masked", "single tokens"),
    _arm("noun-phrases", "noun phrases masked", "single tokens"),
    _arm("n-grams", "n-grams masked", "single tokens"),
    _arm("span-boundary", "span-boundary loss", "masked LM alone"),
    _arm("base-span-boundary", "span-boundary loss", "masked LM alone", "base"),
    _arm("sentence-order", "sentence order", "next sentence"),
    _arm("shared", "all layers shared", "none shared"),
    _arm("embeddings", "embeddings of H/6", "embeddings of H"),
    _arm("pre-norm", "pre-norm", "post-norm"),
    _arm("power-norm", "PowerNorm", "LayerNorm"),
    _arm("lamb", "LAMB", "AdamW"),
    _arm("adafactor", "Adafactor", "AdamW"),
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
        name="mixture",
        quantity="pre-training on text and 17 tasks",
        peer="on text alone",
        unit="tokens/s",
        shown_as="share",
        floor=0.95,
    ),
    Row(
        name="mixture-unpadded",
        quantity="pre-training on text and 17 tasks, padding not counted",
        peer="on text alone",
        unit="tokens/s",
        shown_as="share",
    ),
    _t5("t5-compiled", "pre-training, compiled", T5_LOOP, "tokens/s", 2.5, 5.0),
    _t5("t5-loop", "pre-training", T5_LOOP, "tokens/s"),
    _t5("greedy", "decoding", "generate of transformers", "tokens/s", 2.0, 4.0),
    _t5("beams", "decoding with four beams", "generate of transformers", "tokens/s"),
    Row(
        name="corpus",
        quantity="text to tokenised corpus",
        peer="datasets.map, fast tokenizer, all cores",
        unit="tokens/s",
        floor=2.0,
        aim=5.0,
    ),
    Row(name="corpus-best", quantity="text to tokenised corpus", peer="the same, 16-bit ids alone", unit="tokens/s"),
    _finetuning("tiny", "scale tiny", 2.0, 3.0),
    _finetuning("small", "6 layers of 384", 1.6, 2.5),
    _finetuning("base", "scale base", 1.6, 2.0),
    Row(
        name="finetuning",
        quantity="fine-tuning, scale base",
        peer=f"{TRAINER}, run_glue's defaults",
        unit="rows/s",
        floor=7.0,
        aim=12.0,
    ),
    Row(
        name="finetuning-best",
        quantity="fine-tuning, scale base",
        peer=f"{TRAINER}, by length, bf16",
        unit="rows/s",
        floor=1.2,
        aim=1.6,
    ),
    Row(
        name="predicting",
        quantity="predict, 6 layers of 384, one thread",
        peer="pipeline of transformers, best batch size",
        unit="rows/s",
        floor=2.0,
        aim=4.0,
    ),
    Row(
        name="scoring",
        quantity="minimal pairs, 6 layers of 384, one thread",
        peer="minicons, both measures, best batch size",
        unit="pairs/s",
        floor=5.0,
        aim=10.0,
    ),
    Row(
        name="scoring-one",
        quantity="minimal pairs, 6 layers of 384, one thread",
        peer="minicons, one of the measures",
        unit="pairs/s",
    ),
    Row(name="sharing", quantity="ablate all, tiny", peer="each cell by itself", unit="cells/h", floor=2.0, aim=4.0),
    Row(name="sharing-rows", quantity="ablate all, tiny", peer="a pre-training for each row", unit="cells/h"),
    Row(
        name="second",
        quantity="a second ablate, everything done",
        peer="",
        unit="s",
        shown_as="seconds",
        floor=2.0,
        aim=1.0,
        less=True,
    ),
    Row(
        name="memory",
        quantity="peak memory, scale mini",
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
