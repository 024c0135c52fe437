"""Tagging of words, as in BERT section 5.3: the first word piece of each word carries the word's tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.tasks.examples import Examples, Integers

if TYPE_CHECKING:
    from bertlab.text.tokenizers.wordpiece import WordPiece

_BIO = re.compile(r"O|[BI]-.+")


def is_bio(names: Iterable[str]) -> bool:
    """Whether tags mark entities: all of them O, B-type or I-type, and not all of them O."""
    names = set(names)
    return all(_BIO.fullmatch(name) for name in names) and names != {"O"}


def bio(tags: Sequence[str]) -> list[str]:
    """The tags of a sentence with every entity opened by a B: IOB1, which opens with I, becomes BIO.

    An I after O, at the start or after another type opens an entity, as conlleval reads it.
    """
    opened = []
    before = "O"
    for tag in tags:
        opened.append(f"B{tag[1:]}" if tag[0] == "I" and before[1:] != tag[1:] else tag)
        before = tag
    return opened


def sentences(
    words: Sequence[Any], tags: Sequence[Any], where: str, table: bool, names: tuple[str, str] = ("tokens", "tags")
) -> tuple[list[Any], list[Any]]:
    """Checks the raw columns of a split, called `names`: lists of texts and as many tags. Cells of a `table` are split
    at spaces.

    Raises `BadInput` with the row of the first sentence that is not so.
    """
    if table:
        words, tags = ([cell.split() for cell in column] for column in (words, tags))
    for row, (sentence, marks) in enumerate(zip(words, tags, strict=True), start=1):
        if not isinstance(sentence, list) or not all(isinstance(word, str) for word in sentence):
            raise BadInput(f"{where} column {names[0]} row {row} is {shown(sentence)}: give a list of texts")
        if not isinstance(marks, list):
            raise BadInput(f"{where} column {names[1]} row {row} is {shown(marks)}: give a list of tags")
        if len(sentence) != len(marks):
            raise BadInput(f"{where} row {row} has {len(sentence)} tokens and {len(marks)} tags: give one tag a token")
    return list(words), list(tags)


def named(tags: Sequence[Sequence[Any]], names: tuple[str, ...], where: str) -> list[list[str]]:
    """The tags of a split as names in BIO, (sentences, words); integers are looked up in `names`.

    Raises `BadInput`, with the row, for an integer without a name and for a tag that is not among `names` (if any).
    """
    allowed = set(names)
    listed = ", ".join(names) or "O, B-type, I-type"
    found = []
    for row, sentence in enumerate(tags, start=1):
        texts = []
        for tag in sentence:
            number = tag if isinstance(tag, int) and not isinstance(tag, bool) else None
            if isinstance(tag, str) and tag not in allowed and tag.isdecimal() and len(tag) < 10:  # a table's cell
                number = int(tag)
            if number is not None and not names:
                raise BadInput(
                    f"tag {shown(tag)} in {where} row {row} has no name: name the labels, or give tags as texts"
                )
            if number is not None and 0 <= number < len(names):
                tag = names[number]
            if not isinstance(tag, str) or not tag or (names and tag not in allowed):
                raise BadInput(f"tag {shown(tag)} in {where} row {row}: give one of {listed}")
            texts.append(tag)
        found.append(texts)
    used = {tag for sentence in found for tag in sentence}
    if is_bio(used):
        return [bio(sentence) for sentence in found]
    odd = sorted(tag for tag in used if not _BIO.fullmatch(tag))
    if any(tag[:2] in ("B-", "I-") for tag in used):
        row = next(row for row, sentence in enumerate(found, start=1) if odd[0] in sentence)
        raise BadInput(f"tag {shown(odd[0])} in {where} row {row}: beside B- and I- tags only O is understood")
    return found


def label_names(splits: Sequence[Sequence[Sequence[str]]]) -> tuple[str, ...]:
    """The tags of several splits in a fixed order: O first, then B and I of each type; others by the alphabet."""
    used = {tag for split in splits for sentence in split for tag in sentence}
    if not is_bio(used):
        return tuple(sorted(used))
    types = sorted({tag[2:] for tag in used if tag != "O"})
    return ("O", *(f"{position}-{each}" for each in types for position in "BI"))


def numbers(tags: Sequence[Sequence[str]], names: tuple[str, ...], where: str) -> list[Integers]:
    """The tags of each sentence as integers; `BadInput` if opening an entity asks for a B tag that is not named."""
    known = {name: number for number, name in enumerate(names)}
    missing = {tag for sentence in tags for tag in sentence} - set(names)
    if missing:
        raise BadInput(f"{where} needs the tag '{min(missing)}' to open an entity: add it to the labels")
    return [np.array([known[tag] for tag in sentence], np.int64) for sentence in tags]


@dataclass(frozen=True)
class Context:
    """The documents that sentences stand in."""

    sentences: Sequence[Sequence[str]]
    """All sentences of the split, in order, as words."""
    documents: Integers
    """(S,) the number of the document of each, ascending."""
    places: Integers
    """(R,) which of them each of the tagged sentences is."""


def documents(sentences: Sequence[Sequence[str]], groups: Integers | None) -> Integers:
    """(S,) the number of the document of each sentence: a run of one group or, without groups, what stands between
    CoNLL's -DOCSTART- lines. Without those either, all sentences are one document, in the order of the split."""
    if groups is not None:
        new = np.diff(groups, prepend=groups[:1]) != 0
    else:
        start = np.array([list(sentence[:1]) == ["-DOCSTART-"] for sentence in sentences])
        new = start | np.insert(start, 0, False)[:-1]
    return np.cumsum(new)


