"""The job that adapts a pre-trained model to a task and evaluates it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab import synthetic as microworld
from bertlab.adaptation import Adaptation
from bertlab.audit.components import check_adaptation
from bertlab.errors import BadInput
from bertlab.lab.jobs.base import OnPretrained, Pretrained, Storage, Work, copied, without_none
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Progress
from bertlab.recipe import Recipe, cost
from bertlab.recipe.identity import MARK, canonical, filled, template, to_canonical
from bertlab.recipe.ranges import user_defined
from bertlab.store.predictions import PREDICTIONS, packed
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.store.schema import to_json
from bertlab.store.writes import write
from bertlab.tasks import kinds
from bertlab.tasks.data import held_back, read, sampled
from bertlab.tasks.kinds.base import SAMPLED
from bertlab.tasks.locate import LocatedTask, content_of, splits_of
from bertlab.tasks.task import Task, TaskData

if TYPE_CHECKING:
    from bertlab.training.finetuning import EvalResult, Member, Outcome

KEPT_BYTES = 200_000
"""Typical size of the result and the predictions."""


@dataclass(frozen=True)
class Evaluation(OnPretrained, kinds=("finetune", "features", "zero-shot")):
    """Adapts a pre-trained model to a task and evaluates it."""

    data: LocatedTask
    settings: Adaptation = field()
    finetune_seed: int = 0
    name: str = field(default="", compare=False)
    """The first study, variant and measurement that need it."""
    milestone: int = 100
    """The percentage of the pre-training's steps after which its weights are measured."""
    intermediate_task: LocatedTask | None = None
    """A task on which all weights are trained first."""
    held_back: bool = False
    """Whether to evaluate on held-back training examples: a trial of the settings, not a result."""
    code: Code | None = None
    """A study file that may change the measurement."""
    study: str = field(default="", compare=False)
    """The first study that needs it."""
    keep: bool = field(default=False, compare=False)
    """Whether its run keeps the fine-tuned model."""
    kind: str = field(init=False, compare=False)
    """The kind of its runs, which its adaptation names."""
    resumes = True
    imports = ("torch", "bertlab.training.finetuning")

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.settings.runs)

    @cached_property
    def id(self) -> str:
        """The id of the run."""
        return filled(self.template, str(self.finetune_seed), f'"{self.pretrained.id}"')

    @cached_property
    def template(self) -> tuple[str, ...]:
        """What the id hashes, around the seed and the pre-training; equal for measurements that differ in these."""
        return template(self.kind, **self.definition() | {"finetune_seed": MARK, "pretrain": MARK})

    def with_seed(self, finetune_seed: int) -> Evaluation:
        """The same measurement with another fine-tuning seed."""
        return copied(self, finetune_seed=finetune_seed, group=self.group)

    @property
    def label(self) -> str:
        """Study, variant, task and seeds."""
        return f"{self.name}-seed{self.pretrained.seed}-finetune{self.finetune_seed}"

    @property
    def needs(self) -> tuple[Pretrained, ...]:
        """The model."""
        return (self.pretrained,)

    @property
    def tasks(self) -> tuple[LocatedTask, ...]:
        """The task, and the intermediate task if there is one."""
        return (self.data,) if self.intermediate_task is None else (self.data, self.intermediate_task)

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows; of the task, only the fields that change results."""
        before = self.intermediate_task
        return {
            "pretrain": self.pretrained.id,
            "data": self.data.content,
            "task": _definition(self.data.task),
            "settings": to_canonical(self.settings),
            "finetune_seed": self.finetune_seed,
            **without_none(
                milestone=self.milestone if self.milestone < 100 else None,
                intermediate_task=before and {"data": before.content, "task": _definition(before.task)},
                held_back=self.held_back or None,
                code=self.code and self.code.sha256,
            ),
        }

    def components(self) -> tuple[object, ...]:
        """The components of study files in its settings, and the kind of its task if a study file defines it."""
        kind = kinds.find(self.data.task.kind)
        return *user_defined(self.settings), *([kind] if kind.user_defined else [])

    def check_components(self, store: Store, machine: Machine) -> None:
        """Runs them on a few examples of its task."""
        check_adaptation(self.pretrained.opened(store), read_task(self.data), self.settings, machine.cpu_only())

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Trains, evaluates, and writes the predictions into `work`."""
        from bertlab.training.finetuning import finetune
        from bertlab.training.loggers import opened

        defined = self._defined() if self.code else None
        pretraining, before = store.get_verified(self.pretrained.id), self.intermediate_task
        data = self._examples(machine)
        fields = self.definition() | {"settings": to_canonical(self.settings, whole=True)}
        with opened(self.kind, self.id, self.label, self.study, fields, store, machine) as loggers:
            outcome = finetune(
                pretraining.path,
                data,
                self.settings,
                milestone=self.milestone,
                seed=self.pretrained.seed,
                finetune_seed=self.finetune_seed,
                machine=machine,
                progress=progress,
                intermediate_task=None if before is None else read_task(before),
                loggers=loggers,
                keep=self.keep,
                work=work,
                others=self.others(store),
            )
            for logger in loggers:
                logger.log_result(outcome.steps, outcome.metrics)
        lexical = [] if self.held_back else _lexical(self, data, store)
        test = {f"test_{name}": values for name, values in (outcome.test.predictions if outcome.test else {}).items()}
        write(work, PREDICTIONS, packed({**outcome.predictions, **test}))
        if self.keep:
            _keep(self, work, pretraining, data, outcome)
        return _result(self, outcome, lexical, data.unlabelled) | without_none(defined=defined)

    def others(self, store: Store) -> list[Member]:
        """Further models whose logits are averaged with those of its own."""
        return []

    def _examples(self, machine: Machine) -> TaskData:
        """The examples of the task. Raises `BadInput` if those of a task in files have changed since the plan."""
        for task in self.tasks:
            if task.origin == "files" and content_of(task, machine) != task.content:
                raise BadInput(f"the examples of task '{task.name}' have changed: give the same command again")
        return held_back(read_task(self.data)) if self.held_back else read_task(self.data)

    def _defined(self) -> dict[str, Any]:
        """What a report, which runs no study file, has to know of an adaptation that one defines."""
        return {"settings": to_canonical(self.settings, whole=True), "description": str(self.settings.description)}

    def value(self, split: str) -> dict[str, Any]:
        """What a record says of its value, on the evaluation split or the test split."""
        task = self.data.task
        return {
            "content": " after ".join(located.content for located in self.tasks),
            "task": self.data.name,
            "dataset": task.dataset,
            "split": task.test if split == "test" else task.evaluation,
            "method": self.settings.kind,
        }

    def work(self) -> Work:
        """The epochs of training, on the intermediate task too, and the evaluation of the splits."""
        recipe, settings = self.pretrained.read_recipe(), self.settings
        _, *evaluation = _sizes(self.data, self.held_back, settings.length)
        most = settings.max_eval_examples
        read = (min(most or count, count) * settings.evaluated_tokens(recipe, size) for count, _, size in evaluation)
        evaluated = sum(read)
        total = Work(layers=recipe.model.layers)
        before = [(self.intermediate_task, False)] if self.intermediate_task else []
        for located, back in [(self.data, self.held_back), *before]:
            (count, encoded, tokens), *_ = _sizes(located, back, settings.length)
            rows = settings.train_examples(count)
            trained, examples = rows * tokens, max(1, round(rows * encoded))
            steps = settings.steps(examples)
            epochs = steps * settings.batch_size / examples
            flops = settings.flops(recipe.model, trained, evaluated, epochs, causal=recipe.causal)
            total = Work(total.tokens + epochs * trained, total.flops + flops, total.steps + steps, total.layers)
            evaluated = 0.0  # an intermediate task is not evaluated
        return total

    def storage(self) -> Storage:
        """Result and predictions, perhaps with the trained weights; and while it trains two checkpoints of all weights
        and of two moments of the trained ones."""
        weights = cost.weight_bytes(self.pretrained.read_recipe())
        trained = self.settings.trained_share * weights
        return Storage(KEPT_BYTES + trained * self.keep, 2.0 * (weights + 2.0 * trained) * self.settings.trains)

    @classmethod
    def similarity(cls, definition: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
        """The same task and settings on models of one shape, with the same text for its vocabulary."""
        if recipe is None:
            return super().similarity(definition, recipe, compiled)
        different = ("finetune_seed", "milestone", "pretrain")
        same = {name: value for name, value in definition.items() if name not in different}
        corpus = dataclasses.replace(recipe.corpus, annotator="")  # linguistic spans take no time
        positions = recipe.model.max_length(recipe.inputs.longest)
        return canonical([same, recipe.model, corpus, recipe.tokenizer, recipe.causal, positions])


read_task = lru_cache(maxsize=8)(read)
"""The examples of a located task; each process reads them once. Raises `BadInput` for unusable examples."""


@lru_cache(maxsize=256)
def _sizes(located: LocatedTask, back: bool, length: int) -> list[tuple[int, float, float]]:
    """The number of the training, evaluation and test examples of a task, each with the extent of one.

    A kind without training has no training examples. With `back`, of the training examples with those held back for
    evaluation. Synthetic tasks with the same examples are read once, and only as far as the extents depend on them.
    """
    task = located.task
    if located.parts:
        return [_total(sizes) for sizes in zip(*(_sizes(part, back, length) for part in located.parts), strict=True)]
    if located.origin == "microworld" and located.name != task.name:
        return _sizes(dataclasses.replace(located, name=task.name), back, length)
    sampled = located.origin == "microworld" and not back
    data = read(located, SAMPLED) if sampled else held_back(read_task(located)) if back else read_task(located)
    kind = kinds.find(data.kind)
    parts = [part for part in (data.train if kind.trained else None, data.evaluation, data.test) if part is not None]
    counts = [microworld.size(task.microworld, split) for split in splits_of(task)] if sampled else map(len, parts)
    extents = (kind.extent(part, length, training=part is data.train) for part in parts)
    sizes = [(number, *extent) for number, extent in zip(counts, extents, strict=True)]
    return sizes if kind.trained else [(0, 1.0, 0.0), *sizes]


def _total(sizes: Sequence[tuple[int, float, float]]) -> tuple[int, float, float]:
    """The size of a split of several tasks, whose sizes these are."""
    count = sum(number for number, _, _ in sizes)
    encoded, tokens = (sum(size[at] * size[0] for size in sizes) / count for at in (1, 2))
    return count, encoded, tokens


def _definition(task: Task) -> dict[str, Any]:
    names = ("kind", "train", "evaluation", "text", "label", "labels", *(("test",) if task.test else ()))
    return {name: getattr(task, name) for name in names}


def _keep(job: Evaluation, work: Path, pretraining: Run, data: TaskData, outcome: Outcome) -> None:
    """Writes the fine-tuned model of a job, as what differs from the pre-trained one."""
    from bertlab.training.finetuned import Description, hashes_of, save

    task = job.data.task
    description = Description(
        pretrained=job.pretrained.id,
        milestone=job.milestone,
        **hashes_of(pretraining, job.milestone),
        task=job.data.name,
        kind=task.kind,
        text=task.text,
        label=task.label,
        group=data.group,
        labels=data.labels,
        settings=to_canonical(job.settings, whole=True),
        threshold=outcome.threshold,
        seed=job.pretrained.seed,
        finetune_seed=job.finetune_seed,
    )
    save(work, description, outcome.changes)


def _result(job: Evaluation, outcome: Outcome, lexical: list[dict[str, float]], unlabelled: int) -> dict[str, Any]:
    """The result of a job, with the metrics of a `lexical` baseline on each split and the `unlabelled` rows."""
    task, before, tested = job.data.task, job.intermediate_task, None
    if outcome.test is not None:
        tested = {
            "split": task.test,
            "rows": outcome.test.examples,
            "metrics": {**outcome.test.metrics, **outcome.diagnosed.metrics},
        }
        tested |= _floors(outcome.test, lexical, 1)
    return {
        "status": "collapsed" if outcome.collapsed else "done",
        "task": job.data.name,
        "dataset": task.dataset,
        **without_none(commit=job.data.hub and job.data.hub.commit),
        "split": "held back" if job.held_back else task.evaluation,
        "method": job.settings.kind,
        "trained_parameters": outcome.trained_parameters,
        "metrics": {**outcome.metrics, **outcome.diagnosed.metrics},
        **_floors(outcome, lexical, 0),
        **({"lexical_examples": outcome.train_examples} if lexical else {}),
        "rows": {
            "train": outcome.train_examples,
            "evaluation": outcome.examples,
            **without_none(unlabelled=unlabelled or None),
        },
        "steps": outcome.steps,
        "milestone": job.milestone,
        "pretrain_id": job.pretrained.id,
        "pretrain_seed": job.pretrained.seed,
        "finetune_seed": job.finetune_seed,
        "settings": to_canonical(job.settings),
        "length": job.settings.length,
        "curve": outcome.curve,
        **without_none(
            intermediate_task=before and before.name,
            intermediate_commit=before and before.hub and before.hub.commit,
            test=tested,
            threshold=outcome.threshold,
            surface=outcome.diagnosed.surface and to_json(outcome.diagnosed.surface),
        ),
    }


def _lexical(job: Evaluation, data: TaskData, store: Store) -> list[dict[str, float]]:
    """The metrics of a baseline of words on each split of a task."""
    evaluated, most = sampled(data, job.settings.max_eval_examples), job.settings.train_examples(len(data.train))
    return kinds.find(data.kind).word_floor(evaluated, most, partial(job.pretrained.text, store))


def _floors(result: EvalResult, lexical: list[dict[str, float]], part: int) -> dict[str, dict[str, float]]:
    """The metrics of baselines on the same examples, by the name of the baseline."""
    floor = lexical[part] if lexical else None
    return without_none(majority=result.majority, lexical=floor, exchanged=result.exchanged)
