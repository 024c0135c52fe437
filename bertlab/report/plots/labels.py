"""Names cut and broken to the room that they have, by the width that they are drawn in."""

from __future__ import annotations

from functools import cache

from bertlab.names import plain
from bertlab.report import escape
from bertlab.report.plots.style import TEXT

_LONGEST = 120
"""Characters of a name that are looked at."""


@cache
def width(text: str, size: float = TEXT) -> float:
    """Inches that `text`, already escaped, takes on a line in type of `size` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]) / 72


def cut(name: str, inches: float, size: float = TEXT) -> str:
    """`name`, escaped, on a line of `inches`; of what is too long the end is kept, in which names often differ."""
    line = plain(name)[:_LONGEST]
    shown, kept = line, len(line)
    while kept > 2 and width(escape.figure(shown, _LONGEST), size) > inches:
        kept -= 1
        shown = f"{line[: kept - kept // 3].rstrip()}…{line[-(kept // 3) :].lstrip()}"
    return escape.figure(shown, _LONGEST)


def wrapped(name: str, inches: float, size: float = TEXT, lines: int = 2) -> str:
    """`name`, escaped, on at most so many lines of `inches`, broken between words; what is left is cut."""
    rest, done = plain(name)[:_LONGEST].split(), list[str]()
    while rest and len(done) < lines - 1:
        words = 1
        while words < len(rest) and _fits(rest[: words + 1], inches, size):
            words += 1
        if not _fits(rest[:words], inches, size):
            break
        done.append(cut(" ".join(rest[:words]), inches, size))
        rest = rest[words:]
    return "\n".join([*done, cut(" ".join(rest), inches, size)] if rest or not done else done)


def _fits(words: list[str], inches: float, size: float) -> bool:
    return width(escape.figure(" ".join(words), _LONGEST), size) <= inches
