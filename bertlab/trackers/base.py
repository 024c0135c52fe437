"""What a tracker is: a place outside the store that shows the curves of trainings and the results of studies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    import pandas

Tables = Mapping[str, "pandas.DataFrame"]
"""Tables by name, whose missing values are None."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a tracker shows as one run: a training, or the results of a study."""

    id: str
    name: str
    """A label that people read; runs at other scales or in other stores may have the same."""
    group: str
    """The study. A run that several studies share belongs to the first that asked for it."""
    kind: str
    """`pretrain`, `finetune`, `features`, or `results` of a study."""
    folder: Path
    """Where the tracker writes if it writes to files; no other page has it."""
    fields: Mapping[str, Any]
    """What defines the page, as data of JSON, defaults included."""


class Tracker(Protocol):
    """A page that is open. A tracker is one file, whose class is an entry of `TRACKERS`.

    Its module imports the tracker's package only when a page is opened.
    """

    packages: ClassVar[tuple[str, ...]]
    """It needs one of these packages."""

    def __init__(self, page: Page) -> None:
        """Opens a page, or opens it again to continue. Raises whatever the package raises if it cannot."""

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Adds a point to the curves; no figure is logged twice for a step."""

    def finish(self, figures: Mapping[str, float], step: int, tables: Tables | None = None) -> None:
        """Shows the final figures, and tables."""

    def close(self, *, failed: bool) -> None:
        """Writes what is pending, and closes the page."""
