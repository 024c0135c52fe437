"""Scales: presets of a recipe, from a test of seconds to the paper's own four days; `scales.toml` defines them."""

import dataclasses
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from bertlab.adaptation import Features, FineTuning
from bertlab.errors import BadInput, unknown
from bertlab.recipe import OPTIONS, Recipe
from bertlab.recipe.identity import load, set_fields, with_fields
from bertlab.tasks import kinds
from bertlab.tasks.catalog import TASKS
from bertlab.tasks.kinds.base import SETTINGS

GROUPS = (*SETTINGS, "features")
"""All groups of settings of measurements; other fields belong to the recipe."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A recipe with the settings of its measurements. `--set` sets every field by its dotted path."""

    name: str
    purpose: str
    tests_the_program: bool = False
    """Whether its models learn nothing in pre-training: its runs show that the program works, and compare nothing."""
    recipe: Recipe
    finetune: FineTuning
    """Training of all weights, for every kind of task without its own setting."""
    tagging: FineTuning
    span: FineTuning
    features: Features
    claim_seeds: int = 1
    """Pre-training seeds of what claims compare, where a command gives no number of seeds; the whole table has one."""
    finetune_seeds: int
    """Fine-tuning seeds within each pre-training seed."""
    corpus: tuple[str, ...]
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields in which single tasks differ from the setting of their kind, by the name of the task."""
    revised: tuple[str, ...] = ()
    """The tasks in `tasks` whose fields changed after results had been published: records of both are kept apart."""
    counterparts: Mapping[str, str] = field(default_factory=dict)
    """Synthetic tasks in place of the usual counterparts of published tasks, by the names of these."""
    own_tasks: Mapping[str, Any] = field(default_factory=dict)
    """Fields in which tasks outside of the catalogue, those of users, differ from the setting of their kind."""
    given: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields that a user or a search set, by group or task; they override `tasks`."""
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The values of each field of a fine-tuning that `--search` tries."""
    assigned: tuple[str, ...] = field(default=(), compare=False)
    """Dotted paths that a user set; at scale paper they override a study's own setting."""
    milestones: tuple[int, ...] = (3, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
    """Percentages of the steps after which each pre-training saves its weights. Studies cannot choose them, because
    they share pre-trainings."""

    def finetuning(self, kind: str, task: str) -> FineTuning:
        """The setting for training all weights on a task of `kind`."""
        group = kinds.find(kind).settings_group
        usual = self.tasks.get(task, {}) if task in TASKS else self.own_tasks
        changes = {**usual, **self.given.get(group, {}), **self.given.get(task, {})}
        settings: FineTuning = dataclasses.replace(getattr(self, group), **changes)
        return settings

    def give(self, name: str, changes: Mapping[str, Any]) -> Self:
        """This scale with fields set for one group or task."""
        return dataclasses.replace(self, given={**self.given, name: {**self.given.get(name, {}), **changes}})

    def reading(self, words: int) -> Self:
        """This scale with so many words of the text to train on."""
        return dataclasses.replace(self, recipe=with_fields(self.recipe, {"corpus.words": words}))

    def set(self, assignments: list[str]) -> Self:
        """This scale with `FIELD=VALUE` assignments, such as `schedule.steps=500` or `finetune.peak_lr=3e-4`.

        Their order does not matter; the last of several for one field counts. Raises `BadInput` for an unknown field
        (with the nearest name), for a value of another type and for incompatible values.
        """
        texts: dict[str, dict[str, str]] = {group: {} for group in ("recipe", *GROUPS)}
        for assignment in assignments:
            path, equals, text = assignment.partition("=")
            if not equals:
                raise BadInput(f"--set '{assignment}': write FIELD=VALUE, such as schedule.steps=500")
            if path in OPTIONS:
                raise BadInput(f"--set {path}: use {OPTIONS[path]} instead")
            group, _, name = path.rpartition(".") if path.startswith("tasks.") else path.partition(".")
            if group == "tasks":
                raise BadInput(f"--set '{assignment}': write tasks.TASK.FIELD=VALUE, such as tasks.squad_v2.epochs=2")
            if (task := group.removeprefix("tasks.")) != group and task in GROUPS:
                raise BadInput(
                    f"--set '{assignment}': {task} is a kind of setting and no task, write {task}.{name}={text}"
                )
            if not (name and (group in GROUPS or path.startswith("tasks."))):
                group, name = "recipe", path
            texts.setdefault(group, {})[name] = text
        scale = self
        for group, assigned in texts.items():
            prefix = "" if group == "recipe" else f"{group}."
            settings: Any = set_fields(getattr(self, group, FineTuning()), assigned, prefix)
            if hasattr(self, group):
                scale = dataclasses.replace(scale, **{group: settings})
            if assigned and group not in ("recipe", "features"):
                names = dict.fromkeys(name.partition(".")[0] for name in assigned)
                scale = scale.give(group.removeprefix("tasks."), {name: getattr(settings, name) for name in names})
        paths = {*self.assigned, *(assignment.partition("=")[0] for assignment in assignments)}
        return dataclasses.replace(scale, assigned=tuple(sorted(paths)))

    def following(self, at_paper: Mapping[str, str], at_scale: Mapping[str, Mapping[str, str]] | None = None) -> Self:
        """This scale with a study's own settings, at scale paper those of its paper, except where a user set the
        field."""
        settings = {**(at_scale or {}), "paper": at_paper}.get(self.name, {})
        assignments = [f"{path}={text}" for path, text in settings.items() if path not in self.assigned]
        if not assignments:
            return self
        scale = dataclasses.replace(self, given={}).set(assignments)
        tasks = dict(self.tasks)
        for task in scale.given.keys() - set(SETTINGS):
            tasks[task] = {**tasks.get(task, {}), **scale.given[task]}
        return dataclasses.replace(scale, tasks=tasks, given=self.given, assigned=self.assigned)


def find(name: str) -> Scale:
    """The scale with this name. Raises `BadInput` with the nearest name if there is none."""
    if name not in SCALES:
        raise unknown("scale", name, SCALES)
    return SCALES[name]


def recipe_only(assignments: Iterable[str]) -> None:
    """Raises `BadInput` if `--set` names settings of measurements, for commands that measure nothing."""
    for assignment in assignments:
        if assignment.startswith(tuple(f"{group}." for group in (*GROUPS, "tasks"))):
            raise BadInput(f"--set {assignment}: this command measures no task, so it has no effect; leave it out")


_written = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SCALES = {name: load(Scale, {"name": name, **fields}) for name, fields in _written.items()}
"""All scales by name."""
