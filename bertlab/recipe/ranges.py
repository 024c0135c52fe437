"""Checks the fields of dataclasses: types by their hints, numbers by their ranges, arms by their axes.

What methods of a study file's arms return is checked by hints in the same way.
"""

import dataclasses
import functools
import importlib
import inspect
import math
import numbers
import pkgutil
import sys
import traceback
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from bertlab.errors import ArmFailed, BadInput, RunFailed, suggestion, text_of, unknown
from bertlab.names import shown

A = TypeVar("A", bound="Arm")


@dataclass(frozen=True)
class Range:
    """The numbers from `low` to `high`; not-a-number is outside."""

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
        """Whether a number is inside."""
        if value == 0 and self.or_zero:
            return True
        low = value > self.low if self.above else value >= self.low
        return low and (value < self.high if self.below else value <= self.high)

    def __str__(self) -> str:
        low, high = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (self.low, self.high))
        span = f"{low} to {high}"
        if self.above or self.below:
            span = f"{'more than' if self.above else 'at least'} {low}"
            span += f" and {'less than' if self.below else 'at most'} {high}"
        return f"{'0 or ' * self.or_zero}{span} {self.unit}".rstrip()


SHARE = Range(0, 1)
POSITIVE_SHARE = Range(0, 1, above=True, below=True)
DROPOUT = Range(0, 0.99)
BELOW_ONE = Range(0, 1, below=True)
CLIP = Range(1e-6, 1e9)
POSITIVE = Range(1e-20, 1)
SIZE = Range(0, 10**15)
"""A number of parameters or predictions."""
WORK = Range(0, 1e30)
"""A number of floating-point operations."""
PLAIN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", types.NoneType: "None"}
"""Types without parts, with the advice of an error."""


class FieldError(BadInput):
    """A value that a field cannot hold."""

    def __init__(self, group: str, field: str, problem: str) -> None:
        self.field, self.problem = field, problem
        super().__init__(f"{group}{field} {problem}")

    def __reduce__(self) -> tuple[type[BadInput], tuple[str]]:
        return BadInput, (str(self),)


class Checked:
    """A dataclass that checks its fields when one is made. Raises `FieldError`."""

    _group: ClassVar[str] = ""
    """The text before the name of a field in errors: a dotted path, or a noun before the value's own name."""

    def __init_subclass__(cls, group: str = "") -> None:
        cls._group = f"{group}." if group and not group.endswith(" ") else group

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, (hint, allowed) in hints(kind).items():
            value = getattr(self, name)
            if problem := _problem(hint, allowed, value):
                group = self._group
                if group.endswith(" "):
                    group += f"{shown(getattr(self, 'name', getattr(self, 'text', '')))}: "
                raise FieldError(group, name, f"is {shown(value)}: {problem}")


class Arm(Checked):
    """A value that is one of several kinds: a frozen dataclass below the base class of its axis.

    An axis is a base class without a `kind`: `class Loss(Arm, home="bertlab.objectives")`, where importing `home`
    defines the package's own arms. An arm is a dataclass below it with a `kind`, which its JSON holds. Arms that a
    user's file defines are found too: every subclass of the axis is an arm of it. Errors name a field behind the `path`
    of the axis, as `--set` does, or else behind the kind.
    """

    kind: ClassVar[str] = ""
    plain: ClassVar[bool] = False
    """Whether JSON has its kind alone, as a text, in place of an object with nothing else."""
    _home: ClassVar[str] = ""
    _path: ClassVar[str] = ""
    _own: ClassVar[bool] = False
    """Whether a module outside bertlab defines it; what its methods return is then checked."""
    _returns: ClassVar[Mapping[str, Any]] = {}
    """What methods, properties and constants of an own arm give, as `check_returns` reads it."""

    def __init_subclass__(cls, home: str = "", path: str = "") -> None:
        cls._home, cls._path = home or cls._home, path or cls._path
        super().__init_subclass__(group=cls._path or cls.kind)
        cls._own = not cls.__module__.startswith("bertlab.")
        if cls._own:
            check_returns(cls, cls._returns)

    def __post_init__(self) -> None:
        super().__post_init__()
        kind: Any = type(self)
        for field in dataclasses.fields(kind) if self._own else ():
            if not _has_json(value := getattr(self, field.name)):
                advice = "give finite numbers, texts, True, False, None, or tuples, mappings or dataclasses of them"
                raise FieldError(self._group, field.name, f"is {shown(value)}, which an id cannot hold: {advice}")


