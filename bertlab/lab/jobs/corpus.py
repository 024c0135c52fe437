"""The job that tokenises a text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from bertlab import synthetic as microworld
from bertlab.lab.jobs.base import Job, Storage, Text, TextNotes, Work, without_none
from bertlab.lab.study_file import Code
from bertlab.machine import Machine
from bertlab.progress import Progress
from bertlab.recipe import Corpus, Recipe, Tokenizer
from bertlab.recipe.identity import identity, to_canonical
from bertlab.store.runs import Store
from bertlab.text import facts, tokens
from bertlab.text.sources import Located

KEPT_BYTES = 2 / 3
"""Typical size of a tokenised corpus per byte of its text."""
WORD_BYTES = 6
"""Typical size of a word of a text, with the space before it."""


@dataclass(frozen=True)
class CorpusPreparation(Job, kinds=("corpus",)):
    """Tokenises text into a memory-mapped corpus, and trains its vocabulary."""

    corpus: Corpus
    tokenizer: Tokenizer
    located: tuple[Located, ...] = field(compare=False)
    vocabulary: Path | None = field(default=None, compare=False)
    """The vocabulary file whose hash `tokenizer.given` holds."""
    bad_words: Path | None = field(default=None, compare=False)
    """The file whose hash `corpus.bad_words` holds."""
    code: Code | None = None
    """A study file that may change the corpus and what is trained on it."""
    kind = "corpus"
    counted = "corpora"
    preparation = True
    steady = True
    imports = ("tokenizers", "sentencex")

    @cached_property
    def id(self) -> str:
        """The id of the corpus, which also depends on the version of the text code."""
        return identity(self.kind, **self.definition(), text_version=tokens.TEXT_VERSION)

    @property
    def label(self) -> str:
        """The sources and the size of the vocabulary."""
        return f"{'+'.join(source.name for source in self.corpus.sources)}-{self.tokenizer.vocabulary}"

    def definition(self) -> dict[str, Any]:
        """The data from which the id follows."""
        tokenizer = to_canonical(self.tokenizer, Recipe().tokenizer)
        code = without_none(code=self.code and self.code.sha256)
        return {"corpus": to_canonical(self.corpus), "tokenizer": tokenizer, **code}

    def run(self, work: Path, store: Store, machine: Machine, progress: Progress) -> dict[str, Any]:
        """Tokenises the corpus into `work`."""
        workers = 1 if self.code else machine.num_threads  # child processes do not run the study file
        source, files = (self.corpus, self.tokenizer, self.located), (self.vocabulary, self.bad_words)
        result = tokens.prepare(*source, work, *files, workers=workers, progress=progress)
        commits = {located.source.name: located.dataset.commit for located in self.located if located.dataset}
        return {"status": "done", **result, **without_none(commits=commits or None)}

    def describe_source(self, store: Store) -> TextNotes:
        """All that is known if it is prepared, else the files and, if they are small, the documents."""
        run, unit = store.get(self.id), self.corpus.documents
        text = run and dict(run.result().text)
        if not text:
            planned = {"filter": {"rules": self.corpus.filter}} if self.corpus.filter else {}
            text = _facts_before(self.located, unit) | planned
        return TextNotes(text, facts.names(self.located), facts.layout_doubts(self.located, unit))

    def work(self) -> Work:
        """The text."""
        return Work(text=Text(self._used_bytes, self.tokenizer, self.vocabulary, self.corpus.annotator))

    def storage(self) -> Storage:
        """The tokens, and a copy of the text while it is tokenised."""
        return Storage(kept=KEPT_BYTES * self._used_bytes, working=_bytes(self.located))

    @property
    def _used_bytes(self) -> int:
        """Bytes of the text that is tokenised, about."""
        size, words = _bytes(self.located), self.corpus.words
        return min(size, WORD_BYTES * words) if words else size


def _bytes(located: Sequence[Located]) -> int:
    """Bytes of a text; 0 if a part of it is on the Hub, where its size is unknown."""
    if any(source.origin == "hub" for source in located):
        return 0
    files = sum(path.stat().st_size for source in located for path in source.files)
    return files + sum(source.count for source in located) * microworld.BYTES // microworld.DOCUMENTS


_facts_before = lru_cache(maxsize=64)(facts.before)
"""The facts of sources before they are prepared; corpora that differ in their vocabularies share them."""
