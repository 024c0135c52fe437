"""ModernBERT's tokenizer (Warner et al. 2024, section 2.1.2): byte-level BPE of text in Unicode's form NFC, with BERT's
special tokens.

Published ones have further entries that were added to their BPE, such as runs of spaces: wherever a text has one, it is
one token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bertlab.text.tokenizers.added import Token, load_object
from bertlab.text.tokenizers.base import SPECIALS
from bertlab.text.tokenizers.byte_level_bpe import ByteLevelBPE, TrainedByteLevelBPE

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

_NFC = {"type": "NFC"}


@dataclass(frozen=True, kw_only=True)
class ModernBPE(ByteLevelBPE):
    """ModernBERT's tokenizer; its file is a `tokenizer.json`."""

    kind: ClassVar[str] = "modern_bpe"
    first: ClassVar[tuple[str, ...]] = SPECIALS
    specials: ClassVar[tuple[str, ...]] = SPECIALS
    model: ClassVar[str] = "ModernBERT"

    @classmethod
    def read(cls, directory: Path) -> TrainedByteLevelBPE | None:
        """Reads tokenizer.json; None if there is none, or one of another kind."""
        path = directory / "tokenizer.json"
        return cls._from_json(load_object(path), directory) if path.is_file() else None

    @classmethod
    def _from_json(cls, data: Mapping[str, Any], directory: Path | None = None) -> TrainedByteLevelBPE | None:
        """The tokenizer in a tokenizer.json; None if it does not split text as ModernBERT's does.

        Its added tokens, special ones among them, are entries of the model here.
        """
        model, added = data.get("model"), data.get("added_tokens") or []
        if data.get("normalizer") != _NFC or not isinstance(model, dict) or not isinstance(added, list):
            return None
        entries = model.get("vocab")
        if not isinstance(entries, dict) or not all(isinstance(token, dict) for token in added):
            return None
        entries = {**entries, **{str(token.get("content")): token.get("id") for token in added}}
        if not entries.keys() >= {*SPECIALS}:
            return None
        return super()._from_json({**data, "normalizer": None, "model": {**model, "vocab": entries}}, directory)

    def _trained(
        self, entries: Mapping[str, int], merges: Sequence[Any], added: Sequence[Token] = ()
    ) -> TrainedByteLevelBPE:
        return TrainedModernBPE(entries, merges, self, added)

    def _around(self, model: Any) -> RustTokenizer:
        """`model` with GPT-2's splitting of text in NFC."""
        from tokenizers import normalizers

        backend = super()._around(model)
        backend.normalizer = normalizers.NFC()
        return backend


class TrainedModernBPE(TrainedByteLevelBPE):
    """Byte-level BPE with BERT's special tokens."""

    specials: ClassVar[tuple[str, ...]] = SPECIALS
