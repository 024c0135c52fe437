"""Short trials of a plan's jobs on this machine: each shape of model, format of input and kind of task once."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from bertlab import synthetic as microworld
from bertlab.estimates import measure
from bertlab.estimates.estimate import text_bytes
from bertlab.estimates.measure import Speed
from bertlab.estimates.recorded import alike, encoder
from bertlab.lab.jobs import ImportCheckpoint, Job, Measure, PrepareCorpus, Pretrain, Pretrained, rows
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus, Recipe, Tokenizer
from bertlab.recipe.identity import load
from bertlab.store.files import read_json, write_json
from bertlab.store.runs import Store
from bertlab.tasks.data import held_back
from bertlab.text import sources, tokens
from bertlab.text.tokenizers.wordpiece import WordPiece
from bertlab.text.tokens import TokenisedCorpus

DOCUMENTS = 1000
"""Of a text that is not prepared yet, so many are tried."""
HELD_OUT = 0.2
"""Of so few, the share that is held out: enough to judge on."""


class Trials:
    """What jobs take, tried in a directory of their own; the store is read where it has what a job needs."""

    def __init__(
        self, jobs: Sequence[Job], store: Store, machine: Machine, directory: Path, told: Callable[[str], None]
    ) -> None:
        """`jobs` are those of the plan; `told` is called with what is tried next."""
        self._jobs, self._store, self._directory, self._told = jobs, store, directory, told
        self._machine = machine if machine.is_single_process else machine.per_worker()
        told("matrix products")
        self.peaks = measure.peaks(self._machine)
        """Operations a second, by precision."""
        self.peak = self.peaks["bf16" if self._machine.bf16() and "bf16" in self.peaks else "fp32"]
        """In the precision that is used."""
        self._texts: dict[str, tuple[TokenisedCorpus, float]] = {}
        self._models: dict[str, Path] = {}
        self._speeds: dict[str, Speed] = {}

    def seconds(self, job: Job) -> float:
        """What a job takes. Text of the Hub is not looked at: preparing it counts as nothing."""
        if isinstance(job, PrepareCorpus):
            return self._text(job)[1]
        known = alike(job, self._machine)
        if known not in self._speeds:
            self._told(job.label)
            self._speeds[known] = self._tried(job)
        speed = self._speeds[known]
        if isinstance(job, Measure):
            return speed.seconds(measure.training_steps(job.settings, self._rows(job)))
        return speed.seconds(job.steps, len(job.milestones))

    def _tried(self, job: Pretrained | Measure) -> Speed:
        if isinstance(job, Pretrain):
            work = self._new()
            text, _ = self._text(job.corpus)
            speed = measure.pretraining(job.recipe, text, work, self._machine, self.peak)
            self._models.setdefault(encoder(job.recipe), work)
            return speed
        if isinstance(job, ImportCheckpoint):
            began = time.perf_counter()
            self._imported(job)
            return Speed(start=time.perf_counter() - began, step=0.0, end=0.0)
        model, data = self._model(job.pretrain), rows(job.data, self._machine)
        return measure.finetuning(
            model,
            held_back(data) if job.held_back else data,
            job.settings,
            load(Recipe, read_json(model / "recipe.json")["science"]["recipe"]),
            self._machine,
            self.peak,
            intermediate_task=rows(job.intermediate_task, self._machine) if job.intermediate_task else None,
        )

    def _rows(self, job: Measure) -> int:
        """Rows that a measurement trains on."""
        data = rows(job.data, self._machine)
        return measure.trained_rows(job.settings, held_back(data) if job.held_back else data)

    def _model(self, job: Pretrained) -> Path:
        """A directory with a model as the job leaves it: of the store, or of a trial."""
        run = self._store.get(job.id)
        if run is not None:
            return run.path
        name = encoder(job.recipe) if isinstance(job, Pretrain) else job.id
        if name not in self._models:
            self.seconds(job)
        return self._models[name]

    def _imported(self, job: ImportCheckpoint) -> None:
        work = self._models[job.id] = self._new()
        write_json(work / "recipe.json", {"science": job.science()})
        job.run(work, self._store, self._machine, silent)

    def _text(self, job: PrepareCorpus) -> tuple[TokenisedCorpus, float]:
        """A corpus, or one of its first documents, and the seconds that preparing all of it takes."""
        if job.id not in self._texts:
            run = self._store.get(job.id)
            if run is not None:
                self._texts[job.id] = tokens.open_corpus(run.path, check=False), 0.0
            else:
                self._told("preparing text")
                self._texts[job.id] = self._sampled(job)
        return self._texts[job.id]

    def _sampled(self, job: PrepareCorpus) -> tuple[TokenisedCorpus, float]:
        texts, began = list(self._documents(job)), time.perf_counter()
        corpus = sample(texts, job.tokenizer, self._new(), given=job.given)
        seconds, size = time.perf_counter() - began, text_bytes(job)
        return corpus, seconds * size / corpus.facts["bytes"] if size else 0.0

    def _documents(self, job: PrepareCorpus) -> Iterator[str]:
        """Some of the text; in place of the Hub's, which would have to be fetched, that of the tasks."""
        if all(located.origin != "hub" for located in job.located):
            found = itertools.chain.from_iterable(map(sources.documents, job.located))
            return itertools.islice(found, DOCUMENTS)
        tasks = {each.data: each for each in self._jobs if isinstance(each, Measure)}
        columns = [column for each in tasks for column in rows(each, self._machine).train.text]
        told = (text for column in columns for text in column[:DOCUMENTS])
        texts = (text if isinstance(text, str) else " ".join(map(str, text)) for text in told)
        return itertools.chain(microworld.documents(DOCUMENTS), (text for text in texts if text.strip()))

    def _new(self) -> Path:
        """A new directory."""
        return Path(tempfile.mkdtemp(dir=self._directory))


def sample(
    texts: Iterable[str], tokenizer: Tokenizer, directory: Path, *, given: Path | None = None
) -> TokenisedCorpus:
    """A corpus of a few texts in an empty directory, with the vocabulary `given`.

    Else one is trained, and filled up with entries that are never used to as many as the whole text gives.
    """
    path, vocabulary, built = directory / "text.jsonl", directory / "vocab.txt", directory / "corpus"
    built.mkdir()
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    located = sources.resolve(str(path), machine=Machine(cache=directory / "cache"))
    if given is None:
        texts_ = sources.documents(located)
        trained = WordPiece.train(texts_, tokenizer.vocabulary, tokenizer.lowercase, tokenizer.accents)
        trained.save(vocabulary)
        with vocabulary.open("a", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"[unused{number}]\n" for number in range(tokenizer.vocabulary - trained.size))
    corpus = Corpus(sources=(located.source,), heldout=HELD_OUT)
    tokens.prepare(corpus, tokenizer, (located,), built, given=given or vocabulary, progress=silent)
    return tokens.open_corpus(built, check=False)
