"""A record of a study as small as its form allows."""

import pytest


@pytest.fixture
def record():
    def made(study="masking", **changes):
        texts = dict.fromkeys(
            ("scale", "setting", "question", "source", "baseline", "command", "summary", "pretrained"), ""
        )
        lists = {
            name: []
            for name in ("requests", "sources", "notes", "claims", "corpus", "differences", "tries", "rows", "cells")
        }
        mappings = {name: {} for name in ("substitutes", "intermediate_task", "searched")}
        definition = {"baseline": "", "code": "", "variants": {}, "measurements": {}}
        return {"study": study, "world": True, "definition": definition, **texts, **lists, **mappings, **changes}

    return made


@pytest.fixture
def cell():
    def made(pretrain_id, run_id):
        texts = dict.fromkeys(("variant", "measurement", "metric", "task", "dataset", "split", "method", "content"), "")
        numbers = dict.fromkeys(("milestone", "finetune_seed", "pretrain_seed"), 0)
        return {**texts, **numbers, "pretrain_id": pretrain_id, "run_id": run_id, "published": None}

    return made
