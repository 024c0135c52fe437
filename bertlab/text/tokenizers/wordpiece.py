"""WordPiece, BERT's tokenizer (Devlin et al. 2019, section 3; Wu et al. 2016).

Training by the `tokenizers` library depends on the order of a hash table, so that two runs give two vocabularies. It
becomes a function of the text when all single characters have their ids beforehand: `train` chooses them.
"""

from __future__ import annotations

import functools
import json
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.recipe import Tokenizer
from bertlab.store.files import content
from bertlab.text.sentences import cut
from bertlab.text.tokenizers.alphabet import alphabet
from bertlab.text.tokenizers.base import LONGEST_WORD, SPECIALS, TrainedTokenizer, load_object, valid, wrapped

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

_CLASSES = ("BertTokenizer", "ElectraTokenizer", "DistilBertTokenizer", "PreTrainedTokenizer", "TokenizersBackend")
"""Classes of `transformers` that split text as BERT does, those of fast tokenizers without their `Fast`."""
_MEMORY = 200_000
"""Words whose ids are remembered."""
_NO_SPACES = re.compile("[\x00\x0b\x0c\x1c-\x1f\x85]")
"""What `str.split` takes for spaces and BERT removes as control characters; and NUL, put between texts here."""
_PUNCTUATION = f"{string.punctuation}–—‘’“”…"
"""The punctuation that `_words` splits off. BERT's includes all of Unicode's: the library does the rarer marks."""


@dataclass(frozen=True, kw_only=True)
class WordPiece(Tokenizer):
    """BERT's tokenizer; its file is a `vocab.txt`: one entry per line, the line number is the id."""

    kind: ClassVar[str] = "wordpiece"
    file: ClassVar[str] = "vocab.txt"
    lowercase: bool = True
    """Whether upper and lower case are the same, as for BERT's uncased models."""
    accents: Literal["by-case", "keep", "strip"] = "by-case"
    """`by-case` strips accents where text is lowercased, as BERT does."""

    @property
    def cased(self) -> bool:
        """Whether text keeps its case."""
        return not self.lowercase

    @property
    def strip_accents(self) -> bool | None:
        """`accents` as the `tokenizers` library names it."""
        return {"by-case": None, "keep": False, "strip": True}[self.accents]

    def train(self, texts: Iterable[str]) -> TrainedWordPiece:
        """A vocabulary of at most `vocabulary` entries, the same in any process."""
        from tokenizers import Tokenizer, models, trainers

        # The library needs many times the memory of the texts that it holds at once: it gets small pieces.
        sample = [piece for text in texts for piece in cut(wrapped(valid(text)), 10_000)]
        backend = self._bert(Tokenizer(models.WordPiece(unk_token="[UNK]")))
        initial, continuing = _alphabet(backend, sample, self.vocabulary - len(SPECIALS))
        trainer = trainers.WordPieceTrainer(
            vocab_size=self.vocabulary,
            min_frequency=2,
            special_tokens=[*SPECIALS, *(f"##{character}" for character in continuing)],
            initial_alphabet=initial,
            limit_alphabet=len(initial),
            show_progress=False,
        )
        backend.train_from_iterator(sample, trainer)
        entries = backend.get_vocab(with_added_tokens=True)
        return TrainedWordPiece(sorted(entries, key=entries.__getitem__), self)

    def load(self, path: Path) -> TrainedWordPiece:
        """Reads a `vocab.txt`. Raises `BadInput` if it is not UTF-8 or lacks one of the special tokens."""
        try:
            text = content(path, "vocabulary").decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"vocabulary {path} is not UTF-8 at byte {error.start}: save it as UTF-8") from None
        # Entries may contain Unicode's own line separators: only \n ends a line.
        lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        with _about(path):
            return TrainedWordPiece(lines, self)

    @classmethod
    def read(cls, directory: Path) -> TrainedWordPiece | None:
        """From tokenizer.json, which transformers 5 saves alone, or from vocab.txt, which older checkpoints have."""
        whole, plain, config = (directory / n for n in ("tokenizer.json", "vocab.txt", "tokenizer_config.json"))
        if not whole.is_file() and not plain.is_file():
            return None
        described = load_object(config) if config.exists() else {}
        theirs = str(described.get("tokenizer_class") or _CLASSES[0]).removesuffix("Fast")
        basic = described.get("do_basic_tokenize") is not False
        if not whole.is_file() and not (basic and theirs in _CLASSES):
            what = f"tokenizer_class {theirs}" if basic else "do_basic_tokenize false"
            raise BadInput(f"{config} has {what}: only BERT's splitting can be read")
        lowercase = described.get("do_lower_case")
        if described.get("tokenize_chinese_chars") is False:
            raise BadInput(f"{config} leaves Chinese characters together: only BERT's splitting can be read")
        strip = described.get("strip_accents")
        if not whole.is_file():  # BERT's default is lower case
            with _about(config):
                settings = cls._like(True if lowercase is None else lowercase, strip)
            return settings.load(plain)
        with _about(whole):
            found = cls._from_json(load_object(whole))
        if found is not None:
            cased = found.settings.lowercase
            accents = strip is None or cls._like(cased, strip) == found.settings
            if lowercase not in (None, cased) or not accents:
                differ = f"differ in {'accents' if lowercase in (None, cased) else 'lower-casing'}"
                raise BadInput(f"{directory}: tokenizer.json and tokenizer_config.json {differ}: correct one")
        return found

    @classmethod
    def _like(cls, lowercase: Any, strip: Any) -> WordPiece:
        """The settings of a checkpoint; `by-case` for accents wherever that is what BERT does."""
        accents: Any = strip
        if strip in (None, lowercase):
            accents = "by-case"
        elif isinstance(strip, bool):
            accents = "strip" if strip else "keep"
        return cls(lowercase=lowercase, accents=accents)

    @classmethod
    def _from_json(cls, data: dict[str, Any]) -> TrainedWordPiece | None:
        """The tokenizer in a tokenizer.json; None if it does not split text as BERT's does."""
        model: Any = data.get("model")
        normalizer: Any = data.get("normalizer")
        if not isinstance(model, dict) or not isinstance(normalizer, dict):
            return None
        model = {"type": "WordPiece"} | model  # old files leave out the type
        entries: Any = model.get("vocab")
        numbered = isinstance(entries, dict) and all(type(number) is int for number in entries.values())
        if not numbered or any("\n" in piece for piece in entries):  # which vocab.txt cannot hold
            return None
        added = data.get("added_tokens") or []
        if not isinstance(added, list) or any(
            not isinstance(each, dict) or str(each.get("content")) not in entries for each in added
        ):  # which would be split here
            return None
        if (model["type"], normalizer.get("type")) != ("WordPiece", "BertNormalizer"):
            return None
        settings = cls._like(normalizer.get("lowercase"), normalizer.get("strip_accents"))
        found = TrainedWordPiece(sorted(entries, key=entries.__getitem__), settings)
        normalizer = normalizer | {"strip_accents": settings.strip_accents}
        ours = json.loads(found.backend.to_str())
        theirs = {"model": model, "normalizer": normalizer, "pre_tokenizer": data.get("pre_tokenizer")}
        return found if all(ours[part] == value for part, value in theirs.items()) else None

    def _bert(self, backend: RustTokenizer) -> RustTokenizer:
        """Gives `backend` BERT's cleaning and its splitting at spaces and punctuation."""
        from tokenizers import decoders, normalizers, pre_tokenizers

        backend.normalizer = normalizers.BertNormalizer(lowercase=self.lowercase, strip_accents=self.strip_accents)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece()
        return backend


