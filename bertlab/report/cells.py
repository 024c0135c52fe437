"""What a report knows of one measured value and of one pre-training, finished or not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertlab.recipe import Recipe

PLATEAU = 0.25
"""Nats: an LM that ends this close to the unigram entropy of its held-out text has learned next to nothing of context.
Models that never left the plateau ended up to 0.23 below it: the length of a sequence gives some tokens away, others
are shown."""


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
    """The message of a failed run."""
    value: float | None
    """Points, or what is read off the pre-training in its own unit."""
    majority: float | None
    """Points of always giving the most frequent answer."""
    lexical: float | None
    """Points of a bag-of-words model, see `tasks/lexical.py`."""
    exchanged: float | None
    """Points where one of two texts is another example's."""
    train_examples: int
    eval_examples: int
    trained_parameters: int | None
    """Parameters that the adaptation to the task trains; None where there is none, or it is not measured."""
    seconds: float
    numerics: tuple[tuple[str, str], ...]
    kind: str
    """The kind of the task; empty until it is measured."""
    length: int
    """Tokens of its sequences at most; 0 if unknown."""
    settings: Mapping[str, Any]
    """How it was trained, fields at their defaults left out."""
    threshold: float | None
    """Score above which a question of SQuAD 2.0 is answered."""

    @property
    def fate(self) -> str:
        """The status; a diverged run adds the step."""
        return fate(self.status, self.reason)


@dataclass(frozen=True)
class Point:
    """A held-out evaluation during a pre-training."""

    step: int
    """Updates until then."""
    tokens: float
    """Tokens trained on until then."""
    seconds: float | None
    """Training time of these updates, without evaluations; None where it was not recorded."""
    losses: Mapping[str, float]
    """Each loss that was measured, in nats, by the name of the figure."""


@dataclass(frozen=True)
class Pretraining:
    """One pre-training of a study: a variant and a seed."""

    variant: str
    seed: int
    id: str
    status: str
    reason: str
    result: Mapping[str, Any]
    """The run's `result.json`; empty if it is not finished."""
    recipe: Recipe | None
    """None if it is not finished."""
    corpus: str
    """The id of its tokenised corpus, empty if it has none."""
    curve: tuple[Point, ...]
    seconds: float
    numerics: tuple[tuple[str, str], ...]
    host: tuple[tuple[str, str], ...]
    """The machine: its processor, cores, system."""
    software: tuple[tuple[str, str], ...]
    """Versions of the libraries."""

    @property
    def fate(self) -> str:
        """The status; a diverged run adds the step."""
        return fate(self.status, self.reason)

    @property
    def finished(self) -> bool:
        """Whether it has a result."""
        return bool(self.result)

    @property
    def imported(self) -> str:
        """The name of the published checkpoint that it is; empty if it was trained here."""
        return "" if self.result.get("fresh") else str(self.result.get("checkpoint", ""))

    @property
    def steps(self) -> int:
        """Updates that it was trained for."""
        return int(self.result.get("steps") or 0)

    @property
    def untrained(self) -> bool:
        """Whether it is a model without pre-training."""
        return self.finished and not self.steps and not self.imported

    @property
    def rotary(self) -> bool:
        """Whether its positions are rotary; BERT's are learned."""
        return self.recipe is not None and self.recipe.model.positions == "rotary"

    @property
    def objective(self) -> tuple[str, ...]:
        """The kinds of its losses; none if it is not finished."""
        return () if self.recipe is None else tuple(loss.kind for loss in self.recipe.objective)

    @property
    def judged_by(self) -> str:
        """The held-out figure that judges the variant: that of its objective, which others need not compare with."""
        return str(self.result.get("judged_by", ""))

    @property
    def loss(self) -> float | None:
        """The final held-out loss that judges the variant, in nats."""
        return self.heldout(self.judged_by)

    @property
    def plateau(self) -> float | None:
        """The unigram entropy of its held-out text, in nats."""
        return number(self.result.get("unigram_entropy"))

    @property
    def learned_nothing(self) -> bool:
        """Whether it ends on the unigram plateau, or next to it."""
        if self.untrained or self.loss is None or self.plateau is None:
            return False
        return self.loss > self.plateau - PLATEAU

    def heldout(self, name: str) -> float | None:
        """A metric of its final held-out evaluation."""
        return number(self.result.get("heldout", {}).get(name))

    def seconds_at(self, step: float) -> float | None:
        """Training time until a step, interpolated between evaluations; None where it was not recorded."""
        known = [(float(point.step), point.seconds) for point in self.curve if point.seconds is not None]
        if not known or step > known[-1][0]:
            return None
        steps, seconds = zip((0.0, 0.0), *known, strict=True)
        return float(np.interp(step, np.array(steps), np.array(seconds)))


def fate(status: str, reason: str) -> str:
    """A status as a table shows it; of a diverged run `diverged at step K`."""
    beginning = reason.partition(":")[0]
    return beginning if beginning.startswith(f"{status} at step") else status


def number(value: Any) -> float | None:
    """`value` of a JSON file, if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
