"""A tokenised corpus: memory-mapped token ids with sentence and document offsets, built once and read by every run.

    corpus/
      vocab.txt  corpus.json                      the file of the tokenizer, and facts
      train/  heldout/    tokens.bin      T ids, uint16 or uint32
                          sentences.npy   S + 1 offsets into the tokens
                          documents.npy   D + 1 offsets into the sentences
                          marks.bin       T marks of linguistic spans, uint8, in the corpus of a recipe that reads them

A hash of its text decides whether a document is held out, so that neither the order of the documents nor the number of
processes matters. Memory holds the sample for the vocabulary, a block of text a process, and a few bytes a sentence.
"""

import hashlib
import itertools
import json
import math
import string
from collections.abc import Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bertlab.arrays import Int32, Int64, UInt8
from bertlab.errors import ArmFailed, BadInput
from bertlab.progress import Progress, stop_if_asked
from bertlab.recipe import Corpus, Tokenizer
from bertlab.store.files import digest
from bertlab.text import facts as text_facts
from bertlab.text.document_file import DocumentFile, Tokenised, tokenise_all
from bertlab.text.filters import Filter
from bertlab.text.sources import Located
from bertlab.text.tokenizers.base import TrainedTokenizer

TEXT_VERSION = 1
"""Raised by hand whenever the code of this package gives other tokens for the same text."""
SAMPLE = 24_000_000
"""Bytes of training text that a vocabulary is trained on at most."""
PRINTABLE = " ".join(string.printable.strip())
"""The characters that a vocabulary with sentinels has in any case: tasks in words need them for numbers and labels."""
SMALL = 24_000_000
"""Bytes of text below which starting other processes takes longer than it saves."""

PARTS = ("train", "heldout")
_FILES = ("tokens.bin", "sentences.npy", "documents.npy")
_MARKS = "marks.bin"
_CHUNK = 1 << 24
"""Tokens that are counted at once."""


@dataclass(frozen=True)
class Part:
    """The documents to train on, or those held out: sentences of at least one token, documents of at least two."""

    tokens: npt.NDArray[np.uint16 | np.uint32]
    """Ids of all sentences, without special tokens, shape (T,), memory-mapped."""
    sentences: Int64
    """Sentence s is `tokens[sentences[s]:sentences[s + 1]]`; shape (S + 1,), memory-mapped."""
    documents: Int64
    """Document d is the sentences from `documents[d]` up to `documents[d + 1]`; shape (D + 1,), memory-mapped."""
    marks: UInt8 | None = None
    """The linguistic spans that each token is in, as `text.annotation` marks them, shape (T,), memory-mapped; None in a
    corpus without them."""
    by_source: tuple[int, ...] = ()
    """Documents of each source, in the order of the text; empty if that is not known."""


def documents_of(by_source: Sequence[int], corpora: int) -> range:
    """The documents of the first `corpora` sources, or of the last ones if that is negative, of sources that have
    `by_source` documents each.

    Raises `BadInput` if there are fewer sources, or no document in these.
    """
    setting = f"inputs.corpora is {corpora}"
    if not by_source:
        raise BadInput(
            f"{setting}, and an earlier version prepared the corpus, without the sources of its documents: remove it "
            "(bertlab runs --remove) and run again"
        )
    if abs(corpora) > len(by_source):
        raise BadInput(f"{setting}, and the number of corpora is {len(by_source)}: give more, or set it to 0 for all")
    begin = sum(by_source[:corpora]) if corpora < 0 else 0
    documents = range(begin, sum(by_source) if corpora < 0 else sum(by_source[:corpora]))
    if not documents:
        raise BadInput(
            f"{setting}: all documents of {'this corpus' if abs(corpora) == 1 else 'these corpora'} are held out or "
            "have less than two tokens: give more (corpus.documents says what a document is), or the corpora in "
            "another order"
        )
    return documents


def some_corpora(text: Part, corpora: int) -> Part:
    """The documents of some sources, see `documents_of`, or of all for 0; tokens are not copied.

    Raises `BadInput` as `documents_of` does.
    """
    if not corpora:
        return text
    documents = documents_of(text.by_source, corpora)
    sentences = slice(*(int(text.documents[end]) for end in (documents.start, documents.stop)))
    tokens = slice(*(int(text.sentences[end]) for end in (sentences.start, sentences.stop)))
    return Part(
        text.tokens[tokens],
        _from(text.sentences[sentences.start : sentences.stop + 1], tokens.start),
        _from(text.documents[documents.start : documents.stop + 1], sentences.start),
        None if text.marks is None else text.marks[tokens],
        text.by_source[:corpora] if corpora > 0 else text.by_source[corpora:],
    )


