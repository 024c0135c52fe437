"""The job that adapts several models to a task and evaluates the mean of their logits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bertlab.lab.jobs.base import Pretrained, Work
from bertlab.lab.jobs.evaluation import Evaluation
from bertlab.lab.variant import Ensemble
from bertlab.recipe.identity import to_canonical
from bertlab.store.runs import Store

if TYPE_CHECKING:
    from bertlab.adaptation import Adaptation
    from bertlab.tasks.kinds.base import TaskKind
    from bertlab.training.finetuning import Member

APART = 1_000_000
"""The difference of the seeds of two members of an ensemble."""


def unaveraged_reason(ensemble: Ensemble, adaptation: Adaptation, kind: TaskKind) -> str:
    """Why models that are adapted so have no mean on a kind of task, and what to do; empty if they have one."""
    leave_out = "choose other measurements with --measure, or other variants with --only"
    if not kind.averages:
        return f"models answer {kind.name} with positions of words, which an ensemble cannot average: {leave_out}"
    if adaptation.reads_once and ensemble.pretrains:
        return f"{adaptation.kind} reads vectors of one pre-training, and the ensemble has several: {leave_out}"
    return ""


@dataclass(frozen=True)
class EnsembleEvaluation(Evaluation, kinds=("ensemble",)):
    """Adapts several models to a task. Its first member is the model of an `Evaluation` with the same fields."""

    ensemble: Ensemble = field(default_factory=Ensemble)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", "ensemble")

    @property
    def members(self) -> list[tuple[Pretrained, int]]:
        """The pre-training and the fine-tuning seed of each member."""
        seeds = [APART * number for number in range(self.ensemble.members)]
        if not self.ensemble.pretrains:
            return [(self.pretrained, self.finetune_seed + seed) for seed in seeds]
        first = self.pretrained.seed
        models = [self.pretrained, *(self.pretrained.with_seed(first + seed) for seed in seeds[1:])]
        return [(model, self.finetune_seed) for model in models]

    @property
    def needs(self) -> tuple[Pretrained, ...]:
        """The models of all members."""
        return tuple({model.id: model for model, _ in self.members}.values())

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows: that of its first member, and what the ensemble is."""
        return super().definition() | {"ensemble": to_canonical(self.ensemble, whole=True)}

    def others(self, store: Store) -> list[Member]:
        """The members behind the first one."""
        from bertlab.training.finetuning import Member

        opened = [(store.get_verified(model.id).path, model.seed, seed) for model, seed in self.members[1:]]
        return [Member(*parts) for parts in opened]

    def work(self) -> Work:
        """The work of all members."""
        one, members = super().work(), self.ensemble.members
        tokens, flops = members * one.tokens, members * one.flops
        return dataclasses.replace(one, tokens=tokens, flops=flops, steps=members * one.steps)
