"""A store with a finished study."""

import pytest


@pytest.fixture(scope="session")
def smoke():
    """The command that the tests run: its numbers do not depend on the machine."""
    variants = ("--only", "80/10/10", "--only", "0/0/100", "--random-init")
    return ("ablate", "masking", "--scale", "smoke", *variants, "--threads", "1", "--precision", "fp32")


@pytest.fixture(scope="session")
def finished(call, smoke, tmp_path_factory):
    """A store with two variants of Table 8 and the one without pre-training, at smoke scale."""
    runs = tmp_path_factory.mktemp("finished") / "runs"
    assert call(*smoke, "--runs", runs) == 0
    return runs