def _from(offsets: Int64, begin: int) -> Int64:
    """Offsets counted from `begin`; not copied if that is 0."""
    return offsets - begin if begin else offsets


def by_hash(text: Part) -> Int64:
    """The numbers of the documents in the order of the hashes of their tokens, equal ones in the order of the text."""
    bounds = np.asarray(text.sentences)[text.documents] * text.tokens.itemsize
    data, hashes = np.asarray(text.tokens).view(np.uint8).data, bytearray()
    for low, high in itertools.pairwise(bounds.tolist()):
        hashes += hashlib.sha256(data[low:high]).digest()
    return np.lexsort(np.frombuffer(hashes, dtype=">u8").reshape(-1, 4).T[::-1])


def share_of(text: Part, share: float, fewest: int, order: Int64 | None = None) -> Part:
    """The `share` of the documents whose hashes are lowest, at least `fewest`, in the order of the text; copied.

    `order` is what `by_hash` returns for the text, if that is known.
    """
    if share == 1:
        return text
    sentences, documents = np.asarray(text.sentences), np.asarray(text.documents)
    order = by_hash(text) if order is None else order
    chosen = np.sort(order[: max(fewest, round(share * len(order)))])
    sizes = np.diff(documents)
    is_chosen = np.zeros(len(sizes), dtype=np.bool_)
    is_chosen[chosen] = True
    # Documents that follow each other are copied together.
    first = chosen[np.flatnonzero(np.diff(chosen, prepend=-2) > 1)]
    behind = chosen[np.flatnonzero(np.diff(chosen, append=len(order) + 1) > 1)] + 1
    bounds = (sentences[documents[of_runs]].tolist() for of_runs in (first, behind))
    runs = [slice(begin, end) for begin, end in zip(*bounds, strict=True)]
    return Part(
        np.concatenate([text.tokens[run] for run in runs]),
        np.concatenate(([0], np.diff(sentences)[np.repeat(is_chosen, sizes)])).cumsum(),
        np.concatenate(([0], sizes[chosen])).cumsum(),
        None if text.marks is None else np.concatenate([text.marks[run] for run in runs]),
    )


@dataclass(frozen=True)
class TokenisedTask:
    """The training examples of a task: texts and the texts to write, each with its end mark."""

    content: str
    """What the examples are."""
    texts: tuple[Int32, Int64]
    """The ids of all texts, one behind the other, and (E + 1,) where each begins, with the end."""
    answers: tuple[Int32, Int64]
    """The same of the texts to write."""

    def __len__(self) -> int:
        return len(self.texts[1]) - 1


@dataclass(frozen=True)
class TokenisedCorpus:
    """What `prepare` has built, opened."""

    tokenizer: TrainedTokenizer
    train: Part
    heldout: Part
    facts: dict[str, Any]
    """The result of `prepare`."""
    tasks: tuple[TokenisedTask, ...] = ()
    """The tasks of a recipe, in its order, if that trains on some."""


