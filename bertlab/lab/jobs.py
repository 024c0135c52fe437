"""Jobs: frozen values whose ids depend only on their science.

`run` fills a working directory of the store and returns the result, which the store then seals.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from bertlab.adaptation import Adaptation
from bertlab.errors import BadInput
from bertlab.inputs import targets
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.model.interop.checkpoint import Checkpoint, locate
from bertlab.progress import Progress
from bertlab.recipe import Corpus, Recipe, Tokenizer
from bertlab.recipe.identity import MARK, filled, identity, load, science, template
from bertlab.store.files import kind, read_json
from bertlab.store.predictions import PREDICTIONS, packed
from bertlab.store.run import PRETRAINED, Run
from bertlab.store.runs import Store
from bertlab.store.writes import write, write_json
from bertlab.tasks import kinds
from bertlab.tasks.data import held_back, read, sampled
from bertlab.tasks.locate import LocatedTask, content_of
from bertlab.tasks.task import Task
from bertlab.text import facts, tokens
from bertlab.text.sources import Located
from bertlab.training.process_group import SINGLE, ProcessGroup

if TYPE_CHECKING:
    from lightning.pytorch.strategies import Strategy

    from bertlab.training.finetuning import EvalResult


J = TypeVar("J")
T = TypeVar("T")


def _id(job: Any) -> str:
    return identity(job.kind, **job.science())


def _with(job: J, shared: Mapping[str, object], **changes: Any) -> J:
    """A copy of a job with other seeds, which has what is `shared` too and checks nothing again."""
    copy = object.__new__(type(job))
    fields = vars(copy)
    fields.update(vars(job), **shared, **changes)
    fields.pop("id", None)
    return copy


def _given(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


@dataclass(frozen=True)
class PrepareCorpus:
    """Tokenises text into a memory-mapped corpus, and trains its vocabulary."""

    corpus: Corpus
    tokenizer: Tokenizer
    located: tuple[Located, ...] = field(compare=False)
    given: Path | None = field(default=None, compare=False)
    """The vocabulary file whose hash `tokenizer.given` holds."""
    code: Code | None = None
    """A study file that may change the corpus and what is trained on it."""
    kind: ClassVar[str] = "corpus"

    @cached_property
    def id(self) -> str:
        """The id of the corpus, which also depends on the version of the text code."""
        return identity(self.kind, **self.science(), text_version=tokens.TEXT_VERSION)

    @property
    def group(self) -> tuple[str, ...]:
        """Equal for the same corpus alone: it has no seed."""
        return (self.id,)

    @property
    def label(self) -> str:
        """The sources and the size of the vocabulary."""
        return f"{'+'.join(source.name for source in self.corpus.sources)}-{self.tokenizer.vocabulary}"

    def science(self) -> dict[str, Any]:
        """The data from which the id follows."""
        tokenizer = science(self.tokenizer, Recipe().tokenizer)
        code = _given(code=self.code and self.code.sha256)
        return {"corpus": science(self.corpus), "tokenizer": tokenizer, **code}

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Tokenises the corpus into `work`."""
        workers = 1 if self.code else machine.num_threads  # child processes do not run the study file
        source = self.corpus, self.tokenizer, self.located
        facts = tokens.prepare(*source, work, vocabulary_file=self.given, workers=workers, progress=progress)
        commits = {each.source.name: each.dataset.commit for each in self.located if each.dataset is not None}
        return {"status": "done", **facts, **_given(commits=commits or None)}


