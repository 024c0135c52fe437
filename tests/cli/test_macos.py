"""Commands on a system without what Linux alone has: calls of `os`, limits of processes, `/proc` and control groups."""

import builtins
import io
import os
import resource

import pytest

from bertlab.store.runs import Store

LINUX = (
    "sched_getaffinity", "sched_setaffinity", "posix_fadvise", "pipe2", "memfd_create", "pidfd_open", "waitid",
    "copy_file_range", "splice", "eventfd", "getrandom", "O_TMPFILE", "O_PATH", "O_DIRECT", "O_NOATIME",
)  # fmt: skip


@pytest.fixture
def macos(monkeypatch):
    for name in LINUX:
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.delattr(resource, "RLIMIT_AS")

    def absent(call):
        def called(path, *arguments, **options):
            if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(("/proc", "/sys")):
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return call(path, *arguments, **options)

        return called

    for place, name in ((builtins, "open"), (io, "open"), (os, "open"), (os, "stat"), (os, "scandir")):
        monkeypatch.setattr(place, name, absent(getattr(place, name)))


@pytest.mark.usefixtures("macos")
def test_a_study_is_planned_and_a_model_trained(call, text_file, tmp_path, capsys):
    common = ("--scale", "smoke", "--runs", tmp_path / "runs", "--set", "schedule.steps=2")
    assert call("ablate", "masking", *common, "--dry-run") == 0
    assert "pretrain" in capsys.readouterr().out
    assert call("pretrain", *common, "--corpus", text_file) == 0
    (run,) = (run for run in Store(tmp_path / "runs").runs() if run.kind == "pretrain")
    assert run.result().steps == 2
    assert run.environment().numerics["threads"] == os.cpu_count()
