"""Blocks of documents to tokens: in this process, or in several for a large corpus, with the same result."""

import functools
import itertools
import os
import signal
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
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
"""Characters that are tokenised at once: the words of a larger document might not fit into memory."""


@dataclass(frozen=True)
class Tokenised:
    """A tokenised block: S sentences of at least one token, in D documents of at least two tokens."""

    tokens: bytes
    """Packed ids of all sentences."""
    sentences: npt.NDArray[np.int64]
    """Tokens of each sentence, shape (S,)."""
    documents: npt.NDArray[np.int64]
    """Sentences of each document, shape (D,)."""


def tokenise(documents: Iterable[str], tokenizer: TrainedTokenizer) -> Tokenised:
    """Splits documents into sentences and these into tokens. Leaves out documents of fewer than two tokens."""
    packed: list[bytes] = []
    owners: list[int] = []
    texts: list[str] = []
    characters = 0
    for number, document in enumerate(documents):
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
    )


def tokenise_all(
    spool: Path, blocks: Sequence[Block], settings: Tokenizer, vocabulary: Path, workers: int
) -> Generator[Tokenised]:
    """The blocks of a spool, tokenised, in their order, by `workers` processes with the tokenizer in `vocabulary`.

    If a process is killed, perhaps for want of memory, this one does the rest.
    """
    work = functools.partial(_tokenise_block, spool, settings, vocabulary)
    done = 0
    if workers > 1:
        # Processes are started afresh: a copy of this one could hold locks of its threads for ever.
        pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start)
        try:
            for tokenised in pool.map(work, blocks):
                yield tokenised
                done += 1
        except BrokenProcessPool:
            pass
        finally:
            pool.shutdown(cancel_futures=True)
    yield from map(work, blocks[done:])


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides when to end
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one thread per process


def _tokenise_block(spool: Path, settings: Tokenizer, vocabulary: Path, block: Block) -> Tokenised:
    return tokenise(read(spool, block), _loaded(settings, vocabulary))


@functools.lru_cache(maxsize=1)
def _loaded(settings: Tokenizer, vocabulary: Path) -> TrainedTokenizer:
    tokenizer: TrainedTokenizer = settings.load(vocabulary)
    return tokenizer