def user_defined(value: Any) -> Iterator[Arm]:
    """The arms of study files in a value, a dataclass or a tuple."""
    inner = tuple(value.values()) if isinstance(value, Mapping) else value if isinstance(value, tuple) else ()
    if dataclasses.is_dataclass(value):
        inner = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    if isinstance(value, Arm) and value._own:
        yield value
    for item in inner:
        yield from user_defined(item)


def own_arms(value: Any) -> list[type[Arm]]:
    """The classes of the arms of study files in a value, each once."""
    return [*dict.fromkeys(map(type, user_defined(value)))]


@contextmanager
def naming(*arms: Arm) -> Iterator[None]:
    """Lets an error within it name the classes of study files among `arms`, unless a line of their files raised it.

    What such a part returns may fail only later, in bertlab or torch, which do not know where it comes from.
    """
    try:
        yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        kinds = own_arms(arms)
        files = {getattr(sys.modules.get(kind.__module__), "__file__", None) for kind in kinds}
        placed = any(frame.f_code.co_filename in files for frame, _ in traceback.walk_tb(error.__traceback__))
        text = text_of(error)
        if not kinds or placed or isinstance(error, BadInput | RunFailed) or "memory" in text:
            raise
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ArmFailed(f"{type(error).__name__}: {text}, in the computation of {names}") from error


def check_returns(kind: type, returns: Mapping[str, Any]) -> None:
    """Lets the methods and properties that a class defines raise `ArmFailed` where they return something unsuitable.

    `returns` has a type hint for each name, perhaps with a `Range`, or the full name of a class that is imported only
    where it is needed. Raises `BadInput` for an unsuitable constant.
    """
    for name in returns.keys() & vars(kind).keys():
        value, hint = vars(kind)[name], returns[name]
        if isinstance(value, property) and value.fget is not None:
            setattr(kind, name, property(_checked(value.fget, name, hint)))
        elif isinstance(value, classmethod):
            setattr(kind, name, classmethod(_checked(value.__func__, name, hint)))
        elif inspect.isfunction(value):
            setattr(kind, name, _checked(value, name, hint))
        elif hasattr(value, "__get__") or isinstance(value, dataclasses.Field):
            continue
        elif problem := problem_of(hint, value):
            raise BadInput(f"{kind.__name__}.{name} is {shown(value)}: {problem}")


