"""A Lightning logger of the user's own in place of a tracker: what `ablate(loggers=[...])` takes in Python."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.trackers.base import Page, Tables


@dataclass(frozen=True, eq=False)
class Opener:
    """Opens pages in a logger that all of them share, or in the one that a function makes for each page."""

    chosen: Any

    def __post_init__(self) -> None:
        if not (self.shared or callable(self.chosen)):
            raise BadInput(f"loggers has {shown(self.chosen)}: give names, Lightning loggers, or functions of a page")

    def __str__(self) -> str:
        return type(self.chosen).__name__

    @property
    def shared(self) -> bool:
        """Whether all pages have the same logger."""
        return callable(getattr(self.chosen, "log_metrics", None))

    def __call__(self, page: Page) -> "Lightning":
        """Opens a page."""
        return Lightning(page, self.chosen if self.shared else self.chosen(page), f"{page.name}/" * self.shared)


class Lightning:
    """Passes on curves and figures, without tables; the names of a shared logger begin with that of the page."""

    packages: ClassVar[tuple[str, ...]] = ("lightning",)

    def __init__(self, page: Page, logger: Any, prefix: str) -> None:
        self.logger, self.prefix = logger, prefix
        logger.log_hyperparams({page.name: dict(page.fields)} if prefix else dict(page.fields))

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Logs a point of the curves."""
        self.logger.log_metrics({f"{self.prefix}{name}": value for name, value in figures.items()}, step)
        self.logger.save()

    def finish(self, figures: Mapping[str, float], step: int, tables: Tables | None = None) -> None:
        """Logs the final figures as the last point."""
        self.log(figures, step)

    def close(self, *, failed: bool) -> None:
        """Ends a logger that has no other page."""
        if not self.prefix:
            self.logger.finalize("failed" if failed else "success")
