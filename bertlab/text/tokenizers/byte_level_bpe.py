"""Byte-level BPE, the tokenizer of GPT-2 and RoBERTa (Radford et al. 2019, section 2.2; Liu et al. 2019, section 4.4).

Every text has tokens: the alphabet is the 256 bytes, each written as a printable character. Text keeps its case. It is
first split by GPT-2's rule at spaces and between letters, digits and other characters; a space belongs to the word
behind it and is written as Ġ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from bertlab.arrays import Bool, Integer
from bertlab.errors import BadInput
from bertlab.recipe import Tokenizer
from bertlab.recipe.ranges import Range
from bertlab.store.files import content
from bertlab.text.sentences import cut
from bertlab.text.tokenizers.added import CONFIG, Token, load_object, optional_object, tokens
from bertlab.text.tokenizers.base import TrainedTokenizer, adopted, valid, wrapped

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

_FIRST = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
"""The first entries, the first four in the order of RoBERTa's, whose positions depend on the id of <pad>."""
_DEFAULTS = ("normalizer", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
             "byte_fallback", "ignore_merges")  # fmt: skip
"""Settings of a tokenizer.json that are none, false or empty in byte-level BPE."""


@dataclass(frozen=True, kw_only=True)
class ByteLevelBPE(Tokenizer):
    """RoBERTa's tokenizer; its file is a `tokenizer.json`."""

    kind: ClassVar[str] = "byte_level_bpe"
    first: ClassVar[tuple[str, ...]] = _FIRST
    """The first entries of a new vocabulary."""
    specials: ClassVar[tuple[str, ...]] = ("<pad>", "<unk>", "<s>", "</s>", "<mask>")
    """The entries that serve as [PAD], [UNK], [CLS], [SEP] and [MASK]."""
    model: ClassVar[str] = "RoBERTa"
    """The model that has such a tokenizer."""
    vocabulary: Annotated[int, Range(256 + len(_FIRST), 1_000_000, "entries")] = 30_522
    """Entries at most, 256 bytes and five special tokens among them; RoBERTa has 50,265."""
    add_prefix_space: bool = True
    """Whether a text begins as after a space. RoBERTa's does not, but its sentences follow each other in a line and
    ours are tokenised one by one."""

    def train(self, texts: Iterable[str]) -> TrainedByteLevelBPE:
        """A vocabulary of at most `vocabulary` entries, the same in any process."""
        from tokenizers import models, pre_tokenizers, trainers

        backend = self._around(models.BPE())
        trainer = trainers.BpeTrainer(
            vocab_size=self.vocabulary,
            min_frequency=2,
            special_tokens=list(self.first),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        # The library needs many times the memory of the texts that it holds at once: it gets small pieces.
        pieces = (piece for text in texts for piece in cut(wrapped(" ".join(valid(text).split())), 10_000))
        backend.train_from_iterator((piece.rstrip() for piece in pieces), trainer)
        model = json.loads(backend.to_str())["model"]
        return self._trained(model["vocab"], model["merges"])

    def load(self, path: Path) -> TrainedByteLevelBPE:
        """Reads a `tokenizer.json`. Raises `BadInput` if it is of another kind, or does not go with the settings."""
        tokenizer = self._from_json(load_object(path))
        return adopted(tokenizer, self, path, f"a byte-level BPE as {self.model}'s", ("add_prefix_space",))

    @classmethod
    def read(cls, directory: Path) -> TrainedByteLevelBPE | None:
        """Reads tokenizer.json, or vocab.json and merges.txt, which older checkpoints have; None if there are none."""
        whole, entries, merges = (directory / name for name in ("tokenizer.json", "vocab.json", "merges.txt"))
        if whole.is_file():
            tokenizer = cls._from_json(load_object(whole), directory)
            theirs = None if tokenizer is None else optional_object(directory / CONFIG).get("add_prefix_space")
            if tokenizer is not None and theirs not in (None, tokenizer.settings.add_prefix_space):
                raise BadInput(f"{whole} and {CONFIG} differ in add_prefix_space: correct one")
            return tokenizer
        if not entries.is_file() or not merges.is_file():
            return None
        lines = content(merges, "checkpoint file").decode(errors="replace").replace("\r", "").split("\n")
        pairs = [line.split(" ") for line in lines if line.strip() and not line.startswith("#version")]
        pieces = load_object(entries)
        added = tokens([], pieces, cls.specials, directory) or []
        prefix = optional_object(directory / CONFIG).get("add_prefix_space", False)
        return cls._of(pieces, pairs, prefix, added)

    @classmethod
    def _from_json(cls, data: Mapping[str, Any], directory: Path | None = None) -> TrainedByteLevelBPE | None:
        """The tokenizer in a tokenizer.json, with the tokens that other files of its `directory` add; None if it does
        not split text as RoBERTa's does."""
        model, splitting = data.get("model"), data.get("pre_tokenizer")
        if not isinstance(model, dict) or not isinstance(splitting, dict):
            return None
        if (model.get("type", "BPE"), splitting.get("type")) != ("BPE", "ByteLevel"):
            return None
        if any({**data, **model}.get(name) for name in _DEFAULTS) or splitting.get("use_regex", True) is not True:
            return None
        entries, merges = model.get("vocab"), model.get("merges")
        if not isinstance(merges, list) or not isinstance(entries, dict):
            return None
        added = tokens(data.get("added_tokens") or [], entries, cls.specials, directory)
        pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]  # old files join the two
        return None if added is None else cls._of(entries, pairs, splitting.get("add_prefix_space", True), added)

    @classmethod
    def _of(
        cls, entries: Mapping[str, Any], merges: Sequence[Any], prefix: Any, added: Sequence[Token]
    ) -> TrainedByteLevelBPE | None:
        """The tokenizer with these entries, merges and added tokens, which become entries too: no merge makes one. None
        if they are not those of a tokenizer."""
        entries = {**entries, **{token["content"]: token["id"] for token in added}}
        numbered = all(type(number) is int for number in entries.values())
        if not numbered or sorted(entries.values()) != list(range(len(entries))):
            return None
        for pair in merges:
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
                return None
            if not {*pair, "".join(pair)} <= entries.keys():
                return None
        from tokenizers import pre_tokenizers

        if not entries.keys() >= {*pre_tokenizers.ByteLevel.alphabet()}:
            return None
        return cls(add_prefix_space=prefix)._trained(entries, merges, added)

    def _trained(
        self, entries: Mapping[str, int], merges: Sequence[Any], added: Sequence[Token] = ()
    ) -> TrainedByteLevelBPE:
        return TrainedByteLevelBPE(entries, merges, self, added)

    def _around(self, model: Any) -> RustTokenizer:
        """`model` with GPT-2's splitting; offsets leave out the space in front of a word."""
        from tokenizers import Tokenizer as RustTokenizer
        from tokenizers import decoders, pre_tokenizers, processors

        backend = RustTokenizer(model)
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=self.add_prefix_space)
        backend.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=self.add_prefix_space)
        backend.decoder = decoders.ByteLevel()
        return backend


