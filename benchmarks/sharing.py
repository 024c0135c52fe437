"""What `ablate all` saves by training nothing twice, from the recorded seconds of its jobs.

    python benchmarks/sharing.py --runs STORE [--out FILE.json]

The peer is the same work without sharing, counted twice. Strictly: each cell of each study, a row under a column, is
carried out by itself, with its own corpus, its own pre-training and all measurements of that cell. And more mildly:
the corpus is there, and each row of each study has a pre-training and measurements of its own. Nothing is run, and
there is no interval: the seconds are those that the store has.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable
from functools import partial

import script
from blocks import Found, Settings, found

from bertlab.store.record import Value
from bertlab.store.run import Run
from bertlab.store.runs import Store

SCALE = "tiny"


class Recorded:
    """What the cells of a store's studies took."""

    def __init__(self, store: Store) -> None:
        self._runs = {run.id: run for run in store.runs()}
        self.cells: list[tuple[str, Value, Run, Run]] = []
        """The values, each with its study, and the runs that it and its pre-training are."""
        for record in (each for each in store.records(needed=()).values() if each.scale == SCALE):
            for value in record.cells:
                if value.run_id not in self._runs:
                    raise script.Lacking(f"{store.root}: run {value.run_id} of '{record.study}' is not finished")
                own, trained = self._runs[value.run_id], self._runs[value.pretrain_id]
                self.cells.append((record.study, value, own, trained))
        if not self.cells:
            command = f"bertlab ablate all --scale {SCALE}"
            raise script.Lacking(f"{store.root} has no studies at scale {SCALE}: run `{command}` there first")

    def corpus(self, pretraining: Run) -> Run:
        """What a pre-training has read."""
        return self._runs[pretraining.definition()["corpus"]]

    def shared(self) -> float:
        """Seconds with everything once."""
        return _seconds(
            (run.id, run) for *_, own, trained in self.cells for run in (own, trained, self.corpus(trained))
        )

    def by_cell(self) -> float:
        """Seconds with a corpus and a pre-training for each cell; a cell may have several fine-tuning seeds."""
        return _seconds(
            ((*_row(study, value), value.measurement, run.id), run)
            for study, value, own, trained in self.cells
            for run in (own, trained, self.corpus(trained))
        )

    def by_row(self) -> float:
        """Seconds with a pre-training for each row of each study, and each corpus once."""
        return _seconds(
            (key, run)
            for study, value, own, trained in self.cells
            for key, run in (
                ((*_row(study, value), own.id), own),
                ((*_row(study, value), trained.id), trained),
                (self.corpus(trained).id, self.corpus(trained)),
            )
        )


def _row(study: str, value: Value) -> tuple[Hashable, ...]:
    return study, value.variant, value.pretrain_seed


def _seconds(runs: Iterable[tuple[Hashable, Run]]) -> float:
    """Of runs by a key, each key once."""
    return sum(run.seconds() for run in dict(runs).values())


def sharing(by_row: bool, settings: Settings) -> Found:
    """How many cells an hour, against those without sharing."""
    if settings.runs is None:
        raise script.Lacking("sharing: give the store of a finished `bertlab ablate all` with --runs")
    recorded = Recorded(Store(settings.runs))
    alone = recorded.by_row() if by_row else recorded.by_cell()
    cells = 3600 * len(recorded.cells)
    return found([(cells / recorded.shared(), cells / alone)])


MEASURED = {"sharing": partial(sharing, False), "sharing-rows": partial(sharing, True)}

if __name__ == "__main__":
    sys.exit(script.main(__doc__, MEASURED))
