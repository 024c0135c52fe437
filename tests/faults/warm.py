"""A warm parent: it imports everything once, then runs each command line in a fork of itself.

Reads a line of JSON a round, the commands that run at once, and writes one, what became of each:

    [{"arguments": [...], "runs": DIR, "faults": "step pre-training:3:kill", "kill": SECONDS, "limit": BYTES}]
    [{"status": 0 (negative: of that signal), "printed": TEXT, "seconds": SECONDS}]
"""

import fcntl
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import changes
import lightning.pytorch
import matplotlib.backends.backend_svg
import seaborn
import sklearn.metrics
import tokenizers

from bertlab.cli import jobs, main
from bertlab.execution import schedule
from bertlab.report import findings, page
from bertlab.training import callbacks, finetuning, pretraining

IMPORTED = (lightning.pytorch, matplotlib.backends.backend_svg, seaborn, sklearn.metrics, tokenizers)
BERTLAB = (jobs, schedule, findings, page, finetuning, pretraining)


def child(asked, output):
    """Runs a command line in a fork; each step is a checkpoint, and no time passes, so that the same bytes come out."""
    process = os.fork()
    if process:
        return process
    status = 70
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ["BERTLAB_RUNS"] = asked["runs"]
        time.monotonic = float
        callbacks.SECONDS_BETWEEN_CHECKPOINTS = 0.0
        if asked["faults"]:
            changes.Faults(Path(asked["runs"]).parent, asked["faults"]).start()
        if asked["limit"]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (asked["limit"], resource.RLIM_INFINITY))
        sys.argv = ["bertlab", *asked["arguments"]]
        main.main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


def run(commands):
    """Runs commands at once; the answer of a round."""
    outputs = [os.pipe() for _ in commands]  # a file would meet the limit on files
    for reader, _ in outputs:
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    began = time.monotonic()
    running = {
        child(asked, writer): number for number, (asked, (_, writer)) in enumerate(zip(commands, outputs, strict=True))
    }
    ended = {}
    while running:
        process, status = os.waitpid(-1, os.WNOHANG)
        passed = time.monotonic() - began
        if process:
            ended[running.pop(process)] = {"status": os.waitstatus_to_exitcode(status), "seconds": passed}
            continue
        for process, number in running.items():
            if commands[number]["kill"] is not None and passed >= commands[number]["kill"]:
                os.kill(process, signal.SIGKILL)
        time.sleep(0.002)
    for number, (reader, writer) in enumerate(outputs):
        os.close(writer)
        with open(reader, encoding="utf-8") as file:
            ended[number]["printed"] = file.read()
    return [ended[number] for number in range(len(commands))]


def serve():
    """Answers rounds until the input ends."""
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    # That of Arrow's allocator is ready for a fork; any other may hold a lock for ever.
    assert len([name for name in threads if name != "jemalloc_bg_thd"]) == 1, threads
    for line in sys.stdin:
        sys.stdout.write(json.dumps(run(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