@contextmanager
def _about(path: Path) -> Iterator[None]:
    """Names the file in errors about its content."""
    try:
        yield
    except BadInput as error:
        raise error if str(path) in str(error) else BadInput(f"{path}: {error}") from None


class TrainedWordPiece(TrainedTokenizer):
    """WordPiece with its vocabulary; only words that are new go through the `tokenizers` library."""

    settings: WordPiece

    def __init__(self, vocabulary: Sequence[str], settings: WordPiece = WordPiece()) -> None:
        from tokenizers import Tokenizer, models

        ids = {piece: number for number, piece in enumerate(vocabulary)}
        model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
        super().__init__(settings, vocabulary, settings._bert(Tokenizer(model)))
        self._ids = functools.lru_cache(_MEMORY)(lambda word: super(TrainedWordPiece, self).pack([word])[0])

    @cached_property
    def word_starts(self) -> npt.NDArray[np.bool_]:
        """Which entries can begin a word, shape (size,): all except the continuation pieces (`##`)."""
        return np.array([not piece.startswith("##") for piece in self.vocabulary])

    @property
    def data(self) -> bytes:
        """The content of its `vocab.txt`."""
        return "".join(f"{piece}\n" for piece in self.vocabulary).encode()

    @property
    def config(self) -> dict[str, Any]:
        """The fields of tokenizer_config.json that are its own."""
        return {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": self.settings.lowercase,
            "strip_accents": self.settings.strip_accents,
            "tokenize_chinese_chars": True,
        }

    def write(self, directory: Path, length: int, segments: int) -> None:
        """Writes it in the files of `transformers`, a vocab.txt among them."""
        super().write(directory, length, segments)
        self.save(directory / "vocab.txt")

    def pack(self, texts: Sequence[str]) -> list[bytes]:
        """The ids of each text, without special tokens, as the bytes of an array of `dtype`."""
        return [b"".join(map(self._ids, words)) for words in self._words(texts)]

    def _words(self, texts: Sequence[str]) -> list[list[str]]:
        """The texts split at spaces and frequent punctuation, where BERT splits too: no piece is longer than a word."""
        cleaned = [_NO_SPACES.sub("", text) for text in texts]
        if self.settings.lowercase:  # outside ASCII, lower case depends on accents and context
            cleaned = [text.lower() if text.isascii() else text for text in cleaned]
        joined = "\x00".join(cleaned)
        for mark in _PUNCTUATION:
            joined = joined.replace(mark, f" {mark} ")
        return [text.split() for text in joined.split("\x00")] if texts else []


def _alphabet(backend: RustTokenizer, texts: Sequence[str], entries: int) -> tuple[list[str], list[str]]:
    """The characters after cleaning that have entries, and those of them that can stand inside a word, sorted."""
    assert backend.normalizer is not None
    raw = np.zeros(0x110000, dtype=np.int64)
    for text in texts:
        counts = np.bincount(np.frombuffer(text.encode("utf-32-le"), dtype="<u4"))
        raw[: len(counts)] += counts
    frequency: dict[str, int] = {}
    for code in np.flatnonzero(raw):
        for character in backend.normalizer.normalize_str(chr(code)).strip():
            frequency[character] = frequency.get(character, 0) + int(raw[code])

    @functools.cache
    def continues(character: str) -> bool:
        """Whether it can stand inside a word: punctuation and ideographs always stand alone."""
        assert backend.normalizer is not None
        assert backend.pre_tokenizer is not None
        return len(backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(f"a{character}"))) == 1

    initial = sorted(alphabet(frequency, entries, lambda character: 1 + continues(character)))
    return initial, [*filter(continues, initial)]