def _checked(method: Callable[..., Any], name: str, hint: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(self: Any, *args: Any, **options: Any) -> Any:
        value = method(self, *args, **options)
        if problem := problem_of(hint, value):
            raise ArmFailed.of(self, name, f"returns {shown(value)}: {problem}")
        return value

    return checked


def problem_of(hint: Any, value: Any) -> str:
    """Advice on a value that a hint does not allow; empty for one that it does. Numbers of NumPy count as numbers."""
    bare, *allowed = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
    if isinstance(bare, str):
        return "" if isinstance(value, pkgutil.resolve_name(bare)) else f"give a {bare}"
    if bare in (list, tuple, range) and not isinstance(value, bare):
        return f"give a {bare.__name__}"
    return _problem(bare, allowed[0] if allowed else None, _of_python(value))


def _of_python(value: Any) -> Any:
    """A value with Python's own numbers in place of others, such as NumPy's."""
    if isinstance(value, Mapping):
        return {key: _of_python(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(map(_of_python, value)) if isinstance(value, tuple) else [*map(_of_python, value)]
    if type(value) in (bool, int, float) or not isinstance(value, numbers.Real):
        return value
    return int(value) if isinstance(value, numbers.Integral) else float(value)


def _has_json(value: Any) -> bool:
    """Whether JSON holds a value, with dataclasses as objects."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return all(_has_json(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return all(map(_has_json, value.values()))
    if isinstance(value, tuple | list):
        return all(map(_has_json, value))
    return value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def arms(axis: type[A]) -> dict[str, type[A]]:
    """The arms of an axis by kind. Of two of one kind, the package's own, else the newer: its file was run again."""
    if axis._home:
        importlib.import_module(axis._home)
    by_kind: dict[str, type[A]] = {}
    waiting = [axis]
    while waiting:
        candidate = waiting.pop(0)
        waiting += candidate.__subclasses__()
        before = by_kind.get(candidate.kind)
        if _complete(candidate) and (before is None or before._own):
            by_kind[candidate.kind] = candidate
    return by_kind


def _complete(kind: type[Arm]) -> bool:
    """Whether a class is an arm, and not the base of some."""
    return {"kind", "__dataclass_params__"} <= vars(kind).keys()


def arm(axis: type[A], kind: str) -> type[A]:
    """The arm of this kind. Raises `BadInput` with the nearest name if there is none."""
    kinds = arms(axis)
    if kind not in kinds:
        raise unknown(axis.__name__.removesuffix("Config").lower(), kind, kinds)
    return kinds[kind]


def by_default(axis: type[A], kind: str) -> A:
    """The arm of this kind with the default values of its fields."""
    return arm(axis, kind)()


def axis_of(hint: Any) -> tuple[type[Arm] | None, bool]:
    """The axis of a field with this type hint, if it holds an arm, and whether it holds a tuple of arms."""
    many = typing.get_origin(hint) is tuple
    inner = typing.get_args(hint)[0] if many else hint
    return (inner, many) if isinstance(inner, type) and issubclass(inner, Arm) else (None, False)


@functools.cache
def hints(kind: Any) -> dict[str, tuple[Any, Range | None]]:
    """The bare type of each field of a dataclass, with its `Range` if it has one."""
    of_fields = {}
    written = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint = written[field.name]
        bare, *allowed = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
        of_fields[field.name] = bare, allowed[0] if allowed else None
    return of_fields


def _problem(hint: Any, allowed: Range | None, value: Any) -> str:
    """Advice on a value that a field cannot hold; empty for a value that it can."""
    if hint in PLAIN:
        if type(value) is not hint and (hint is not float or type(value) is not int):
            return f"give {PLAIN[hint]}"
        return "" if allowed is None or value is None or allowed.holds(value) else f"give {allowed}"
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        text = value if type(value) is str else ""
        return "" if text in inner else suggestion(text, inner)
    if origin in (typing.Union, types.UnionType):
        problems = {option: _problem(option, allowed, value) for option in inner}
        advice = [problem for option, problem in problems.items() if option is not types.NoneType]
        return "" if "" in problems.values() else " or ".join(dict.fromkeys(advice))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return "give pairs in braces: {key: value}"
        parts = [_problem(inner[0], None, key) or _problem(inner[1], allowed, item) for key, item in value.items()]
        return next(filter(None, parts), "")
    if origin in (tuple, list):
        if not isinstance(value, tuple if origin is tuple else (list, tuple)):
            form = "[x] or [x, y]" if origin is list else "(x, y)" if inner[-1] is not Ellipsis else "(x,) or (x, y)"
            return f"give {form}, each of them {_named(inner[0])}"
        kinds = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(value)
        if len(kinds) != len(value):
            return f"give {len(kinds)} values in parentheses"
        parts = [_problem(kind, allowed, item) for kind, item in zip(kinds, value, strict=True)]
        if not any(parts) and axis_of(hint)[0] and len({item.kind for item in value}) < len(value):
            return "give each kind once"
        return next(filter(None, parts), "")
    if axis_of(hint)[0]:
        return _problem_of_arm(hint, type(value)) if isinstance(value, hint) else f"give {_named(hint)}"
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and type(value) is not hint:
        return f"give {_named(hint)}"
    return ""


def _problem_of_arm(axis: Any, kind: Any) -> str:
    """Why a class below an axis is no arm of it, and what to do; empty if it is one."""
    if (flaw := _flaw_of_arm(axis, kind)) or not kind._own:
        return flaw
    other = arms(axis)[kind.kind]
    if other.__name__ == kind.__name__:
        return ""
    owner = f"bertlab's {other.__name__}" if not other._own else other.__name__
    return f"{kind.__name__} and {owner} are both of the kind '{kind.kind}': set another one in {kind.__name__}"


@functools.cache
def _flaw_of_arm(axis: Any, kind: Any) -> str:
    """What is wrong with a class below an axis itself, whatever other arms there are; empty if nothing is."""
    name, missing = kind.__name__, {"kind", "__dataclass_params__"} - vars(kind).keys()
    if len(missing) == 2:
        return f"make {name} a dataclass with a kind of its own"
    if missing == {"kind"}:
        return f"{name} has no kind of its own: set kind: ClassVar[str] in the class"
    if missing:
        return f"{name} is no dataclass: write @dataclass(frozen=True, kw_only=True) above the class"
    for method, member in vars(kind).items():
        usual = inspect.getattr_static(axis, method, None)
        for decorator, word in ((classmethod, "class method"), (property, "property")):
            if isinstance(usual, decorator) and inspect.isfunction(member):
                return f"{name}.{method} has to be a {word}: write @{decorator.__name__} above it"
    return ""


def _named(hint: Any) -> str:
    """What a user writes for a value with this type hint."""
    if axis_of(hint)[0]:
        return " or ".join(f"{arm.__name__}(...)" for arm in arms(hint).values())
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _named(typing.get_args(hint)[0])
    return PLAIN.get(hint) or f"{hint.__name__}(...)"
