"""A published checkpoint in the transformers format: a directory, or a name on the Hugging Face Hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.text import sources, tokenizer_files

FILES = ("config.json", *tokenizer_files.FILES, "model.safetensors")
"""All that is read of a checkpoint, and all that is ever fetched: no code, no pickles."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found; two with the same content are the same."""

    content: str
    """What is in it: `sha256:...` over its files, or `hub:<name>@<commit>`."""
    name: str = field(compare=False)
    folder: Path | None = field(default=None, compare=False)
    """Where it lies, if it is a directory."""

    @property
    def reachable(self) -> bool:
        """Whether its files can be had: a run of the store keeps no path to the directory it was taken from."""
        return self.folder is not None or self.content.startswith("hub:")

    def fetch(self) -> Path:
        """The directory of its files, fetched from the Hub at its commit if need be. Raises `BadInput` if it cannot."""
        if self.folder is not None:
            return self.folder
        from huggingface_hub import snapshot_download

        if not self.content.startswith("hub:"):
            raise BadInput(f"checkpoint '{self.name}' was a directory: give its path to --from")
        repository, _, commit = self.content.removeprefix("hub:").rpartition("@")
        try:
            return Path(snapshot_download(repository, revision=commit, allow_patterns=list(FILES)))
        except Exception as error:  # the client raises its own, httpx's and OSError, all with the same meaning here
            raise _unreachable(self.name, error) from None


def locate(name: str, machine: Machine) -> Checkpoint:
    """The checkpoint called `name`: a directory if there is one of that path, else a repository of the Hub.

    Reads no more than it takes to know what is in it. Raises `BadInput` if there is none.
    """
    folder = Path(name)
    if folder.is_dir():
        files = [folder / each for each in FILES if (folder / each).is_file()]
        if not files:
            raise BadInput(f"{folder} has none of {', '.join(FILES)}: give the directory of a transformers checkpoint")
        return Checkpoint(sources.content(files, machine), folder.resolve().name, folder)
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", name):
        raise BadInput(f"'{name}' is no directory and no name on the Hub: give a checkpoint's directory or owner/name")
    from huggingface_hub import HfApi

    try:
        commit = HfApi().model_info(name, timeout=20).sha
    except Exception as error:  # of many kinds, see `fetch`
        raise _unreachable(name, error) from None
    return Checkpoint(f"hub:{name}@{commit}", name)


def _unreachable(name: str, error: Exception) -> BadInput:
    first = str(error).strip().split("\n")[0][:200]
    return BadInput(
        f"'{name}' is no directory and no run of the store, and the Hub does not give it ({type(error).__name__}: "
        f"{first}): give a checkpoint's directory"
    )
