"""A tokenised corpus: memory-mapped token ids with sentence and document offsets, built once and read by every run.

    corpus/
      vocab.txt  corpus.json
      train/  heldout/    tokens.bin      T ids, uint16 or uint32
                          sentences.npy   S + 1 offsets into the tokens
                          documents.npy   D + 1 offsets into the sentences

Documents are held out by a hash of their text, so that neither their order nor the number of processes that build the
corpus moves one from one side to the other. What is in memory at a time is bounded, however large the corpus: a sample
to train the vocabulary on, and for each process a block of text and the words seen before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.progress import Progress, stop_if_asked
from bertlab.recipe import Corpus, Tokenizer
from bertlab.text.blocks import Tokenised, tokenise_all
from bertlab.text.sources import Located
from bertlab.text.spool import Spool
from bertlab.text.tokenizers.base import TrainedTokenizer

TEXT_VERSION = 1
"""Raised by hand whenever the code of this room gives other tokens for the same text."""
SAMPLE = 24_000_000
"""Bytes of training text that a vocabulary is trained on at most."""
SMALL = 24_000_000
"""Bytes of text below which starting other processes takes longer than it saves."""

PARTS = ("train", "heldout")
_FILES = ("tokens.bin", "sentences.npy", "documents.npy")
_CHUNK = 1 << 24
"""Tokens that are counted at once."""

Ids = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """The documents of one side. Every sentence has at least one token, every document at least two."""

    tokens: Ids
    """Ids of all sentences, one behind the other, without specials, shape (T,), memory-mapped."""
    sentences: Offsets
    """Sentence s is `tokens[sentences[s]:sentences[s + 1]]`; shape (S + 1,), memory-mapped."""
    documents: Offsets
    """Document d is the sentences from `documents[d]` up to `documents[d + 1]`; shape (D + 1,), memory-mapped."""


@dataclass(frozen=True)
class TokenisedCorpus:
    """What `prepare` has built, opened."""

    tokenizer: TrainedTokenizer
    train: Part
    heldout: Part
    facts: dict[str, Any]
    """What `prepare` returned."""


def prepare(
    corpus: Corpus,
    tokenizer: Tokenizer,
    located: Sequence[Located],
    directory: Path,
    *,
    given: Path | None = None,
    workers: int = 1,
    progress: Progress,
) -> dict[str, Any]:
    """Builds the tokenised corpus of the sources `located` in `directory`, which exists and is the caller's own.

    `given` is the `vocab.txt` to use, None to train one; `workers` is how many processes tokenise a large corpus.
    Progress is told in bytes of text; while sources are read the total is not known and given as 0.

    Returns facts, ready for JSON, which also lie in `corpus.json`: `dtype`, `vocabulary` (entries), `bytes` (of text),
    of each part `documents`, `sentences`, `tokens` and `unknown` (tokens that are [UNK]), `unigram_entropy` and
    `fingerprint` (SHA-256 over the arrays and the vocabulary). `unigram_entropy`, in nats, is
    what a held-out token costs one who knows only how often each occurs there: the plateau that a model has to leave.

    `BadInput` for sources that cannot be used, and for a corpus without a document for each part.
    """
    path = directory / "text.spool"
    try:
        spool = Spool.write(path, located, progress)
        train, heldout = spool.split(corpus.heldout)
        trained = _trained(tokenizer, given, spool, train, progress)
        trained.save(directory / tokenizer.file)
        size = int(spool.lengths.sum())
        done = 0
        for part, chosen in zip(PARTS, (train, heldout), strict=True):
            processes = workers if spool.lengths[chosen].sum() >= SMALL else 1
            results = tokenise_all(path, spool.blocks(chosen), trained, directory / tokenizer.file, processes)
            with _Writer(directory / part) as writer, closing(results):
                for tokenised in results:
                    writer.write(tokenised)
                    done += tokenised.size
                    progress(done, size, "tokenising")
                    stop_if_asked()
    finally:
        path.unlink(missing_ok=True)
    facts: dict[str, Any] = {
        "dtype": trained.dtype.name,
        "vocabulary": trained.size,
        "bytes": size,
    }
    counts = {}
    for part in PARTS:
        opened = _open_part(directory / part, trained.dtype)
        counts[part] = _counts(opened.tokens, trained.size)
        facts[part] = {
            "documents": len(opened.documents) - 1,
            "sentences": len(opened.sentences) - 1,
            "tokens": len(opened.tokens),
            "unknown": int(counts[part][trained.unk]),
        }
    facts["unigram_entropy"] = _entropy(counts["heldout"])
    facts["fingerprint"] = _fingerprint(directory, tokenizer)
    (directory / "corpus.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return facts


def open_corpus(directory: Path, tokenizer: Tokenizer, *, check: bool = True) -> TokenisedCorpus:
    """Opens what `prepare` has built in `directory` with `tokenizer`.

    Raises `BadInput` if it is not whole or, with `check`, not as built.
    """
    try:
        facts = json.loads((directory / "corpus.json").read_bytes())
        if check and _fingerprint(directory, tokenizer) != facts["fingerprint"]:
            raise ValueError("its fingerprint has changed")
        trained = tokenizer.load(directory / tokenizer.file)
        train, heldout = (_open_part(directory / part, trained.dtype) for part in PARTS)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"the tokenised corpus {directory} is damaged ({error}): remove it and run again") from None
    return TokenisedCorpus(tokenizer=trained, train=train, heldout=heldout, facts=facts)


def _trained(
    tokenizer: Tokenizer, given: Path | None, spool: Spool, train: npt.NDArray[np.intp], progress: Progress
) -> TrainedTokenizer:
    trained: TrainedTokenizer
    if given is not None:
        trained = tokenizer.load(given)
        digest = hashlib.sha256(given.read_bytes()).hexdigest()
        if tokenizer.given not in ("", f"sha256:{digest}"):
            raise BadInput(f"vocabulary {given} has changed since the run was planned: run again")
        return trained
    progress(0, 1, "training the vocabulary")
    trained = tokenizer.train(spool.sample(train, SAMPLE))
    progress(1, 1, "training the vocabulary")
    return trained


class _Writer:
    """Writes the three files of a part, block by block."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        tokens, sentences, documents = (directory / name for name in _FILES)
        self._tokens = tokens.open("wb")
        self._sentences = _OffsetsFile(sentences)
        self._documents = _OffsetsFile(documents)

    def write(self, block: Tokenised) -> None:
        self._tokens.write(block.tokens)
        self._sentences.extend(block.sentences)
        self._documents.extend(block.documents)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._tokens.close()
        self._sentences.close()
        self._documents.close()


