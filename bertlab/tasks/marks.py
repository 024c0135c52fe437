"""Marks the words that a task asks about in their text, `[ it ]`: without, a model cannot know which `it` is meant.

A member of `Task.text` says it in braces: `{sentence[start:end]}` names the columns of the first character and of the
end, `{text[index@words]}` those of the number of the first word, from 0, and of the words themselves.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bertlab.errors import BadInput
from bertlab.names import shown

COMMAS = ", "
"""Behind the name of a column of lists in braces, `{names, }`: their texts stand between commas, not spaces."""
_SPAN = re.compile(r"([^\[\]]+)\[([^\[\]:@]+)([:@])([^\[\]:@]+)\]")
_WORD = re.compile(r"\S+")
SLACK = 3
"""Words by which the number of a word may be wrong: some of SuperGLUE's are, by one, and texts have double spaces."""


def columns(field: str) -> tuple[str, ...]:
    """The columns that a field in braces reads: the text, and those of the span to mark in it, if any."""
    match = _SPAN.fullmatch(field)
    return (match[1], match[2], match[4]) if match else (field.removesuffix(COMMAS),)


def marked(text: str, begin: int, end: int) -> str:
    """The text with the characters from `begin` to `end` marked."""
    return f"{text[:begin]}[ {text[begin:end]} ]{text[end:]}"


def apply(
    field: str, texts: Sequence[str], table: Mapping[str, Sequence[Any]], where: Callable[[str], str]
) -> list[str]:
    """The texts of a field in braces, marked if it says so. Raises `BadInput` for the first row without such a span in
    its text, and if most spans cut words: they are counted in another way; `where` names a column."""
    match = _SPAN.fullmatch(field)
    if match is None:
        return list(texts)
    _, first, between, second = match.groups()
    locate, advice = {":": (_characters, "characters"), "@": (_words, "words")}[between]
    marks: list[str] = []
    cut: list[str] = []
    for row, (text, one, two) in enumerate(zip(texts, table[first], table[second], strict=True), start=1):
        span = locate(text, number(one), two)
        if span is None:
            wrong = f"{where(first)} row {row}: {shown(one)} and {shown(two)} of {second} are no span of the text"
            raise BadInput(f"{wrong}: give its place in {advice}")
        marks.append(marked(text, *span))
        if between == ":" and _cuts_a_word(text, *span):
            cut.append(f"{where(first)} row {row}: {shown(one)} and {shown(two)} of {second} are {shown(marks[-1])}")
    if 2 * len(cut) > len(marks):
        raise BadInput(f"{cut[0]}: count characters from 0, the end behind the last one")
    return marks


def _cuts_a_word(text: str, begin: int, end: int) -> bool:
    """Whether a span ends at a space or within a word of ASCII letters: other scripts may have no spaces."""
    ends = [text[max(0, at - 1) : at + 1] for at in (begin, end)]
    within = any(len(pair) == 2 and pair.isascii() and pair.isalnum() for pair in ends)
    return within or text[begin:end] != text[begin:end].strip()


def number(value: Any) -> int:
    """A position, which tables have as text; -1 for what is none."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else -1
    return value if type(value) is int else -1


def _characters(text: str, begin: int, end: Any) -> tuple[int, int] | None:
    """A span by its first character and its end."""
    return (begin, number(end)) if 0 <= begin < number(end) <= len(text) else None


def _words(text: str, index: int, words: Any) -> tuple[int, int] | None:
    """The place of `words` that is nearest to the word at `index`."""
    starts = [word.start() for word in _WORD.finditer(text)]
    if not 0 <= index < len(starts) or not isinstance(words, str) or not words:
        return None
    near = range(starts[max(0, index - SLACK)], [*starts, len(text)][min(len(starts), index + SLACK + 1)])
    places = [match.span() for match in re.finditer(rf"(?<!\w){re.escape(words)}", text, re.IGNORECASE)]
    return min(
        (span for span in places if span[0] in near), key=lambda span: abs(span[0] - starts[index]), default=None
    )
