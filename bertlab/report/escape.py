"""Names that come from data, escaped for Markdown and CSV: no table cell ends early, no link, no HTML, no formula."""

import re

from bertlab.names import plain

# entities for what some renderers do not let a backslash escape; backslashes for the rest, which stays readable
_MARKDOWN = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    | {character: f"&#{ord(character)};" for character in "\\`|$~@"}  # GitHub makes a link of an escaped @ all the same
    | {character: f"\\{character}" for character in "*[]"}
)
_FORMULA = re.compile("'*[-=+@－＝＋＠]")
"""The beginning of a formula in a spreadsheet, escaped or not: to remove one apostrophe gives the name back."""


def markdown(text: str) -> str:
    """`text` as words within a line of Markdown, or in a table's cell."""
    line = plain(text).translate(_MARKDOWN)
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
