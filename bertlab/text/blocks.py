"""Blocks of documents to packed tokens: in this process, or in several for a large corpus, with the same result."""

from __future__ import annotations

import functools
import itertools
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bertlab.recipe import Tokenizer
from bertlab.text.sentences import sentences
from bertlab.text.spool import Block, read
from bertlab.text.tokenizers.base import TrainedTokenizer

BATCH = 500_000
"""Characters whose words are looked up at once: a document longer than memory allows as words is done in parts."""


@dataclass(frozen=True)
class Tokenised:
    """A block, tokenised: S sentences of at least one token, in D documents of at least two tokens."""

    tokens: bytes
    """Packed ids of all sentences."""
    sentences: npt.NDArray[np.int64]
    """Tokens of each sentence, shape (S,)."""
    documents: npt.NDArray[np.int64]
    """Sentences of each document, shape (D,)."""
    size: int
    """Bytes of text that it was, with the documents that were left out."""


def tokenise(documents: Iterable[str], tokenizer: TrainedTokenizer) -> Tokenised:
    """Cuts documents into sentences and these into tokens. Documents of fewer than two tokens are left out."""
    packed: list[bytes] = []
    owners: list[int] = []
    texts: list[str] = []
    characters = 0
    size = 0
    for number, document in enumerate(documents):
        size += len(document.encode())
        for sentence in sentences(document):
            texts.append(sentence)
            owners.append(number)
            characters += len(sentence)
            if characters >= BATCH:
                packed += tokenizer.pack(texts)
                texts.clear()
                characters = 0
    packed += tokenizer.pack(texts)
    owner = np.array(owners, dtype=np.intp)
    lengths = np.fromiter(map(len, packed), dtype=np.int64, count=len(packed)) // tokenizer.dtype.itemsize
    enough = np.bincount(owner, weights=lengths) >= 2
    kept = (lengths > 0) & enough[owner]
    counts = np.bincount(owner[kept])
    return Tokenised(
        tokens=b"".join(itertools.compress(packed, kept.tolist())),
        sentences=lengths[kept],
        documents=counts[counts > 0],
        size=size,
    )


def tokenise_all(
    spool: Path, blocks: Iterable[Block], tokenizer: TrainedTokenizer, vocabulary: Path, workers: int
) -> Generator[Tokenised]:
    """The blocks of a spool, tokenised, in their order, by `workers` processes that read `vocabulary`.

    At most two blocks a process are under way, so that memory does not grow with the corpus. If the processes cannot be
    started or one is killed, this one does their work.
    """
    if workers <= 1:
        yield from (tokenise(read(spool, block), tokenizer) for block in blocks)
        return
    # Processes are started afresh: a copy of this one could hold locks of its threads for ever.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start)
    work = functools.partial(_work, spool, vocabulary, tokenizer.settings)
    waiting: deque[tuple[Block, Future[Tokenised] | None]] = deque()
    try:
        for block in blocks:
            waiting.append((block, _submit(pool, work, block)))
            if len(waiting) > 2 * workers:
                yield _result(*waiting.popleft(), spool, tokenizer)
        while waiting:
            yield _result(*waiting.popleft(), spool, tokenizer)
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, work: Callable[[Block], Tokenised], block: Block) -> Future[Tokenised] | None:
    try:
        return pool.submit(work, block)
    except BrokenProcessPool:
        return None


def _result(block: Block, future: Future[Tokenised] | None, spool: Path, tokenizer: TrainedTokenizer) -> Tokenised:
    if future is not None:
        try:
            return future.result()
        except BrokenProcessPool:
            pass
    return tokenise(read(spool, block), tokenizer)


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides when to end
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread a process


def _work(spool: Path, vocabulary: Path, settings: Tokenizer, block: Block) -> Tokenised:
    return tokenise(read(spool, block), _loaded(vocabulary, settings))


@functools.cache
def _loaded(vocabulary: Path, settings: Tokenizer) -> TrainedTokenizer:
    tokenizer: TrainedTokenizer = settings.load(vocabulary)
    return tokenizer
