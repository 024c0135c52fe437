"""Recipes to canonical JSON and ids, back again, and their fields by dotted paths.

The identity of a run is the SHA-256 of the canonical JSON of its definition, without fields at their defaults: a new
field keeps old ids.
"""

import dataclasses
import functools
import hashlib
import json
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from bertlab.errors import BadInput, unknown
from bertlab.names import shown
from bertlab.recipe.ranges import Arm, FieldError, arm, arms, axis_of, hints

SCIENCE_VERSION = 3
"""Raised by hand whenever the code changes the meaning of a recipe; results of another version are never mixed in."""

T = TypeVar("T")


def to_canonical(value: Any, default: Any = None, *, whole: bool = False) -> Any:
    """`value` as JSON-ready data without dataclass fields at their defaults; with all fields and kinds if `whole`.

    An arm has its `kind`, unless it is of the kind of its field's `default`; a `plain` arm with nothing else is its
    kind. A value with a `declared` property leaves out the fields that this property leaves out.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        used: Any = value if whole else getattr(value, "declared", value)
        data: dict[str, Any] = {}
        if isinstance(value, Arm) and (whole or type(value) is not type(default)):
            data["kind"] = value.kind
        kind: Any = type(value)
        hints_of = hints(kind)
        for field in dataclasses.fields(value):
            item = getattr(used, field.name)
            item = item if whole else getattr(item, "declared", item)  # a group that declares nothing is at its default
            if hints_of[field.name][0] is float:  # 1 and 1.0 are the same value
                item = float(item)
            usual = default_of(field)
            if whole or usual is dataclasses.MISSING or item != usual:
                data[field.name] = to_canonical(item, usual, whole=whole)
        return data["kind"] if isinstance(value, Arm) and value.plain and data.keys() == {"kind"} else data
    if isinstance(value, Mapping):
        return {str(key): to_canonical(item, whole=whole) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_canonical(item, whole=whole) for item in value]
    return value


def canonical(value: Any) -> str:
    """Canonical JSON of `value`: sorted keys, no spaces, defaults left out."""
    return json.dumps(to_canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def identity(kind: str, **parts: Any) -> str:
    """The id of a run of `kind`: 16 hexadecimal digits of the SHA-256 of its definition and SCIENCE_VERSION."""
    return filled(template(kind, **parts))


MARK = "2f1a9f5c6de84b0c: a value put in later"
"""The text that stands in a `template` for a value that is put in later."""


def template(kind: str, **parts: Any) -> tuple[str, ...]:
    """What the hash of `identity` reads, in pieces around the values that are `MARK`, in the order of their keys."""
    text = canonical({"kind": kind, "science_version": SCIENCE_VERSION, **parts})
    return tuple(text.split(json.dumps(MARK)))


def filled(pieces: Sequence[str], *values: str) -> str:
    """The id of a run from a `template` and the JSON of the values that it lacks."""
    first, *others = pieces
    text = first + "".join(value + piece for value, piece in zip(values, others, strict=True))
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


@functools.cache
def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default of a field; `MISSING` if it has none."""
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def load(kind: type[T], data: Any) -> T:
    """The inverse of `to_canonical`: a frozen dataclass of type `kind` from JSON data.

    Raises `BadInput` for unknown fields, values out of range, and data of another form.
    """
    try:
        return typing.cast(T, _load(kind, data))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise BadInput(f"{shown(data)} is no {kind.__name__} ({error}): bertlab writes another form") from error


def _load(kind: Any, data: Any, default: Any = None) -> Any:
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return tuple(_load(inner[0], item) for item in data)
    if typing.get_origin(kind) is Mapping:
        return {key: _load(inner[1], item) for key, item in data.items()}
    if axis_of(kind)[0]:
        usual = default if isinstance(default, kind) else kind
        data = {"kind": data} if isinstance(data, str) else data
        kind = arm(kind, str(data.get("kind", usual.kind)))
        data = {name: item for name, item in data.items() if name != "kind"}
    if not hasattr(kind, "__dataclass_fields__"):
        return data
    hints_of = hints(kind)
    for name in data:
        if name not in hints_of:
            raise unknown(f"field of {kind.__name__}", name, hints_of)
    defaults = {field.name: default_of(field) for field in dataclasses.fields(kind)}
    return kind(**{name: _load(hints_of[name][0], item, defaults[name]) for name, item in data.items()})


