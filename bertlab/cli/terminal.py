"""A console on which names are only text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bertlab.names import visible


class Terminal(Console):
    """Rich's console, strings on it being neither markup nor emoji codes.

    Every escape sequence is its own: those in a string, and marks that turn the direction of a line, are left out.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is drawn, as pieces of text and of control."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))
