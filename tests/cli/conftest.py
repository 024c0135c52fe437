"""The command line, called in this process, and a store with a finished study."""

import sys

import pytest

from bertlab.cli.main import main

SMOKE = ("ablate", "masking", "--scale", "smoke", "--only", "80/10/10", "--only", "0/0/100", "--scratch")


@pytest.fixture(scope="session")
def call():
    """Runs a command and gives its exit status."""

    def called(*arguments):
        before = sys.argv
        sys.argv = ["bertlab", *map(str, arguments)]
        try:
            main()
        except SystemExit as stop:
            return stop.code or 0
        finally:
            sys.argv = before
        return 0

    return called


@pytest.fixture(scope="session")
def finished(call, tmp_path_factory):
    """Two rows of Table 8 and the one without pre-training, at smoke scale."""
    runs = tmp_path_factory.mktemp("finished") / "runs"
    assert call(*SMOKE, "--threads", "1", "--precision", "fp32", "--runs", runs) == 0
    return runs
