"""Fault points: places in the code at which a test kills the process, interrupts it or fills the disk.

Without the variable `BERTLAB_FAULT` a point does nothing. The variable contains, separated by commas,
`NAME:NTH:ACTION`, which acts when point NAME is passed for the NTH time (from 1), and `record:PATH`, which appends the
name of every point that is passed:

    BERTLAB_FAULT=step:7:kill bertlab ablate masking --scale smoke
"""

from __future__ import annotations

import errno
import os
import signal
from collections import Counter
from contextlib import suppress
from pathlib import Path

POINTS = {
    "claim.taken": "the lock of a run is held",
    "work.made": "the working directory of a run exists",
    "write.begin": "before a small file is written under another name",
    "write.sync": "it is written, not synced",
    "write.rename": "it is synced, not renamed",
    "write.renamed": "it is renamed, its directory not synced",
    "write.done": "it survives a loss of power",
    "line.begin": "before a line is added to a journal",
    "line.done": "the line is added",
    "finish.begin": "a run has its result and is about to be sealed",
    "finish.sync": "before each of its files is synced",
    "finish.manifest": "all are synced, before the manifest is written",
    "finish.rename": "the manifest exists, before the run gets its final name",
    "finish.renamed": "the run has its final name; the directory is not synced and the checkpoint not removed",
    "finish.done": "the run is sealed",
    "failure.record": "before the reason of a failure is written",
    "study.record": "before the record of a study is written",
    "corpus.spool": "before the text is copied",
    "corpus.spooled": "the text is copied",
    "corpus.vocabulary": "the vocabulary is trained, not written",
    "corpus.ids": "before the ids of a block are written",
    "corpus.offsets": "before the offsets of a block are written",
    "corpus.part": "the files of a part are closed",
    "corpus.facts": "before the facts about the corpus are written",
    "step": "an update of a pre-training is done",
    "journal.cut": "before journals are cut back to the checkpoint",
    "journal.line": "before losses are logged",
    "evaluation.begin": "before the evaluation at a milestone",
    "evaluation.done": "its figures are logged",
    "milestone.weights": "before the weights of a milestone are written",
    "milestone.done": "they are written",
    "checkpoint.begin": "before a checkpoint",
    "checkpoint.weights": "before its weights are written",
    "checkpoint.optimizer": "before the optimiser's moments are written",
    "checkpoint.state": "before its state and hashes are written",
    "checkpoint.rename": "all its files are synced, under another name",
    "checkpoint.renamed": "it has its name, the directory is not synced",
    "checkpoint.older": "it is verified, before an older one is removed",
    "pretrain.result": "before the final evaluation",
    "model.weights": "before the final weights are written",
    "model.done": "they are written",
    "measure.step": "an update of a measurement is done",
    "measure.predict": "before a batch is evaluated",
    "features.read": "before a batch goes through the frozen encoder",
    "predictions.begin": "before predictions are written",
    "predictions.done": "they are written",
    "report.begin": "before the first file of a report",
    "report.file": "before a file of a report is written",
}
"""Every point and its place. A small study with a diverging variant, and its report, pass all of them."""


class Faults:
    """The action at each point, and how often each has been passed."""

    def __init__(self, text: str) -> None:
        """Parses the value of `BERTLAB_FAULT`. Raises `ValueError` for unknown points and actions."""
        self.actions: dict[tuple[str, int], str] = {}
        self.record: Path | None = None
        self.passed: Counter[str] = Counter()
        for each in text.split(","):
            name, _, rest = each.partition(":")
            if name == "record":
                self.record = Path(rest)
                continue
            count, _, action = rest.partition(":")
            if name not in POINTS or action not in ("kill", "stop", "full") or not count.isdecimal():
                raise ValueError(f"BERTLAB_FAULT: '{each}' is no NAME:NTH:ACTION")
            self.actions[name, int(count)] = action

    def at(self, name: str) -> None:
        """Passes a point."""
        if name not in POINTS:
            raise ValueError(f"fault point '{name}' is not registered")
        self.passed[name] += 1
        if self.record is not None:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(f"{name}\n")
        action = self.actions.get((name, self.passed[name]))
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "stop":
            signal.raise_signal(signal.SIGINT)
        elif action == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


_setting = os.environ.get("BERTLAB_FAULT", "")
active: Faults | None = None
"""Set by the environment, or by a test."""
with suppress(ValueError):  # `environment.check` reports the error
    active = Faults(_setting) if _setting else None


def point(name: str) -> None:
    """A place at which a test may interfere."""
    if active is not None:
        active.at(name)
