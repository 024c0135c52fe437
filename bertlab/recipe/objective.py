"""The protocol of a loss, which `bertlab.objectives` implements: one file a loss.

Batches, models, training, evaluation, cost and audit call these methods and never ask which loss they have.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bertlab.errors import BadInput
from bertlab.recipe.ranges import SHARE, SIZE, WORK, Arm, Checked, Range

if TYPE_CHECKING:
    from bertlab.recipe.backbones.base import BackboneConfig
    from bertlab.recipe.recipe import Recipe

INPUTS = "inputs"
"""The stream that a format makes of text, and that an encoder reads."""
Arrays = Mapping[str, Any]
"""The arrays that a loss adds to a batch, by name; tensors on a device. The first axis is over sequences."""


@dataclass(frozen=True, kw_only=True)
class Pairing(Checked, group="pairing"):
    """How the two segments of a sequence are paired. The defaults are BERT's."""

    random: Annotated[float, SHARE] = 0.5
    """Share of the sequences whose second segment is from another document."""
    exchanged: Annotated[float, SHARE] = 0.0
    """The share of the other sequences whose two consecutive segments are swapped."""


@dataclass(frozen=True)
class Decoded:
    """A decoder's vectors (B, U, D), one for each token of a stream, computed from it, those before it and the stream
    `INPUTS`. U may be more than the slots of the loss, which batches cut to those that are used."""

    stream: str
    with_inputs: bool = False
    """Whether the vectors of the T inputs stand in front of them, each computed from those before it, as in a decoder
    without an encoder: (B, T + U - 1, D), since the last input predicts the first output."""


@dataclass(frozen=True)
class Premise:
    """What has to hold of a model before it is compared with one that is trained otherwise."""

    what: str
    """Variants that agree in it do not compare it: the fields of a loss on which it depends."""
    figure: str = ""
    """A held-out metric of its own inputs that shows whether it has been learned: an `..._accuracy` of two labels,
    beside a `..._majority`, or a `..._loss` over the vocabulary."""
    flaw: str = ""
    """Why its inputs are not what it is named after in this recipe; empty if they are."""
    of: str = "pairs"
    """What an accuracy is a share of."""