def prepare(
    corpus: Corpus,
    tokenizer: Tokenizer,
    located: Sequence[Located],
    directory: Path,
    vocabulary_file: Path | None = None,
    bad_words: Path | None = None,
    *,
    workers: int = 1,
    progress: Progress,
) -> dict[str, Any]:
    """Builds the tokenised corpus of the sources `located` in `directory`, which exists and is the caller's own.

    `vocabulary_file` is the vocabulary to use, None to train one; `bad_words` the file of its filter; `workers` the
    processes that tokenise a large corpus. Progress is in bytes of text, with a total of 0 while sources are read.

    Returns facts, ready for JSON, which it also writes to `corpus.json`: `dtype`, `vocabulary` (entries), `bytes` (of
    text), of each part `documents`, `sentences`, `tokens`, `bytes` and `words`, `documents_by_source` (lists by part),
    `unigram_entropy`, `text` (see `text.facts`) and `fingerprint` (SHA-256 over the arrays and the vocabulary).
    `unigram_entropy`, in nats, is the loss on held-out tokens of a model that knows only how often each occurs there.
    Raises `BadInput` for unusable sources, and if a part has no document.
    """
    path, vocabulary = directory / "documents.tmp", directory / tokenizer.file
    cleaning = Filter(corpus, bad_words) if corpus.filter else None
    try:
        document_file = DocumentFile.write(path, located, progress, corpus.documents, cleaning)
        train, heldout = document_file.split(corpus.heldout, corpus.words)
        trained = _trained(tokenizer, vocabulary_file, document_file, train, progress)
        trained.save(vocabulary)
        size = int(document_file.lengths[train].sum() + document_file.lengths[heldout].sum())
        done, by_source = 0, {part: np.zeros(len(located), dtype=np.int64) for part in PARTS}
        for part, chosen in zip(PARTS, (train, heldout), strict=True):
            processes = workers if document_file.lengths[chosen].sum() >= SMALL else 1
            blocks = document_file.blocks(chosen)
            blocks_of_tokens = tokenise_all(path, blocks, tokenizer, vocabulary, processes, corpus.annotator)
            with closing(_write_part(directory / part, blocks_of_tokens, corpus)) as written:
                for block, tokenised in zip(blocks, written, strict=True):
                    sources = document_file.sources(block)[tokenised.numbers]
                    by_source[part] += np.bincount(sources, minlength=len(located))
                    done += int(block[:, 1].sum())
                    progress(done, size, "annotating" if corpus.annotator else "tokenising")
                    stop_if_asked()
    finally:
        path.unlink(missing_ok=True)
    facts = _facts(directory, trained, document_file, (train, heldout))
    facts["documents_by_source"] = {part: counts.tolist() for part, counts in by_source.items()}
    facts["text"] |= _limits(corpus, facts, cleaning) | text_facts.files(located)
    facts["fingerprint"] = _fingerprint(directory, tokenizer)
    (directory / "corpus.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return facts


def _limits(corpus: Corpus, facts: dict[str, Any], cleaning: Filter | None) -> dict[str, Any]:
    """What limits the text: the number of its words, and what its filter removed."""
    words = {"words": facts["train"]["words"]} if corpus.words else {}
    return words | ({"filter": cleaning.facts()} if cleaning else {})


def _write_part(directory: Path, blocks: Generator[Tokenised], corpus: Corpus) -> Generator[Tokenised]:
    """Writes the arrays of a part to a new directory, block by block, and gives the blocks on."""
    directory.mkdir()
    tokens, *offsets = (directory / name for name in _FILES)
    marks = directory / _MARKS if corpus.annotator else None
    counts = []
    with closing(blocks), tokens.open("wb") as stream, marks.open("wb") if marks else nullcontext() as marked:
        for tokenised in blocks:
            stream.write(tokenised.tokens)
            if marked is not None:
                marked.write(tokenised.marks)
            counts.append((tokenised.sentences, tokenised.documents))
            yield tokenised
    for file, counted in zip(offsets, zip(*counts, strict=True), strict=True):
        _write_offsets(file, counted)


def _facts(
    directory: Path, trained: TrainedTokenizer, document_file: DocumentFile, split: Sequence[Int64]
) -> dict[str, Any]:
    """The facts of the arrays in a directory, whose parts are of the documents of a `split`."""
    facts: dict[str, Any] = {"dtype": trained.dtype.name, "vocabulary": trained.size}
    parts = [_open_part(directory / part, trained.dtype) for part in PARTS]
    for name, part, chosen in zip(PARTS, parts, split, strict=True):
        facts[name] = {
            "documents": len(part.documents) - 1,
            "sentences": len(part.sentences) - 1,
            "tokens": len(part.tokens),
            "bytes": int(document_file.lengths[chosen].sum()),
            "words": int(document_file.words[chosen].sum()),
        }
    facts["bytes"] = sum(facts[name]["bytes"] for name in PARTS)
    facts["unigram_entropy"] = _unigram_entropy(parts[-1], trained.size)
    facts["text"] = text_facts.of_text([part.tokens for part in parts], [part.documents for part in parts], trained.unk)
    return facts


def _unigram_entropy(heldout: Part, vocabulary: int) -> float:
    """The loss, nats, on held-out tokens of a model that knows only how often each occurs there."""
    frequency = np.zeros(vocabulary, dtype=np.int64)
    for start in range(0, len(heldout.tokens), _CHUNK):
        frequency += np.bincount(heldout.tokens[start : start + _CHUNK], minlength=vocabulary)
    shares = (frequency[frequency > 0] / frequency.sum()).tolist()
    # not a dot product, whose last digits depend on where the arrays lie in memory
    return -math.fsum(share * math.log(share) for share in shares)


def open_corpus(directory: Path, tokenizer: Tokenizer, *, check: bool = True) -> TokenisedCorpus:
    """Opens what `prepare` built in `directory`. Raises `BadInput` if it is incomplete or, with `check`, changed."""
    try:
        facts = json.loads((directory / "corpus.json").read_bytes())
        if check and _fingerprint(directory, tokenizer) != facts["fingerprint"]:
            raise ValueError("its fingerprint has changed")
        trained = tokenizer.load(directory / tokenizer.file)
        by_source = facts.get("documents_by_source", {})  # an earlier version did not record them
        train, heldout = (_open_part(directory / part, trained.dtype, by_source.get(part, ())) for part in PARTS)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"the tokenised corpus {directory} is damaged ({error}): remove it and run again") from None
    return TokenisedCorpus(tokenizer=trained, train=train, heldout=heldout, facts=facts)