@dataclass(frozen=True)
class Pretrain:
    """Pre-trains a recipe."""

    recipe: Recipe
    corpus: PrepareCorpus = field(compare=False)
    name: str = field(compare=False)
    """The first study and variant that need it."""
    milestones: tuple[int, ...] = field(default=(100,), compare=False)
    """Percentages of the steps after which weights are saved."""
    own_label: str = field(default="", compare=False)
    """A label in place of study, variant and seed."""
    study: str = field(default="", compare=False)
    """The first study that needs it."""
    kind: ClassVar[str] = "pretrain"

    @cached_property
    def id(self) -> str:
        """The id of the run."""
        return filled(self.template, str(self.seed)) if self.seed else _id(self)  # the seed 0 is a default, left out

    @cached_property
    def template(self) -> tuple[str, ...]:
        """What the id hashes, around the seed; equal for pre-trainings that differ in their seeds alone."""
        facts = self.science()
        return template(self.kind, **facts | {"recipe": facts["recipe"] | {"seed": MARK}})

    @property
    def group(self) -> tuple[str, ...]:
        """Equal for pre-trainings that differ in their seeds alone."""
        return self.template

    def with_seed(self, seed: int) -> "Pretrain":
        """The same pre-training with another seed."""
        return _with(self, {"template": self.template}, recipe=self.recipe.with_seed(seed))

    @property
    def code(self) -> Code | None:
        """The study file of the corpus."""
        return self.corpus.code

    @property
    def seed(self) -> int:
        """The pre-training seed."""
        return self.recipe.seed

    @property
    def steps(self) -> int:
        """The number of updates."""
        return self.recipe.schedule.steps

    @property
    def label(self) -> str:
        """Study, variant and seed, unless it has its own."""
        return self.own_label or f"{self.name}-seed{self.recipe.seed}"

    def science(self) -> dict[str, Any]:
        """The data from which the id follows."""
        code = _given(code=self.code and self.code.sha256)
        return {"recipe": science(self.recipe), "corpus": self.corpus.id, **code}

    def run(
        self,
        work: Path,
        store: Store,
        machine: Machine,
        progress: Progress,
        group: ProcessGroup = SINGLE,
        strategy: "Strategy | None" = None,
    ) -> dict[str, Any]:
        """Trains in `work`, from the checkpoint of an earlier attempt if there is one.

        On several processes it runs in each process of a `group`, with the `strategy` that sums gradients.
        """
        from bertlab.training.loggers import opened
        from bertlab.training.pretraining import pretrain

        defined = self._defined() if self.code else None  # first: a mistake in it must not cost a training
        directory = store.get_verified(self.corpus.id).path
        corpus = tokens.open_corpus(directory, self.recipe.tokenizer, check=False)
        text = text_of(self.recipe, corpus)
        fields = self.science() | {"recipe": science(self.recipe, whole=True)}
        first = opened(self.kind, self.id, self.label, self.study, fields, store, machine)
        with first if group.first else nullcontext(()) as loggers:
            found = pretrain(self.recipe, corpus, work, machine, self.milestones, progress, group, strategy, loggers)
        return found | _given(text=text or None, defined=defined)

    def _defined(self) -> dict[str, Any]:
        """What a report, which runs no study file, has to know of parts that one defines."""
        objective = self.recipe.declared.objective
        return {
            "recipe": science(self.recipe, whole=True),
            "premises": [vars(each) for loss in objective for each in loss.premises(self.recipe)],
            "figures": {str(name): str(label) for loss in objective for name, label in loss.measured.items()},
            "unseen": [str(name) for loss in objective for name in loss.unseen],
            "meanings": [str(loss.meaning) for loss in objective],
        }


