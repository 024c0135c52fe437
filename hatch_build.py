"""The version of a build: that of bertlab/__init__.py and, between releases, the commit that it is built from."""

import re
import subprocess
from pathlib import Path


def version(root: Path = Path(__file__).parent) -> str:
    """`0.1.0.dev1200+gabc1234`, and `0.1.0` where the tag `v0.1.0` is, or where no commit is known."""
    released = _line(r'^__version__ = "(.+)"$', root / "bertlab" / "__init__.py")
    if (root / "PKG-INFO").exists():  # a source distribution says what it was built from
        return _line(r"^Version: (.+)$", root / "PKG-INFO")
    if not (root / ".git").exists():  # the commit of a repository around it is another project's
        return released
    try:
        commit = _git(root, "describe", "--always", "--dirty", "--exclude=*")
        if f"v{released}" in _git(root, "tag", "--points-at", "HEAD").split() and not commit.endswith("-dirty"):
            return released
        return f"{released}.dev{_git(root, 'rev-list', '--count', 'HEAD')}+g{commit.replace('-', '.')}"
    except (OSError, subprocess.SubprocessError):  # no git, or another owner's tree
        return released


def _line(pattern: str, path: Path) -> str:
    return re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)[1]


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
