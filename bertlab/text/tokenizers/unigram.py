"""Unigram, SentencePiece's tokenizer (Kudo 2018, section 3.2), as ALBERT has it (Lan et al. 2020, section 4.1).

Each piece has a log-probability, and a word is split into the pieces with the largest sum. A space belongs to the word
behind it and is written as ▁.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bertlab.arrays import Bool
from bertlab.errors import BadInput
from bertlab.recipe import Tokenizer
from bertlab.text.sentences import cut
from bertlab.text.tokenizers import spiece
from bertlab.text.tokenizers.added import CONFIG, Token, add, load_object, optional_object, tokens
from bertlab.text.tokenizers.base import PIECES, TrainedTokenizer, adopted, valid, wrapped
from bertlab.text.tokenizers.spiece import SPACE

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

_SPECIALS = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
"""The first entries, in the order of ALBERT's."""
_QUOTES = [{"type": "Replace", "pattern": {"String": quote}, "content": '"'} for quote in ("``", "''")]
_SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
_WHITE = {"type": "WhitespaceSplit"}
_METASPACE = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
_SPLITTING = {"type": "Sequence", "pretokenizers": [_WHITE, _METASPACE]}

_HIGHEST = 1e9
"""Logarithms of probabilities are far from it."""


@dataclass(frozen=True, kw_only=True)
class Unigram(Tokenizer):
    """ALBERT's tokenizer; its file is a `tokenizer.json`."""

    kind: ClassVar[str] = "unigram"
    model: ClassVar[str] = "ALBERT"
    """The model whose tokenizer it is, in messages."""
    first: ClassVar[tuple[str, ...]] = _SPECIALS
    """The first entries of a trained vocabulary."""
    specials: ClassVar[tuple[str, ...]] = _SPECIALS
    """The entries that serve as [PAD], [UNK], [CLS], [SEP] and [MASK]."""
    quotes: ClassVar[list[dict[str, Any]]] = _QUOTES
    """What it does to quotation marks."""
    lowercase: bool = True
    """Whether text is lower-cased, as for ALBERT."""
    keep_accents: bool = False
    """Whether letters keep their accents; ALBERT's lose them."""

    @property
    def cased(self) -> bool:
        """Whether text keeps its case."""
        return not self.lowercase

    def train(self, texts: Iterable[str]) -> TrainedUnigram:
        """A vocabulary of at most `vocabulary` entries, the same in any process."""
        specials = [[special, 0.0] for special in self.first]
        normalizer = self._trained([*specials, [SPACE, 0.0]]).backend.normalizer  # special tokens alone are refused
        assert normalizer is not None
        parts = (part for text in texts for part in cut(wrapped(valid(text)), 10_000))
        pieces = spiece.trained(map(normalizer.normalize_str, parts), self.vocabulary - len(specials))
        return self._trained([*specials, *pieces])

    def load(self, path: Path) -> TrainedUnigram:
        """Reads a `tokenizer.json`. Raises `BadInput` if it is of another kind, or does not go with the settings."""
        tokenizer = self._from_json(load_object(path))
        return adopted(tokenizer, self, path, f"a Unigram tokenizer as {self.model}'s", ("lowercase", "keep_accents"))

    @classmethod
    def read(cls, directory: Path) -> TrainedUnigram | None:
        """Reads tokenizer.json, or spiece.model, which older checkpoints have; None if there are none."""
        path, pieces = directory / "tokenizer.json", directory / PIECES
        if not path.is_file():
            return cls._from_pieces(pieces) if pieces.is_file() else None
        tokenizer = cls._from_json(load_object(path), directory)
        if tokenizer is not None:
            described, settings = optional_object(directory / CONFIG), tokenizer.settings
            ours = {
                "do_lower_case": settings.lowercase,
                "keep_accents": settings.keep_accents,
                "remove_space": True,
                "sp_model_kwargs": {},
            }
            for name, value in ours.items():
                if described.get(name) not in (None, value):  # which transformers 4 and 5 treat differently
                    raise BadInput(f"{path} and {CONFIG} differ in {name}: correct one")
        return tokenizer

    @classmethod
    def _from_pieces(cls, path: Path) -> TrainedUnigram | None:
        """The tokenizer in a spiece.model, with what a tokenizer_config.json beside it says of its text."""
        file, described = spiece.read(path), optional_object(path.parent / CONFIG)
        if file is None:
            return None
        said = {"lowercase": described.get("do_lower_case"), "keep_accents": described.get("keep_accents")}
        fields: dict[str, Any] = {name: value for name, value in said.items() if isinstance(value, bool)}
        settings = cls(**fields)
        table = [{"type": "Precompiled", "precompiled_charsmap": file["table"]}] if file["table"] else []
        normalizer = {"type": "Sequence", "normalizers": [*settings._steps, *table]}
        return cls._from_json({**file, "normalizer": normalizer, "pre_tokenizer": _SPLITTING}, path.parent)

    @classmethod
    def _from_json(cls, data: Mapping[str, Any], directory: Path | None = None) -> TrainedUnigram | None:
        """The tokenizer in a tokenizer.json, with the tokens that other files of its `directory` add; None if it does
        not split text as ALBERT's does."""
        model = data.get("model")
        settings = cls._normalised(data.get("normalizer"))
        if settings is None or not _splits(data.get("pre_tokenizer")):
            return None
        if not isinstance(model, dict) or model.get("byte_fallback"):
            return None
        entries: Any = model.get("vocab")
        if model.get("type", "Unigram") != "Unigram" or not isinstance(entries, list):  # old files leave out the type
            return None
        scored = (isinstance(entry, list) and list(map(type, entry)) in ([str, float], [str, int]) for entry in entries)
        if not all(scored):
            return None
        pieces = {piece: number for number, (piece, _) in enumerate(entries)}
        if not {*cls.specials} <= pieces.keys() or model.get("unk_id") != pieces["<unk>"]:
            return None
        if len(pieces) < len(entries) or not all(abs(score) < _HIGHEST for _, score in entries):
            return None
        added = tokens(data.get("added_tokens") or [], pieces, cls.specials, directory)
        return None if added is None else settings._trained(entries, added, data["normalizer"], data["pre_tokenizer"])

    @classmethod
    def _normalised(cls, normalizer: Any) -> Self | None:
        """The settings of a normalizer; None if it does what none of them do. It may have a table of characters too."""
        steps = _steps_in(normalizer, "normalizers")
        tables = [step for step in steps if step.get("type") == "Precompiled"]
        if not all(_is_undamaged(table.get("precompiled_charsmap")) for table in tables):
            return None
        others = [step for step in steps if step not in tables and step != _SPACES]
        settings = (cls(lowercase=low, keep_accents=keep) for low in (True, False) for keep in (True, False))
        return next((candidate for candidate in settings if candidate._steps == others), None)

    @property
    def _steps(self) -> list[dict[str, Any]]:
        """What it does to text before splitting it."""
        stripping = [{"type": "NFKD"}, {"type": "StripAccents"}] * (not self.keep_accents)
        return [*self.quotes, *stripping, *[{"type": "Lowercase"}] * self.lowercase]

    def _trained(
        self,
        entries: Sequence[Sequence[Any]],
        added: Sequence[Token] = (),
        normalizer: Mapping[str, Any] | None = None,
        splitting: Mapping[str, Any] | None = None,
    ) -> TrainedUnigram:
        """The tokenizer with these pieces and scores, and with parts of a published one if given."""
        unknown = [piece for piece, _ in entries].index("<unk>")
        file = {
            "version": "1.0",
            "added_tokens": [],
            "normalizer": normalizer or {"type": "Sequence", "normalizers": self._steps},
            "pre_tokenizer": splitting or _SPLITTING,
            "decoder": _METASPACE,
            "model": {"type": "Unigram", "unk_id": unknown, "vocab": entries, "byte_fallback": False},
        }
        return self._of_file(file, added)

    def _of_file(self, file: Mapping[str, Any], added: Sequence[Token]) -> TrainedUnigram:
        return TrainedUnigram(file, self, added)