@dataclass(frozen=True)
class ImportCheckpoint:
    """Imports a published checkpoint in the form of a pre-training."""

    checkpoint: Checkpoint
    fresh: bool = False
    """Whether to replace its weights by new ones, for the variant without pre-training."""
    kind: ClassVar[str] = "import"
    seed: ClassVar[int] = 0
    steps: ClassVar[int] = 0
    milestones: ClassVar[tuple[int, ...]] = (100,)
    code: ClassVar[None] = None
    id = cached_property(_id)

    @property
    def group(self) -> tuple[str, ...]:
        """Equal for the same checkpoint alone: it has no seed."""
        return (self.id,)

    @property
    def label(self) -> str:
        """The checkpoint's name."""
        return f"{self.checkpoint.name}-fresh" if self.fresh else self.checkpoint.name

    def science(self) -> dict[str, Any]:
        """The data from which the id follows."""
        return {"checkpoint": self.checkpoint.content, **_given(fresh=self.fresh or None)}

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Reads the checkpoint, and writes weights, vocabulary and recipe into `work`."""
        from bertlab.model.interop import huggingface

        directory = self.checkpoint.fetch()
        recipe, model, tokenizer = huggingface.read(directory, fresh=self.fresh)
        tokenizer.save(work / recipe.tokenizer.file)
        model.save(work / "model.safetensors")
        record = read_json(work / "recipe.json")
        record["science"]["recipe"] = science(recipe)
        write_json(work, "recipe.json", record)
        return {
            "status": "done",
            "checkpoint": self.checkpoint.name,
            "content": self.checkpoint.content,
            **_given(commit=self.checkpoint.commit or None),
            "fresh": self.fresh,
            "predicts": self.fresh or huggingface.predicts(directory),
            "parameters": sum(value.numel() for value in model.parameters()),
            "vocabulary": tokenizer.size,
        }


Pretrained = Pretrain | ImportCheckpoint
"""A job whose result is a pre-trained model."""


@dataclass(frozen=True)
class Measure:
    """Adapts a pre-trained model to a task and evaluates it."""

    pretrain: Pretrained
    data: LocatedTask
    settings: Adaptation
    finetune_seed: int
    name: str = field(compare=False)
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

    @cached_property
    def id(self) -> str:
        """The id of the run."""
        return filled(self.template, str(self.finetune_seed), f'"{self.pretrain.id}"')

    @cached_property
    def template(self) -> tuple[str, ...]:
        """What the id hashes, around the seed and the pre-training; equal for measurements that differ in these."""
        return template(self.kind, **self.science() | {"finetune_seed": MARK, "pretrain": MARK})

    @cached_property
    def group(self) -> tuple[str, ...]:
        """Equal for measurements that differ in their seeds alone, and in that of the pre-training."""
        return *self.template, *self.pretrain.group

    def on(self, pretrain: Pretrained) -> "Measure":
        """The same measurement of another pre-training, which differs in its seed alone."""
        return _with(self, {"template": self.template, "group": self.group}, pretrain=pretrain)

    def with_seed(self, finetune_seed: int) -> "Measure":
        """The same measurement with another fine-tuning seed."""
        return _with(self, {"template": self.template, "group": self.group}, finetune_seed=finetune_seed)

    @property
    def kind(self) -> str:
        """The kind of its runs, which its adaptation names."""
        return self.settings.runs

    @property
    def label(self) -> str:
        """Study, variant, task and seeds."""
        return f"{self.name}-seed{self.pretrain.seed}-finetune{self.finetune_seed}"

    def science(self) -> dict[str, Any]:
        """The data from which the id follows; of the task, only the fields that change results."""
        before = self.intermediate_task
        return {
            "pretrain": self.pretrain.id,
            "data": self.data.content,
            "task": _task_science(self.data.task),
            "settings": science(self.settings),
            "finetune_seed": self.finetune_seed,
            **_given(
                milestone=self.milestone if self.milestone < 100 else None,
                intermediate_task=before and {"data": before.content, "task": _task_science(before.task)},
                held_back=self.held_back or None,
                code=self.code and self.code.sha256,
            ),
        }

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Trains, evaluates, and writes the predictions into `work`."""
        from bertlab.training.finetuning import finetune
        from bertlab.training.loggers import opened

        defined = self._defined() if self.code else None
        pretrained, task, before = store.get_verified(self.pretrain.id), self.data.task, self.intermediate_task
        for each in self.tasks:
            if each.origin == "files" and content_of(each, machine) != each.content:
                raise BadInput(f"the examples of task '{each.name}' have changed: give the same command again")
        data = read_task(self.data)
        if self.held_back:
            data = held_back(data)
        fields = self.science() | {"settings": science(self.settings, whole=True)}
        with opened(self.kind, self.id, self.label, self.study, fields, store, machine) as loggers:
            outcome = finetune(
                pretrained.path,
                data,
                self.settings,
                milestone=self.milestone,
                seed=self.pretrain.seed,
                finetune_seed=self.finetune_seed,
                machine=machine,
                progress=progress,
                intermediate_task=None if before is None else read_task(before),
                loggers=loggers,
            )
            for logger in loggers:
                logger.log_result(outcome.steps, outcome.metrics)
        lexical: list[dict[str, float]] = []
        if not self.held_back:
            evaluated = sampled(data, self.settings.max_eval_examples)
            lexical = kinds.find(data.kind).lexical_floor(evaluated, self.settings.max_train_examples)
        predictions, tested = outcome.predictions, None
        if outcome.test is not None:
            predictions = predictions | {f"test_{name}": each for name, each in outcome.test.predictions.items()}
            tested = {"split": task.test, "rows": outcome.test.examples, "metrics": outcome.test.metrics}
            tested |= _floors(outcome.test, lexical, 1)
        write(work, PREDICTIONS, packed(predictions))
        return {
            "status": "collapsed" if outcome.collapsed else "done",
            "task": self.data.name,
            "dataset": task.dataset,
            **_given(commit=self.data.hub and self.data.hub.commit),
            "split": "held back" if self.held_back else task.evaluation,
            "method": self.settings.kind,
            "trained_parameters": outcome.trained_parameters,
            "metrics": outcome.metrics,
            **_floors(outcome, lexical, 0),
            **({"lexical_examples": outcome.train_examples} if lexical else {}),
            "rows": {
                "train": outcome.train_examples,
                "evaluation": outcome.examples,
                **_given(unlabelled=data.unlabelled or None),
            },
            "steps": outcome.steps,
            "milestone": self.milestone,
            "pretrain_id": self.pretrain.id,
            "pretrain_seed": self.pretrain.seed,
            "finetune_seed": self.finetune_seed,
            "settings": science(self.settings),
            "length": self.settings.length,
            "curve": outcome.curve,
            **_given(
                intermediate_task=before and before.name,
                intermediate_commit=before and before.hub and before.hub.commit,
                test=tested,
                threshold=outcome.threshold,
                defined=defined,
            ),
        }

    def _defined(self) -> dict[str, Any]:
        """What a report, which runs no study file, has to know of an adaptation that one defines."""
        return {"settings": science(self.settings, whole=True), "description": str(self.settings.description)}

    @property
    def tasks(self) -> tuple[LocatedTask, ...]:
        """The task, and the intermediate task if there is one."""
        return (self.data,) if self.intermediate_task is None else (self.data, self.intermediate_task)


