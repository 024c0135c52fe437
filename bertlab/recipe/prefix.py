"""Prefixes of recipes: pre-trainings that are the same until a step can be one until there, a trunk.

With a constant rate, or one that stays at its peak and falls at the end, 1x, 3x and 5x of the steps are one trunk and
three decays (Hägele et al. 2024, section 3).
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bertlab.recipe.identity import canonical, identity, to_canonical
from bertlab.recipe.ranges import user_defined
from bertlab.recipe.recipe import Recipe, Schedule

LEAST_SAVED = 0.01
"""The least share of the steps of pre-trainings that a trunk saves; less is not worth a job of its own."""


class Prefixes:
    """What decides the first steps of a recipe, but for its seed."""

    def __init__(self, recipe: Recipe) -> None:
        schedule = recipe.schedule
        self.recipe, self.steps = recipe, schedule.steps
        self._peak = schedule.peak_lr, schedule.warm
        self._curve = [to_canonical(schedule.curve, whole=True), schedule.steps]
        self._peak_until = max(0, min(schedule.curve.peak_until(schedule.warm, schedule.steps), schedule.steps))
        self._whole = _without_rate(recipe)
        self._stages = [(_without_rate(stage), steps) for stage, steps in recipe.stages]
        self._ends = [*itertools.accumulate(steps for _, steps in self._stages)]
        self._largest = max(stage.schedule.batch_size for stage, _ in recipe.stages)  # decides the micro-batches
        if recipe.inputs.epochs:  # all stages decide which documents are read
            self._whole += canonical(self._stages)

    @property
    def turns(self) -> set[int]:
        """The steps at which it may go on in another way than a recipe with the same steps before."""
        turns = {self._peak[1], self._peak_until, self.steps - 1, *self._ends}
        return {step for step in turns if 0 < step < self.steps}

    def id(self, step: int) -> str:
        """The id of its first `step` steps, equal for recipes whose first steps are the same."""
        begins = [0, *self._ends]
        stages = [
            (stage, min(steps, step - begin))
            for (stage, steps), begin in zip(self._stages, begins, strict=False)
            if begin < step
        ]
        rate = self._peak if step <= self._peak_until else [*self._peak, *self._curve]
        parts = {"largest": self._largest, "rate": rate, "steps": step}
        return identity("prefix", recipe=self._whole, stretches=stages, **parts)


@dataclass(frozen=True)
class Prefix:
    """The first steps that several recipes share."""

    id: str
    steps: int
    recipes: tuple[Recipe, ...] = field(compare=False)
    """The recipes that begin with them."""
    before: "Prefix | None" = field(default=None, compare=False)
    """The shorter prefix with which they begin themselves."""


def shared_prefixes(recipes: Iterable[Recipe]) -> dict[str, Prefix]:
    """The longest prefix that each of some recipes shares with another one, by its canonical JSON without a seed.

    A recipe with parts of a study file shares none: they may depend on the number of all steps.
    """
    distinct = {canonical(recipe.with_seed(0)): recipe.with_seed(0) for recipe in recipes if recipe.schedule.steps > 1}
    alike: dict[str, list[Recipe]] = {}
    for recipe in distinct.values():
        if not any(user_defined(recipe)):
            alike.setdefault(_without_rate(recipe), []).append(recipe)
    prefixes: dict[str, Prefix] = {}
    for group in alike.values():
        for members in _alike([Prefixes(recipe) for recipe in group], 1) if len(group) > 1 else ():
            _share(members, None, prefixes)
    return prefixes


def _share(members: Sequence[Prefixes], before: Prefix | None, prefixes: dict[str, Prefix]) -> None:
    """Adds the prefixes of recipes that agree at first, those that most of them share before longer ones."""
    begin, until = before.steps if before else 0, 0
    groups: list[list[Prefixes]] = []
    for step in sorted(set().union(*(member.turns for member in members))):
        groups = _alike([member for member in members if step < member.steps], step)
        if groups and len(groups[0]) == len(members):
            until = step
        elif step > begin:
            break
    saved = (until - begin) * (len(members) - 1)
    if saved >= LEAST_SAVED * sum(member.steps for member in members):
        recipes = tuple(member.recipe for member in members)
        before = Prefix(members[0].id(until), until, recipes, before)
        prefixes |= dict.fromkeys((canonical(recipe) for recipe in recipes), before)
    for group in groups:
        if 1 < len(group) < len(members):
            _share(group, before, prefixes)


def _alike(members: Sequence[Prefixes], step: int) -> list[list[Prefixes]]:
    """The groups of several recipes whose first `step` steps are the same, the largest first."""
    groups: dict[str, list[Prefixes]] = {}
    for member in members:
        groups.setdefault(member.id(step), []).append(member)
    return sorted((group for group in groups.values() if len(group) > 1), key=len, reverse=True)


def _without_rate(recipe: Recipe) -> str:
    """The canonical JSON of a recipe without its seed, its steps and its learning rate."""
    schedule = Schedule(batch_size=recipe.schedule.batch_size)
    return canonical(dataclasses.replace(recipe, seed=0, schedule=schedule))
