"""Forms of the JSON files of a store, and checks that a file has its form.

A form is a type: a dataclass, whose fields with a default are optional, `Mapping[str, X]`, `tuple[X, ...]` for a list,
a union, a plain type, or one of these with a range or a predicate, as `Annotated`. Other names of an object are
ignored. `load` reads data of a form as a value of the type, `to_json` writes it.

Files that are read as plain data have forms of another kind: a type, a predicate, a tuple of alternative forms,
`[form]` for a list, or a mapping of names to forms. In a mapping a `?` marks an optional name, `*` stands for the form
of all other names, which are ignored without it, and a predicate instead of a name for the form of names that it
accepts, without which others are refused.
"""

import dataclasses
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

from bertlab.recipe.identity import default_of
from bertlab.recipe.ranges import Range

T = TypeVar("T")
Form = Any
"""A form, as described above."""

OPTIONAL = "left out at its default"
"""Marks a field that data do not have at its default."""
DEEPEST = 64
"""Levels of a file; those of bertlab have ten."""
LARGEST = 1e9
"""Of a published or measured figure, and of seconds."""
IMMENSE = 1e300
"""A number whose sums and products are not finite."""
MOST_SEEDS = 10_000


def is_id(value: Any) -> bool:
    """Whether a value is the id of a run: 16 hexadecimal digits."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{16}", value) is not None


def is_empty(value: Any) -> bool:
    """Whether a value is the text of no id: of the corpus of an imported checkpoint."""
    return bool(value == "")


def is_hash(value: Any) -> bool:
    """Whether a value is a SHA-256 in hexadecimal digits, as the name of a file of answers is."""
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def is_name(value: Any) -> bool:
    """Whether a value is a path below a folder, as manifests list files: `milestones/step-00000010.safetensors`."""
    parts = value.split("/") if isinstance(value, str) else [""]
    return all(part not in ("", ".", "..") and "\0" not in part for part in parts)


def is_count(value: Any) -> bool:
    """Whether a value is a number of things, or of one of them, such as a seed or a step."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def is_percent(value: Any) -> bool:
    """Whether a value is a percentage of steps."""
    return is_count(value) and value <= 100


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(abs(value) < IMMENSE)


def is_figure(value: Any) -> bool:
    """Whether a value is a number that a table or an axis can show."""
    return is_number(value) and bool(abs(value) <= LARGEST)


def is_duration(value: Any) -> bool:
    """Whether a value is a number of seconds."""
    return is_figure(value) and value >= 0


def is_share(value: Any) -> bool:
    """Whether a value is a probability or a share."""
    return is_number(value) and 0 <= value <= 1


def is_positive(value: Any) -> bool:
    """Whether a value is a factor or a margin."""
    return is_figure(value) and value > 0


def is_number_of_seeds(value: Any) -> bool:
    """Whether a value is a number of seeds that a study can have."""
    return is_count(value) and value <= MOST_SEEDS


Id = Annotated[str, is_id]
CorpusId = Annotated[str, lambda value: is_id(value) or is_empty(value)]
Count = Annotated[int, Range(0, 2**53 - 1)]
"""A number of things, or of one of them, such as a seed or a step."""
SeedCount = Annotated[int, Range(0, MOST_SEEDS)]
Percent = Annotated[int, Range(0, 100)]
Figure = Annotated[float, Range(-LARGEST, LARGEST)]
"""A number that a table or an axis can show."""
Positive = Annotated[float, Range(0, LARGEST, above=True)]
"""A factor or a margin."""
Share = Annotated[float, Range(0, 1)]
Texts = tuple[str, ...]


