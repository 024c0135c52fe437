"""The job that pre-trains a recipe."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.adaptation import Adaptation
from bertlab.audit.components import check_recipe
from bertlab.errors import BadInput
from bertlab.inputs import targets, words
from bertlab.inputs.batches import fewer_passes
from bertlab.lab.jobs.base import Job, Pretrained, Storage, Trunk, Work, copied, without_none
from bertlab.lab.jobs.corpus import CorpusPreparation
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Progress
from bertlab.recipe import MultiTask, Recipe, Schedule, Tokenizer, cost
from bertlab.recipe.identity import MARK, canonical, filled, load, template, to_canonical
from bertlab.recipe.ranges import user_defined
from bertlab.store.run import Run
from bertlab.store.runs import Store
from bertlab.tasks import kinds
from bertlab.tasks.data import read
from bertlab.tasks.examples import sizes
from bertlab.tasks.locate import LocatedTask
from bertlab.text import facts, tokens
from bertlab.training.process_group import SINGLE, ProcessGroup
from bertlab.wording import format_count

if TYPE_CHECKING:
    from lightning.pytorch.strategies import Strategy

    from bertlab.training.finetuning import Pretrained as LoadedModel


@dataclass(frozen=True)
class Pretraining(Pretrained, kinds=("pretrain",)):
    """Pre-trains a recipe."""

    recipe: Recipe = field()
    corpus: CorpusPreparation = field(compare=False)
    name: str = field(default="", compare=False)
    milestones: tuple[int, ...] = field(default=(100,), compare=False)
    """Percentages of the steps after which weights are saved."""
    own_label: str = field(default="", compare=False)
    """A label in place of study, variant and seed."""
    study: str = field(default="", compare=False)
    code: Code | None = field(default=None, compare=False)
    """The study file of the corpus."""
    finished: bool = field(default=False, compare=False)
    """Whether it stands for a run of the store, as `--from` names one."""
    trunk: Trunk | None = field(default=None, compare=False)
    """The first steps that it shares with others; its id and its result are the same without it."""
    mixed: tuple[LocatedTask, ...] = field(default=(), compare=False)
    kind = "pretrain"
    resumes = times_itself = True
    steady = True
    imports = ("torch", "bertlab.training.pretraining")

    @cached_property
    def id(self) -> str:
        """The id of the run."""
        return filled(self.template, str(self.seed)) if self.seed else super().id  # 0 is a default, which is left out

    @cached_property
    def template(self) -> tuple[str, ...]:
        """What the id hashes, around the seed; equal for pre-trainings that differ in their seeds alone."""
        definition = self.definition()
        return template(self.kind, **definition | {"recipe": definition["recipe"] | {"seed": MARK}})

    @property
    def group(self) -> tuple[str, ...]:
        """Equal for pre-trainings that differ in their seeds alone."""
        return self.template

    def with_seed(self, seed: int) -> Pretraining:
        """The same pre-training with another seed."""
        trunk = self.trunk and self.trunk.with_seed(seed)
        return copied(self, recipe=self.recipe.with_seed(seed), trunk=trunk, template=self.template)

    @property
    def needs(self) -> tuple[Job, ...]:
        """The corpus, and the trunk from which it goes on."""
        return (self.corpus, self.trunk) if self.trunk else (self.corpus,)

    @property
    def seed(self) -> int:
        """The pre-training seed."""
        return self.recipe.seed

    @property
    def steps(self) -> int:
        """The number of updates after its trunk."""
        return self.recipe.schedule.steps - self.first

    @property
    def label(self) -> str:
        """Study, variant and seed, unless it has its own."""
        return self.own_label or f"{self.name}-seed{self.recipe.seed}"

    def labelled(self, label: str) -> Pretraining:
        """The same pre-training with a label in place of study, variant and seed."""
        return dataclasses.replace(self, own_label=label)

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows."""
        code = without_none(code=self.code and self.code.sha256)
        return {"recipe": to_canonical(self.recipe), "corpus": self.corpus.id, **code}

    @classmethod
    def recipe_of(cls, definition: Mapping[str, Any]) -> Recipe:
        """The recipe that a run with this definition trained."""
        return load(Recipe, definition["recipe"])

    @classmethod
    def of_run(cls, run: Run) -> Pretraining:
        """The pre-training of a finished run, with the milestones at which it has weights."""
        recipe = cls.recipe_of(run.definition())
        corpus = CorpusPreparation(recipe.corpus, recipe.tokenizer, ())
        saved = {int(path.stem.removeprefix("step-")) for path in (run.path / "milestones").glob("step-*.safetensors")}
        milestones = tuple(percent for percent in range(1, 101) if recipe.schedule.milestone(percent) in saved)
        return cls(recipe, corpus, run.label, milestones, run.label, finished=True)

    def run(
        self,
        work: Path,
        store: Store,
        machine: Machine,
        progress: Progress,
        group: ProcessGroup = SINGLE,
        strategy: Strategy | None = None,
    ) -> dict[str, Any]:
        """Trains in `work`, from the checkpoint of an earlier attempt if there is one; on several processes in each
        process of a `group`, with the `strategy` that sums gradients."""
        from bertlab.training.loggers import opened
        from bertlab.training.pretraining import pretrain

        defined = _defined(self.recipe) if self.code else None  # first: a mistake in it must not cost a training
        corpus = opened_corpus(self.recipe, store.get_verified(self.corpus.id).path, self.mixed)
        text = _facts_of(self.recipe, corpus)
        fields = self.definition() | {"recipe": to_canonical(self.recipe, whole=True)}
        first = opened(self.kind, self.id, self.label, self.study, fields, store, machine)
        with first if group.first else nullcontext(()) as loggers:
            parts = self.milestones, progress, group, strategy, loggers, self.beginning(store)
            result = pretrain(self.recipe, corpus, work, machine, *parts)
        return result | without_none(text=text, defined=defined)

    def saved(self, milestones: Sequence[int]) -> list[int]:
        """The milestones (per cent of the steps) at which it saves weights, of the given ones, and the end."""
        schedule = self.recipe.schedule
        saved = {*milestones} & {*self.milestones}
        return sorted({100} | {percent for percent in saved if 0 < schedule.milestone(percent) < schedule.steps})

    def fitted(self, adaptation: Adaptation) -> Adaptation:
        """An adaptation as it is on this model. Raises `BadInput` if it does not apply to the model, and for sequences
        longer than its positions."""
        adaptation.check(self.recipe)
        positions = self.recipe.model.max_length(self.recipe.inputs.longest)
        if adaptation.length > positions:
            raise BadInput(
                f"it uses {adaptation.length} tokens and the model has {positions} positions: set the length to "
                f"{positions} at most, or model.max_positions={adaptation.length}"
            )
        return adaptation.in_model(self.recipe.model.layers)

    def read_recipe(self) -> Recipe:
        """The recipe, which is known."""
        return self.recipe

    def untrained(self) -> Pretraining:
        """Raises `BadInput`: a finished run has no other weights."""
        raise BadInput(
            "--random-init works with a study's own pre-training or with a checkpoint, not with a run: leave it out"
        )

    def check_prepared(self, prepared: Mapping[str, Run]) -> None:
        """Raises `BadInput` if the corpora of the text that the inputs ask for have no documents."""
        run, corpora = prepared.get(self.corpus.id), self.recipe.declared.inputs.corpora
        if run is not None and corpora:
            tokens.documents_of(run.result().documents_by_source.get("train", ()), corpora)

    def components(self) -> tuple[object, ...]:
        """The components of study files in its recipe; none if it is not trained."""
        return tuple(user_defined(self.recipe)) if self.steps else ()

    def check_components(self, store: Store, machine: Machine) -> None:
        """Runs them on a few sequences of its text."""
        check_recipe(self.recipe.declared, opened_corpus(self.recipe, store.get_verified(self.corpus.id).path))

    def opened(self, store: Store) -> LoadedModel:
        """Model and tokenizer of its run, or with new weights before it has one."""
        from bertlab.model.heads import PretrainingModel
        from bertlab.training.finetuning import Pretrained as LoadedModel

        if store.get(self.id) is not None:
            return super().opened(store)
        tokenizer = opened_corpus(self.recipe, store.get_verified(self.corpus.id).path).tokenizer
        model = PretrainingModel.of(self.recipe, tokenizer.size)
        return LoadedModel(model=model, tokenizer=tokenizer, positions=model.encoder.max_length)

    def describe_text(self, store: Store) -> dict[str, Any] | None:
        """The facts of the text with the targets of its losses; None before it is prepared."""
        run = store.get(self.corpus.id) if self.steps else None
        return _facts_of(self.recipe, opened_corpus(self.recipe, run.path, self.mixed)) if run else None

    def describe_model(self) -> str:
        """Shape and parameters of the model; batch, steps and lengths. Empty for a model that is not trained."""
        return _described(self.recipe) if self.steps else ""

    def work(self) -> Work:
        """The tokens of all steps after its trunk."""
        return work_between(self.recipe, self.first, self.recipe.schedule.steps)

    def storage(self) -> Storage:
        """Weights at each milestone, and while it trains two checkpoints of weights and two moments."""
        weights, saved = cost.weight_bytes(self.recipe), len(self.milestones) + words.most_revisions(self.recipe)
        return Storage(weights * saved, 6.0 * weights, 16 * cost.trained_parameters(self.recipe))

    @property
    def distributed(self) -> bool:
        """Whether there is something to train."""
        return self.steps > 0

    def compiles(self, machine: Machine) -> bool:
        """Whether a machine compiles its training."""
        return machine.compiles(self.recipe)

    @classmethod
    def similarity(cls, definition: Mapping[str, Any], recipe: Recipe | None, compiled: bool) -> str:
        """The steps of one model on batches of one size; linguistic spans take no time."""
        if recipe is None:
            return super().similarity(definition, recipe, compiled)
        size = {name: getattr(recipe.schedule, name) for name in ("batch_size", "over_steps")}
        schedule = Schedule(steps=min(1, recipe.schedule.steps), **size)
        same = dataclasses.replace(without_spans(recipe), seed=0, schedule=schedule)
        return canonical([same, compiled])


