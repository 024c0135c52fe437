"""Scales: presets of a recipe, from a test of seconds to the paper's own four days on 16 TPU chips.

The small scales use rotary positions: a small masked LM with learned positions stays on the unigram plateau, where
variants cannot differ. Variants that never see a predicted token unchanged leave the plateau last, and only while the
learning rate is low. Therefore tiny uses small batches, a peak rate of 1e-3 and a warm-up of half its steps: 80/0/20
and 0/0/100 then reach 2.7 and 3.6 nats on the synthetic corpus. At 2e-3 with a warm-up of a tenth, the first ended at
5.6, and rounding decided whether a variant left the plateau, at 5.9. The fine-tuning settings of tiny were chosen on
held-back training examples of the baseline, on synthetic and on real text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bertlab.adaptation import Features, FineTuning
from bertlab.errors import BadInput, unknown
from bertlab.recipe import OPTIONS, Inputs, Model, Optimizer, Recipe, Schedule
from bertlab.recipe.identity import set_fields
from bertlab.recipe.tokenizer import wordpiece
from bertlab.tasks import kinds

FINETUNED = ("finetune", "tagging", "span")
"""The groups of settings for training all weights."""
GROUPS = (*FINETUNED, "features")
"""All groups of settings of measurements; other fields belong to the recipe."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A recipe with the settings of its measurements. `--set` sets every field by its dotted path."""

    name: str
    purpose: str
    recipe: Recipe
    finetune: FineTuning
    """Training of all weights, for every kind of task without its own setting."""
    tagging: FineTuning
    """Training of all weights for tagging."""
    span: FineTuning
    """Training of all weights for questions about a context."""
    features: Features
    """Tagging on frozen features."""
    finetune_seeds: int
    """Fine-tuning seeds within each pre-training seed."""
    corpus: tuple[str, ...]
    """Names of the default corpora."""
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields in which single tasks differ from the setting of their kind, by the name of the task."""
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
        group = kinds.find(kind).setting
        changes = {**self.tasks.get(task, {}), **self.given.get(group, {}), **self.given.get(task, {})}
        settings: FineTuning = dataclasses.replace(getattr(self, group), **changes)
        return settings

    def give(self, task: str, changes: Mapping[str, Any]) -> Scale:
        """This scale with fields set for one group or task."""
        return dataclasses.replace(self, given={**self.given, task: {**self.given.get(task, {}), **changes}})

    def set(self, assignments: list[str]) -> Scale:
        """This scale with `FIELD=VALUE` assignments, such as `schedule.steps=500` or `finetune.peak_lr=3e-4`.

        Their order does not matter; the last of several for one field counts. Raises `BadInput` for an unknown field
        (with the nearest name), for a value of another type and for incompatible values.
        """
        texts: dict[str, dict[str, str]] = {"recipe": {}, **{group: {} for group in GROUPS}}
        tasks: dict[str, dict[str, str]] = {}
        for assignment in assignments:
            path, equals, text = assignment.partition("=")
            if not equals:
                raise BadInput(f"--set '{assignment}': write FIELD=VALUE, such as schedule.steps=500")
            if path in OPTIONS:
                raise BadInput(f"--set {path}: use {OPTIONS[path]} instead")
            group, _, rest = path.partition(".")
            if group in GROUPS and rest:
                texts[group][rest] = text
            elif group == "tasks":
                task, _, name = rest.rpartition(".")
                if not task:
                    raise BadInput(
                        f"--set '{assignment}': write tasks.TASK.FIELD=VALUE, such as tasks.squad_v2.epochs=2"
                    )
                tasks.setdefault(task, {})[name] = text
            else:
                texts["recipe"][path] = text
        changes = {
            group: set_fields(getattr(self, group), given, "" if group == "recipe" else f"{group}.")
            for group, given in texts.items()
        }
        scale = dataclasses.replace(self, **changes)
        for group, given in texts.items():
            if group in FINETUNED:
                scale = scale.give(group, {name: getattr(changes[group], name) for name in given})
        for task, given in tasks.items():
            found = set_fields(FineTuning(), given, f"tasks.{task}.")
            scale = scale.give(task, {name: getattr(found, name) for name in given})
        paths = {*self.assigned, *(assignment.partition("=")[0] for assignment in assignments)}
        return dataclasses.replace(scale, assigned=tuple(sorted(paths)))

    def following(self, at_paper: Mapping[str, str]) -> Scale:
        """At scale paper, this scale with the settings of a study's own paper, except where a user set the field."""
        own = [f"{path}={text}" for path, text in at_paper.items() if path not in self.assigned]
        if self.name != "paper" or not own:
            return self
        scale = dataclasses.replace(self, given={}).set(own)
        tasks = dict(self.tasks)
        for task in scale.given.keys() - set(FINETUNED):
            tasks[task] = {**tasks.get(task, {}), **scale.given[task]}
        return dataclasses.replace(scale, tasks=tasks, given=self.given, assigned=self.assigned)


