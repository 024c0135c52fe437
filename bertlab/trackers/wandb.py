"""Weights & Biases: a run for each page, in the group of its study. Account and mode come from its own variables."""

import os
from collections.abc import Mapping
from typing import ClassVar

from bertlab.trackers.base import Page, Tables

STEP = "trainer/global_step"
"""The x-axis of all curves, under the name that Lightning's logger gives it."""


class Wandb:
    """Logs curves over `STEP`, final figures as the run's summary, and tables. `WANDB_PROJECT` defaults to bertlab."""

    packages: ClassVar[tuple[str, ...]] = ("wandb",)

    def __init__(self, page: Page) -> None:
        import wandb

        self.run = wandb.init(
            id=page.id,
            name=page.name,
            group=page.group,
            job_type=page.kind,
            config=dict(page.fields),
            dir=page.folder,
            project=os.environ.get("WANDB_PROJECT", "bertlab"),
            resume="allow",
            reinit="create_new",  # a run that the user's own code has open stays open
            settings=wandb.Settings(console="off", silent=True),  # the console is this command's own
        )
        self.run.define_metric(STEP)
        self.run.define_metric("*", step_metric=STEP, step_sync=True)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Logs a point of the curves."""
        self.run.log({**figures, STEP: step})

    def finish(self, figures: Mapping[str, float], step: int, tables: Tables | None = None) -> None:
        """Logs tables, and figures to the summary, which W&B shows as columns of its list of runs."""
        import wandb

        for name, table in (tables or {}).items():
            # a column may hold numbers and nothing
            shown = wandb.Table(columns=list(table.columns), data=table.values.tolist(), allow_mixed_types=True)
            self.run.log({name: shown, STEP: step})
        self.run.summary.update(dict(figures))

    def close(self, *, failed: bool) -> None:
        """Ends the run."""
        self.run.finish(exit_code=int(failed))
