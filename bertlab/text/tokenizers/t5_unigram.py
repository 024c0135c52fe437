"""T5's tokenizer (Raffel et al. 2020, section 2.4): Unigram of text as it is, whose last entries are sentinels.

It has neither [CLS] nor [MASK]: </s> stands for the one and the first sentinel for the other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.recipe.ranges import Range
from bertlab.text.tokenizers.added import CONFIG, Token, optional_object
from bertlab.text.tokenizers.base import SENTINEL
from bertlab.text.tokenizers.unigram import TrainedUnigram, Unigram

_EXTRA = 100
"""Sentinels of a spiece.model, which has none, unless a tokenizer_config.json beside it says otherwise."""
_MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class T5Unigram(Unigram):
    """T5's tokenizer; its file is a `tokenizer.json`, in which the sentinels are the last entries, in falling order."""

    kind: ClassVar[str] = "t5_unigram"
    model: ClassVar[str] = "T5"
    first: ClassVar[tuple[str, ...]] = ("<pad>", "</s>", "<unk>")
    specials: ClassVar[tuple[str, ...]] = ("<pad>", "<unk>", "</s>", "</s>", "<extra_id_0>")
    quotes: ClassVar[list[dict[str, Any]]] = []
    sentinels: Annotated[int, Range(1, _MOST, "entries")] = _EXTRA
    """Entries that stand for spans of text."""
    lowercase: bool = False
    """Whether text is lower-cased."""
    keep_accents: bool = True
    """Whether letters keep their accents."""

    @classmethod
    def _from_json(cls, data: Mapping[str, Any], directory: Path | None = None) -> TrainedUnigram | None:
        """The tokenizer in a tokenizer.json, or in a spiece.model, to which it adds sentinels."""
        model: Any = data.get("model")
        entries = model.get("vocab") if isinstance(model, dict) else None
        if isinstance(entries, list) and not any(map(_is_sentinel, entries)):
            count = optional_object(directory / CONFIG).get("extra_ids", _EXTRA) if directory else _EXTRA
            if type(count) is not int or not 0 < count <= _MOST:
                raise BadInput(f"{CONFIG} has extra_ids {shown(count)}: give a number of sentinels from 1 to {_MOST:,}")
            data = {**data, "model": {**model, "vocab": [*entries, *_sentinels(count)]}}
        return super()._from_json(data, directory)

    def _trained(self, entries: Sequence[Sequence[Any]], *parts: Any) -> TrainedUnigram:
        return super()._trained(
            [*entries, *([] if any(map(_is_sentinel, entries)) else _sentinels(self.sentinels))], *parts
        )

    def _of_file(self, file: Mapping[str, Any], added: Sequence[Token]) -> TrainedUnigram:
        count = sum(map(_is_sentinel, file["model"]["vocab"]))
        others = [token for token in added if not SENTINEL.fullmatch(token["content"])]
        return TrainedT5Unigram(file, dataclasses.replace(self, sentinels=count), others)


class TrainedT5Unigram(TrainedUnigram):
    """Unigram with sentinels among its pieces."""

    specials: ClassVar[tuple[str, ...]] = T5Unigram.specials
    opened = False

    def adopt(self, settings: Any) -> None:
        """Takes `settings` that split text as it does. Raises `BadInput` if they have more sentinels than its file."""
        ids = {piece: number for number, piece in enumerate(self.vocabulary)}
        names = [f"<extra_id_{number}>" for number in range(settings.sentinels)]
        if not {*names} <= ids.keys():
            raise BadInput(
                f"the vocabulary lacks some of {settings.sentinels} sentinels: set tokenizer.sentinels to less"
            )
        self.settings, self.sentinels = settings, np.array([ids[name] for name in names], dtype=np.int32)

    @property
    def config(self) -> dict[str, Any]:
        """The fields of tokenizer_config.json that are its own."""
        return {**super().config, "eos_token": "</s>"}

    def _is_special(self, piece: str) -> bool:
        return super()._is_special(piece) or SENTINEL.fullmatch(piece) is not None


def _is_sentinel(entry: Any) -> bool:
    return isinstance(entry, list) and bool(entry) and SENTINEL.fullmatch(str(entry[0])) is not None


def _sentinels(count: int) -> list[list[Any]]:
    return [[f"<extra_id_{number}>", 0.0] for number in reversed(range(count))]