def flatten(parts: Any, prefix: str = "") -> dict[str, Any]:
    """The fields of a dataclass, or of named parts, and the fields of these by dotted path, as `with_fields` sets them.

    The leaf of a field of arms is the arms. Their own fields are below their kind if a field holds several arms
    (`masked_lm.mask_prob`), and below the name of a field that holds one (`masked_lm.selection.p`).
    """
    if not isinstance(parts, Mapping):
        parts = {field.name: getattr(parts, field.name) for field in dataclasses.fields(parts)}
    by_path: dict[str, Any] = {}
    for name, item in parts.items():
        if isinstance(item, Arm) or not dataclasses.is_dataclass(item):
            by_path[f"{prefix}{name}"] = item
        if dataclasses.is_dataclass(item):
            by_path |= flatten(item, f"{prefix}{name}.")
        for component in item if isinstance(item, tuple) else ():
            if isinstance(component, Arm):
                by_path |= flatten(component, f"{prefix}{component.kind}.")
    return by_path


def by_kind(leaf: Any) -> Any:
    """A leaf with the kinds of its arms instead of the arms, texts for other parts, and JSON for arms by name."""
    if isinstance(leaf, Mapping):
        return to_canonical(leaf, whole=True)
    if isinstance(leaf, tuple):
        return tuple(map(by_kind, leaf))
    if isinstance(leaf, Arm):
        return leaf.kind
    return str(leaf) if dataclasses.is_dataclass(leaf) else leaf


def as_set(leaf: Any, between: str = ", ") -> str:
    """A leaf with kinds instead of arms as `--set` writes it, `between` several kinds; empty for None. A mapping, as
    numbers over steps are, is in words."""
    if isinstance(leaf, tuple | list):
        return between.join(as_set(item, between) for item in leaf)
    if isinstance(leaf, Mapping):
        parts = ((name, as_set(part, between)) for name, part in leaf.items())
        return ", ".join(part if name == "kind" else f"{name} {part}" for name, part in parts)
    if isinstance(leaf, bool):
        return str(leaf).lower()
    return "" if leaf is None else f"{leaf:g}" if isinstance(leaf, float) else str(leaf)


