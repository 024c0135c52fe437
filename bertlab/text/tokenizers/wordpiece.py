"""WordPiece, BERT's tokenizer (Devlin et al. 2019, section 3; Wu et al. 2016): trained, loaded, saved, applied.

Text is cleaned, lowercased and stripped of accents, split at spaces and punctuation, and each word is cut greedily
into the longest pieces of the vocabulary. Text is only text: a literal `[MASK]` in it gives `[`, `mask`, `]`.

Training by the `tokenizers` library depends on the order of a hash table, so that two runs give two vocabularies. It
becomes a function of the text when all single characters have their ids beforehand: they are chosen here.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.recipe import Accents
from bertlab.store.files import content
from bertlab.text.sentences import cut

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
STRIPPED: dict[Accents, bool | None] = {"by-case": None, "keep": False, "strip": True}
"""What the `tokenizers` library calls `strip_accents`."""
LONGEST_WORD = 100
"""Characters; a longer word is [UNK], as in BERT's released code."""
ALPHABET = 1_000
"""Single characters in a trained vocabulary at most, the most frequent ones."""

_MEMORY = 1_500_000
"""Characters of the words whose pieces are remembered, some 200,000 words."""
_TEXTS = 100
"""Texts that are cut into words at once: so many words stay in the processor's cache until they are looked up."""
_WORDS = 500
"""New words that are cut into pieces at once."""
_NO_SPACES = re.compile("[\x00\x0b\x0c\x1c-\x1f\x85]")
"""What `str.split` takes for spaces and BERT removes as control characters; and NUL, which parts texts here."""
_PUNCTUATION = f"{string.punctuation}–—‘’“”…"
"""The punctuation that is split off here. BERT's includes all of Unicode's: the rarer kinds are left to the library."""