_NONE = type(None)
_FIGURES = {"*": (is_number, _NONE)}
_SHARED = {"split?": str, "metrics?": _FIGURES, "majority?": _FIGURES, "lexical?": _FIGURES, "exchanged?": _FIGURES}
RUN: dict[str, Form] = {
    "manifest.json": {is_name: {"bytes": is_count, "sha256": is_hash}},
    "recipe.json": {
        "id?": is_id,
        "kind?": str,
        "label?": str,
        "science": {
            "recipe?": dict,
            "corpus?": (is_id, dict),
            "pretrain?": is_id,
            "task?": {"kind?": str, "labels?": [str]},
            "settings?": {"max_eval_examples?": is_count},
            "data?": str,
            "code?": str,
            "finetune_seed?": is_count,
            "milestone?": is_percent,
        },
    },
    "result.json": {
        "status?": str,
        "task?": str,
        "dataset?": str,
        "method?": str,
        "finetune_seed?": is_count,
        "pretrain_seed?": is_count,
        "pretrain_id?": is_id,
        "milestone?": is_percent,
        "checkpoint?": str,
        "content?": str,
        "commit?": str,
        "fresh?": bool,
        "predicts?": bool,
        "judged_by?": str,
        "corpus?": [str],
        **_SHARED,
        "lexical_examples?": is_count,
        "heldout?": _FIGURES,
        "over_vocabulary?": [str],
        "rows?": {"*": is_count},
        "documents_by_source?": {"*": [is_count]},
        "text?": {
            "files?": [is_count],
            "documents?": is_count,
            "sentences?": is_number,
            "single?": is_number,
            "unknown?": is_number,
            "targets?": {"*": is_number},
        },
        "steps?": is_count,
        "parameters?": is_count,
        "vocabulary?": is_count,
        "trained_parameters?": (is_count, _NONE),
        "tokens?": is_figure,
        "real_tokens?": is_figure,
        "pair_balance?": (is_share, _NONE),
        "unigram_entropy?": (is_number, _NONE),
        "length?": is_count,
        "threshold?": (is_number, _NONE),
        "settings?": dict,
        "curve?": [{"step": is_count, "loss": (is_number, _NONE)}],
        "defined?": {
            "recipe?": dict,
            "premises?": [{"what": str, "figure": str, "flaw": str}],
            "figures?": {"*": str},
            "unseen?": [str],
            "meanings?": [str],
            "settings?": dict,
            "description?": str,
        },
        "test?": {**_SHARED, "split": str, "rows": is_count},
    },
    "environment.json": {
        "numerics?": {"device?": str, "processes?": is_count, "compiled?": str},
        "versions?": {"*": str},
        "earlier?": list,
    },
}
"""The files that describe a run."""
MEASURED = {
    **dict.fromkeys(("status", "task", "dataset", "split", "method"), str),
    "metrics": _FIGURES,
    "rows": {"evaluation": is_count},
    "finetune_seed": is_count,
    "milestone": is_percent,
    "settings": dict,
    "test?": {"split": str, "rows": is_count, "metrics": _FIGURES},
}
"""What a card of a model needs of the result of a measurement."""
TIMING = {"stage": str, "step?": is_count, "seconds": is_duration}
"""A line of timing.jsonl."""
METRICS = {"step": is_count, "*": (is_number, _NONE)}
"""A line of metrics.jsonl."""
FAILURE = {
    "id": is_id,
    "kind?": str,
    "label?": str,
    "status?": str,
    "reason?": str,
    "log?": str,
    "science?": dict,
}
ADDENDA = {
    "floors?": {"*": {"examples": is_count, "evaluation": _FIGURES, "test?": _FIGURES}},
    "remarks?": [{"sentence": str, "study": str, "section?": str, "on?": str, "claim?": str}],
}
"""What is added to finished results later."""
LOCK = {
    "pid?": is_count,
    "host?": str,
    "since?": is_count,
    "done?": is_number,
    "total?": is_number,
    "stage?": str,
    "ids?": [is_id],
}


