"""The documents of a corpus in one file on disk, while it is being tokenised.

A source may be a stream from the network, slow to unpack, or larger than memory; it is read once. Afterwards documents
are read from here, in any order and by several processes.
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

Block = list[tuple[int, int]]
"""Documents, each as its first byte in the spool and its bytes."""
Numbers = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Spool:
    """Where each of D documents lies, and two hashes of its text. Arrays have shape (D,)."""

    path: Path
    lengths: npt.NDArray[np.int64]
    """Bytes, in UTF-8. The documents lie one behind the other."""
    sides: npt.NDArray[np.uint64]
    """The hash that decides whether a document is held out."""
    order: npt.NDArray[np.uint64]
    """The hash that decides which documents a sample takes."""

    @classmethod
    def write(cls, path: Path, located: Sequence[Located], progress: Progress) -> Spool:
        """Copies the documents of all sources to `path`.

        `BadInput` for a source without documents, and for sources that have but one together: some are held out,
        and for files that are not those that were planned with.
        """
        lengths, sides, order = array.array("q"), array.array("Q"), array.array("Q")
        written = told = 0
        with path.open("wb", buffering=BLOCK) as stream:
            for each in located:
                before = len(lengths)
                for text in documents(each):
                    encoded = text.encode("utf-8", "replace")  # JSON can hold halves of surrogate pairs
                    stream.write(encoded)
                    digest = hashlib.sha256(encoded).digest()
                    lengths.append(len(encoded))
                    sides.append(int.from_bytes(digest[:8], "little"))
                    order.append(int.from_bytes(digest[8:16], "little"))
                    written += len(encoded)
                    if written - told >= BLOCK:
                        progress(written, 0, "reading text")
                        told = written
                if len(lengths) == before:
                    raise BadInput(f"corpus '{each.source.name}' is empty: give one with text")
                if not unchanged(each):
                    raise BadInput(f"corpus '{each.source.name}' has changed: give the same command again")
        if min(sides) == max(sides):
            names = ", ".join(f"'{each.source.name}'" for each in located)
            raise BadInput(f"corpus {names} is a single document: give two or more, for some are held out")
        return cls(
            path=path,
            lengths=np.frombuffer(lengths, dtype=np.int64),
            sides=np.frombuffer(sides, dtype=np.uint64),
            order=np.frombuffer(order, dtype=np.uint64),
        )

    def split(self, share: float) -> tuple[Numbers, Numbers]:
        """The documents to train on and those held out: the ones whose hash is below `share`.

        In a small corpus the lowest hash is held out and the highest is not, wherever they lie, so that each side has
        at least one document. `BadInput` if all documents are the same one.
        """
        lowest, highest = self.sides.min(), self.sides.max()
        heldout = (self.sides == lowest) | (self.sides < np.uint64(int(share * 2**64))) & (self.sides != highest)
        return np.flatnonzero(~heldout), np.flatnonzero(heldout)

    def sample(self, chosen: Numbers, limit: int) -> Iterator[str]:
        """Documents out of `chosen` in the order of a hash of each, until they fill `limit` bytes."""
        starts = self._starts()
        with self.path.open("rb") as stream:
            for number in chosen[np.argsort(self.order[chosen], kind="stable")]:
                stop_if_asked()
                if limit <= 0:
                    return
                stream.seek(int(starts[number]))
                data = stream.read(min(limit, int(self.lengths[number])))
                limit -= len(data)
                yield data.decode("utf-8", "ignore")  # the last one may end within a character

    def blocks(self, chosen: Numbers) -> Iterator[Block]:
        """The documents `chosen`, in order, in blocks of about `BLOCK` bytes, at least one document each."""
        starts = self._starts()
        block: Block = []
        size = 0
        for number in chosen:
            block.append((int(starts[number]), int(self.lengths[number])))
            size += block[-1][1]
            if size >= BLOCK:
                yield block
                block, size = [], 0
        if block:
            yield block

    def _starts(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.lengths) - self.lengths


def read(path: Path, block: Block) -> Iterator[str]:
    """The documents of a block of the spool at `path`."""
    with path.open("rb") as stream:
        for start, length in block:
            stream.seek(start)
            yield stream.read(length).decode()