Job = PrepareCorpus | Pretrained | Measure
"""Any job."""


def needs(job: Job) -> tuple[Job, ...]:
    """The jobs that must finish before this one."""
    if isinstance(job, Measure):
        return (job.pretrain,)
    return (job.corpus,) if isinstance(job, Pretrain) else ()


def alike(jobs: Sequence[Job]) -> list[tuple[Job, int]]:
    """A job of each group, with the number of the jobs in it."""
    groups = [job.group for job in jobs]
    numbers = Counter(groups)
    return [(job, numbers[group]) for group, job in dict(zip(groups, jobs, strict=True)).items()]


def per_group(function: Callable[[Job], T]) -> Callable[[Job], T]:
    """A function of a job that does not depend on the seeds, computed once for all jobs of a group."""
    known: dict[tuple[str, ...], T] = {}

    def of(job: Job) -> T:
        if (group := job.group) not in known:
            known[group] = function(job)
        return known[group]

    return of


def text_of(recipe: Recipe, corpus: tokens.TokenisedCorpus) -> dict[str, Any]:
    """The facts of a text (`text.facts`) with the targets of the losses of a recipe, which is trained on it.

    Raises `BadInput` if a loss has none. Empty for a model that is not trained.
    """
    if not recipe.schedule.steps:
        return {}
    sampled = targets.targets(recipe, corpus)
    targets.require(sampled)
    parts = corpus.train, corpus.heldout
    known = corpus.facts.get("text")  # which corpora of earlier versions lack
    text = known or facts.of_text([p.tokens for p in parts], [p.documents for p in parts], corpus.tokenizer.unk)
    lowest = sorted(sampled, key=lambda each: -each.share)  # where several losses say the same
    return {**text, "targets": {each.words: round(each.share, 4) for each in lowest}}