class Misfit(ValueError):
    """JSON data that have not their form; `where` is the first part that has not, such as `cells[3].run_id`."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where


def load(form: type[T], data: Any, where: str = "") -> T:
    """JSON data as a value of their form; `where` is the place of the data. Raises `Misfit`."""
    value: T = _load(form, data, where)
    return value


def _load(form: Any, data: Any, where: str) -> Any:
    kind, parts, limits = _taken_apart(form)
    if kind in (typing.Union, types.UnionType):
        return _load_one(parts, data, where)
    is_object, inside = dataclasses.is_dataclass(kind), f"{where}." if where else ""
    expected: Any = dict if is_object else {tuple: list, Mapping: dict, float: (int, float)}.get(kind, kind)
    if not isinstance(data, expected) or (isinstance(data, bool) and kind not in (bool, object)):
        raise Misfit(where)
    value: Any = data
    if is_object:
        fields = [each for each in _fields(kind) if each.name in data or each.default is dataclasses.MISSING]
        value = kind(**{name: _load(inner, data.get(name, ...), inside + name) for name, inner, *_ in fields})
    elif kind is tuple:
        value = tuple(_load(parts[0], item, f"{where}[{index}]") for index, item in enumerate(data))
    elif kind is Mapping:
        names = [_load(parts[0], name, inside + name) for name in data]
        value = {name: _load(parts[1], data[name], inside + name) for name in names}
    if not all(holds(value) for holds in limits):
        raise Misfit(where)
    return value


def _load_one(forms: Sequence[Any], data: Any, where: str) -> Any:
    """Data of one of several forms; if none fits, the misfit of the last."""
    if data is None and types.NoneType in forms:
        return None
    *others, last = [form for form in forms if form is not types.NoneType]
    for form in others:
        with suppress(Misfit):
            return _load(form, data, where)
    return _load(last, data, where)


def to_json(value: Any) -> Any:
    """The inverse of `load`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [(field, getattr(value, field.name)) for field in _fields(type(value))]
        return {field.name: to_json(item) for field, item in items if not (field.left_out and item == field.default)}
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _taken_apart(form: Any) -> tuple[Any, tuple[Any, ...], list[Callable[[Any], bool]]]:
    """The type of a form without its parameters, these, and its ranges and predicates as functions."""
    bare, *limits = typing.get_args(form) if typing.get_origin(form) is Annotated else (form,)
    checks = [getattr(limit, "holds", limit) for limit in limits if limit != OPTIONAL]
    return object if bare is Any else typing.get_origin(bare) or bare, typing.get_args(bare), checks


class _Field(NamedTuple):
    """A field of a dataclass."""

    name: str
    form: Any
    default: Any
    left_out: bool
    """Whether data do not have it at its default."""


@cache
def _fields(kind: Any) -> list[_Field]:
    forms = typing.get_type_hints(kind, include_extras=True)
    fields = [(each.name, forms[each.name], default_of(each)) for each in dataclasses.fields(kind)]
    return [_Field(name, form, default, OPTIONAL in typing.get_args(form)) for name, form, default in fields]


def misfit(value: Any, form: Form, name: str = "") -> str | None:
    """The first place where JSON data differ from a form, such as `cells[3].run_id`; None if there is none."""
    if isinstance(form, tuple):
        return None if any(misfit(value, alternative) is None for alternative in form) else name
    if isinstance(form, type):
        is_one = isinstance(value, form) and (form in (bool, object) or not isinstance(value, bool))
        return None if is_one else name
    if callable(form):
        return None if form(value) else name
    if not isinstance(value, type(form)):
        return name
    parts = _parts(value, form, name)
    return next((flaw for part in parts if (flaw := misfit(*part)) is not None), None)


def _parts(value: Any, form: Form, name: str) -> Iterator[tuple[Any, Form, str]]:
    """The values of a list or a mapping, with their forms and names; what is missing is an ellipsis of no form."""
    if isinstance(form, list):
        yield from ((item, form[0], f"{name}[{index}]") for index, item in enumerate(value))
        return
    inner, named = f"{name}." if name else "", set()
    for key, own in form.items():
        if isinstance(key, str) and key != "*":
            named.add(stem := key.rstrip("?"))
            if stem in value or stem == key:
                yield value.get(stem, ...), own, inner + stem
    accepts = next((key for key in form if callable(key)), None)
    for key in value.keys() - named if accepts or "*" in form else ():
        if accepts:
            yield key, accepts, inner + key
        yield value[key], form[accepts or "*"], inner + key


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
