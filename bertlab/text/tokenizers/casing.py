"""Whether a WordPiece vocabulary is one of lower-case text without accents: its entries show it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

SHARE = 0.01
"""The share of entries that text may never have, as when some unused entries were replaced by hand."""
LETTERS = 10
"""Small letters that are entries in a vocabulary of an alphabet, at least."""
READINGS: tuple[dict[str, Any], ...] = (
    {"lowercase": True, "strip_accents": None},
    {"lowercase": True, "strip_accents": False},
    {"lowercase": False, "strip_accents": None},
)
"""What BERT does to text, from what leaves the fewest characters to what leaves them all."""
_MARKER = re.compile(r"\[.*\]")


def reading(vocabulary: Sequence[str]) -> dict[str, Any]:
    """The first of `READINGS` in which text can have every entry."""
    return next(case for case in READINGS if not lost(vocabulary, **case))


def disagrees(vocabulary: Sequence[str], lowercase: bool, strip_accents: bool | None) -> tuple[str, bool]:
    """Why a vocabulary is none of this reading, and whether for its accents alone; an empty text if it may be one."""
    dead = lost(vocabulary, lowercase, strip_accents)
    if len(dead) > SHARE * len(vocabulary):
        accents = not lost(dead, lowercase, strip_accents=False)
        return f"has {dead[0]!r}, which a text without {'accents' if accents else 'capitals'} never has", accents
    words = [piece for piece in vocabulary if not _MARKER.fullmatch(piece)]
    if lowercase or any(piece != piece.lower() for piece in words):
        return "", False
    small = [piece for piece in words if piece != piece.upper()]
    letters = sum(len(piece) == 1 for piece in small)
    if 2 * len(small) < len(words) or letters < LETTERS:  # ideographs have no case, and a list of words shows none
        return "", False
    return "has no entry with a capital, and a text has them", False


def lost(vocabulary: Sequence[str], lowercase: bool, strip_accents: bool | None) -> list[str]:
    """The entries that no text has once it is read so, except markers in brackets."""
    from tokenizers import normalizers

    normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    least = normalizers.BertNormalizer(lowercase=False, strip_accents=False)

    def changes(text: str, by: normalizers.BertNormalizer) -> bool:
        return by.normalize_str(text).replace(" ", "") != text  # ideographs get spaces

    texts = {piece: piece.removeprefix("##") for piece in vocabulary if not _MARKER.fullmatch(piece)}
    return [piece for piece, text in texts.items() if changes(text, normalizer) and not changes(text, least)]
