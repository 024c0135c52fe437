"""The protocol of an adaptation: what is trained on a task, what stays frozen, and what that costs."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self

from bertlab.recipe.ranges import DROPOUT, SHARE, Arm, Range
from bertlab.recipe.recipe import Count, Decay, Epochs, Length, Model, Rate
from bertlab.tasks.examples import Batch, Examples, Integers
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from torch import Tensor, nn

    from bertlab.machine import Machine
    from bertlab.model.heads import PretrainingModel
    from bertlab.progress import Progress

EVALUATION_TOKENS = 4096
"""Tokens, padding included, that go through the model at once where nothing is trained."""


class Settings(Protocol):
    """What an adaptation reads of a scale."""

    @property
    def features(self) -> Adaptation:
        """Of the feature-based approach."""

    def finetuning(self, kind: str, task: str) -> Adaptation:
        """Of training all weights on a task."""


@dataclass(frozen=True)
class Inputs:
    """What a prepared model reads of some examples."""

    lengths: Integers
    """(E,) the size of each example: batches hold examples of similar size."""
    build: Callable[[Integers], dict[str, Tensor]]
    """The batch of the examples of these numbers."""
    at_once: int
    """Examples times their largest size in a batch of evaluation, about."""


@dataclass(frozen=True, kw_only=True)
class Adaptation(Arm, ABC, home="bertlab.adaptation"):
    """What all adaptations share: how long and how fast they train, and on what."""

    runs: ClassVar[str] = "finetune"
    """The folder of a store that its runs are kept in."""
    stage: ClassVar[str]
    """As progress shows it, before the name of the task."""
    intermediate: ClassVar[bool] = True
    """Whether it may be trained on another task before."""
    searched: ClassVar[bool] = False
    """Whether `--search` chooses its setting."""

    batch_size: Annotated[int, Range(1, 100_000)] = 32
    epochs: Epochs = 3.0
    peak_lr: Rate = 5e-5
    warmup: Annotated[float, SHARE] = 0.1
    max_train_examples: Count = 0
    """Training examples at most, a keyed sample; 0 for all."""
    max_steps: Count = 0
    """Updates at most; 0 for all that the epochs ask for."""
    max_eval_examples: Count = 0
    """Evaluation examples at most, a keyed sample, the same for every model and seed; 0 for all."""
    length: Length = 128
    """Tokens a sequence, specials included, at most."""
    dropout: Annotated[float, DROPOUT] = 0.1
    weight_decay: Decay = 0.01
    bias_correction: bool = True
    """Adam's; Google's released optimiser has none."""
    context: bool = False
    """Of tagging: neighbouring sentences of the same document fill a sequence up to `length` (BERT section 5.3)."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What is trained, as reports say it."""

    @classmethod
    def at_scale(cls, scale: Settings, kind: TaskKind, task: str) -> Self:
        """The setting of a scale: what is common to all adaptations as fine-tuning has it, the rest at its defaults."""
        found = scale.finetuning(kind.name, task)
        return cls(**{each.name: getattr(found, each.name) for each in dataclasses.fields(Adaptation)})

    @classmethod
    def group(cls, kind: TaskKind) -> str:
        """The group of a scale's fields that `at_scale` reads for a kind of task."""
        return kind.setting

    @classmethod
    def groups(cls) -> set[str]:
        """All of these."""
        return {cls.group(kind) for kind in KINDS.values()}

    def options(self, kind: TaskKind) -> tuple[str, ...]:
        """The options of a kind of task that are switched on."""
        return tuple(name for name in kind.options if getattr(self, name, False))

    def problem(self, kind: TaskKind) -> str:
        """Why it cannot be used on a kind of task, and what to do; empty if it can."""
        for other in KINDS.values():
            for name in set(self.options(other)) - set(kind.options):
                return f"{name} is of {other.name}, its task is {kind.name}: set it for {other.name} alone"
        return ""

    @abstractmethod
    def prepare(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The module that is trained: with what is added, its weights keyed by `key`, and what is frozen."""

    def inputs(self, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress) -> Inputs:
        """What the prepared model reads of examples: their word pieces."""
        return Inputs(part.lengths, lambda rows: tensors(part.batch(rows)), EVALUATION_TOKENS // part.choices)

    def logits(self, model: nn.Module, kind: TaskKind, batch: Mapping[str, Tensor]) -> Tensor:
        """The logits of the targets of a batch, as `TaskKind.logits`."""
        return kind.logits(model, batch)

    def lr_multipliers(self, model: nn.Module) -> dict[nn.Parameter, float]:
        """The parameters of a prepared model that have a learning rate of their own, as a multiple of `peak_lr`."""
        return {}

    @abstractmethod
    def flops(self, model: Model, trained: float, judged: float, passes: float, *, causal: bool = False) -> float:
        """Operations with `trained` tokens to train on in each of the `passes`, and `judged` ones; heads left out."""


def trained_parameters(model: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(value.numel() for value in model.parameters() if value.requires_grad)


def tensors(batch: Batch) -> dict[str, Tensor]:
    """The arrays of a batch as tensors, integers as 64 bits, without `lengths` where no row has padding."""
    import torch

    names = ("tokens", "segments", "positions", "targets", "lengths")
    parts = {name: torch.from_numpy(getattr(batch, name)) for name in names}
    parts = {name: value if value.is_floating_point() else value.long() for name, value in parts.items()}
    if (batch.lengths == batch.tokens.shape[1]).all():
        del parts["lengths"]
    return parts


def varied(given: Iterable[Adaptation]) -> dict[type[Adaptation], set[str]]:
    """For each arm the fields that some settings give: those in which they differ, or that are not at their default."""
    found: dict[type[Adaptation], dict[str, set[Any]]] = {}
    for each in given:
        values = found.setdefault(type(each), {})
        for field in dataclasses.fields(each):
            values.setdefault(field.name, set()).add(getattr(each, field.name))
    return {
        arm: {
            field.name
            for field in dataclasses.fields(arm)
            if len(values[field.name]) > 1 or values[field.name] != {field.default}
        }
        for arm, values in found.items()
    }
