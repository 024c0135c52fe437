"""The job that trains a trunk: the first steps that several pre-trainings share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.inputs.words import most_revisions, revisions
from bertlab.lab.jobs.base import Job, Storage, Trunk, Work, copied
from bertlab.lab.jobs.corpus import CorpusPreparation
from bertlab.lab.jobs.pretraining import Pretraining, opened_corpus, work_between
from bertlab.machine import Machine
from bertlab.progress import Progress
from bertlab.recipe import Recipe, cost
from bertlab.recipe.identity import canonical
from bertlab.store import result
from bertlab.store.runs import Store
from bertlab.tasks.locate import LocatedTask
from bertlab.training.process_group import SINGLE, ProcessGroup

if TYPE_CHECKING:
    from lightning.pytorch.strategies import Strategy

    from bertlab.training.trunks import TrunkState


@dataclass(frozen=True)
class TrunkTraining(Trunk, kinds=("trunk",)):
    """Trains the first steps that several pre-trainings share. Each of them goes on from the state at their end, which
    is removed when all of them are finished."""

    prefix: str
    """The id of these steps, see `recipe.prefix`."""
    recipes: tuple[Recipe, ...]
    """The recipes of the pre-trainings; all of them have the same first steps."""
    corpus: CorpusPreparation = field(compare=False)
    until: int
    """The number of updates at its end."""
    milestones: tuple[int, ...]
    """The numbers of updates after which one of the pre-trainings has weights, without those that follow from words."""
    trunk: Trunk | None = field(default=None, compare=False)
    """The shorter trunk from which it goes on itself."""
    name: str = field(default="", compare=False)
    study: str = field(default="", compare=False)
    mixed: tuple[LocatedTask, ...] = field(default=(), compare=False)
    """The tasks on which the recipes train."""
    kind = "trunk"
    resumes = times_itself = True
    steady = True
    distributed = True
    imports = Pretraining.imports

    @property
    def label(self) -> str:
        """Study, number of updates and seed."""
        return f"{self.name}-seed{self.seed}"

    @cached_property
    def group(self) -> tuple[str, ...]:
        """Equal for trunks that differ in their seeds alone."""
        return (canonical(self.definition() | {"seed": 0}),)

    def with_seed(self, seed: int) -> TrunkTraining:
        """The same trunk with another seed."""
        trunk = self.trunk and self.trunk.with_seed(seed)
        recipes = tuple(recipe.with_seed(seed) for recipe in self.recipes)
        return copied(self, recipes=recipes, trunk=trunk, group=self.group)

    @property
    def recipe(self) -> Recipe:
        """The recipe of one of the pre-trainings, as good as any."""
        return self.recipes[0]

    @property
    def needs(self) -> tuple[Job, ...]:
        """The corpus, and the trunk before it."""
        return (self.corpus, self.trunk) if self.trunk else (self.corpus,)

    @property
    def pretraining(self) -> Pretraining:
        """One of the pre-trainings that it begins."""
        return Pretraining(self.recipe, self.corpus, self.name, study=self.study)

    @property
    def steps(self) -> int:
        """The number of updates after the trunk before it."""
        return self.until - self.first

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows."""
        parts = {"prefix": self.prefix, "steps": self.until, "milestones": list(self.milestones)}
        return {**parts, "corpus": self.corpus.id, "seed": self.recipe.seed}

    def run(
        self,
        work: Path,
        store: Store,
        machine: Machine,
        progress: Progress,
        group: ProcessGroup = SINGLE,
        strategy: Strategy | None = None,
    ) -> dict[str, Any]:
        """Trains in `work`, from the checkpoint of an earlier attempt if there is one."""
        from bertlab.training.pretraining import train_trunk

        corpus = opened_corpus(self.recipe, store.get_verified(self.corpus.id).path, self.mixed)
        of_words = {step for recipe in self.recipes for step in revisions(recipe, corpus).values()}
        milestones = sorted({*self.milestones, *(step for step in of_words if step <= self.until)})
        parts = milestones, self.until, progress, group, strategy, self.beginning(store)
        return train_trunk(self.recipe, corpus, work, machine, *parts)

    def trained(self, store: Store) -> TrunkState:
        """What its finished run leaves."""
        from bertlab.training.trunks import TrunkState

        run = store.get_verified(self.id)
        part = result.TrunkFacts(
            id=self.id,
            first=self.first,
            steps=self.until,
            seconds=run.seconds(),
            training=run.training(),
            numerics=run.environment().numerics,
        )
        return TrunkState(run.path, result.Trunks((*run.trunks().trunks, part)))

    def work(self) -> Work:
        """The tokens of its steps."""
        return work_between(self.recipe, self.first, self.until)

    def storage(self) -> Storage:
        """Weights and two moments at its end, and weights at milestones; as much as that again while it trains."""
        of_model = self.pretraining.storage()
        saved = 3.0 + len(self.milestones) + most_revisions(self.recipe)
        return Storage(saved * cost.weight_bytes(self.recipe), of_model.working, of_model.memory)

    def compiles(self, machine: Machine) -> bool:
        """Whether a machine compiles the pre-trainings."""
        return machine.compiles(self.recipe)

    @classmethod
    def similarity(cls, definition: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
        """The steps of the pre-trainings."""
        return Pretraining.similarity(definition, recipe, compiled)
