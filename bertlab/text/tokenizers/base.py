"""Trained tokenizers. Text is only text: a literal `[MASK]` in it gives ordinary tokens.

Other tokens that were added to a published tokenizer are one token wherever a text has them, as in `transformers`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from bertlab.arrays import Bool, Int32, Integer
from bertlab.errors import BadInput
from bertlab.recipe import Tokenizer
from bertlab.recipe.ranges import arms
from bertlab.text.tokenizers.added import CONFIG, LEGACY, MAP, ROLES, Token, add, is_telling, load_object

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FILES = ("tokenizer.json", "vocab.txt", CONFIG, "vocab.json", "merges.txt", LEGACY)
"""The files of a tokenizer in the format of `transformers`; beside these, `added.MAP` and `PIECES` are read."""
PIECES = "spiece.model"
"""The pieces of SentencePiece, which are read if there is no other vocabulary."""
SENTINEL = re.compile(r"<extra_id_\d+>")
LONGEST_WORD = 100
"""Characters; a longer word is [UNK], as in `transformers` (in Google's code beyond 200)."""


class TrainedTokenizer:
    """A vocabulary, and a tokenizer of the `tokenizers` library that splits text into its entries."""

    specials: ClassVar[tuple[str, ...]] = SPECIALS
    """The entries that serve as [PAD], [UNK], [CLS], [SEP] and [MASK]."""
    opened: bool = True
    """Whether [CLS] stands in front of a text for `transformers`."""
    spaced: ClassVar[bool] = False
    """Whether the first token of a word holds the space in front of it."""

    def __init__(
        self, settings: Tokenizer, vocabulary: Sequence[str], backend: RustTokenizer, added: Sequence[Token] = ()
    ) -> None:
        """`backend` has no added tokens: it gets the `added` ones, which follow the vocabulary or are in it, but for
        sentinels at their end. Raises `BadInput` if special tokens or all others are missing."""
        count = _sentinels(added, len(vocabulary))
        if count:
            settings, added = dataclasses.replace(settings, sentinels=count), added[:-count]
        add(backend, added)
        self.added = list(added)
        """The tokens that were added to it, as tokenizer.json has them, without the special tokens."""
        beyond = (token["content"] for token in added if token["id"] >= len(vocabulary))
        self.vocabulary: list[str] = [*vocabulary, *beyond]
        """The entries; the place of each is its id."""
        self.sentinels: Int32 = np.zeros(0, dtype=np.int32)
        """The ids of its sentinels."""
        self.backend = backend
        """The tokenizer of the `tokenizers` library, without the special tokens among its added ones."""
        ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        missing = [special for special in self.specials if special not in ids]
        if missing:
            raise BadInput(f"the vocabulary has no {' and no '.join(missing)}: give one with them")
        if len(ids) == len(set(self.specials)):
            raise BadInput(
                "the vocabulary has special tokens alone: give one with pieces of words, or train it on text with words"
            )
        self.pad, self.unk, self.cls, self.sep, self.mask = (ids[special] for special in self.specials)
        self.adopt(settings)
        self.dtype: np.dtype[np.uint16 | np.uint32] = np.dtype("<u2" if self.size <= 1 << 16 else "<u4")
        """The type of packed ids: 2 bytes where the vocabulary fits, 4 elsewhere."""

    @classmethod
    def of(cls, settings: Tokenizer, backend: RustTokenizer) -> Self:
        """The tokenizer that `backend` is, after its training or from its file."""
        plain = json.loads(backend.to_str())
        # the text of a special token is text
        added = [token for token in plain["added_tokens"] if token["content"] not in cls.specials]
        plain["added_tokens"] = []
        entries = backend.get_vocab(with_added_tokens=True)
        ordered = sorted(entries, key=entries.__getitem__)
        return cls(settings, ordered, type(backend).from_str(json.dumps(plain)), added)

    def adopt(self, settings: Tokenizer) -> None:
        """Takes `settings` that split text as it does, and their sentinels, which its file lacks."""
        del self.vocabulary[self.size - len(self.sentinels) :]
        self.settings = settings
        """The tokenizer before its training, whose fields say how text is split."""
        self.sentinels = np.arange(self.size, self.size + settings.sentinels, dtype=np.int32)
        self.vocabulary += [f"<extra_id_{number}>" for number in range(settings.sentinels)]

    @property
    def size(self) -> int:
        """Entries of the vocabulary, special tokens included."""
        return len(self.vocabulary)

    @cached_property
    def ordinary(self) -> Int32:
        """Ids of all entries except the five special tokens and the sentinels, ascending."""
        specials = [self.pad, self.unk, self.cls, self.sep, self.mask, *self.sentinels]
        return np.setdiff1d(np.arange(self.size, dtype=np.int32), np.array(specials, dtype=np.int32))

    @cached_property
    def word_starts(self) -> Bool:
        """Which entries can begin a word, shape (size,): here all of them."""
        return np.ones(self.size, dtype=np.bool_)

    def begin_words(self, tokens: Integer) -> Bool:
        """Which tokens of sequences (S, T) begin a word of the text: by default those that can."""
        return self.word_starts[tokens]

    def extend(self, size: int) -> None:
        """Adds unused entries up to `size`."""
        self.vocabulary += [f"[unused{number}]" for number in range(size - self.size)]

    def pack(self, texts: Sequence[str]) -> list[bytes]:
        """The ids of each text, without special tokens, as the bytes of an array of `dtype`."""
        encodings = self.backend.encode_batch_fast([valid(text) for text in texts], add_special_tokens=False)
        return [np.array(encoding.ids, dtype=self.dtype).tobytes() for encoding in encodings]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without special tokens."""
        return [np.frombuffer(packed, dtype=self.dtype).tolist() for packed in self.pack(texts)]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """The texts of sequences of ids, without unknown characters and sentinels."""
        return self._texts([[number for number in ids if number != self.unk] for ids in sequences])

    def spelled(self, texts: Sequence[str]) -> list[str]:
        """The texts as `decode` spells their ids, but with a mark for unknown characters."""
        return self._texts(self.encode(texts))

    def _texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        return [text.strip() for text in self.backend.decode_batch(sequences, skip_special_tokens=False)]

    def encode_around(self, parts: Sequence[str]) -> list[list[int]]:
        """The ids of the parts of a text between masked words, one part more than these."""
        return self.encode(parts)

    def shown(self, number: int) -> str:
        """An entry as a reader sees it."""
        return self.vocabulary[number]

    def encode_words(self, sentences: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
        """The ids of each sentence, a list of words, at least one a word, and the index of the word of each id."""
        words = iter(self.encode([word for sentence in sentences for word in sentence]))
        encoded = []
        for sentence in sentences:
            pieces = [next(words) or [self.unk] for _ in sentence]
            owners = [index for index, ids in enumerate(pieces) for _ in ids]
            encoded.append((list(itertools.chain.from_iterable(pieces)), owners))
        return encoded

    def offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """The ids of each text, and the first character and the end of each id in the text, behind the accents of its
        last letter also where the tokenizer drops them."""
        encodings = self.backend.encode_batch([valid(text) for text in texts], add_special_tokens=False)
        return [
            (encoding.ids, _accented(text, encoding.offsets)) for text, encoding in zip(texts, encodings, strict=True)
        ]

    @property
    def data(self) -> bytes:
        """The content of its file: here a tokenizer.json."""
        return self.backend.to_str(pretty=True).encode()

    @property
    def digest(self) -> str:
        """The SHA-256 of its file."""
        return hashlib.sha256(self.data).hexdigest()

    def save(self, path: Path) -> None:
        """Writes its file, which `Tokenizer.load` reads."""
        path.write_bytes(self.data)

    # `transformers`.

    def published(self) -> RustTokenizer:
        """A copy of its tokenizer, as others use it."""
        return type(self.backend).from_str(self.backend.to_str())

    @property
    def config(self) -> dict[str, Any]:
        """The fields of tokenizer_config.json that are its own."""
        return {"tokenizer_class": "PreTrainedTokenizerFast"}

    def write(self, directory: Path, length: int, segments: int) -> None:
        """Writes it in the files of `transformers`, for inputs of at most `length` tokens and a model of `segments`."""
        from tokenizers import AddedToken, processors

        backend = self.published()
        *others, mask = self.specials  # the mask takes the place of a word, with the space that its tokens would hold
        backend.add_special_tokens([AddedToken(special, special=True, normalized=False) for special in others])
        backend.add_special_tokens([AddedToken(mask, special=True, normalized=False, lstrip=self.spaced)])
        sentinels = [self.vocabulary[number] for number in self.sentinels]
        backend.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece in sentinels])
        _, _, cls, sep = others
        front = f"{cls} " * self.opened
        template = processors.TemplateProcessing(
            single=f"{front}$A {sep}",
            pair=f"{front}$A {sep} $B:1 {sep}:1",
            special_tokens=[(cls, self.cls), (sep, self.sep)],
        )
        existing = backend.post_processor
        backend.post_processor = template if existing is None else processors.Sequence([existing, template])
        inputs = ["input_ids", *["token_type_ids"] * (segments > 1), "attention_mask"]
        config = {**self.config, "model_max_length": length, "model_input_names": inputs}
        config |= dict(zip(ROLES, self.specials, strict=True))
        if not self.opened:
            config["tokenizer_class"] = "PreTrainedTokenizerFast"  # that of a model puts [CLS] in front by itself
        if self.added:
            config["added_tokens_decoder"] = {
                str(token["id"]): {name: value for name, value in token.items() if name != "id"} for token in self.added
            }
        (directory / "tokenizer.json").write_text(backend.to_str(pretty=True) + "\n", encoding="utf-8")
        (directory / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def tells(directory: Path) -> bool:
    """Whether the special_tokens_map.json of a checkpoint directory says more than which tokens its kind has."""
    specials = {token for tokenizer in arms(Tokenizer).values() for token in getattr(tokenizer, "specials", SPECIALS)}
    return (directory / MAP).is_file() and is_telling(directory / MAP, specials)


def read(directory: Path) -> TrainedTokenizer:
    """The tokenizer of a checkpoint directory of `transformers`. Raises `BadInput` if it has none that can be read."""
    for settings in arms(Tokenizer).values():
        tokenizer: TrainedTokenizer | None = settings.read(directory)
        if tokenizer is not None:
            tokenizer.opened &= _opens(directory / "tokenizer.json")
            return tokenizer
    for path in filter(Path.is_file, (directory / "tokenizer.json", directory / PIECES)):
        kinds = ", ".join(name for name, tokenizer_class in arms(Tokenizer).items() if not tokenizer_class._own)
        models = "BERT, RoBERTa, ALBERT, ModernBERT and T5"
        raise BadInput(f"{path} is of another kind: only {kinds} as in {models} can be read")
    raise BadInput(
        f"{directory} has neither tokenizer.json nor vocab.txt, nor spiece.model, nor vocab.json and merges.txt: add "
        "the tokenizer that the checkpoint was trained with"
    )


def _opens(path: Path) -> bool:
    """Whether [CLS] is in front of a text: not if a tokenizer.json has a template that begins with the text, as one of
    a model that writes texts."""
    processor: Any = load_object(path).get("post_processor") if path.is_file() else None
    parts = processor.get("processors", [processor]) if isinstance(processor, dict) else []
    templates = [part.get("single") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return all("SpecialToken" in str(template[:1]) for template in templates if isinstance(template, list))


_Trained = TypeVar("_Trained", bound=TrainedTokenizer)


def adopted(tokenizer: _Trained | None, settings: Tokenizer, path: Path, what: str, fields: Sequence[str]) -> _Trained:
    """The `tokenizer` that the file `path` has, with `settings`. Raises `BadInput` if it is None, since the file is not
    the tokenizer.json of `what`, or if it differs from the settings in one of these `fields`."""
    if tokenizer is None:
        raise BadInput(f"vocabulary {path} is not the tokenizer.json of {what}: give one")
    for name in fields:
        if (theirs := getattr(tokenizer.settings, name)) != getattr(settings, name):
            setting = f"tokenizer.{name}={str(theirs).lower()}"
            raise BadInput(f"vocabulary {path} was made with {setting}: give --set {setting}")
    tokenizer.adopt(settings)
    return tokenizer


def _sentinels(added: Sequence[Token], vocabulary: int) -> int:
    """How many of the `added` tokens, at their end and behind a vocabulary of this size, are its sentinels."""
    names = [token["content"] for token in added if token["id"] >= vocabulary and SENTINEL.fullmatch(token["content"])]
    count = len(names)
    following = [token["content"] for token in added[len(added) - count :]]
    return count if following == [f"<extra_id_{number}>" for number in range(count)] else 0


def _accented(text: str, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places of ids in a text, with the marks behind their ends that are in none of them."""
    if text.isascii():
        return places
    whole = []
    for (begin, end), (following, _) in itertools.pairwise([*places, (len(text), 0)]):
        while end < following and unicodedata.category(text[end]).startswith("M"):
            end += 1
        whole.append((begin, end))
    return whole


def wrapped(text: str) -> str:
    """`text` with words longer than `LONGEST_WORD` broken up: they would slow down training and teach nothing."""
    words = text.split()
    if max(map(len, words), default=0) <= LONGEST_WORD:
        return text
    return " ".join(word[start : start + LONGEST_WORD] for word in words for start in range(0, len(word), LONGEST_WORD))


def valid(text: str) -> str:
    """`text` with halves of surrogate pairs, which JSON can hold and UTF-8 cannot, replaced."""
    return text.encode("utf-8", "replace").decode()
