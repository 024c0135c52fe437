"""Seeded random draws, and texts that they make of templates."""

import hashlib
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

VERSION = 1
"""Raised when any document changes; part of the ids of runs on the corpus. See also `synthetic.version`."""
TEMPLATES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("templates.toml").read_text(encoding="utf-8"))
WORDS: dict[str, list[str]] = TEMPLATES["words"]


class Draw:
    """A generator seeded by the SHA-256 of `parts`: the same bits on every machine, in every process.

    It uses only `random.Random.random`, whose stream Python keeps the same in all versions, unlike those of `choice`
    and `shuffle`.
    """

    __slots__ = ("uniform",)

    def __init__(self, *parts: int | str) -> None:
        digest = hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).digest()
        self.uniform = random.Random(int.from_bytes(digest[:8], "big")).random

    def below(self, bound: int) -> int:
        """An integer from 0 to `bound` - 1."""
        return int(self.uniform() * bound)

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return self.uniform() < share

    def one(self, items: Sequence[T]) -> T:
        """One of `items`."""
        return items[int(self.uniform() * len(items))]

    def other(self, items: Sequence[T], than: T) -> T:
        """One of `items` that differs from `than`."""
        item = self.one(items)
        while item == than:
            item = self.one(items)
        return item

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different `items`, in random order."""
        pool = list(items)
        for index in range(count):
            chosen = index + self.below(len(pool) - index)
            pool[index], pool[chosen] = pool[chosen], pool[index]
        return pool[:count]


@dataclass
class _Slots:
    draw: Draw
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        value = self.values[name] if name in self.values else WORDS[name]
        if isinstance(value, list):
            return self.draw.one(value)
        return value() if callable(value) else value


def text(draw: Draw, template: str | list[str], values: Mapping[str, Any]) -> str:
    """Fills the slots of a template; of several templates, fills all and returns one.

    The syntax is that of `str.format`. A value that is a list gives a random item in each slot, and a function its
    result. Each template may also use the lists `WORDS`.
    """
    if isinstance(template, str):
        return template.format_map(_Slots(draw, values))
    texts = [text(draw, part, values) for part in template]
    return draw.one(texts) if len(texts) > 1 else texts[0]


def sentence(clause: str, end: str = ".") -> str:
    """The clause, in the past tense, with the right articles, a capital and a full stop."""
    written = re.sub(r"\b([Aa]) (?=(?:[aeio]|un|up|ug|hones))", r"\1n ", clause)
    return written[0].upper() + written[1:] + end


def marked(clause: str) -> Iterator[tuple[str, list[str]]]:
    """The words of a clause as a sentence: those of a mention `<mark:words>` together, others alone, without a mark."""
    for piece in re.finditer(r"<(\w+):([^>]*)>|[A-Za-z-]+|[^\sA-Za-z<>]", sentence(clause)):
        mark, words = piece.groups("")
        yield mark, words.split() if mark else [piece.group()]
