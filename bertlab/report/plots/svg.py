"""A figure as the bytes of an SVG that can stand in a page beside others."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTHING: dict[str, None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
_ID = re.compile(r'\bid="|href="#|url\(#')
"""Where an id is given, or meant."""


def written(figure: Figure, prefix: str) -> bytes:
    """The same bytes each time. All ids start with `prefix`; there is no name in it but as a shape, and no style sheet.

    A style sheet would hold for the whole page, and what matplotlib puts into comments is text from data.
    """
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata=_NOTHING)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*<style.*?</style>", "", text, flags=re.DOTALL)
    text = text.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    return _ID.sub(lambda found: f"{found[0]}{prefix}-", text).encode()