class _OffsetsFile:
    """A `.npy` file of offsets that grows: a first 0, then the running total of the lengths it is given."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("wb")
        self._total = 0
        self._length = 1
        self._write_header()
        self._stream.write(np.zeros(1, dtype="<i8").tobytes())

    def extend(self, lengths: Offsets) -> None:
        self._stream.write((self._total + np.cumsum(lengths)).astype("<i8").tobytes())
        self._total += int(lengths.sum())
        self._length += len(lengths)

    def close(self) -> None:
        self._stream.seek(0)
        self._write_header()
        self._stream.close()

    def _write_header(self) -> None:
        """The length may be written again: NumPy leaves room in the header for any."""
        header = {"descr": "<i8", "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._stream, header)


def _open_part(directory: Path, dtype: np.dtype[Any]) -> Part:
    tokens, sentences, documents = (directory / name for name in _FILES)
    offsets = np.load(sentences, mmap_mode="r"), np.load(documents, mmap_mode="r")
    if len(offsets[1]) < 2:
        raise BadInput(f"the {directory.name} part of the corpus has no document of two tokens: add text")
    return Part(tokens=np.memmap(tokens, dtype=dtype, mode="r"), sentences=offsets[0], documents=offsets[1])


def _counts(tokens: Ids, vocabulary: int) -> npt.NDArray[np.int64]:
    """How often each id occurs, shape (vocabulary,)."""
    counts = np.zeros(vocabulary, dtype=np.int64)
    for start in range(0, len(tokens), _CHUNK):
        counts += np.bincount(tokens[start : start + _CHUNK], minlength=vocabulary)
    return counts


def _entropy(counts: npt.NDArray[np.int64]) -> float:
    """Nats a token costs one who knows the frequencies `counts` and nothing of the context."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares @ np.log(shares)))


def _fingerprint(directory: Path, tokenizer: Tokenizer) -> str:
    """SHA-256 of the SHA-256 of each file."""
    digests = []
    for path in [directory / tokenizer.file, *(directory / part / name for part in PARTS for name in _FILES)]:
        with path.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"
