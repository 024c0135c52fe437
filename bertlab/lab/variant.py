"""The parts of a study: a line of its table, a column, an average of columns, and a table of other models."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput, unknown
from bertlab.recipe import (
    OPTIONS,
    BackboneConfig,
    Inputs,
    Loss,
    MultiTask,
    Optimizer,
    Recipe,
    Schedule,
    Size,
    Tokenizer,
)
from bertlab.recipe.backbones.base import Multiple
from bertlab.recipe.identity import by_kind, field_paths, flatten
from bertlab.recipe.ranges import Checked, FieldError, Range
from bertlab.tasks import catalog, kinds
from bertlab.tasks.task import Task
from bertlab.wording import pluralise

Split = Literal["evaluation", "test"]
DEFAULT_METRIC = "accuracy"
"""The metric of a measurement of a task, unless it names another."""


@dataclass(frozen=True, kw_only=True)
class RelativeSchedule(Checked, group="relative"):
    """Batch size, steps and learning rate in multiples of the scale's: equal passes over the data are 1/8 of the steps
    in batches of 8 times as many sequences."""

    batch_size: Multiple = 1.0
    """Sequences per update, rounded; at least one."""
    steps: Multiple = 1.0
    """Updates, rounded; at least one, unless the scale has none."""
    peak_lr: Multiple = 1.0
    """Learning rate at the end of the warm-up."""
    equal_time: bool = False
    """Whether to train for as long as the baseline: `ablate` times both on this machine, and the store keeps the steps.
    `steps` stands for them in plans, on clusters, and for models too large for a trial."""
    equal_flops: bool = False
    """Whether to train for as many operations as the baseline: steps that follow from the recipes alone and are the
    same on every machine, in place of a multiple."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.equal_flops and (self.equal_time or self.steps != 1):
            raise FieldError(
                self._group, "equal_flops", "gives the steps, as steps and equal_time do: choose one of them"
            )

    def of(self, schedule: Schedule) -> Schedule:
        """`schedule` in these multiples, with at least one sequence and one step."""
        return dataclasses.replace(
            schedule,
            batch_size=max(1, round(self.batch_size * schedule.batch_size)),
            steps=max(1, round(self.steps * schedule.steps)) if schedule.steps else 0,
            peak_lr=float(f"{self.peak_lr * schedule.peak_lr:.12g}"),  # 3 x 1e-4 is 0.00030000000000000003
        )


@dataclass(frozen=True, kw_only=True)
class Ensemble(Checked, group="ensemble"):
    """Several models as one, whose logits are averaged before the softmax."""

    of: Literal["pre-trainings", "fine-tunings"] = "pre-trainings"
    """Whether each member has a pre-training of its own, or all have the same one."""
    members: Annotated[int, Range(2, 100)] = 4
    """How many models they are."""

    @property
    def pretrains(self) -> bool:
        """Whether it has several pre-trainings."""
        return self.of == "pre-trainings"


