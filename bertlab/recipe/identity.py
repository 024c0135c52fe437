"""Recipes to canonical JSON and ids, back again, and their fields by dotted paths.

The identity of a run is the SHA-256 of the canonical JSON of its science, with fields at their defaults left out:
adding a field keeps old ids.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from bertlab.errors import BadInput, unknown
from bertlab.recipe.ranges import Arm, FieldError, arm, arms, axis_of

SCIENCE_VERSION = 3
"""Raised by hand whenever the code changes the meaning of a recipe; results of another version are never mixed in."""

T = TypeVar("T")


def science(value: Any, default: Any = None) -> Any:
    """`value` as JSON-ready data, without the dataclass fields at their defaults.

    The `kind` of an arm is left out too where it is that of the `default` of its field.
    What a value says is not used is left out too: it is taken as its `declared` property has it, if it has one.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        used: Any = getattr(value, "declared", value)
        kept: dict[str, Any] = {}
        if isinstance(value, Arm) and type(value) is not type(default):
            kept["kind"] = value.kind
        hints = _hints(type(value))
        for each in dataclasses.fields(value):
            item = getattr(used, each.name)
            if hints[each.name] is float:  # 1 and 1.0 are the same science
                item = float(item)
            usual = _default(each)
            if usual is dataclasses.MISSING or item != usual:
                kept[each.name] = science(item, usual)
        return kept
    if isinstance(value, Mapping):
        return {str(key): science(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [science(item) for item in value]
    return value


def canonical(value: Any) -> str:
    """Canonical JSON of `value`: sorted keys, no spaces, defaults left out."""
    return json.dumps(science(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def identity(kind: str, **parts: Any) -> str:
    """The id of a run of `kind`: 16 hexadecimal digits of the SHA-256 of its canonical science and SCIENCE_VERSION."""
    text = canonical({"kind": kind, "science_version": SCIENCE_VERSION, **parts})
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default of a field; `MISSING` if it has none."""
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def load(kind: type[T], data: Any) -> T:
    """The inverse of `science`: a frozen dataclass of type `kind` from JSON data. Unknown fields raise `BadInput`."""
    return typing.cast(T, _load(kind, data))


def _load(kind: Any, data: Any, default: Any = None) -> Any:
    if isinstance(kind, type) and issubclass(kind, Arm):
        kind = type(default) if "kind" not in data and isinstance(default, kind) else arm(kind, data.get("kind"))
        data = {name: item for name, item in data.items() if name != "kind"}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        for name in data:
            if name not in hints:
                raise unknown(f"field of {kind.__name__}", name, hints)
        defaults = {each.name: _default(each) for each in dataclasses.fields(kind)}
        return kind(**{name: _load(hints[name], item, defaults[name]) for name, item in data.items()})
    if typing.get_origin(kind) is tuple:
        return tuple(_load(typing.get_args(kind)[0], item) for item in data)
    if typing.get_origin(kind) in (typing.Union, types.UnionType) and data is not None:
        return _load(next(arm for arm in typing.get_args(kind) if arm is not type(None)), data)
    return data


def set_fields(value: T, texts: Mapping[str, str], prefix: str = "") -> T:
    """`value` with the fields at dotted paths set to what the texts say in each field's type.

    All at once, as some values go together only: the order of `texts` does not matter. A field that holds arms takes
    their kinds (`objective=masked_lm`). The fields of an arm stand below its kind where a field holds
    several (`masked_lm.mask_prob=0.4`), and below the name of a field that holds one. `prefix` is what errors write
    before each path. Raises `BadInput` for an unknown field (with the nearest name), for an arm that is not there, for
    text that is not of the field's type, and for values that do not go together.
    """
    return typing.cast(T, _set(value, texts, prefix))


def _set(value: Any, texts: Mapping[str, str], prefix: str) -> Any:
    kind: Any = type(value)
    hints = _hints(kind)
    changes: dict[str, Any] = {}
    groups: dict[str, dict[str, str]] = {}
    for path, text in texts.items():
        name, _, deeper = path.partition(".")
        group = name in hints and dataclasses.is_dataclass(getattr(value, name))
        if deeper and (group or _holder(hints, name)):
            groups.setdefault(name, {})[deeper] = text
        elif name not in hints or deeper:
            raise unknown("field", prefix + path, field_paths(kind, prefix))
        elif axis_of(hints[name])[0] is not None:
            changes[name] = _chosen(hints[name], getattr(value, name), prefix + path, text)
        elif group:
            known = ", ".join(field_paths(hints[name], f"{prefix}{name}."))
            raise BadInput(f"field '{prefix}{path}' is a group: set one of {known}")
        else:
            changes[name] = _parse(hints[name], prefix + path, text)
    for name, inner in groups.items():
        field = name if name in hints else _holder(hints, name)
        held = changes.get(field, getattr(value, field))
        deep = f"{prefix}{name}."
        if name in hints:
            changes[field] = _set(held, inner, deep)
            continue
        if name not in (kinds := [each.kind for each in held]):
            raise BadInput(f"{deep}{next(iter(inner))} has no effect: {prefix}{field} is {', '.join(kinds) or 'empty'}")
        changes[field] = tuple(_set(each, inner, deep) if each.kind == name else each for each in held)
    try:
        return dataclasses.replace(value, **changes)
    except FieldError as error:
        raise error.named(prefix) from None


def _holder(hints: Mapping[str, Any], kind: str) -> str:
    """The field that may hold an arm of this kind among several; empty if none may."""
    for name, hint in hints.items():
        axis, many = axis_of(hint)
        if axis is not None and many and kind in arms(axis):
            return name
    return ""


def _chosen(hint: Any, held: Any, path: str, text: str) -> Any:
    """The arms whose kinds `text` lists: those that a field already holds, and others as their defaults have them."""
    axis, many = axis_of(hint)
    assert axis is not None
    has = {each.kind: each for each in (held if many else (held,))}
    kinds = [each.strip() for each in text.split(",") if each.strip()] if many else [text]
    if not kinds:
        raise BadInput(f"{path} is empty: give one or several of {', '.join(arms(axis))}")
    for kind in kinds:
        if kind not in arms(axis):
            raise unknown(f"value of {path}", kind, arms(axis))
    chosen = tuple(has[kind] if kind in has else arm(axis, kind)() for kind in kinds)
    return chosen if many else chosen[0]


def field_paths(kind: Any, prefix: str = "") -> list[str]:
    """The dotted paths of all fields of a dataclass type that `set_fields` can set."""
    paths: dict[str, None] = {}
    for name, hint in _hints(kind).items():
        axis, many = axis_of(hint)
        if axis is not None:
            paths[f"{prefix}{name}"] = None
            for each, found in arms(axis).items():
                paths |= dict.fromkeys(field_paths(found, f"{prefix}{each if many else name}."))
        elif dataclasses.is_dataclass(hint):
            paths |= dict.fromkeys(field_paths(hint, f"{prefix}{name}."))
        elif hint in (int, float, bool, str) or typing.get_origin(hint) is Literal:
            paths[f"{prefix}{name}"] = None
    return list(paths)


def _parse(hint: Any, path: str, text: str) -> Any:
    if typing.get_origin(hint) is Literal:
        if text not in typing.get_args(hint):
            raise unknown(f"value of {path}", text, typing.get_args(hint))
        return text
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise BadInput(f"{path} is '{text}': give true or false")
        return text.lower() == "true"
    if hint in (int, float):
        try:
            number = float(text.replace("_", ""))
        except ValueError:
            raise BadInput(f"{path} is '{text}': give a number") from None
        if not math.isfinite(number) or (hint is int and number != int(number)):
            raise BadInput(f"{path} is '{text}': give {'a whole number' if hint is int else 'a finite number'}")
        return int(number) if hint is int else number
    if hint is str:
        return text
    raise BadInput(f"field '{path}' cannot be set from the command line")
