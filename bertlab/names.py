"""Makes names from users and data safe to print and to use as file names."""

import dataclasses
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

ALL = "all"
"""All studies, where commands take the names of studies."""


def visible(text: str) -> str:
    """`text` without control characters (except line feeds), direction marks and surrogates."""
    if text.isprintable():
        return text
    return "".join(character for character in text if character == "\n" or unicodedata.category(character)[0] != "C")


def plain(text: str) -> str:
    """`text` on one line, with single spaces, without control and invisible format characters."""
    return " ".join(filter(None, map(visible, text.split())))


def plain_data(value: Any) -> Any:
    """JSON data, or a dataclass of them, with each text in it `plain`."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list | tuple):
        return type(value)([plain_data(item) for item in value])
    if isinstance(value, Mapping):
        return {plain(str(name)): plain_data(item) for name, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{name: plain_data(item) for name, item in vars(value).items()})
    return value


def filename(name: str) -> str:
    """`name` as the stem of a file: unchanged if possible, otherwise a slug with a hash."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower())[:64].strip(".-_")
    taken = r"index|agreement|compare|con|prn|aux|nul|(com|lpt)\d"  # the report's own pages, devices on some systems
    if name and slug == name and not re.fullmatch(taken, name.partition(".")[0]):
        return name
    return f"{slug or 'study'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def label(text: str) -> str:
    """`text` as the readable part of a directory name: `[a-z0-9][a-z0-9._-]{0,63}`."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:64].rstrip("-._")
    return slug or "run"


def shown(value: Any) -> str:
    """A value as text for an error, shortened."""
    try:
        text = str(value) if type(value) in (int, float, bool) else repr(value)
    except Exception:  # a user's object, or an integer with too many digits
        text = f"of type {type(value).__name__}"
    text = re.sub(r"<class '(?:[^']*\.)?(\w+)'>", r"\1", text)
    return text if len(text) <= 80 else f"{text[:60]}..."
