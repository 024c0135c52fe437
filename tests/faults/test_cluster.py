"""A Ray cluster of two nodes on this machine, one of which goes away in the middle of a study."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bertlab.store.files import read_sealed
from bertlab.store.runs import Store

pytestmark = pytest.mark.faults

RAY = Path(sys.executable).with_name("ray")
STUDY = ("ablate", "masking", "--scale", "smoke", "--only", "80/10/10", "--only", "0/0/100", "--precision", "fp32")


@pytest.fixture
def environment():
    return os.environ | {
        "OMP_NUM_THREADS": "1",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }


@pytest.fixture
def nodes(environment, tmp_path, until):
    """The address of the cluster, and its second node, each of one core."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="ray")  # paths of sockets are short: not in tmp_path
    common = ("--num-cpus=1", "--object-store-memory=80000000", "--block", "--disable-usage-stats")
    where = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
    with (tmp_path / "nodes").open("w") as log:
        options = {"env": environment, "stdout": log, "stderr": subprocess.STDOUT}
        head = subprocess.Popen([RAY, "start", *where, *common], **options)
        until(lambda: reachable(port))
        second = subprocess.Popen([RAY, "start", f"--address=127.0.0.1:{port}", *common], **options)
        yield f"127.0.0.1:{port}", second
        for node in (second, head):
            node.send_signal(signal.SIGTERM)
            node.wait(600)
    shutil.rmtree(folder, ignore_errors=True)


def reachable(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def numbers(runs):
    return {run.id: run.result() for run in Store(runs).runs()}


def test_a_node_that_goes_away_takes_nothing_with_it(nodes, environment, tmp_path, until, at_work):
    address, second = nodes
    steps = ("--set", "schedule.steps=1500")
    command = [sys.executable, "-m", "bertlab", *STUDY, *steps, "--cluster", address, "--workers", "2"]
    study = subprocess.Popen(
        [*command, "--runs", str(tmp_path / "runs")], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    until(lambda: len(at_work(tmp_path / "runs")) == 2)
    second.send_signal(signal.SIGTERM)
    output, _ = study.communicate(timeout=1800)
    assert study.returncode == 0, output.decode()
    alone = [sys.executable, "-m", "bertlab", *STUDY, *steps, "--threads", "1", "--runs", str(tmp_path / "alone")]
    assert subprocess.run(alone, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0
    assert numbers(tmp_path / "runs") == numbers(tmp_path / "alone")


def test_the_seeds_of_a_budget_are_those_of_one_machine(nodes, environment, tmp_path):
    ended = {}
    for name, place in (("cluster", ("--cluster", nodes[0], "--workers", "2")), ("alone", ("--workers", "2"))):
        command = [sys.executable, "-m", "bertlab", *STUDY, "--threads", "1", "--budget", "20runs", *place]
        done = subprocess.run(
            [*command, "--runs", str(tmp_path / name)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        (record,) = (tmp_path / name).glob("studies/*.json")
        ended[name] = (numbers(tmp_path / name), read_sealed(record)["cells"])
    assert ended["cluster"] == ended["alone"]
    assert {cell["pretrain_seed"] for cell in ended["alone"][1]} == {0, 1, 2, 3}