def to_run(jobs: Sequence[Job], done: Collection[str]) -> list[Job]:
    """Those of `jobs` that are not done, by their ids, without a corpus whose pre-trainings are all done.

    Exported results have no corpora.
    """
    left = [job for job in jobs if job.id not in done]
    every, still = ({job.corpus.id for job in some if isinstance(job, Pretrain)} for some in (jobs, left))
    unneeded = every - still
    return [job for job in left if job.id not in unneeded or not isinstance(job, PrepareCorpus)]


def devices_per_pretraining(machine: Machine, jobs: Iterable[Job]) -> int:
    """Devices of each pre-training: `--gpus-per-run`, else all GPUs divided evenly, or one where runs share them."""
    if machine.gpus_per_run or machine.runs_per_gpu > 1 or not machine.starts_ray:
        return machine.gpus_per_run or 1
    runs = sum(isinstance(job, Pretrain) and job.steps > 0 for job in jobs)
    return max(1, machine.gpus // runs) if runs else 1


def _floors(result: "EvalResult", lexical: list[dict[str, float]], part: int) -> dict[str, dict[str, float]]:
    """The metrics of baselines on the same examples, by the name of the baseline."""
    found = lexical[part] if lexical else None
    return _given(majority=result.majority, lexical=found, exchanged=result.exchanged)


def _task_science(task: Task) -> dict[str, Any]:
    names = ("kind", "train", "evaluation", "text", "label", "labels", *(("test",) if task.test else ()))
    return {name: getattr(task, name) for name in names}


read_task = lru_cache(maxsize=8)(read)
"""The examples of a located task; each process reads them once. Raises `BadInput` for unusable examples."""


def run_or_checkpoint(name: str, store: Store, machine: Machine, what: str) -> Run | Checkpoint:
    """The finished pre-training that `name` names (see `Store.match`), else the checkpoint, a directory or on the Hub.

    `what` names the option. Raises `BadInput` if there is neither.
    """
    if not name:
        raise BadInput(f"{what} is empty: give a run, a checkpoint's directory or a name on the Hub")
    folder = Path(name)
    if kind(folder, what) == "folder":
        given = str(folder.absolute()) if kind(folder / "manifest.json", what) == "file" else ""
    else:
        given = name if store.matches(name, lambda run: True) else ""
    return store.match(given, lambda run: run.kind in PRETRAINED) if given else locate(name, machine, what)


def find_pretrained(name: str, store: Store, machine: Machine) -> Pretrained:
    """The run or the checkpoint that `--from` names, as a job. Raises `BadInput` as `run_or_checkpoint` does."""
    run = run_or_checkpoint(name, store, machine, "--from")
    if isinstance(run, Checkpoint):
        return ImportCheckpoint(run)
    kept = run.science()
    if "code" in kept:
        raise BadInput(f"run {run.id} was trained with the code of a study file: measure it in that study")
    if run.kind == "import":
        result = run.result()
        found = Checkpoint(kept["checkpoint"], result["checkpoint"], commit=result.get("commit", ""))
        job: Pretrained = ImportCheckpoint(found, fresh=bool(kept.get("fresh")))
    else:
        recipe = load(Recipe, kept["recipe"])
        corpus = PrepareCorpus(recipe.corpus, recipe.tokenizer, ())
        saved = {int(path.stem.removeprefix("step-")) for path in (run.path / "milestones").glob("step-*.safetensors")}
        milestones = tuple(each for each in range(1, 101) if recipe.schedule.milestone(each) in saved)
        job = Pretrain(recipe, corpus, run.label, milestones, run.label)
    if job.id != run.id:
        raise BadInput(f"run {run.id} was trained by another version of bertlab: train it again to measure it")
    return job
