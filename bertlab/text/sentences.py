"""Documents to sentences, by the English rules of the `sentencex` library (no model, nothing downloaded)."""

import re
from collections.abc import Iterator

PIECE = 200_000
"""Characters that are segmented at once: longer documents are cut first, which bounds memory."""
LONGEST = 2_000
"""Characters of the longest sentence, about 450 tokens. Text without full stops is cut at spaces: BERT truncates a
sentence that does not fit into a segment, and would drop all of such a text except its beginning."""

_SPACES = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
"""White space outside ASCII: `sentencex` 1.0 panics on some of it before a full stop."""
_WITHIN = re.compile("[ \t\n]+")


def sentences(document: str) -> Iterator[str]:
    """The sentences of a document, in order, stripped, none empty. A blank line always ends a sentence.

    White space within a sentence is one space: tokenizers that keep it would keep the line ends of wrapped text.
    """
    import sentencex

    if "\r" in document:
        document = document.replace("\r\n", "\n").replace("\r", "\n")
    if not document.isascii():
        document = _SPACES.sub(" ", document)
    for piece in cut(document, PIECE):
        for segment in sentencex.segment("en", piece):
            if sentence := segment.strip():
                yield from (_WITHIN.sub(" ", part) for piece in cut(sentence, LONGEST) if (part := piece.strip()))


def cut(text: str, longest: int) -> Iterator[str]:
    """`text` in pieces of at most `longest` characters, cut after a blank line, else a line end, a space, anywhere."""
    start = 0
    while len(text) - start > longest:
        end = start + longest
        for mark in ("\n\n", "\n", " "):
            begin = text.rfind(mark, start, end)
            if begin > start:
                end = begin + len(mark)
                break
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
