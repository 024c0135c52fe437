"""A published checkpoint in the transformers format: a directory, or a name on the Hugging Face Hub."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from bertlab.errors import BadInput
from bertlab.hub import datasets as hub
from bertlab.machine import Machine
from bertlab.store.files import kind
from bertlab.text import sources
from bertlab.text.tokenizers.base import FILES as TOKENIZER_FILES

ADVICE = "give a checkpoint's directory"
"""What to do without the Hub."""
FILES = ("config.json", *TOKENIZER_FILES, "model.safetensors")
"""All that is read of a checkpoint, and all that is ever fetched: no code, no pickles."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found; two with the same content are the same."""

    content: str
    """What is in it: `sha256:...` over its files, or `hub:...` over the hashes of those of the Hub."""
    name: str = field(compare=False)
    folder: Path | None = field(default=None, compare=False)
    """Where it lies, if it is a directory."""
    commit: str = field(default="", compare=False)
    """The commit on the Hub at which it is fetched."""

    @property
    def reachable(self) -> bool:
        """Whether its files can be had: a run of the store keeps no path to the directory it was taken from."""
        return self.folder is not None or bool(self.commit)

    def fetch(self) -> Path:
        """The directory of its files, fetched from the Hub at its commit if need be. Raises `BadInput` if it cannot."""
        if self.folder is not None:
            return self.folder
        if not self.commit:
            raise BadInput(f"checkpoint '{self.name}' was a directory: give its path to --from")
        from huggingface_hub import snapshot_download

        hub.quiet()
        try:
            return Path(snapshot_download(self.name, revision=self.commit, allow_patterns=list(FILES)))
        except Exception as error:  # the client raises its own, httpx's and OSError, all with the same meaning here
            raise hub.unreachable(f"the files of checkpoint '{self.name}'", error, ADVICE) from None


def locate(name: str, machine: Machine) -> Checkpoint:
    """The checkpoint called `name`: a directory if there is one of that path, else `owner/name[@revision]` on the Hub.

    Reads no more than it takes to know what is in it. Raises `BadInput` if there is none.
    """
    folder = Path(name)
    if kind(folder, "--from") == "folder":
        files = [folder / each for each in FILES if kind(folder / each, "--from") == "file"]
        if not files:
            raise BadInput(f"{folder} has none of {', '.join(FILES)}: give the directory of a transformers checkpoint")
        return Checkpoint(sources.content(files, machine), folder.resolve().name, folder)
    reference = hub.Reference.parse(name, owned=False)
    if reference is None or reference.configuration:
        raise BadInput(
            f"'{name}' is no directory and no run of the store: {ADVICE}, or owner/name[@revision] on the Hub"
        )
    what = f"'{name}' is no directory and no run of the store, and a checkpoint of that name"
    commit, listed = hub.checkpoint(reference, FILES, machine.cache, what, ADVICE)
    if not listed:
        raise BadInput(f"'{name}' has none of {', '.join(FILES)} on the Hub: {ADVICE}")
    text = "\n".join(f"{file.path} {file.content}" for file in listed)
    return Checkpoint(f"hub:{hashlib.sha256(text.encode()).hexdigest()}", reference.name, commit=commit)
