"""trackio: a run for each page, in the group of its study, in a local database or a Space of the Hub."""

import contextlib
import io
import itertools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from bertlab.trackers.base import Page, Tables

if TYPE_CHECKING:
    import pandas


class Trackio:
    """Logs curves, final figures and tables. `TRACKIO_PROJECT` defaults to bertlab."""

    packages: ClassVar[tuple[str, ...]] = ("trackio",)

    def __init__(self, page: Page) -> None:
        with contextlib.redirect_stdout(io.StringIO()):  # the console is this command's own
            import trackio

            self.run = trackio.init(
                project=os.environ.get("TRACKIO_PROJECT", "bertlab"),
                name=f"{page.name}-{page.id}",  # it finds a run to resume by its name
                group=page.group,
                config=dict(page.fields),
                resume="allow",
                embed=False,
                auto_log_cpu=False,
                auto_log_gpu=False,
            )

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Logs a point of the curves."""
        self.run.log(dict(figures), step)

    def finish(self, figures: Mapping[str, float], step: int, tables: Tables | None = None) -> None:
        """Logs the final figures and tables as the last point, and the tables as a report: it has no other summary."""
        import trackio

        tables = tables or {}
        shown = {name: trackio.Table(dataframe=table) for name, table in tables.items()}
        if tables:
            shown["reports/summary"] = trackio.Markdown("\n\n".join(itertools.starmap(_listed, tables.items())))
        self.run.log({**figures, **shown}, step)

    def close(self, *, failed: bool) -> None:
        """Waits until everything is written."""
        import trackio

        with contextlib.redirect_stdout(io.StringIO()):
            trackio.finish()


def _listed(name: str, table: "pandas.DataFrame") -> str:
    """A table as a list of Markdown, since trackio's reports have no tables."""
    rows = (
        "; ".join(f"{column} {cell}" for column, cell in row.items() if cell is not None)
        for row in table.to_dict("records")
    )
    return "\n".join([f"## {name}", "", *(f"- {row}" for row in rows)])
