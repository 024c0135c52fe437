"""The documents of a corpus in one file on disk, and their tokens, made by this process or by several.

A source may be a stream from the network, slow to decompress, or larger than memory: it is read once.
"""

import array
import functools
import hashlib
import itertools
import os
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from bertlab.arrays import Int32, Int64, UInt64
from bertlab.errors import BadInput
from bertlab.progress import Progress, follow_parent, starting_children, stop_if_asked
from bertlab.recipe import Tokenizer
from bertlab.text import annotation
from bertlab.text.annotation import Annotator
from bertlab.text.filters import Filter
from bertlab.text.filters import sentence as in_words
from bertlab.text.sentences import sentences
from bertlab.text.sources import Located, documents, unchanged
from bertlab.text.tokenizers.base import TrainedTokenizer

BATCH = 500_000
"""Characters that are tokenised at once: the words of a larger document might not fit into memory."""
BLOCK = 1_000_000
"""Bytes of text that are tokenised as one piece of work."""
AHEAD = 4
"""Blocks for each process that are begun before the first is written: a slow disk must not fill the memory."""

Block = Int64
"""D documents, for each its first byte in the file and its length in bytes; shape (D, 2)."""


@dataclass(frozen=True)
class DocumentFile:
    """D documents in one file: the place of each, and two hashes of its text. Arrays have shape (D,)."""

    path: Path
    lengths: Int64
    """Bytes, in UTF-8. Each document follows the one before it."""
    words: Int64
    """Words, separated by white space."""
    sides: UInt64
    """The hash that decides whether a document is held out."""
    order: UInt64
    """The hash that decides which documents a sample takes."""
    begins: tuple[int, ...] = (0,)
    """The first byte of each source."""

    @classmethod
    def write(
        cls,
        path: Path,
        located: Sequence[Located],
        progress: Progress,
        unit: str = "by-type",
        cleaning: Filter | None = None,
    ) -> Self:
        """Copies the documents of all sources to `path`; `unit` says what a document is, and `cleaning` what is left of
        one, perhaps nothing.

        Raises `BadInput` for a source that is empty or has changed, and if all documents are one: some are held out.
        """
        lengths, words, hashes, begins = array.array("q"), array.array("q"), bytearray(), []
        written = shown = 0
        with path.open("wb", buffering=BLOCK) as stream:
            for corpus in located:
                before = len(lengths)
                begins.append(written)
                for text in filter(None, map(cleaning or str, documents(corpus, unit))):
                    encoded = text.encode("utf-8", "replace")  # JSON can hold halves of surrogate pairs
                    stream.write(encoded)
                    lengths.append(len(encoded))
                    words.append(len(text.split()))
                    hashes += hashlib.sha256(encoded).digest()[:16]
                    written += len(encoded)
                    if written - shown >= BLOCK:
                        progress(written, 0, "reading text")
                        shown = written
                if len(lengths) == before:
                    left = f"has no text left ({in_words(cleaning.facts())})" if cleaning else "is empty"
                    raise BadInput(f"corpus '{corpus.source.name}' {left}: give one with text")
                if not unchanged(corpus):
                    raise BadInput(f"corpus '{corpus.source.name}' has changed: give the same command again")
        sides, order = np.frombuffer(hashes, dtype="<u8").reshape(-1, 2).T
        if sides.min() == sides.max():
            names = ", ".join(f"'{corpus.source.name}'" for corpus in located)
            raise BadInput(
                f"corpus {names} is a single document: give two or more, for some are held out; or say where one ends "
                "in a file of several, as with --set corpus.documents=blank-line (or line, article, babylm)"
            )
        of_documents = np.frombuffer(lengths, dtype=np.int64), np.frombuffer(words, dtype=np.int64)
        return cls(path, *of_documents, sides, order, tuple(begins))

    def split(self, share: float, words: int = 0) -> tuple[Int64, Int64]:
        """The documents to train on, of `words` words at most or all for 0, and those held out: the ones whose hash is
        below `share`.

        In any corpus the lowest hash is held out and the highest is not, so that each side has a document. Raises
        `BadInput` for fewer words than those of a document.
        """
        lowest, highest = self.sides.min(), self.sides.max()
        heldout = (self.sides == lowest) | (self.sides < np.uint64(int(share * 2**64))) & (self.sides != highest)
        train = np.flatnonzero(~heldout)
        return self._first(train, words) if words else train, np.flatnonzero(heldout)

    def _first(self, chosen: Int64, words: int) -> Int64:
        """The documents out of `chosen` that have `words` words together, in the order of a hash of each."""
        in_order = chosen[np.argsort(self.order[chosen], kind="stable")]
        first = in_order[self.words[in_order].cumsum() <= words]
        if not len(first):
            raise BadInput(
                f"--words is {words:,}, and the first document alone has {self.words[in_order[0]]:,}: give more, or "
                "say where a document ends, as with --set corpus.documents=babylm (or blank-line, line, article)"
            )
        return np.sort(first)

    def sample(self, chosen: Int64, limit: int) -> Iterator[str]:
        """Documents out of `chosen` in the order of a hash of each, until they fill `limit` bytes."""
        in_order = chosen[np.argsort(self.order[chosen], kind="stable")]
        with self.path.open("rb") as stream:
            for start, length in self._places()[in_order]:
                stop_if_asked()
                if limit <= 0:
                    return
                stream.seek(start)
                data = stream.read(min(limit, length))
                limit -= len(data)
                yield data.decode("utf-8", "ignore")  # the last one may end within a character

    def blocks(self, chosen: Int64) -> list[Block]:
        """The documents `chosen`, in order, in blocks of about `BLOCK` bytes."""
        places = self._places()[chosen]
        ends = places[:, 1].cumsum() // BLOCK
        return np.split(places, np.flatnonzero(np.diff(ends)) + 1)

    def sources(self, block: Block) -> Int64:
        """The number of the source of each document of a block, shape (D,)."""
        return np.searchsorted(self.begins, block[:, 0], side="right") - 1

    def _places(self) -> Int64:
        """The first byte and the length in bytes of each document, shape (D, 2)."""
        return np.stack((self.lengths.cumsum() - self.lengths, self.lengths), 1)