class TrainedUnigram(TrainedTokenizer):
    """Unigram with its pieces and their scores."""

    specials: ClassVar[tuple[str, ...]] = _SPECIALS
    spaced: ClassVar[bool] = True
    settings: Unigram

    def __init__(self, file: Mapping[str, Any], settings: Unigram, added: Sequence[Token] = ()) -> None:
        """`file` is the content of a tokenizer.json without its added tokens."""
        from tokenizers import Tokenizer as RustTokenizer

        entries = file["model"]["vocab"]
        # Unigram would find a special token, which is one of its pieces, in text: no word has a space.
        hidden = [[f" {piece}" if self._is_special(piece) else piece, score] for piece, score in entries]
        backend = RustTokenizer.from_str(json.dumps({**file, "model": {**file["model"], "vocab": hidden}}))
        super().__init__(settings, [piece for piece, _ in entries], backend, added)
        self._file = RustTokenizer.from_str(json.dumps(file))
        add(self._file, added)

    def _is_special(self, piece: str) -> bool:
        return piece in self.specials

    @cached_property
    def word_starts(self) -> Bool:
        """Which entries can begin a word, shape (size,): those with a space in front.

        Punctuation without a space is a part of its word, as it is for SentencePiece.
        """
        return np.array([piece.startswith(SPACE) for piece in self.vocabulary])

    def encode_around(self, parts: Sequence[str]) -> list[list[int]]:
        """The space in front of a masked word is a part of it."""
        return self.encode([*(part.rstrip() for part in parts[:-1]), *parts[-1:]])

    def shown(self, number: int) -> str:
        """The text of an entry, with its space."""
        return self.vocabulary[number].replace(SPACE, " ")

    @property
    def data(self) -> bytes:
        """The content of its tokenizer.json."""
        return self._file.to_str(pretty=True).encode()

    def published(self) -> RustTokenizer:
        """A copy of the tokenizer, in which special tokens have their own names."""
        return type(self._file).from_str(self._file.to_str())


