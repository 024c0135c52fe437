"""A pre-trained model as it is, on tasks that it read among the text (T5: Raffel et al. 2020, section 3.5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertlab.adaptation.zero_shot import Untrained
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from torch import nn

    from bertlab.model.heads import PretrainingModel


@dataclass(frozen=True, kw_only=True)
class NoTuning(Untrained):
    """Trains nothing: the model writes the answers that its pre-training taught it."""

    kind = "no-tuning"
    description = "nothing trained: the answers of the pre-trained model"
    stage = "answering"

    def unsupported_reason(self, kind: TaskKind) -> str:
        """It has no head but the decoder."""
        if not kind.writes:
            return f"no-tuning writes answers, those of {kind.name} are no texts: use FineTuning"
        return super().unsupported_reason(kind)

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The model as it is."""
        return super().adapt(model.requires_grad_(False), kind, labels, key)
