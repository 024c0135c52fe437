"""What the files of a finished run say: its result, its definition, its machine and its times. What a kind of run, or
a run of an earlier version, does not have is at its default."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from bertlab.recipe.objective import Premise
from bertlab.store.schema import OPTIONAL, Count, Duration, Figure, Hash, Id, Number, Percent, Share, Texts, fits

Metrics = Mapping[str, Number | None]
"""Figures by name, in points for tasks; None for one that is not finite."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """How many examples a measurement has read."""

    train: Count = 0
    evaluation: Count = 0
    unlabelled: Count = 0
    """The examples without a label, which the task leaves out of all its splits."""


@dataclass(frozen=True, kw_only=True)
class Evaluated:
    """What a measurement found on a split, with the same metrics of what takes no understanding."""

    split: str = ""
    metrics: Metrics = field(default_factory=dict)
    majority: Metrics = field(default_factory=dict)
    lexical: Metrics = field(default_factory=dict)
    exchanged: Metrics = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Tested(Evaluated):
    """What a measurement found on the test split."""

    rows: Count = 0


@dataclass(frozen=True, kw_only=True)
class Defined:
    """What a report, which runs no study file, has to know of the parts that one defines."""

    recipe: Mapping[str, Any] = field(default_factory=dict)
    """All fields of the recipe."""
    premises: tuple[Premise, ...] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    unseen: Texts = ()
    meanings: Texts = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """All fields of the adaptation."""
    description: str = ""


@dataclass(frozen=True)
class CurvePoint:
    """A point of the curve of a fine-tuning, with its mean training loss since the point before (nats)."""

    step: Count
    loss: Number | None
    heldout_loss: Number | None = None
    """The loss on held-out examples, where it was measured."""


@dataclass(frozen=True)
class Surface:
    """The training loss on a plane in the space of the weights, see `diagnostics.loss_surface`."""

    along: tuple[Number, ...] = ()
    """Where the points are on the line from the weights before training (0) to those after it (1)."""
    sideways: tuple[Number, ...] = ()
    """Where they are along the other direction."""
    losses: tuple[tuple[Number | None, ...], ...] = ()
    """Nats: a row for each step sideways; None for one that is not finite."""


@dataclass(frozen=True)
class FilterFacts:
    """The form of the facts of the filter of a text, see `text.filters`."""

    rules: str
    pages: Count
    left: Count
    removed: Mapping[str, Count]


@dataclass(frozen=True)
class TextFacts:
    """The form of the facts of a text, see `text.facts`."""

    files: tuple[Count, ...] = ()
    filter: FilterFacts | None = None
    documents: Count = 0
    words: Count = 0
    sentences: Number = 0
    single: Number = 0
    unknown: Number = 0
    passes: tuple[Count, ...] = ()
    targets: Mapping[str, Number] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Result(Evaluated):
    """The result of a run of any kind."""

    status: str = "done"
    """`done` or `collapsed`."""
    steps: Count | None = None
    parameters: Count | None = None
    vocabulary: Count | None = None
    checkpoint: str = ""
    """The published checkpoint that was imported."""
    content: str = ""
    """The hash of the files of the checkpoint."""
    commit: str = ""
    """The commit of the checkpoint on the Hub, or of the data set of a task."""
    fresh: bool = False
    """Whether its weights were replaced by new ones."""
    predicts: bool = True
    """Whether it has an LM head."""
    tokens: Figure | None = None
    real_tokens: Figure | None = None
    words: Figure | None = None
    """Words that a pre-training reads, those of a text again in each pass; None if they were not counted."""
    corpus: Texts = ()
    documents_by_source: Mapping[str, tuple[Count, ...]] = field(default_factory=dict)
    text: Annotated[Mapping[str, Any], fits(TextFacts)] = field(default_factory=dict)
    revisions: Mapping[str, Count] = field(default_factory=dict)
    """The step of each of BabyLM's checkpoints, `chck_1M` after a million words and so on, of a pre-training on a
    number of words."""
    heldout: Metrics = field(default_factory=dict)
    judged_by: str = ""
    """The held-out metric by which the objective of a pre-training evaluates it."""
    over_vocabulary: Texts | None = None
    """The held-out losses over the vocabulary; None if they are not known."""
    unigram_entropy: Number | None = None
    pair_balance: Share | None = None
    task: str = ""
    dataset: str = ""
    method: str = ""
    intermediate_task: str = ""
    pretrain_id: Id | None = None
    pretrain_seed: Count = 0
    finetune_seed: Count = 0
    milestone: Percent = 100
    trained_parameters: Count | None = None
    lexical_examples: Count = 0
    rows: Rows = Rows()
    length: Count = 0
    """The maximum length of its examples in tokens; 0 if unknown."""
    threshold: Number | None = None
    """The score above which a question is answered, where questions may have no answer."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    curve: tuple[CurvePoint, ...] = ()
    surface: Surface | None = None
    test: Tested | None = None
    defined: Defined = Defined()

    @property
    def whole(self) -> bool:
        """Whether a measurement says what it measured; those from elsewhere may not."""
        return bool(self.task and self.dataset and self.split and self.method)


