"""The protocol of an adaptation: what it trains on a task, what it freezes, and what it costs."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from bertlab import keyed
from bertlab.arrays import Integer
from bertlab.diagnostics.base import Diagnostic
from bertlab.errors import BadInput
from bertlab.recipe.backbones.base import BackboneConfig
from bertlab.recipe.identity import to_canonical
from bertlab.recipe.multitask import Mixing, Proportional
from bertlab.recipe.ranges import BELOW_ONE, CLIP, DROPOUT, SHARE, WORK, Arm, FieldError, Range, by_default
from bertlab.recipe.recipe import Count, Decay, Epochs, Length, Optimizer, Rate, Recipe
from bertlab.recipe.schedules import Curve, LinearDecay
from bertlab.tasks.examples import ExampleBatch, Examples, TaskBatch
from bertlab.tasks.kinds import KINDS
from bertlab.tasks.kinds.base import TaskKind

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn

    from bertlab.machine import Machine
    from bertlab.model.backbone import Backbone
    from bertlab.model.heads import PretrainingModel
    from bertlab.model.interop.peft import LowRankChange
    from bertlab.progress import Progress
    from bertlab.text.tokenizers.base import TrainedTokenizer

EVALUATION_TOKENS = 4096
"""Tokens per batch of evaluation, padding included."""

NARROW = 128
"""Models at least this wide are fine-tuned in batches that are padded less, where that is faster."""

OF_OPTIMIZER = frozenset({"weight_decay", "bias_correction", "beta2", "max_grad_norm"})
"""Fields of an adaptation that its optimiser takes over."""


@dataclass(frozen=True)
class Inputs:
    """The inputs of a prepared model for some examples."""

    lengths: Integer
    """(E,) the size of each example: batches contain examples of similar size."""
    build: Callable[[Integer], TaskBatch]
    """Builds the batch of the examples at these indices."""
    batch_tokens: int
    """About the number of examples times their largest size in a batch of evaluation."""
    ids: Callable[[], Integer] | None = None
    """Gives the ids of all tokens that are read. None if embeddings are read in another way, or not at all."""
    parts: Integer | None = None
    """(E,) the number of the task of each example in a mixture of tasks."""


@dataclass(frozen=True, kw_only=True)
class Adaptation(Arm, ABC, home="bertlab.adaptation"):
    """The fields of all adaptations: schedule, optimiser and data."""

    runs: ClassVar[str] = "finetune"
    """The folder of its runs in a store."""
    stage: ClassVar[str]
    """The words of progress before the name of the task."""
    intermediate: ClassVar[bool] = True
    """Whether it can train on an intermediate task first."""
    searched: ClassVar[bool] = False
    """Whether `--search` chooses its setting."""
    rate_factor: ClassVar[float] = 1.0
    """The learning rate as a multiple of the scale's rate of fine-tuning."""
    trains: ClassVar[bool] = True
    """Whether it trains; otherwise it measures a model as it is, once whatever the number of fine-tuning seeds."""
    reads_once: ClassVar[bool] = False
    """Whether what it trains reads vectors that the pre-trained model computes once, and no tokens."""
    train_cost: ClassVar[float] = 3.0
    """Forward passes of the encoder that training takes per token; 2 if its weights need no gradient."""
    _returns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("description", "group", "stage", "unsupported_reason"), str),
        **dict.fromkeys(("intermediate", "searched", "trains", "reads_once"), bool),
        **dict.fromkeys(("at_scale", "in_model"), "bertlab.adaptation.Adaptation"),
        "runs": Literal["finetune", "features", "zero-shot"],
        "options": tuple[str, ...],
        "inputs": "bertlab.adaptation.base.Inputs",
        **dict.fromkeys(("logits", "loss"), "torch.Tensor"),
        **dict.fromkeys(("encoder", "adapt"), "torch.nn.Module"),
        "lr_multipliers": Annotated[Mapping[Any, float], Range(0, 10**6)],
        **dict.fromkeys(("rate_factor", "train_cost"), Annotated[float, Range(0, 10**6, above=True)]),
        **dict.fromkeys(("trained_share", "evaluated_tokens"), Annotated[float, Range(0, 10**12)]),
        "steps": Annotated[int, Range(0, 10**9)],
        "flops": Annotated[float, WORK],
    }

    batch_size: Annotated[int, Range(1, 100_000)] = 32
    """Training examples per update; 16 or 32 in BERT (appendix A.3)."""
    epochs: Epochs = 3.0
    """Passes over the training examples; 2 to 4 in BERT (appendix A.3)."""
    peak_lr: Rate = 5e-5
    """Learning rate at the end of the warm-up; 2e-5, 3e-5 or 5e-5 in BERT (appendix A.3)."""
    lr_factor: Annotated[float, Range(0, 1000, above=True)] = 1.0
    """The learning rate as a multiple of `peak_lr`, which a scale sets: a variant's own one at all scales."""
    warmup: Annotated[float, SHARE] = 0.1
    """Share of the steps in which the rate rises linearly."""
    curve: Curve = field(default_factory=LinearDecay)
    """How the rate goes on after that; in BERT it falls linearly to 0."""
    max_train_examples: Count = 0
    """Trains on at most this many examples, a keyed sample; 0 for all."""
    train_share: Annotated[float, Range(0, 1, above=True)] = 1.0
    """Trains on this share of the examples that `max_train_examples` leaves; a smaller sample is part of a larger."""
    max_steps: Count = 0
    """Trains for at most this many updates; 0 for all epochs."""
    max_eval_examples: Count = 0
    """Evaluates on at most this many examples, a keyed sample, the same for every model and seed; 0 for all."""
    length: Length = 128
    """The maximum number of tokens per sequence, special tokens included."""
    dropout: Annotated[float, DROPOUT] = 0.1
    """Probability of dropout in training, in the encoder and in what is above it."""
    optimizer: Optimizer = field(default_factory=partial(by_default, Optimizer, "adamw"))
    """How gradients become updates; AdamW in BERT. The next four fields replace its own, as far as it has them."""
    weight_decay: Decay = 0.01
    """Share of a weight that an update subtracts, times the learning rate; biases and normalisations have none."""
    bias_correction: bool = True
    """Whether Adam corrects the bias of its moments; Google's released optimiser does not."""
    beta2: Annotated[float, BELOW_ONE] = 0.999
    """Decay of Adam's running mean of squared gradients, per update; 0.98 in RoBERTa's fine-tuning."""
    max_grad_norm: Annotated[float, CLIP] = 1.0
    """Gradients with a larger global norm are scaled down to it; 1e9 for none, as in RoBERTa's fine-tuning."""
    mixing: Mixing = field(default_factory=Proportional)
    """Mixtures of tasks only: how often each task is drawn; by default as often as it has examples."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What is measured of the fine-tuned model beside its answers."""
    context: bool = False
    """Tagging only: neighbouring sentences of a document, or of a split that marks none, fill `length` (BERT 5.3)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if twice := to_canonical(self.optimizer).keys() & OF_OPTIMIZER:
            raise FieldError(self._group, "optimizer", f"sets {min(twice)}: set that field of the adaptation itself")

    @property
    @abstractmethod
    def description(self) -> str:
        """The trained parameters in words, for reports."""

    @property
    def trained_share(self) -> float:
        """About how many weights it trains and adds, as a share of BERT base's: what a kept model takes of a disk."""
        return 1.0

    @classmethod
    def at_scale(cls, finetuning: Adaptation, features: Adaptation) -> Self:
        """Its setting at a scale: fields that it shares with `finetuning` there, at `rate_factor` times the rate."""
        its_fields, others = ({field.name for field in dataclasses.fields(one)} for one in (cls, finetuning))
        shared = {name: getattr(finetuning, name) for name in its_fields & others}
        return cls(**shared | {"peak_lr": cls.rate_factor * finetuning.peak_lr})

    def in_model(self, layers: int) -> Self:
        """This setting on an encoder with `layers` layers. Settings that coincide there become equal and share runs."""
        return self

    @classmethod
    def group(cls, kind: TaskKind) -> str:
        """The group of the scale's fields that sets it for a kind of task."""
        return kind.settings_group

    def options(self, kind: TaskKind) -> tuple[str, ...]:
        """The options of a kind of task that it switches on."""
        return tuple(name for name in kind.options if getattr(self, name, False))

    def unsupported_reason(self, kind: TaskKind) -> str:
        """Why it does not apply to a kind of task, and what to do; empty if it applies."""
        if self.trains and not kind.trained:
            return f"a task of kind {kind.name} has no training examples: measure it with ZeroShot"
        for other in KINDS.values():
            for name in set(self.options(other)) - set(kind.options):
                return f"{name} is an option of {other.name}, its task is {kind.name}: set it for {other.name} only"
        return ""

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` if it does not apply to models of a recipe."""

    def check_kind(self, kind: TaskKind, read_recipe: Callable[[], Recipe]) -> None:
        """Raises `BadInput` if models of a recipe lack what a kind of task needs."""
        kind.check(read_recipe)

    def adapt(
        self, model: PretrainingModel, kind: TaskKind, labels: Sequence[str], key: Sequence[int | str]
    ) -> nn.Module:
        """The module to train on a task: by default `encoder` under a head, whose weights start from `key`."""
        encoder, seed = self.encoder(model, key), keyed.key(*key, "head")
        return kind.head(encoder, model.pooler, labels, self.dropout, seed, self.options(kind))

    def encoder(self, model: PretrainingModel, key: Sequence[int | str]) -> Backbone:
        """The encoder with what the adaptation adds to it and freezes."""
        return model.encoder

    def begins(self, tokenizer: TrainedTokenizer) -> tuple[list[int], int]:
        """The ids in front of a text that a decoder answers, and the id with which the decoder begins."""
        return [], tokenizer.pad

    def inputs(self, model: PretrainingModel, part: Examples, machine: Machine, progress: Progress) -> Inputs:
        """The inputs of the prepared model for some examples: their word pieces."""
        size = EVALUATION_TOKENS // part.choices
        part = narrowed(part, model, machine)
        return Inputs(part.lengths, lambda indices: tensors(part.batch(indices)), size, part.ids, part.parts)

    def logits(self, model: nn.Module, kind: TaskKind, batch: TaskBatch) -> Tensor:
        """The logits of the targets of a batch, as `TaskKind.logits`."""
        return kind.logits(model, batch)

    def loss(self, model: nn.Module, kind: TaskKind, batch: TaskBatch) -> Tensor:
        """The loss of a batch of training, a scalar: the task's mean over its targets; an adaptation may add to it."""
        return kind.loss(self.logits(model, kind, batch), batch["targets"])

    def on_step(self, model: nn.Module, step: int, steps: int) -> None:
        """Called before update `step` of `steps`, from 0, in which parameters that require no gradient stay."""

    def low_rank_changes(self, tensors: Mapping[str, Tensor]) -> Iterator[LowRankChange]:
        """The low-rank changes among the trained tensors of a model. Raises `BadInput` if it trains something else."""
        raise BadInput(f"peft has a format for LoRA, and the adaptation is {self.kind}: export the whole model")

    def write(self, directory: Path, *of_model: Any) -> str:
        """Writes an adapted model for `transformers`, and returns the name of its class: see `write_task`."""
        from bertlab.model.interop.huggingface import write_task

        return write_task(directory, self.length, *of_model)

    def merge(self, model: nn.Module) -> None:
        """Called after training: gives the model plain weights, with which it computes the same."""

    def lr_multipliers(self, model: nn.Module) -> dict[nn.Parameter, float]:
        """The learning rates of parameters of a prepared model that differ from `peak_lr`, as multiples of it."""
        return {}

    @property
    def optimizer_settings(self) -> Optimizer:
        """The optimiser, with the fields of the adaptation that it has too."""
        names = OF_OPTIMIZER & {field.name for field in dataclasses.fields(self.optimizer)}
        return dataclasses.replace(self.optimizer, **{name: getattr(self, name) for name in names})

    def train_examples(self, count: int) -> int:
        """How many of `count` training examples it trains on, at least one."""
        return max(1, round(self.train_share * min(self.max_train_examples or count, count)))

    def steps(self, examples: int) -> int:
        """Updates in all epochs of training on this many examples."""
        steps = max(1, math.ceil(self.epochs * math.ceil(examples / self.batch_size)))
        return min(self.max_steps or steps, steps)

    def evaluated_tokens(self, recipe: Recipe, tokens: float) -> float:
        """The tokens that a model of a recipe reads to evaluate an example of `tokens` tokens: by default these."""
        return tokens

    def flops(
        self, model: BackboneConfig, trained: float, evaluated: float, passes: float, *, causal: bool = False
    ) -> float:
        """FLOPs of `trained` tokens in each of `passes` epochs of training and `evaluated` ones after it, no heads."""
        return (self.train_cost * passes * trained + evaluated) * model.flops_per_token(self.length, causal)


def width_step(machine: Machine) -> int:
    """What the widths of batches of a task are multiples of where that is fastest. For each new shape, bf16 compiles
    kernels, of which its library holds 1,024, and a GPU reserves memory."""
    return 8 if machine.gpus else {"bf16": 2, "fp32": 1}[machine.precision_used]


def narrowed(part: Examples, model: PretrainingModel, machine: Machine) -> Examples:
    """Examples in batches that are padded as little as is fast on the machine.

    The batches of a model below `NARROW` stay as they are: less padding would save it little time, and change the last
    digits of results that earlier versions gave.
    """
    steps = [part.width_step] if model.encoder.hidden_size < NARROW else [part.width_step, width_step(machine)]
    return dataclasses.replace(part, width_step=min(steps))


def tensors(batch: ExampleBatch) -> TaskBatch:
    """Returns the arrays of a batch but `slots` as tensors, integers in 64 bits; no lengths if there is no padding."""
    import torch

    from bertlab.model.streams import TensorBatch

    names = [field.name for field in dataclasses.fields(batch) if field.name != "slots"]
    parts = {name: torch.from_numpy(getattr(batch, name)) for name in names}
    parts = {name: value if value.is_floating_point() else value.long() for name, value in parts.items()}
    tokens, lengths = parts.pop("tokens"), parts.pop("lengths")
    padded = bool((lengths < tokens.shape[1]).any())
    inputs = TensorBatch.of(tokens, lengths if padded else None, segments=parts.pop("segments"))
    return {"inputs": inputs, **parts}