def _trained(
    tokenizer: Tokenizer, vocabulary_file: Path | None, document_file: DocumentFile, train: Int64, progress: Progress
) -> TrainedTokenizer:
    trained: TrainedTokenizer
    if vocabulary_file is not None:
        trained = tokenizer.load(vocabulary_file)
        if tokenizer.given not in ("", f"sha256:{digest(vocabulary_file)}"):
            raise BadInput(f"vocabulary {vocabulary_file} has changed since the run was planned: run again")
        return trained
    progress(0, 1, "training the vocabulary")
    texts = document_file.sample(train, SAMPLE)
    if tokenizer.sentinels:
        texts = itertools.chain(texts, [PRINTABLE])
    trained = tokenizer.train(texts)
    if trained.size > tokenizer.entries:  # plans and other variants count on it
        entries, most = trained.size - tokenizer.sentinels, tokenizer.vocabulary
        problem = f"makes {entries:,} entries: make {most:,} at most, its vocabulary"
        raise ArmFailed.of(tokenizer, "train", problem)
    progress(1, 1, "training the vocabulary")
    return trained


def _write_offsets(path: Path, counts: Sequence[Int32]) -> None:
    """Writes 0 and the running sum of all counts, as `np.save` does, but holds the sums of one block at a time.

    A full disk raises `OSError` here, and would kill a process that writes to a memory map.
    """
    header = np.lib.format.header_data_from_array_1_0(np.empty(0, dtype=np.int64))
    end = np.zeros(1, dtype=np.int64)
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header | {"shape": (1 + sum(map(len, counts)),)})
        stream.write(end.tobytes())
        for block in counts:
            sums = end + block.cumsum(dtype=np.int64)
            stream.write(sums)
            end = sums[-1:] if len(sums) else end


def _open_part(directory: Path, dtype: np.dtype[Any], by_source: Sequence[int] = ()) -> Part:
    tokens, sentences, documents = (directory / name for name in _FILES)
    offsets = np.load(sentences, mmap_mode="r"), np.load(documents, mmap_mode="r")
    if len(offsets[1]) < 2:
        raise BadInput(f"the {directory.name} part of the corpus has no document of two tokens: add text")
    path = directory / _MARKS
    marks = np.memmap(path, dtype=np.uint8, mode="r") if path.exists() else None
    return Part(np.memmap(tokens, dtype=dtype, mode="r"), *offsets, marks, tuple(by_source))


def _fingerprint(directory: Path, tokenizer: Tokenizer) -> str:
    """SHA-256 of the SHA-256 of each file."""
    digests = []
    marked = (directory / PARTS[0] / _MARKS).exists()
    names = (*_FILES, _MARKS) if marked else _FILES
    for path in [directory / tokenizer.file, *(directory / part / name for part in PARTS for name in names)]:
        with path.open("rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    return f"sha256:{hashlib.sha256(' '.join(digests).encode()).hexdigest()}"
