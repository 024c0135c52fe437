"""WordPiece, BERT's tokenizer (Devlin et al. 2019, section 3; Wu et al. 2016).

Training by the `tokenizers` library depends on the order of a hash table, so that two runs give two vocabularies. It
becomes a function of the text when all single characters have their ids beforehand: `train` chooses them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from bertlab.arrays import Bool
from bertlab.errors import BadInput, at, warn
from bertlab.names import shown
from bertlab.recipe import Tokenizer
from bertlab.store.files import content
from bertlab.text.sentences import cut
from bertlab.text.tokenizers import casing
from bertlab.text.tokenizers.added import CONFIG, Token, load_object, optional_object, tokens
from bertlab.text.tokenizers.alphabet import alphabet
from bertlab.text.tokenizers.base import LONGEST_WORD, SPECIALS, TrainedTokenizer, adopted, valid, wrapped

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

_OTHERS = ("BertJapaneseTokenizer", "RoFormerTokenizer")
"""Classes that split some text otherwise, whatever tokenizer.json says."""
_CLASSES = ("BertTokenizer", "ElectraTokenizer", "DistilBertTokenizer", "PreTrainedTokenizer", "TokenizersBackend")
"""Classes of `transformers` that split text as BERT does, those of fast tokenizers without their `Fast`."""
_LIKE_BERT = {
    "clean_text": (None, True),
    "do_basic_tokenize": (None, True),
    "never_split": (None, [], [*SPECIALS]),
    "wordpieces_prefix": (None, "##"),
}
"""Fields of tokenizer_config.json that say how text is split where no tokenizer.json does, with the values of BERT."""
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
    lowercase: bool = True
    """Whether upper and lower case are the same, as for BERT's uncased models."""
    accents: Literal["by-case", "keep", "strip"] = "by-case"
    """`by-case` strips accents where text is lowercased, as BERT does."""
    whole: bool = False
    """Whether its file is a `tokenizer.json`, which has added tokens too."""

    @property
    def file(self) -> str:  # type: ignore[override]
        """The name of its file."""
        return "tokenizer.json" if self.whole else "vocab.txt"

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
        """Reads a `vocab.txt`, or a `tokenizer.json` if it is `whole`. Raises `BadInput` if it is of another kind, if
        it lacks one of the special tokens, and if its vocabulary is of another case."""
        if self.whole:
            tokenizer = self._from_json(load_object(path))
            tokenizer = adopted(tokenizer, self, path, "a WordPiece as BERT's", ("lowercase", "accents"))
        else:
            tokenizer = self._plain(path)
        if self.given:  # one that was not trained on text of this case
            self._require_case(tokenizer, f"vocabulary {path}", "tokenizer.lowercase={}", "tokenizer.accents=keep")
        return tokenizer

    def _plain(self, path: Path) -> TrainedWordPiece:
        data = content(path, "vocabulary")
        if data[:1] == b"{" and path.suffix == ".json":
            raise BadInput(f"vocabulary {path} is a tokenizer.json: set tokenizer.whole=true")
        entries = _entries(path, data)
        with at(str(path)):
            return TrainedWordPiece(entries, self)

    @classmethod
    def read(cls, directory: Path) -> TrainedWordPiece | None:
        """Reads tokenizer.json, which transformers 5 saves alone, or vocab.txt, which older checkpoints have."""
        whole, plain, config = (directory / n for n in ("tokenizer.json", "vocab.txt", CONFIG))
        if whole.is_file():
            data = load_object(whole)
            with at(str(whole)):
                tokenizer = cls._from_json(data, directory)
        else:
            tokenizer = cls._from_text(directory) if plain.is_file() else None
        if tokenizer is None:
            return None
        described = optional_object(config)
        _require_berts(described, config, alone=not whole.is_file())
        settings, lowercase = tokenizer.settings, described.get("do_lower_case")
        alike = lowercase in (None, settings.lowercase)
        same = "strip_accents" not in described or settings == dataclasses.replace(
            cls._like(settings.lowercase, described["strip_accents"]), sentinels=settings.sentinels
        )
        if not alike or not same:
            differ = "accents" if alike else "lower-casing"
            raise BadInput(f"{directory}: tokenizer.json and tokenizer_config.json differ in {differ}: correct one")
        if tokenizer.added:
            if described.get("split_special_tokens"):
                token = shown(tokenizer.added[0]["content"])
                raise BadInput(
                    f"{config} has split_special_tokens true: only tokenizers that leave {token} whole can be read"
                )
            tokenizer.settings = dataclasses.replace(settings, whole=True)
        case, accents = f"do_lower_case to {{}} in {CONFIG}", f"strip_accents to false in {CONFIG}"
        tokenizer.settings._require_case(tokenizer, f"the vocabulary of {directory}", case, accents)
        return tokenizer

    @classmethod
    def _from_text(cls, directory: Path) -> TrainedWordPiece:
        """Reads vocab.txt. Without settings, the case and the accents are those of its entries."""
        plain, config = directory / "vocab.txt", directory / CONFIG
        described = optional_object(config)
        _require_berts(described, config, alone=True)
        entries = _entries(plain, content(plain, "vocabulary"))
        usual = casing.reading(entries)
        lowercase, strip = described.get("do_lower_case"), described.get("strip_accents")
        lowercase = usual["lowercase"] if lowercase is None else lowercase
        if strip is None and lowercase is usual["lowercase"] and "strip_accents" not in described:
            strip = usual["strip_accents"]
        with at(str(config)):
            settings = cls._like(lowercase, strip)
        numbers = {piece: number for number, piece in enumerate(entries)}
        with at(str(plain)):
            return TrainedWordPiece(entries, settings, tokens([], numbers, SPECIALS, directory) or [])

    def _require_case(self, tokenizer: TrainedWordPiece, source: str, case: str, accents: str) -> None:
        """Raises `BadInput` for a vocabulary of text of another case, or of text with accents if it strips them; `case`
        and `accents` are what to set."""
        added = {token["content"] for token in tokenizer.added}
        entries = [piece for piece in tokenizer.vocabulary if piece not in added]
        why, of_accents = casing.disagrees(entries, self.lowercase, self.strip_accents)
        if why:
            raise BadInput(
                f"{source} {why}: set {accents if of_accents else case.format(str(not self.lowercase).lower())}"
            )

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
    def _from_json(cls, data: dict[str, Any], directory: Path | None = None) -> TrainedWordPiece | None:
        """The tokenizer in a tokenizer.json, with the tokens that other files of its `directory` add; None if it does
        not split text as BERT's does."""
        model: Any = data.get("model")
        normalizer: Any = data.get("normalizer")
        if not isinstance(model, dict) or not isinstance(normalizer, dict):
            return None
        model = {"type": "WordPiece"} | model  # old files leave out the type
        entries: Any = model.get("vocab")
        numbered = isinstance(entries, dict) and all(type(number) is int for number in entries.values())
        if not numbered or any("\n" in piece for piece in entries):  # which vocab.txt cannot hold
            return None
        if (model["type"], normalizer.get("type")) != ("WordPiece", "BertNormalizer"):
            return None
        settings = cls._like(normalizer.get("lowercase"), normalizer.get("strip_accents"))
        tokenizer = TrainedWordPiece(sorted(entries, key=entries.__getitem__), settings)
        normalizer = normalizer | {"strip_accents": settings.strip_accents}
        ours = json.loads(tokenizer.backend.to_str())
        theirs = {"model": model, "normalizer": normalizer, "pre_tokenizer": data.get("pre_tokenizer")}
        if any(ours[part] != value for part, value in theirs.items()):
            return None
        added = tokens(data.get("added_tokens") or [], entries, SPECIALS, directory)
        return None if added is None else TrainedWordPiece(tokenizer.vocabulary, settings, added)

    def _bert(self, backend: RustTokenizer) -> RustTokenizer:
        """Gives `backend` BERT's cleaning and its splitting at spaces and punctuation."""
        from tokenizers import decoders, normalizers, pre_tokenizers

        backend.normalizer = normalizers.BertNormalizer(lowercase=self.lowercase, strip_accents=self.strip_accents)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece()
        return backend


