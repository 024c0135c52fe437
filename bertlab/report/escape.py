"""Names that come from data, made harmless for Markdown, CSV, figures and file names.

A study's file, a data set and a label may carry any text. What reaches a page is text again: no table cell ends early,
no link, no HTML, no formula of a spreadsheet, no path out of the folder.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

# Entities for what some renderers do not let a backslash escape; backslashes for the rest, which stays readable.
_MARKDOWN = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "\\": "&#92;",
    "`": "&#96;",
    "|": "&#124;",
    "$": "&#36;",
    "~": "&#126;",
    "*": "\\*",
    "[": "\\[",
    "]": "\\]",
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain(text: str) -> str:
    """`text` on one line: white space joined, control and invisible format characters gone."""
    spaced = " ".join(text.split())
    return "".join(each for each in spaced if unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Co"))


def markdown(text: str) -> str:
    """`text` as words within a line of Markdown, or in a table's cell."""
    line = "".join(_MARKDOWN.get(each, each) for each in plain(text))
    line = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", line)  # within a word an underscore is only that
    line = line.replace("://", "&#58;//")
    return re.sub(r"\bwww\.", "www&#46;", line, flags=re.IGNORECASE)


def paragraph(text: str) -> str:
    """`text` as a line of Markdown of its own: it opens no heading, list or rule."""
    line = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", markdown(text))
    return re.sub(r"^([#=]|[+-](?!\d))", r"\\\1", line)


def csv(text: str) -> str:
    """`text` as a CSV field that no spreadsheet takes for a formula: an apostrophe stands before it if need be."""
    return "'" + text if text.startswith(_FORMULA) else text


def figure(text: str, longest: int = 26) -> str:
    """`text` as a label in a figure: one line, cut to `longest` characters, dollars not opening a formula."""
    line = plain(text)
    if len(line) > longest:
        line = line[: longest - 1] + "…"
    # matplotlib hides labels that start with an underscore
    return (" " + line if line.startswith("_") else line).replace("$", r"\$")


def filename(name: str) -> str:
    """`name` as the stem of a file: kept where it is one, otherwise a slug with a hash that tells it from others."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip(".-_")[:64]
    if name and slug == name and name != "index":
        return name
    return f"{slug or 'study'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
