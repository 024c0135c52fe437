"""Forms of the JSON files of a store, and a check that a file has its form.

A form is a type, a tuple of alternative forms, `[form]` for a list, or a mapping of names to forms, in which a `?`
marks an optional name and other names are ignored. A mapping with the only name `*` accepts any names.
"""

from collections.abc import Iterable
from typing import Any

NUMBER = (int, float)

_FIGURES = {"*": (*NUMBER, type(None))}
RUN = {
    "manifest.json": {"*": {"bytes": int, "sha256": str}},
    "recipe.json": {"id?": str, "kind?": str, "science": dict},
    "result.json": {
        "status?": str,
        "split?": str,
        "task?": str,
        "dataset?": str,
        "method?": str,
        "finetune_seed?": int,
        "checkpoint?": str,
        "metrics?": _FIGURES,
        "majority?": _FIGURES,
        "lexical_examples?": int,
        "heldout?": _FIGURES,
        "over_vocabulary?": [str],
        "rows?": {"*": int},
        "documents_by_source?": {"*": [int]},
        "text?": {
            "files?": [int],
            "documents?": int,
            "sentences?": NUMBER,
            "single?": NUMBER,
            "unknown?": NUMBER,
            "targets?": {"*": NUMBER},
        },
        "steps?": int,
        "trained_parameters?": int,
        "tokens?": NUMBER,
        "defined?": {
            "recipe?": dict,
            "premises?": [{"what": str, "figure": str, "flaw": str}],
            "figures?": {"*": str},
            "unseen?": [str],
            "meanings?": [str],
            "settings?": dict,
            "description?": str,
        },
        "test?": {"split": str, "rows": int, "metrics": _FIGURES, "majority": _FIGURES},
    },
    "environment.json": {"numerics?": dict, "versions?": dict, "earlier?": list},
}
"""The files that describe a run."""
FAILURE = {"id": str, "kind?": str, "label?": str, "status?": str, "reason?": str, "log?": str, "science?": dict}
RECORD = {
    "study": str,
    "scale": str,
    "setting": str,
    "definition": {"baseline": str, "code": str, "variants": {"*": dict}, "measurements": {"*": dict}},
    "requests": [
        {
            "study": str,
            "options": str,
            "seeds": [int],
            "finetune_seeds": int,
            "only": [str],
            "random_init": bool,
            "rounds?": str,
            "claim_seeds?": [int],
            "measure?": [str],
            "file?": str,
        }
    ],
    "sources": [{"*": str}],
    "question": str,
    "source": str,
    "baseline": str,
    "command": str,
    "notes": [str],
    "summary": str,
    "claims": [
        {
            "text": str,
            "on": str,
            "better?": (str, [str]),
            "worse?": (str, [str]),
            "rising?": [str],
            "within?": (*NUMBER, type(None)),
            "or_better?": bool,
            "at?": int,
            "since?": int,
            "than?": [str],
            "needs?": {"*": int},
        }
    ],
    "sizes?": {"*": {"*": int}},
    "averages?": [{"name": str, "of": [[str]], "published": {"*": NUMBER}}],
    "corpus": [str],
    "differences": [{"on": str, "what": str, "of_study?": bool}],
    "pretrained": str,
    "world": bool,
    "substitutes": {"*": str},
    "intermediate_task": {"*": str},
    "searched": {"*": {"*": NUMBER}},
    "tries": [str],
    "timed?": {"*": int},
    "speeds?": {"published": {"*": NUMBER}, "measured": {"*": NUMBER}},
    "sequential?": {
        "maximum": int,
        "looks": [
            {
                "seeds": {"*": [int]},
                "claims": [
                    {
                        "claim": str,
                        "hypothesis": str,
                        "on": str,
                        "metric": str,
                        "n": int,
                        "p": NUMBER,
                        "as_claimed": bool,
                        "power": NUMBER,
                    }
                ],
            }
        ],
    },
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
ADDENDA = {
    "floors?": {"*": {"examples": int, "evaluation": _FIGURES, "test?": _FIGURES}},
    "remarks?": [{"sentence": str, "study": str, "section?": str, "on?": str, "claim?": str}],
}
"""What is added to finished results later."""
LOCK = {"pid?": int, "host?": str, "since?": int, "done?": NUMBER, "total?": NUMBER, "stage?": str, "ids?": [str]}


def misfit(value: Any, form: Any, name: str = "") -> str | None:
    """The first place where JSON data differ from a form, such as `cells[3].run_id`; None if there is none."""
    if isinstance(form, tuple):
        return None if any(misfit(value, each) is None for each in form) else name
    if isinstance(form, type):
        is_one = isinstance(value, form) and (form in (bool, object) or not isinstance(value, bool))
        return None if is_one else name
    if not isinstance(value, type(form)):
        return name
    parts: Iterable[tuple[Any, Any, str]]
    inner = f"{name}." if name else ""
    if isinstance(form, list):
        parts = ((each, form[0], f"{name}[{number}]") for number, each in enumerate(value))
    elif "*" in form:
        parts = ((each, form["*"], inner + key) for key, each in value.items())
    else:
        known = ((key.rstrip("?"), key.endswith("?"), each) for key, each in form.items())
        # What is missing is an ellipsis, which no form has.
        parts = ((value.get(key, ...), each, inner + key) for key, free, each in known if key in value or not free)
    return next((found for part in parts if (found := misfit(*part)) is not None), None)
