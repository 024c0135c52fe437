"""The limits of control groups, as Linux writes them."""

import pytest

from bertlab import cgroups

HOST = "/slurm/job_7/step_0"


@pytest.fixture
def root(tmp_path):
    """A file system with these files."""

    def made(own, **files):
        for path, text in ({"proc/self/cgroup": own} | files).items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text + "\n")
        return tmp_path

    return made


def test_version_2_inside_a_container(root):
    top = "sys/fs/cgroup"
    found = root("0::/", **{f"{top}/memory.max": "4294967296", f"{top}/cpu.max": "250000 100000"})
    assert cgroups.memory(found) == 4 * 2**30
    assert cgroups.cores(found) == 2


def test_the_tightest_of_the_groups_around_a_process_counts(root):
    top = "sys/fs/cgroup/slurm"
    limits = {"memory.max": "max", "job_7/memory.max": "8000000", "job_7/step_0/memory.max": "9000000"}
    limits |= {"cpu.max": "max 100000", "job_7/step_0/cpu.max": "50000 100000"}
    found = root(f"0::{HOST}", **{f"{top}/{name}": text for name, text in limits.items()})
    assert cgroups.memory(found) == 8_000_000
    assert cgroups.cores(found) == 1  # half a core is one


def test_version_1(root):
    limits = {
        "memory/memory.limit_in_bytes": "123456",
        "cpu/cpu.cfs_quota_us": "400000",
        "cpu/cpu.cfs_period_us": "100000",
    }
    own = f"4:memory:{HOST}\n3:cpu,cpuacct:{HOST}\n1:name=systemd:/\n0::/"
    found = root(own, **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()})
    assert cgroups.memory(found) == 123_456
    assert cgroups.cores(found) == 4


def test_without_limits(root, tmp_path):
    assert cgroups.memory(tmp_path) is None  # no control groups at all
    quota = {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}
    found = root("2:cpu:/\n0::/", **quota)
    assert cgroups.cores(found) is None
    assert cgroups.memory(found) is None
