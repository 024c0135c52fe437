"""The claims of a study: comparisons of its variants, and what each needs to be tested."""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from bertlab.errors import BadInput
from bertlab.lab.needs import Needs, Sizes
from bertlab.recipe.ranges import Checked, Range

GUESS = "majority guess"
"""The most frequent label for every example: in a claim, in place of a variant."""
RANDOM_INIT = "no pre-training"
"""The name of the variant that `--random-init` adds."""

Margin = tuple[float, float] | None
"""The lowest and the highest difference that a claim allows, in points; None for a claim without a margin."""


@dataclass(frozen=True)
class Claim(Checked, group="claim "):
    """A finding of the paper, as a comparison of variants on one measurement."""

    text: str
    """The finding as a sentence, close to the paper's own words; reports print it beside the verdict."""
    _: dataclasses.KW_ONLY
    better: str | tuple[str, ...] = ()
    """A variant or several: each of them is above each of `worse`."""
    worse: str | tuple[str, ...] = ()
    """A variant or several, or `majority guess`, the floor of a task."""
    rising: tuple[str, ...] = ()
    """Instead of `better` and `worse`: each variant is above the one before."""
    than: tuple[str, ...] = ()
    """Two variants: the claim is then that `better` is above `worse` by more than the first above the second."""
    on: str
    """A measurement."""
    within: Annotated[float | None, Range(0, 1e6, above=True)] = None
    """A margin in points: the claim is then that the variants differ by less."""
    or_better: bool = False
    """With a margin: or that `better` is above `worse` by more."""
    at: Annotated[int, Range(1, 100, "per cent")] = 100
    """The percentage of the pre-training's steps at which the variants are compared."""
    since: Annotated[int, Range(0, 100, "per cent")] = 0
    """Instead of `worse`: `better` rises from this percentage of the steps to `at`."""
    needs: Needs = field(default_factory=Needs)
    """The least sizes at which the claim is tested, where the paper's finding hangs on them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.than and (len(self.than) != 2 or self.than[0] == self.than[1]):
            raise BadInput(f"claim '{self.text}': than names two variants, whose difference is the smaller one")

    @property
    def margin(self) -> Margin:
        """The differences between which the claim holds; None for one without a margin."""
        return None if self.within is None else (-self.within, math.inf if self.or_better else self.within)

    @property
    def allowed(self) -> str:
        """The margin in words; empty without one."""
        return "" if self.within is None else f"within {self.within:g}{' or better' * self.or_better}"

    @property
    def before(self) -> int:
        """The milestone (per cent) of the worse variant of each pair: `since`, or else `at`."""
        return self.since or self.at

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a better and a worse variant; with `since`, a variant with itself."""
        if self.rising:
            return tuple((higher, lower) for lower, higher in itertools.pairwise(self.rising))
        better, worse = ((side,) if isinstance(side, str) else side for side in (self.better, self.worse))
        if self.since:
            return tuple((variant, variant) for variant in better)
        return tuple(itertools.product(better, worse))

    @property
    def opposed(self) -> list[tuple[str, str]]:
        """Each variant that is better than some other, with each that is worse than some other; and those of `than`."""
        better, worse = (dict.fromkeys(pair[side] for pair in self.pairs) for side in (0, 1))
        crossed = [pair for pair in itertools.product(better, worse) if pair[0] != pair[1]]
        return [*crossed, (self.than[0], self.than[1])] if self.than else crossed

    @property
    def sides(self) -> list[tuple[str, int]]:
        """The variants that it compares, each with its milestone (per cent of the steps)."""
        pairs = [*self.pairs, *([self.than] if self.than else [])]
        return list(dict.fromkeys(side for one, two in pairs for side in ((one, self.at), (two, self.before))))

    def untestable(self, comparable: bool, sizes: Mapping[str, Sizes]) -> str:
        """Why a setting does not allow a test; empty if it does.

        `comparable` tells whether sizes of differences compare with the paper's; `sizes` are those of the variants.
        """
        if self.within is not None and not comparable:
            return "margins are tested only at the paper's scale and on its data"
        unmet = self.needs.unmet([variant for variant, _ in self.sides], sizes)
        return f"not testable at this scale: needs {unmet}" if unmet else ""
