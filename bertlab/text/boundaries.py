"""Where documents begin and end in the lines of text files and in records: what `corpus.documents` says.

A record is a line, and one of several lines is a document of its own, unless each record is one. Only line ends part
lines (`\\n`, `\\r\\n`, `\\r`), not Unicode's other separators.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedReader, TextIOWrapper
from statistics import median
from typing import IO

from bertlab.text.sentences import cut

LONGEST = 1_000_000
"""Characters of the longest document of lines: memory holds one."""
_ENDS = tuple(".!?。！？…")
"""What sentences end with."""
_TITLE = re.compile(r"= (?!= )(.+) =")
_MARK = re.compile(r"= = = .+ = = =")
"""What stands between the documents of BabyLM's files: `= = = PG123 = = =`."""


def of_text(stream: IO[bytes], unit: str) -> Iterator[str]:
    """The documents of a text file in UTF-8, with or without a byte order mark.

    Files that are a document each are cut at blank lines to at most `LONGEST` characters. Raises `UnicodeDecodeError`
    also for English text in UTF-16, which is UTF-8 with NUL characters between its letters.
    """
    stream = BufferedReader(stream)  # type: ignore[type-var]
    if 3 * (beginning := stream.peek(1)).count(0) > len(beginning):
        raise UnicodeDecodeError("utf-8", beginning, 0, 1, "it has as many NUL characters as UTF-16")
    if unit in RULES:
        with TextIOWrapper(stream, encoding="utf-8-sig") as text:
            yield from RULES[unit](iter(lambda: text.readline(LONGEST), ""))
        return
    held = ""
    with TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        while data := text.read(LONGEST):
            *whole, held = cut(held + data, LONGEST)
            yield from whole
    yield held


def of_records(records: Iterable[str], unit: str) -> Iterator[str]:
    """The documents of records: each, or what rules make of those that are lines."""
    if unit not in RULES:
        yield from records
        return
    for whole, group in itertools.groupby(records, lambda record: "\n" in record.strip()):
        rule = iter if whole else RULES[unit]
        yield from rule(group)


def _lines(lines: Iterable[str]) -> Iterator[str]:
    """Makes each line a document."""
    return map(str.strip, lines)


def _between_blank_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines between blank ones: a sentence each in BERT's own corpora."""
    return _from(lines, lambda line, blank: not line)


def _articles(lines: Iterable[str]) -> Iterator[str]:
    """WikiText's articles, which begin at a line ` = Title = ` behind a blank one."""
    return _from(lines, lambda line, blank: blank and bool(_TITLE.fullmatch(line)))


def _babylm(lines: Iterable[str]) -> Iterator[str]:
    """The lines between BabyLM's marks, which are left out; those between blank lines, if the first `LONGEST`
    characters have no mark."""
    lines, size, first = iter(lines), 0, []
    for line in lines:
        first.append(line)
        size += len(line)
        if size > LONGEST or _MARK.fullmatch(line.strip()):
            break
    rest = itertools.chain(first, lines)
    if not first or not _MARK.fullmatch(first[-1].strip()):
        return _between_blank_lines(rest)
    documents = _from(rest, lambda line, blank: bool(_MARK.fullmatch(line)))
    return (_MARK.sub("", document, count=1) if _MARK.match(document) else document for document in documents)


def _from(lines: Iterable[str], begins: Callable[[str, bool], bool]) -> Iterator[str]:
    """Documents of lines, without the space around each; one `begins` at a line, known by itself and whether the one
    before is blank, or where a document would be longer than `LONGEST`."""
    document: list[str] = []
    size, blank = 0, True
    for raw_line in lines:
        line = raw_line.strip()
        size += len(line) + 1
        if document and (size > LONGEST or begins(line, blank)):
            yield "\n".join(document)
            document, size = [], len(line) + 1
        document.append(line)
        blank = not line
    if document:
        yield "\n".join(document)


RULES: dict[str, Callable[[Iterable[str]], Iterator[str]]] = {
    "line": _lines,
    "blank-line": _between_blank_lines,
    "article": _articles,
    "babylm": _babylm,
}
"""How lines become documents, by the value of `corpus.documents`."""


def _has_sentences_and_blank_lines(lines: Sequence[str]) -> bool:
    """Whether nearly all lines end as sentences do, several between two blank ones, as in BERT's corpora."""
    ended = [line.rstrip("\"'”’)]»")[-1:] in _ENDS for line in lines if line]
    blocks = [*filter(None, map(len, map(str.split, _between_blank_lines("x" * bool(line) for line in lines))))]
    return len(blocks) > 2 and median(blocks) > 1 and sum(ended) >= 0.9 * len(ended)


SIGNS: dict[str, Callable[[Sequence[str]], bool]] = {
    "babylm": lambda lines: any(map(_MARK.fullmatch, lines)),
    "article": lambda lines: sum(
        not before and bool(_TITLE.fullmatch(line)) for before, line in itertools.pairwise(["", *lines])
    ) > 1,
    "blank-line": _has_sentences_and_blank_lines,
}  # fmt: skip
"""Whether stripped lines look as if documents begin where the rule of this name says."""
