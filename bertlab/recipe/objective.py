"""What a loss of an objective has to say for itself: the protocol of `bertlab.objectives`, one file a loss.

Batches, models, training, evaluation, cost and audit go through these methods and never ask which loss they have.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bertlab.errors import BadInput
from bertlab.recipe.ranges import SHARE, Arm, Checked

if TYPE_CHECKING:
    from bertlab.recipe.recipe import Model, Recipe

Arrays = Mapping[str, Any]
"""What a loss adds to a batch, by name: NumPy arrays in a batch, tensors on a device, the first axis over sequences."""


@dataclass(frozen=True, kw_only=True)
class Pairing(Checked, group="pairing"):
    """How the two segments of a sequence are paired. The defaults are BERT's."""

    random: Annotated[float, SHARE] = 0.5
    """Share of the sequences whose second segment is from another document."""
    exchanged: Annotated[float, SHARE] = 0.0
    """Of the other sequences, the share whose two segments, which follow each other, stand in exchanged order."""


class Loss(Arm, ABC, home="bertlab.objectives"):
    """One loss of an objective, a frozen dataclass with a `kind`. `<kind>_loss` names its loss wherever it is kept.

    The loss of a step is the sum, over the losses of the objective, of each one's sum over the global batch divided by
    its count there.
    """

    head: ClassVar[str] = ""
    """The name of its head in a model; losses that share a head have the same."""
    causal: ClassVar[bool] = False
    """Whether no token may see a later one, in pre-training and wherever the backbone is used."""
    labels_only: ClassVar[bool] = False
    """Whether it adds labels to a batch whose tokens stay as they are for every other loss."""
    pairing: ClassVar[Pairing | None] = None
    """How segments have to be paired for it; None if any pairing will do, or none."""
    figures: ClassVar[Mapping[str, str]] = {}
    """What its held-out evaluation measures: the label of each figure by its name.

    A figure `..._loss` is in nats, `...accuracy` is a share, others have no unit.
    """
    meaning: ClassVar[str] = ""
    """How a report explains these figures, in whole sentences."""

    def check(self, recipe: Recipe) -> None:
        """Raises `BadInput` if the rest of a recipe does not go with it."""

    @property
    def judged_by(self) -> str:
        """The held-out loss, nats, by which reports compare models trained with it; empty if there is none."""
        return ""

    @property
    def unseen(self) -> tuple[str, ...]:
        """Figures whose held-out inputs differ in kind from those that a model trained with it has seen.

        Curves leave them out.
        """
        return ()

    @property
    def measured(self) -> Mapping[str, str]:
        """All held-out figures of a model that is trained with it, as `figures`."""
        return self.figures

    def untrained(self) -> Loss:
        """What is left of it in a model that is not trained."""
        return type(self)()

    def alike(self) -> Loss:
        """A loss that costs as much time as this one: the same for all that do."""
        return self

    # Data. `Sequences` and `Batch` are those of `inputs.collator`.

    @abstractmethod
    def prepare(self, tokenizer: Any, length: int, seed: int | str) -> Callable[[Any], Arrays]:
        """Returns what makes its inputs and labels for `Sequences` of at most `length` tokens.

        It may change the tokens of the sequences in place. Everything random in it is a function of `seed`, the names
        of the sequences and the epoch.
        """

    @abstractmethod
    def count(self, arrays: Arrays) -> float:
        """The number of predictions in its arrays, by which the sum of its losses is divided."""

    # Model.

    @abstractmethod
    def new_head(self, model: Model, vocabulary: int) -> Any:
        """A new `nn.Module` that predicts."""

    def positions(self, arrays: Arrays) -> Any:
        """The positions (B, K) at which it reads the backbone's last layer; None if it reads [CLS]."""
        return arrays["positions"]

    @abstractmethod
    def sum(self, head: Any, hidden: Any, arrays: Arrays, embeddings: Any) -> Any:
        """The sum of its losses over its predictions, nats, a scalar.

        `hidden` is (B, K, D) at its positions, or (B, D) at [CLS]; `embeddings` (V, D) are the token embeddings.
        """

    def evaluations(self, recipe: Recipe, corpus: Any, size: int, final: bool) -> Sequence[Any]:
        """Its fixed held-out `Evaluation`s of at most `size` sequences each; `final` ones follow the last step."""
        return ()

    # Cost.

    @abstractmethod
    def parameters(self, model: Model, vocabulary: int) -> int:
        """Trained numbers of its head."""

    @abstractmethod
    def flops(self, model: Model, vocabulary: int, length: int) -> float:
        """Operations of its head's forward pass on a sequence of `length` tokens."""

    def logits(self, vocabulary: int, length: int) -> float:
        """Logits of a sequence of `length` tokens, which take memory; 0 where they are few."""
        return 0.0

    # Audit. A sample is the `Sample` of `inputs.audit.sample`.

    def restore(self, tokens: Any, arrays: Arrays) -> None:
        """Restores in place the `tokens` (R, T) that it changed."""

    def audit(self, sample: Any) -> list[Any]:
        """Checks of what it added to the sequences of one epoch."""
        return []

    def audit_again(self, sample: Any, later: Any) -> list[Any]:
        """Checks of what it added to the same sequences in a later epoch."""
        return []

    def period(self, epochs: int) -> int:
        """Epochs after which its inputs may come again, where sequences do after `epochs`."""
        return epochs


def pairing(objective: Iterable[Loss]) -> Pairing:
    """How segments are paired for an objective: as its losses need it, and as BERT's where none says.

    Raises `BadInput` for losses that need different pairings.
    """
    needed = [loss for loss in objective if loss.pairing is not None]
    other = next((loss for loss in needed if loss.pairing != needed[0].pairing), None)
    if other is not None:
        raise BadInput(f"objective: {needed[0].kind} and {other.kind} need different pairs of segments: choose one")
    return (needed[0].pairing if needed else None) or Pairing()


def bert() -> tuple[Loss, ...]:
    """The objective of BERT, which a recipe has where none is given."""
    objective: tuple[Loss, ...] = importlib.import_module(Loss._home).BERT
    return objective
