"""SentencePiece (Kudo and Richardson 2018): trains the pieces of Unigram, and reads its file, `spiece.model`."""

from __future__ import annotations

import base64
import io
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bertlab.errors import BadInput
from bertlab.store.files import content
from bertlab.text.tokenizers.alphabet import alphabet

SPACE = "▁"
"""The space in front of a word."""
_RESERVED = ("\0", "▅")
"""Characters that the library keeps for itself."""
_DECIMALS = 4
"""The decimals of scores that are kept: the last bits of logarithms depend on the processor."""
_UNIGRAM, _CONTROL, _USER_DEFINED = 1, 3, 4
"""Values of `TrainerSpec.ModelType` and of `ModelProto.SentencePiece.Type`."""


def trained(texts: Iterable[str], size: int) -> list[list[Any]]:
    """Trains at most `size` pieces on normalised texts; gives them with their log-probabilities, the best first.

    Characters beyond the `alphabet` are unknown. One thread adds numbers in one order, so that the pieces are the same
    in any process.
    """
    import sentencepiece

    lines = [line for text in texts if (line := " ".join(text.replace(SPACE, " ").split()))]
    counts: Counter[str] = Counter({SPACE: sum(line.count(" ") + 1 for line in lines)})
    for line in lines:
        counts.update(line)
    for character in (" ", *_RESERVED):
        del counts[character]
    unknown = str.maketrans(dict.fromkeys({*counts, *_RESERVED} - {*alphabet(counts, size)}, " "))
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(line.translate(unknown) for line in lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=size + 1,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            character_coverage=1.0,
            max_sentence_length=1 << 20,
            num_threads=1,
            minloglevel=2,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
        )
    except RuntimeError:
        return []  # without words
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    ids = list(range(1, processor.get_piece_size()))
    scores = [round(score, _DECIMALS) for score in processor.get_score(ids)]
    scored = sorted(zip(processor.id_to_piece(ids), scores, strict=True), key=lambda entry: (-entry[1], entry[0]))
    return [[piece, score] for piece, score in scored]


def read(path: Path) -> dict[str, Any] | None:
    """What a `spiece.model` has in common with a tokenizer.json: `model`, `added_tokens`, and the `table` of characters
    of its normaliser, empty for none. None for another model than Unigram, or one that treats spaces in another way.

    Raises `BadInput` if the file is damaged.
    """
    try:
        message = list(_fields(content(path, "checkpoint file")))
        trainer, normaliser = (dict(_fields(dict(message)[number])) for number in (2, 3))
        pieces = [{1: b"", 2: bytes(4), 3: 1, **dict(_fields(value))} for number, value in message if number == 1]
        entries = [[piece[1].decode(), *struct.unpack("<f", piece[2])] for piece in pieces]
    except (LookupError, TypeError, ValueError, AttributeError, struct.error):
        raise BadInput(f"{path} is damaged: fetch the checkpoint again") from None
    if trainer.get(3, _UNIGRAM) != _UNIGRAM or trainer.get(35) or trainer.get(24):
        return None  # with bytes for unknown characters, or spaces behind words
    if 0 in map(normaliser.get, (3, 4, 5)):
        return None  # with spaces that it keeps as they are
    special = {_CONTROL: True, _USER_DEFINED: False}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": number, "content": entry[0], "special": special[piece[3]], **flags}
        for number, (piece, entry) in enumerate(zip(pieces, entries, strict=True))
        if piece[3] in special
    ]
    model = {"type": "Unigram", "unk_id": trainer.get(40, 0), "vocab": entries}
    return {"model": model, "added_tokens": added, "table": base64.b64encode(normaliser.get(2, b"")).decode()}


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of protocol buffers: their numbers and values, bytes if these are no integers."""
    at = 0

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        length = varint() if kind == 2 else {1: 8, 5: 4}[kind]
        if at + length > len(message):
            raise ValueError("the message ends within a field")
        yield number, message[at : at + length]
        at += length