def without_spans(recipe: Recipe) -> Recipe:
    """A recipe that trains for as long, without linguistic spans and tasks."""
    objective, corpus = tuple(loss.cost_equivalent() for loss in recipe.objective), recipe.corpus
    corpus = dataclasses.replace(corpus, annotator="")
    return dataclasses.replace(recipe, objective=objective, corpus=corpus, multitask=MultiTask())


def _defined(recipe: Recipe) -> dict[str, Any]:
    """What a report, which runs no study file, has to know of components that one defines."""
    objective = recipe.declared.objective
    return {
        "recipe": to_canonical(recipe, whole=True),
        "premises": [vars(premise) for loss in objective for premise in loss.premises(recipe)],
        "figures": {str(name): str(label) for loss in objective for name, label in loss.all_metric_labels.items()},
        "unseen": [str(name) for loss in objective for name in loss.out_of_distribution_metrics],
        "meanings": [str(loss.meaning) for loss in objective],
    }


def work_between(recipe: Recipe, first: int, until: int) -> Work:
    """The work of the updates of a recipe from number `first` to the one before `until`."""
    tokens, flops = float(cost.tokens(recipe, first, until)), cost.flops(recipe, first, until)
    return Work(tokens, flops, until - first, recipe.model.layers)


def opened_corpus(
    recipe: Recipe, directory: Path, tasks: Sequence[LocatedTask] = (), *, check: bool = False
) -> tokens.TokenisedCorpus:
    """The prepared text of a recipe in a directory, with the examples of the tasks on which it trains."""
    corpus = tokens.open_corpus(directory, recipe.tokenizer, check=check)
    if not tasks:
        return corpus
    length = recipe.multitask.length or recipe.inputs.length
    encoded = tuple(_encoded(task, directory, recipe.tokenizer, length) for task in tasks)
    return dataclasses.replace(corpus, tasks=encoded)


