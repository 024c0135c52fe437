"""A record of a study, and what a look found at a claim, as small as their forms allow."""

from bertlab.store.record import AblateRequest, ClaimLook, Definition, Record, Row, Value

TEXTS = ("scale", "setting", "question", "source", "baseline", "command", "summary", "pretrained")
LISTS = ("requests", "sources", "notes", "claims", "corpus", "differences", "tries", "rows", "cells")
MAPPINGS = ("substitutes", "intermediate_task", "searched")


def record(study="masking", **changes):
    """A record without anything in it but these fields."""
    empty = dict.fromkeys(TEXTS, "") | dict.fromkeys(LISTS, ()) | {name: {} for name in MAPPINGS}
    definition = Definition(baseline="", code="", variants={}, measurements={})
    return Record(**{**empty, "study": study, "world": True, "definition": definition, **changes})


def row(variant, pretrain_id, corpus_id="", seed=0):
    """A pre-training."""
    return Row(variant=variant, pretrain_seed=seed, pretrain_id=pretrain_id, corpus_id=corpus_id)


def value(pretrain_id, run_id, **changes):
    """A value of a run."""
    texts = dict.fromkeys(("variant", "measurement", "metric", "task", "dataset", "split", "method", "content"), "")
    numbers = {"milestone": 100, "finetune_seed": 0, "pretrain_seed": 0}
    return Value(**{**texts, **numbers, "pretrain_id": pretrain_id, "run_id": run_id, "published": None, **changes})


def request(study, **changes):
    """A request of one seed of everything."""
    usual = {"options": "", "seeds": (0,), "finetune_seeds": 0, "only": (), "random_init": False}
    return AblateRequest(**{"study": study, **usual, **changes})


def look(n: int, p: float, as_claimed: bool, power: float) -> ClaimLook:
    """What a look found at some claim."""
    return ClaimLook(claim="", hypothesis="", on="", metric="", n=n, p=p, as_claimed=as_claimed, power=power)