class Loss(Arm, ABC, home="bertlab.objectives"):
    """One loss of an objective, a frozen dataclass with a `kind`. Records name its value `<kind>_loss`.

    The loss of a step adds up the losses of the objective, each its sum over the global batch divided by its count.
    """

    head: ClassVar[str] = ""
    """The name of its head in a model; losses that share a head have the same."""
    causal: ClassVar[bool] = False
    """Whether no token may see a later one, in pre-training and wherever the backbone is used."""
    over_vocabulary: ClassVar[bool] = False
    """Whether its held-out losses are cross-entropies over the vocabulary: reports then compare them with the unigram
    entropy, above which a model has learned nothing of context."""
    prepares: ClassVar[bool] = False
    """Whether its head computes what the encoder reads, in `prepare`."""
    labels_only: ClassVar[bool] = False
    """Whether it adds labels to a batch and leaves the tokens as they are."""
    mixes: ClassVar[bool] = False
    """Whether it trains on examples of tasks too, for which `examples` makes its inputs and labels."""
    pairing: ClassVar[Pairing | None] = None
    """How segments have to be paired for it; None if any pairing will do."""
    metric_labels: ClassVar[Mapping[str, str]] = {}
    """The label of each metric of its held-out evaluation: `..._loss` in nats, `...accuracy` a share."""
    meaning: ClassVar[str] = ""
    """How a report explains these metrics, in whole sentences."""
    hub_task: ClassVar[str] = ""
    """What the Hub calls the task of predicting as it does; empty if it has no name for it."""
    scorings: ClassVar[tuple[str, ...]] = ()
    """The ways in which it scores sentences, in words; none if it is no language model."""
    of_head: ClassVar[tuple[str, ...]] = ()
    """Numbers that its head is made of: they cannot change over the steps."""
    _returns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("causal", "over_vocabulary", "prepares", "labels_only", "mixes", "annotated"), bool),
        **dict.fromkeys(("head", "meaning", "hub_task", "selection_metric"), str),
        **dict.fromkeys(("metric_labels", "all_metric_labels"), Mapping[str, str]),
        **dict.fromkeys(("audit", "audit_again"), list),
        **dict.fromkeys(("scorings", "of_head"), tuple[str, ...]),
        "pairing": Pairing | None,
        "cost_equivalent": "bertlab.recipe.Loss",
        "new_head": "torch.nn.Module",
        "batch_transform": "collections.abc.Callable",
        "loss_sum": "torch.Tensor",
        "log_likelihoods": "numpy.ndarray",
        "out_of_distribution_metrics": tuple[str, ...],
        **dict.fromkeys(("count", "passes"), Annotated[float, SIZE]),
        "parameters": Annotated[int, SIZE],
        "text_length": Annotated[int, Range(8, 10**6, "tokens")],
        "flops": Annotated[float, WORK],
        "repeats_after": Annotated[int, Range(1, 10**9, "epochs")],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.head:
            raise BadInput(f"loss {type(self).__name__} has no head: set head: ClassVar[str], its name in the model")

    @property
    def share(self) -> float:
        """The share of the sequences of a batch that it has, 1 for all; losses with smaller shares divide them."""
        return 1.0

    @property
    def annotated(self) -> bool:
        """Whether it reads the linguistic spans of the text: `marks` of the `Sequences`."""
        return False

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` if the rest of a recipe does not go with it."""

    def premises(self, recipe: Recipe) -> tuple[Premise, ...]:
        """What a report tests before claims that compare models with and without it get a verdict."""
        return ()

    @property
    def selection_metric(self) -> str:
        """The held-out loss, nats, by which reports compare models trained with it; empty if there is none."""
        return ""

    @property
    def out_of_distribution_metrics(self) -> tuple[str, ...]:
        """Metrics that curves leave out, because their held-out inputs differ in kind from those of training."""
        return ()

    @property
    def all_metric_labels(self) -> Mapping[str, str]:
        """The labels of all held-out metrics of a model that is trained with it."""
        return self.metric_labels

    def cost_equivalent(self) -> Loss:
        """The representative of all losses that take as much time as this one."""
        return self

    @abstractmethod
    def batch_transform(self, tokenizer: Any, length: int, seed: int | str) -> Callable[[Any], Arrays]:
        """Returns a function that makes its inputs and labels for `Sequences` of at most `length` tokens.

        It returns arrays by name; a `Stream` among them takes the place of the stream of its name, or is a new one, of
        a width that follows from `length`. It may also change tokens in place. Every random draw depends only on
        `seed`, the keys of the sequences and the epoch.
        """

    def examples(self, inputs: Any, targets: Any, pad: int) -> Arrays:
        """What `batch_transform` returns, for texts of tasks and the texts to write, `Stream`s with their end marks."""
        raise NotImplementedError

    def text_length(self, length: int) -> int:
        """The tokens of text, specials included, of which it makes inputs of at most `length` tokens."""
        return length

    @abstractmethod
    def count(self, arrays: Arrays) -> float:
        """The number of predictions in its arrays, by which the sum of its losses is divided."""

    def targets(self, batch: Any, text: Any) -> Mapping[str, Any]:
        """What it has to predict in the sequences of a `Batch` of the first epoch of `text`, a `Part`: flags (B,), by
        words that follow a share, such as `of the pairs have an order`. A training without such sequences is refused.
        """
        arrays = batch.arrays[self.kind]
        rows = range(len(batch.lengths))
        single = [{name: array[row : row + 1] for name, array in arrays.items()} for row in rows]
        return {"of the sequences have something to predict": [self.count(of_one) > 0 for of_one in single]}

    @abstractmethod
    def new_head(self, model: BackboneConfig, vocabulary: int) -> Any:
        """A new `nn.Module` that predicts; `model.max_length(0)` is the longest sequence that the encoder reads."""

    def tie(self, head: Any, encoder: Any) -> None:
        """Lets its head share modules with the encoder, before they have their initial weights."""

    def prepare(self, head: Any, batch: Any, encoder: Any) -> Any:
        """The `TensorBatch` that the encoder and the losses after it read in place of `batch`: it may replace tokens
        and add arrays to its own."""
        return batch

    def positions(self, arrays: Arrays) -> Any:
        """The positions (B, K) at which it reads the backbone's last layer; None if it reads [CLS]."""
        return arrays["positions"]

    def reads(self, arrays: Arrays) -> Any:
        """What it reads of the backbone: its `positions`, or `Decoded` vectors."""
        return self.positions(arrays)

    @abstractmethod
    def loss_sum(self, head: Any, hidden: Any, arrays: Arrays, embeddings: Any) -> Any:
        """The sum of its losses over its predictions, nats, a scalar.

        `hidden` is (B, K, D) at its positions, (B, D) at [CLS], or (B, U, D) of a decoder; `embeddings` (V, E) are the
        token embeddings.
        """

    def evaluations(self, recipe: Recipe, corpus: Any, size: int, final: bool) -> Sequence[Any]:
        """Returns fixed held-out `Evaluation`s of at most `size` sequences each; `final` ones follow the last step."""
        return ()

    def log_likelihoods(self, model: Any, tokens: Any) -> Any:
        """How probable a `PretrainingModel`, in evaluation mode, finds S sentences: (S, M) float64, nats, for M
        `scorings`.

        `tokens` (S, T) are [CLS], the tokens of a sentence, of which each counts, and [SEP], which does not. Raises
        `BadInput` for a loss that is no language model.
        """
        raise BadInput(f"objective: {self.kind} is no language model and scores no sentences: use a language model")

    def passes(self, length: float) -> float:
        """Forward passes that score a sentence of about `length` tokens with its specials."""
        return 1.0

    @abstractmethod
    def parameters(self, model: BackboneConfig, vocabulary: int) -> int:
        """Trained numbers of its head."""

    @abstractmethod
    def flops(self, model: BackboneConfig, vocabulary: int, length: int) -> float:
        """Operations of its head's forward pass on a sequence of `length` tokens."""

    def restore(self, tokens: Any, arrays: Arrays) -> None:
        """Restores in place the `tokens` (R, T) that it changed."""

    def restored(self, streams: Mapping[str, Any], arrays: Arrays) -> Mapping[str, Any]:
        """The streams of R sequences from which it made these: by default, `restore` puts back tokens."""
        inputs = streams[INPUTS]
        tokens = inputs.tokens.copy()
        self.restore(tokens, arrays)
        return {**streams, INPUTS: inputs._replace(tokens=tokens)}

    def audit(self, sample: Any) -> list[Any]:
        """Checks of its additions to the sequences of one epoch, an `inputs.sample.Sample`."""
        return []

    def audit_again(self, sample: Any, later: Any) -> list[Any]:
        """Checks of its additions to the same sequences in a later epoch."""
        return []

    def repeats_after(self, epochs: int) -> int:
        """Epochs after which its inputs may repeat, where sequences repeat after `epochs`."""
        return epochs


def attends_causally(objective: Sequence[Loss]) -> bool:
    """Whether no token sees a later one wherever the backbone is used: not if a loss with some sequences sees both
    sides where losses divide them."""
    used = [loss for loss in objective if loss.share]
    return any(loss.causal for loss in used) and all(loss.causal for loss in used if loss.share < 1)


def text_length(objective: Sequence[Loss], length: int) -> int:
    """The tokens of text of which the losses, one after the other, make inputs of at most `length` tokens."""
    for loss in reversed(objective):
        length = loss.text_length(length)
    return length


def pairing(objective: Iterable[Loss]) -> Pairing:
    """The pairing that the losses need, or else BERT's. Raises `BadInput` for losses that need different pairings."""
    needed = [loss for loss in objective if loss.pairing is not None]
    other = next((loss for loss in needed if loss.pairing != needed[0].pairing), None)
    if other is not None:
        raise BadInput(f"objective: {needed[0].kind} and {other.kind} need different pairs of segments: choose one")
    return (needed[0].pairing if needed else None) or Pairing()


def bert() -> tuple[Loss, ...]:
    """The objective of BERT, the default of a recipe."""
    objective: tuple[Loss, ...] = importlib.import_module(Loss._home).BERT
    return objective
