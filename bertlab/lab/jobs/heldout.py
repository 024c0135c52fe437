"""The job that measures a pre-training on held-out text, as it was after a part of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bertlab.inputs.batches import EVALUATION_SEQUENCES
from bertlab.lab.jobs.base import Job, OnPretrained, Storage, Work
from bertlab.lab.jobs.pretraining import Pretraining
from bertlab.machine import Machine
from bertlab.progress import Progress
from bertlab.recipe import Recipe, cost
from bertlab.recipe.identity import MARK, canonical, filled, template
from bertlab.store.runs import Store

KEPT_BYTES = 2_000
"""Typical size of the result."""


@dataclass(frozen=True)
class HeldOutEvaluation(OnPretrained, kinds=("held-out",)):
    """Evaluates the weights that a pre-training saved at a milestone as it is evaluated at its end."""

    milestone: int = field()
    name: str = field(default="", compare=False)
    """The first study and variant that need it, and the milestone."""
    study: str = field(default="", compare=False)
    """The first study that needs it."""
    kind = "held-out"
    imports = ("torch", "bertlab.training.pretraining")

    @cached_property
    def id(self) -> str:
        """The id of the run."""
        return filled(self.template, f'"{self.pretrained.id}"')

    @cached_property
    def template(self) -> tuple[str, ...]:
        """What the id hashes, around the pre-training."""
        return template(self.kind, **self.definition() | {"pretrain": MARK})

    @property
    def label(self) -> str:
        """Study, variant, milestone and seed."""
        return f"{self.name}-seed{self.pretrained.seed}"

    @property
    def needs(self) -> tuple[Job, ...]:
        """The pre-training, and the corpus with the held-out text."""
        return self.pretrained, *self.pretrained.needs

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows."""
        return {"pretrain": self.pretrained.id, "milestone": self.milestone}

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Evaluates the weights that the pre-training kept at the milestone."""
        from bertlab.training.finetuning import saved_weights
        from bertlab.training.pretraining import evaluate

        recipe, corpus = self.pretrained.read_recipe(), self.pretrained.text(store)
        assert corpus is not None, "it is needed"
        pretraining = store.get_verified(self.pretrained.id)
        progress(0, 1, "evaluating held-out text")
        return {
            "status": "done",
            "milestone": self.milestone,
            "pretrain_id": pretraining.id,
            "heldout": evaluate(recipe, corpus, saved_weights(pretraining.path, recipe, self.milestone), machine),
            "judged_by": pretraining.result().judged_by,
        }

    def value(self, split: str) -> dict[str, Any]:
        """What a record says of its value, the same as of the value at the end."""
        return self.pretrained.value(split)

    def work(self) -> Work:
        """A forward pass of each loss over the held-out sequences, as many as there are at most."""
        recipe = self.pretrained.read_recipe()
        tokens = len(recipe.objective) * EVALUATION_SEQUENCES * recipe.inputs.length
        return Work(flops=tokens * cost.flops_per_token(recipe) / 3, layers=recipe.model.layers)

    def storage(self) -> Storage:
        """Its result."""
        return Storage(KEPT_BYTES)

    @classmethod
    def similarity(cls, definition: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
        """The same sequences and losses on models of one shape."""
        of_training = Pretraining.similarity(definition, recipe, compiled)
        return canonical([cls.kind, of_training])