@lru_cache(maxsize=64)
def _encoded(task: LocatedTask, corpus: Path, tokenizer: Tokenizer, length: int) -> tokens.TokenisedTask:
    """The training examples of a task, each text and each answer with its end mark in `length` tokens at most.

    The vocabulary is that of the corpus in a directory. Raises `BadInput` for unusable examples.
    """
    data, trained = read(task), tokenizer.load(corpus / tokenizer.file)
    examples = kinds.find(data.kind).encode(data.train, trained, length, training=True)
    texts, answers = (part.astype(np.int32) for part in (np.concatenate(examples.sequences), examples.targets))
    begins = [np.append(0, np.cumsum(counts)) for counts in (sizes(examples.sequences), examples.counts)]
    return tokens.TokenisedTask(task.content, (texts, begins[0]), (answers, begins[1]))


def _described(recipe: Recipe) -> str:
    batch = f"{recipe.schedule.batch_size:,} sequences"
    batch += " or as many tokens" if recipe.inputs.format.token_matched_to else ""
    lengths = ", then ".join(f"{steps:,} steps of {length}" for length, steps in cost.phases(recipe))
    size = f"{format_count(cost.trained_parameters(recipe))} parameters"
    last = recipe.numbers(recipe.schedule.steps - 1)
    changing = [f"{path} from {number:g} to {last[path]:g}" for path, number in recipe.numbers(0).items()]
    return ", ".join([f"{recipe.model.shape}: {size}; {batch}", f"{lengths} tokens", *changing])


def _facts_of(recipe: Recipe, corpus: tokens.TokenisedCorpus) -> dict[str, Any] | None:
    """The facts of a text (`text.facts`) with the targets of the losses of a recipe, which is trained on it.

    Raises `BadInput` if a loss has none, and for more passes over it than its number of words allows. None for a model
    that is not trained.
    """
    if not recipe.schedule.steps:
        return None
    sampled = targets.targets(recipe, corpus)
    targets.require(sampled)
    if recipe.corpus.words:
        words.WordsRead.of(recipe, corpus).check()
    parts = corpus.train, corpus.heldout
    text = corpus.facts.get("text")  # which corpora of earlier versions lack
    text = text or facts.of_text([p.tokens for p in parts], [p.documents for p in parts], corpus.tokenizer.unk)
    lowest = sorted(sampled, key=lambda target: -target.share)  # where several losses say the same
    if passes := fewer_passes(recipe, corpus.train):
        text = {**text, "passes": passes}
    return {**text, "targets": {target.words: round(target.share, 4) for target in lowest}}
