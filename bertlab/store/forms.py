"""Forms of the JSON files of a store, and checks that a file has its form.

A form is a type, a predicate, a tuple of alternative forms, `[form]` for a list, or a mapping of names to forms. In a
mapping a `?` marks an optional name, `*` stands for the form of all other names, which are ignored without it, and a
predicate instead of a name for the form of names that it accepts, without which others are refused.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

Form = Any
"""A form, as described above."""

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
RECORD = {
    "study": str,
    "scale": str,
    "setting": str,
    "definition": {"baseline": str, "code": str, "variants": {"*": dict}, "measurements": {"*": dict}},
    "requests": [
        {
            "study": str,
            "options": str,
            "seeds": [is_count],
            "finetune_seeds": is_count,
            "only": [str],
            "random_init": bool,
            "rounds?": str,
            "claim_seeds?": [is_count],
            "measure?": [str],
            "file?": str,
        }
    ],
    "sources": [{"*": str}],
    "question": str,
    "source": str,
    "baseline": str,
    "command": str,
    "name?": str,
    "notes": [str],
    "summary": str,
    "claims": [
        {
            "text": str,
            "on": str,
            "better?": (str, [str]),
            "worse?": (str, [str]),
            "rising?": [str],
            "within?": (is_positive, _NONE),
            "or_better?": bool,
            "at?": is_percent,
            "since?": is_percent,
            "than?": [str],
            "needs?": {"*": is_count},
        }
    ],
    "sizes?": {"*": {"*": is_count}},
    "averages?": [{"name": str, "of": [[str]], "published": {"*": is_figure}}],
    "corpus": [str],
    "differences": [{"on": str, "what": str, "of_study?": bool}],
    "pretrained": str,
    "world": bool,
    "substitutes": {"*": str},
    "intermediate_task": {"*": str},
    "searched": {"*": {"*": is_figure}},
    "tries": [is_id],
    "timed?": {"*": is_count},
    "speeds?": {"published": {"*": is_positive}, "measured": {"*": is_positive}},
    "sequential?": {
        "maximum": is_number_of_seeds,
        "looks": [
            {
                "seeds": {"*": [is_count]},
                "claims": [
                    {
                        "claim": str,
                        "hypothesis": str,
                        "on": str,
                        "metric": str,
                        "n": is_number_of_seeds,
                        "p": is_share,
                        "as_claimed": bool,
                        "power": is_share,
                    }
                ],
            }
        ],
    },
    "rows": [{"variant": str, "pretrain_seed": is_count, "pretrain_id": is_id, "corpus_id": (is_id, is_empty)}],
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
            "milestone": is_percent,
            "finetune_seed": is_count,
            "pretrain_seed": is_count,
            "pretrain_id": is_id,
            "run_id": is_id,
            "published": (is_figure, _NONE),
        }
    ],
}
"""The record of a study."""
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
