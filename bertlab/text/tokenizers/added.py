"""Tokens that were added to a published tokenizer: entries beside those of its model, or some of these, which are one
token wherever a text has them. Any of five files may name them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertlab.errors import BadInput
from bertlab.names import shown
from bertlab.store.files import content, kind

if TYPE_CHECKING:
    from tokenizers import Tokenizer as RustTokenizer

LEGACY, MAP, CONFIG = "added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"
"""The files beside tokenizer.json that name added tokens."""
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
"""The fields that name the five special tokens, in the order of `TrainedTokenizer.specials`."""
_FLAGS = ("single_word", "lstrip", "rstrip")
_SPECIAL = {"special": True, "normalized": False}

Token = dict[str, Any]
"""A token as tokenizer.json has it: its `content`, its `id` and its flags."""


def load_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a checkpoint. Raises `BadInput` if the file is missing or holds none."""
    if kind(path, "checkpoint file") is None:
        raise BadInput(f"{path.parent} has no {path.name}: give a transformers checkpoint")
    held = content(path, "checkpoint file")
    try:
        data = json.loads(held.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read as JSON ({error}): give the file as transformers saves it") from None
    if not isinstance(data, dict):
        raise BadInput(f"{path} is not a JSON object: give the file as transformers saves it")
    return data


def optional_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a checkpoint, as `load_object` reads it; empty if there is no such file."""
    return load_object(path) if path.exists() else {}


def tokens(
    listed: Any, entries: Mapping[str, int], specials: Sequence[str], directory: Path | None = None
) -> list[Token] | None:
    """The tokens that were added to a model with these entries, by their ids, without the five `specials`.

    `listed` is what a tokenizer.json has; a `directory` has the files beside it, whose tokens without an id follow the
    others. None if `listed` is no list of tokens. Raises `BadInput` that names the first token whose id is not that of
    its entry or the next one, and a special token of another name.
    """
    if not isinstance(listed, list) or not all(map(_is_token, listed)):
        return None
    named = [("tokenizer.json", token) for token in listed]
    if directory is not None:
        named += [(str(directory / name), token) for name, token in _beside(directory, specials)]
    by_text: dict[str, Token] = {}
    files: dict[str, str] = {}
    for file, token in named:
        text = token["content"]
        first = by_text.setdefault(text, {"id": None, "normalized": True, "special": False, **token})
        files.setdefault(text, file)
        if token.get("id") not in (None, first["id"]):
            if first["id"] is not None:
                raise _misplaced(file, token, f"{files[text]} {first['id']}")
            first["id"] = token["id"]
    for text, token in by_text.items():
        if text in entries and token["id"] not in (None, entries[text]):
            raise _misplaced(files[text], token, f"the vocabulary {entries[text]}")
        token["id"] = entries.get(text, token["id"])
    ordered = sorted(by_text.values(), key=lambda token: (token["id"] is None, token["id"] or 0))
    beyond = [token for token in ordered if token["content"] not in entries]
    for number, token in enumerate(beyond, start=len(entries)):
        if token["id"] not in (None, number):
            raise _misplaced(files[token["content"]], token, f"the next one is {number}")
        token["id"] = number
    return [token for token in ordered if token["content"] not in specials]


def add(backend: RustTokenizer, added: Iterable[Token]) -> None:
    """Adds tokens to a tokenizer without any; each has the id of its entry, or the next one. Raises `BadInput` if it
    has another one, as beyond special tokens that the model lacks."""
    from tokenizers import AddedToken

    for token in added:
        flags = {name: bool(token.get(name)) for name in (*_FLAGS, "normalized", "special")}
        backend.add_tokens([AddedToken(token["content"], **flags)])
        if backend.token_to_id(token["content"]) != token["id"]:
            raise BadInput(f"the added token {shown(token['content'])} lacks its id {token['id']}: make it an entry")


def is_telling(path: Path, specials: Iterable[str]) -> bool:
    """Whether a special_tokens_map.json names other tokens than `specials`."""
    return not {*map(_content, _named(load_object(path)))} <= {*specials}


def _beside(directory: Path, specials: Sequence[str]) -> Iterator[tuple[str, Token]]:
    """The added tokens that the files beside tokenizer.json name, each with its file."""
    config, names = (optional_object(directory / name) for name in (CONFIG, MAP))
    decoder = config.get("added_tokens_decoder")
    for number, token in decoder.items() if isinstance(decoder, dict) else ():
        if not str(number).isdecimal() or not _is_token({**(token if isinstance(token, dict) else {}), "id": 0}):
            raise BadInput(f"{directory / CONFIG} has the added token {shown(token)}: fetch the checkpoint again")
        yield CONFIG, {**token, "id": int(number)}
    for text, number in optional_object(directory / LEGACY).items():
        if not _is_token(token := {"content": text, "id": number}):
            raise BadInput(f"{directory / LEGACY} gives {shown(text)} the id {shown(number)}: give a number")
        yield LEGACY, token
    for name, fields in ((MAP, names), (CONFIG, config)):
        for role, special in zip(ROLES, specials, strict=True):
            if fields.get(role) is not None and _content(fields[role]) != special:
                wrong = f"{directory / name} has {role} {shown(_content(fields[role]))}"
                raise BadInput(f"{wrong}: only tokenizers with {special} can be read")
        for value in _named(fields):
            text = _content(value)
            if not isinstance(text, str) or not text:
                raise BadInput(f"{directory / name} names the special token {shown(value)}: give a text")
            flags = value if isinstance(value, dict) else {}
            if text not in specials:
                yield name, {**{flag: bool(flags.get(flag)) for flag in _FLAGS}, **_SPECIAL, "content": text}


def _named(fields: Mapping[str, Any]) -> Iterator[Any]:
    """The special tokens that a file names, in the order in which `transformers` adds those without an id."""
    roles = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
    others = sorted(name for name in fields if name.endswith("_token") and name not in roles)
    for name in (*roles, *others):
        if isinstance(fields.get(name), str | dict):
            yield fields[name]
    for name in ("additional_special_tokens", "extra_special_tokens"):
        values = fields.get(name)
        yield from values.values() if isinstance(values, dict) else values if isinstance(values, list) else ()


def _content(value: Any) -> Any:
    return value.get("content") if isinstance(value, dict) else value


def _is_token(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("content"), str) or not value["content"]:
        return False
    return type(value.get("id")) is int and all(isinstance(value.get(flag, False), bool) for flag in _FLAGS)


def _misplaced(file: str, token: Token, other: str) -> BadInput:
    wrong = f"{file} gives the added token {shown(token['content'])} the id {token['id']}, and {other}"
    return BadInput(f"{wrong}: only tokenizers whose added tokens follow their vocabulary can be read")
