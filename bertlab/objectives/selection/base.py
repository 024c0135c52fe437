"""The protocol of a selection, and how many tokens each one chooses."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bertlab.arrays import Bool, Int32, Int64, UInt64
from bertlab.errors import ArmFailed
from bertlab.inputs.checks import Check, always
from bertlab.inputs.sample import Sample
from bertlab.inputs.streams import Batch, Sequences
from bertlab.names import shown
from bertlab.recipe.ranges import Arm
from bertlab.text.tokenizers import TrainedTokenizer
from bertlab.text.tokens import Part


class Choice(NamedTuple):
    """The chosen tokens of B sequences in K slots each."""

    numbers: Int32
    """(B, K) their numbers among the ordinary tokens of each sequence; any number in a slot that is not used."""
    used: Int32
    """(B, K) 1 for a slot that is used, 0 for others; the used slots of a sequence come first."""
    groups: Int32
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
    }

    @abstractmethod
    def prepare(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """Returns what chooses `chosen(mask_prob, n)` of n tokens, or fewer if it is `fewer`; `length` is that of the
        longest sequence."""

    def chooser(self, mask_prob: float, tokenizer: TrainedTokenizer, length: int) -> Chooser:
        """What `prepare` returns; that of a study file raises `ArmFailed` for what is no choice of ordinary tokens."""
        choose = self.prepare(mask_prob, tokenizer, length)
        if not self._own:
            return choose

        def checked(sequences: Sequences, keys: UInt64) -> Choice:
            choice = choose(sequences, keys)
            if problem := _problem(choice, sequences.ordinary):
                raise ArmFailed.of(self, "prepare", problem)
            return choice

        if not callable(choose):
            raise ArmFailed.of(self, "prepare", f"returns {shown(choose)}: return a function that returns a Choice")
        return checked

    def mean_run(self, mask_prob: float, ordinary: int) -> float | None:
        """The mean words of a run of chosen words in sequences of so many ordinary tokens, of which few cut the spans;
        None for a selection without spans, or with spans that depend on the text."""
        return None

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


def _problem(choice: Choice, ordinary: Int32) -> str:
    """What is wrong with a choice of the `ordinary` (B,) tokens of sequences; empty if nothing is."""
    if not isinstance(choice, Choice):
        return f"chooses {shown(choice)}: let its function return a Choice"
    shape = (len(ordinary), *getattr(choice.numbers, "shape", ())[1:2])
    for name, array in choice._asdict().items():
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype.kind not in "iub" or len(shape) < 2:
            return f"gives a Choice whose {name} are {shown(array)}: give whole numbers, an array (B, K)"
    beyond = (choice.used > 0) & ((choice.numbers < 0) | (choice.numbers >= ordinary[:, None]))
    if beyond.any():
        sequence, slot = np.argwhere(beyond)[0]
        size = f"a sequence of {ordinary[sequence]} ordinary tokens, which are numbered from 0"
        return f"chooses token number {choice.numbers[sequence, slot]} of {size}"
    if ((choice.used != 0) & (choice.used != 1)).any():
        return f"makes used from {choice.used.min()} to {choice.used.max()}: give 1 for a slot that is used, else 0"
    if (choice.used[:, 1:] > choice.used[:, :-1]).any():
        return "leaves unused slots between used ones: let the used slots of a sequence come first"
    # unused slots get numbers of their own, below 0
    numbers = np.sort(np.where(choice.used > 0, choice.numbers, -1 - np.arange(shape[1])), axis=1)
    if (twice := numbers[:, 1:] == numbers[:, :-1]).any():
        sequence, slot = np.argwhere(twice)[0]
        return f"chooses token number {numbers[sequence, slot]} of a sequence twice: choose each token once"
    return ""


def chosen(mask_prob: float, ordinary: int) -> int:
    """The number of n `ordinary` tokens that are predicted: exactly max(1, floor(mask_prob n + 0.5)), and 0 of 0."""
    return min(ordinary, max(1, math.floor(mask_prob * ordinary + 0.5)))


def slots(mask_prob: float, length: int) -> int:
    """Slots for predictions in a sequence of `length` tokens, so that shapes stay static."""
    return max(1, math.ceil(mask_prob * length))