@dataclass(frozen=True)
class Variant(Checked, group="variant "):
    """A variant: its differences from the scale's recipe, or from the baseline's adaptation.

    Each keyword up to `optimizer` gives a group of the recipe. A variant overrides only the fields in which the
    variants of its study differ; the scale and `--set` determine all others. Variants that differ only in `adaptation`
    share one pre-training.
    """

    name: str
    """The name in the paper's table, which is part of the addresses of runs, `STUDY/VARIANT/SEED`."""
    _: dataclasses.KW_ONLY
    tokenizer: Tokenizer | None = None
    """What splits text, trained on the corpus of the run: `WordPiece` or another tokenizer."""
    inputs: Inputs | None = None
    """How documents become sequences: format, length, passes over the data."""
    multitask: MultiTask | None = None
    """Tasks among the sequences of text, by name, and how often each is drawn."""
    objective: tuple[Loss, ...] | None = None
    """The losses. A loss of the scale keeps its fields, except those in which the variants of the study differ."""
    model: BackboneConfig | None = None
    """The encoder, a `Model` or a `ModernBert`, in absolute sizes; `size` has those relative to the scale."""
    schedule: Schedule | None = None
    """Batch size, steps and learning rate in absolute numbers; `relative` has those relative to the scale."""
    optimizer: Optimizer | None = None
    """`AdamW`, `LAMB`, `Adafactor` or `Muon`, with weight decay and the clipping of gradients."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Single fields by their dotted path, as in `--set`: `{"model.positions": "learned"}`."""
    size: Size = field(default_factory=Size)
    """The encoder in multiples of the scale's: `Size(layers=0.5)` has half of its layers."""
    relative: RelativeSchedule = RelativeSchedule()
    """The schedule in multiples of the scale's: `RelativeSchedule(steps=2)` trains for twice as many steps."""
    without_measured: bool = False
    """Whether its pre-training leaves out the task that is measured, one pre-training for each (leave-one-out)."""
    adaptation: Adaptation | None = None
    """How the model is adapted to its tasks. It overrides the adaptation of a measurement, of the same kind, in the
    fields in which the variants differ."""
    ensemble: Ensemble | None = None
    """How several models answer together on its tasks; None for one model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        of_text = {path for path in field_paths(Recipe) if path.startswith("corpus.")} - {"corpus.filter"}
        settable = [path for path in field_paths(Recipe) if path not in OPTIONS and path not in of_text]
        for path in self.fields:
            if path not in settable:
                raise BadInput(f"variant '{self.name}': fields: {unknown('field', path, settable)}")

    def flatten(self) -> dict[str, Any]:
        """The fields of the recipe that this variant gives, by dotted path."""
        groups = {name: getattr(self, name, None) for name in Recipe.__dataclass_fields__}
        return flatten({name: value for name, value in groups.items() if value is not None})

    @property
    def components(self) -> dict[str, Any]:
        """The losses, and what else of the recipe has kinds, by the path of its fields."""
        others: dict[str, Any] = {"tokenizer": self.tokenizer, "model": self.model, "optimizer": self.optimizer}
        others["inputs.format"] = self.inputs and self.inputs.format
        others["multitask.mixing"] = self.multitask and self.multitask.mixing
        losses = {loss.kind: loss for loss in self.objective or ()}
        return losses | {path: component for path, component in others.items() if component is not None}

    def by_arm(self) -> dict[tuple[str, Any], Any]:
        """These fields by path and kind of the arm whose field it is, None for one of no arm."""
        fields = self.flatten()
        return {(path, by_kind(fields.get(path.rpartition(".")[0]))): leaf for path, leaf in fields.items()}


@dataclass(frozen=True)
class Measurement(Checked, group="measurement "):
    """A measurement: a task, how the model is adapted to it, and the reported metric."""

    name: str
    """The head of its column, such as `MNLI fine-tuned`, by which claims and `--measure` refer to it."""
    _: dataclasses.KW_ONLY
    task: str | Task = ""
    """A name of the catalogue, or a task of the study's own; empty to measure the pre-training itself."""
    adaptation: Adaptation | None = None
    """How the model is adapted to the task, `FineTuning` if neither measurement nor variant gives an adaptation. The
    scale sets fields at their defaults."""
    metric: str = ""
    """A metric of the task, `accuracy` unless given; without a task, a held-out metric of the pre-training."""
    split: Split = "evaluation"
    """The reported split of the task. One training is evaluated on both."""
    milestones: Annotated[tuple[int, ...], Range(1, 100, "per cent")] = (100,)
    """Percentages of the pre-training's steps after which to measure; the scale must save them, except the last."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.metric:
            if not self.task:
                raise BadInput(f"measurement '{self.name}' has neither task nor metric: give one of the two")
            object.__setattr__(self, "metric", DEFAULT_METRIC)

    @property
    def trains(self) -> bool:
        """Whether it trains on its task: not a held-out figure, and not minimal pairs."""
        return bool(self.task) and kinds.find(catalog.find(self.task).kind).trained


@dataclass(frozen=True)
class Average(Checked, group="average "):
    """A column of a table that is the mean of other columns, such as the average of GLUE.

    It needs no runs of its own, and no claims are made on it: they are on its parts.
    """

    name: str
    """The head of its column, such as `GLUE average`; different from those of all measurements."""
    _: dataclasses.KW_ONLY
    of: tuple[str | tuple[str, ...], ...]
    """Measurements of tasks, which count the same. A measurement with metrics, such as `("SQuAD 1.1", "f1", "exact")`,
    counts with the mean of these."""

    @property
    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each measurement with its metrics; without any, its own metric counts."""
        return tuple((part, ()) if isinstance(part, str) else (part[0], part[1:]) for part in self.of)


@dataclass(frozen=True)
class PublishedTable(Checked, group="related "):
    """Published results of models outside of a study, which its report shows for reference only."""

    title: str
    """Which models they are, what they read, and what the columns are."""
    _: dataclasses.KW_ONLY
    source: str
    """The paper or the repository."""
    columns: tuple[str, ...]
    """The measurements, in the order of the values of a row."""
    rows: Mapping[str, tuple[float, ...]]
    """A model's values in points, one for each column."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                counts = f"{pluralise(len(values), 'value')} for {pluralise(len(self.columns), 'column')}"
                raise BadInput(f"related table '{self.title}': row '{name}' has {counts}: give one for each")
