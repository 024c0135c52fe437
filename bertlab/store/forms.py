"""Forms of the JSON files of a store, and a check that a file has its form.

A form is a type, a tuple of alternative forms, `[form]` for a list, or a mapping of names to forms, in which a `?`
marks an optional name and other names are ignored. A mapping with the only name `*` accepts any names.
"""

from collections.abc import Iterable
from typing import Any

NUMBER = (int, float)

_FIGURES = {"*": (*NUMBER, type(None))}
RESULT = {
    "status?": str,
    "split?": str,
    "task?": str,
    "dataset?": str,
    "method?": str,
    "finetune_seed?": int,
    "checkpoint?": str,
    "metrics?": _FIGURES,
    "majority?": _FIGURES,
    "heldout?": _FIGURES,
    "rows?": {"*": int},
    "steps?": int,
    "trained_parameters?": int,
    "tokens?": NUMBER,
    "test?": {"split": str, "rows": int, "metrics": _FIGURES, "majority": _FIGURES},
}
RUN = {
    "manifest.json": {"*": {"bytes": int, "sha256": str}},
    "recipe.json": {"id?": str, "kind?": str, "science": dict},
    "result.json": RESULT,
    "environment.json": {"numerics?": dict, "versions?": dict, "earlier?": list},
}
"""The files that describe a run."""
FAILURE = {"id": str, "kind?": str, "label?": str, "status?": str, "reason?": str, "log?": str, "science?": dict}
_NAMES = (str, [str])
_CLAIM = {
    "text": str,
    "on": str,
    "better?": _NAMES,
    "worse?": _NAMES,
    "rising?": [str],
    "within?": (*NUMBER, type(None)),
    "at?": int,
    "since?": int,
}
RECORD = {
    "study": str,
    "scale": str,
    "setting": str,
    "definition": {"baseline": str, "code": str, "variants": {"*": dict}, "measurements": {"*": dict}},
    "requests": [
        {"study": str, "options": str, "seeds": [int], "finetune_seeds": int, "only": [str], "random_init": bool}
    ],
    "sources": [{"*": str}],
    "question": str,
    "source": str,
    "baseline": str,
    "command": str,
    "notes": [str],
    "summary": str,
    "claims": [_CLAIM],
    "corpus": [str],
    "differences": [{"on": str, "what": str}],
    "pretrained": str,
    "world": bool,
    "substitutes": {"*": str},
    "intermediate_task": {"*": str},
    "searched": {"*": {"*": NUMBER}},
    "tries": [str],
    "rows": [{"variant": str, "pretrain_seed": int, "pretrain_id": str, "corpus_id": str}],
    "cells": [
        {
            "variant": str,
            "measurement": str,
            "metric": str,
            "task": str,
            "dataset": str,
            "split": str,
            "method": str,
            "content": str,
            "milestone": int,
            "finetune_seed": int,
            "pretrain_seed": int,
            "pretrain_id": str,
            "run_id": str,
            "published": (*NUMBER, type(None)),
        }
    ],
}
"""The record of a study."""
CLAIM = {"pid?": int, "host?": str, "since?": int, "done?": NUMBER, "total?": NUMBER, "stage?": str, "ids?": [str]}


def fits(value: Any, form: Any) -> bool:
    """Whether JSON data have a form."""
    return misfit(value, form) is None


def misfit(value: Any, form: Any, name: str = "") -> str | None:
    """The first place where JSON data differ from a form, such as `cells[3].run_id`; None if there is none."""
    parts: Iterable[tuple[Any, Any, str]]
    if isinstance(form, list) and isinstance(value, list):
        parts = ((each, form[0], f"{name}[{number}]") for number, each in enumerate(value))
    elif isinstance(form, dict) and isinstance(value, dict):
        inner = f"{name}." if name else ""
        if "*" in form:
            parts = ((each, form["*"], inner + key) for key, each in value.items())
        else:
            known = ((key.rstrip("?"), key.endswith("?"), each) for key, each in form.items())
            parts = (
                (value.get(key, _MISSING), each, inner + key) for key, free, each in known if key in value or not free
            )
    else:
        kinds = form if isinstance(form, tuple) else (form,)
        return None if any(_is(value, kind) for kind in kinds) else name
    return next((found for part in parts if (found := misfit(*part)) is not None), None)


_MISSING = object()


def _is(value: Any, kind: Any) -> bool:
    if not isinstance(kind, type):
        return isinstance(value, type(kind)) and fits(value, kind)
    return isinstance(value, kind) and (kind in (bool, object) or not isinstance(value, bool))
