"""Names that come from data, escaped for Markdown and CSV: no table cell ends early, no link, no HTML, no formula."""

import re

from bertlab.names import plain

# entities for what some renderers do not let a backslash escape; backslashes for the rest, which stays readable
_MARKDOWN = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    "\\": "&#92;",
    "`": "&#96;",
    "|": "&#124;",
    "$": "&#36;",
    "~": "&#126;",
    "@": "&#64;",  # GitHub makes a link of an address all the same
    "*": "\\*",
    "[": "\\[",
    "]": "\\]",
}
_FORMULA = re.compile("'*[-=+@－＝＋＠]")
"""The beginning of a formula in a spreadsheet, escaped or not: to remove one apostrophe gives the name back."""


def markdown(text: str) -> str:
    """`text` as words within a line of Markdown, or in a table's cell."""
    line = "".join(_MARKDOWN.get(character, character) for character in plain(text))
    line = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", line)  # within a word an underscore is only that
    line = line.replace("://", "&#58;//")
    return re.sub(r"(www)\.", r"\1&#46;", line, flags=re.IGNORECASE)


def paragraph(text: str) -> str:
    """`text` as a separate line of Markdown: it neither opens nor closes a heading, a list or a rule."""
    line = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", markdown(text))
    line = re.sub(r"^([#=:]|[+-](?!\d))", r"\\\1", line)
    return re.sub(r"(?<=[^\\])#$", r"\\#", line)


def csv(text: str) -> str:
    """`text` as a CSV field of one line; an apostrophe precedes what a spreadsheet would read as a formula."""
    line = plain(text)
    return "'" + line if _FORMULA.match(line) else line
