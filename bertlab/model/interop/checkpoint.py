"""A published checkpoint in the transformers format: a directory, or a name on the Hugging Face Hub."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bertlab import hub
from bertlab.errors import BadInput
from bertlab.machine import Machine
from bertlab.store.files import kind
from bertlab.text import sources
from bertlab.text.tokenizers import base as tokenizers
from bertlab.text.tokenizers.added import MAP
from bertlab.text.tokenizers.base import PIECES

ADVICE = "give a checkpoint's directory"
"""The advice in errors of the Hub."""
FILES = ("config.json", *tokenizers.FILES, "model.safetensors", PIECES)
"""The only files of a checkpoint that are read or fetched, with `MAP`: no code, no pickles."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that exists, in a local folder or at a commit on the Hub; two with the same content are the same."""

    content: str
    """`sha256:...` over its files, or `hub:...` over the hashes of its files on the Hub."""
    name: str = field(compare=False)
    folder: Path | None = field(default=None, compare=False)
    commit: str = field(default="", compare=False)

    @property
    def reachable(self) -> bool:
        """Whether its files are known: a run of the store does not record the directory of its checkpoint."""
        return self.folder is not None or bool(self.commit)

    def fetch(self) -> Path:
        """The directory of its files; fetches them from the Hub if necessary. Raises `BadInput` if that fails."""
        if self.folder is not None:
            return self.folder
        if not self.commit:
            raise BadInput(f"checkpoint '{self.name}' was a directory: give its path to --from")
        from huggingface_hub import snapshot_download

        hub.quiet()
        try:
            return Path(snapshot_download(self.name, revision=self.commit, allow_patterns=[*FILES, MAP]))
        except Exception as error:  # the client raises its own errors, those of httpx and OSError
            raise hub.unreachable(f"the files of checkpoint '{self.name}'", error, ADVICE) from None


def locate(name: str, machine: Machine, what: str) -> Checkpoint:
    """The checkpoint called `name`: a directory if that path is one, else `owner/name[@revision]` on the Hub.

    Hashes its files, or fetches their hashes. `what` names the option. Raises `BadInput` if there is none.
    """
    folder = Path(name)
    if kind(folder, what) == "folder":
        files = [folder / name for name in _read(name for name in FILES if kind(folder / name, what) == "file")]
        if not files:
            raise BadInput(f"{folder} has none of {', '.join(FILES)}: give the directory of a transformers checkpoint")
        files += [folder / MAP] * tokenizers.tells(folder)
        return Checkpoint(sources.content(files, machine), folder.resolve().name, folder)
    lacks = f"'{name}' is no directory and no run of the store (`bertlab runs` lists them)"
    reference = hub.Reference.parse(name, owned=False)
    if reference is None or reference.configuration:
        raise BadInput(f"{lacks}: {ADVICE}, owner/name[@revision] on the Hub, or --runs for a run of another store")
    sought = f"{lacks}, and a checkpoint of that name"
    commit, listed = hub.checkpoint(reference, FILES, machine.cache, sought, ADVICE)
    if not listed:
        raise BadInput(f"'{name}' has none of {', '.join(FILES)} on the Hub: {ADVICE}")
    text = "\n".join(f"{path} {listed[path]}" for path in _read(listed))
    return Checkpoint(f"hub:{hashlib.sha256(text.encode()).hexdigest()}", reference.name, commit=commit)


def _read(names: Iterable[str]) -> list[str]:
    """Selects the `FILES` that identify a checkpoint: SentencePiece's pieces where there is no other vocabulary."""
    present = list(names)
    others = {"tokenizer.json", "vocab.txt", "vocab.json"}.intersection(present)
    return [name for name in present if name != PIECES or not others]