@dataclass(frozen=True)
class Settings:
    """The form of the settings in the definition of a measurement."""

    max_eval_examples: Count = 0


@dataclass(frozen=True)
class RunDefinition:
    """The form of the definition of a run, from which its id follows; each kind of job has more fields of its own."""

    recipe: Mapping[str, Any] = field(default_factory=dict)
    task: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = Settings()
    code: str = ""


@dataclass(frozen=True, kw_only=True)
class RunFile:
    """The file recipe.json: what a run is."""

    id: Id | None = None
    kind: str | None = None
    label: str = ""
    science: Annotated[Mapping[str, Any], fits(RunDefinition)]


@dataclass(frozen=True)
class Numerics:
    """The form of the facts of a machine that can change the last bits of a number."""

    device: str = "cpu"
    processes: Count = 1
    compiled: str = "no"


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The machine and the libraries of a run; other facts are texts or numbers."""

    numerics: Annotated[Mapping[str, Any], fits(Numerics)] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    processor: Any = None
    cores: Any = None
    system: Any = None
    python: Any = None
    date: Any = ""
    commit: Any = ""
    earlier: tuple[Any, ...] = ()
    """The environments of attempts before."""


@dataclass(frozen=True, kw_only=True)
class FileFacts:
    """A file in a manifest."""

    bytes: Count
    sha256: Hash


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A line of timing.jsonl."""

    stage: str
    step: Count = 0
    seconds: Duration


@dataclass(frozen=True, kw_only=True)
class TrunkFacts:
    """A trunk: first steps that several pre-trainings share."""

    id: Id
    """The id of its run."""
    first: Count = 0
    """The steps of the trunk from which it went on."""
    steps: Count
    """The number of updates at its end."""
    seconds: Duration
    training: Duration
    """The seconds of its updates alone."""
    numerics: Annotated[Mapping[str, Any], fits(Numerics)] = field(default_factory=dict)


@dataclass(frozen=True)
class Trunks:
    """The file trunks.json: the trunks from which a run went on, each after the one from which it did so itself."""

    trunks: tuple[TrunkFacts, ...] = ()

    @property
    def steps(self) -> int:
        """The number of updates that the run did not train itself."""
        return max((trunk.steps for trunk in self.trunks), default=0)

    @property
    def seconds(self) -> float:
        """The time of all of them."""
        return sum(trunk.seconds for trunk in self.trunks)

    @property
    def training(self) -> float:
        """The time of the updates of all of them."""
        return sum(trunk.training for trunk in self.trunks)


MetricsLine = Annotated[dict[str, Number | None], lambda line: fits(Count)(line.get("step"))]
"""A line of metrics.jsonl."""
FILES: dict[str, Any] = {
    "recipe.json": RunFile,
    "result.json": Result,
    "environment.json": Environment,
    "trunks.json": Trunks,
}
"""The forms of the files that describe a run, but for its manifest."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why a run ended without a result."""

    id: Id
    kind: Annotated[str, OPTIONAL] = ""
    label: Annotated[str, OPTIONAL] = ""
    science: Annotated[Mapping[str, Any] | None, OPTIONAL] = None
    status: str = "failed"
    """`failed` or `diverged`."""
    reason: str = ""
    log: str = ""
