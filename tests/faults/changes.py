"""Places where a test kills a process, interrupts it or fills its disk: each change of a file, each step of progress.

A place is named by what changes and by the file, with `#` for ids and numbers (`rename runs/KIND/.#.work`), or by the
stage whose progress is reported (`step pre-training`). They are found by Python's audit events, so the package knows
nothing of them.
"""

import errno
import os
import re
import signal
import sys
from collections import Counter
from pathlib import Path

from bertlab.store.locks import Lock

NAMES = {"os.rename": "rename", "os.remove": "remove", "os.mkdir": "mkdir", "os.rmdir": "rmdir"}
WRITE = os.O_WRONLY | os.O_RDWR
ACTIONS = ("kill", "stop", "full")


class Faults:
    """What happens at each place under a folder.

    `text` holds, separated by commas, `PLACE:NTH:ACTION`, which acts when PLACE is passed for the NTH time (from 1),
    and `record:PATH`, which appends the name of every place that is passed.
    """

    def __init__(self, root, text):
        self.root, self.record, self.actions, self.passed = f"{root}/", None, {}, Counter()
        for each in filter(None, text.split(",")):
            name, _, rest = each.partition(":")
            if name == "record":
                self.record = os.open(rest, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            else:
                count, _, action = rest.partition(":")
                assert action in ACTIONS, each
                self.actions[name, int(count)] = action

    def start(self):
        """Acts from now on, in this process and its forks."""
        sys.addaudithook(self.on_event)
        report = Lock.__call__

        def reported(lock, done, total, stage="", /, **figures):
            self.at(f"step {stage}")
            report(lock, done, total, stage, **figures)

        Lock.__call__ = reported

    def on_event(self, event, values):
        """Passes a place if a file under the root is about to change."""
        if event == "open" and isinstance(values[2], int) and values[2] & WRITE:
            self.change("write", values[0])
        elif event in NAMES:
            self.change(NAMES[event], values[0])

    def change(self, what, path):
        if isinstance(path, str | Path) and str(path).startswith(self.root):
            self.at(f"{what} {place(str(path).removeprefix(self.root))}")

    def at(self, name):
        """Passes a place."""
        self.passed[name] += 1
        if self.record is not None:
            os.write(self.record, f"{name}\n".encode())
        action = self.actions.get((name, self.passed[name]))
        if action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "stop":
            signal.raise_signal(signal.SIGINT)
        elif action == "full":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def place(path):
    """A path with `#` for kinds of runs, ids, labels and numbers: the same in every store."""
    path = re.sub(r"^(\w+)/(corpus|pretrain|finetune|features)/", r"\1/KIND/", path)
    path = re.sub(r"asks\..*|[0-9a-f]{16}(--[^/]*?)?(?=\.(?:work|damaged|json)|/|$)", "#", path)
    return re.sub(r"--[0-9a-f]{8}|(?<=[-.])\d+", "#", path)