def _entries(path: Path, data: bytes) -> list[str]:
    """The entries in a `vocab.txt`, with a warning if one is repeated. Raises `BadInput` if it is not UTF-8."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"vocabulary {path} is not UTF-8 at byte {error.start}: save it as UTF-8") from None
    # Entries may contain Unicode's own line separators: only \n ends a line.
    entries = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    piece, times = Counter(entries).most_common(1)[0]
    if times > 1:
        warn(f"vocabulary {path} has {shown(piece)} {times} times: only the last one is used")
    return entries


def _require_berts(described: Mapping[str, Any], config: Path, alone: bool) -> None:
    """Raises `BadInput` for settings in a tokenizer_config.json that BERT's splitting does not have; `alone` if no
    tokenizer.json says how text is split."""
    theirs = str(described.get("tokenizer_class") or _CLASSES[0]).removesuffix("Fast")
    if theirs in _OTHERS or (alone and theirs not in _CLASSES) or described.get("auto_map"):
        what = f"auto_map {shown(described['auto_map'])}" if described.get("auto_map") else f"tokenizer_class {theirs}"
        raise BadInput(f"{config} has {what}: only BERT's splitting can be read")
    for name, usual in {**(_LIKE_BERT if alone else {}), "tokenize_chinese_chars": (None, True)}.items():
        if (value := described.get(name)) not in usual:
            raise BadInput(f"{config} has {name} {str(value).lower()}: only BERT's splitting can be read")


class TrainedWordPiece(TrainedTokenizer):
    """WordPiece with its vocabulary; only words that are new go through the `tokenizers` library."""

    settings: WordPiece

    def __init__(
        self, vocabulary: Sequence[str], settings: WordPiece = WordPiece(), added: Sequence[Token] = ()
    ) -> None:
        from tokenizers import Tokenizer, models

        ids = {piece: number for number, piece in enumerate(vocabulary)}
        model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
        super().__init__(settings, vocabulary, settings._bert(Tokenizer(model)), added)
        self._ids = functools.lru_cache(_MEMORY)(lambda word: super(TrainedWordPiece, self).pack([word])[0])

    @cached_property
    def word_starts(self) -> Bool:
        """Which entries can begin a word, shape (size,): all except the continuation pieces (`##`)."""
        return np.array([not piece.startswith("##") for piece in self.vocabulary])

    @property
    def data(self) -> bytes:
        """The content of its file."""
        return super().data if self.settings.whole else self._listed(self.vocabulary[: self.size - len(self.sentinels)])

    @staticmethod
    def _listed(entries: Sequence[str]) -> bytes:
        return "".join(f"{piece}\n" for piece in entries).encode()

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
        """Writes it in the files of `transformers`, a vocab.txt of its model among them."""
        super().write(directory, length, segments)
        entries = self.backend.get_vocab(with_added_tokens=False)
        (directory / "vocab.txt").write_bytes(self._listed(sorted(entries, key=entries.__getitem__)))

    def pack(self, texts: Sequence[str]) -> list[bytes]:
        """The ids of each text, without special tokens, as the bytes of an array of `dtype`."""
        if self.added:  # they are found before words are
            return super().pack(texts)
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
    occurrences, frequency = Counter[str](), Counter[str]()
    for text in texts:
        occurrences.update(text)
    for raw, times in occurrences.items():
        for character in backend.normalizer.normalize_str(raw).strip():
            frequency[character] += times

    @functools.cache
    def continues(character: str) -> bool:
        """Whether it can stand inside a word: punctuation and ideographs always stand alone."""
        assert backend.normalizer is not None
        assert backend.pre_tokenizer is not None
        return len(backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(f"a{character}"))) == 1

    initial = sorted(alphabet(frequency, entries, lambda character: 1 + continues(character)))
    return initial, [*filter(continues, initial)]
