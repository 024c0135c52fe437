"""The documents of a corpus in one file on disk while they are tokenised.

A source may be a stream from the network, slow to decompress, or larger than memory: it is read once. Afterwards
documents are read from here, in any order and by several processes.
"""

from __future__ import annotations

import array
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bertlab.errors import BadInput
from bertlab.progress import Progress, stop_if_asked
from bertlab.text.sources import Located, documents, unchanged

BLOCK = 1_000_000
"""Bytes of text that are tokenised as one piece of work."""

Block = npt.NDArray[np.int64]
"""D documents, for each its first byte in the spool and its length in bytes; shape (D, 2)."""
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Spool:
    """Where each of D documents lies, and two hashes of its text. Arrays have shape (D,)."""

    path: Path
    lengths: npt.NDArray[np.int64]
    """Bytes, in UTF-8. Each document follows the one before it."""
    sides: npt.NDArray[np.uint64]
    """The hash that decides whether a document is held out."""
    order: npt.NDArray[np.uint64]
    """The hash that decides which documents a sample takes."""

    @classmethod
    def write(cls, path: Path, located: Sequence[Located], progress: Progress) -> Spool:
        """Copies the documents of all sources to `path`.

        Raises `BadInput` for a source without documents, for files that changed since they were planned with, and if
        all documents are the same one: some are held out.
        """
        lengths, hashes = array.array("q"), bytearray()
        written = shown = 0
        with path.open("wb", buffering=BLOCK) as stream:
            for each in located:
                before = len(lengths)
                for text in documents(each):
                    encoded = text.encode("utf-8", "replace")  # JSON can hold halves of surrogate pairs
                    stream.write(encoded)
                    lengths.append(len(encoded))
                    hashes += hashlib.sha256(encoded).digest()[:16]
                    written += len(encoded)
                    if written - shown >= BLOCK:
                        progress(written, 0, "reading text")
                        shown = written
                if len(lengths) == before:
                    raise BadInput(f"corpus '{each.source.name}' is empty: give one with text")
                if not unchanged(each):
                    raise BadInput(f"corpus '{each.source.name}' has changed: give the same command again")
        sides, order = np.frombuffer(hashes, dtype="<u8").reshape(-1, 2).T
        if sides.min() == sides.max():
            names = ", ".join(f"'{each.source.name}'" for each in located)
            raise BadInput(f"corpus {names} is a single document: give two or more, for some are held out")
        return cls(path=path, lengths=np.frombuffer(lengths, dtype=np.int64), sides=sides, order=order)

    def split(self, share: float) -> tuple[Numbers, Numbers]:
        """The documents to train on and those held out: the ones whose hash is below `share`.

        In a small corpus the lowest hash is held out and the highest is not, wherever they lie, so that each side has
        at least one document.
        """
        lowest, highest = self.sides.min(), self.sides.max()
        heldout = (self.sides == lowest) | (self.sides < np.uint64(int(share * 2**64))) & (self.sides != highest)
        return np.flatnonzero(~heldout), np.flatnonzero(heldout)

    def sample(self, chosen: Numbers, limit: int) -> Iterator[str]:
        """Documents out of `chosen` in the order of a hash of each, until they fill `limit` bytes."""
        in_order = chosen[np.argsort(self.order[chosen], kind="stable")]
        with self.path.open("rb") as stream:
            for start, length in self._places()[in_order]:
                stop_if_asked()
                if limit <= 0:
                    return
                stream.seek(start)
                data = stream.read(min(limit, length))
                limit -= len(data)
                yield data.decode("utf-8", "ignore")  # the last one may end within a character

    def blocks(self, chosen: Numbers) -> list[Block]:
        """The documents `chosen`, in order, in blocks of about `BLOCK` bytes."""
        places = self._places()[chosen]
        ends = places[:, 1].cumsum() // BLOCK
        return np.split(places, np.flatnonzero(np.diff(ends)) + 1)

    def _places(self) -> npt.NDArray[np.int64]:
        """The first byte and the length in bytes of each document, shape (D, 2)."""
        return np.stack((self.lengths.cumsum() - self.lengths, self.lengths), 1)


def read(path: Path, block: Block) -> Iterator[str]:
    """The documents of a block of the spool at `path`."""
    with path.open("rb") as stream:
        for start, length in block:
            stream.seek(start)
            yield stream.read(length).decode()
