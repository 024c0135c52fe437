"""What a store keeps of a study at one setting: its runs and values, the commands that asked for them, and the words
of its paper. `store/union.py` joins the records of one study and setting."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any

from bertlab.recipe.identity import canonical
from bertlab.store.schema import OPTIONAL, CorpusId, Count, Figure, Id, Percent, Positive, SeedCount, Share, Texts


def short_hash(value: Any) -> str:
    """Eight hexadecimal digits that stand for a value: the first of its SHA-256."""
    return sha256(canonical(value).encode(errors="surrogatepass")).hexdigest()[:8]


Column = tuple[str, str, int]
"""A variant, a measurement, and a milestone (per cent of the pre-training's steps)."""


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What runs follow from: another definition under the same name is another study."""

    baseline: str
    code: str
    """The SHA-256 of the study file that changes runs; empty if none does."""
    variants: Mapping[str, Mapping[str, Any]]
    measurements: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class AblateRequest:
    """What one `bertlab ablate` asked for."""

    study: str
    """The name of the study, or the path of its file."""
    options: str
    """The options that define the setting, quoted for a shell."""
    seeds: tuple[Count, ...]
    finetune_seeds: Count
    only: Texts
    random_init: bool
    claim_seeds: Annotated[tuple[Count, ...] | None, OPTIONAL] = None
    """The seeds of claims alone; None where the setting has no such seeds."""
    file: Annotated[str, OPTIONAL] = ""
    """The `short_hash` of the study file, which may change and keep its name."""
    measure: Annotated[Texts, OPTIONAL] = ()
    curves: Annotated[bool, OPTIONAL] = False
    rounds: Annotated[str, OPTIONAL] = ""
    """The options that ask for rounds of seeds."""


@dataclass(frozen=True, kw_only=True)
class StatedClaim:
    """A claim of a study, see `lab.claim.Claim`."""

    text: str
    better: str | Texts = ()
    worse: str | Texts = ()
    rising: Texts = ()
    than: Annotated[Texts | None, OPTIONAL] = None
    on: str
    within: Positive | None = None
    or_better: bool = False
    at: Percent = 100
    since: Percent = 0
    needs: Annotated[Mapping[str, Count] | None, OPTIONAL] = None


@dataclass(frozen=True, kw_only=True)
class StatedAverage:
    """An average over measurements, see `Comparisons.points`."""

    name: str
    of: tuple[Texts, ...]
    """Each measurement, followed by the metrics that it counts with."""
    published: Mapping[str, Figure]


@dataclass(frozen=True, kw_only=True)
class StatedTable:
    """Published values of other models, see `lab.study.PublishedTable`."""

    title: str
    source: str
    columns: Texts
    rows: Mapping[str, tuple[Figure, ...]]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A difference from the paper's setting."""

    on: str
    """A measurement; empty for all."""
    what: str
    of_study: Annotated[bool, OPTIONAL] = False
    """Whether the study itself says so, at every scale: the words may change without the runs."""


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """Training speeds of variants, see `lab.study.Study.speeds`."""

    published: Mapping[str, Positive]
    measured: Mapping[str, Positive]


@dataclass(frozen=True, kw_only=True)
class ClaimLook:
    """What one look found at one claim, see `report.looks.LookHistory`."""

    claim: str
    """The text of the claim."""
    hypothesis: str
    """What it tests, see `report.looks.hypothesis`."""
    on: str
    metric: str
    """The metric of the look; empty for the paper's metric."""
    n: SeedCount
    p: Share
    as_claimed: bool
    power: Share


@dataclass(frozen=True, kw_only=True)
class StudyLook:
    """A look at the claims of a study: the seeds of each variant then, and what it found."""

    seeds: Mapping[str, tuple[Count, ...]]
    claims: tuple[ClaimLook, ...]


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """The looks at a study whose seeds were added in rounds, the first one first."""

    maximum: SeedCount
    """The most seeds of a claim, declared before the first look."""
    looks: tuple[StudyLook, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A pre-training of a study."""

    variant: str
    pretrain_seed: Count
    pretrain_id: Id
    corpus_id: CorpusId
    """The corpus of the pre-training; empty for an imported checkpoint."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """A value of a study: a variant on a measurement with one seed of each kind."""

    variant: str
    measurement: str
    metric: str
    pretrain_seed: Count
    pretrain_id: Id
    run_id: Id
    """The run of the value: the pre-training, where the value is a metric of the pre-training itself."""
    content: str
    """The version of the examples of its task; empty for held-out text."""
    published: Figure | None
    task: str
    dataset: str
    split: str
    method: str
    """The kind of the adaptation, or `pretraining`."""
    milestone: Percent
    """Per cent of the pre-training steps after which the model is measured."""
    finetune_seed: Count

    @property
    def column(self) -> Column:
        """The column of the value, which values that differ in their seeds alone share."""
        return self.variant, self.measurement, self.milestone

    @property
    def key(self) -> tuple[Column, int, int]:
        """What tells it from the other values of its record."""
        return self.column, self.pretrain_seed, self.finetune_seed


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of a study at one setting."""

    study: str
    setting: str
    """The id of all settings that its runs share."""
    definition: Definition
    requests: tuple[AblateRequest, ...]
    sources: tuple[Mapping[str, str], ...]
    """The study files of the requests, each with the modules beside it that it imports."""
    baseline: str
    question: str
    source: str
    notes: Texts
    summary: str
    claims: tuple[StatedClaim, ...]
    averages: tuple[StatedAverage, ...] = ()
    related: Annotated[tuple[StatedTable, ...], OPTIONAL] = ()
    """What the study shows of other models."""
    sizes: Annotated[Mapping[str, Mapping[str, Count]] | None, OPTIONAL] = None
    """The sizes of each variant's recipe that claims may need."""
    scale: str
    differences: tuple[Difference, ...]
    name: Annotated[str, OPTIONAL] = ""
    """What reports call the setting."""
    command: str
    corpus: Texts
    pretrained: str
    """The run or checkpoint that all variants measure; empty if each is pre-trained."""
    world: bool
    """Whether text or tasks come from the synthetic corpus."""
    substitutes: Mapping[str, str]
    intermediate_task: Mapping[str, str]
    tries: tuple[Id, ...]
    """The runs of a search for settings."""
    members: Annotated[tuple[Id, ...], OPTIONAL] = ()
    """The pre-trainings of ensembles that are in no row: all but the first of each."""
    timed: Annotated[Mapping[str, Count] | None, OPTIONAL] = None
    """The steps of each variant that take as long as the baseline's."""
    speeds: Annotated[Speeds | None, OPTIONAL] = None
    searched: Mapping[str, Mapping[str, Figure]]
    """The settings that a search chose, by task."""
    rates: Annotated[Mapping[str, Mapping[str, Figure]] | None, OPTIONAL] = None
    """The learning rates that a search chose, as multiples of those without it, by variant and task."""
    rows: tuple[Row, ...]
    cells: Annotated[tuple[Value, ...], lambda cells: len({value.key for value in cells}) == len(cells)]
    """The values, each once: two of one key would count as two runs."""
    sequential: Annotated[Sequential | None, OPTIONAL] = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What records of one study at one scale and setting share."""
        return self.study, self.scale, self.setting
