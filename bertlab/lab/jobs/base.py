"""The protocol of jobs: all that plans, scheduler, estimates and stores ask of one, whatever its kind.

A job is a frozen value whose id depends only on its definition. `run` fills a working directory of the store and
returns the result, which the store then seals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from bertlab.errors import BadInput
from bertlab.recipe.identity import canonical, identity

if TYPE_CHECKING:
    from bertlab.adaptation import Adaptation
    from bertlab.lab.study_file import Code
    from bertlab.machine import Machine
    from bertlab.progress import Progress
    from bertlab.recipe import Recipe, Tokenizer
    from bertlab.store.run import Run
    from bertlab.store.runs import Store
    from bertlab.tasks.locate import LocatedTask
    from bertlab.text.tokens import TokenisedCorpus
    from bertlab.training.finetuning import Pretrained as LoadedModel
    from bertlab.training.trunks import TrunkState

J = TypeVar("J", bound="Job")
KINDS: dict[str, type[Job]] = {}
"""The class of each kind of job, in the order of their definitions."""


@dataclass(frozen=True)
class Text:
    """The text that a job prepares."""

    bytes: int
    """The size of the text; 0 if it is on the Hub, where it is unknown."""
    tokenizer: Tokenizer
    vocabulary: Path | None
    """The vocabulary file, if one is given."""
    annotator: str
    """What marks linguistic spans in it."""


@dataclass(frozen=True)
class TextNotes:
    """What a plan says of the text that a job prepares."""

    facts: dict[str, Any]
    """See `text.facts`."""
    files: str
    """The names of the files that are read, where others are not."""
    doubts: list[str]
    """Doubts about the layout of the text."""


@dataclass(frozen=True)
class Work:
    """What a job computes."""

    tokens: float = 0.0
    """The tokens on which it trains, counted again in every epoch."""
    flops: float = 0.0
    steps: int = 0
    """The number of updates."""
    layers: int = 0
    """The layers of the model, which a step computes one after the other."""
    text: Text | None = None


@dataclass(frozen=True)
class Storage:
    """The bytes that a job takes."""

    kept: float = 0.0
    """The bytes of its finished run on the disk."""
    working: float = 0.0
    """The further bytes on the disk while it runs."""
    memory: int = 0
    """The bytes on a device: weights, gradients and moments in fp32."""


class Job(ABC):
    """A job. A subclass names its kinds, each of which is a folder of the store, and says what differs from a small
    job that needs no other job."""

    kind: str
    """The folder of its runs in a store."""
    counted: str
    """What `bertlab plan --json` counts it among, in the plural: `measurements`."""
    preparation: bool = False
    """Whether it prepares what other jobs read: the process of the command runs it, before there are workers, and
    nobody runs it for jobs that are finished."""
    passing: bool = False
    """Whether others go on from its run, which is removed when they are finished; nobody runs it for jobs that are."""
    resumes: bool = False
    """Whether another attempt continues from a checkpoint in its working directory."""
    times_itself: bool = False
    """Whether it records the seconds of its own stages, over all attempts."""
    steady: bool = False
    """Whether its progress counts at an even pace from its begin to its end, so that the time left follows."""
    finished: bool = False
    """Whether it stands for a run of the store that no plan runs again."""
    trunk: Trunk | None = None
    """The trunk from which its training goes on."""
    imports: tuple[str, ...] = ()
    """Modules that take seconds to import."""
    name: str = ""
    """The label without seeds."""
    study: str = ""
    """The first study that needs it."""
    code: Code | None = None
    """The study file that may change it."""
    finetune_seed: int = 0
    milestone: int = 100
    """The percentage of the pre-training's steps after which it reads the weights."""
    settings: Adaptation | None = None
    """How it adapts a model to its task."""
    keep: bool = False
    """Whether its run keeps a fine-tuned model."""

    def __init_subclass__(cls, *, kinds: Sequence[str] = (), **named: Any) -> None:
        super().__init_subclass__(**named)
        KINDS.update(dict.fromkeys(kinds, cls))

    @property
    @abstractmethod
    def label(self) -> str:
        """The name of the job in lists, with which the name of its run ends."""

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """The data from which the id follows, as JSON."""

    @abstractmethod
    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Computes it in the directory `work`; returns the result.

        If it is `distributed`, it also takes the `ProcessGroup` and the strategy of one process of several.
        """

    @cached_property
    def id(self) -> str:
        """The id of the run."""
        return identity(self.kind, **self.definition())

    @property
    def group(self) -> tuple[str, ...]:
        """Equal for jobs that differ in their seeds alone."""
        return (self.id,)

    @property
    def needs(self) -> tuple[Job, ...]:
        """The jobs that must finish before this one."""
        return ()

    @property
    def pretraining(self) -> Pretrained | None:
        """The pre-trained model on which it stands, itself for one."""
        return None

    @property
    def seed(self) -> int:
        """The pre-training seed."""
        return self.pretraining.seed if self.pretraining else 0

    @property
    def tasks(self) -> tuple[LocatedTask, ...]:
        """The tasks whose examples it reads; it is measured on the first one."""
        return ()

    @property
    def steps(self) -> int:
        """The number of updates, each of which takes equally long."""
        return 0

    @property
    def first(self) -> int:
        """The number of updates that another job does for it, before its own."""
        return self.trunk.until if self.trunk else 0

    @property
    def distributed(self) -> bool:
        """Whether several devices can share it, one process each."""
        return False

    def beginning(self, store: Store) -> TrunkState | None:
        """What its trunk left, if it has one."""
        return self.trunk.trained(store) if self.trunk else None

    def on(self, pretrained: Pretrained) -> Job:
        """The same job on a pre-training that differs from its own in the seed alone; itself if it stands on none."""
        return self

    def labelled(self, label: str) -> Job:
        """The same job with a label in place of its name; itself if its label says what it makes."""
        return self

    def value(self, split: str) -> dict[str, Any]:
        """What the record of a study says of a value that it measures, on a split of its task."""
        return {"content": "", "task": self.kind, "dataset": self.kind, "split": split, "method": self.kind}

    def check_prepared(self, prepared: Mapping[str, Run]) -> None:
        """Raises `BadInput` if it cannot use what was `prepared` for it, runs by id."""
        return

    def components(self) -> tuple[object, ...]:
        """The components of study files that it runs."""
        return ()

    def check_components(self, store: Store, machine: Machine) -> None:
        """Runs them once on a few sequences. Raises `ArmFailed` for what they do not do."""
        return

    def describe_source(self, store: Store) -> TextNotes | None:
        """What a plan says of the text that it prepares; None for a job that prepares none."""
        return None

    def describe_text(self, store: Store) -> dict[str, Any] | None:
        """The facts of the prepared text on which it trains (see `text.facts`); None for a job that trains on none.

        Raises `BadInput` if a loss has no targets in it.
        """
        return None

    def describe_model(self) -> str:
        """What a plan says of the model that it trains and of its schedule; empty for a job that pre-trains none."""
        return ""

    def work(self) -> Work:
        """What it computes; may read examples and fetch a checkpoint. Does not depend on seeds."""
        return Work()

    def storage(self) -> Storage:
        """The bytes that it takes; does not depend on seeds."""
        return Storage()

    def compiles(self, machine: Machine) -> bool:
        """Whether its training is compiled."""
        return False

    def similar_to(self, machine: Machine) -> str:
        """Equal for jobs that take equally long on a machine, or for each step equally long."""
        model = self.pretraining
        recipe = model.recipe if model else None
        return self.similarity(self.definition(), recipe, model is not None and model.compiles(machine))

    @classmethod
    def similarity(cls, definition: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
        """`similar_to` of a job with this definition on a model of this recipe; None if that is not known."""
        return canonical({name: value for name, value in definition.items() if name != "finetune_seed"})

    @classmethod
    def recipe_of(cls, definition: Mapping[str, Any]) -> Recipe | None:
        """The recipe that a run with this definition trained."""
        return None

    @classmethod
    def of_run(cls, run: Run) -> Pretrained:
        """The job of a finished run that holds a pre-trained model. Raises `BadInput`."""
        raise BadInput(f"run {run.id} holds no pre-trained model: name another")


class Pretrained(Job):
    """A job whose result is a pre-trained model. Its own value is measured on held-out text."""

    counted = "pretrainings"
    recipe: Recipe | None = None
    """The recipe of the model; None if it is unknown until the files of the model are read."""
    mixed: tuple[LocatedTask, ...] = ()
    """The tasks on which its recipe trains, beside text."""
    published: str = ""
    """The name of the checkpoint that it is, if it was pre-trained elsewhere."""

    @abstractmethod
    def read_recipe(self) -> Recipe:
        """The recipe, from the files of the model if it is unknown without them; may fetch them."""

    @property
    def pretraining(self) -> Pretrained:
        """The model is its own pre-training."""
        return self

    @property
    def seed(self) -> int:
        """The pre-training seed."""
        return 0

    @property
    def cased(self) -> bool:
        """Whether its tokens keep upper and lower case, as far as it is known."""
        return self.read_recipe().tokenizer.cased

    def saved(self, milestones: Sequence[int]) -> list[int]:
        """The milestones (per cent of the steps) at which it has weights, of the given ones, and the end; ascending."""
        return [100]

    def opened(self, store: Store) -> LoadedModel:
        """Model and tokenizer of its finished run."""
        from bertlab.training.finetuning import open_pretrained

        return open_pretrained(store.get_verified(self.id).path)

    def text(self, store: Store) -> TokenisedCorpus | None:
        """The whole corpus that it needs, of which its recipe may read a part; None if the store has none."""
        from bertlab.text.tokens import open_corpus

        run = next((store.get(need.id) for need in self.needs), None)
        return open_corpus(run.path, self.read_recipe().tokenizer, check=False) if run else None

    @property
    def alone(self) -> Pretrained:
        """The same model, of whose training it does all steps itself."""
        return copied(self, trunk=None)

    def fitted(self, adaptation: Adaptation) -> Adaptation:
        """An adaptation as it is on this model. Raises `BadInput` if it does not fit."""
        return adaptation

    @abstractmethod
    def untrained(self) -> Pretrained:
        """The same model with new weights. Raises `BadInput` if there is none."""

    def with_seed(self, seed: int) -> Pretrained:
        """The same pre-training with another seed; itself if it has none."""
        return self

    def on(self, pretrained: Pretrained) -> Pretrained:
        """The other model, whose value is measured on itself."""
        return pretrained

    def value(self, split: str) -> dict[str, Any]:
        """What a record says of its value on held-out text."""
        text = "held-out text"
        return {"content": "", "task": text, "dataset": text, "split": "held-out", "method": "pretraining"}


@dataclass(frozen=True)
class OnPretrained(Job):
    """A job that measures a pre-trained model. A subclass has a `template` of its id, around that of the model."""

    pretrained: Pretrained
    counted = "measurements"

    @property
    @abstractmethod
    def template(self) -> tuple[str, ...]:
        """What the id hashes, around the pre-training and seeds."""

    @cached_property
    def group(self) -> tuple[str, ...]:
        """Equal for measurements that differ in their seeds alone, and in that of the pre-training."""
        return *self.template, *self.pretrained.group

    @property
    def pretraining(self) -> Pretrained:
        """The pre-trained model."""
        return self.pretrained

    def on(self, pretrained: Pretrained) -> Self:
        """The same measurement of another pre-training, which differs in its seed alone."""
        return copied(self, pretrained=pretrained, group=self.group)

    def labelled(self, label: str) -> Self:
        """The same measurement with another label before its seeds."""
        return copied(self, name=label)


class Trunk(Job):
    """A job that trains the first steps of several others, each of which goes on from the state at their end."""

    counted = "trunks"
    passing = True
    until: int
    """The number of updates at its end."""

    @abstractmethod
    def with_seed(self, seed: int) -> Trunk:
        """The same trunk with another seed."""

    @abstractmethod
    def trained(self, store: Store) -> TrunkState:
        """What its finished run leaves."""


def copied(job: J, **changes: Any) -> J:
    """A copy of a job with other seeds or another name, which has all else that is cached and checks nothing again."""
    copy = object.__new__(type(job))
    fields = vars(copy)
    fields.update(vars(job), **changes)
    fields.pop("id", None)
    return copy


def without_none(**facts: Any) -> dict[str, Any]:
    """The facts that are there."""
    return {name: value for name, value in facts.items() if value is not None}
