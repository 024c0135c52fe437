"""Forms of JSON files, and checks that a file has its form.

A form is a type: a dataclass, whose fields with a default are optional, `Mapping[str, X]`, `tuple[X, ...]` for a list,
a union, a plain type, or one of these with a range or a predicate, as `Annotated`. Other names of an object are
ignored. `load` reads data of a form as a value of the type, `to_json` writes it.
"""

import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

from bertlab.recipe.identity import default_of
from bertlab.recipe.ranges import Range

T = TypeVar("T")
_UNIONS = (typing.Union, types.UnionType)

OPTIONAL = "left out at its default"
"""Marks a field that data do not have at its default."""
DEEPEST = 64
"""Levels of a file; those of bertlab have ten."""
LARGEST = 1e9
"""The largest published or measured figure, and the most seconds."""
IMMENSE = 1e300
"""A number whose sums and products are not finite."""
MOST_SEEDS = 10_000


def is_id(value: Any) -> bool:
    """Whether a value is the id of a run: 16 hexadecimal digits."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{16}", value) is not None


def is_hash(value: Any) -> bool:
    """Whether a value is a SHA-256 in hexadecimal digits, as the name of a file of answers is."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def is_name(value: Any) -> bool:
    """Whether a value is a path below a folder, as manifests list files: `milestones/step-00000010.safetensors`."""
    parts = value.split("/") if isinstance(value, str) else [""]
    return all(part not in ("", ".", "..") and "\0" not in part for part in parts)


Id = Annotated[str, is_id]
CorpusId = Annotated[str, lambda text: not text or is_id(text)]
"""The id of a corpus; empty for that of an imported checkpoint."""
Hash = Annotated[str, is_hash]
FileName = Annotated[str, is_name]
Count = Annotated[int, Range(0, 2**53 - 1)]
"""A number of things, or of one of them, such as a seed or a step."""
SeedCount = Annotated[int, Range(0, MOST_SEEDS)]
Percent = Annotated[int, Range(0, 100)]
Number = Annotated[float, Range(-IMMENSE, IMMENSE)]
"""A number whose sums and products are finite."""
Figure = Annotated[float, Range(-LARGEST, LARGEST)]
"""A number that a table or an axis can show."""
Positive = Annotated[float, Range(0, LARGEST, above=True)]
"""A factor or a margin."""
Duration = Annotated[float, Range(0, LARGEST)]
"""A time in seconds."""
Share = Annotated[float, Range(0, 1)]
Texts = tuple[str, ...]


class Mismatch(ValueError):
    """JSON data that have not their form; `where` is the first part that has not, such as `cells[3].run_id`."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


def load(form: type[T], data: Any) -> T:
    """JSON data as a value of their form. Raises `Mismatch`."""
    value: T = _load(_taken_apart(typing.cast(Any, form)), data, "")
    return value


class _Form(NamedTuple):
    """A form, taken apart once."""

    kind: Any
    expected: Any
    """The types of data."""
    checks: list[Callable[[Any], bool]]
    parts: "list[_Form]"
    fields: "list[tuple[str, _Form, bool]] | None"
    """The fields of a dataclass by name, and whether data must have them; None of other types."""


def _load(form: _Form, data: Any, where: str) -> Any:
    kind, expected, checks, parts, fields = form
    if kind in _UNIONS:
        return _load_one(parts, data, where)
    if data is ... or not isinstance(data, expected) or (isinstance(data, bool) and kind not in (bool, object)):
        raise Mismatch(where)
    value, inside = data, f"{where}." if where else ""
    if fields is not None:
        present = [field for field in fields if field[2] or field[0] in data]
        value = kind(**{name: _load(part, data.get(name, ...), inside + name) for name, part, _ in present})
    elif kind is tuple:
        value = tuple([_load(parts[0], item, f"{where}[{index}]") for index, item in enumerate(data)])
    elif parts and parts[1].kind is not object:
        names = [_load(parts[0], name, inside + name) for name in data]
        value = {name: _load(parts[1], data[name], inside + name) for name in names}
    for holds in checks:
        if not holds(value):
            raise Mismatch(where)
    return value


def _load_one(forms: Sequence[_Form], data: Any, where: str) -> Any:
    """Data of one of several forms; if none fits, the mismatch of the part that is deepest inside."""
    mismatches = []
    for form in forms:
        try:
            return _load(form, data, where)
        except Mismatch as mismatch:
            mismatches.append(mismatch)
    raise max(mismatches, key=lambda mismatch: len(mismatch.where))


def fits(form: Any) -> Callable[[Any], bool]:
    """Whether data, which stay as they are, have a form."""

    def has_form(data: Any) -> bool:
        with suppress(Mismatch):
            load(form, data)
            return True
        return False

    return has_form


def to_json(value: Any) -> Any:
    """The inverse of `load`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            name: to_json(item)
            for name, form, default in _fields(type(value))
            if (item := getattr(value, name)) != default or OPTIONAL not in typing.get_args(form)
        }
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _taken_apart(form: Any) -> _Form:
    bare, *limits = typing.get_args(form) if typing.get_origin(form) is Annotated else (form,)
    kind = object if bare is Any else typing.get_origin(bare) or bare
    checks = [getattr(limit, "holds", limit) for limit in limits if limit != OPTIONAL]
    parts = [_taken_apart(part) for part in typing.get_args(bare) if part is not ...]
    if not dataclasses.is_dataclass(kind):
        expected = {tuple: list, Mapping: dict, float: (int, float)}.get(kind, kind)
        return _Form(kind, expected, checks, parts, None)
    fields = [(name, _taken_apart(inner), default is MISSING) for name, inner, default in _fields(kind)]
    return _Form(kind, dict, checks, parts, fields)


@cache
def _fields(kind: Any) -> list[tuple[str, Any, Any]]:
    """The fields of a dataclass, with their forms and defaults."""
    forms = typing.get_type_hints(kind, include_extras=True)
    return [(field.name, forms[field.name], default_of(field)) for field in dataclasses.fields(kind)]


def unsound(data: Any) -> str | None:
    """Why JSON data are none that bertlab writes, whatever their form: too deep, or a number without bounds."""
    level = [data]
    for _ in range(DEEPEST):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                deeper.extend(value.values())
            elif isinstance(value, list):
                deeper.extend(value)
            elif isinstance(value, float) and not math.isfinite(value):
                return "a number is not finite"
            elif isinstance(value, int) and abs(value) >= IMMENSE:
                return "a number is immense"
        if not deeper:
            return None
        level = deeper
    return "nested too deep"
