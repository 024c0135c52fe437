"""What the fields of a dataclass may hold: types from their hints, ranges beside them, checked in one place."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from bertlab.errors import BadInput, unknown
from bertlab.names import shown


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
    origin, arms = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        problems = [_problem(arm, allowed, value) for arm in arms]
        told = [problem for arm, problem in zip(arms, problems, strict=True) if arm is not type(None)]
        return "" if "" in problems else " or ".join(told)
    if hint is type(None):
        return "" if value is None else "give None"
    if origin is tuple and arms[-1] is not Ellipsis:
        if type(value) is not tuple or len(value) != len(arms):
            return f"give a tuple of {len(arms)}"
        return next(filter(None, (_problem(arm, None, each) for arm, each in zip(arms, value, strict=True))), "")
    if origin in (tuple, list):
        if not isinstance(value, tuple if origin is tuple else (list, tuple)):
            return f"give a {origin.__name__}"
        return next(filter(None, (_problem(arms[0], allowed, each) for each in value)), "")
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return "give a dict"
        found = (_problem(arms[0], None, key) or _problem(arms[1], allowed, each) for key, each in value.items())
        return next(filter(None, found), "")
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return "" if type(value) is hint else f"give a {hint.__name__}"
    return ""