def flatten_json(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The `flatten` of a recipe or another value from its JSON, with kinds or names instead of what has one, and arms
    by dotted paths as one text."""
    by_path: dict[str, Any] = {}
    for name, item in data.items():
        if isinstance(item, Mapping) and (not item or any("." in path for path in item)):
            by_path[prefix + name] = "; ".join(f"{path}: {_in_words(part)}" for path, part in item.items())
        elif isinstance(item, Mapping):
            by_path |= {prefix + name: item["kind"]} if "kind" in item else {}
            by_path |= flatten_json(item, f"{prefix}{name}.")
        elif isinstance(item, list):
            by_path[prefix + name] = [
                part.get("kind", part.get("name", part)) if isinstance(part, Mapping) else part for part in item
            ]
            for part in item:
                if isinstance(part, Mapping) and "kind" in part:
                    by_path |= flatten_json(part, f"{prefix}{part['kind']}.")
        elif name != "kind":
            by_path[prefix + name] = item
    return by_path


def _in_words(arm: Any) -> str:
    """The kind of an arm and its fields, from its JSON: `ramp, start 2.0, end 1.0`."""
    fields = arm.items() if isinstance(arm, Mapping) else [("kind", arm)]
    return ", ".join(str(value) if name == "kind" else f"{name} {value}" for name, value in fields)


def set_fields(value: T, texts: Mapping[str, str], prefix: str = "") -> T:
    """`with_fields` with texts that a user writes: `objective=masked_lm`, `masked_lm.mask_prob=0.4`.

    Errors write `prefix` before each path. Raises `BadInput` also for an unknown field (with the nearest name) and for
    text that is not of the field's type.
    """
    return with_fields(value, texts, prefix, _parse)


def with_fields(
    value: T, changes: Mapping[str, Any], prefix: str = "", read: Callable[[Any, str, Any], Any] = lambda *leaf: leaf[2]
) -> T:
    """`value` with other leaves; an arm of a kind that it already holds keeps its fields.

    It changes all leaves at once, because some values are valid only in combination. Raises `BadInput` for values out
    of range or without effect. `read` makes a value from a type hint, a path and a leaf.
    """
    kind: Any = type(value)
    hints_of = hints(kind)
    replaced: dict[str, Any] = {}
    below: dict[str, dict[str, Any]] = {}
    for path, leaf in changes.items():
        name, _, deeper = path.partition(".")
        if deeper and _owner(hints_of, name):
            below.setdefault(name, {})[deeper] = leaf
            continue
        if deeper or name not in hints_of:
            there = field_paths(kind, prefix)
            elsewhere = [candidate for candidate in there if candidate.split(".")[-1] == path.split(".")[-1]]
            raise unknown("field", prefix + path, elsewhere or there)
        hint, held = hints_of[name][0], getattr(value, name)
        if axis_of(hint)[0]:
            replaced[name] = _merge_arms(held, read(hint, prefix + path, leaf))
        elif dataclasses.is_dataclass(hint):
            paths = ", ".join(field_paths(hint, f"{prefix}{name}."))
            raise BadInput(f"field '{prefix}{path}' is a group: set one of {paths}")
        else:
            replaced[name] = read(hint, prefix + path, leaf)
    for name, inner in below.items():
        field = _owner(hints_of, name)
        held = replaced.get(field, getattr(value, field))
        deep = f"{prefix}{name}."
        if name == field:
            _check_fields(held, inner, deep, axis_of(hints_of[field][0])[0])
            replaced[field] = with_fields(held, inner, deep, read)
            continue
        if name not in (kinds := [component.kind for component in held]):
            raise BadInput(f"{deep}{next(iter(inner))} has no effect: {prefix}{field} is {', '.join(kinds)}")
        replaced[field] = tuple(with_fields(part, inner, deep, read) if part.kind == name else part for part in held)
    try:
        changed: T = dataclasses.replace(typing.cast(Any, value), **replaced)
        return changed
    except FieldError as error:
        raise FieldError(prefix, error.field, error.problem) from None


def _check_fields(held: Any, paths: Iterable[str], prefix: str, axis: Any) -> None:
    """Raises `BadInput` for a field that only other arms of the axis have, if `held` is an arm."""
    kinds: list[Any] = [*arms(axis).values()] if axis else []
    for path in paths:
        name = path.partition(".")[0]
        others = [kind.kind for kind in kinds if name in hints(kind)]
        if others and held.kind not in others:
            field = prefix.rstrip(".")
            raise BadInput(f"{prefix}{path} has no effect: {field} is {held.kind}, not {' or '.join(sorted(others))}")


def _owner(hints_of: Mapping[str, tuple[Any, Any]], name: str) -> str:
    """The field whose parts have paths below `name`: itself, or one of several arms with this kind; empty if none."""
    named = ((field, hint) for field, (hint, _) in hints_of.items() if field == name or axis_of(hint)[1])
    return next((field for field, hint in named if name in _types_below(hint, field)), "")


def _types_below(hint: Any, name: str) -> dict[str, list[Any]]:
    """The types with paths below a field: by the field's name, or by their kind if it holds several arms."""
    axis, many = axis_of(hint)
    if axis and many:
        return {kind: [part] for kind, part in arms(axis).items()}
    parts = [*arms(axis).values()] if axis else [hint]
    return {name: parts} if axis or dataclasses.is_dataclass(hint) else {}


def _merge_arms(held: Any, chosen: Any) -> Any:
    """The chosen arms; those that a field holds already replace others of the same kind.

    The arm in a field that holds one keeps the fields that both have, such as the size of a vocabulary.
    """
    if not isinstance(chosen, tuple):
        both = {field.name for field in dataclasses.fields(held)} & {field.name for field in dataclasses.fields(chosen)}
        return dataclasses.replace(chosen, **{name: getattr(held, name) for name in both})
    held_arms = {component.kind: component for component in held}
    return tuple(held_arms.get(component.kind, component) for component in chosen)


def field_paths(kind: Any, prefix: str = "") -> list[str]:
    """The dotted paths of all fields of a dataclass type that `set_fields` can set."""
    paths: dict[str, None] = {}
    for name, (hint, _) in hints(kind).items():
        if axis_of(hint)[0] or hint in (int, float, bool, str) or typing.get_origin(hint) is Literal:
            paths[f"{prefix}{name}"] = None
        for axis, parts in _types_below(hint, name).items():
            paths |= dict.fromkeys(path for part in parts for path in field_paths(part, f"{prefix}{axis}."))
    return list(paths)


def _parse(hint: Any, path: str, text: str) -> Any:
    """A text in the type of a field, or as it is if it does not fit: the check of the field then refuses it."""
    axis, many = axis_of(hint)
    if axis:
        kinds = [kind.strip() for kind in text.split(",") if kind.strip()] if many else [text]
        choices = arms(axis)
        for kind in kinds:
            if kind not in choices:
                raise unknown(f"value of {path}", kind, choices)
        chosen = tuple(choices[kind]() for kind in kinds)
        return chosen if many else chosen[0]
    if hint is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if hint in (int, float):
        try:
            number = float(text)
        except ValueError:
            return text
        return int(number) if hint is int and number.is_integer() else number
    if hint is str or typing.get_origin(hint) is Literal:
        return text
    raise BadInput(f"field '{path}' cannot be set from the command line")