class WordPiece:
    """A vocabulary and how text is cut into it.

    Each word is looked up in a table of the words seen before; only new ones go through the `tokenizers` library.
    """

    def __init__(self, vocabulary: Sequence[str], *, lowercase: bool, accents: Accents = "by-case") -> None:
        self.vocabulary = list(vocabulary)
        self.lowercase, self.accents = lowercase, accents
        ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        missing = [special for special in SPECIALS if special not in ids]
        if missing:
            raise BadInput(f"the vocabulary has no {' and no '.join(missing)}: add a line for each")
        self.pad, self.unk, self.cls, self.sep, self.mask = (ids[special] for special in SPECIALS)
        self.dtype: np.dtype[np.uint16] | np.dtype[np.uint32] = (
            np.dtype("<u2") if self.size <= 1 << 16 else np.dtype("<u4")
        )
        """The type of packed ids: 2 bytes where the vocabulary fits, 4 elsewhere."""
        self._ids = ids
        self._seen: dict[str, bytes] = {}
        self._seen_characters = 0

    @property
    def size(self) -> int:
        """Entries of the vocabulary, specials included."""
        return len(self.vocabulary)

    @cached_property
    def ordinary(self) -> npt.NDArray[np.int32]:
        """Ids of all entries but the five specials, ascending, shape (size - 5,)."""
        specials = [self.pad, self.unk, self.cls, self.sep, self.mask]
        return np.setdiff1d(np.arange(self.size, dtype=np.int32), np.array(specials, dtype=np.int32))

    @cached_property
    def word_starts(self) -> npt.NDArray[np.bool_]:
        """Which entries can begin a word, shape (size,): all but the continuation pieces (`##`)."""
        return np.array([not piece.startswith("##") for piece in self.vocabulary])

    def pack(self, texts: Sequence[str]) -> list[bytes]:
        """The ids of each text, without specials, as the bytes of an array of `dtype`."""
        if self._seen_characters > _MEMORY:
            self._seen.clear()
            self._seen_characters = 0
        packed: list[bytes] = []
        waiting: dict[int, list[str]] = {}
        pieces = self._seen.__getitem__
        for start in range(0, len(texts), _TEXTS):
            for row in self._words(texts[start : start + _TEXTS]):
                try:
                    packed.append(b"".join(map(pieces, row)))
                except KeyError:  # a new word: rare, but for the first texts
                    waiting[len(packed)] = row
                    packed.append(b"")
        unseen = list(set[str]().union(*waiting.values()).difference(self._seen))
        self._seen.update(self._lookup(unseen))
        self._seen_characters += sum(map(len, unseen))
        for number, row in waiting.items():
            packed[number] = b"".join(map(pieces, row))
        return packed

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without specials."""
        return [np.frombuffer(packed, dtype=self.dtype).tolist() for packed in self.pack(texts)]

    def encode_words(self, rows: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
        """For each row of words its ids, and for each id the index of its word.

        Every word gives at least one id: [UNK] if nothing is left of it.
        """
        words = iter(self.encode([word for row in rows for word in row]))
        encoded = []
        for row in rows:
            ids: list[int] = []
            owners: list[int] = []
            for index, pieces in enumerate(next(words) or [self.unk] for _ in row):
                ids += pieces
                owners += [index] * len(pieces)
            encoded.append((ids, owners))
        return encoded

    def offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """For each text its ids, and for each id where it begins and ends in the text, in characters."""
        encodings = self._backend.encode_batch([_unicode(text) for text in texts], add_special_tokens=False)
        return [(encoding.ids, encoding.offsets) for encoding in encodings]

    def save(self, path: Path) -> None:
        """Writes a `vocab.txt`: one entry a line, the line number is the id."""
        path.write_bytes(self._lines())

    @property
    def digest(self) -> str:
        """The SHA-256 of its `vocab.txt`."""
        return hashlib.sha256(self._lines()).hexdigest()

    def _lines(self) -> bytes:
        return "".join(f"{piece}\n" for piece in self.vocabulary).encode()

    @classmethod
    def load(cls, path: Path, lowercase: bool, accents: Accents = "by-case") -> WordPiece:
        """Reads a `vocab.txt`. `BadInput` if it cannot be read, is not UTF-8 or lacks one of the five specials."""
        try:
            text = content(path, "vocabulary").decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"vocabulary {path} is not UTF-8 at byte {error.start}: save it as UTF-8") from None
        # Entries may contain Unicode's own line separators: only \n ends a line.
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        try:
            return cls(lines, lowercase=lowercase, accents=accents)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int, lowercase: bool, accents: Accents = "by-case") -> WordPiece:
        """A vocabulary of at most `vocabulary` entries, trained on `texts` (all held in memory: give a sample).

        The same texts in any order give the same vocabulary, in any process.
        """
        from tokenizers import Tokenizer, models, trainers

        # The library takes many times the memory of the texts that it holds at once: they are given in small pieces.
        sample = [piece for text in texts for piece in cut(_wrapped(_unicode(text)), 10_000)]
        backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        _bert(backend, lowercase, accents)
        initial, continuing = _alphabet(backend, sample, min(ALPHABET, (vocabulary - len(SPECIALS)) // 3))
        trainer = trainers.WordPieceTrainer(
            vocab_size=vocabulary,
            min_frequency=2,
            special_tokens=[*SPECIALS, *(f"##{character}" for character in continuing)],
            initial_alphabet=initial,
            limit_alphabet=len(initial),
            show_progress=False,
        )
        backend.train_from_iterator(sample, trainer)
        entries = sorted(backend.get_vocab(with_added_tokens=True).items(), key=lambda entry: entry[1])
        return cls([piece for piece, _ in entries], lowercase=lowercase, accents=accents)

    def backend(self) -> RustTokenizer:
        """A new tokenizer of the `tokenizers` library. It knows no special token: what looks like one is text."""
        from tokenizers import Tokenizer, models

        backend = Tokenizer(models.WordPiece(self._ids, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD))
        _bert(backend, self.lowercase, self.accents)
        return backend

    @cached_property
    def _backend(self) -> RustTokenizer:
        return self.backend()

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        """The texts cut at spaces and at frequent punctuation, which BERT does anyway: no piece is longer than that."""
        cleaned = [_NO_SPACES.sub("", text) if _NO_SPACES.search(text) else text for text in texts]
        if self.lowercase:  # outside ASCII, lower case depends on accents and context
            cleaned = [text.lower() if text.isascii() else text for text in cleaned]
        joined = "\x00".join(cleaned)
        for mark in _PUNCTUATION:
            joined = joined.replace(mark, f" {mark} ")
        return [text.split() for text in joined.split("\x00")] if texts else []

    def _lookup(self, words: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Each word with its packed ids."""
        plain: list[str] = []
        others: list[str] = []
        for word in words:
            (plain if word.isascii() and word.isalnum() else others).append(word)
        yield from zip(plain, self._cut(plain), strict=True)
        try:
            encodings = self._backend.encode_batch_fast(others, add_special_tokens=False)
        except (TypeError, UnicodeEncodeError):  # halves of surrogate pairs, which JSON can hold
            encodings = self._backend.encode_batch_fast([_unicode(word) for word in others], add_special_tokens=False)
        for word, encoding in zip(others, encodings, strict=True):
            yield word, np.array(encoding.ids, dtype=self.dtype).tobytes()

    def _cut(self, plain: Sequence[str]) -> Iterator[bytes]:
        """The packed ids of words of ASCII letters and digits: many are one text, in which first pieces have no ##."""
        texts = [" ".join(plain[start : start + _WORDS]) for start in range(0, len(plain), _WORDS)]
        for encoding in self._backend.encode_batch_fast(texts, add_special_tokens=False):
            ids = np.array(encoding.ids, dtype=self.dtype)
            packed, starts = ids.tobytes(), (np.flatnonzero(self.word_starts[ids]) * ids.itemsize).tolist()
            yield from (packed[start:end] for start, end in zip(starts, [*starts[1:], len(packed)], strict=True))


