"""What a report knows of one measured value and of one pre-training, finished or not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PLATEAU = 0.25
"""Nats: an LM that ends this close to the unigram entropy of its held-out text has learnt next to nothing of context.
Rows that never left the plateau were seen to end up to 0.23 below it: some tokens can be told from the length
of the row, or are shown."""


@dataclass(frozen=True)
class Cell:
    """One measured value of a study, or its absence."""

    variant: str
    measurement: str
    task: str
    dataset: str
    split: str
    method: str
    metric: str
    milestone: int
    """Per cent of the pre-training steps after which the model was measured."""
    pretrain_seed: int
    finetune_seed: int
    pretrain_id: str
    run_id: str
    published: float | None
    """Points in the paper."""
    status: str
    """`done`, `collapsed`, `pending`, or why there is no value (`diverged`, `failed`, `damaged`)."""
    reason: str
    """What a failed run said."""
    value: float | None
    """Points, or what is read off the pre-training in its own unit."""
    majority: float | None
    """Points of always giving the most frequent answer."""
    lexical: float | None
    """Points of counting words, see `tasks/lexical.py`."""
    exchanged: float | None
    """Points where one of two texts is another example's."""
    train_rows: int
    evaluation_rows: int
    seconds: float
    numerics: tuple[tuple[str, str], ...]
    kind: str
    """The kind of the task; empty while it is not measured."""
    length: int
    """Tokens of its sequences at most; 0 if unknown."""
    settings: Mapping[str, Any]
    """How it was trained, fields at their defaults left out."""
    threshold: float | None
    """Above which a question of SQuAD 2.0 is answered."""

    @property
    def fate(self) -> str:
        """The status, of what diverged with the step."""
        return fate(self.status, self.reason)


@dataclass(frozen=True)
class Point:
    """A held-out evaluation during a pre-training."""

    step: int
    """Updates until then."""
    tokens: float
    """Tokens trained on until then."""
    seconds: float | None
    """What the updates until then took, evaluations not counted; None where no time was kept."""
    loss: float | None
    """Masked-LM loss at 15 %, 80/10/10, in nats."""
    own_loss: float | None
    """Masked-LM loss under the row's own masking, in nats."""
    causal_loss: float | None = None
    """Loss of a left-to-right LM, in nats; it has no masked-LM loss."""


@dataclass(frozen=True)
class Pretraining:
    """One pre-training of a study: a row and a seed."""

    variant: str
    seed: int
    id: str
    status: str
    reason: str
    result: Mapping[str, Any]
    """The run's `result.json`; empty if it is not finished."""
    science: Mapping[str, Any]
    """The recipe, fields at their defaults left out; empty if it is not finished."""
    curve: tuple[Point, ...]
    seconds: float
    numerics: tuple[tuple[str, str], ...]
    host: tuple[tuple[str, str], ...]
    """The machine: its processor, cores, system."""
    software: tuple[tuple[str, str], ...]
    """Versions of the libraries."""

    @property
    def fate(self) -> str:
        """The status, of what diverged with the step."""
        return fate(self.status, self.reason)

    @property
    def finished(self) -> bool:
        """Whether it has a result."""
        return bool(self.result)

    @property
    def imported(self) -> str:
        """The name of the checkpoint that it was taken from, if it was trained elsewhere."""
        return "" if self.result.get("fresh") else str(self.result.get("checkpoint", ""))

    @property
    def untrained(self) -> bool:
        """Whether it is the row without pre-training."""
        return self.finished and not self.result.get("steps") and not self.imported

    @property
    def rotary(self) -> bool:
        """Whether its positions are rotary; BERT's are learned."""
        return self.group("model").get("positions") == "rotary"

    @property
    def causal(self) -> bool:
        """Whether it is a left-to-right LM, whose loss and perplexity are not of a masked LM's kind."""
        return self.group("objective").get("kind") == "left-to-right"

    @property
    def sees_mask(self) -> bool:
        """Whether [MASK] occurs in its inputs. A row that never saw it is not judged by 80/10/10."""
        return float(self.group("masking").get("mask", 0.8)) > 0

    @property
    def loss(self) -> float | None:
        """The final held-out loss that judges the row, in nats."""
        if self.causal:
            return self.heldout("causal_loss")
        return self.heldout("masked_lm_loss" if self.sees_mask else "own_loss")

    @property
    def plateau(self) -> float | None:
        """The unigram entropy of its held-out text, in nats."""
        return number(self.result.get("unigram_entropy"))

    @property
    def learnt_nothing(self) -> bool:
        """Whether it ends on the unigram plateau, or next to it."""
        if self.untrained or self.loss is None or self.plateau is None:
            return False
        return self.loss > self.plateau - PLATEAU

    def heldout(self, name: str) -> float | None:
        """A figure of its final held-out evaluation."""
        return number(self.result.get("heldout", {}).get(name))

    def group(self, name: str) -> Mapping[str, Any]:
        """A group of its recipe, fields at their defaults left out."""
        recipe: Mapping[str, Any] = self.science.get("recipe", self.science)
        group: Mapping[str, Any] = recipe.get(name, {})
        return group


def fate(status: str, reason: str) -> str:
    """A status as a row shows it: of what diverged, `diverged at step K`."""
    told = reason.partition(":")[0]
    return told if told.startswith(f"{status} at step") else status


def number(value: Any) -> float | None:
    """`value` of a JSON file, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