def read(path: Path, block: Block) -> Iterator[str]:
    """The documents of a block of the file at `path`."""
    with path.open("rb") as stream:
        for start, length in block:
            stream.seek(start)
            yield stream.read(length).decode()


@dataclass(frozen=True)
class Tokenised:
    """A tokenised block: S sentences of at least one token, in D documents of at least two tokens."""

    tokens: bytes
    """Packed ids of all sentences."""
    sentences: Int32
    """Tokens of each sentence, shape (S,)."""
    documents: Int32
    """Sentences of each document, shape (D,)."""
    numbers: Int64
    """The number of each document among those of the block, shape (D,)."""
    marks: bytes = b""
    """The linguistic spans that each token is in, a byte each, if the text is annotated."""


def tokenise(documents: Iterable[str], tokenizer: TrainedTokenizer, annotate: Annotator | None = None) -> Tokenised:
    """Splits documents into sentences and these into tokens, and marks those in spans that `annotate` finds.

    Leaves out documents of fewer than two tokens.
    """
    packed: list[bytes] = []
    marked: list[bytes] = []
    owners: list[int] = []
    texts: list[str] = []
    characters = 0

    def add() -> None:
        packed.extend(tokenizer.pack(texts))
        if annotate is not None:
            sentence_marks = annotation.marks(texts, tokenizer, annotate)
            tokens = [len(ids) // tokenizer.dtype.itemsize for ids in packed[len(packed) - len(texts) :]]
            if tokens != [*map(len, sentence_marks)]:
                raise BadInput(
                    f"tokenizer {tokenizer.settings.kind}: pack and offsets give other tokens: make them agree"
                )
            marked.extend(sentence_marks)

    for number, document in enumerate(documents):
        for sentence in sentences(document):
            texts.append(sentence)
            owners.append(number)
            characters += len(sentence)
            if characters >= BATCH:
                add()
                texts.clear()
                characters = 0
    add()
    owner = np.array(owners, dtype=np.intp)
    lengths = np.fromiter(map(len, packed), dtype=np.int64, count=len(packed)) // tokenizer.dtype.itemsize
    enough = np.bincount(owner, weights=lengths) >= 2
    in_text = (lengths > 0) & enough[owner]
    counts = np.bincount(owner[in_text])
    return Tokenised(
        tokens=b"".join(itertools.compress(packed, in_text.tolist())),
        sentences=lengths[in_text].astype(np.int32),
        documents=counts[counts > 0].astype(np.int32),
        numbers=np.flatnonzero(counts),
        marks=b"".join(itertools.compress(marked, in_text.tolist())),
    )


def tokenise_all(
    document_file: Path,
    blocks: Sequence[Block],
    settings: Tokenizer,
    vocabulary: Path,
    workers: int,
    annotator: str = "",
) -> Generator[Tokenised]:
    """The tokenised blocks of a document file, in their order, made by `workers` processes.

    Each process reads the tokenizer from `vocabulary`. An `annotator` marks linguistic spans. If a process is killed,
    perhaps for want of memory, this one does the rest.
    """
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import current_process, get_context

    work = functools.partial(_tokenise_block, document_file, settings, vocabulary, annotator)
    done = 0
    if workers > 1 and not current_process().daemon:  # a worker of a plan may start no processes
        # Processes are started afresh: a copy of this one could hold locks of its threads for ever.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start)
        ahead: deque[Future[Tokenised]] = deque()
        try:
            for block in blocks:
                with starting_children():
                    ahead.append(pool.submit(work, block))
                if len(ahead) > AHEAD * workers:
                    yield ahead.popleft().result()
                    done += 1
            while ahead:
                yield ahead.popleft().result()
                done += 1
        except BrokenProcessPool:
            pass
        finally:
            pool.shutdown(cancel_futures=True)
    yield from map(work, blocks[done:])


def _start() -> None:
    follow_parent()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread per process


def _tokenise_block(
    document_file: Path, settings: Tokenizer, vocabulary: Path, annotator: str, block: Block
) -> Tokenised:
    annotate = annotation.load(annotator) if annotator else None
    return tokenise(read(document_file, block), _loaded(settings, vocabulary), annotate)


@functools.lru_cache(maxsize=1)
def _loaded(settings: Tokenizer, vocabulary: Path) -> TrainedTokenizer:
    tokenizer: TrainedTokenizer = settings.load(vocabulary)
    return tokenizer
