"""Keeps the commit in what is installed, so that results of installed copies name it, too."""

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Commit(BuildHookInterface):  # type: ignore[type-arg]
    """Adds `bertlab/commit.txt` to a wheel that is built in a git checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Editable installations need no file: they run from the checkout."""
        if version == "editable" or not (Path(self.root) / ".git").exists():
            return
        command = ["git", "--no-optional-locks", "-C", self.root, "describe", "--always", "--dirty", "--exclude=*"]
        try:
            found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        except (OSError, subprocess.SubprocessError):  # no git, or another owner's tree
            return
        with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
            file.write(found.stdout)
        self.written = file.name
        build_data["force_include"][file.name] = "bertlab/commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes the temporary file."""
        if hasattr(self, "written"):
            Path(self.written).unlink()
