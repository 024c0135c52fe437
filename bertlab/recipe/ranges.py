"""What the fields of a dataclass may hold: types from their hints, ranges beside them, checked in one place."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from bertlab.errors import BadInput, unknown
from bertlab.names import shown

A = TypeVar("A", bound="Arm")


@dataclass(frozen=True)
class Range:
    """The numbers that a field may hold: `low` to `high`, the ends included unless they are `above` or `below`."""

    low: float
    high: float
    unit: str = ""
    above: bool = False
    """Whether `low` itself is outside."""
    below: bool = False
    """Whether `high` itself is outside."""
    or_zero: bool = False
    """Whether 0, which then has a meaning of its own, is inside too."""

    def holds(self, value: float) -> bool:
        """Whether a number is inside; not-a-number is not."""
        if value == 0 and self.or_zero:
            return True
        low = value > self.low if self.above else value >= self.low
        return low and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low, high = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (self.low, self.high))
        span = f"more than {low}" if self.above else low
        if self.above:
            span += f" and less than {high}" if self.below else f" and at most {high}"
        else:
            span += f" to less than {high}" if self.below else f" to {high}"
        return f"{'0 or ' * self.or_zero}{span}{' ' * bool(self.unit)}{self.unit}"


@dataclass(frozen=True)
class Pattern:
    """The texts that a field may hold: those that match `expression` as a whole."""

    expression: str
    meaning: str


SHARE = Range(0, 1)
POSITIVE_SHARE = Range(0, 1, above=True, below=True)
DROPOUT = Range(0, 0.99)


class FieldError(BadInput):
    """A value that a field cannot hold. `named` says it of the path that the user wrote."""

    def __init__(self, group: str, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{group}{field} {problem}")

    def named(self, group: str) -> FieldError:
        """The same error for the field under the dotted path `group`."""
        return FieldError(group, self.field, self.problem)

    def __reduce__(self) -> tuple[type[BadInput], tuple[str]]:
        return BadInput, (str(self),)


class Checked:
    """A dataclass whose fields are checked by type and range when one is made. Raises `FieldError`."""

    _group: ClassVar[str] = ""
    """What an error writes before the name of a field: the group of the recipe, or what has a name of its own."""

    def __init_subclass__(cls, group: str = "") -> None:
        cls._group = f"{group}." if group and not group.endswith(" ") else group

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, hint, allowed in _fields(kind):
            value = getattr(self, name)
            problem = _problem(hint, allowed, value)
            if problem:
                raise FieldError(self._where(), name, f"is {shown(value)}: {problem}")

    def _where(self) -> str:
        if not self._group.endswith(" "):
            return self._group
        own = getattr(self, "name", getattr(self, "text", ""))
        return f"{self._group}{shown(own)}: "


class Arm(Checked):
    """A value that is one of several kinds: a frozen dataclass below the base class of its axis.

    An axis is a base class without a `kind`: `class Loss(Arm, home="bertlab.objectives")`, where importing `home`
    defines the package's own arms. An arm is a dataclass below it with a `kind`, which its JSON holds and by which it
    is read back. Arms that a user's file defines are found too: every subclass of the axis is an arm of it.
    """

    kind: ClassVar[str] = ""
    _home: ClassVar[str] = ""

    def __init_subclass__(cls, home: str = "") -> None:
        super().__init_subclass__(group=cls.kind)
        cls._home = home or cls._home


def arms(axis: type[A]) -> dict[str, type[A]]:
    """The arms of an axis by kind. Of two of one kind, the package's own, else the newer: its file was run again."""
    if axis._home:
        importlib.import_module(axis._home)
    found: dict[str, type[A]] = {}
    waiting = [axis]
    while waiting:
        each = waiting.pop(0)
        waiting += each.__subclasses__()
        if _complete(each) and not (each.kind in found and found[each.kind].__module__.startswith("bertlab.")):
            found[each.kind] = each
    return found