class TrainedByteLevelBPE(TrainedTokenizer):
    """Byte-level BPE with its vocabulary and its merges."""

    specials: ClassVar[tuple[str, ...]] = ByteLevelBPE.specials
    spaced: ClassVar[bool] = True
    settings: ByteLevelBPE

    def __init__(
        self,
        entries: Mapping[str, int],
        merges: Sequence[Sequence[str]],
        settings: ByteLevelBPE,
        added: Sequence[Token] = (),
    ) -> None:
        from tokenizers import models

        model = models.BPE(dict(entries), [(first, second) for first, second in merges])
        super().__init__(settings, sorted(entries, key=entries.__getitem__), settings._around(model), added)

    @cached_property
    def word_starts(self) -> Bool:
        """Which entries can begin a word, shape (size,): those with white space in front.

        Punctuation without a space is a part of its word, as in RoBERTa's released code.
        """
        return np.array([self.shown(number)[:1].isspace() for number in range(self.size)])

    def begin_words(self, tokens: Integer) -> Bool:
        """Which tokens of sequences (S, T) begin a word, as the text was split before its words were: at spaces and
        between letters, digits and other characters."""
        from tokenizers import decoders, pre_tokenizers

        join, split = decoders.ByteLevel(), pre_tokenizers.ByteLevel(add_prefix_space=False)
        begin = super().begin_words(tokens)
        for row, flags in zip(tokens.tolist(), begin, strict=True):
            pieces = [self.vocabulary[number] for number in row]
            starts = [*accumulate(map(len, pieces), initial=0)]
            ends = [0, *accumulate(len(word) for word, _ in split.pre_tokenize_str(join.decode(pieces)))]
            if ends[-1] == starts[-1]:  # not with added tokens, which are no bytes
                flags[:] = np.isin(starts[:-1], ends)
        return begin

    def encode_around(self, parts: Sequence[str]) -> list[list[int]]:
        """The space in front of a masked word is a part of it, and none is put in front of what follows one."""
        from tokenizers import pre_tokenizers

        first, *others = [*(part.rstrip(" ") for part in parts[:-1]), parts[-1]]
        joined = type(self.backend).from_str(self.backend.to_str())
        joined.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        behind = joined.encode_batch([valid(part) for part in others], add_special_tokens=False)
        return [*self.encode([first]), *(encoding.ids for encoding in behind)]

    def shown(self, number: int) -> str:
        """The text of an entry, with its space; bytes that are no character are \ufffd."""
        from tokenizers import decoders

        return decoders.ByteLevel().decode([self.vocabulary[number]])

    def encode_words(self, sentences: Sequence[Sequence[str]]) -> list[tuple[list[int], list[int]]]:
        """Words follow a space, but for the first of a sentence."""
        return super().encode_words([[*words[:1], *(f" {word}" for word in words[1:])] for words in sentences])

    @property
    def config(self) -> dict[str, Any]:
        """The fields of tokenizer_config.json that are its own."""
        _, _, cls, sep, _ = self.specials
        ends = {"bos_token": cls, "eos_token": sep} if (cls, sep) == ("<s>", "</s>") else {}  # RoBERTa's
        return {**super().config, **ends, "add_prefix_space": self.settings.add_prefix_space}

    def write(self, directory: Path, length: int, segments: int) -> None:
        """Writes it in the files of `transformers`, a vocab.json and a merges.txt among them."""
        super().write(directory, length, segments)
        self.backend.model.save(str(directory))
