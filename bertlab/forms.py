"""What the JSON files of a store look like, and whether one does: what is read from a disk is not trusted in its form.

A form is a type, a tuple of types, `[form]` for a list, or a mapping of names to forms: of names with a `?` the value
may be missing. Names that a form does not know are passed over. A mapping of one name `*` is of any names.
"""

from __future__ import annotations

from typing import Any

NUMBER = (int, float)

MANIFEST = {"*": {"bytes": int, "sha256": str}}
SCIENCE = {"id?": str, "kind?": str, "science": dict}
"""Of `recipe.json`."""
_FIGURES = {"*": (*NUMBER, type(None))}
RESULT = {
    "status?": str,
    "split?": str,
    "task?": str,
    "dataset?": str,
    "method?": str,
    "restart?": int,
    "checkpoint?": str,
    "metrics?": _FIGURES,
    "majority?": _FIGURES,
    "heldout?": _FIGURES,
    "rows?": {"*": int},
    "steps?": int,
    "tokens?": NUMBER,
    "test?": {"split": str, "rows": int, "metrics": _FIGURES, "majority": _FIGURES},
}
ENVIRONMENT = {"numerics?": dict, "versions?": dict, "earlier?": list}
FAILURE = {"id": str, "kind?": str, "label?": str, "status?": str, "reason?": str, "log?": str, "science?": dict}
RECORD = {
    "study": str,
    "scale?": str,
    "tries?": [str],
    "rows": [{"pretrain_id": str, "corpus_id?": str}],
    "cells": [{"run_id": str, "pretrain_id?": str, "content?": str, "measurement?": str}],
    "asked?": [dict],
    "definition?": {"baseline": str, "variants": dict, "measurements": dict},
}
"""Of a study: what a command needs that joins records, or removes what none asks for."""
REPORTED = {
    "question": str,
    "source": str,
    "baseline": str,
    "scale": str,
    "command?": str,
    "notes?": [str],
    "claims?": [dict],
    "corpus?": [str],
    "substitutes?": dict,
    "first?": dict,
    "searched?": {"*": dict},
    "rows": [{"variant": str, "pretrain_seed": int}],
    "cells": [
        {
            "variant": str,
            "measurement": str,
            "metric": str,
            "task": str,
            "dataset": str,
            "split": str,
            "method": str,
            "milestone": int,
            "restart": int,
            "pretrain_seed": int,
            "pretrain_id": str,
            "published": (*NUMBER, type(None)),
        }
    ],
}
"""What a report needs besides."""
CLAIM = {"pid?": int, "host?": str, "since?": int, "done?": NUMBER, "total?": NUMBER, "stage?": str, "ids?": [str]}


def fits(value: Any, form: Any) -> bool:
    """Whether data of a JSON file have a form."""
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(each, form[0]) for each in value)
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return False
        if "*" in form:
            return all(fits(each, form["*"]) for each in value.values())
        return all(
            fits(value[name.rstrip("?")], each) if name.rstrip("?") in value else name.endswith("?")
            for name, each in form.items()
        )
    kinds = form if isinstance(form, tuple) else (form,)
    return isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