def _complete(kind: type[Arm]) -> bool:
    """Whether a class is an arm, and not the base of some."""
    return {"kind", "__dataclass_params__"} <= vars(kind).keys()


def arm(axis: type[A], kind: object) -> type[A]:
    """The arm called `kind`; `BadInput` with the nearest name if there is none."""
    known = arms(axis)
    if not isinstance(kind, str) or kind not in known:
        raise unknown(f"kind of {axis.__name__}", kind if isinstance(kind, str) else "", known)
    return known[kind]


def axis_of(hint: Any) -> tuple[type[Arm] | None, bool]:
    """The axis of a field with this type hint, if it holds an arm, and whether it holds a tuple of arms."""
    many = typing.get_origin(hint) is tuple
    inner = typing.get_args(hint)[0] if many else hint
    return (inner, many) if isinstance(inner, type) and issubclass(inner, Arm) else (None, False)


@functools.cache
def _fields(kind: Any) -> list[tuple[str, Any, Any]]:
    """The fields of a dataclass, each with its bare type and its `Range` or `Pattern`, if it has one."""
    found = []
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        if name in getattr(kind, "__dataclass_fields__", {}) and typing.get_origin(hint) is not ClassVar:
            bare, *allowed = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
            found.append((name, bare, allowed[0] if allowed else None))
    return found


def _problem(hint: Any, allowed: Range | Pattern | None, value: Any) -> str:
    """What is wrong with a value of a field; empty if nothing is."""
    if typing.get_origin(hint) is Literal:
        if type(value) is str and value in typing.get_args(hint):
            return ""
        advice = str(unknown("value", value if type(value) is str else "", typing.get_args(hint)))
        return advice.partition(": ")[2]
    if hint is bool:
        return "" if type(value) is bool else "give True or False"
    if hint is int or hint is float:
        kinds = (int,) if hint is int else (int, float)
        if type(value) not in kinds:
            return "give a whole number" if hint is int else "give a number"
        if isinstance(allowed, Range):
            return "" if allowed.holds(value) else f"give {allowed}"
        return "" if math.isfinite(value) else "give a finite number"
    if hint is str:
        if type(value) is not str:
            return "give a text"
        fits = not isinstance(allowed, Pattern) or re.fullmatch(allowed.expression, value)
        return "" if fits or not isinstance(allowed, Pattern) else f"give {allowed.meaning}"
    axis, many = axis_of(hint)
    if axis is not None:
        values = value if many else (value,)
        if not isinstance(values, tuple) or not all(isinstance(each, axis) for each in values):
            names = ", ".join(each.__name__ for each in arms(axis).values())
            return f"give {'a tuple of ' * many}{axis.__name__}: {names}"
        for each in values:
            if not _complete(type(each)) or type(each).__name__ != arms(axis)[each.kind].__name__:
                return f"make {type(each).__name__} a dataclass with a kind of its own"
        return "" if len({each.kind for each in values}) == len(values) else "give each kind once"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        problems = [_problem(each, allowed, value) for each in inner]
        told = [problem for each, problem in zip(inner, problems, strict=True) if each is not type(None)]
        return "" if "" in problems else " or ".join(told)
    if hint is type(None):
        return "" if value is None else "give None"
    if origin is tuple and inner[-1] is not Ellipsis:
        if type(value) is not tuple or len(value) != len(inner):
            return f"give a tuple of {len(inner)}"
        return next(filter(None, (_problem(kind, None, each) for kind, each in zip(inner, value, strict=True))), "")
    if origin in (tuple, list):
        if not isinstance(value, tuple if origin is tuple else (list, tuple)):
            return f"give a {origin.__name__}"
        return next(filter(None, (_problem(inner[0], allowed, each) for each in value)), "")
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return "give a dict"
        found = (_problem(inner[0], None, key) or _problem(inner[1], allowed, each) for key, each in value.items())
        return next(filter(None, found), "")
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return "" if type(value) is hint else f"give a {hint.__name__}"
    return ""
