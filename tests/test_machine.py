"""The devices of a command line, those of the processes that it starts, and the limits of control groups."""

import subprocess
from pathlib import Path
from shutil import which
from types import SimpleNamespace

import pytest

from bertlab import cgroups
from bertlab import machine as module
from bertlab.errors import BadInput
from bertlab.machine import Machine, has_compiler


@pytest.mark.parametrize(
    "options",
    [
        {"gpus": 8},
        {"gpus": 8, "gpus_per_run": 8},
        {"gpus": 1, "runs_per_gpu": 4, "compile": "graphs"},
        {"gpus": 2, "runs_per_gpu": 3},
        {"workers": 4, "gpus_per_run": 2},
        {"gpus": 32, "cluster": "10.0.0.1:6379"},
        {"workers": 4, "cluster": "auto", "gpus_per_run": 4},
    ],
)
def test_many_devices_are_one_here_and_one_for_each_process(options):
    machine = Machine(**options)
    assert not machine.is_single_process
    assert machine.devices == (options.get("gpus") or options["workers"]) * options.get("runs_per_gpu", 1)
    assert machine.starts_ray == ("runs_per_gpu" not in options)
    assert machine.cpu_only().is_single_process
    assert machine.cpu_only().device == "cpu"
    assert machine.per_worker().is_single_process
    assert machine.per_worker().device == ("cuda" if "gpus" in options else "cpu")
    assert machine.per_worker().num_threads >= 1
    assert machine.per_worker().compile == machine.compile


def test_a_worker_on_the_cpu_has_one_thread_unless_said_otherwise(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Machine(workers=2).per_worker().num_threads == 1
    assert Machine(workers=2, threads=3).per_worker().num_threads == 3


def test_runs_that_share_a_gpu_share_the_cores_too(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(16)))
    assert Machine(gpus=1, runs_per_gpu=5).per_worker() == Machine(gpus=1, threads=3)


@pytest.mark.parametrize("options", [{}, {"gpus": 1}, {"threads": 4}])
def test_one_device_needs_no_other_process(monkeypatch, options):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Machine(**options).is_single_process
    assert Machine(**options).devices == 1


@pytest.mark.parametrize(
    "options",
    [
        {"gpus": 2, "workers": 2},
        {"gpus": 2, "gpus_per_run": 3},
        {"gpus": 2, "gpus_per_run": 2, "runs_per_gpu": 2},
        {"gpus": 1, "compile": "graphs", "micro_batch": 8},
        {"runs_per_gpu": 2},
        {"gpus": 1, "runs_per_gpu": 0},
        {"cluster": "auto"},
        {"precision": "fp8"},
        {"compile": "graphs"},
        {"compile": "always"},
    ],
)
def test_what_cannot_be_is_refused(options):
    with pytest.raises(BadInput):
        Machine(**options)


def test_a_compiler_that_does_not_work_is_none(tmp_path, monkeypatch):
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    for path in (broken, tmp_path / "nothing"):
        monkeypatch.setenv("CXX", str(path))
        has_compiler.cache_clear()
        assert not has_compiler()
        with pytest.raises(BadInput, match="--compile yes needs a C"):
            Machine(compile="yes")
    has_compiler.cache_clear()


@pytest.mark.parametrize(
    "devices", [{"gpus": 2, "gpus_per_run": 2}, {"workers": 2, "gpus_per_run": 2}, {"workers": 2, "cluster": "a:1"}]
)
def test_what_needs_ray_says_how_to_install_it_before_anything_runs(devices, monkeypatch):
    monkeypatch.setattr("bertlab.machine.find_spec", lambda name: None)
    with pytest.raises(
        BadInput, match=r"need Ray: run `pip install -c constraints.txt '\.\[cluster\]'` in the source tree"
    ):
        Machine(**devices).check()
    Machine(workers=2).check()
    assert not Machine(gpus=8).starts_ray


@pytest.mark.parametrize(
    ("options", "runs", "expected"),
    [
        ({"workers": 4}, 3, {"workers": 3}),
        ({"workers": 4}, 9, {"workers": 4}),
        ({"workers": 4}, 1, {"threads": 1}),
        ({"gpus": 8, "gpus_per_run": 1}, 3, {"gpus": 3, "gpus_per_run": 1}),
        ({"gpus": 2, "runs_per_gpu": 4}, 9, {"gpus": 2, "runs_per_gpu": 4}),
        ({"gpus": 2, "runs_per_gpu": 4}, 3, {"gpus": 2, "runs_per_gpu": 2}),
        ({"gpus": 1, "runs_per_gpu": 4, "threads": 2}, 1, {"gpus": 1, "threads": 2}),
    ],
)
def test_few_runs_need_few_processes(monkeypatch, options, runs, expected):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Machine(**options).limited_to(runs) == Machine(**expected)


def test_the_commit_is_that_of_the_source_tree_or_what_an_installed_copy_keeps(monkeypatch, tmp_path):
    root = Path(module.__file__).parents[1]
    here = (root / ".git").exists() and which("git")
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    known = subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip() if here else ""
    module.commit.cache_clear()
    assert module.commit().removesuffix("-dirty") == known
    monkeypatch.setattr(module, "__file__", str(tmp_path / "bertlab" / "machine.py"))
    module.commit.cache_clear()
    assert module.commit() == ""
    installed = SimpleNamespace(version="0.1.0.dev12+gabc1234.dirty", locate_file=lambda name: tmp_path / name)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: installed)
    module.commit.cache_clear()
    assert module.commit() == "abc1234-dirty"
    module.commit.cache_clear()


@pytest.mark.parametrize(
    ("flags", "precision", "limit", "found"),
    [
        ("amx_bf16 avx512_bf16", "bf16", None, "AMX"),
        ("amx_bf16 avx512_bf16", "bf16", "AVX512_CORE_AMX", "AMX"),
        ("amx_bf16 avx512_bf16", "bf16", "AVX512_CORE_BF16", "AVX512"),
        ("amx_bf16 avx512_bf16", "fp32", None, "AVX512"),
        ("avx512_bf16", "bf16", None, "AVX512"),
    ],
)
def test_a_result_records_the_instructions_of_its_matrix_products(monkeypatch, flags, precision, limit, found):
    monkeypatch.setattr(module, "_cpuinfo", lambda: f"flags : {flags}\n")
    monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: "AVX512")
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    if limit:
        monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", limit)
    assert Machine(precision=precision, threads=1).numerics()["instructions"] == found


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"BERTLAB_CACHE": "/own", "XDG_CACHE_HOME": "/caches"}, "/own"),
        ({"XDG_CACHE_HOME": "/caches"}, "/caches/bertlab"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/bertlab"),
        ({}, "/home/me/.cache/bertlab"),
    ],
)
def test_the_cache_is_where_the_system_keeps_caches(monkeypatch, variables, expected):
    for name in ("BERTLAB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    assert str(Machine().cache) == expected


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
