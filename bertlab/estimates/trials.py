"""Times of jobs: those of similar finished runs, else from short trials of pre-trainings on this machine."""

import itertools
import json
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from bertlab import synthetic as microworld
from bertlab.estimates import measure
from bertlab.estimates.estimate import JOB_SECONDS, text_bytes, work
from bertlab.estimates.recorded import Recorded, similarity
from bertlab.lab.jobs import Job, Measure, PrepareCorpus, Pretrain
from bertlab.machine import Machine
from bertlab.progress import silent
from bertlab.recipe import Corpus, Tokenizer
from bertlab.store.runs import Store
from bertlab.text import sources, tokens
from bertlab.text.tokens import TokenisedCorpus

DOCUMENTS = 1000
"""Documents of a text that a trial prepares."""
HELD_OUT = 0.2
"""Share of these that is held out."""


class Trials:
    """Times of jobs. Trials run in their own directory, one for each shape of model and format of inputs.

    Measurements are estimated from their FLOPs at the speed of the pre-trainings.
    """

    def __init__(self, store: Store, machine: Machine, directory: Path, status: Callable[[str], None]) -> None:
        """Calls `status` with the name of each trial as it begins."""
        self._store, self._directory, self._status = store, directory, status
        self._machine = machine if machine.is_single_process else machine.per_worker()
        self._recorded = Recorded(store, machine)
        self._known: dict[str, float] = {}
        self._texts: dict[str, tuple[TokenisedCorpus, float]] = {}
        self._speeds: dict[str, float] = {}
        self.sources: set[str] = set()
        """Where the times come from: `finished runs`, `trials`."""
        self.peak = 0.0
        """FLOP/s of matrix products, measured before the first trial."""

    def seconds(self, job: Job, devices: int = 1) -> float:
        """The time of a job on some devices."""
        if job.id not in self._known:
            found = self._recorded.seconds(job)
            self.sources.add("trials" if found is None else "finished runs")
            if found is None:
                found = self._tried(job)
            self._known[job.id] = found
        return self._known[job.id] / devices

    def _tried(self, job: Job) -> float:
        """The time of a job from trials. Preparing text of the Hub counts as nothing."""
        if not self.peak:
            self._status("matrix products")
            self.peak = measure.peak(self._machine, self._machine.precision_used)
        if isinstance(job, PrepareCorpus):
            return self._text(job)[1]
        pretrain = job.pretrain if isinstance(job, Measure) else job
        speed = measure.TYPICAL_MFU * self.peak
        if isinstance(pretrain, Pretrain) and pretrain.steps:
            speed = self._speed(pretrain)
        return JOB_SECONDS + work(job).flops / speed

    def _speed(self, job: Pretrain) -> float:
        """FLOP/s of a pre-training."""
        key = similarity(job, self._machine)
        if key not in self._speeds:
            corpus, _ = self._text(job.corpus)
            self._status(job.label)
            folder = Path(tempfile.mkdtemp(dir=self._directory))
            self._speeds[key] = measure.flops_per_second(job.recipe, corpus, folder, self._machine, self.peak)
        return self._speeds[key]

    def _text(self, job: PrepareCorpus) -> tuple[TokenisedCorpus, float]:
        """A corpus, or one of its first documents, and the seconds to prepare all of it.

        The synthetic corpus replaces text on the Hub, which would have to be downloaded.
        """
        if job.id not in self._texts:
            run = self._store.get(job.id)
            if run is not None:
                self._texts[job.id] = tokens.open_corpus(run.path, job.tokenizer, check=False), 0.0
            else:
                self._status("text")
                remote = any(located.origin == "hub" for located in job.located)
                found = itertools.chain.from_iterable(map(sources.documents, job.located))
                texts = microworld.documents(DOCUMENTS) if remote else itertools.islice(found, DOCUMENTS)
                began = time.perf_counter()
                corpus = sample(texts, job.tokenizer, Path(tempfile.mkdtemp(dir=self._directory)), given=job.given)
                seconds = time.perf_counter() - began
                self._texts[job.id] = corpus, seconds * text_bytes(job) / corpus.facts["bytes"]
        return self._texts[job.id]


def sample(
    texts: Iterable[str], tokenizer: Tokenizer, directory: Path, *, given: Path | None = None
) -> TokenisedCorpus:
    """A corpus of a few texts in an empty directory, with the vocabulary `given`.

    Else one is trained, and filled with unused entries up to the size that the whole text would yield.
    """
    path, built = directory / "text.jsonl", directory / "corpus"
    built.mkdir()
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    located = sources.resolve(str(path), machine=Machine(cache=directory / "cache"))
    corpus = Corpus(sources=(located.source,), heldout=HELD_OUT)
    tokens.prepare(corpus, tokenizer, (located,), built, given=given, progress=silent)
    opened = tokens.open_corpus(built, tokenizer, check=False)
    if given is None:
        opened.tokenizer.extend(tokenizer.vocabulary)
    return opened