def find(name: str) -> Scale:
    """The scale with this name. Raises `BadInput` with the nearest name if there is none."""
    if name not in SCALES:
        raise unknown("scale", name, SCALES)
    return SCALES[name]


_SMOKE: dict[str, Any] = {
    "peak_lr": 1e-3,
    "max_train_examples": 64,
    "max_steps": 10,
    "max_eval_examples": 64,
    "length": 32,
}
_SMALL = Model(layers=4, hidden=128, heads=2, positions="rotary", dropout=0.0, initialisation="width")

_PAPERS = FineTuning(bias_correction=False)
"""BERT appendix A.3, with Google's optimiser."""
_PAPER = Scale(
    name="paper",
    purpose="the original: 16 TPU chips for four days",
    recipe=Recipe(inputs=Inputs(phase2_length=512, phase2_share=0.1), optimizer=Optimizer(bias_correction=False)),
    finetune=_PAPERS,
    tagging=dataclasses.replace(_PAPERS, length=512, context=True),
    span=dataclasses.replace(_PAPERS, length=384),
    features=Features(length=512, context=True),
    # BERT sections 4.3 and 4.4, and RoBERTa's appendix for RACE. SQuAD 1.1 (4.2: 3 epochs, 5e-5, 32) and GLUE use the
    # defaults.
    tasks={
        "squad_v2": {"epochs": 2.0, "batch_size": 48},
        "swag": {"batch_size": 16, "peak_lr": 2e-5},
        "race": {"batch_size": 16, "peak_lr": 1e-5, "epochs": 4.0, "length": 512},
    },
    # BERT appendix A.3.
    grid={"batch_size": (16, 32), "peak_lr": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)},
    finetune_seeds=5,
    corpus=("wikipedia",),
)

SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            name="smoke",
            purpose="tests: seconds",
            recipe=Recipe(
                tokenizer=wordpiece(vocabulary=512),
                inputs=Inputs(length=32),
                model=dataclasses.replace(_SMALL, hidden=32, dropout=0.1),
                schedule=Schedule(batch_size=8, steps=20, peak_lr=1e-3, warmup=0.1),
            ),
            finetune=FineTuning(**_SMOKE),
            tagging=FineTuning(**_SMOKE),
            span=FineTuning(**_SMOKE),
            features=Features(**_SMOKE),
            grid={"peak_lr": (5e-4, 1e-3)},
            finetune_seeds=1,
            corpus=("microworld",),
            milestones=(50, 100),
        ),
        Scale(
            name="tiny",
            purpose="a laptop: minutes",
            recipe=Recipe(
                tokenizer=wordpiece(vocabulary=4096),
                inputs=Inputs(length=64),
                model=_SMALL,
                schedule=Schedule(batch_size=16, steps=2000, peak_lr=1e-3, warmup=0.5),
            ),
            finetune=FineTuning(peak_lr=5e-4, epochs=5, max_train_examples=10_000, length=64),
            tagging=FineTuning(peak_lr=1e-3, epochs=8, max_train_examples=10_000, length=64, dropout=0.0),
            span=FineTuning(peak_lr=5e-4, epochs=5, max_train_examples=3_000, length=64),
            features=Features(peak_lr=2e-3, epochs=6, max_train_examples=10_000, length=64),
            grid={"peak_lr": (2.5e-4, 5e-4, 1e-3), "epochs": (3, 5, 8)},
            finetune_seeds=1,
            corpus=("microworld",),
        ),
        Scale(
            name="mini",
            purpose="a workstation or one GPU: hours",
            recipe=Recipe(
                tokenizer=wordpiece(vocabulary=8192),
                inputs=Inputs(length=128),
                model=dataclasses.replace(_SMALL, hidden=256, heads=4),
                schedule=Schedule(batch_size=64, steps=20_000, peak_lr=1e-3, warmup=0.1),
            ),
            finetune=FineTuning(peak_lr=2e-4, epochs=3, max_train_examples=50_000, length=128),
            tagging=FineTuning(peak_lr=5e-4, epochs=4, max_train_examples=50_000, length=128),
            span=FineTuning(peak_lr=2e-4, epochs=3, max_train_examples=50_000, length=128),
            features=Features(peak_lr=1e-3, epochs=8, max_train_examples=50_000, length=128),
            grid={"peak_lr": (1e-4, 2e-4, 4e-4), "epochs": (2, 3, 4)},
            finetune_seeds=3,
            corpus=("wikitext-103",),
        ),
        dataclasses.replace(
            _PAPER,
            name="base",
            purpose="eight GPUs: a day",
            recipe=Recipe(
                model=Model(max_positions=512),
                schedule=Schedule(batch_size=1024, steps=50_000, peak_lr=4e-4, warmup=0.05),
            ),
            tagging=_PAPERS,
            features=Features(),
        ),
        _PAPER,
    )
}
"""All scales by name."""
