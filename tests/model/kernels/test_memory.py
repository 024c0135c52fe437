"""Freed memory is kept by the process, so that the next step does not fault it in again."""

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from bertlab.model.kernels.memory import keep_freed_memory
if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit(3)
def step():
    arrays = [np.ones(1_000_000) for _ in range(12)]
step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_a_second_step_faults_in_next_to_nothing():
    command = [sys.executable, "-c", FAULTS]
    runs = [subprocess.run([*command, how], check=False, capture_output=True) for how in ("keep", "as it is")]
    if runs[0].returncode == 3:
        pytest.skip("the C library is not glibc")
    kept, usual = (int(run.stdout) for run in runs)
    assert kept < usual / 5
