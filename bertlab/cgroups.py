"""The share of a machine that a container or a batch system grants this process: the limits of its control groups."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def memory(root: Path = Path("/")) -> int | None:
    """Bytes of memory; None without a limit."""
    limits = _limits(root, "memory", "memory.max", "memory.limit_in_bytes")
    return min((int(limit) for limit, *_ in limits), default=None)


def cores(root: Path = Path("/")) -> int | None:
    """Whole cores, at least one; None without a limit."""
    limits = [*_limits(root, "cpu", "cpu.max"), *_limits(root, "cpu", "", "cpu.cfs_quota_us", "cpu.cfs_period_us")]
    return min((max(1, int(quota) // int(period)) for quota, period in limits), default=None)


def _limits(root: Path, controller: str, unified: str, *separate: str) -> Iterator[list[str]]:
    """The words of the files of `controller`'s limit in each group around this process: in version 2 of control groups
    the file `unified`, in version 1 those in `separate`. Groups without a limit are left out."""
    mounted = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            mount, names = mounted / controller, separate
        elif not controllers and unified:
            mount, names = mounted, (unified,)
        else:
            continue
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):  # a container may see its own group as the topmost one
            words = " ".join(_text(folder / name) for name in names).split()
            if words and words[0] not in ("max", "-1"):
                yield words
            if folder == mount:
                break


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""