def examples(
    words: Sequence[Sequence[str]],
    tags: Sequence[Integers],
    tokenizer: WordPiece,
    length: int,
    context: Context | None = None,
) -> Examples:
    """Sentences as arrays: [CLS] pieces [SEP], with a target at the first piece of each word.

    A sentence longer than `length` tokens goes on in further rows, so that every word has its target once, in order;
    only the end of a single word longer than a row is dropped. With a `context`, what room is left is filled with the
    pieces of the same document before and behind, half each where there are as many; they have no targets.
    """
    budget = length - 2
    text, at, low, high = _around(words, tokenizer, context)
    rows: list[Integers] = []
    places: list[Integers] = []
    owners: list[int] = []
    for sentence, (pieces, word_of) in enumerate(tokenizer.encode_words(words)):
        starts = np.flatnonzero(np.diff(np.asarray(word_of, np.int64), prepend=-1))
        ends = np.append(starts[1:], len(pieces))
        word = 0
        while word < len(starts):
            begin = int(starts[word])
            # As many whole words as fit; at least one, cut short if it alone does not.
            after = max(word + 1, int(np.searchsorted(ends, begin + budget, side="right")))
            end = min(int(ends[after - 1]), begin + budget)
            room = budget - (end - begin) if context is not None else 0
            before, behind = at[sentence] + begin - low[sentence], high[sentence] - at[sentence] - end
            left = min(before, max(room // 2, room - behind))
            right = min(behind, room - left)
            row = text[at[sentence] + begin - left : at[sentence] + end + right]
            rows.append(np.concatenate([[tokenizer.cls], row, [tokenizer.sep]]))
            places.append((starts[word:after] - begin + 1 + left).astype(np.int32))
            owners += [sentence] * (after - word)
            word = after
    return Examples.of(
        rows,
        seconds=np.array([len(row) for row in rows], np.int32),
        places=places,
        targets=np.concatenate([np.zeros(0, np.int64), *tags]),
        owners=np.array(owners, np.int64),
        pad=tokenizer.pad,
        count=len(words),
    )


def _around(
    words: Sequence[Sequence[str]], tokenizer: WordPiece, context: Context | None
) -> tuple[Integers, Integers, Integers, Integers]:
    """The pieces of all text in a row, (N,); where each tagged sentence starts, and its document starts and ends, (R,)
    each."""
    sentences = words if context is None else context.sentences
    pieces = [np.asarray(each, np.int32) for each, _ in tokenizer.encode_words(sentences)]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in pieces], dtype=np.int64)])
    text = np.concatenate([np.zeros(0, np.int32), *pieces])
    if context is None:
        return text, starts, starts, starts[1:]
    own = context.documents[context.places]
    first, after = (np.searchsorted(context.documents, own, side) for side in ("left", "right"))
    return text, starts[context.places], starts[first], starts[after]
