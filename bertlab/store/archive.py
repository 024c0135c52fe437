"""The archive of exported results, `runs.tar.xz`: finished runs, right answers and records of studies in one file.

It holds the files that a store of folders has, under the same names, compressed as a whole because runs of a study are
alike: `tar -xf runs.tar.xz` makes folders of it. A store reads it in memory, and unpacks nothing to disk. A folder of
the same run, or a file of the same record, counts in place of what is in the archive.

Equal results give equal bytes: names are in order, members have no times, owners and modes of their own, and arrays
inside are not compressed. The compressed bytes are those of liblzma with fixed settings.
"""

import io
import lzma
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.store.files import content, kind
from bertlab.store.run import Run, State, is_kind
from bertlab.store.schema import is_hash, is_id
from bertlab.store.writes import folder as make_folder
from bertlab.store.writes import write

FILE = "runs.tar.xz"
_FILTER = {
    **{"id": lzma.FILTER_LZMA2, "mode": lzma.MODE_NORMAL, "mf": lzma.MF_BT4, "nice_len": 64, "depth": 0},
    **{"dict_size": 2**26, "lc": 3, "lp": 1, "pb": 1},  # most bytes are of numbers of 16 bits
}
MEMORY = 2**28
"""Bytes that the decoder may use: four times those that `_FILTER` needs."""
FACTOR, LEAST = 100, 2**26
"""An archive unpacks to at most `LEAST` bytes and `FACTOR` times those of its file; real results have five times."""


@dataclass(frozen=True)
class Archive:
    """What is in an archive; nothing, where a store has none."""

    path: Path
    content: bytes = b""
    folders: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    """The names in each folder, with the first byte in `content` and the number of bytes."""
    changed: int = 0
    """The time of the file."""

    def read(self, folder: str, name: str) -> bytes:
        """The bytes of a file. Raises `BadInput` if there is none."""
        if name not in self.folders.get(folder, {}):
            raise BadInput(f"'{self.path / folder / name}' is missing: export the results again")
        start, size = self.folders[folder][name]
        return self.content[start : start + size]

    @cached_property
    def runs(self) -> Mapping[str, Mapping[str, Sequence[Run]]]:
        """The runs of each kind by id, in order."""
        runs: dict[str, dict[str, list[Run]]] = {}
        for folder in sorted(self.folders):
            kind, _, name = folder.partition("/")
            run_id, _, label = name.partition("--")
            if name:
                of_kind = runs.setdefault(kind, {})
                of_kind.setdefault(run_id, []).append(Archived(run_id, kind, label, self.path / folder))
        return runs


@dataclass(frozen=True)
class Archived(Run):
    """A finished run in an archive. Its path leads through the file of the archive."""

    @property
    def root(self) -> Path:
        """The store."""
        return self.path.parents[2]

    def has(self, name: str) -> bool:
        """Whether the run has a file."""
        return name in opened(self.root).folders.get(self._folder, {})

    def content(self, name: str) -> bytes:
        """The bytes of a file of the run, or of its right answers."""
        path = self.file(name)
        return opened(self.root).read(path.parent.relative_to(self.path.parents[1]).as_posix(), path.name)

    def copy(self, name: str, root: Path, to: str) -> None:
        """Writes a file of the run to `to` below `root`. Raises `Unwritable`."""
        make_folder(root, PurePosixPath(to).parent.as_posix())
        write(root, to, self.content(name))

    def check_copied(self) -> None:
        """An archive has no links."""

    def check_removed(self) -> None:
        """Raises `BadInput`: an archive is written whole."""
        archive = self.path.parents[1]
        raise BadInput(f"run {self.id} is in '{archive}': `bertlab merge {self.root} --into STORE` makes folders of it")

    def damaged_by(self, path: Path) -> BadInput:
        """The error of a run whose file at `path` differs from the manifest."""
        return BadInput(f"'{path}' is damaged: get the archive again, or export the results again")

    def digest(self, name: str) -> str:
        """The SHA-256 of a file."""
        return sha256(self.content(name)).hexdigest()

    @property
    def _folder(self) -> str:
        return f"{self.kind}/{self.path.name}"

    def _state(self) -> State:
        archive = opened(self.root)
        folders = {folder: archive.folders.get(folder, {}) for folder in (self._folder, "answers")}
        return tuple(
            (str(archive.path / folder / name), size, archive.changed, 0)
            for folder, files in folders.items()
            for name, (_, size) in files.items()
        )


def opened(root: Path) -> Archive:
    """The archive of a store, read once as long as its file does not change.

    Raises `BadInput` for a file that is damaged, has other content than the results of a store, or unpacks to more
    than such results do.
    """
    path = root / FILE
    if kind(path, "archive") is None:
        return Archive(path)
    facts = path.stat()
    return _opened(path, facts.st_ino, facts.st_size, facts.st_mtime_ns)


@lru_cache(maxsize=8)
def _opened(path: Path, inode: int, size: int, changed: int) -> Archive:
    whole = _unpacked(path)
    folders: dict[str, dict[str, tuple[int, int]]] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                files = folders.setdefault(name.parent.as_posix(), {})
                plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
                if not plain or not _belongs(member.name) or name.name in files:
                    raise BadInput(f"'{path}' has {shown(member.name)}, which exported results have not: do not use it")
                if not 0 <= member.size <= len(whole) - member.offset_data:
                    raise _damaged(path)
                files[name.name] = member.offset_data, member.size
            rest = whole[tar.offset :]
    except (tarfile.TarError, EOFError, OSError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
        raise error if isinstance(error, BadInput) else _damaged(path) from error
    if len(rest) < 2 * tarfile.BLOCKSIZE or rest.strip(b"\0"):  # of a tar that is cut off, or broken in between
        raise _damaged(path)
    return Archive(path, whole, folders, changed)


def _unpacked(path: Path) -> bytes:
    packed = content(path, "archive")
    most = LEAST + FACTOR * len(packed)
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, MEMORY)
    try:
        whole = decoder.decompress(packed, most + 1)
    except (lzma.LZMAError, MemoryError) as error:
        raise _damaged(path) from error
    if len(whole) > most:
        raise BadInput(f"'{path}' unpacks to more than {most / 1e6:,.0f} MB, which results do not: do not use it")
    if not decoder.eof or decoder.unused_data:
        raise _damaged(path)
    return whole


def _damaged(path: Path) -> BadInput:
    return BadInput(f"'{path}' is damaged: get it again, or export the results again")


def _belongs(name: str) -> bool:
    """Whether exported results have a file of this name."""
    match name.split("/"):
        case ["answers", file]:
            return is_hash(file.removesuffix(".npz")) and file.endswith(".npz")
        case ["studies", file]:
            return file.endswith(".json") and "\0" not in file
        case [kind, run, file]:
            run_id, mark, _ = run.partition("--")
            return is_kind(kind) and is_id(run_id) and bool(mark) and file not in ("", ".", "..") and "\0" not in name
    return False


def save(root: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Writes files, each a name and its bytes, as the archive of the store `root`. Raises `Unwritable`.

    Those of one name and of near sizes stand together, as they are most alike.
    """
    packed = io.BytesIO()
    with (
        lzma.open(packed, "wb", check=lzma.CHECK_CRC64, filters=[_FILTER]) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, data in sorted(files, key=lambda file: (PurePosixPath(file[0]).name, len(file[1]), file[0])):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    write(root, FILE, packed.getvalue())