def _bert(backend: RustTokenizer, lowercase: bool, accents: Accents) -> None:
    """Gives `backend` BERT's cleaning and its splitting at spaces and punctuation."""
    from tokenizers import normalizers, pre_tokenizers

    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=STRIPPED[accents])
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()


def _unicode(text: str) -> str:
    """`text` with halves of surrogate pairs replaced, which are no Unicode text."""
    return text.encode("utf-8", "replace").decode()


def _wrapped(text: str) -> str:
    """`text` with words longer than `LONGEST_WORD` broken up: they would slow down training and teach nothing."""
    words = text.split()
    if max(map(len, words), default=0) <= LONGEST_WORD:
        return text
    return " ".join(word[start : start + LONGEST_WORD] for word in words for start in range(0, len(word), LONGEST_WORD))


def _alphabet(backend: RustTokenizer, texts: Sequence[str], limit: int) -> tuple[list[str], list[str]]:
    """The `limit` most frequent characters after cleaning, and those of them that can stand inside a word, sorted."""
    assert backend.normalizer is not None
    assert backend.pre_tokenizer is not None
    raw = np.zeros(0x110000, dtype=np.int64)
    for text in texts:
        counts = np.bincount(np.frombuffer(text.encode("utf-32-le"), dtype="<u4"))
        raw[: len(counts)] += counts
    frequency: dict[str, int] = {}
    for code in np.flatnonzero(raw):
        for character in backend.normalizer.normalize_str(chr(code)).strip():
            frequency[character] = frequency.get(character, 0) + int(raw[code])
    initial = sorted(sorted(frequency, key=lambda character: (-frequency[character], character))[:limit])
    # Punctuation and ideographs always stand alone.
    continuing = [
        character
        for character in initial
        if len(backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(f"a{character}"))) == 1
    ]
    return initial, continuing
