"""TensorBoard: a folder of events for each page, which `tensorboard --logdir runs/logs` shows by study."""

from collections.abc import Mapping
from typing import ClassVar

from bertlab.trackers.base import Page, Tables


class TensorBoard:
    """Writes curves as scalars, final figures beside the hyperparameters, and tables as text."""

    packages: ClassVar[tuple[str, ...]] = ("tensorboard", "tensorboardX")

    def __init__(self, page: Page) -> None:
        from lightning.fabric.utilities.rank_zero import rank_zero_only
        from lightning.pytorch.loggers import TensorBoardLogger

        # A worker inherits the SLURM rank of the process that started it; in its own training it is the first.
        rank_zero_only.rank = 0  # type: ignore[attr-defined]
        self.fields = dict(page.fields)
        self.logger = TensorBoardLogger(page.folder, name="", version="", default_hp_metric=False)
        self.logger.log_hyperparams(self.fields)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Writes scalars."""
        self.logger.log_metrics(dict(figures), step)
        self.logger.save()

    def finish(self, figures: Mapping[str, float], step: int, tables: Tables | None = None) -> None:
        """Writes figures with the hyperparameters, which TensorBoard shows only so, and tables in Markdown."""
        self.logger.log_hyperparams(self.fields, dict(figures), step)
        for name, table in (tables or {}).items():
            text = table.astype(object).where(table.notna(), "").to_markdown(index=False)
            self.logger.experiment.add_text(name, text, step)
        self.logger.save()

    def close(self, *, failed: bool) -> None:
        """Closes the file of events."""
        self.logger.finalize("failed" if failed else "success")
