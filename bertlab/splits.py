"""Which files of a folder are text to train on: one rule for local folders and for data sets of the Hub.

A file is of a split if a part of its path names one (`train-00000-of-00002`, `wiki.valid`, `test/`) and the folder has
files of the training split and of another one by the same pattern. A title, such as `train-robbery`, is no split.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from bertlab.errors import BadInput

_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev", "development"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""The names of splits, as the `datasets` library knows them."""
_SPLIT_OF = {name: split for split, names in _SPLITS.items() for name in names}
_NAME = re.compile(rf"(?<![^\W\d_])({'|'.join(sorted(_SPLIT_OF, key=len, reverse=True))})(?![^\W\d_])", re.IGNORECASE)
_NUMBERS = re.compile(r"[-._ ]*(?:of[-._ ]*)?\d+[kmb]?(?![^\W\d_])", re.IGNORECASE)
"""The numbers of shards, and sizes: `-00000-of-00002`, `_0`, `_10M`."""
_SHARD = re.compile(r"train-\d{5}-of-\d{5}\b.*")
_SIZE = re.compile(r"\d+[kmb]\b", re.IGNORECASE)

_Pattern = tuple[str, ...]


class _Place(NamedTuple):
    """A part of a path that names a split, and its pattern: the parts up to it, with `*` for the names of splits."""

    pattern: _Pattern
    split: str


def training(files: Sequence[str], suffixes: Iterable[str]) -> list[str]:
    """The training split of `files`, relative paths with `/`; all of them, if the folder has no splits.

    The ends of names in `suffixes`, before `.gz`, belong to no split. Raises `BadInput` that names the folders of
    several configurations, each with its own splits.
    """
    ends = sorted(suffixes, key=len, reverse=True)
    places = {path: _places(path, ends) for path in files}
    splits: dict[_Pattern, set[str]] = defaultdict(set)
    for placements in places.values():
        for placement in placements:
            splits[placement.pattern].add(placement.split)

    def of(path: str) -> list[_Place]:
        """The parts that make a file one of a split."""
        proven = [placement for placement in places[path] if {"train"} < splits[placement.pattern]]
        return proven or (places[path][-1:] if _SHARD.fullmatch(PurePosixPath(path).name) else [])

    chosen = [path for path in files if {placement.split for placement in of(path)} == {"train"}]
    _require_one_configuration({path: of(path) for path in chosen})
    return chosen or _alone(files, places) or list(files)


def _places(path: str, ends: Sequence[str]) -> list[_Place]:
    placements: list[_Place] = []
    parts: list[str] = []
    for part in _stem(path, ends).split("/"):
        names = {_SPLIT_OF[name.lower()] for name in _NAME.findall(part)}
        if len(names) == 1:
            part = _NUMBERS.sub("", _NAME.sub("*", part)).lower()
            placements.append(_Place((*parts, part), *names))
        parts.append(part)
    return placements


def _stem(path: str, ends: Sequence[str]) -> str:
    """A path without the end that says of what type the file is."""
    path = path.removesuffix(".gz")
    return next((path.removesuffix(end) for end in ends if path.endswith(end)), path)


def _alone(files: Sequence[str], places: Mapping[str, Sequence[_Place]]) -> list[str]:
    """The files called `train` if each file names a split: others may have longer names, as `validation_matched`.

    They are also if all files of their type are called so, beside a text of another type.
    """
    called = [path for path in files if any(part.pattern[-1] == "*" and part.split == "train" for part in places[path])]
    types = {PurePosixPath(path.removesuffix(".gz")).suffix for path in called}
    alike = [path for path in files if PurePosixPath(path.removesuffix(".gz")).suffix in types]
    return called if all(places.values()) or called == alike else []


def _require_one_configuration(chosen: Mapping[str, Sequence[_Place]]) -> None:
    """Raises `BadInput` if training files, with what makes them so, are in several folders that have their own splits.

    Two sizes of a training split, such as `train_10M` and `train_100M`, are so too: one holds the other.
    """
    folders = set()
    for path, places in chosen.items():
        parts, above = path.split("/")[:-1], len(places[0].pattern) - 1
        folders_above = [*parts[:above], *filter(_SIZE.search, parts[above:])]
        folders.add("/".join(folders_above) or ".")
    if len(folders) > 1:
        names = sorted(folders)
        more = f" and {len(names) - 4} more" if len(names) > 4 else ""
        raise BadInput(f"has splits in several folders ({', '.join(names[:4])}{more}): give one of these folders")
