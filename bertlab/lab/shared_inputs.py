"""What the studies of a request share: texts, tasks, code, and jobs."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar, cast

from bertlab.errors import BadInput
from bertlab.lab.jobs import CorpusPreparation, Job, TrunkTraining
from bertlab.lab.request import Request
from bertlab.lab.scales import Scale
from bertlab.machine import Machine
from bertlab.recipe import Recipe, TaskSource, Tokenizer
from bertlab.recipe.identity import canonical, identity
from bertlab.recipe.prefix import Prefix, shared_prefixes
from bertlab.store.files import digest, kind
from bertlab.tasks import kinds
from bertlab.tasks.locate import LocatedTask, Tasks, content_of
from bertlab.text import filters, sources

J = TypeVar("J", bound=Job)


class SharedInputs:
    """What the studies of a request share: texts, tasks, code, and jobs."""

    def __init__(self, request: Request, machine: Machine) -> None:
        self.request = request
        self.located: tuple[sources.Located, ...] = ()
        if request.pretrained is None:
            names = request.corpora or request.scale.corpus
            self.located = tuple(sources.resolve(name, machine=machine) for name in names)
            contents = [located.source.content for located in self.located]
            if twice := next((one for one in self.located if contents.count(one.source.content) > 1), None):
                raise BadInput(f"--corpus '{twice.source.name}' is given twice: give each corpus once")
            self.world = all(located.origin == "microworld" for located in self.located)  # whether tasks are synthetic
        else:
            read = request.pretrained.recipe.corpus.sources if request.pretrained.recipe else ()
            self.world = bool(read) and all(source.content.startswith("microworld:") for source in read)
        self.tasks = Tasks(
            request.substitutes, request.intermediate_task, machine, self.world, request.scale.counterparts
        )
        files = [study.file for study in request.studies if study.file is not None and study.file.code is not None]
        if files and len(request.studies) > 1:
            raise BadInput(f"study file '{files[0].argument}' defines code, which may change any run: run it alone")
        self.code = files[0].code if files else None
        self._jobs: dict[tuple[object, ...], list[Job]] = {}
        self._machine, self._prefixes = machine, dict[str, Prefix]()
        self._trunks: dict[str, TrunkTraining] = {}
        self._digest = _digest(request.vocabulary, "--vocab", "vocabulary", "a vocab.txt")
        self._bad_words = _digest(request.bad_words, "--bad-words", "list of words", "a text file, one word a line")
        self._loaded = set[Tokenizer]()
        """The tokenizers that have read the file of `--vocab`."""

    def base(self, scale: Scale) -> Recipe:
        """The recipe of a scale on the text of the request."""
        recipe, text = scale.recipe, self.request.scale.recipe.corpus
        read = tuple(located.source for located in self.located)
        corpus = dataclasses.replace(text, sources=read, bad_words=self._bad_words, annotator="")
        tokenizer = dataclasses.replace(recipe.tokenizer, given=self._digest)
        return dataclasses.replace(recipe, corpus=corpus, tokenizer=tokenizer)

    def cleaned(self, recipe: Recipe) -> Recipe:
        """A recipe without the file of --bad-words if the filter of its text does not read that."""
        if not self._bad_words or filters.reads_bad_words(recipe.corpus):
            return recipe
        return dataclasses.replace(recipe, corpus=dataclasses.replace(recipe.corpus, bad_words=""))

    def corpus_job(self, recipe: Recipe) -> CorpusPreparation:
        """The job of the corpus of a recipe. Raises `BadInput` where --vocab is not the vocabulary of its tokenizer."""
        if self.request.vocabulary is not None and recipe.tokenizer not in self._loaded:
            recipe.tokenizer.load(self.request.vocabulary)
            self._loaded.add(recipe.tokenizer)
        filters.rules(recipe.corpus)
        files = self.request.vocabulary, self.request.bad_words
        return CorpusPreparation(recipe.corpus, recipe.tokenizer, self.located, *files, self.code)

    def with_tasks(self, recipe: Recipe, left_out: LocatedTask | None = None) -> Recipe:
        """A recipe whose tasks name their examples, those with equal ones once; without those of a task `left_out`.

        Raises `BadInput` for a task whose answers are no texts, and if none is left.
        """
        sources: dict[str, TaskSource] = {}
        measured = self._trained(left_out) if left_out else set[str]()
        for source, task in zip(recipe.multitask.tasks, self.mixed(recipe), strict=True):
            if not kinds.find(task.task.kind).writes:
                raise BadInput(
                    f"multitask.tasks: the answers of '{source.name}' are no texts: name one such as cola-text"
                )
            if not measured or measured.isdisjoint(self._trained(task)):
                sources.setdefault(_examples(task), TaskSource(name=source.name, content=_examples(task)))
        if recipe.multitask.tasks and not sources:
            raise BadInput("multitask.tasks: none is left without the measured one: name more")
        multitask = dataclasses.replace(recipe.multitask, tasks=tuple(sources.values()))
        return dataclasses.replace(recipe, multitask=multitask)

    def _trained(self, located: LocatedTask) -> set[str]:
        """Identifies the training examples of a task and of its parts, whatever splits it is measured on."""
        identities = set[str]()
        for task in (located, *located.parts):
            alone = dataclasses.replace(task.task, evaluation=task.task.train, test="")
            of_training = dataclasses.replace(task, task=alone)
            content = content_of(of_training, self._machine)
            identities.add(_examples(dataclasses.replace(of_training, content=content)))
        return identities

    def mixed(self, recipe: Recipe) -> tuple[LocatedTask, ...]:
        """The tasks on which a recipe trains."""
        return tuple(self.tasks.find(source.name) for source in recipe.multitask.tasks)

    def share(self, recipes: Iterable[Recipe]) -> None:
        """Finds the first steps that pre-trainings share; those that the machine compiles in other ways share none."""
        alike = defaultdict[str, list[Recipe]](list)
        for recipe in recipes if self.request.pretrained is None and self.code is None else ():
            compiled = self._machine.compiles(recipe)
            alike[str(compiled and self._machine.compile_options(recipe))].append(recipe)
        for group in alike.values():
            self._prefixes |= shared_prefixes(group)

    def trunk(self, recipe: Recipe, study: str) -> TrunkTraining | None:
        """The job of the first steps that a recipe shares with others, at the first seed; None if it shares none."""
        prefix = self._prefixes.get(canonical(recipe.with_seed(0)))
        return self._trunk(prefix, study) if prefix else None

    def _trunk(self, prefix: Prefix, study: str) -> TrunkTraining:
        if prefix.id not in self._trunks:
            schedules = [recipe.schedule for recipe in prefix.recipes]
            ends = {schedule.milestone(percent) for schedule in schedules for percent in self.request.scale.milestones}
            self._trunks[prefix.id] = TrunkTraining(
                prefix.id,
                tuple(recipe.with_seed(self.request.seeds[0]) for recipe in prefix.recipes),
                self.corpus_job(prefix.recipes[0]),
                prefix.steps,
                tuple(sorted(step for step in ends if 0 < step <= prefix.steps)),
                self._trunk(prefix.before, study) if prefix.before else None,
                f"{study}-first-{prefix.steps}-steps",
                study,
                self.mixed(prefix.recipes[0]),
            )
        return self._trunks[prefix.id]

    def over(self, first: J, others: Callable[[], Iterable[J]]) -> Sequence[J]:
        """A job at all seeds: at the first and at the others; studies with the same one share it."""
        key = (first.group, first)
        if key not in self._jobs:
            self._jobs[key] = [first, *others()]
        return cast(Sequence[J], self._jobs[key])

    @property
    def distinct(self) -> list[Job]:
        """The jobs of all studies at their first seed."""
        return [first for first, *_ in self._jobs.values()]


def _digest(path: Path | None, option: str, what: str, form: str) -> str:
    """The hash of the file of an option; empty without one. Raises `BadInput` if there is no such file."""
    if path is None:
        return ""
    if (there := kind(path, option)) != "file":
        raise BadInput(f"{what} '{path}' {'is a folder' if there else 'does not exist'}: give the path of {form}")
    return f"sha256:{digest(path)}"


def _examples(located: LocatedTask) -> str:
    """Identifies the training examples of a task, and how they are written."""
    written = {name: getattr(located.task, name) for name in ("kind", "train", "text", "label", "labels")}
    return identity("task", content=located.content, task=written)
