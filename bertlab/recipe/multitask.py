"""Tasks among the text of a pre-training, and how often each is drawn (T5: Raffel et al. 2020, section 3.5.2)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bertlab.errors import BadInput
from bertlab.recipe.ranges import Arm, Checked, Range

TEXT = math.inf
"""The size of the text in a mixture: however much there is, it counts as more than any limit."""
Limit = Annotated[int, Range(0, 1_000_000_000, "examples")]


@dataclass(frozen=True, kw_only=True)
class Mixing(Arm, ABC, home="bertlab.recipe.multitask", path="multitask.mixing"):
    """How often a mixture draws from each of its parts."""

    plain: ClassVar[bool] = True
    _returns: ClassVar[Mapping[str, Any]] = {"rates": list}

    def __bool__(self) -> bool:
        """Whether examples of different parts come more or less often than others."""
        return self != Proportional()

    @abstractmethod
    def rates(self, sizes: Sequence[float]) -> list[float]:
        """The share of each part in what is drawn, from their numbers of examples, `TEXT` for text."""


@dataclass(frozen=True, kw_only=True)
class Equal(Mixing):
    """Every part as often as every other."""

    kind: ClassVar[str] = "equal"

    def rates(self, sizes: Sequence[float]) -> list[float]:
        """One share for all."""
        return [1 / len(sizes)] * len(sizes)


@dataclass(frozen=True, kw_only=True)
class Proportional(Mixing):
    """Each part in proportion to its number of examples, up to a limit."""

    kind: ClassVar[str] = "proportional"
    limit: Limit = 0
    """Examples of a part that count at most, T5's K; 0 for all."""

    def rates(self, sizes: Sequence[float]) -> list[float]:
        """min(e, K) of each part, as a share of all. Raises `BadInput` for text without a limit."""
        if not self.limit and TEXT in sizes:
            raise BadInput("multitask.mixing.limit is 0, and text has no number of examples: give a limit")
        return _shares([min(size, self.limit or size) for size in sizes])


@dataclass(frozen=True, kw_only=True)
class Temperature(Proportional):
    """Proportional rates to the power of 1/T: the larger T, the more alike they are."""

    kind: ClassVar[str] = "temperature"
    t: Annotated[float, Range(0.1, 1000)] = 2.0
    """T; 1 leaves proportional rates as they are."""

    def rates(self, sizes: Sequence[float]) -> list[float]:
        """The power of each rate, as a share of all of them."""
        return _shares([rate ** (1 / self.t) for rate in super().rates(sizes)])


def _shares(weights: Sequence[float]) -> list[float]:
    return [weight / math.fsum(weights) for weight in weights]


@dataclass(frozen=True, kw_only=True)
class TaskSource(Checked, group="multitask.tasks"):
    """A task of a mixture: its training examples, texts and the texts to write."""

    name: str
    """A task of the catalogue, such as `cola-text`."""
    content: str = ""
    """What its examples are, and how they are written; a plan finds it."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True)
class MultiTask(Checked, group="multitask"):
    """Tasks whose answers are texts, in a pre-training on text (multi-task learning)."""

    tasks: tuple[TaskSource, ...] = ()
    """The tasks; without any, text alone is read. Tasks with equal examples are one."""
    mixing: Mixing = Proportional(limit=1 << 19)
    """How often each is drawn: `Equal`, `Proportional` or `Temperature`."""
    text: bool = True
    """Whether the text of the corpus is one of the parts."""
    length: Annotated[int, Range(8, 8192, "tokens", or_zero=True)] = 0
    """Tokens of the texts of tasks and of the texts to write at most; 0 for `inputs.length`."""
    data_scale: Annotated[float, Range(0, 1000, above=True)] = 1.0
    """The size of the data beside those for which limits were chosen: E examples count as E / data_scale."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tasks:
            self.mixing.rates([TEXT] if self.text else [1])

    @property
    def declared(self) -> "MultiTask":
        """Itself; without tasks nothing else has an effect."""
        return self if self.tasks else MultiTask()

    def rates(self, sizes: Sequence[float]) -> list[float]:
        """The share of the text, perhaps 0, and of each task in the sequences of a training."""
        rates = self.mixing.rates([TEXT] * self.text + [size / self.data_scale for size in sizes])
        return rates if self.text else [0.0, *rates]