def _steps_in(part: Any, name: str) -> list[dict[str, Any]]:
    """The steps of a part of a tokenizer.json, which may be one step; none if it is no such part."""
    steps = part.get(name) if isinstance(part, dict) and part.get("type") == "Sequence" else [part]
    return steps if isinstance(steps, list) and all(isinstance(step, dict) for step in steps) else []


def _splits(pre_tokenizer: Any) -> bool:
    """Whether a pre-tokenizer splits text at spaces and puts ▁ in front of each word."""
    *first, last = _steps_in(pre_tokenizer, "pretokenizers") or [{}]
    scheme = "always" if last.get("add_prefix_space", True) is True else "never"  # in older files
    return first in ([], [_WHITE]) and {"prepend_scheme": scheme, "split": True, **last}.items() >= _METASPACE.items()


def _is_undamaged(table: Any) -> bool:
    """Whether a table of characters of SentencePiece is undamaged: the library aborts where it is not.

    It is the size of a double array in bytes, that array, from the bytes of a character to the place of what replaces
    it, and these texts.
    """
    try:
        content = base64.b64decode(table, validate=True)
        size = int.from_bytes(content[:4], "little")
        units, texts = np.frombuffer(content[4 : 4 + size], "<u4").astype(np.int64), content[4 + size :]
        texts.decode()
    except (TypeError, ValueError):
        return False
    offsets, labels = units >> 10 << ((units & 512) >> 6), units & (1 << 31 | 255)
    begins = np.array([byte & 0xC0 != 0x80 for byte in texts] + [True])
    nodes, seen = offsets[:1], np.zeros(len(units), dtype=np.bool_)
    while len(nodes):
        places = nodes[:, None] ^ np.arange(1, 256)
        if places.max() >= len(units):
            return False
        places = places[labels[places] == np.arange(1, 256)]
        places = places[~seen[places]]
        seen[places] = True
        nodes = places ^ offsets[places]
        leaves = nodes[units[places] & 256 != 0]
        targets = units[leaves[leaves < len(units)]] & ~(1 << 31)
        targets = targets[targets < len(begins)]
        if len(targets) < len(leaves) or not begins[targets].all():
            return False
    return size > 0
