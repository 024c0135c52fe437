"""MLflow: a run for each page, tagged with its study. Server and account come from its own variables."""

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

from bertlab.trackers.base import Page, Tables

LONGEST_NAME, LONGEST_VALUE, MOST_PARAMETERS = 250, 500, 100
"""What every server takes: characters of a name and of a parameter, and parameters in one request."""
ID = "bertlab.id"
"""The tag by which a run is found again."""


class MLflow:
    """Logs curves, final figures, and tables as CSV. `MLFLOW_EXPERIMENT_NAME` defaults to bertlab."""

    packages: ClassVar[tuple[str, ...]] = ("mlflow",)

    def __init__(self, page: Page) -> None:
        from mlflow import MlflowClient

        self.client = MlflowClient()
        experiment = self._experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", "bertlab"))
        earlier = self.client.search_runs([experiment], filter_string=f"tags.`{ID}` = '{page.id}'", max_results=1)
        if earlier:
            self.run_id = earlier[0].info.run_id
            self.client.update_run(self.run_id, status="RUNNING")
            return
        tags = {ID: page.id, "study": page.group, "kind": page.kind}
        self.run_id = self.client.create_run(experiment, run_name=page.name, tags=tags).info.run_id
        self._describe(page.fields)

    def _experiment(self, name: str) -> str:
        from mlflow.exceptions import MlflowException

        if (experiment := self.client.get_experiment_by_name(name)) is None:
            with suppress(MlflowException):  # another process was faster
                self.client.create_experiment(name)
            experiment = self.client.get_experiment_by_name(name)
        return str(experiment.experiment_id)

    def _describe(self, fields: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        parameters = [Param(_name(name), str(value)[:LONGEST_VALUE]) for name, value in _flat(fields)]
        for first in range(0, len(parameters), MOST_PARAMETERS):
            self.client.log_batch(self.run_id, params=parameters[first : first + MOST_PARAMETERS])

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Logs a point of the curves."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(_name(name), value, now, step) for name, value in figures.items()]
        self.client.log_batch(self.run_id, metrics=metrics)

    def finish(self, figures: Mapping[str, float], step: int, tables: Tables | None = None) -> None:
        """Logs the final figures as the last point, and tables as artifacts."""
        self.log(figures, step)
        for name, table in (tables or {}).items():
            self.client.log_text(self.run_id, table.to_csv(index=False), f"{name}.csv")

    def close(self, *, failed: bool) -> None:
        """Ends the run."""
        self.client.set_terminated(self.run_id, "FAILED" if failed else "FINISHED")


def _flat(fields: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested fields, by dotted path."""
    for name, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _name(text: str) -> str:
    """A name that MLflow takes, which is also a relative path."""
    parts = [re.sub(r"[^\w. -]", "_", part).strip(". ") for part in text.split("/")]
    return "/".join(part or "_" for part in parts)[:LONGEST_NAME].rstrip("/")
