"""The protocol of a selection, and how many tokens each one chooses."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from bertlab.arrays import Bool, Int32, Int64, UInt64
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Batch, Sequences
from bertlab.recipe.ranges import Arm, Range
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part


class Choice(NamedTuple):
    """The chosen tokens of B sequences in K slots each."""

    indices: Int32
    """(B, K) their numbers among the ordinary tokens of each sequence; any number in a slot that is not used."""
    valid: Int32
    """(B, K) 1 for a slot that is used, 0 for others; the used slots of a sequence come first."""
    group: Int32
    """(B, K) the number of the first token of each group: a corruption decides once for all tokens of a group."""


Chooser = Callable[[Sequences, UInt64], Choice]
"""Maps sequences and their keys (B,) to the chosen tokens."""


class Selection(Arm, ABC, home="bertlab.objectives.selection"):
    """A way to choose tokens: any but [CLS], [SEP] and [PAD]."""

    annotated: ClassVar[bool] = False
    """Whether it reads the linguistic spans of the text."""
    fewer: ClassVar[bool] = False
    """Whether it may choose fewer tokens than `chosen(mask_prob, n)` of n, even none; audits then test for no more."""
    _returns: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys(("annotated", "fewer"), bool),
        **dict.fromkeys(("audit", "audit_again"), list),
        "apart": "numpy.ndarray",
        "most_runs": Annotated[int, Range(0, 10**6)],
        "chooser": "collections.abc.Callable",
    }

    @abstractmethod
    def chooser(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """Returns what chooses `chosen(mask_prob, n)` of n tokens, or fewer if it is `fewer`; `length` is that of the
        longest sequence."""

    def mean_run(self, mask_prob: float, ordinary: int) -> float | None:
        """The mean words of a run of chosen words in sequences of so many ordinary tokens, of which few cut the spans;
        None for a selection without spans, or with spans that depend on the text."""
        return None

    def most_runs(self, chosen: int, ordinary: int) -> int:
        """The most runs that so many chosen ones of `ordinary` tokens can be in."""
        return min(chosen, ordinary - chosen + 1)

    def targets(self, batch: Batch, text: Part) -> Mapping[str, Any]:
        """What it prefers in the sequences of a batch of `text`, as `Loss.targets` returns it; empty if it prefers
        nothing that a text could lack."""
        return {}

    # Audit: `chosen` (R, T) flags the chosen tokens of a sample.

    def apart(self, chosen: Bool) -> Bool:
        """Chosen tokens, one of each group: what is shown for them is drawn independently."""
        return chosen

    def audit(self, sample: Sample, chosen: Bool) -> list[Check]:
        """Checks of the choice of tokens."""
        return []

    def audit_again(self, figure: str, sample: Sample, which: Int64, chosen: Bool, later: Bool) -> list[Check]:
        """Checks that the sequences `which` (N,) are masked independently in two epochs, (N, T) each; by default, that
        not all are masked alike, where not all tokens are masked."""
        if (chosen == sample.ordinary[which]).all():
            return []
        alike = np.array([len(which) > 1 and bool((chosen == later).all())])
        return [always(figure, "not all the same", alike, lambda _: sample.name(int(which[0])), of="comparison")]


def chosen(mask_prob: float, ordinary: int) -> int:
    """The number of n `ordinary` tokens that are predicted: exactly max(1, floor(mask_prob n + 0.5)), and 0 of 0."""
    return min(ordinary, max(1, math.floor(mask_prob * ordinary + 0.5)))


def slots(mask_prob: float, length: int) -> int:
    """Slots for predictions in a sequence of `length` tokens, so that shapes stay static."""
    return max(1, math.ceil(mask_prob * length))
